"""Ceilings on GPUs over several clusters: two RayClusters that decide in the same moment, leaders that are killed,
a ceiling that is lowered. Where no Ray is needed the clusters have no head: the annotation asks for capacity."""

import json
import re
from typing import Any, Dict, List

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e import rayclusters
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.scenario import REQUEST_ANNOTATION, hold
from rayscaler_e2e.wait import wait_until

RCA = "rayclusterautoscalers"
GPU = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
ELECT = ["--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s"]
ELECT += ["--leader-elect-retry-period=500ms"]


class Fleet:
    """RayClusters of one namespace with one group of GPU workers each, and no head."""

    def __init__(self, server: Any, namespace: str):
        self.server, self.namespace = server, namespace
        self.clusters = server.admin.of("rayclusters", namespace)

    def add(self, name: str, gpus: int) -> None:
        made = rayclusters.minimal(name, rayclusters.group("gpu", GPU, replicas=0, maxReplicas=10))
        made["metadata"]["annotations"] = {REQUEST_ANNOTATION: json.dumps([{"GPU": 1}] * gpus)}
        # An operator of the session takes it for invalid.
        made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
        self.clusters.create(made)

    def replicas(self) -> Dict[str, int]:
        """Of all, as of one moment."""
        return {c["metadata"]["name"]: c["spec"]["workerGroupSpecs"][0]["replicas"] for c in self.clusters.items()}

    def total(self) -> int:
        return sum(self.replicas().values())

    def status(self, name: str) -> Dict[str, Any]:
        return (self.server.admin.of(RCA, self.namespace).find(name) or {}).get("status") or {}


@pytest.fixture
def fleet(api_server, namespace) -> Fleet:
    return Fleet(api_server, namespace)


def test_two_clusters_never_pass_the_total(fleet, api_server, namespace, controller, work_dir):
    """Six GPUs wanted, two allowed: at once, after a leader's SIGKILL, and when room comes."""
    api_server.ensure_service_account(namespace, CONTROLLER_ACCOUNT)
    api_server.allow_leader_election(namespace, CONTROLLER_ACCOUNT)
    for name in ("one", "two"):
        fleet.add(name, 3)
    flags = [*ELECT, "--leader-elect-resource-namespace", namespace, "--max-gpus-total", "2"]
    both = [controller(namespace, *flags) for _ in range(2)]
    wait_until(lambda: fleet.total() >= 2, 30, "the GPUs under the ceiling to be given away")
    assert fleet.total() == 2

    # The leader is killed while the other cluster waits: its allocated GPUs remain allocated.
    leader = leading(both)
    check_told(fleet, leader, work_dir)
    leader.kill()
    (other,) = [one for one in both if one is not leader]
    other.wait_for("deciding starts", seconds=30)
    leader.start()
    fleet.add("three", 1)
    wait_until(lambda: "max-gpus-total 2" in limited(fleet, "three"), 30, "the third cluster to be told of the ceiling")
    hold(lambda: fleet.total() == 2, 2, "nothing is given away twice")

    # Room for what one cluster had; three still want six.
    (given, *_) = [name for name, replicas in fleet.replicas().items() if replicas > 0]
    freed = fleet.replicas()[given]
    fleet.clusters.delete(given)
    wait_until(lambda: fleet.total() == 2, 30, f"the {freed} GPUs of {given} to go to the others")
    # Demand that waits for 10 s is reported in an Event.
    events = api_server.admin.of("events", namespace)
    told = "(MaxGPUs): max-gpus-total 2 allows no more"
    wait_until(lambda: any(told in (event.get("message") or "") for event in events.items()), 30, "an Event with the ceiling")
    hold(lambda: fleet.total() == 2, 1, "and no more")
    assert not any(line["level"] == "error" for one in both for line in one.lines())


def leading(controllers: List[Any]) -> Any:
    return wait_until(
        lambda: next((one for one in controllers if "\nrayscaler_leader 1\n" in one.get("/metrics")[1]), None), 20, "a leader"
    )


def limited(fleet: Fleet, name: str) -> str:
    conditions = fleet.status(name).get("conditions") or []
    return next((c["message"] for c in conditions if c["type"] == "ScalingLimited" and c["status"] == "True"), "")


def check_told(fleet: Fleet, leader: Any, work_dir: Any) -> None:
    """The quota and the demand that waits for it: plan, status, metrics, command line."""
    (short, *_) = [name for name, replicas in fleet.replicas().items() if replicas < 3]
    wait_until(lambda: limited(fleet, short) == "max-gpus-total 2 allows no more", 20, "the condition ScalingLimited")

    def pages_say_so() -> bool:
        plan = json.loads(leader.get(f"/status/{fleet.namespace}/{short}")[1])["plan"]
        assert plan["infeasible"] == [] and {entry["reason"] for entry in plan["unserved"]} == {"MaxGPUs"}
        assert {entry["message"] for entry in plan["unserved"]} == {"max-gpus-total 2 allows no more"}
        (ceiling,) = json.loads(leader.get("/status")[1])["gpuCeilings"]
        assert ceiling == {"scope": "total", "namespace": "", "ceiling": 2, "counted": 2}
        return True

    def metrics_say_so() -> bool:
        text = leader.get("/metrics")[1]
        for scope in ("rayscaler_gpus_ceiling", "rayscaler_gpus_counted"):
            assert f'\n{scope}{{scope="total",namespace=""}} 2\n' in text
        behind = rf'\nrayscaler_unfulfillable_demand{{namespace="{fleet.namespace}",raycluster="{short}",reason="MaxGPUs"}} [1-9]'
        return bool(re.search(behind, text))

    wait_until(pages_say_so, 10, "plan and ceilings of the pages")
    wait_until(metrics_say_so, 10, "ceilings and demand in the metrics")
    url = leader.address("metrics")
    said = Cli(fleet.server, fleet.namespace, work_dir).run("status", "--controller-url", url).stdout
    assert "max-gpus-total 2 allows no more" in " ".join(said.split()), said
    assert "GPUs allocated: 2 of 2 (max-gpus-total)\n" in said, said


def test_a_lowered_ceiling_stops_no_busy_worker(shared, controller):
    """Ray's work on two GPUs; the controller comes back with a total of one."""
    one = shared([rm.gpu_group()], idle_seconds=3)
    first = controller(one.namespace, "--max-gpus-total", "2")
    with one.program() as program:
        program.actors(2, num_gpus=1)
        workers = program.ready("actors", 150)
        program.actors(1, name="third", num_gpus=1)
        behind = f'rayscaler_unfulfillable_demand{{namespace="{one.namespace}",raycluster="{one.name}",reason="MaxGPUs"}} 1'
        wait_until(lambda: behind in first.get("/metrics")[1], 20, "the third actor to wait behind the ceiling")
        assert one.replicas() == 2
        first.stop()
        second = controller(one.namespace, "--max-gpus-total", "1")
        wait_until(lambda: behind in second.get("/metrics")[1], 20, "the third actor to wait behind the lower one")
        hold(lambda: one.replicas() == 2 and program.call("alive", name="actors") == workers, 4, "both go on")
        program.end()
    one.wait_empty()
