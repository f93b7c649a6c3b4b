"""`make bench-libraries`: GPU-seconds of a pipeline of Ray Data (rayscaler_e2e/ray_data_run.py) with Ray's own autoscaler and with rayscaler, its
settings `requests` off and on, one after the other: held, used, idle, and the time that the pipeline took.

The bench of measure_timeline.py: a real kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray
head and real raylets with logical GPUs. A run ends when the pipeline has ended; what is idle after it is the same for
all and not counted.
"""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

from bench_reaction import start_ray_autoscaler
from measure_timeline import RayHead, Sampler
from rayscaler_e2e import paths, ray_data_run
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_program import ray_environment
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns

IDLE_SECONDS = 10
SAMPLE_SECONDS = 0.2
LONGEST_SECONDS = 500.0
RUNS: Dict[str, List[str]] = {
    "ray-autoscaler": [],
    "off": [],
    "on": ["--requests-unused-after-seconds", "15", "--requests-ahead-of-use", "1"],
}
VARIABLES = {"RATE_BASED": {}, "V2": {"RAY_DATA_CLUSTER_AUTOSCALER": "V2"}}


class Sums:
    """GPU-seconds since the first sample."""

    def __init__(self, sampler: Sampler):
        self._sampler, self._at = sampler, time.monotonic()
        self.held = self.used = 0.0
        self.most = 0

    def add(self) -> None:
        row, now = self._sampler.sample(), time.monotonic()
        pending = self._sampler.pending
        self.held += row["gpus"] * (now - self._at)
        self.used += (row["demand"] - pending) * (now - self._at)
        self.most = max(self.most, int(row["gpus"]))
        self._at = now


def group() -> Dict[str, Any]:
    return rm.group("gpu-group", cpus=2, params={"num-gpus": "1"}, maxReplicas=ray_data_run.GPUS)


def pipeline(scenario: Scenario, variables: Dict[str, str], size: List[str], work_dir: Path) -> Process:
    env = {**ray_environment(work_dir / "driver-home", None), **variables}
    script = Path(ray_data_run.__file__)
    words = [sys.executable, "-u", str(script), scenario.address(), scenario.head_ip(), str(work_dir / "pipeline.json"), *size]
    return Process("pipeline", words, work_dir / "pipeline.log", env, work_dir)


def measure(server: ApiServer, name: str, variables: Dict[str, str], size: List[str], work_dir: Path) -> Dict[str, Any]:
    work_dir.mkdir(parents=True)
    namespace = server.create_namespace(name)
    cluster = rm.cluster(name, [group()], head_cpus=2, idle_seconds=IDLE_SECONDS)
    if name.startswith("ray-"):
        cluster["metadata"]["annotations"]["rayscaler.dev/managed"] = "false"
    scenario = Scenario(server, namespace, cluster, work_dir)
    try:
        scenario.wait_head()
        if name.startswith("ray-"):
            scaler: Any = start_ray_autoscaler(server, namespace, name, RayHead(scenario), work_dir)
        else:
            scaler = Controller(server, namespace, work_dir / "controller", *RUNS[name])
        program = pipeline(scenario, variables, size, work_dir)
        sampler = Sampler(scenario, program if name != "ray-autoscaler" else scaler)
        sums, end = Sums(sampler), time.monotonic() + LONGEST_SECONDS
        while program.running() and time.monotonic() < end:
            sums.add()
            time.sleep(SAMPLE_SECONDS)
        program.stop(5)
        scaler.stop(5) if isinstance(scaler, Process) else scaler.stop()
    finally:
        scenario.close()
    result = json.loads((work_dir / "pipeline.json").read_text())
    took = result["ended"] - result["begun"]
    return {"held": sums.held, "used": sums.used, "idle": sums.held - sums.used, "makespan": took, "most": sums.most}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", choices=sorted(VARIABLES), default="RATE_BASED")
    parser.add_argument("--run", choices=sorted(RUNS), action="append")
    parser.add_argument("--blocks", default=str(ray_data_run.BLOCKS), help="of one row each")
    parser.add_argument("--dry-seconds", default=str(ray_data_run.DRY_SECONDS), help="one block takes so long on a CPU")
    arguments = parser.parse_args()
    work_dir = paths.work_root() / "libraries"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        with StandIns(server, work_dir / "standins"):
            for name in arguments.run or RUNS:
                row = measure(server, name, VARIABLES[arguments.data], [arguments.blocks, arguments.dry_seconds], work_dir / name)
                print(f"{arguments.data:10} {name:15}", " ".join(f"{k} {v:7.1f}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
