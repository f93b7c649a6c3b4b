"""`make fleet`: one controller and N RayClusters with P Pods each, each with a Ray head of its own.

API server and heads are one C program (src/test/tools/gcs_fleet.c): the embedded server of the tests is made for
truth, not for 100,000 Pods. It speaks plain HTTP/1.1; the heads speak gRPC as Ray's do, with a recorded reply.

    synced    from the start of the program to the first read of the last cluster's head
    rest      nothing changes: CPU and requests over some seconds, RSS at their end
    changes   1 % of the clusters per second get demand for one more worker; its Pod comes 0.5 s after the patch
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, Dict, List

from rayscaler_e2e import paths
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until

TICKS = os.sysconf("SC_CLK_TCK")
SYNC_SECONDS = 300.0
QUIET_SECONDS = 3.0
Figures = Dict[str, Any]

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: fleet
clusters: [{name: fleet, cluster: {server: "http://127.0.0.1:%d"}}]
users: [{name: fleet, user: {}}]
contexts: [{name: fleet, context: {cluster: fleet, user: fleet}}]
"""


def rss_mib(pid: int, name: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name} of process {pid}")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Fleet:
    """API server and heads, and one controller on them."""

    def __init__(self, clusters: int, pods: int, work_dir: Path, flags: List[str]):
        self.clusters = clusters
        work_dir.mkdir(parents=True, exist_ok=True)
        recorded = paths.ROOT / "src/test/data/gcs/workers.bin"
        words = [paths.build_dir() / "tools/gcs_fleet", str(clusters), str(pods), recorded]
        self.server = Process("fleet", words, work_dir / "fleet.log")
        wait_until(self._ready, 30, "the fleet's API server")
        self._port = int(self.server.log_text().split()[1])
        config = work_dir / "kubeconfig"
        config.write_text(KUBECONFIG % self._port)
        self._words = [paths.program(), "run", "--kubeconfig", config, "--log-level", "warning"]
        self._words += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0", *flags]
        self._log = work_dir / "controller.log"

    def _ready(self) -> bool:
        self.server.check_running()
        return self.server.log_text().startswith("ready ")

    def start(self) -> float:
        """Start the controller; the seconds until every cluster's head has been asked."""
        started = time.monotonic()
        self.controller = Process("controller", self._words, self._log)
        wait_until(self._all_asked, SYNC_SECONDS, "all clusters to be read")
        return self.ask("figures")["all_asked_us"] / 1e6 - started

    def _all_asked(self) -> bool:
        self.controller.check_running()
        return self.ask("figures")["asked"] == self.clusters

    def ask(self, what: str) -> Figures:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/fleet/{what}", timeout=60) as answer:
            return json.load(answer)

    def sample(self, seconds: float) -> Figures:
        """What happens in so many seconds: the server's counts, and CPU and RSS of both processes."""
        self.ask("reset")
        start = time.monotonic()
        before = {one.name: cpu_seconds(one.pid) for one in (self.controller, self.server)}
        threading.Event().wait(seconds)
        took = time.monotonic() - start
        figures = self.ask("figures")
        for one in (self.controller, self.server):
            one.check_running()
            figures[f"cpu_{one.name}"] = 100 * (cpu_seconds(one.pid) - before[one.name]) / took
        figures["rss"] = rss_mib(self.controller.pid)
        figures["peak"] = rss_mib(self.controller.pid, "VmHWM")
        return figures

    def drain(self) -> None:
        """No more changes; until those under way have ended."""
        self.ask("change?rate=0")
        wait_until(lambda: self.ask("figures")["waiting"] == 0, 60, "the last patches")

    def stop(self) -> None:
        self.controller.stop(20)
        self.server.stop(5)


def reads(figures: Figures) -> int:
    return sum(value for key, value in figures.items() if key.startswith("list_")) + figures["watches"]


def writes(figures: Figures) -> int:
    return sum(value for key, value in figures.items() if key.startswith("write_"))


def show(name: str, figures: Figures) -> None:
    seconds = figures["seconds"]
    print(
        f"    {name:<8} CPU {figures['cpu_controller']:6.1f} %  (bench {figures['cpu_fleet']:5.1f} %)  RSS {figures['rss']:6.1f} MiB"
        f"  API/s {(reads(figures) + figures['single_reads']) / seconds:6.2f} reads {writes(figures) / seconds:7.2f} writes"
        f"  single reads {figures['single_reads']}  GCS/s {(figures['states'] + figures['reports']) / seconds:8.1f}",
        flush=True,
    )


def run(clusters: int, options: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory(prefix="fleet") as directory:
        fleet = Fleet(clusters, options.pods, Path(directory), options.flags)
        try:
            if options.autoscalers:
                fleet.ask("autoscalers")
            synced = fleet.start()
            print(f"{clusters} RayClusters x {options.pods} Pods: synced after {synced:.2f} s", flush=True)
            if options.autoscalers:
                settle(fleet)
            threading.Event().wait(QUIET_SECONDS)
            rest = fleet.sample(options.seconds)
            show("rest", rest)
            fleet.ask(f"change?rate={clusters / 100}")
            threading.Event().wait(QUIET_SECONDS)
            changes = fleet.sample(options.seconds)
            show("changes", changes)
            print(
                f"    demand to patch: p50 {changes['p50_ms']:.0f} ms, p99 {changes['p99_ms']:.0f} ms, most"
                f" {changes['max_ms']:.0f} ms, of {changes['patched']}; peak RSS {changes['peak']:.1f} MiB",
                flush=True,
            )
            fleet.drain()
        finally:
            if options.log:
                print(fleet._log.read_text()[-5000:] if fleet._log.exists() else "no log")
            fleet.stop()
    return {"synced": synced, "rest": rest, "changes": changes}


def settle(fleet: Fleet) -> None:
    """Until every RayClusterAutoscaler is made and has its status."""
    start = time.monotonic()

    def quiet() -> bool:
        fleet.ask("reset")
        threading.Event().wait(QUIET_SECONDS)
        figures = fleet.ask("figures")
        return figures["made"] == fleet.clusters and writes(figures) == 0

    wait_until(quiet, 60 + fleet.clusters / 5, "the RayClusterAutoscalers to be written")
    print(f"    RayClusterAutoscalers made and written in {time.monotonic() - start:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("clusters", nargs="*", type=int, default=[100, 1000, 10000])
    parser.add_argument("--pods", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--autoscalers", action="store_true", help="serve RayClusterAutoscalers, wait for them")
    parser.add_argument("--log", action="store_true", help="show the end of the controller's log")
    parser.add_argument("--flags", nargs=argparse.REMAINDER, default=[], help="of rayscaler run")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f}", flush=True)
    for clusters in options.clusters or [100, 1000, 10000]:
        run(clusters, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
