"""`make timeline`: one workload with rayscaler and with Ray's own autoscaler, one after the other.

A real kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray head and real raylets with
logical GPUs. Three actors with one GPU each run for some seconds and end; then the workers are idle. Every
SAMPLE_SECONDS: the GPUs in demand (pending or in use), the GPUs of registered workers, and `replicas`. Writes
docs/pictures/timeline.json, from which rayscaler_e2e/drawings.py draws the picture of the README.
"""

import argparse
import contextlib
import json
import shutil
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from bench_reaction import start_ray_autoscaler, start_rayscaler
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.drawings import PICTURES
from rayscaler_e2e.processes import Process
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

ACTORS = 3
BUSY_SECONDS = 15.0
IDLE_SECONDS = 15
SAMPLE_SECONDS = 0.2
BEFORE_SECONDS = 2.0
LONGEST_SECONDS = 180.0


class Sampler:
    """The rows of one run, in seconds since its start."""

    def __init__(self, scenario: Scenario, process: Process):
        from ray._raylet import GcsClient
        from ray.core.generated import autoscaler_pb2

        self._client = GcsClient(address=scenario.address())
        self._reply = autoscaler_pb2.GetClusterResourceStateReply
        self._scenario, self._process = scenario, process
        self._start = time.monotonic()
        self.rows: List[Dict[str, float]] = []
        self.pending = self.gangs = 0.0  # GPUs that tasks and actors, and that placement groups wait for, in the last sample

    def now(self) -> float:
        return round(time.monotonic() - self._start, 2)

    def sample(self) -> Dict[str, float]:
        self._process.check_running()
        reply = self._reply()
        reply.ParseFromString(self._client.get_cluster_resource_state(timeout_s=5))
        state = reply.cluster_resource_state
        pending = sum(each.count * each.request.resources_bundle.get("GPU", 0) for each in state.pending_resource_requests)
        self.pending, self.gangs = pending, sum(map(_gpus_of, state.pending_gang_resource_requests))
        alive = [node for node in state.node_states if node.status != 4]  # 4: DEAD
        total = sum(node.total_resources.get("GPU", 0) for node in alive)
        free = sum(node.available_resources.get("GPU", 0) for node in alive)
        row = {
            "at": self.now(), "demand": pending + total - free, "gpus": total, "replicas": self._scenario.replicas(),
        }
        if not self.rows or any(row[key] != self.rows[-1][key] for key in ("demand", "gpus", "replicas")):
            self.rows.append(row)
        return row

    def until(self, done: Callable[[Dict[str, float]], bool], what: str, seconds: float = LONGEST_SECONDS) -> None:
        wait_until(lambda: done(self.sample()), seconds, what, SAMPLE_SECONDS)


def _gpus_of(gang: Any) -> float:
    bundles = gang.bundle_selectors[0].resource_requests if gang.bundle_selectors else gang.requests
    return sum(bundle.resources_bundle.get("GPU", 0) for bundle in bundles)


def play(scenario: Scenario, sampler: Sampler) -> None:
    sampler.until(lambda row: row["at"] > BEFORE_SECONDS, "the start")
    with scenario.program() as program:
        program.actors(ACTORS, num_gpus=1)
        sampler.until(lambda row: row["demand"] == ACTORS, "the demand")
        sampler.until(lambda row: row["gpus"] == ACTORS and row["replicas"] == ACTORS, "the workers")
        end = sampler.now() + BUSY_SECONDS
        sampler.until(lambda row: row["at"] > end, "the work")
        program.end()
    sampler.until(lambda row: row["replicas"] == 0 and row["gpus"] == 0, "no worker")
    end = sampler.now() + BEFORE_SECONDS
    sampler.until(lambda row: row["at"] > end, "the end")
    sampler.rows.append({**sampler.rows[-1], "at": sampler.now()})


def reasons(log: Path, sampler: Sampler) -> List[Dict[str, Any]]:
    """What rayscaler's log says of each change, at the time at which `replicas` was seen."""
    changes = [row for before, row in zip(sampler.rows, sampler.rows[1:]) if before["replicas"] != row["replicas"]]
    lines = [json.loads(line) for line in log.read_text().splitlines() if '"scaled"' in line]
    return [{"at": row["at"], "reason": line["reason"]} for row, line in zip(changes, lines)]


@contextlib.contextmanager
def scenario_of(server: ApiServer, name: str, work_dir: Path) -> Iterator[Scenario]:
    namespace = server.create_namespace(name)
    cluster = rm.cluster(name, [rm.gpu_group(maxReplicas=4)], idle_seconds=IDLE_SECONDS)
    if name != "rayscaler":
        cluster["metadata"]["annotations"]["rayscaler.dev/managed"] = "false"
    scenario = Scenario(server, namespace, cluster, work_dir)
    try:
        yield scenario.wait_head()
    finally:
        scenario.close()


class RayHead:
    """What start_ray_autoscaler needs to know of the head."""

    def __init__(self, scenario: Scenario):
        self.home, self.address = scenario.work_dir / "home", scenario.address()
        self.pod = scenario.head()["metadata"]["name"]


def measure(server: ApiServer, name: str, work_dir: Path) -> Dict[str, Any]:
    with scenario_of(server, name, work_dir) as scenario:
        if name == "rayscaler":
            process = start_rayscaler(server, scenario.namespace, work_dir)
        else:
            process = start_ray_autoscaler(server, scenario.namespace, name, RayHead(scenario), work_dir)
        try:
            sampler = Sampler(scenario, process)
            play(scenario, sampler)
            marks = reasons(work_dir / "rayscaler.log", sampler) if name == "rayscaler" else []
        finally:
            process.stop(5)
    return {"name": name, "rows": sampler.rows, "reasons": marks}


def main() -> None:
    import ray

    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder of the file")
    out = parser.parse_args().out

    work_dir = paths.work_root() / "timeline"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        with StandIns(server, work_dir / "standins"):
            runs = [measure(server, name, work_dir) for name in ("ray-autoscaler", "rayscaler")]
    made = {"ray": ray.__version__, "idleSeconds": IDLE_SECONDS, "runs": runs}
    out.mkdir(parents=True, exist_ok=True)
    out.joinpath("timeline.json").write_text(json.dumps(made, indent=1) + "\n")
    for run in runs:
        print(run["name"])
        for row in run["rows"]:
            print(f"  {row['at']:7.2f} s  demand {row['demand']:.0f}  GPUs {row['gpus']:.0f}  replicas {row['replicas']}")
        for mark in run["reasons"]:
            print(f"  {mark['at']:7.2f} s  {mark['reason']}")


if __name__ == "__main__":
    main()
