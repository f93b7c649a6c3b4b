"""`make hostile`: one controller, honest RayClusters and hostile tenants (rayscaler_e2e/hostile).

The honest ones are the fleet of rayscaler_e2e/fleet.py: each has a Ray head, and demand for one more worker
arrives at one after another. The controller has the chart's memory limit and its default election times.

First each kind of tenant alone beside the fleet, then all kinds at once, and the fleet alone before, between
and after. Then the same with a GPUPool and tenants that forge demand. Each phase begins with a new controller; beside hostile
tenants it is killed and started again at the end, while they are there. For each phase: from demand to accepted patch (p50,
p99), peak of the RSS and of what the budgets counted, and longest turn of the loop (by the clock and by the CPU time of its thread) of both, with the removal of the tenants, the longest answer of
/healthz (which also waits for a processor), the longest time between two renewals of the Lease, the time from the second start until
honest clusters with new demand are patched, and how often the controller ended. A figure above its aim has a "!".

Exit status 1: it ended, lost the Lease, was above the limit, asked for too many reviews of forged tokens, or an honest cluster
was not scaled; with --aims also for a figure above its aim.
"""

import argparse
import http.client
import os
import platform
import re
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import List, NamedTuple, Optional

from rayscaler_e2e.ports import free_port
from rayscaler_e2e.fleet import Figures, Fleet, Pulse, cpu_seconds, status_mib
from rayscaler_e2e.hostile import kinds as hostile
from rayscaler_e2e.hostile import sizes, tokens
from rayscaler_e2e.memory_limit import MemoryLimit, chart_limit_mib
from rayscaler_e2e.wait import WaitTimeout, wait_until

PULSE_SECONDS = 0.005
MIB = 1 << 20
COUNTED = 'rayscaler_memory_peak_bytes{budget="all"}'
LONGEST_TURN = "rayscaler_event_loop_longest_turn_seconds"
LONG_TURN = "a turn of the event loop was long"
LONGEST_TURN_CPU = "rayscaler_event_loop_longest_turn_cpu_seconds"
UNSAFE = re.compile(r'^rayscaler_safe_to_scale_down{namespace="fleet",.*} 0$', re.MULTILINE)
FORGED_WAITS = re.compile(r'^rayscaler_queue_gpus_waiting{pool="all",queue=""} (\S+)$', re.MULTILINE)
FORGED_GPUS = 100_000
VICTIMS = 5
PATCH_SECONDS = 30.0
RESTART_SECONDS = 120.0  # 15 of them are the Lease of the one that was killed
SAFE_SECONDS = 15.0
RECOVERY_SECONDS = 60.0
REVIEWS_BURST, REVIEWS_PER_SECOND = 12, 6  # of forged tokens 10 and 5, and the reader of the metrics
# Milliseconds, and MiB of the memory.
AIMS = {"p99_ms": 2000.0, "turn_cpu_ms": 50.0, "peak": 200.0}
AGAIN_SECONDS = 2.0  # of demand after the restart
REMOVED_SECONDS = 2.0  # for the removal of the tenants' objects
HEAD = f"{'':<26} {'demands':>7} {'p50 ms':>7} {'p99 ms':>8} {'peak MiB':>9} {'counted':>7} {'turn ms':>8} {'(CPU)':>7} {'healthz':>8} {'lease s':>7} {'CPU s':>6} {'again s':>7} ends"


class Row(NamedTuple):
    name: str
    figures: Figures
    failures: List[str]


