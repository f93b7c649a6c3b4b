"""Devices of a real kubelet: those of a device plugin, and those that Pods claim from a DRA driver."""

import json

import pytest

from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.kubernetes import CLAIMED, DRIVER, GPU, GPUS, NODE
from rayscaler_e2e.wait import wait_until

POLL = 0.3
IDLE_SECONDS = 10
# A worker has two, so that few workers use all.
EACH = 2
TEMPLATE = "one-device"
# Devices of this driver are accelerators; what a worker reports to Ray is its num-gpus.
TABLE = {"resource": "example.com/gpu", "kind": "GPU", "driver": DRIVER, "deviceClass": DRIVER}


@pytest.fixture(scope="module")
def impatient(node):
    """A Pod that the scheduler refuses waits for 15 s, and the device table knows the DRA driver."""
    table = [f"deviceTable[0].{name}={value}" for name, value in TABLE.items()]
    node.upgrade("config.nodeProvisionTimeoutSeconds=15", "config.backoffInitialSeconds=300", *table)
    made = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "DeviceTable", "devices": [TABLE]}
    table_file(node).write_text(json.dumps(made))
    yield node
    node.upgrade()


def no_workers(ray):
    wait_until(lambda: not ray.pods(alive=False), 90, "all workers to be gone", POLL)
    assert set(ray.replicas().values()) == {0}


def names(pods):
    return {pod["metadata"]["name"] for pod in pods}


def table_file(node):
    return node.state / "home/devices.yaml"


def inventory(node):
    return json.loads(node.rayscaler("status", "--gpus", "-o", "json", "--device-table", str(table_file(node))))


def gpus_of_the_node(node):
    """(capacity, allocated) by `status --gpus`, and (capacity, allocatable) by the kubelet."""
    (found,) = [one for one in inventory(node)["nodes"] if one["name"] == NODE]
    (gpus,) = [one for one in found["resources"] if one["resource"] == GPU]
    status = node.admin.of("nodes").get(NODE)["status"]
    assert status["capacity"][GPU] == status["allocatable"][GPU] == str(gpus["capacity"]) == str(gpus["total"])
    return gpus["capacity"], gpus["allocated"]


def refusal(pod):
    """Why the scheduler refuses a Pod."""
    found = pod["status"].get("conditions") or []
    return next((one["message"] for one in found if one["type"] == "PodScheduled" and one["status"] == "False"), "")


def test_demand_moves_when_the_node_has_no_gpu_left(impatient, ray, place):
    """One worker more than the Node has GPUs for: its Pod is refused, and the next group serves the demand."""
    groups = [clusters.group("gpu", gpus=EACH, maxReplicas=5), clusters.group("other", maxReplicas=2)]
    # Of more CPUs an actor needs a smaller part: the worse fit, so the second choice.
    groups[1]["rayStartParams"].update({"num-gpus": str(EACH), "num-cpus": "8"})
    found = ray(clusters.cluster("demo", groups, idle_seconds=IDLE_SECONDS))
    count = GPUS // EACH
    with found.program() as program:
        program.actors(count, "first", num_gpus=EACH, num_cpus=1)
        first = set(program.ready("first", 120))
        assert first == names(found.pods("gpu"))
        devices = [given(impatient, place, pod) for pod in first]
        assert sorted(",".join(devices).split(",")) == [f"gpu-{number}" for number in range(GPUS)]
        assert gpus_of_the_node(impatient) == (GPUS, GPUS)
        program.actors(1, "second", num_gpus=EACH, num_cpus=1)
        more = wait_until(lambda: [pod for pod in found.pods("gpu") if refusal(pod)], 60, "the scheduler to refuse a Pod", POLL)
        assert names(more).isdisjoint(first) and f"Insufficient {GPU}" in refusal(more[0])
        assert set(program.ready("second", 120)) == names(found.pods("other"))
        assert found.replicas() == {"gpu": count, "other": 1}
        program.end()
    no_workers(found)
    assert gpus_of_the_node(impatient) == (GPUS, 0)


def given(node, place, pod):
    """The devices that the kubelet has allocated to a worker."""
    words = ("exec", "-n", place, pod, "-c", "ray-worker", "--", "printenv", "NVIDIA_VISIBLE_DEVICES")
    return node.kubectl.run(*words).stdout.strip()


def claiming_group(node, place):
    """Each Pod claims one device of the DRA driver."""
    api = {"apiVersion": "resource.k8s.io/v1"}
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    made = {**api, "kind": "DeviceClass", "metadata": {"name": DRIVER}, "spec": {"selectors": [selector]}}
    node.kubectl.apply(json.dumps(made))
    devices = {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}
    meta = {"name": TEMPLATE, "namespace": place}
    node.kubectl.apply(json.dumps({**api, "kind": "ResourceClaimTemplate", "metadata": meta, "spec": {"spec": {"devices": devices}}}))
    group = clusters.group("claims", maxReplicas=CLAIMED + 2, pod={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]})
    group["template"]["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    group["rayStartParams"]["num-gpus"] = "1"
    return group


def claimed(node, place):
    """Devices that are allocated to claims, by the driver's names."""
    found = []
    for one in node.admin.of("resourceclaims", place).items():
        allocation = (one.get("status") or {}).get("allocation") or {}
        found += [each["device"] for each in allocation.get("devices", {}).get("results", [])]
    return sorted(found)


@pytest.mark.test_all
def test_a_group_of_claims(impatient, ray, place):
    """0, 2 and 0 workers, each with a device that the driver has prepared; one more waits for a device."""
    found = ray(clusters.cluster("demo", [claiming_group(impatient, place)], idle_seconds=IDLE_SECONDS))
    with found.program() as program:
        program.actors(CLAIMED, "first", num_gpus=1, num_cpus=0)
        assert set(program.ready("first", 120)) == names(found.pods("claims"))
        assert claimed(impatient, place) == [f"gpu-{number}" for number in range(CLAIMED)]
        (devices,) = [one for one in inventory(impatient)["devices"] if one["driver"] == DRIVER]
        assert (devices["total"], devices["claimed"], devices["free"]) == (CLAIMED, CLAIMED, 0)
        program.actors(1, "more", num_gpus=1, num_cpus=0)
        wait_until(lambda: any("cannot allocate all claims" in refusal(pod) for pod in found.pods("claims")), 60, "a Pod without a device", POLL)
        program.call("release", name="more")
        wait_until(lambda: found.replicas() == {"claims": CLAIMED}, 60, "the Pod too many to be cancelled", POLL)
        program.end()
    no_workers(found)
    wait_until(lambda: not claimed(impatient, place), 30, "the claims to end", POLL)
