"""Time and memory of whole decisions (decide() on a snapshot), and how they grow.

For each of nodes, tasks and shapes one column is doubled three times. `growth` is the time beside
that of the row before: 2.0 is linear, and parts that do not depend on the column reduce it.
`decide (MiB)` is the memory of the decision; `read (MiB)` the process at its peak, which is while it reads
the file: the text, the JSON tree and the snapshot. Rows "claims" are of groups that claim devices by CEL on
Nodes of 8 devices, with 500 tasks, "claims-long" with selectors of 9 KiB: `read` then has the judging of CEL,
which the controller does for all decisions at once.
"""

import argparse
import json
import subprocess
import sys
import tempfile

import bench_ray
import canonical
import claims_problem
import snapshot

NAMED = ["1337x13315x1", "1337x13315x20", "1337x13315x500", "10000x100000x200"]
SERIES = [
    ["1250x25000x50", "2500x25000x50", "5000x25000x50", "10000x25000x50"],
    ["5000x12500x50", "5000x25000x50", "5000x50000x50", "5000x100000x50"],
    ["5000x50000x25", "5000x50000x50", "5000x50000x100", "5000x50000x200"],
    ["claims-50x1000", "claims-100x1000", "claims-200x1000"],
    ["claims-100x250", "claims-100x500", "claims-100x1000"],
    ["claims-long-4x1000", "claims-long-8x1000", "claims-long-16x1000"],
]
CLAIM_TASKS = 500


def make(size):
    if size.startswith("claims-"):
        groups, nodes = size.removeprefix("claims-").removeprefix("long-").split("x")
        return claims_problem.snapshot(int(groups), int(nodes), CLAIM_TASKS, "long" in size)
    given = bench_ray.problem(*(int(part) for part in size.split("x")), 1)
    return snapshot.snapshot(given, canonical.canonical(given["rayState"]))


def measure(tool, size, settings):
    made = make(size)
    made["settings"].update(settings)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(made, file)
        file.flush()
        done = subprocess.run([tool, file.name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def print_row(tool, size, before, settings):
    row = measure(tool, size, settings)
    growth = f"{row['decide'] / before['decide']:.2f}" if before else ""
    print(
        f"{size:>22} {row['read']:>9.1f} {row['decide']:>11.2f} {growth:>7} {row['write']:>10.2f}"
        f" {row['decideMiB']:>12.1f} {row['readMiB']:>10.1f}",
        flush=True,
    )
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the built codec_decide_bench")
    parser.add_argument("--packing", default="ray")
    parser.add_argument("sizes", nargs="*", help="nodes x tasks x shapes, or claims-groups x nodes; none: the usual ones")
    args = parser.parse_args()
    print(
        f"{'nodes x tasks x shapes':>22} {'read (ms)':>9} {'decide (ms)':>11} {'growth':>7}"
        f" {'write (ms)':>10} {'decide (MiB)':>12} {'read (MiB)':>10}",
        flush=True,
    )
    settings = {"packing": args.packing}
    for size in args.sizes or NAMED:
        print_row(args.tool, size, None, settings)
    for series in [] if args.sizes else SERIES:
        before = None
        for size in series:
            before = print_row(args.tool, size, before, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
