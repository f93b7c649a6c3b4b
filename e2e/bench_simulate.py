"""`make bench-simulate`: workloads on a real Ray cluster, beside `rayscaler simulate` of the same files.

A real kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray head and real raylets
with logical GPUs. Each workload runs with rayscaler and with Ray's own autoscaler. The simulation gets the
times from the creation of each Pod until Ray was ready in it, the medians of the times that a process of a
worker, the end of a Pod and a pass of Ray's autoscaler took, and nothing else of the run. Compared are
GPU-seconds (of workers from their creation to their end), the waiting time, and the sequence of replicas of
each group. Which pass sees a demand, or a worker that is idle for long enough, depends on fractions of a
second; so "same, by passes" takes steps in one direction within the time of one pass as one.

The workloads leave Ray no choice that the replicas show: where work fits two workers, Ray takes the one with the
lower random id, and where two placement groups wait, the one whose next attempt comes first. An hour of `day` is
longer than a task with its wait, and shorter than a task with the idle timeout. Work does not wait while
workers are idle: then Ray collects garbage on all nodes, which begins their idle time again.

    bench_simulate.py [--again] [WORKLOAD...]

--again: simulates the runs of the last time once more, for a change of the models.
"""

import json
import math
import shutil
import statistics
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from bench_reaction import start_ray_autoscaler, start_rayscaler
from measure_timeline import RayHead
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.processes import Process
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
LIMIT_SECONDS = 400.0
SMALLEST = "one"  # of make test-all
IDLE_SECONDS = 10
PASS_SLEEP_SECONDS = 5.0  # AUTOSCALER_UPDATE_INTERVAL_S
# A pass of each, and one second of jitter.
STEP_SECONDS = {"rayscaler": 2.0, "ray": 6.0}


def task(submit: float, duration: float, count: int = 1, gpus: float = 1, **fields: Any) -> Object:
    return {"submit": submit, "duration": duration, "count": count, "resources": {"CPU": 0, "GPU": gpus}, **fields}


def labelled(name: str, model: str) -> Object:
    return rm.gpu_group(name, maxReplicas=2, labels={"model": model})


def workloads() -> Dict[str, Tuple[List[Object], List[Object]]]:
    """By name: worker groups, items."""
    gang = {"kind": "placement_group", "strategy": "STRICT_PACK", "bundles": [{"GPU": 4}, {"GPU": 4}]}
    day = [task(17 * hour, 8, max(1, round(3 - 3 * math.cos(hour * math.pi / 6)))) for hour in range(12)]
    return {
        "inference": (
            [rm.gpu_group(maxReplicas=5)],
            # Two for each worker, which is ready before the next two come.
            [task(at, 80, gpus=0.5, kind="actor") for at in (0, 8, 24, 32, 48, 56)],
        ),
        "gangs": (
            [rm.group("gpu-group", gpus=8, maxReplicas=3)],
            [{"submit": at, "duration": 50, "count": 1, **gang} for at in (0, 20, 40, 105)],
        ),
        "bursts": ([rm.gpu_group(maxReplicas=4)], [task(60 * i, 6, count) for i, count in enumerate((8, 8, 4))]),
        "models": (
            [labelled("a-group", "a"), labelled("b-group", "b")],
            # No task ends when another one begins, and each finds one free worker of its group.
            [task(8 * i, 20, labelSelector={"model": "ab"[i % 2]}) for i in range(8)],
        ),
        "day": ([rm.gpu_group(maxReplicas=6)], day),
        SMALLEST: ([rm.gpu_group(maxReplicas=1)], [task(0, 5), task(8, 5)]),
    }


# -- the real run --------------------------------------------------------------------------------


def gpus_of(group: Object) -> int:
    return int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])


def of_pods(scenario: Scenario, kind: str, value: Any = None) -> Dict[str, float]:
    """When the event was first seen, by Pod."""
    found: Dict[str, float] = {}
    for event in scenario.recorder.of(kind):
        if value is None or event.value == value:
            found.setdefault(event.subject, event.at)
    return found


