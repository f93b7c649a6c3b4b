"""Missing capacity: the demand moves to the next group, and back when there is capacity.

The test chooses the Pods that get no Node (by an annotation of the kubelet stand-in), and writes the
Events of a node autoscaler for them as the cluster autoscaler does.
"""

import json
import secrets
import time

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import allowed, wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

UNSCHEDULABLE = "bench.rayscaler.dev/unschedulable"
NO_ROOM = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
HELD = {UNSCHEDULABLE: NO_ROOM}
# Two passes; less than the first back-off.
ANEW_SECONDS = 2.5
REFUSAL = "pod didn't trigger scale-up: 1 max node group size reached"


def say(one, pod, reason, message, source="cluster-autoscaler", at=None):
    """An Event on the Pod, as node autoscalers write them."""
    meta = one.server.admin.of("pods", one.namespace).get(pod)["metadata"]
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at or time.time()))
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{secrets.token_hex(8)}", "namespace": one.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod,
            "namespace": one.namespace,
            "uid": meta["uid"],
        },
        "type": "Normal",
        "reason": reason,
        "message": message,
        "source": {"component": source},
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }
    one.server.admin.of("events", one.namespace).create(event)


def two_groups(**first):
    return [rm.gpu_group("first", **first), rm.gpu_group("second")]


def lift(one, group="first"):
    """The group's next Pods are made as any others."""
    template = one.group(group)["template"]
    template["metadata"]["annotations"] = {}
    template["spec"].pop("schedulingGates", None)
    one.edit_group(group, template=template)


def forget_failures(one):
    """The next test has the same RayCluster, and a controller that remembers nothing."""
    events = one.server.admin.of("events", one.namespace)
    for event in events.items():
        if event["reason"] == "FailedToCreateWorkerPod":
            events.delete(event["metadata"]["name"], missing_ok=True)


def first_choice_again(one, program, control):
    """After the back-off, with capacity there, new demand takes the first group."""
    lift(one)
    told = lambda: [line["message"] for line in control.find('"AbleToScale"')]  # noqa: E731
    wait_until(lambda: told()[-1:] == ["condition ended"], 15, "the end of the back-off")
    program.actors(1, name="again", num_gpus=1)
    wait_until(lambda: one.replicas("first") == 1, 15, "the first choice to be tried again")
    (pod,) = program.ready("again")
    assert pod in one.workers("first") and one.replicas("second") == 1


def test_a_refusal_moves_the_demand_at_once_and_the_first_choice_comes_back(shared, controller):
    one = shared(two_groups(annotations=HELD))
    control = controller(one.namespace, "--backoff-initial-seconds", "3")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        hold(lambda: one.replicas("second") == 0, 2, "a Pod that is only Unschedulable is waited for")
        said = time.time()
        say(one, pod, "NotTriggerScaleUp", REFUSAL)
        wait_until(lambda: (one.replicas("first"), one.replicas("second")) == (0, 1), 5, "the demand to move", 0.02)
        print(f"moved {time.time() - said:.2f} s after the event")
        assert program.ready("actors") == one.workers("second")
        line = control.wait_for("ScaleDownBackOff", pod, REFUSAL)
        assert line["level"] == "info"
        wait_until(lambda: not one.worker_pods("first"), 10, "the Pod that stayed behind to be gone")
        first_choice_again(one, program, control)


