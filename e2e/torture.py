"""`make torture`: every request of one scenario fails once, in each way that it can.

Real kube-apiserver, real Ray: head, raylets, and workers; the raylets are started without `ray start`
(rayscaler_e2e/quick_raylet.py). Operator and kubelet are the bench's. Each slot is a RayCluster in a
namespace of its own with a process that drives it. Results are lines of JSON in $(BUILD)/torture.
"""

import argparse
import ctypes
import json
import multiprocessing as mp
import re
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, List

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e import paths, torture
from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.torture import Cell, Result, Slot
from rayscaler_e2e.wait import wait_until

CLEAN_RUNS = 2
# An event of an object that has had one, also where two workers begin at once.
BEYOND_FIRST = 3
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def serve_slot(server: ApiServer, number: int, work_dir: Path, cells: Any, results: Any) -> None:
    """The process of one slot: runs the received cells until None."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    server.admin = server.client(server.tokens[ADMIN_USER])  # connections are not shared with the parent
    slot = None
    try:
        slot = Slot(server, number, work_dir)
        while True:
            word = cells.get()
            if word == "stop":
                break
            result = slot.run(word)
            if result.end in ("different", "harmed"):
                slot.renew()
            results.put(result)
    except BaseException:
        results.put(traceback.format_exc())
    finally:
        if slot:
            slot.close()


class Slots:
    """Some slots, to whom cells are given one by one."""

    def __init__(self, server: ApiServer, count: int, work_dir: Path):
        context = mp.get_context("fork")
        self._cells, self._results = context.SimpleQueue(), context.SimpleQueue()
        self._processes = [
            context.Process(target=serve_slot, args=(server, number, work_dir, self._cells, self._results))
            for number in range(1, count + 1)
        ]
        for process in self._processes:
            process.start()
        self._open = 0

    def run(self, cells: List[Any], minutes: float, done: Any) -> int:
        """All cells, or those that can be begun in so many minutes; how many were not."""
        end = time.monotonic() + 60 * minutes
        waiting = list(cells)
        while waiting or self._open:
            while waiting and self._open < len(self._processes) and time.monotonic() < end:
                self._cells.put(waiting.pop(0))
                self._open += 1
            if not self._open:
                break
            result = self._next()
            self._open -= 1
            again = done(result)
            if again:
                waiting.insert(0, again)
        return len(waiting)

    def _next(self) -> Result:
        wait_until(lambda: not self._results.empty(), 600, "a run to end")
        result = self._results.get()
        if isinstance(result, str):
            raise RuntimeError(f"a slot ended:\n{result}")
        return result

    def stop(self) -> None:
        for _ in self._processes:
            self._cells.put("stop")
        for process in self._processes:
            process.join(90)
            if process.is_alive():
                process.terminate()


class Report:
    """Takes the results as they come, writes and counts them."""

    def __init__(self, path: Path):
        self.results: List[Result] = []
        self._tried_again: set = set()
        self._file = open(path, "w", buffering=1)

    def take(self, result: Result) -> Any:
        """The cell to be tried once more: its fault met nothing, or the witness saw nothing."""
        cell = result.cell
        self._file.write(json.dumps(result.as_json()) + "\n")
        if cell and result.end in ("missed", "blind") and (cell.row, cell.kind) not in self._tried_again:
            self._tried_again.add((cell.row, cell.kind))
            return cell._replace(number=1 if cell.kind != "old-event" else BEYOND_FIRST)
        self.results.append(result)
        if cell:
            took = f"{result.end:<9} {result.seconds:5.1f} s"
            print(f"{len(self.results):4} {took}  {cell.kind:<17} {cell.row}", flush=True)
        if result.why:
            print(f"     {result.why}", flush=True)
        return None


def show_classes(clean: List[Result]) -> None:
    every, some = torture.classes([one.counts for one in clean])
    total = sum(count for _, count in every)
    print(f"\nA clean run has at least {total} requests, calls and watch events, in {len(every)} classes:")
    for name, count in every:
        print(f"  {count:3}  {name}")
    print("Not in every clean run, therefore not tried: " + (", ".join(f"{name} ({n})" for name, n in some) or "none"))


def main() -> int:
    parser = argparse.ArgumentParser(description="fail every request of a scenario once, in each way")
    parser.add_argument("--seed", type=int, default=1, help="the order, and which of equivalent requests is hit")
    parser.add_argument("--shard", default="1/1", help="I/N: the I-th of N parts")
    parser.add_argument("--slots", type=int, default=3, help="RayClusters at once")
    parser.add_argument("--minutes", type=float, default=600, help="begin no run after this")
    parser.add_argument("--only", default="", help="a regular expression: only such 'request fault'")
    parser.add_argument("--ray-start", action="store_true", help="start workers by `ray start`, as KubeRay does")
    options = parser.parse_args()
    if not options.ray_start:
        rm.start_quickly()
    directory = paths.build_dir() / "torture"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with ApiServer(directory / "apiserver") as server:
        server.install_bench()
        with StandIns(server, directory / "standins"):
            return torture_all(server, directory, options)


def torture_all(server: ApiServer, directory: Path, options: argparse.Namespace) -> int:
    began = time.monotonic()
    report = Report(directory / "results.jsonl")
    slots = Slots(server, options.slots, directory)
    try:
        slots.run([None] * max(CLEAN_RUNS, options.slots), 60, report.take)
        clean, report.results = report.results, []
        bad = [one for one in clean if one.end != "same"]
        if bad:
            print(f"a run without a fault ended as {bad[0].end}: {bad[0].why}")
            return 1
        show_classes(clean)
        cells = torture.cells_of([one.counts for one in clean], options.seed)
        cells = [cell for cell in cells if re.search(options.only, f"{cell.row} {cell.kind}")]
        cells = torture.shard(cells, options.shard)
        print(f"{len(cells)} cells, seed {options.seed}, shard {options.shard}\n", flush=True)
        left = slots.run(cells, options.minutes, report.take)
    finally:
        slots.stop()
    print()
    print("\n".join(torture.table(report.results)))
    print("seconds until a request of this name was answered again; '.': none was asked again\n")
    figures = torture.summary(report.results, clean)
    for name, value in figures.items():
        print(f"{name}: {value}")
    print(f"cells not tried: {left}; {(time.monotonic() - began) / 60:.1f} minutes")
    return 0 if report.results and all(one.end == "same" for one in report.results) else 1


if __name__ == "__main__":
    sys.exit(main())
