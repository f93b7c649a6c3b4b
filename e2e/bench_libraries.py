"""`make bench-libraries`: GPU-seconds of work of Ray Data, Train, Tune and Serve with Ray's own autoscaler and with rayscaler, its
settings `requests` off and on, one after the other: held, idle, waited for, and the time that the work took.

The bench of measure_timeline.py: a real kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray
head and real raylets with logical GPUs, at most GPUS of them. A run ends when its work has ended; what is idle after it
is the same for all and not counted. A placement group waits for all of its GPUs.
"""

import argparse
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

from bench_reaction import start_ray_autoscaler
from measure_timeline import RayHead, Sampler
from rayscaler_e2e import figures, paths, ray_train_run
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_data_run import GPUS
from rayscaler_e2e.ray_program import RayProgram
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns

IDLE_SECONDS = 10
SAMPLE_SECONDS = 0.2
LONGEST_SECONDS = 500.0
SERVE_PAUSE_SECONDS = 40.0
RUNS = {"ray-autoscaler": "Ray's autoscaler", "off": "rayscaler, both off", "on": "both on"}


class Size(NamedTuple):
    blocks: int
    dry_seconds: float
    steps: int  # of all ranks of Train, ray_train_run.STEP_SECONDS each
    trials: int
    bursts: int  # of calls of Serve


Work = Iterator[None]


# -- the work: each yields while it waits ---------------------------------------------------------


def asked(program: RayProgram, do: str, **arguments: Any) -> Iterator[None]:
    program.begin(do, **arguments)
    while not program.answered():
        program.process.check_running()
        yield
    program.answer()


def data(variables: Dict[str, str], program: RayProgram, size: Size) -> Work:
    yield from asked(program, "data", blocks=size.blocks, dry_seconds=size.dry_seconds, variables=variables)


def train(fewest: int, most: int, program: RayProgram, size: Size) -> Work:
    program.call("train", fewest=fewest, most=most, looks=5)
    if most > GPUS:
        yield from asked(program, "refused")
        return
    while sum(line["event"] == "step" for line in ray_train_run.lines(program.directory)) < size.steps:
        yield
    yield from asked(program, "trained")


def tune(program: RayProgram, size: Size) -> Work:
    yield from asked(program, "tune", trials=size.trials, gpus=2, takes=15)


def serve(program: RayProgram, size: Size) -> Work:
    scaling = {
        "min_replicas": 0, "initial_replicas": 0, "max_replicas": GPUS, "target_ongoing_requests": 2, "upscale_delay_s": 1,
        "downscale_delay_s": 5, "downscale_to_zero_delay_s": 5, "metrics_interval_s": 1, "look_back_period_s": 2,
    }
    options = {"autoscaling_config": scaling, "max_ongoing_requests": 2, "ray_actor_options": {"num_cpus": 0.1, "num_gpus": 1}}
    yield from asked(program, "deploy", name="rare", options=options)
    for burst in range(size.bursts):
        end = time.monotonic() + SERVE_PAUSE_SECONDS * (burst > 0)
        while time.monotonic() < end:
            yield
        yield from asked(program, "call", name="rare", count=20)


class Row(NamedTuple):
    title: str
    work: Callable[[RayProgram, Size], Work]
    longest: float = LONGEST_SECONDS
    ahead: int = 1  # not below the fewest of an elastic run
    unused: int = 15  # an elastic run reads its nodes every 20 s, and uses none before


ROWS = {
    "data": Row("Data, its input stops for 90 s", partial(data, {})),
    "data-v2": Row("Data with V2", partial(data, {"RAY_DATA_CLUSTER_AUTOSCALER": "V2"})),
    "train": Row("Train, 4", partial(train, 4, 4)),
    "train-elastic": Row("Train, 2-4 (60 and 2)", partial(train, 2, 4), ahead=2, unused=60),
    "train-impossible": Row("Train, 8", partial(train, 8, 8), longest=60),
    "tune": Row("Tune, 6 of 2", tune),
    "serve": Row("Serve from zero", serve),
}


# -- one run --------------------------------------------------------------------------------------


