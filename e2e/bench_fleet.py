"""`make fleet`: one controller and N RayClusters with P Pods each (rayscaler_e2e/fleet.py).

    synced    from the start of the program to the first read of the last cluster's head
    rest      nothing changes: CPU and requests over some seconds, memory at their end
    changes   1 % of the clusters per second get demand for one more worker; its Pod comes 0.5 s after the patch
    held      the longest answer of /healthz, which each turn of the loop gives (and the wait for a processor); not at rest
"""

import argparse
import os
import platform
import sys
import tempfile
import threading
import time
from pathlib import Path

from rayscaler_e2e.fleet import Figures, Fleet, reads, writes

QUIET_SECONDS = 3.0


def show(name: str, figures: Figures) -> None:
    seconds = figures["seconds"]
    held = f"  held {figures['held_ms']:.0f} ms" if "held_ms" in figures else ""
    print(
        f"    {name:<8} CPU {figures['cpu_controller']:6.2f} %  (bench {figures['cpu_fleet']:5.2f} %)"
        f"  RSS {figures['rss']:6.1f} MiB ({figures['anonymous']:6.1f} anonymous){held}",
        flush=True,
    )
    print(
        f"             API/s {reads(figures) / seconds:.2f} reads, {writes(figures) / seconds:.2f} writes;"
        f" GET or LIST of one cluster: {figures['single_reads']}; GCS/s {figures['states'] / seconds:.1f} states,"
        f" {figures['reports'] / seconds:.1f} reports; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def measure(fleet: Fleet, options: argparse.Namespace) -> None:
    first = fleet.start()
    print(
        f"{fleet.clusters} RayClusters x {options.pods} Pods: synced after {first['synced']:.2f} s"
        f" ({first['cpu_seconds']:.1f} s of CPU), held {first['held_ms']:.0f} ms",
        flush=True,
    )
    start = time.monotonic()
    # --protect-busy-pods writes each Pod once, ten in a second.
    fleet.settle(QUIET_SECONDS, 60 + fleet.clusters / 5 + fleet.clusters * options.pods / 10)
    if options.autoscalers:
        print(f"    RayClusterAutoscalers made and written in {time.monotonic() - start:.0f} s", flush=True)
    show("rest", fleet.sample(options.seconds, pulses=False))
    fleet.change(fleet.clusters / 100)
    threading.Event().wait(QUIET_SECONDS)
    changes = fleet.sample(options.seconds)
    show("changes", changes)
    print(
        f"             demand to patch: p50 {changes['p50_ms']:.0f} ms, p99 {changes['p99_ms']:.0f} ms, most"
        f" {changes['max_ms']:.0f} ms, of {changes['patched']}; peak RSS {changes['peak']:.1f} MiB",
        flush=True,
    )
    fleet.drain()


def run(clusters: int, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="fleet") as directory:
        fleet = Fleet(clusters, options.pods, Path(directory), options.flags)
        try:
            if options.autoscalers:
                fleet.ask("autoscalers")
            if options.pools:
                fleet.add_pool()
            measure(fleet, options)
        finally:
            if options.log:
                print(fleet.log.read_text()[-5000:] if fleet.log.exists() else "no log")
            fleet.stop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("clusters", nargs="*", type=int, default=[100, 1000, 10000])
    parser.add_argument("--pods", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--autoscalers", action="store_true", help="serve RayClusterAutoscalers, wait for them")
    parser.add_argument("--pools", action="store_true", help="a GPUPool that all clusters draw from")
    parser.add_argument("--log", action="store_true", help="show the end of the controller's log")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="of rayscaler run")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}", flush=True)
    for clusters in options.clusters or [100, 1000, 10000]:
        run(clusters, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
