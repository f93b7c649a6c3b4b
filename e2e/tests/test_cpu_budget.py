"""Demand for many times the CPU budget of a decision (--decision-cpu-budget-ms)."""

import json
from typing import Dict

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

GROUPS, BUNDLES, ON_A_WORKER = 100, 64000, 8
SIZE = BUNDLES // ON_A_WORKER
ABOVE = ("DecisionCutShort", "DecisionTooExpensive")
MEMORY = ["--memory-budget=1024", "--max-pass-memory=512"]


def test_a_load_above_the_budget_reaches_the_same_size(scenario, namespace, controller, standins):
    """A decision above its budget changes nothing or launches a part, and the next ones have more time: the same size
    is reached. (Cuts within the packing: codec_cpu_budget_test, codec_bounded_test; this load is packed in less time
    than it takes to read.)"""
    one = scenario(rm.cluster("large", [group_of(n) for n in range(GROUPS)]))
    # The patches count: no Pod is made, so each decision places again what is launched.
    standins.operator.stop()
    try:
        with one.program() as program:
            program.call("request", bundles=[bundle(n) for n in range(BUNDLES)])
            control = controller(namespace, "--decision-cpu-budget-ms=60000", *MEMORY)
            wait_reached(one)
            control.stop()
            empty(one)
            since = one.recorder.mark()
            control = controller(namespace, "--decision-cpu-budget-ms=10", *MEMORY)
            # In the log: the condition may end before the status is written.
            above = lambda: any(control.find('"condition"', reason) for reason in ABOVE)  # noqa: E731
            wait_until(above, 30, "a decision above its budget")
            wait_reached(one)
            hold(lambda: size(one) == SIZE, 2, "nothing more is launched")
            print("size by second:", sizes(one.recorder.of("replicas", since)))
            program.end()
        control.stop()
        empty(one)
    finally:
        standins.start_operator()


def active(one) -> dict:
    conditions = (one.autoscaler() or {}).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == "ScalingActive"), {})


def bundle(number: int) -> Dict[str, float]:
    """Each another shape; all workers are full in whatever order they are placed."""
    return {"CPU": 2, "memory": 1000 * (1 + number)}


def group_of(number: int) -> dict:
    """Each another type for the packing."""
    own = json.dumps(json.dumps({f"r{number}": 1}))[1:-1]
    return rm.group(f"w-{number}", cpus=2 * ON_A_WORKER, maxReplicas=2 * SIZE // GROUPS, params={"resources": f"'{own}'"})


def empty(one) -> None:
    groups = one.get()["spec"]["workerGroupSpecs"]
    one.edit({"spec": {"workerGroupSpecs": [{**group, "replicas": 0} for group in groups]}})


def wait_reached(one) -> None:
    """A decision is whole, and its patch is made."""
    wait_until(lambda: active(one).get("reason") == "DemandRead" and size(one) == SIZE, 60, f"{SIZE} replicas")


def sizes(events) -> Dict[float, int]:
    """The sums of replicas by the time of their changes, which one look at the RayCluster has in common."""
    replicas: Dict[str, int] = {}
    found = {}
    for event in events:
        replicas[event.subject] = event.value
        found[round(event.at - events[0].at, 1)] = sum(replicas.values())
    return found


def size(one) -> int:
    return sum(group["replicas"] for group in one.get()["spec"]["workerGroupSpecs"])