class Bench:
    def __init__(self, options: argparse.Namespace, work_dir: Path, pool: bool = False):
        self.options = options
        self.limit = MemoryLimit(chart_limit_mib())
        self._work_dir = work_dir
        self._metrics, self._health = free_port(), free_port()
        flags = ["--leader-elect=true", "--leader-elect-resource-namespace", "fleet"]
        flags += ["--in-place-resize=true", "--metrics-secure", "--metrics-bind-address", f"127.0.0.1:{self._metrics}", *options.flags]
        self._flags, self._pool, self._fleets = flags, pool, 0
        self.fleet = self._new_fleet()
        self.rows: List[Row] = []
        self.long_turns: List[str] = []

    def _new_fleet(self) -> Fleet:
        self._fleets += 1
        work_dir = self._work_dir / str(self._fleets)
        fleet = Fleet(self.options.clusters, self.options.pods, work_dir, self._flags, self.limit, self._health)
        if self._pool:
            fleet.add_pool()
        return fleet

    def close(self) -> None:
        self.fleet.stop()
        self.limit.remove()

    def metrics_address(self) -> str:
        return f"127.0.0.1:{self._metrics}"

    def victims(self) -> List[hostile.Victim]:
        """Of the honest clusters, as src/test/fleet/fleet_objects.h makes them."""
        return [("fleet", f"rc-{index:05d}", f"{index:08x}-0000-4000-8000-000000000000") for index in range(VICTIMS)]

    def read_metrics(self) -> str:
        request = urllib.request.Request(f"https://{self.metrics_address()}/metrics", headers={"Authorization": "Bearer honest"})
        try:
            with urllib.request.urlopen(request, timeout=30, context=tokens.UNVERIFIED) as answer:
                return answer.read().decode()
        except (OSError, http.client.HTTPException):
            return ""

    @staticmethod
    def _metric(text: str, metric: str, factor: float) -> Optional[float]:
        """None: this program does not measure it."""
        found = re.search(rf"^{re.escape(metric)} (\S+)$", text, re.MULTILINE)
        return factor * float(found.group(1)) if found else None

    def _all_safe(self, kinds: List[hostile.Kind]) -> bool:
        """Idle workers of every honest cluster may be removed; a victim of forged Pods may have to wait."""
        text = self.read_metrics()
        victims = VICTIMS if any(kind.name == hostile.FORGED for kind in kinds) else 0
        return "rayscaler_safe_to_scale_down" in text and len(UNSAFE.findall(text)) <= victims

    def phase(self, name: str, kinds: List[hostile.Kind]) -> Row:
        """So many seconds beside tenants of these kinds; then they are removed."""
        self._renew()
        self.fleet.ask("reset")
        pulse = self.fleet.pulse(PULSE_SECONDS)
        before, begun = cpu_seconds(self.fleet.controller.pid), time.monotonic()
        attack = hostile.Attack(self.fleet, kinds, self.options.each, self._work_dir) if kinds else None
        self.fleet.change(self.options.rate)
        try:
            threading.Event().wait(self.options.seconds)
            row = self._end(name, kinds, pulse, before, begun)
            if kinds and not row.figures["ended"]:
                self._start_again(row)
        finally:
            self.fleet.change(0)
            if attack:
                attack.stop()
        if kinds and self.fleet.controller.running():
            threading.Event().wait(REMOVED_SECONDS)
            self._peaks(row.figures)
        self.rows.append(row)
        self.long_turns += [f"{name}: {text}" for text in self.fleet.controller.log_text().splitlines() if LONG_TURN in text]
        print(line(row), flush=True)
        if row.failures:
            self._recover()
        return row

    def _renew(self) -> None:
        """A new controller, whose peaks are those of the phase, and clusters that have not grown to their limit yet."""
        self.fleet.stop()
        self.fleet = self._new_fleet()
        self.fleet.start()
        self.fleet.settle(1, 60 + self.options.clusters / 5)

    def _peaks(self, figures: Figures) -> None:
        """Memory and turns of the controller that runs; the greater figures stay."""
        text = self.read_metrics()
        for key, value in (
            ("peak", status_mib(self.fleet.controller.pid, "VmHWM")),
            ("counted", self._metric(text, COUNTED, 1 / MIB)),
            ("turn_ms", self._metric(text, LONGEST_TURN, 1000)),
            ("turn_cpu_ms", self._metric(text, LONGEST_TURN_CPU, 1000)),
        ):
            known = [one for one in (figures.get(key), value) if one is not None]
            figures[key] = max(known) if known else None

    def _start_again(self, row: Row) -> None:
        """kill -9 beside the tenants: what a container that is above its limit meets."""
        self.fleet.controller.kill()
        begun = time.monotonic()
        self.fleet.run()
        self.fleet.change(self.options.rate)
        threading.Event().wait(AGAIN_SECONDS)
        try:
            self.fleet.drain(RESTART_SECONDS)
            row.figures["again"] = time.monotonic() - begun
        except WaitTimeout:
            row.failures.append(f"{self.fleet.ask('figures')['waiting']} honest clusters were not scaled after a restart")
        if not self._check_ended(row.figures, row.failures):
            self._peaks(row.figures)

    def _check_ended(self, figures: Figures, failures: List[str]) -> bool:
        controller = self.fleet.controller
        figures["ended"] = not controller.running()
        if figures["ended"]:
            last = controller.log_text().strip().splitlines()[-1:]
            failures.append(f"ended with status {controller.returncode()}: {' '.join(last)[:300]}")
        return figures["ended"]

    def _recover(self) -> None:
        """The next phase begins with a controller that runs, and no cluster that waits."""
        if not self.fleet.controller.running():
            self.fleet.run()
        try:
            self.fleet.drain(RECOVERY_SECONDS)
        except WaitTimeout:
            print(f"    not scaled {RECOVERY_SECONDS:.0f} s later either")

    def _pool_failures(self, figures: Figures, alone: bool) -> List[str]:
        """The forged demand waits in the pool, as it is too large, and gets nothing. Tenants of other kinds have workers."""
        waiting = sum(float(value) for value in FORGED_WAITS.findall(self.read_metrics()))
        failures = [] if waiting >= FORGED_GPUS else [f"{waiting:.0f} GPUs of forged demand wait for the pool"]
        return failures + ([f"{figures['guest_patches']} patches for forged demand"] if alone and figures["guest_patches"] else [])

    def _end(self, name: str, kinds: List[hostile.Kind], pulse: Pulse, before: float, begun: float) -> Row:
        """Demand ends, the hostile tenants are still there."""
        failures = []
        controller = self.fleet.controller
        try:
            self.fleet.drain(PATCH_SECONDS)
        except WaitTimeout:
            failures.append(f"{self.fleet.ask('figures')['waiting']} honest clusters were not scaled")
        if controller.running():
            try:
                wait_until(lambda: self._all_safe(kinds), SAFE_SECONDS, "honest clusters to be safe to scale down", 1)
            except WaitTimeout:
                text = self.read_metrics()
                unsafe = f"{len(UNSAFE.findall(text))} honest clusters were not safe to scale down"
                failures.append(unsafe if text else "the metrics could not be read")
        figures = self.fleet.ask("figures")
        if self.options.rate and not figures["demands"]:
            failures.append("no honest cluster had new demand")
        failures += self._pool_failures(figures, len(kinds) == 1) if hostile.FORGED_DEMAND in kinds else []
        if figures["token_reviews"] > REVIEWS_BURST + REVIEWS_PER_SECOND * (time.monotonic() - begun):
            failures.append(f"{figures['token_reviews']:.0f} reviews of tokens")
        figures["healthz_ms"] = pulse.stop()
        if not self._check_ended(figures, failures):
            self._peaks(figures)
            figures["cpu"] = cpu_seconds(controller.pid) - before
            if figures["peak"] > self.limit.mib:
                failures.append(f"{figures['peak']:.0f} MiB are above the limit")
        return Row(name, figures, failures)


