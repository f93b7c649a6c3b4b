"""`make bench-answer`: from `.remote()` to an actor's first answer in a real Pod, on the Kubernetes of `make node`.

Two RayClusters, one scaled by Ray's own autoscaler, one by the controller, take turns. In each round an actor needs a
worker, which starts from nothing: the clock runs from the command to the program that calls `.remote()`, to the API
server's RayCluster with `replicas` 1, and to the answer of the actor's first method. Then the actor ends, and the
round ends when no Pod of a worker is left. The time between patch and answer is that of KubeRay, the kubelet and Ray.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple

from rayscaler_e2e import figures
from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.running import RayOnNode, RunningNode
from rayscaler_e2e.wait import wait_until

POLL = 0.02
END_SECONDS = 120
IDLE_SECONDS = 5
NAMESPACE = "bench-answer"
NAMES = ("rayscaler", "ray")
TEXTS = {"patched": ".remote() to patch accepted", "answered": ".remote() to a new Pod's answer"}


class Round(NamedTuple):
    patched: float
    answered: float


def one_round(found: RayOnNode, program, number: int) -> Round:
    start = time.monotonic()
    actor = f"actor-{number}"
    program.actors(1, actor, resources={"work": 1}, num_cpus=0)
    program.begin("ready", name=actor)
    wait_until(lambda: found.replicas() == {"first": 1} or program.answered(), END_SECONDS, "the patch", POLL)
    patched = time.monotonic()
    program.answer(END_SECONDS)
    answered = time.monotonic()
    program.call("release", name=actor)
    wait_until(lambda: not found.pods(alive=False), END_SECONDS, "no worker", 0.3)
    return Round(patched - start, answered - start)


def measure(node: RunningNode, rounds: int) -> Dict[str, List[Round]]:
    made = {}
    for name in NAMES:
        made[name] = clusters.cluster(name, [clusters.group("first", resource="work")], idle_seconds=IDLE_SECONDS)
    options = made["ray"]["spec"]["autoscalerOptions"]
    for member in ("image", "command", "args", "resources"):  # KubeRay's own
        del options[member]
    found = {name: RayOnNode(node, NAMESPACE, made[name]) for name in NAMES}
    programs = {name: found[name].program() for name in NAMES}
    measured: Dict[str, List[Round]] = {name: [] for name in NAMES}
    try:
        for program in programs.values():
            program.call("key", name="")  # its answer comes after its start
        for number in range(rounds):
            for name in NAMES:
                measured[name].append(one_round(found[name], programs[name], number))
                print(f"round {number + 1}: {name} {measured[name][-1].patched:.2f} {measured[name][-1].answered:.2f} s", flush=True)
    finally:
        for program in programs.values():
            program.process.stop(3)
    return measured


def shown(measured: Dict[str, List[Round]]) -> Dict[str, List[str]]:
    rows = {}
    for member, text in TEXTS.items():
        medians = [statistics.median(getattr(one, member) for one in measured[name]) for name in NAMES]
        rows[f"{text}, p50"] = [f"{value:.1f} s" for value in medians]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--write", action="store_true", help="docs/figures.json and the pages that show it")
    options = parser.parse_args()
    os.environ["NODE"] = "running"
    work_dir = Path(tempfile.mkdtemp(prefix="rayscaler-bench-"))
    node = RunningNode(work_dir / "node.log")
    node.admin.of("namespaces").create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    try:
        rows = shown(measure(node, options.rounds))
    finally:
        node.admin.of("namespaces").delete(NAMESPACE)
        shutil.rmtree(work_dir)
    for name, cells in rows.items():
        print(f"{name:64} rayscaler {cells[0]}, Ray's autoscaler {cells[1]}")
    if options.write:
        figures.record(rows)


if __name__ == "__main__":
    main()
