"""Events on the RayCluster: the decisions with their reasons, for `kubectl describe`."""

import re
from typing import Any, Dict, List

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
ONE_GPU = '[{"GPU": 1}]'
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def events(one: Any, reason: str = "") -> List[Object]:
    """Our Events on this RayCluster, and the checks that hold for each of them."""
    found = one.server.admin.of("events", one.namespace).items()
    found = [e for e in found if e.get("source", {}).get("component") == "rayscaler" and reason in ("", e["reason"])]
    uid = one.get()["metadata"]["uid"]
    for event in found:
        assert NAME.fullmatch(event["metadata"]["name"]) and len(event["message"].encode()) <= 1024
        assert event["type"] in ("Normal", "Warning") and event["count"] >= 1
        assert event["firstTimestamp"] <= event["lastTimestamp"]
        assert event["involvedObject"]["kind"] in ("RayCluster", "RayClusterAutoscaler")
    return [e for e in found if e["involvedObject"]["uid"] == uid]


def wait_event(one: Any, reason: str, *words: str, seconds: float = 30.0) -> Object:
    def matching() -> List[Object]:
        return [e for e in events(one, reason) if all(word in e["message"] for word in words)]

    return wait_until(matching, seconds, f"an Event {reason} with {words}; there are {events(one)}")[0]


def forget(one: Any) -> None:
    resource = one.server.admin.of("events", one.namespace)
    for event in resource.items():
        resource.delete(event["metadata"]["name"], missing_ok=True)


def test_a_scale_up_and_a_scale_down_and_the_same_again(shared, controller):
    one = shared([rm.gpu_group()], idle_seconds=2)
    forget(one)
    control = controller(one.namespace)
    wait_until(lambda: one.server.admin.of("rayclusterautoscalers", one.namespace).find(one.name), 20, "the RayClusterAutoscaler")
    for cycle in (1, 2):
        one.request(ONE_GPU)
        up = wait_event(one, "TriggeredScaleUp", "Group gpu-group from 0 to 1 replicas", "ScaleUpRequest", "{GPU: 1}")
        (worker,) = one.wait_joined(1)
        one.request(None)
        one.wait_empty()
        down = wait_event(one, "ScaleDown", "Group gpu-group from 1 to 0 replicas", f"deleting {worker}")
        assert (up["type"], down["type"]) == ("Normal", "Normal")
    # The second time is counted in the Event of the first.
    wait_until(lambda: events(one, "TriggeredScaleUp")[0]["count"] == 2, 20, "the count of the scale-ups")
    wait_until(lambda: events(one, "ScaleDown")[0]["count"] == 2, 20, "the count of the scale-downs")
    assert sorted(e["reason"] for e in events(one)) == ["ScaleDown", "TriggeredScaleUp"]
    # The RayClusterAutoscaler has the same. At rest nothing is sent.
    sent = 8
    wait_until(lambda: metric(control, "rayscaler_events_sent_total") == sent, 20, "the Events of both objects")
    hold(lambda: metric(control, "rayscaler_events_sent_total") == sent, 4, "no Event at rest")
    assert not control.find('"level": "warning"'), control.find('"level": "warning"')


def metric(control: Any, name: str) -> float:
    status, text = control.get("/metrics")
    assert status == 200
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{"))


def test_a_failed_pod_leaves_its_cause(namespace, controller, scenario):
    """The operator deletes a failed Pod before any decision reads it; the Event comes from the watch."""
    one = scenario(rm.cluster("fails", [rm.gpu_group(minReplicas=1)]))  # its own: the raylet of the Pod lives on
    controller(namespace).wait_for("caches are filled", seconds=60)
    (worker,) = one.wait_joined(1)
    pods = one.server.admin.of("pods", one.namespace)
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}
    one.recorder.excuse_all()  # the operator deletes the Pod, which Ray still knows
    pods.patch_merge(worker, {"status": status}, "status")
    event = wait_event(one, "PodFailed", f"Worker {worker} of group gpu-group: Failed: Evicted: The node was low on resource")
    assert event["type"] == "Warning" and event["count"] == 1


def test_what_is_asked_for_in_vain(shared, controller):
    one = shared([rm.gpu_group(maxReplicas=0)])
    forget(one)
    controller(one.namespace)
    with one.program() as program:
        program.actors(1, name="wide", num_gpus=8)
        program.actors(1, name="waits", num_gpus=1)
        event = wait_event(one, "InfeasibleDemand", "the closest is gpu-group: GPU 8 asked, 1 there")
        assert event["type"] == "Warning"
        wait_event(one, "NotTriggerScaleUp", "GPU: 1}", "group gpu-group is at maxReplicas 0")
        one.request("[{")
        event = wait_event(one, "InvalidRequest", "rayscaler.dev/request-resources", "it must be a JSON list")
        assert event["type"] == "Warning"
        one.request(None)


def test_a_worker_that_does_not_go_away(shared, controller):
    one = shared([rm.gpu_group()], idle_seconds=2)
    forget(one)
    controller(one.namespace)
    one.request(ONE_GPU)
    (worker,) = one.wait_joined(1)
    wait_event(one, "ScaleDownBlocked", worker, "NeededByRequest")
    with one.program() as program:
        # A small actor on the CPU of the GPU worker: the head has one CPU, the other actor holds it.
        program.actors(2, name="small", num_cpus=1)
        program.ready("small")
        one.request(None)
        wait_event(one, "ScaleDownBlocked", worker, "no GPU of it is in use", "CPU: 1")
        assert one.workers() == [worker]
        program.end()
    one.wait_empty()


def test_a_ray_that_is_out_of_reach(namespace, api_server, controller, scenario, kubectl):
    made = rm.cluster("refused", [rm.gpu_group()])
    head = made["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    head["ports"] = [{"name": "gcs-server", "containerPort": 1}]  # Ray listens on another one
    one = scenario(made)
    control = controller(namespace)
    event = wait_event(one, "DemandUnavailable", "Ray is unreachable", ":1: ", seconds=60)
    assert event["type"] == "Warning"
    control.wait_for("condition", "Ray is unreachable")
    shown = kubectl.run("describe", "raycluster", "refused", "-n", namespace).stdout
    line = next(line for line in shown.splitlines() if "DemandUnavailable" in line)
    assert "Warning" in line and "rayscaler" in line and "Ray is unreachable" in line

    def described() -> bool:
        return " DemandUnavailable " in kubectl.run("describe", "rca", "refused", "-n", namespace).stdout.partition("Events:")[2]

    wait_until(described, 60, "the Event in kubectl describe rca")


def test_a_second_autoscaler(namespace, controller, scenario):
    made = rm.cluster("second", [rm.gpu_group(minReplicas=1)])
    made["spec"]["autoscalerOptions"] = {"version": "v2"}
    one = scenario(made, wait=False)
    control = controller(namespace)
    event = wait_event(one, "SecondAutoscaler", "is not parked", "spec.autoscalerOptions.command to [timeout]")
    assert event["type"] == "Warning"
    control.wait_for("condition", "SecondAutoscaler")


def test_without_the_right_to_events(shared, controller):
    one = shared([rm.gpu_group()], idle_seconds=2)
    forget(one)
    control = controller(one.namespace, without="events")
    one.request(ONE_GPU)
    one.wait_workers(1)
    one.request("[{")
    one.edit_group(minReplicas=2)
    one.wait_workers(2)
    assert not events(one)
    line = control.wait_for("Events are not sent")
    assert "events" in line["error"] and "create" in line["error"], line
    assert len(control.find("Events are not sent")) <= 1