def line(row: Row) -> str:
    figures = row.figures

    def number(key: str, digits: int = 0) -> str:
        value = figures.get(key)
        return "-" if value is None else f"{value:.{digits}f}{'!' if value > AIMS.get(key, value) else ''}"

    lease = f"{figures['lease_gap_ms'] / 1000:.1f}"
    text = f"{row.name:<26} {figures['patched']:>3}/{figures['demands']:<3} {number('p50_ms'):>7} {number('p99_ms'):>8}"
    text += f" {number('peak', 1):>9} {number('counted'):>7} {number('turn_ms', 1):>8} {number('turn_cpu_ms', 1):>7} {number('healthz_ms'):>8} {lease:>7}"
    text += f" {number('cpu', 1):>6} {number('again', 1):>7} {int(figures['ended'])}"
    return text + "".join(f"\n    FAILED {failure}" for failure in row.failures)


def above_aims(rows: List[Row]) -> List[str]:
    return [
        f"{row.name}: {key} {row.figures[key]:.1f}, aim {aim:.0f}"
        for row in rows
        for key, aim in AIMS.items()
        if row.figures.get(key) is not None and row.figures[key] > aim
    ]


def median(values: List[float]) -> float:
    return sorted(values)[len(values) // 2]


def ratios(rows: List[Row]) -> str:
    alone = [row.figures["p99_ms"] for row in rows if row.name == "alone"]
    beside = [row.figures["p99_ms"] for row in rows if row.name == "all"]
    text = f"p99 from demand to patch, median of {len(alone)} phases alone: {median(alone):.0f} ms"
    if beside:
        text += f"; of {len(beside)} beside all kinds: {median(beside):.0f} ms, {median(beside) / median(alone):.2f} times (aim: 1.5)"
    return text


def run(bench: Bench, kinds: List[hostile.Kind]) -> int:
    options = bench.options
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}; {options.clusters} honest RayClusters of"
        f" {options.pods} Pods, {options.each} tenants of each kind, {options.rate:g} demands/s; limit {bench.limit.mib} MiB by {bench.limit.how}",
        flush=True,
    )
    first = bench.fleet.start()
    bench.fleet.settle(2, 60 + options.clusters / 5)
    print(f"synced after {first['synced']:.1f} s\n{HEAD}", flush=True)
    for number, kind in enumerate(kinds if not options.together else []):
        if number % 5 == 0:
            bench.phase("alone", [])
        bench.phase(kind.name, [kind])
    for _ in range(options.rounds):
        bench.phase("alone", [])
        bench.phase("all", kinds)
    bench.phase("alone", [])
    print(ratios(bench.rows))
    failed = [row for row in bench.rows if row.failures]
    for row in failed:
        print(f"FAILED {row.name}: {'; '.join(row.failures)}")
    for text in bench.long_turns:
        print(text)
    above = above_aims(bench.rows)
    for text in above:
        print(f"above its aim: {text}")
    return 1 if failed or (above and options.aims) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=4)
    parser.add_argument("--each", type=int, default=10, help="hostile tenants of each kind")
    parser.add_argument("--seconds", type=float, default=8, help="of each phase")
    parser.add_argument("--rate", type=float, default=20, help="honest clusters with new demand in a second")
    parser.add_argument("--rounds", type=int, default=3, help="phases with all kinds")
    parser.add_argument("--scale", type=float, default=1, help="of the loads with most objects")
    parser.add_argument("--aims", action="store_true", help="a figure above its aim is a failure")
    parser.add_argument("--log", action="store_true", help="show the end of the controller's log")
    parser.add_argument("--together", action="store_true", help="no phase with one kind alone")
    parser.add_argument("--only", help="a regular expression of kinds")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="of rayscaler run")
    options = parser.parse_args()
    status = run_all(options, False)
    if any(re.search(options.only or "", name) for name in [hostile.FORGED_DEMAND.name, *sizes.OF_A_POOL]):
        print("with a GPUPool, in which the honest clusters are within their guarantee:", flush=True)
        status |= run_all(options, True)
    return status