def test_a_promise_is_waited_for(shared, controller):
    one = shared(two_groups(annotations=HELD))
    controller(one.namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        say(one, pod, "TriggeredScaleUp", "pod triggered scale-up: [{gpu 0->1 (max: 3)}]")
        say(one, pod, "NotTriggerScaleUp", REFUSAL, at=time.time() - 20)
        hold(lambda: one.replicas("second") == 0 and one.workers("first") == [pod], 3, "the newest event counts")
        one.annotate_pod(pod, {UNSCHEDULABLE: None})
        assert program.ready("actors") == [pod]
        assert one.replicas("second") == 0


def test_what_the_kubelet_lacks_is_the_reason_until_the_container_runs(shared, controller):
    one = shared(two_groups(annotations={"bench.rayscaler.dev/pull-seconds": "8"}))
    control = controller(one.namespace)

    def reason(pod):
        status, text = control.get(f"/status/{one.namespace}/{one.name}")
        found = [w for w in json.loads(text)["plan"]["workers"] if w["pod"] == pod] if status == 200 else []
        return found[0]["message"] if found else ""

    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        wait_until(lambda: "ContainerCreating" in reason(pod), 10, "the Pod to have its Node")
        lacks = 'MountVolume.SetUp failed for volume "key": secret "key" not found'
        say(one, pod, "FailedMount", lacks, source="kubelet")
        wait_until(lambda: f"FailedMount: {lacks}" in reason(pod), 5, "the words of the kubelet")
        assert program.ready("actors") == [pod]
        wait_until(lambda: "FailedMount" not in reason(pod), 10, "the reason of a worker that runs")


def test_karpenters_refusal_counts_and_the_schedulers_word_does_not(shared, controller):
    one = shared(two_groups(annotations=HELD))
    controller(one.namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        say(one, pod, "FailedScheduling", NO_ROOM, source="default-scheduler")
        hold(lambda: one.replicas("second") == 0, 3, "the scheduler only says what the condition says")
        say(one, pod, "FailedScheduling", "Failed to schedule pod, no nodepool matched", source="karpenter")
        assert program.ready("actors") == one.wait_workers(1, "second")
        assert one.replicas("first") == 0


def test_without_the_right_to_read_events_timeouts_decide(shared, controller):
    one = shared(two_groups(annotations=HELD))
    control = controller(one.namespace, "--node-provision-timeout-seconds", "6", without="events")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        say(one, pod, "NotTriggerScaleUp", REFUSAL)
        hold(lambda: one.replicas("second") == 0, 3, "what it may not read does not count")
        assert program.ready("actors") == one.wait_workers(1, "second")
        control.wait_for("scaled", "ScaleDownBackOff", pod, NO_ROOM)
    line = control.wait_for("events cannot be read")
    assert line["level"] == "warning" and "grant" in line["error"] and "events" in line["error"]


def test_a_quota_gate_moves_the_demand_at_once(shared, controller):
    groups = two_groups()
    groups[0]["template"]["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    one = shared(groups)
    control = controller(one.namespace, "--backoff-initial-seconds", "3")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        assert program.ready("actors") == one.wait_workers(1, "second")
        control.wait_for("scaled", pod, "scheduling gate kueue.x-k8s.io/admission")
        first_choice_again(one, program, control)


def test_a_resource_quota_moves_the_demand_at_once(shared, controller):
    # Only the first group asks Kubernetes for a GPU.
    one = shared([rm.gpu_group("first"), rm.group("second", params={"num-gpus": "1"})])
    quotas = one.server.admin.of("resourcequotas", one.namespace)
    no_gpus = {"hard": {"requests.nvidia.com/gpu": "0"}}
    quotas.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": no_gpus})
    try:
        # As the quota controller does, which does not run here.
        quotas.patch_merge("gpus", {"status": {**no_gpus, "used": {"requests.nvidia.com/gpu": "0"}}}, "status")
        control = controller(one.namespace, "--backoff-initial-seconds", "3")
        with one.program() as program:
            program.actors(1, num_gpus=1)
            assert program.ready("actors") == one.wait_workers(1, "second")
            assert one.replicas("first") == 0 and not one.worker_pods("first")
            control.wait_for("scaled", "ScaleDownBackOff", "exceeded quota: gpus")
            conditions = {c["type"]: c for c in one.get()["status"]["conditions"]}
            assert "ReplicaFailure" not in conditions, "the operator has nothing left to create"
            quotas.delete("gpus")
            first_choice_again(one, program, control)
    finally:
        quotas.delete("gpus", missing_ok=True)
        forget_failures(one)


def test_failed_pods_move_the_demand_at_once(shared, controller):
    one = shared(two_groups(annotations={"bench.rayscaler.dev/rejected": "Allocate failed: no healthy devices"}))
    control = controller(one.namespace, "--backoff-initial-seconds", "3")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.wait_workers(1, "second")
        control.wait_for("scaled", "ScaleDownBackOff", "Failed: UnexpectedAdmissionError: Allocate failed")
        # The number of Pods that an operator recreates meanwhile depends on its speed.
        created = [event.at for event in one.recorder.of("created") if event.value == "first"]
        wait_until(lambda: one.replicas("first") == 0 and not one.worker_pods("first"), 10, "no Failed Pod is left")
        first_choice_again(one, program, control)
        assert created[-1] - created[0] < allowed(ANEW_SECONDS), "a Failed Pod is not made anew over and over"


def test_demand_that_fits_by_numbers_and_stays_pending_gets_one_worker(shared, controller):
    """Ray 2.60 leaves queued tasks at their raylet, so the new worker helps later tasks:
    the test checks that it is started once, and the reason."""
    one = shared([rm.group("gpu-group", gpus=2, cpus=4)])
    control = controller(one.namespace, "--stuck-demand-seconds", "3")
    with one.program() as program:
        program.actors(2, num_gpus=0.6)
        (first,) = set(program.ready("actors"))
        # 0.4 + 0.4 GPU are free on that worker, and no GPU of it has 0.8.
        program.actors(1, name="third", num_gpus=0.8)
        hold(lambda: one.replicas() == 1, 2, "by the numbers it fits where Ray has room")
        assert len(one.wait_joined(2)) == 2
        control.wait_for("scaled", "fits on living workers by the numbers, but stays pending")
        hold(lambda: one.replicas() == 2, 5, "no launch after launch while one is free for it")
        program.end()
    one.wait_empty()


def test_a_sidecar_that_may_read_events(scenario, api_server, namespace):
    """KubeRay's Role has no right to Events: one more Role for the head's ServiceAccount gives it."""
    metadata = {"name": "side-events", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]}]
    rbac = "rbac.authorization.k8s.io"
    api_server.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    api_server.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "side-events"},
            "subjects": [{"kind": "ServiceAccount", "name": "side", "namespace": namespace}],
        }
    )
    one = scenario(rm.cluster("side", two_groups(annotations=HELD), autoscaler=rm.sidecar_options()))
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        say(one, pod, "NotTriggerScaleUp", REFUSAL)
        assert program.ready("actors") == one.wait_workers(1, "second")
        assert one.replicas("first") == 0
