"""Pods that claim to be the head of a RayCluster: copies of the head Pod whose name sorts first, and two heads that
the operator makes."""

import contextlib
import copy
import socket
import threading

import pytest
from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.minutes

TWO_GPUS = '[{"GPU": 1}, {"GPU": 1}]'
FORGED = "a-head"
ADDRESS = "127.77.7.7"
LONG = 150


class Listener:
    """In place of the GCS of the forged head: counts connections, and answers nothing."""

    def __init__(self, port):
        self.connections = 0
        self._socket = socket.create_server((ADDRESS, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self._socket.accept()[0].close()
                self.connections += 1

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def listener():
    one = Listener(int(kp.DEFAULT_GCS_PORT))
    yield one
    one.close()


def forge(one, head, owners):
    """A copy of the head Pod that no kubelet starts, with a status that it runs at ADDRESS."""
    pods = one.server.admin.of("pods", one.namespace)
    container = head["spec"]["containers"][0]
    pods.create({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": FORGED,
            "namespace": one.namespace,
            "labels": copy.deepcopy(head["metadata"]["labels"]),
            "ownerReferences": owners,
        },
        "spec": {
            "schedulingGates": [{"name": "rayscaler.dev/never"}],
            "containers": [{"name": container["name"], "image": container["image"]}],
        },
    })
    ready = {"type": "Ready", "status": "True"}
    pods.patch_merge(
        FORGED, {"status": {"phase": "Running", "podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}], "conditions": [ready]}},
        "status",
    )
    return pods


def message(one, kind, reason):
    found = ((one.autoscaler() or {}).get("status") or {}).get("conditions") or []
    return next((c["message"] for c in found if c["type"] == kind and c["reason"] == reason), "")


def named(one, since):
    return {name for event in one.recorder.of("workersToDelete", since) for name in event.value}


def test_a_forged_head_is_never_asked(scenario, namespace, controller, listener):
    """Once while the controller runs and once when it starts: the idle worker ends, the busy one stays."""
    one = scenario(rm.cluster("forged", [rm.gpu_group()])).wait_head()
    control = controller(namespace)
    with one.program() as program:
        program.tasks(1, name="long", num_gpus=1)
        (busy,) = program.ready("long", LONG)
        one.request(TWO_GPUS)
        (idle,) = set(one.wait_joined(2, seconds=LONG)) - {busy}
        since = one.recorder.mark()
        pods = forge(one, one.head(), [])
        wait_until(lambda: FORGED in message(one, "ForeignPods", "ForeignPod"), 30, "the forged head to be reported")
        control.kill()
        control.start()
        one.request(None)
        wait_until(lambda: idle in named(one, since), 60, "the idle worker to be named")
        assert FORGED in message(one, "ForeignPods", "ForeignPod")
        assert named(one, since) == {idle} and listener.connections == 0
        pods.delete(FORGED, grace_seconds=0)
        wait_until(lambda: one.workers() == [busy], 60, "the operator to delete the idle worker")
        wait_until(lambda: not message(one, "ForeignPods", "ForeignPod"), 15, "the condition to end")
        program.end()
    one.wait_empty(90)


def test_a_second_head_with_the_owner_reference_forbids_termination(scenario, namespace, controller, listener):
    """It copied the owner reference too. Both Pods are named; demand is still served, nothing is terminated."""
    one = scenario(rm.cluster("second", [rm.gpu_group()])).wait_head()
    control = controller(namespace)
    one.request(TWO_GPUS)
    workers = one.wait_joined(2, seconds=LONG)
    head = one.head()
    since = one.recorder.mark()
    pods = forge(one, head, head["metadata"]["ownerReferences"])

    def both_named():
        text = message(one, "ScalingActive", "HeadUncertain")
        return FORGED in text and head["metadata"]["name"] in text

    wait_until(both_named, 30, "both heads to be named")
    control.kill()
    control.start()
    one.request(None)
    wait_until(both_named, 30, "both heads to be named after the start")
    one.stays(lambda: not named(one, since) and sorted(one.workers()) == sorted(workers), 8, "nothing is terminated")
    assert listener.connections == 0
    pods.delete(FORGED, grace_seconds=0)
    one.wait_empty(90)


# The raylets of workers end soon after their GCS; without Redis they cannot register with another one.
SHORT_LIVED = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
TWO_HEADS = {"redisAddress": "redis:6379", "activePassiveOptions": {"enable": True}}


def passive_of(one):
    return next(head for head in one.heads() if not kp.is_ready(head))


def head_in_status(one):
    return one.get()["status"]["head"]["podName"]


# 110 s of CPU; the test above has two heads that claim to be one, and golden cases have HeadUncertain.
@pytest.mark.test_all
@pytest.mark.skipif(bool(paths.kuberay_operator()), reason="KubeRay 1.7 does not make two heads")
def test_the_active_one_of_two_heads_is_followed(scenario, namespace, controller, standins):
    """Scale up and down beside a passive head; after the active one has ended nothing is terminated until the operator
    names the other one, also when that one is Ready; then its workers are scaled down."""
    one = scenario(rm.cluster("pair", [rm.gpu_group(env=SHORT_LIVED)], gcsFaultToleranceOptions=TWO_HEADS))
    wait_until(lambda: len(one.heads()) == 2, 30, "two head Pods")
    active, passive = one.head()["metadata"]["name"], passive_of(one)["metadata"]["name"]
    controller(namespace)
    one.request(TWO_GPUS)
    one.wait_joined(2, seconds=LONG)
    assert head_in_status(one) == active and not message(one, "ScalingActive", "HeadUncertain")
    one.request(None)
    one.wait_empty(90)
    one.request(TWO_GPUS)
    workers = set(one.wait_joined(2, seconds=LONG))
    since = one.recorder.mark()
    standins.operator.stop()
    try:
        one.server.admin.of("pods", namespace).delete(active, grace_seconds=0)
        one.request(None)
        wait_until(lambda: passive in message(one, "ScalingActive", "HeadUncertain"), 60, "the head to be uncertain")
        wait_until(lambda: one.head()["metadata"]["name"] == passive and kp.is_ready(one.head()), LONG, "the failover")
        one.stays(lambda: not named(one, since) and head_in_status(one) == active, 8, "nothing is terminated")
    finally:
        standins.start_operator()
    wait_until(lambda: message(one, "ScalingActive", "DemandRead"), 60, "the other head to be read")
    assert head_in_status(one) == passive and len(one.heads()) == 2
    one.wait_head()
    wait_until(lambda: not workers & set(one.workers()), LONG, "the workers of the old head to end")
    one.wait_empty(LONG)
