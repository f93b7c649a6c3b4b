"""The time of rayscaler's packing and of Ray's scheduler on the same large problems.

Each size is given to Ray's own ResourceDemandScheduler.schedule(), in a process that is ended after
--limit seconds of CPU, and to schedule() in the built codec_schedule. Only these two calls are measured,
in CPU time: reading the problem counts for neither. `plan` is the CPU time of a whole `rayscaler
plan`, from the file to the printed plan. Sizes are nodes x tasks x shapes. --check asserts that
both launch, terminate and leave the same, and measures nothing.
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import ray

import canonical
import oracle
import packing
import snapshot

GIB = 1 << 30
SIZES = ["100x1000x20", "200x2000x20", "1000x10000x20", "1337x13315x20"]
GROUPS = [  # CPU, GPU, GiB
    (8, 0, 32),
    (16, 0, 64),
    (32, 0, 128),
    (64, 0, 256),
    (8, 1, 64),
    (16, 2, 128),
    (48, 4, 384),
    (96, 8, 768),
]
RUNS = 7


# ---- the problem ----


def group(index, cpus, gpus, gib):
    resources = {"CPU": cpus, "memory": gib * GIB}
    if gpus:
        resources["GPU"] = gpus
    return {
        "name": f"group-{index}",
        "resources": resources,
        "labels": {},
        "fromLimits": False,
        "min": 0,
        "max": 100000,
        "hosts": 1,
        "priority": 0,
        "idleTimeoutMs": 60000,
    }


def head():
    return dict(group(0, 8, 0, 32), name="headgroup", max=1)


def node(pick, types, index, number):
    """Three of four run, with any part of their resources in use; the others start."""
    type_ = types[index]
    made = {
        "type": index,
        "head": index == 0,
        "replica": -1,
        "mayTerminate": index != 0,
        "idleMs": 0,
        "idleTimeoutMs": 60000,
        "labels": type_["labels"],
        "dynamic": {},
        "total": type_["resources"],
        "available": type_["resources"],
        "state": "running" if index == 0 or pick.random() < 0.75 else "starting",
        "start": "running",
        "unregisteredS": 0,
    }
    if made["state"] == "starting":
        return made
    own = {f"node:10.0.{number // 256}.{number % 256}": 1, "object_store_memory": 8 * GIB}
    if index == 0:
        own["node:__internal_head__"] = 1
    total = dict(type_["resources"], **own)
    available = dict(total)
    for name in type_["resources"]:
        step = GIB if name == "memory" else 1
        available[name] = pick.randint(0, total[name] // step) * step
    if pick.random() < 0.5:
        available["object_store_memory"] -= pick.randint(1, GIB)
    return dict(made, total=total, available=available, labels={"ray.io/node-id": f"n{number}"})


def request(pick, index):
    bundle = {"CPU": pick.choice([0.5, 1, 1, 2, 4])}
    if index % 4 == 1:
        bundle["GPU"] = 1
    if index % 2:
        bundle["memory"] = (1 + pick.randint(0, 31)) * GIB // 8 + index
    return {"resourcesBundle": bundle}


def problem(nodes, tasks, shapes, seed):
    pick = random.Random(seed)
    types = [head()] + [group(i + 1, *figures) for i, figures in enumerate(GROUPS)]
    pending = [
        {"request": request(pick, i), "count": tasks // shapes + (i < tasks % shapes)}
        for i in range(shapes)
    ]
    return {
        "types": types,
        "nodes": [
            node(pick, types, 1 + i * len(GROUPS) // nodes if i else 0, i) for i in range(nodes)
        ],
        "rayState": {"pendingResourceRequests": pending},
        "atomic": False,
        "conserveAccelerators": True,
        "terminateOverMax": True,
        "maxNodes": 1 + 100000 * len(GROUPS),
        "groupMaxima": True,
        "learns": False,
        "whenIdle": False,
    }


# ---- Ray ----


def ask_ray(given, state, limit, pipe):
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    request = oracle.scheduling_request(given, state, 1, ())
    began = time.process_time()
    reply = oracle.ray_scheduler.ResourceDemandScheduler().schedule(request)
    seconds = time.process_time() - began
    pipe.send((seconds, oracle.answer_of(given, reply)))


def ray_seconds(given, state, limit):
    """Seconds of CPU, and the answer, which is None when the limit ended it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=ask_ray, args=(given, state, limit, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return limit, None
    finally:
        process.join()


# ---- rayscaler ----


def our_milliseconds(tool, given, state):
    subject = packing.Tool(tool)
    answer = subject.answer(dict(given, rayState=state, runs=RUNS))
    subject.close()
    return statistics.median(subject.milliseconds), answer


def plan_milliseconds(program, given, state):
    """The whole process, from the file to the printed plan."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(snapshot.snapshot(given, state), file)
        file.flush()
        taken = []
        for _ in range(RUNS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [program, "plan", "-f", file.name, "-o", "json"],
                stdout=subprocess.DEVNULL,
                check=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            )
    return 1000 * statistics.median(taken)


# ---- the table ----


def measure(args, size):
    given = problem(*(int(part) for part in size.split("x")), args.seed)
    state = canonical.canonical(given["rayState"])
    milliseconds, ours = our_milliseconds(args.tool, given, state)
    plan = plan_milliseconds(args.program, given, state)
    seconds, theirs = ray_seconds(given, state, args.limit)
    more = "" if theirs else "more than "
    theirs = theirs and packing_of(theirs)
    same = "not known" if theirs is None else "yes" if theirs == ours else "NO"
    print(
        f"{size:>22} {milliseconds:>12.2f} {plan:>10.1f} {more + format(seconds, '.1f'):>18}"
        f" {('at least ' if more else '') + format(1000 * seconds / milliseconds, ',.0f'):>18}"
        f" {same:>10}",
        flush=True,
    )
    return theirs is None or theirs == ours


def packing_of(answer):
    """Without `targets`: replicas are not of the packing, so codec_schedule has none."""
    return answer._replace(targets=None)


def check(args, size):
    given = problem(*(int(part) for part in size.split("x")), args.seed)
    state = canonical.canonical(given["rayState"])
    subject = packing.Tool(args.tool)
    ours = subject.answer(dict(given, rayState=state))
    subject.close()
    same = packing_of(oracle.schedule(given, state)) == ours
    launches = sum(ours.launches)
    print(f"{size}: {launches} launches, {'the same as' if same else 'NOT as'} Ray's", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the built codec_schedule")
    parser.add_argument("--program", help="the built rayscaler")
    parser.add_argument("--limit", type=int, default=1800, help="seconds of CPU for Ray, each size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--result", help="file that gets 'schedule-ray passed failed 0'")
    parser.add_argument("sizes", nargs="*", default=SIZES)
    args = parser.parse_args()
    if args.check:
        done = [check(args, size) for size in args.sizes]
    else:
        print(f"{os.cpu_count()} cores, Ray {ray.__version__}, Python {platform.python_version()}")
        print(
            f"{'nodes x tasks x shapes':>22} {'packing (ms)':>12} {'plan (ms)':>10}"
            f" {'Ray (s)':>18} {'Ray / packing':>18} {'same':>10}",
            flush=True,
        )
        done = [measure(args, size) for size in args.sizes]
    if args.result:
        with open(args.result, "w") as file:
            file.write(f"schedule-ray {done.count(True)} {done.count(False)} 0\n")
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
