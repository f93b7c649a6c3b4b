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


@pytest.mark.test_all
@pytest.mark.parametrize("sidecar", [False, True], ids=["controller", "sidecar"])
def test_constraints_then_tasks_beside_actors(ray, sidecar):
    """What Ray's release test of autoscaling (`release/autoscaling_tests`) asks of a cluster whose head has no CPU and whose
    workers have four: eight CPUs by request_resources and back, then two tasks and two actors of four CPUs and back."""
    group = clusters.group("cpu", maxReplicas=5)
    group["rayStartParams"]["num-cpus"] = "4"
    made = clusters.cluster("demo", [group], sidecar=sidecar, idle_seconds=IDLE_SECONDS)
    made["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = "0"
    found = ray(made)
    with found.program() as program:

        def has(workers):
            ready(found, "cpu", workers, 120)
            wait_until(lambda: f"/{4.0 * workers} CPU" in program.call("status"), 60, f"Ray's total with {workers} workers", POLL)

        def has_none():
            no_workers(found)
            wait_until(lambda: " CPU" not in program.call("status"), 60, "Ray's total without a worker", POLL)

        has_none()
        program.call("request", bundles=8 * [{"CPU": 1}])
        has(2)
        program.call("request", bundles=[])
        has_none()
        program.tasks(2, num_cpus=4)
        program.actors(2, num_cpus=4)
        program.ready("tasks", 120)
        program.ready("actors", 120)
        has(4)
        program.call("release", name="tasks")
        program.call("release", name="actors")
        has_none()
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
