"""`make soak`: one controller for an hour, honest RayClusters and tenants of all kinds of `make hostile` that come and go.

A GPUPool, in-place resize, device claims, the election and protected metrics are on, and the container has the chart's
limit. At first all kinds are there at once, and the controller is killed and started again beside them: honest clusters
must get their workers. Then each round has a few kinds for some seconds, beside honest clusters with new demand; then they are removed. Every
five minutes a line, and at the end what has grown between two moments without tenants: resident memory, the heap in use, file
descriptors.

Exit status 1: the controller ended, an honest cluster was not scaled, or more has grown than GROWTH allows.
"""

import argparse
import os
import random
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Dict, List

from hostile import AGAIN_SECONDS, LONGEST_TURN, LONGEST_TURN_CPU, MIB, RESTART_SECONDS, Bench, all_kinds
from rayscaler_e2e.fleet import status_mib
from rayscaler_e2e.hostile.attack import Attack, Kind
from rayscaler_e2e.wait import WaitTimeout

REST_SECONDS = 45.0  # after tenants: free memory is given back each 10 s
LINE_SECONDS = 300.0
GROWTH = {"rss": 12.0, "heap": 2.0, "files": 8.0}  # MiB, MiB, number
HEAD = f"{'minute':>6} {'rss MiB':>8} {'heap MiB':>8} {'files':>6} {'peak MiB':>8} {'turn ms':>8} {'(CPU)':>7} {'rounds':>6}"


def sample(bench: Bench) -> Dict[str, float]:
    text = bench.read_metrics()
    found = {name: re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE) for name in (HEAP, LONGEST_TURN, LONGEST_TURN_CPU)}
    value = {name: float(one.group(1)) if one else 0.0 for name, one in found.items()}
    pid = bench.fleet.controller.pid
    return {
        "rss": status_mib(pid, "VmRSS"),
        "heap": value[HEAP] / MIB,
        "files": float(len(os.listdir(f"/proc/{pid}/fd"))),
        "peak": status_mib(pid, "VmHWM"),
        "turn": 1000 * value[LONGEST_TURN],
        "cpu": 1000 * value[LONGEST_TURN_CPU],
    }


HEAP = 'rayscaler_memory_used_bytes{budget="all"}'


def show(minute: float, figures: Dict[str, float], rounds: int) -> None:
    print(
        f"{minute:>6.1f} {figures['rss']:>8.1f} {figures['heap']:>8.1f} {figures['files']:>6.0f} {figures['peak']:>8.1f}"
        f" {figures['turn']:>8.1f} {figures['cpu']:>7.1f} {rounds:>6}",
        flush=True,
    )


def one_round(bench: Bench, kinds: List[Kind], options: argparse.Namespace, work_dir: Path) -> None:
    attack = Attack(bench.fleet, kinds, options.each, work_dir)
    bench.fleet.change(options.rate)
    threading.Event().wait(options.seconds)
    bench.fleet.change(0)
    attack.stop()


def restart_beside_all(bench: Bench, kinds: List[Kind], options: argparse.Namespace, work_dir: Path) -> List[str]:
    """What is wrong. Also fills caches of texts, and the largest tables."""
    attack = Attack(bench.fleet, kinds, options.each, work_dir)
    bench.fleet.change(options.rate)
    threading.Event().wait(options.seconds)
    before = sample(bench)
    bench.fleet.controller.kill()
    begun = time.monotonic()
    bench.fleet.run()
    bench.fleet.change(max(options.rate, 1))
    threading.Event().wait(AGAIN_SECONDS)
    failures = []
    try:
        bench.fleet.drain(RESTART_SECONDS)
    except WaitTimeout:
        failures.append(f"{bench.fleet.ask('figures')['waiting']} honest clusters were not scaled after a restart")
    took, after = time.monotonic() - begun, sample(bench)
    attack.stop()
    print(f"beside all {len(kinds)} kinds: peak {before['peak']:.0f} MiB; killed, honest clusters scaled after {took:.0f} s, peak {after['peak']:.0f} MiB")
    return failures


def rest(bench: Bench) -> Dict[str, float]:
    threading.Event().wait(REST_SECONDS)
    return sample(bench)


def soak(bench: Bench, kinds: List[Kind], options: argparse.Namespace, work_dir: Path) -> List[str]:
    """What is wrong."""
    chosen = random.Random(options.seed)
    bench.fleet.start()
    bench.fleet.settle(2, 60 + options.clusters / 5)
    failures = restart_beside_all(bench, kinds, options, work_dir)
    begun, shown, rounds = time.monotonic(), 0.0, 0
    first = rest(bench)
    print(f"{options.clusters} honest RayClusters, {len(kinds)} kinds, seed {options.seed}\n{HEAD}", flush=True)
    show(0, first, rounds)
    while time.monotonic() - begun < 60 * options.minutes:
        one_round(bench, chosen.sample(kinds, min(len(kinds), 6)), options, work_dir)
        rounds += 1
        if not bench.fleet.controller.running():
            return [f"ended with status {bench.fleet.controller.returncode()}"]
        if time.monotonic() - begun - shown > LINE_SECONDS:
            shown = time.monotonic() - begun
            show(shown / 60, sample(bench), rounds)
    try:
        bench.fleet.drain(60)
    except WaitTimeout:
        failures.append(f"{bench.fleet.ask('figures')['waiting']} honest clusters were not scaled")
    last = rest(bench)
    show((time.monotonic() - begun) / 60, last, rounds)
    figures = bench.fleet.ask("figures")
    print(f"{figures['patched']} of {figures['demands']} honest demands patched, p99 {figures['p99_ms']:.0f} ms")
    for key, most in GROWTH.items():
        if last[key] - first[key] > most:
            failures.append(f"{key} has grown from {first[key]:.1f} to {last[key]:.1f}, by more than {most:.0f}")
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clusters", type=int, default=100)
    parser.add_argument("--pods", type=int, default=4)
    parser.add_argument("--each", type=int, default=3, help="hostile tenants of each kind")
    parser.add_argument("--seconds", type=float, default=15, help="of each round")
    parser.add_argument("--rate", type=float, default=0.5, help="honest clusters with new demand in a second")
    parser.add_argument("--scale", type=float, default=0.02, help="of the loads with most objects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="a regular expression of kinds")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="of rayscaler run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak") as directory:
        bench = Bench(options, Path(directory), True)
        try:
            kinds = all_kinds(bench, options)
            failures = soak(bench, kinds, options, Path(directory))
        finally:
            bench.close()
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