def measured(scenario: Scenario, groups: List[Object], played: Object) -> Object:
    created = {e.subject: e for e in scenario.recorder.of("created") if e.value != "headgroup"}
    ready = of_pods(scenario, "ready", True)
    deleted, gone = of_pods(scenario, "deleted"), of_pods(scenario, "gone")
    gpus = {group["groupName"]: gpus_of(group) for group in groups}
    began = played["began"]
    steps = {
        name: [[e.at - began, e.value] for e in scenario.recorder.of("replicas", subject=name)] for name in gpus
    }

    return {
        "gpuSeconds": sum((gone[pod] - event.at) * gpus[event.value] for pod, event in created.items()),
        "waits": played["waits"],
        "work": [
            {key: value if key == "pod" else value - began for key, value in work.items()}
            for work in sorted(played["work"], key=lambda work: work["submitted"])
        ],
        "events": [[e.at - began, e.kind, e.subject, e.value] for e in list(scenario.recorder.events)],
        "targets": steps,
        "ready": {pod: at - began for pod, at in ready.items()},
        "terminate": statistics.median(gone[pod] - deleted[pod] for pod in created if pod in gone and pod in deleted),
    }


def play(scenario: Scenario, groups: List[Object], file: Path, process: Process, policy: str) -> Object:
    out = scenario.work_dir / "waits.json"
    script = Path(__file__).parent / "rayscaler_e2e" / "workload_player.py"
    words = [sys.executable, str(script), str(file), scenario.address(), scenario.head_ip(), str(out)]
    words += ["--pass"] if policy == "ray" else []
    player = Process("player", words, scenario.work_dir / "player.log", scenario._environment())

    def done() -> bool:
        process.check_running()
        return not player.running()

    wait_until(done, LIMIT_SECONDS, f"the workload {file}", 0.2)
    assert out.exists(), player.log_tail()
    for group in groups:
        scenario.wait_empty(120, group["groupName"])
    return measured(scenario, groups, json.loads(out.read_text()))


def run(server: ApiServer, policy: str, name: str, cluster: Object, file: Path, work_dir: Path) -> Object:
    namespace = server.create_namespace(f"{policy}-{name}")
    made = json.loads(json.dumps(cluster))
    if policy == "ray":
        made["metadata"]["annotations"]["rayscaler.dev/managed"] = "false"
    scenario = Scenario(server, namespace, made, work_dir).wait_head()
    try:
        if policy == "ray":
            process = start_ray_autoscaler(server, namespace, name, RayHead(scenario), scenario.work_dir)
        else:
            process = start_rayscaler(server, namespace, scenario.work_dir)
        try:
            return play(scenario, cluster["spec"]["workerGroupSpecs"], file, process, policy)
        finally:
            process.stop(5)
    finally:
        scenario.close()


# -- the simulation ------------------------------------------------------------------------------


def ready_times(real: Object) -> Dict[str, float]:
    """By Pod: when it was seen ready, which takes up to a second, or its first work began."""
    ready = dict(real["ready"])
    for work in real["work"]:
        if work["pod"] in ready:
            ready[work["pod"]] = min(ready[work["pod"]], work["started"])
    return ready


def start_seconds(real: Object, group: str) -> List[float]:
    """From the creation of each Pod of the group, in this order, until Ray was ready in it."""
    ready = ready_times(real)
    created = [(at, pod) for at, kind, pod, value in real["events"] if kind == "created" and value == group]
    return [round(ready[pod] - at, 3) for at, pod in sorted(created) if pod in ready]


def process_seconds(real: Object) -> float:
    """The median time from a worker with room to the start of work for which no process of earlier work was left."""
    found, ready = [], ready_times(real)
    for work in real["work"]:
        left = any(each["pod"] == work["pod"] and each["ended"] <= work["started"] for each in real["work"])
        if work["pod"] in ready and not left:
            found.append(work["started"] - max(work["submitted"], ready[work["pod"]]))
    return statistics.median(found) if found else 0.0


def pass_seconds(log: Path) -> float:
    """The median time of a pass of Ray's autoscaler, which begins 5 s after the end of the one before."""
    # Logged at the begin of each pass, and once before the first.
    lines = [line for line in log.read_text(errors="replace").splitlines() if "Calculating hashes" in line][1:]
    begins = [datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp() for line in lines]
    return statistics.median(after - before for before, after in zip(begins, begins[1:])) - PASS_SLEEP_SECONDS


