"""The main job in real Pods, by the image and the chart: demand for GPUs starts workers, idle ones end."""

import pytest

from rayscaler_e2e.node import clusters
from rayscaler_e2e.wait import wait_until

POLL = 0.3
IDLE_SECONDS = 10


def ready(ray, group, count, seconds=90):
    return wait_until(lambda: len(ray.ready(group)) == count and ray.ready(group), seconds, f"{count} workers of {group}", POLL)


def no_workers(ray, seconds=90):
    wait_until(lambda: not ray.pods(alive=False), seconds, "all workers to be gone", POLL)
    assert set(ray.replicas().values()) == {0}


@pytest.mark.parametrize("sidecar", [False, True], ids=["controller", "sidecar"])
def test_actors_start_workers(ray, sidecar):
    made = clusters.cluster("demo", [clusters.group("gpu", gpus=1)], sidecar=sidecar, idle_seconds=IDLE_SECONDS)
    found = ray(made)
    with found.program() as program:
        program.actors(2, num_gpus=1, num_cpus=0)
        pods = program.ready("actors", 120)
        assert sorted(pods) == sorted(pod["metadata"]["name"] for pod in found.pods("gpu"))
        assert found.replicas() == {"gpu": 2}
        program.call("release", name="actors")
        no_workers(found)
        program.call("request", bundles=[{"GPU": 1}])
        ready(found, "gpu", 1)
        program.call("request", bundles=[])
        no_workers(found)
        program.end()


def test_upgrade_beside_a_busy_worker(node, ray):
    """`helm upgrade` replaces both Pods of the controller; the busy worker stays, and new demand is served."""
    found = ray(clusters.cluster("demo", [clusters.group("gpu", gpus=1)], idle_seconds=IDLE_SECONDS))
    pods = node.admin.of("pods", "rayscaler-system")
    before = {pod["metadata"]["name"] for pod in pods.items()}
    with found.program() as program:
        program.actors(1, "first", num_gpus=1, num_cpus=0)
        (busy,) = program.ready("first", 120)
        node.upgrade("config.idleTimeoutSeconds=30")
        assert not before & {pod["metadata"]["name"] for pod in pods.items() if "deletionTimestamp" not in pod["metadata"]}
        program.actors(1, "second", num_gpus=1, num_cpus=0)
        program.ready("second", 120)
        assert program.call("alive", name="first") == [busy]
        program.end()
    no_workers(found)
