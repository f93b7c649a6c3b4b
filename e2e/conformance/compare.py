"""rayscaler and Ray's own code on the same random problems: see README.md.

Each problem is made from its seed, answered by rayscaler, and explained: by Ray as it is, by Ray
with named corrections, or not at all.
"""

import argparse
import collections
import json
import multiprocessing
import os
import random
import sys
import time

import capacity
import cheapest
import named
import packing
import resize

SUBJECTS = {s.kind: s for s in (packing.Tool, packing.Program, cheapest.Cheapest, capacity.Capacity, named.Named,
    resize.Resize)}
BATCH = 50
# In so many problems every compared property has to occur.
ENOUGH = 2000


class Counts:
    """The result of a batch; batches add up."""

    def __init__(self):
        self.classes, self.sizes = collections.Counter(), collections.Counter()
        self.features, self.failures = collections.Counter(), []

    def add(self, other):
        self.classes += other.classes
        self.sizes += other.sizes
        self.features += other.features
        self.failures += other.failures


def check(subject, seed, out, spoil):
    counts = Counts()
    problem = subject.problem(seed)
    answer = subject.answer(problem)
    counts.features.update(set(subject.features(problem)))
    counts.sizes.update(subject.sizes(answer))
    if spoil:
        answer = subject.spoiled(problem, answer, random.Random(seed))
    names = None if answer is None else subject.explain(problem, answer)
    if names is None:
        counts.failures.append(seed)
        if out and not spoil:
            with open(os.path.join(out, f"problem-{seed}.json"), "w") as f:
                json.dump(problem, f, indent=1)
    else:
        counts.classes[" + ".join(names) or "equal to Ray"] += 1
    return counts


def check_batch(job):
    kind, path, first, count, out, spoil = job
    subject, counts = SUBJECTS[kind](path), Counts()
    for seed in range(first, first + count):
        counts.add(check(subject, seed, out, spoil))
    subject.close()
    return counts


def run(args, spoil=False):
    end = args.seed + args.count
    jobs = [
        (args.kind, args.path, seed, min(BATCH, end - seed), args.out, spoil)
        for seed in range(args.seed, end, BATCH)
    ]
    counts = Counts()
    with multiprocessing.Pool(args.jobs) as pool:
        for done in pool.imap_unordered(check_batch, jobs):
            counts.add(done)
    return counts


def print_classes(counts):
    """Problems per class, and each combination of classes."""
    single = collections.Counter()
    for name, count in counts.classes.items():
        single.update({part: count for part in name.split(" + ")})
    print("  class by class (a problem may be in several):")
    for name, count in single.most_common():
        print(f"  {count:6} {name}")
    print("  together:")
    for name, count in counts.classes.most_common():
        if " + " in name:
            print(f"  {count:6} {name}")


def print_features(counts, wanted, enough):
    """The features that never occur."""
    missing = [name for name in wanted if not counts.features[name]]
    rare = sorted(wanted, key=lambda name: counts.features[name])[:5]
    print(f"  {len(wanted) - len(missing)} of {len(wanted)} features occur; the rarest: "
          + ", ".join(f"{name} ({counts.features[name]})" for name in rare))
    if missing and enough:
        print("  never: " + ", ".join(missing))
    return missing if enough else []


def compare(args):
    began = time.monotonic()
    counts = run(args)
    seconds, last = time.monotonic() - began, args.seed + args.count - 1
    title = SUBJECTS[args.kind].title
    print(f"{title}: {args.count}, seeds {args.seed} to {last}, {seconds:.0f} s")
    for name, count in sorted(counts.sizes.items()):
        print(f"  {count:6} that {name}")
    print_classes(counts)
    missing = print_features(counts, SUBJECTS[args.kind].wanted, args.count >= ENOUGH)
    if args.features:
        for name, count in sorted(counts.features.items()):
            print(f"  {count:6} {name}")
    seeds = f": seeds {sorted(counts.failures)[:20]}" if counts.failures else ""
    print(f"  {len(counts.failures):6} unexplained{seeds}")
    return sum(counts.classes.values()), len(counts.failures) + len(missing)


def self_test(args):
    """Wrong answers must not be explained: each answer is spoiled in one place."""
    counts = run(args, spoil=True)
    taken = sum(counts.classes.values())
    print(f"{SUBJECTS[args.kind].title}, each answer spoiled in one place: "
          f"{len(counts.failures)} of {args.count} found")
    if taken:
        print_classes(counts)
    return len(counts.failures), taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(SUBJECTS))
    parser.add_argument("path", help="the built program or tool")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", help="directory for problems that are not explained")
    parser.add_argument("--result", help="file that gets 'explained unexplained 0'")
    parser.add_argument("--features", action="store_true", help="print what occurs how often")
    parser.add_argument("--self-test", action="store_true", help="wrong answers must be found")
    args = parser.parse_args()
    if args.out:
        os.makedirs(args.out, exist_ok=True)
    passed, failed = (self_test if args.self_test else compare)(args)
    if args.result:
        with open(args.result, "w") as f:
            f.write(f"{passed} {failed} 0\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
