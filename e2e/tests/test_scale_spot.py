"""Workers that Kubernetes is about to take away: the replacement comes first, and only once."""

import time
from typing import Any, Set

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import Scenario, hold
from rayscaler_e2e.wait import wait_until

IDLE = 3


def disrupt(one: Scenario, pod: str) -> None:
    """As the eviction API, the scheduler's preemption and the taint manager announce it."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastTransitionTime": "2026-11-20T10:00:00Z",
    }
    pods = one.server.admin.of("pods", one.namespace)
    pods.patch_status(pod, {"status": {"conditions": [condition]}})


def joined(one: Scenario) -> Set[str]:
    nodes = one.witness.latest()["nodes"]
    return {n["pod"] for n in nodes if n["group"] == "gpu-group" and n["status"] in ("RUNNING", "IDLE")}


def wait_nothing_pending(one: Scenario) -> None:
    """Ray reports a running task as pending for a moment longer, which would be demand for one more worker."""
    wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")


def test_a_busy_worker_is_replaced_before_it_is_gone(shared, controller):
    one = shared([rm.gpu_group()], idle_seconds=IDLE)
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1, max_restarts=-1, max_task_retries=-1)
        (old,) = program.ready("busy")
        wait_nothing_pending(one)
        disrupt(one, old)
        control.wait_for("ScaleUpReplacement", old, seconds=20)
        (new,) = wait_until(lambda: joined(one) - {old}, 60, "the replacement")
        assert list(program.call("draining").values()) == [0], "an eviction without a time"
        # As soon as it is there replicas counts one of them, and both stay beyond the idle timeout.
        wait_until(lambda: one.replicas() == 1, 30, "replicas to be lowered")
        hold(lambda: set(one.workers()) == {old, new} and one.replicas() == 1, IDLE + 2, "both stay")
        assert program.call("alive", name="busy") == [old], "nobody ends what is in use"
        assert not one.workers_to_delete()
        one.recorder.excuse(old)
        one.server.admin.of("pods", one.namespace).delete(old, grace_seconds=2)
        wait_until(lambda: program.ready("busy") == [new], 90, "the actor to go on in the replacement")
        hold(lambda: one.workers() == [new] and one.replicas() == 1, 4, "nobody makes a second replacement")
        created = {event.subject for event in one.recorder.of("created")}
        assert created == {old, new}, created
        program.end()


def test_a_node_that_ends(shared, controller, api_server):
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    nodes = api_server.admin.of("nodes")
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_nothing_pending(one)
        pod = next(pod for pod in one.worker_pods() if pod["metadata"]["name"] == old)
        node = pod["spec"]["nodeName"]
        taint = {"key": "cloud.google.com/impending-node-termination", "effect": "NoSchedule"}
        # The bench has no Node objects of its own.
        nodes.create({"metadata": {"name": node}, "spec": {"taints": [taint]}})
        try:
            control.wait_for("ScaleUpReplacement", f"Node {node} is about to be removed", taint["key"], seconds=20)
        finally:
            nodes.delete(node)
        # It was a false alarm: the busy worker is kept.
        hold(lambda: old in one.workers() and len(one.workers()) <= 2, 2, "no third worker")
        assert program.call("alive", name="busy") == [old]
        program.end()
    assert not control.find("Nodes cannot be read")


def test_a_spot_notice_reaches_the_work(shared, controller, api_server):
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    nodes = api_server.admin.of("nodes")
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_nothing_pending(one)
        node = one.worker_pods()[0]["spec"]["nodeName"]
        assert program.call("draining") == {}
        notified: Any = lambda: control.find("Ray drains a worker in use", old)  # noqa: E731
        # As AWS's handler: without timeAdded.
        taint = {"key": "aws-node-termination-handler/spot-itn", "value": "spot-itn-1", "effect": "NoSchedule"}
        begun = time.time()
        nodes.create({"metadata": {"name": node}, "spec": {"taints": [taint]}})
        try:
            ((ray_node, deadline),) = wait_until(lambda: program.call("draining").items(), 3, "Ray to know")
            after = time.time() - begun
            assert begun + 118 < deadline <= time.time() + 120
            wait_until(lambda: one.witness.node(old)["id"] == ray_node, 5, "the node in Ray")
            control.wait_for("ScaleUpReplacement", f"Node {node} is about to be removed", taint["key"], seconds=3)
            wait_until(lambda: len(one.worker_pods()) == 2, 5, "the Pod of the replacement")
            wait_until(lambda: one.witness.node(old)["status"] == "DRAINING", 5, "Ray to report it")
            wait_until(notified, 5, "the line about it")
            hold(lambda: len(notified()) == 1, 2, "Ray is notified once")
            # The Node ends earlier.
            added = int(time.time()) - 60
            text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(added))
            nodes.patch_merge(node, {"spec": {"taints": [{**taint, "timeAdded": text}]}})
            wait_until(lambda: program.call("draining") == {ray_node: added + 120}, 3, "Ray to know the new time")
            wait_until(lambda: len(notified()) == 2, 5, "another line about it")
            hold(lambda: len(notified()) == 2 and old in one.workers(), 2, "it is notified once more, and stays")
            assert program.call("alive", name="busy") == [old] and not one.workers_to_delete()
        finally:
            nodes.delete(node)
        program.end()
    print(f"from the taint to the deadline in Ray {after:.2f} s")
