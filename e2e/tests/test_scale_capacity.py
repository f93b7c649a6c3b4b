"""Capacity that does not come: the demand goes to the next group, and back when it came.

Which Pods get no Node is said by the test (an annotation of the kubelet stand-in), and what a node
autoscaler says of them is an Event that the test writes as the cluster autoscaler does.
"""

import secrets
import time

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

UNSCHEDULABLE = "bench.rayscaler.dev/unschedulable"
NO_ROOM = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
HELD = {UNSCHEDULABLE: NO_ROOM}
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


def first_choice_again(one, program):
    """After the back-off, with capacity there, new demand takes the first group."""
    lift(one)
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
        first_choice_again(one, program)


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
        assert control.find("scaled", "ScaleDownBackOff", pod, NO_ROOM)
    (line,) = control.find("events cannot be read")
    assert line["level"] == "warning" and "grant" in line["error"] and "events" in line["error"]