def pool_kinds(bench: Bench, options: argparse.Namespace) -> List[hostile.Kind]:
    large = [kind for kind in sizes.all_kinds(bench.metrics_address(), bench.fleet.health_address(), options.scale) if kind.name in sizes.OF_A_POOL]
    return [kind for kind in [hostile.FORGED_DEMAND, *large] if re.search(options.only or "", kind.name)]


def all_kinds(bench: Bench, options: argparse.Namespace) -> List[hostile.Kind]:
    """But the one that needs a GPUPool; those that --only matches."""
    kinds = hostile.OBJECTS + hostile.CLAIMS + hostile.SPEEDS + hostile.REPLIES + hostile.FLOODS
    kinds = kinds + [hostile.forged_pods(bench.victims()), hostile.forged_tokens(bench.metrics_address())]
    kinds += sizes.all_kinds(bench.metrics_address(), bench.fleet.health_address(), options.scale)
    return [kind for kind in kinds if re.search(options.only or "", kind.name)]


def run_all(options: argparse.Namespace, pool: bool) -> int:
    with tempfile.TemporaryDirectory(prefix="hostile") as directory:
        bench = Bench(options, Path(directory), pool)
        try:
            kinds = pool_kinds(bench, options) if pool else all_kinds(bench, options)
            return run(bench, kinds) if kinds else 0
        finally:
            if options.log and bench.fleet.log.exists():
                print(bench.fleet.log.read_text()[-5000:])
            bench.close()


if __name__ == "__main__":
    sys.exit(main())