class Sums:
    """GPU-seconds since the first sample."""

    def __init__(self, sampler: Sampler):
        self._sampler = sampler
        self._begun = self._at = time.monotonic()
        self.held = self.used = self.waiting = 0.0
        self.most = 0

    def add(self) -> None:
        row, now = self._sampler.sample(), time.monotonic()
        passed, self._at = now - self._at, now
        self.held += row["gpus"] * passed
        self.used += (row["demand"] - self._sampler.pending) * passed
        self.waiting += (self._sampler.pending + self._sampler.gangs) * passed
        self.most = max(self.most, int(row["gpus"]))

    def took(self) -> float:
        return self._at - self._begun


class Result(NamedTuple):
    held: float
    used: float
    idle: float
    waiting: float
    took: float
    most: int
    ended: bool

    def cell(self) -> str:
        took = f"{self.took:.0f}" if self.ended else "no-end"
        return f"{self.held:.0f}/{self.idle:.0f}/{self.waiting:.0f}/{took}"


def group() -> Dict[str, Any]:
    return rm.group("gpu-group", cpus=2, params={"num-gpus": "1"}, maxReplicas=GPUS)


def flags(run: str, row: Row) -> List[str]:
    return ["--requests-unused-after-seconds", str(row.unused), "--requests-ahead-of-use", str(row.ahead)] if run == "on" else []


def measure(server: ApiServer, name: str, run: str, size: Size, work_dir: Path) -> Result:
    row, theirs = ROWS[name], run == "ray-autoscaler"
    work_dir.mkdir(parents=True)
    namespace = server.create_namespace(f"{name}-{run}")
    cluster = rm.cluster(run, [group()], head_cpus=2, idle_seconds=IDLE_SECONDS)
    rm.with_env(cluster, rm.SERVE_ENV if name == "serve" else rm.LIBRARY_ENV)
    if theirs:
        cluster["metadata"]["annotations"]["rayscaler.dev/managed"] = "false"
    scenario = Scenario(server, namespace, cluster, work_dir)
    try:
        scenario.wait_head()
        program = scenario.program()
        program.call("key", name="none")  # it is connected
        scaler: Any = (
            start_ray_autoscaler(server, namespace, run, RayHead(scenario), work_dir)
            if theirs
            else Controller(server, namespace, work_dir / "controller", *flags(run, row))
        )
        sums = Sums(Sampler(scenario, scaler if theirs else program.process))
        ended = followed(row, program, size, sums)
        scaler.stop(5) if isinstance(scaler, Process) else scaler.stop()
        program.process.stop(5)
    finally:
        scenario.close()
    return Result(sums.held, sums.used, sums.held - sums.used, sums.waiting, sums.took(), sums.most, ended)


def followed(row: Row, program: RayProgram, size: Size, sums: Sums) -> bool:
    """False: the work did not end in time."""
    for _ in row.work(program, size):
        sums.add()
        if sums.took() > row.longest:
            return False
        time.sleep(SAMPLE_SECONDS)
    sums.add()
    return True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", choices=sorted(ROWS), action="append")
    parser.add_argument("--run", choices=sorted(RUNS), action="append")
    parser.add_argument("--blocks", type=int, default=64, help="of Data, of one row each")
    parser.add_argument("--dry-seconds", type=float, default=90.0, help="one block takes so long on a CPU")
    parser.add_argument("--steps", type=int, default=400, help="of Train")
    parser.add_argument("--trials", type=int, default=6, help="of Tune")
    parser.add_argument("--bursts", type=int, default=3, help="of calls of Serve")
    parser.add_argument("--write", action="store_true", help="docs/figures.json and the pages that show it")
    args = parser.parse_args()
    size = Size(args.blocks, args.dry_seconds, args.steps, args.trials, args.bursts)
    work_dir = paths.work_root() / "libraries"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        with StandIns(server, work_dir / "standins"):
            for name in args.work or ROWS:
                cells = [one_run(server, name, run, size, work_dir / name / run) for run in args.run or RUNS]
                if args.write:
                    figures.record({ROWS[name].title: cells})


def one_run(server: ApiServer, name: str, run: str, size: Size, work_dir: Path) -> str:
    result = measure(server, name, run, size, work_dir)
    shown = " ".join(f"{key} {value:7.1f}" for key, value in result._asdict().items() if key != "ended")
    print(f"{name:16} {run:15} {shown}{'' if result.ended else ' no end'}  load {os.getloadavg()[0]:.1f}", flush=True)
    return result.cell()


if __name__ == "__main__":
    main()
