"""Workers that Kubernetes ends: drained Nodes."""

import pytest

from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.kubernetes import NODE
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

POLL = 0.3


def names(pods):
    return sorted(pod["metadata"]["name"] for pod in pods)


@pytest.fixture
def drain(node):
    """`kubectl drain` of all workers; the Node is usable again afterwards."""

    def run(*words, status=0):
        flags = ("--pod-selector=ray.io/node-type=worker", "--force", "--ignore-daemonsets", "--delete-emptydir-data")
        return node.kubectl.run("drain", NODE, *flags, *words, status=status)

    yield run
    node.kubectl.run("uncordon", NODE)


@pytest.mark.test_all
def test_drain_with_a_disruption_budget(node, ray, place, drain):
    """One of two busy workers must stay: the first is replaced, the second stays until the replacement is there.

    (`maxUnavailable` allows none for Pods of a RayCluster, which has no subresource `scale`.)"""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"ray.io/node-type": "worker"}}}
    node.admin.of("poddisruptionbudgets", place).create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "workers"}, "spec": spec}
    )
    found = ray(clusters.cluster("demo", [clusters.group("first", resource="work", maxReplicas=4)]))
    with found.program() as program:
        program.actors(2, "work", resources={"work": 1}, num_cpus=0, max_restarts=-1, max_task_retries=-1)
        before = program.ready("work", 120)
        budget = node.admin.of("poddisruptionbudgets", place)
        wait_until(lambda: budget.get("workers")["status"].get("disruptionsAllowed") == 1, 30, "the budget to be counted", POLL)
        done = drain("--timeout=20s", status=1)
        assert "violate the pod's disruption budget" in done.stderr
        (left,) = [name for name in before if name in names(found.pods())]
        assert "EvictionByEvictionAPI" in found.said()
        node.kubectl.run("uncordon", NODE)
        wait_until(lambda: len(found.ready()) == 2 and set(names(found.ready())) - set(before), 120, "the replacement", POLL)
        after = program.call("alive", 120, name="work")
        assert left in after and len(set(after)) == 2
        wait_until(lambda: found.replicas() == {"first": 2} and len(found.pods(alive=False)) == 2, 90, "two workers", POLL)
        program.end()


@pytest.mark.test_all
def test_drain_of_the_whole_node(node, ray, drain):
    """Each group of one worker has one again, not two: replicas are raised only while both Pods count."""
    groups = [clusters.group(name, resource=name) for name in ("first", "second")]
    found = ray(clusters.cluster("demo", groups, idle_seconds=60))
    with found.program() as program:
        for name in ("first", "second"):
            program.actors(1, name, resources={name: 1}, num_cpus=0, max_restarts=-1, max_task_retries=-1)
        before = [program.ready(name, 120)[0] for name in ("first", "second")]
        drain("--timeout=60s")
        wait_until(lambda: not set(before) & set(names(found.pods(alive=False))), 60, "the drained workers to be gone", POLL)
        wanted = {"first": 1, "second": 1}
        wait_until(lambda: found.replicas() == wanted and len(found.pods(alive=False)) == 2, 30, "one worker of each group", POLL)
        hold(lambda: found.replicas() == wanted, 10, "replicas stay")
        node.kubectl.run("uncordon", NODE)
        wait_until(lambda: len(found.ready()) == 2, 120, "both workers to be ready", POLL)
        assert found.replicas() == wanted
        program.end()
