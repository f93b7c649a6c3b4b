"""What Ray's own test of its autoscaler on KubeRay looks for (python/ray/tests/kuberay/test_autoscaling_e2e.py of Ray
2.60), with rayscaler in the place of Ray's autoscaler: the same groups, steps and texts, in our own words. GPUs are
those of rayStartParams alone, as there; the head and each worker have a custom resource of five."""

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.wait import wait_until

CUSTOM = '"{\\"Custom1\\": 1, \\"Custom2\\": 5}"'
IDLE = 10
SMALL, GPU = "small-group", "fake-gpu-group"


@pytest.fixture
def one(scenario):
    small = rm.group(SMALL, params={"resources": CUSTOM}, maxReplicas=300)
    gpu = rm.group(GPU, params={"resources": CUSTOM, "num-gpus": "1"}, maxReplicas=1)
    manifest = rm.cluster("words", [small, gpu], idle_seconds=IDLE, autoscaler=rm.sidecar_options())
    manifest["spec"]["headGroupSpec"]["rayStartParams"]["resources"] = CUSTOM
    return scenario(manifest)


@pytest.fixture
def container_log(one, standins):
    """As `kubectl logs` of the head's autoscaler container."""
    head = one.head()["metadata"]["name"]
    log = standins.pods_dir / one.namespace / head / f"{kp.AUTOSCALER_CONTAINER}.log"
    return lambda: log.read_text()


def wait_log(container_log, text):
    wait_until(lambda: text in container_log(), 10, f"{text!r} in the container's log")


def replicas(one):
    return one.replicas(SMALL), one.replicas(GPU)


def test_ray_finds_its_texts(one, container_log):
    with one.program() as program:
        program.call("request", bundles=[{"CPU": 1}] * 2)
        one.wait_joined(1, SMALL)
        wait_log(container_log, "Adding 1 node(s) of type small-group.")
        assert replicas(one) == (1, 0)

        one.edit_group(SMALL, minReplicas=2)
        one.wait_joined(2, SMALL)
        assert not one.workers(GPU)
        program.actors(1, num_gpus=1, num_cpus=1)
        assert program.ready("actors") == one.workers(GPU)
        assert replicas(one) == (2, 1)

    one.edit_group(SMALL, minReplicas=0)
    with one.program(prints=True) as program:
        program.call("request", bundles=[])
        idle = f"Removing 1 nodes of type {GPU} (idle)."
        # The actor ended with its driver. Ray's script waits for 25 s.
        wait_until(lambda: idle in program.autoscaler_lines(), 25, "the removal in the output of a driver")
        wait_log(container_log, idle)
        one.wait_workers(0, None, 60)

        program.call("request", bundles=[{"Custom2": 3}] * 3)
        one.wait_joined(2, SMALL)
        program.call("request", bundles=[])
        program.end()
    one.wait_empty(60, SMALL)


def test_above_the_maximum(one, container_log):
    one.edit_group(SMALL, minReplicas=2)
    one.wait_joined(2, SMALL)
    # The other one stays at the minimum, however long it has been idle.
    one.edit_group(SMALL, minReplicas=1, maxReplicas=1)
    wait_until(lambda: one.replicas(SMALL) == 1, 30, "the group to be at its maximum")
    # Logged when the answer to the patch is read: readers of the object may see it earlier.
    wait_log(container_log, "Removing 1 nodes of type small-group (max number of worker nodes per type reached).")
    wait_log(container_log, "Resized to 2 CPUs")
