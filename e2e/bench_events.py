"""`make bench-events`: the cost of the watch of Events, at rest and in a flood.

A real kube-apiserver, no RayCluster. Two controllers, one of which may not read Events, so that the
difference is the watch. At rest nothing happens; the flood has the Events of Pods of a
whole day, with one refusal of a node autoscaler among 36. For the API server: the same flood without any watch and with ten.
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Dict, List

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.program import Controller

FLOOD = 3000
WATCHES = 10
REST_SECONDS = 60
REASONS = ["Scheduled", "Pulling", "Pulled", "Created", "Started"] * 6
REASONS += ["Killing", "BackOff", "Unhealthy", "FailedScheduling", "SuccessfulCreate", "NotTriggerScaleUp"]


def cpu_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def resident_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def process_seconds(pid: int) -> float:
    """Of all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def event(number: int, namespace: str) -> Dict:
    pod = f"some-deployment-6d5f7c9b84-{number % 500}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{secrets.token_hex(8)}", "namespace": namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": pod, "namespace": namespace},
        "type": "Normal",
        "reason": REASONS[number % len(REASONS)],
        "message": "as long as what the scheduler says when it assigns some Pod to some Node of the cluster",
        "source": {"component": "bench"},
        "firstTimestamp": "2026-11-20T10:00:00Z",
        "lastTimestamp": "2026-11-20T10:00:00Z",
        "count": 1,
    }


def flood(server: ApiServer, namespace: str, count: int) -> None:
    def work(first: int) -> None:
        events = server.client(server.tokens[ADMIN_USER]).of("events", namespace)
        for number in range(first, count, 4):
            events.create(event(number, namespace))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def api_server_pid() -> int:
    listing = subprocess.check_output(["ps", "-o", "pid,args", "--ppid", str(os.getpid())], text=True)
    return next(int(line.split()[0]) for line in listing.splitlines() if "kube-apiserver" in line.split()[1])


def server_cost(server: ApiServer, namespace: str, work_dir: Path, watches: int, count: int) -> float:
    running = [Controller(server, namespace, work_dir / f"watch-{watches}-{n}") for n in range(watches)]
    for one in running:
        one.wait_for("caches are filled", seconds=60)
    before = process_seconds(api_server_pid())
    flood(server, namespace, count)
    time.sleep(1)
    spent = process_seconds(api_server_pid()) - before
    for one in running:
        one.stop()
    return spent


def compare(server: ApiServer, namespace: str, work_dir: Path, rest: int, count: int) -> None:
    rows: List = [
        ("without", Controller(server, namespace, work_dir / "without", without="events")),
        ("with", Controller(server, namespace, work_dir / "with")),
    ]
    for _, one in rows:
        one.wait_for("caches are filled", seconds=60)
    time.sleep(2)
    at_rest = [cpu_seconds(one.process.pid) for _, one in rows]
    time.sleep(rest)
    in_flood = [cpu_seconds(one.process.pid) for _, one in rows]
    flood(server, namespace, count)
    time.sleep(1)
    print(f"{'':28}{'CPU at rest':>16}{f'CPU of {count} Events':>24}{'RSS':>12}")
    for index, (name, one) in enumerate(rows):
        resting = (in_flood[index] - at_rest[index]) / rest * 100
        flooded = (cpu_seconds(one.process.pid) - in_flood[index]) / count * 1e6
        rss = resident_mib(one.process.pid)
        print(f"{name + ' the watch of Events':28}{resting:>9.4f} % core{flooded:>15.1f} us each{rss:>8.1f} MiB", flush=True)
        one.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rest-seconds", type=int, default=REST_SECONDS)
    parser.add_argument("--events", type=int, default=FLOOD)
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {paths.program()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="rayscaler-bench-") as directory:
        with ApiServer(Path(directory) / "apiserver") as server:
            print(server.describe(), flush=True)
            server.install_bench()
            namespace = server.create_namespace("bench")
            flood(server, namespace, 300)
            compare(server, namespace, Path(directory), arguments.rest_seconds, arguments.events)
            alone = server_cost(server, namespace, Path(directory), 0, arguments.events)
            watched = server_cost(server, namespace, Path(directory), WATCHES, arguments.events)
            each = (watched - alone) / WATCHES / arguments.events * 1e6
            print(f"kube-apiserver: {alone:.1f} s for {arguments.events} Events, {watched:.1f} s with {WATCHES} watches:")
            print(f"{each:.0f} us for each Event and watch, of {alone / arguments.events * 1e6:.0f} us for an Event itself")


if __name__ == "__main__":
    sys.exit(main())
