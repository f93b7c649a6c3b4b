"""Workers that a kubelet keeps from running: the state that users see, and what the product does about it."""

from typing import Any, Dict

import pytest

from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.node.running import RayOnNode
from rayscaler_e2e.wait import wait_until

POLL = 0.5
Object = Dict[str, Any]


def shell(text: str) -> Object:
    return {"command": ["/bin/bash", "-c", text]}


# group: (its members, what a user must read)
FAULTS = {
    "pull": ({"image": "registry.invalid/no/such:1"}, "init container wait-gcs-ready: ImagePullBackOff"),
    "never": (
        {"image": "registry.invalid/no/such:1", "container": {"imagePullPolicy": "Never"}},
        "init container wait-gcs-ready: ErrImageNeverPull",
    ),
    "init": (
        {"pod": {"initContainers": [{"name": "prepare", "image": RAY, **shell("exit 3")}]}},
        "init container prepare: Error, exit code 3",
    ),
    "crash": ({"container": shell("exit 4; ray start")}, "container ray-worker: Error, exit code 4"),
    "oom": (
        {"container": {**shell("head -c 2G /dev/zero | tail; ray start"), "resources": {"limits": {"memory": "64Mi"}}}},
        "OOMKilled",
    ),
}


@pytest.fixture(scope="module")
def faults(node):
    """One RayCluster with a group for each fault, each with demand of its own."""
    name = "faults"
    node.admin.of("namespaces").create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    groups = [clusters.group(fault, resource=fault, **members) for fault, (members, _) in FAULTS.items()]
    with RayOnNode(node, name, clusters.cluster("faults", groups)) as found:
        with found.program() as program:
            for fault in FAULTS:
                program.tasks(1, fault, resources={fault: 1}, num_cpus=0)
            yield found
            program.end()
    node.admin.of("namespaces").delete(name)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_worker_has_its_cause(faults, fault):
    wait_until(lambda: FAULTS[fault][1] in faults.said(), 90, f"the cause of group {fault}", POLL)
