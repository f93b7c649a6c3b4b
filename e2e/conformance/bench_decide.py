"""Time and memory of whole decisions (decide() on a snapshot), and how they grow.

For each of nodes, tasks and shapes one column is doubled three times. `growth` is the time beside
that of the row before: 2.0 is linear, and parts that do not depend on the column reduce it.
`decide (MiB)` is the memory of the decision; `read (MiB)` the process at its peak, which is while it reads
the file: the text, the JSON tree and the snapshot. Rows "claims" are of groups that claim devices by CEL on
Nodes of 8 devices, with 500 tasks, "claims-long" with selectors of 9 KiB: `read` then has the judging of CEL,
which the controller does for all decisions at once.

The loads (loads_problem.py) are measured in three sizes each, beside `base`, 1,000 nodes with 10,000 tasks in 20
shapes: at the largest a load takes at most 40 x base and 80 MiB, and what takes more than 5 x base grows at most
like n^1.4 from the smallest to the largest. Both are of basic blocks (`codec_growth_bench --costs`), so that they are
the same on each machine; milliseconds are printed beside them. A load fails, too, if its blocks are many more than the
units that the decision counts itself. What is above is marked, and fails unless KNOWN has
it and it takes no more than KNOWN permits; a load of KNOWN that is no longer above fails, too.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile

import bench_ray
import canonical
import claims_problem
import loads_problem
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
COST_MAX, EXPONENT_MAX, MIB_MAX = 40, 1.4, 80
# Blocks for each unit that the decision counts itself: 4 to 7.1. Without the count in the trees of shapes, a loop that lint
# lets count by itself, they are 7.5 and more.
UNIT_BLOCKS_MAX = 7.4
# Above their aims, and what they may take, x base, about a tenth more than measured: each choice changes the fills of
# 80 to 230 nodes, which all are scored again before the best is known (docs/internals/performance.md).
KNOWN = {"own-selectors": 8.2, "distinct": 7.5, "resizable": 22.5}


def make(size):
    if size.startswith("claims-"):
        groups, nodes = size.removeprefix("claims-").removeprefix("long-").split("x")
        return claims_problem.snapshot(int(groups), int(nodes), CLAIM_TASKS, "long" in size)
    given = bench_ray.problem(*(int(part) for part in size.split("x")), 1)
    return snapshot.snapshot(given, canonical.canonical(given["rayState"]))


def measure(command, made, settings):
    made["settings"].update(settings)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(made, file)
        file.flush()
        done = subprocess.run([*command, file.name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def print_row(tool, size, before, settings):
    row = measure([tool], make(size), settings)
    growth = f"{row['decide'] / before['decide']:.2f}" if before else ""
    print(
        f"{size:>22} {row['read']:>9.1f} {row['decide']:>11.2f} {growth:>7} {row['write']:>10.2f}"
        f" {row['decideMiB']:>12.1f} {row['readMiB']:>10.1f}",
        flush=True,
    )
    return row


def print_load(tools, name, base, settings):
    """Whether the load is where it is expected: above an aim, or not."""
    sizes = loads_problem.LOADS[name].sizes
    timed, counted = zip(*(measure_both(tools, loads_problem.snapshot(name, size), settings) for size in sizes))
    blocks, mib = [row["decide"] for row in counted], max(row["decideMiB"] for row in timed)
    cost, exponent = blocks[-1] / base, math.log(blocks[-1] / blocks[0]) / math.log(sizes[-1] / sizes[0])
    above = cost > COST_MAX or mib > MIB_MAX or (exponent > EXPONENT_MAX and cost > 5)
    expected = above == (name in KNOWN)
    word = ("  known" if above else "") if expected else "  ABOVE" if above else "  NO LONGER ABOVE"
    if name in KNOWN and (cost > KNOWN[name] or mib > MIB_MAX):
        expected, word = False, "  WORSE"
    if blocks[-1] > UNIT_BLOCKS_MAX * counted[-1]["units"]:
        expected, word = False, "  UNCOUNTED"
    print(
        f"{name:>14} {'/'.join(str(size) for size in sizes):>16} {timed[-1]['decide']:>8.2f}"
        f" {' '.join(f'{each / 1e6:8.2f}' for each in blocks)} {cost:>6.1f} {exponent:>6.2f} {mib:>6.1f}{word}",
        flush=True,
    )
    return expected


def measure_both(tools, made, settings):
    """Of one snapshot: milliseconds, basic blocks."""
    return measure([tools[0]], made, settings), measure([tools[1], "--costs"], made, settings)


def print_loads(tools, names, settings):
    timed, counted = measure_both(tools, loads_problem.snapshot("base", 0), settings)
    print(
        f"{'load':>14} {'n':>16} {'ms':>8} {'million blocks':>26} {'x base':>6} {'n^':>6} {'MiB':>6}"
        f"\n{'base':>14} {'':>16} {timed['decide']:>8.2f} {counted['decide'] / 1e6:>26.2f}"
    )
    return all([print_load(tools, name, counted["decide"], settings) for name in names])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the built codec_decide_bench")
    parser.add_argument("--costs", help="the built codec_growth_bench; without it no loads are measured")
    parser.add_argument("--packing", default="ray")
    parser.add_argument(
        "sizes", nargs="*", help="nodes x tasks x shapes, claims-groups x nodes, or names of loads; loads: all of these; none: the usual ones"
    )
    args = parser.parse_args()
    settings = {"packing": args.packing}
    every = not args.sizes or args.sizes == ["loads"]
    loads = list(loads_problem.LOADS) if every else [name for name in args.sizes if name in loads_problem.LOADS]
    sizes = [size for size in args.sizes if size not in loads_problem.LOADS and size != "loads"]
    good = True
    if loads and args.costs:
        good = print_loads((args.tool, args.costs), loads, settings)
    if args.sizes and not sizes:
        return 0 if good else 1
    print(
        f"{'nodes x tasks x shapes':>22} {'read (ms)':>9} {'decide (ms)':>11} {'growth':>7}"
        f" {'write (ms)':>10} {'decide (MiB)':>12} {'read (MiB)':>10}",
        flush=True,
    )
    for size in sizes or NAMED:
        print_row(args.tool, size, None, settings)
    for series in [] if args.sizes else SERIES:
        before = None
        for size in series:
            before = print_row(args.tool, size, before, settings)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
