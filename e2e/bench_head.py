"""`make bench-head`: what reading costs a real Ray head, with 1, 100 and 1,000 nodes.

A real kube-apiserver and a real head; the nodes are registered in its GCS as raylets are, without processes. Two
actors wait that no group can serve, so that rayscaler reads as often as it may. In turn without and with rayscaler:
the CPU time of gcs_server, all its threads, in per cent of a core. The aim is 2 %.

    reads   per second
    took    a read, from the request to the decoded reply, mean
    share   took x reads: the time of the GCS if it did nothing else meanwhile
"""

import argparse
import os
import re
import shutil
import statistics
import threading
from pathlib import Path
from typing import Dict, List, NamedTuple

from bench_reaction import Head, bench_cluster, create_cluster, sample, say
from rayscaler_e2e import gcs_nodes, paths
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.program import Controller
from rayscaler_e2e.wait import wait_until

NODES = (1, 100, 1000)
ROUNDS = 3
SAMPLE_SECONDS = 20.0
WORKER = {"CPU": 8.0, "GPU": 1.0, "memory": 64e9, "object_store_memory": 16e9}


class Cost(NamedTuple):
    without: float
    with_reads: float
    reads: float
    took_ms: float


def gcs_of(head: Head) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"gcs_server") and f"--gcs_server_port={head.port}".encode() in words:
            return int(path.parent.name)
    raise AssertionError(f"no gcs_server at {head.address}")


def readings(control: Controller) -> Dict[str, float]:
    found = re.findall(r'reconcile_duration_seconds_(sum|count)\{phase="reading"\} (\S+)', control.get("/metrics")[1])
    return {name: float(value) for name, value in found}


def nodes_of(head: Head) -> int:
    from ray._raylet import GcsClient
    from ray.core.generated.autoscaler_pb2 import GetClusterResourceStateReply

    reply = GetClusterResourceStateReply()
    reply.ParseFromString(GcsClient(address=head.address).get_cluster_resource_state(timeout_s=10))
    return len(reply.cluster_resource_state.node_states)


def measure(server: ApiServer, namespace: str, head: Head, work_dir: Path, args: argparse.Namespace) -> List[Cost]:
    gcs, found = gcs_of(head), []
    for number in range(args.rounds):
        _, without = sample(gcs, args.sample_seconds)
        with Controller(server, namespace, work_dir / str(number)) as control:
            wait_until(lambda: readings(control).get("count", 0) > 20, 60, "rayscaler to read the head")
            before = readings(control)
            _, with_reads = sample(gcs, args.sample_seconds)
            after = readings(control)
        reads, took = after["count"] - before["count"], after["sum"] - before["sum"]
        found.append(Cost(without, with_reads, reads / args.sample_seconds, 1000 * took / reads))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sample-seconds", type=float, default=SAMPLE_SECONDS)
    args = parser.parse_args()
    work_dir = paths.work_root() / "bench-head"
    shutil.rmtree(work_dir, ignore_errors=True)
    os.environ.update(gcs_nodes.HEAD_ENV)
    with ApiServer(work_dir / "apiserver") as server:
        say(server.describe())
        server.install_bench()
        rows = []
        for nodes in args.nodes:
            namespace = server.create_namespace(f"nodes-{nodes}")
            head = Head(work_dir / namespace, "ours-head")
            try:
                wait_until(lambda: nodes_of(head) == 1, 30, "the head's own raylet")
                gcs_nodes.register(head.ip, head.port, [f"worker-{i}" for i in range(1, nodes)], "group-0", WORKER)
                assert nodes_of(head) == nodes
                create_cluster(server, namespace, bench_cluster("ours", "ours_", 1), head)
                with head.program(work_dir / namespace / "program") as program:
                    program.actors(2, name="waiting", num_cpus=0, resources={"unknown": 1})
                    rows.append((nodes, measure(server, namespace, head, work_dir / namespace, args)))
                    program.end()
            finally:
                head.stop()
    say(f"\n{os.cpu_count()} cores; gcs_server: % of a core without and with rayscaler, medians of {args.rounds}")
    say(f"{'nodes':>6} {'without':>8} {'with':>8} {'more':>8} {'reads/s':>8} {'took ms':>8} {'share %':>8}")
    for nodes, costs in rows:
        without, with_reads, reads, took = (statistics.median(values) for values in zip(*costs))
        more = statistics.median(cost.with_reads - cost.without for cost in costs)
        share = statistics.median(cost.reads * cost.took_ms / 10 for cost in costs)
        say(f"{nodes:>6} {without:>8.2f} {with_reads:>8.2f} {more:>8.2f} {reads:>8.2f} {took:>8.2f} {share:>8.2f}")


if __name__ == "__main__":
    main()
