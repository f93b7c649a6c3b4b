"""`make bench-list`: the first list of all Pods, 10,000 of them and 100,000, from the fleet's server.

The client is the controller's informer of Pods in a process of its own (src/test/tools/kube_list_bench.c); the
server (src/test/tools/gcs_fleet.c) makes the pages as they are asked for.

Exit status 1: an object is missing or was not read, or the list had to be asked for again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from rayscaler_e2e import paths
from rayscaler_e2e.fleet import Fleet

PODS = 10
PAGE = 250
SECONDS = 400


class Row(NamedTuple):
    pods: int
    page_bytes: int
    figures: Dict[str, Any]

    def whole(self) -> bool:
        figures = self.figures
        return figures["pods"] == self.pods and figures["lists"] == 1 and figures["bad"] == figures["errors"] == 0


def measure(clusters: int, work_dir: Path) -> Row:
    fleet = Fleet(clusters, PODS, work_dir, [])
    try:
        with urllib.request.urlopen(f"{fleet.url}/api/v1/pods?limit={PAGE}", timeout=60) as answer:
            page_bytes = len(answer.read())
        words = [paths.build_dir() / "tools/kube_list_bench", fleet.kubeconfig, str(SECONDS)]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=False, text=True, timeout=SECONDS + 60)
        return Row(clusters * PODS, page_bytes, json.loads(done.stdout))
    finally:
        fleet.stop()


def show(row: Row) -> None:
    figures = row.figures
    print(
        f"{row.pods:>8} {figures['pods']:>8} {figures['bad']:>4} {row.page_bytes / PAGE / 1024:>7.1f}"
        f" {figures['seconds']:>8.2f} {figures['cpu_seconds']:>8.2f} {1e6 * figures['cpu_seconds'] / row.pods:>7.0f}"
        f" {figures['peak_mib']:>9.1f} {1024 * figures['peak_mib'] / row.pods:>7.2f}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clusters", type=int, nargs="*", default=[1000, 10000], help=f"of {PODS} Pods each")
    rows: List[Row] = []
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("    Pods   listed  bad  KiB/Pod  seconds    CPU s  us/Pod  peak MiB KiB/Pod")
    for clusters in parser.parse_args().clusters:
        with tempfile.TemporaryDirectory(prefix="list") as directory:
            rows.append(measure(clusters, Path(directory)))
        show(rows[-1])
    first, last = rows[0], rows[-1]
    print(
        f"{last.pods / first.pods:.0f} times as many Pods: {last.figures['cpu_seconds'] / first.figures['cpu_seconds']:.1f}"
        f" times the CPU, {last.figures['peak_mib'] / first.figures['peak_mib']:.1f} times the memory"
    )
    return 0 if all(row.whole() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
