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

import canonical
import generate

CORRECTIONS = ["fixed-point", "gpu-parts", "min-workers", "partial-constraint", "cancelled-launch"]
BATCH = 100


def ours(tool, problem, state):
    """The answer of schedule() in the form of Ray's."""
    from google.protobuf.json_format import ParseDict
    from ray.core.generated import autoscaler_pb2

    import oracle

    tool.stdin.write(json.dumps(dict(problem, rayState=state)) + "\n")
    tool.stdin.flush()
    reply = json.loads(tool.stdout.readline())
    message = ParseDict(state, autoscaler_pb2.ClusterResourceState())
    requests = collections.Counter()
    for left, counted in zip(reply["demands"], message.pending_resource_requests):
        if left:
            requests[oracle.shape_text(counted.request, 1)] += left
    gangs = collections.Counter()
    for left, gang in zip(reply["gangs"], message.pending_gang_resource_requests):
        if left:
            gangs[oracle.gang_text(gang, 1)] += 1
    count = len(problem["nodes"])
    return oracle.Answer(
        launches=tuple(reply["launches"]),
        terminate=tuple(i for i, n in enumerate(reply["nodes"][:count]) if n["status"] == 2),
        requests=requests,
        gangs=gangs,
        constraints=any(any(c) for c in reply["constraints"]),
    )


def possible(problem, state):
    """Corrections that could make a difference in this problem."""
    names = ["fixed-point", "gpu-parts", "cancelled-launch"]
    counts = collections.Counter(n["type"] for n in problem["nodes"])
    if any(counts[i] < t["min"] - 1 for i, t in enumerate(problem["types"])):
        names.append("min-workers")
    if not problem["atomic"] and state["clusterResourceConstraints"]:
        names.append("partial-constraint")
    return [c for c in CORRECTIONS if c in names]


def explain(problem, state, wanted):
    """The smallest set of corrections with which Ray gives the wanted answer, None if none."""
    import oracle

    names = possible(problem, state)
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            if oracle.schedule(problem, state, chosen) == wanted:
                return chosen
    return None


def check_batch(job):
    tool_path, first, count, out = job
    tool = subprocess.Popen([tool_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    classes, failures, sizes = collections.Counter(), [], collections.Counter()
    for seed in range(first, first + count):
        problem = generate.problem(seed)
        _, state = canonical.canonical(problem["rayState"])
        wanted = ours(tool, problem, state)
        found = explain(problem, state, wanted)
        sizes["launching"] += any(wanted.launches)
        sizes["terminating"] += bool(wanted.terminate)
        sizes["leaving something over"] += bool(wanted.requests or wanted.gangs)
        if found is None:
            failures.append(seed)
            if out:
                with open(os.path.join(out, f"problem-{seed}.json"), "w") as f:
                    json.dump(dict(problem, rayState=state), f, indent=1)
        else:
            classes["+".join(found) or "equal"] += 1
    tool.stdin.close()
    tool.wait()
    return classes, failures, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the built codec_schedule")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", help="directory for problems that are not explained")
    args = parser.parse_args()
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    began = time.monotonic()
    jobs = [
        (args.tool, seed, min(BATCH, args.seed + args.count - seed), args.out)
        for seed in range(args.seed, args.seed + args.count, BATCH)
    ]
    classes, failures, sizes = collections.Counter(), [], collections.Counter()
    with multiprocessing.Pool(args.jobs) as pool:
        for done in pool.imap_unordered(check_batch, jobs):
            classes += done[0]
            failures += done[1]
            sizes += done[2]
    seconds = time.monotonic() - began
    print(f"packing: {args.count} problems, seeds {args.seed} to {args.seed + args.count - 1}, {seconds:.0f} s")
    for name, count in sorted(sizes.items()):
        print(f"  {count:6} {name}")
    for name, count in classes.most_common():
        print(f"  {count:6} {name}")
    print(f"  {len(failures):6} unexplained{': seeds ' + str(sorted(failures)[:20]) if failures else ''}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
