"""What the status says is true: limits below what runs, lists that became empty, schedules that never start, objects
without a RayCluster, and two controllers."""

import json
from typing import Any

import pytest

from rayscaler_e2e import rayclusters
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.scenario import hold, wait_at_rest
from rayscaler_e2e.wait import wait_until

RCA = "rayclusterautoscalers"
GPU = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}


class Scene:
    """RayClusters and RayClusterAutoscalers of one namespace; no operator and no Ray."""

    def __init__(self, server: ApiServer, namespace: str):
        self.namespace = namespace
        self.clusters = server.admin.of("rayclusters", namespace)
        self.autoscalers = server.admin.of(RCA, namespace)
        self.events = server.admin.of("events", namespace)

    def add(self, name: str, **group: Any) -> None:
        made = rayclusters.minimal(name, rayclusters.group("gpu", GPU, maxReplicas=10, **group))
        # An operator of the session takes it for invalid.
        made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
        self.clusters.create(made)

    def configure(self, name: str, **spec: Any) -> None:
        self.autoscalers.patch_merge(name, {"spec": spec})

    def status(self, name: str) -> Any:
        return (self.autoscalers.find(name) or {}).get("status") or {}

    def condition(self, name: str, kind: str) -> Any:
        return next((c for c in self.status(name).get("conditions") or [] if c["type"] == kind), None)

    def wait_message(self, name: str, kind: str, text: str, seconds: float = 20) -> None:
        wait_until(lambda: text in (self.condition(name, kind) or {"message": ""})["message"], seconds, f"{kind}: {text}")

    def wait_event(self, reason: str, text: str) -> None:
        def sent() -> bool:
            return any(e["reason"] == reason and text in e["message"] for e in self.events.items())

        wait_until(sent, 20, f"the Event {reason}: {text}")


@pytest.fixture
def scene(api_server, namespace) -> Scene:
    return Scene(api_server, namespace)


def test_gpus_above_a_limit(scene, namespace, controller):
    scene.add("demo", replicas=2, minReplicas=2)
    log = controller(namespace)
    scene.wait_message("demo", "ScalingLimited", "no minimum")
    scene.configure("demo", maxGPUs=1)
    above = "2 GPUs run or start above maxGPUs 1; they are kept"
    scene.wait_message("demo", "ScalingLimited", above)
    scene.wait_event("ScalingLimited", above)
    assert log.wait_for('"ScalingLimited"', above)["message"] == "condition"
    scene.configure("demo", maxGPUs=None)
    scene.wait_message("demo", "ScalingLimited", "no minimum")
    ended = log.wait_for('"condition ended"')
    assert (ended["condition"], ended["reason"]) == ("ScalingLimited", "TooManyReplicas")


def test_schedules_that_end_and_that_never_start(scene, namespace, controller):
    scene.add("demo")
    controller(namespace)
    schedule = {"name": "leap", "start": "0 8 31 2 *", "duration": "9h", "groups": [{"name": "gpu", "minReplicas": 1}]}
    wait_until(lambda: scene.status("demo"), 20, "a status")
    scene.configure("demo", schedules=[schedule])
    scene.wait_message("demo", "InvalidRequest", '"0 8 31 2 *" never starts')
    assert scene.status("demo")["schedules"] == [{"name": "leap", "active": False, "neverStarts": True}]
    scene.wait_event("InvalidRequest", "never starts")
    scene.configure("demo", schedules=None)
    wait_until(lambda: "schedules" not in scene.status("demo"), 20, "the list to be removed")
    assert scene.condition("demo", "InvalidRequest") is None


def test_lint_follows_annotations(scene, namespace, controller):
    scene.add("demo")
    controller(namespace)
    wait_until(lambda: scene.status("demo"), 20, "a status")
    key, found = "rayscaler.dev/manged", "annotation-invalid"
    scene.clusters.patch_merge("demo", {"metadata": {"annotations": {key: "false"}}})
    scene.wait_message("demo", "LintFindings", found)
    scene.clusters.patch_merge("demo", {"metadata": {"annotations": {key: None}}})
    wait_until(lambda: found not in json.dumps(scene.status("demo")), 20, "the finding to end")


def test_an_object_without_its_cluster(scene, namespace, controller):
    """It says so until there is one of its name, and again when that is deleted."""
    scene.add("demo")
    wrong = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "dmeo"}}
    scene.autoscalers.create({**wrong, "spec": {"maxGPUs": 1}})
    controller(namespace)
    text = f"no RayCluster dmeo in {namespace}; did you mean demo?"
    scene.wait_message("dmeo", "ScalingActive", text, 30)
    status = scene.status("dmeo")
    assert status["reason"] == "RayClusterMissing" and status["message"] == text
    wait_at_rest(lambda: scene.autoscalers.get("dmeo")["metadata"]["resourceVersion"], 11, "the object at rest")
    scene.add("dmeo")
    wait_until(lambda: scene.status("dmeo")["reason"] == "DemandUnavailable", 20, "decisions")
    scene.clusters.delete("dmeo")
    scene.wait_message("dmeo", "ScalingActive", text, 30)


def test_two_controllers_without_election(scene, namespace, controller):
    """Each writes its name and time with the status, so each sees the other; a restart is no second one."""
    scene.add("demo")
    one = controller(namespace)
    wait_until(lambda: scene.status("demo").get("controller"), 20, "a status")
    one.stop()
    both = [controller(namespace) for _ in range(2)]
    replicas = [10]

    def seen() -> bool:
        replicas[0] += 1
        change = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/maxReplicas", "value": replicas[0]}]
        scene.clusters.patch_json("demo", change)
        hold(lambda: True, 1, "a moment for both to decide")
        return scene.condition("demo", "SecondController") is not None

    hold(lambda: scene.condition("demo", "SecondController") is None, 5, "the name of the one before says nothing")
    wait_until(seen, 90, "the condition SecondController")
    scene.wait_event("SecondController", "two rayscaler controllers")
    told = "a second controller decides about the same RayClusters"
    wait_until(lambda: any(log.find(told) for log in both), 10, "a log line about it")
