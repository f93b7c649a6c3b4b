"""Back to Ray's autoscaler by the commands of docs/OPERATIONS.md, and here again."""

import pytest

from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.wait import wait_until

POLL = 0.5

pytestmark = pytest.mark.test_all


def container(head):
    return next(one for one in head["spec"]["containers"] if one["name"] == "autoscaler")


def new_head(node, found):
    old = found.wait_head()["metadata"]["name"]
    node.kubectl.run("delete", "pod", "-n", found.namespace, "-l", f"ray.io/cluster={found.name},ray.io/node-type=head")
    wait_until(lambda: (found.head() or {"metadata": {"name": old}})["metadata"]["name"] != old, 120, "the new head", POLL)
    return found.head()


def served(found, name):
    """Workers start for an actor, and end after it."""
    with found.program() as program:
        program.actors(1, name, num_gpus=1, num_cpus=0)
        assert program.ready(name, 180) == [pod["metadata"]["name"] for pod in found.pods("gpu")]
        program.call("release", name=name)
        wait_until(lambda: not found.pods(alive=False), 180, "the worker to be gone", POLL)
        program.end()


def test_roll_back(node, ray):
    found = ray(clusters.cluster("demo", [clusters.group("gpu", gpus=1)], idle_seconds=10))
    served(found, "before")
    node.rayscaler("release", found.name, "-n", found.namespace, "--yes")
    head = new_head(node, found)
    assert container(head)["image"] == RAY and "infinity" not in str(container(head))
    served(found, "by Ray")
    node.rayscaler("adopt", found.name, "-n", found.namespace, "--yes")
    head = new_head(node, found)
    assert "infinity" in str(container(head))
    served(found, "again")