def simulate(policy: str, cluster_file: Path, file: Path, real: Object) -> Object:
    name = json.loads(cluster_file.read_text())["metadata"]["name"]
    groups = [
        {"cluster": name, "group": group, "seconds": start_seconds(real, group)} for group in real["targets"]
    ]
    starts = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "PodStarts", "groups": groups}
    both = cluster_file.with_suffix(".yaml")
    both.write_text(f"{cluster_file.read_text()}\n---\n{json.dumps(starts)}\n")
    words = [str(paths.program()), "simulate", "-f", str(both), "-w", str(file), "-o", "json"]
    models = {"pod-terminate": real["terminate"], "process-start": process_seconds(real)}
    if policy == "ray":
        models["ray-pass"] = pass_seconds(file.parent / policy / name / "ray-autoscaler.log")
    for model, seconds in models.items():
        words += ["--set", f"{model}={max(1, round(1000 * seconds))}ms"]
    words += ["--set", f"policy={policy}"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# -- the table ------------------------------------------------------------------------------------


def quantile(values: List[float], share: float) -> float:
    """By nearest rank, as simulate prints it."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0


def steps_of(steps: List[List[float]], within: float) -> List[float]:
    """The values, without repetition, where steps in one direction `within` seconds of the first are one."""
    found: List[List[float]] = [[-math.inf, 0]]
    for at, value in steps:
        last, before = found[-1], found[-2][1] if len(found) > 1 else 0
        if value == last[1]:
            continue
        if at - last[0] <= within and (value > last[1]) == (last[1] > before):
            last[1] = value
        else:
            found.append([at, value])
    return [value for _, value in found]


def targets(policy: str, real: Object, variant: Object) -> str:
    """Whether every group had the same sequence of replicas, without its start."""
    simulated = {group["name"]: [[step["at"], step["to"]] for step in group["targets"]] for group in variant["groups"]}
    same = [
        all(steps_of(simulated[name], within) == steps_of(steps, within) for name, steps in real["targets"].items())
        for within in (0.0, STEP_SECONDS[policy])
    ]
    return "same" if same[0] else "same, by passes" if same[1] else "differs"


def row(policy: str, name: str, real: Object, simulated: Object) -> str:
    variant = simulated["variants"][0]
    gpu_seconds = 3600 * variant["gpuHours"]["provisioned"]
    p95, waiting = quantile(real["waits"], 0.95), variant["unweightedWaitingSeconds"]["p95"]
    error = 100 * (gpu_seconds / real["gpuSeconds"] - 1)
    return (
        f"{name:10} {policy:10} {real['gpuSeconds']:8.0f} {gpu_seconds:8.0f} {error:+6.1f} %"
        f" {p95:8.1f} {waiting:8.1f} {waiting - p95:+7.1f} s  {targets(policy, real, variant)}"
    )


HEADER = (
    f"{'WORKLOAD':10} {'POLICY':10} {'GPU-s':>8} {'SIMUL.':>8} {'':>8} {'WAIT p95':>8} {'SIMUL.':>8} {'':>9}  REPLICAS"
)


def record_of(work_dir: Path, policy: str, name: str) -> Path:
    return work_dir / f"{policy}-{name}.json"


def compare(names: List[str], work_dir: Path, real_of: Callable[[str, str, Object, Path], Object]) -> None:
    known = workloads()
    print(HEADER, flush=True)
    for name in names or [name for name in known if name != SMALLEST]:
        groups, items = known[name]
        cluster = rm.cluster(name, groups, idle_seconds=IDLE_SECONDS)
        file, cluster_file = work_dir / f"{name}.jsonl", work_dir / f"{name}.json"
        file.write_text("".join(json.dumps(item) + "\n" for item in items))
        cluster_file.write_text(json.dumps(cluster))
        for policy in STEP_SECONDS:
            real = real_of(policy, name, cluster, file)
            simulated = simulate(policy, cluster_file, file, real)
            record_of(work_dir, policy, name).write_text(json.dumps([real, simulated], indent=1))
            print(row(policy, name, real, simulated), flush=True)


def main() -> None:
    work_dir = paths.work_root() / "simulate"
    if sys.argv[1:2] == ["--again"]:
        compare(sys.argv[2:], work_dir, lambda *which: json.loads(record_of(work_dir, *which[:2]).read_text())[0])
        return
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        with StandIns(server, work_dir / "standins"):
            compare(sys.argv[1:], work_dir, lambda *which: run(server, *which, work_dir / which[0]))


if __name__ == "__main__":
    main()
