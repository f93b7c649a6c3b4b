"""rayscaler's packing and Ray's scheduler on the same random problems: see README.md."""

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import time

from google.protobuf.json_format import ParseDict
from ray.core.generated import autoscaler_pb2

import canonical
import corrections
import generate
import oracle
import snapshot

BATCH = 50


class Tool:
    """schedule() itself, many problems in one process."""

    GONE = ("draining", "dead", "deleting")

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @staticmethod
    def prepare(problem):
        """Which Pods are capacity is not the packing's business."""
        nodes = [n for n in problem["nodes"] if n["state"] not in Tool.GONE]
        return dict(problem, nodes=nodes)

    def answer(self, problem, state):
        nodes = [
            dict(n, running=n["state"] == "running", joined=n["state"] == "running")
            for n in problem["nodes"]
        ]
        self.process.stdin.write(json.dumps(dict(problem, nodes=nodes, rayState=state)) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        message = ParseDict(state, autoscaler_pb2.ClusterResourceState())
        requests, gangs = collections.Counter(), collections.Counter()
        for left, counted in zip(reply["demands"], message.pending_resource_requests):
            requests[oracle.shape_text(counted.request, 1)] += left
        for left, gang in zip(reply["gangs"], message.pending_gang_resource_requests):
            gangs[oracle.gang_text(gang, 1)] += left
        given = reply["nodes"][: len(nodes)]
        return oracle.Answer(
            launches=tuple(reply["launches"]),
            terminate=tuple(
                i
                for i, n in enumerate(given)
                if n["status"] == 2 and nodes[i]["state"] in oracle.COMPARED
            ),
            requests=+requests,
            gangs=+gangs,
            constraints=any(any(c) for c in reply["constraints"]),
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Program:
    """`rayscaler plan` on a whole snapshot, one process per problem."""

    def __init__(self, path):
        self.path = path

    @staticmethod
    def prepare(problem):
        """Without what a snapshot does not say: other maxima of the cluster, all-or-nothing
        constraints, and the scores of failed groups, which come from rayscaler's memory."""
        types = [
            {k: v for k, v in t.items() if k not in ("recoverable", "recency")}
            for t in problem["types"]
        ]
        gone = sum(n["type"] < 0 for n in problem["nodes"])
        maximum = sum(t["max"] for t in types) + gone
        return dict(problem, atomic=False, types=types, maxNodes=maximum, groupMaxima=True)

    def answer(self, problem, state):
        return snapshot.answer(self.path, problem, state)

    def close(self):
        pass


def explain(problem, state, wanted):
    """The smallest set of corrections with which Ray gives the wanted answer, None if none."""
    names = corrections.possible(problem, state)
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            try:
                if oracle.schedule(problem, state, chosen) == wanted:
                    return chosen
            except (AssertionError, KeyError):  # T17: Ray gives no answer
                continue
    return None


def check_batch(job):
    kind, path, first, count, out = job
    subject = {"tool": Tool, "program": Program}[kind](path)
    classes, failures, sizes = collections.Counter(), [], collections.Counter()
    for seed in range(first, first + count):
        problem = subject.prepare(generate.problem(seed))
        state = canonical.canonical(problem["rayState"])
        wanted = subject.answer(problem, state)
        found = explain(problem, state, wanted)
        sizes["launch"] += any(wanted.launches)
        sizes["terminate"] += bool(wanted.terminate)
        sizes["leave something over"] += bool(wanted.requests or wanted.gangs)
        if found is None:
            failures.append(seed)
            if out:
                with open(os.path.join(out, f"problem-{seed}.json"), "w") as f:
                    json.dump(dict(problem, rayState=state), f, indent=1)
        else:
            classes[" + ".join(found) or "equal to Ray"] += 1
    subject.close()
    return classes, failures, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--tool", help="the built codec_schedule: the packing alone")
    subject.add_argument("--program", help="the built rayscaler: whole snapshots")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", help="directory for problems that are not explained")
    parser.add_argument("--result", help="file that gets 'explained unexplained 0'")
    args = parser.parse_args()
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    began = time.monotonic()
    kind = "tool" if args.tool else "program"
    end = args.seed + args.count
    jobs = [
        (kind, args.tool or args.program, seed, min(BATCH, end - seed), args.out)
        for seed in range(args.seed, end, BATCH)
    ]
    classes, failures, sizes = collections.Counter(), [], collections.Counter()
    with multiprocessing.Pool(args.jobs) as pool:
        for done in pool.imap_unordered(check_batch, jobs):
            classes += done[0]
            failures += done[1]
            sizes += done[2]
    title = {"tool": "packing", "program": "plan"}[kind]
    seconds = time.monotonic() - began
    print(f"{title}: {args.count} problems, seeds {args.seed} to {end - 1}, {seconds:.0f} s")
    for name, count in sorted(sizes.items()):
        print(f"  {count:6} that {name}")
    for name, count in classes.most_common():
        print(f"  {count:6} {name}")
    seeds = f": seeds {sorted(failures)[:20]}" if failures else ""
    print(f"  {len(failures):6} unexplained{seeds}")
    if args.result:
        with open(args.result, "w") as f:
            f.write(f"{sum(classes.values())} {len(failures)} 0\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
