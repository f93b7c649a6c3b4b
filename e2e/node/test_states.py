"""Workers that a kubelet keeps from running: the state that users see, and what the product does about it."""

import os
import re
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
    name = f"faults-{os.getpid()}"
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


@pytest.mark.test_all
def test_a_worker_that_is_started_again(ray):
    """restartPolicy Always, as KubeRay's default without autoscaler v2: the Pod stays Running between its failures, each
    restart is counted, and after three of them another group serves the demand."""
    crash = clusters.group("crash", resource="work", container=shell("exit 4; ray start"))
    other = clusters.group("other", resource="work", maxReplicas=1)
    # Of more CPUs a task needs a smaller part: the worse fit, so the second choice.
    other["rayStartParams"]["num-cpus"] = "8"
    found = ray(clusters.cluster("demo", [crash, other], v2=False))
    with found.program() as program:
        program.actors(1, "work", resources={"work": 1}, num_cpus=1)
        cause = r"container ray-worker: Error, exit code 4, \d restarts? \(CrashLoopBackOff\)"
        wait_until(lambda: re.search(cause, found.said()), 90, "the cause", POLL)
        assert {pod["spec"]["restartPolicy"] for pod in found.pods("crash")} == {"Always"}
        (at,) = program.ready("work", 120)
        assert at in {pod["metadata"]["name"] for pod in found.pods("other")}
        program.end()


def test_a_full_resource_quota(node, ray, place):
    """The operator may create one worker: the quota's own words, and the demand beyond it moves to a group without GPUs."""
    quotas = node.admin.of("resourcequotas", place)
    hard = {"requests.nvidia.com/gpu": "1"}
    quotas.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gpus"}, "spec": {"hard": hard}})
    wait_until(lambda: (quotas.get("gpus").get("status") or {}).get("hard") == hard, 30, "the quota to be counted", POLL)
    groups = [clusters.group("gpu", gpus=1), clusters.group("other")]
    groups[1]["rayStartParams"].update({"num-gpus": "1", "num-cpus": "8"})
    found = ray(clusters.cluster("demo", groups))
    with found.program() as program:
        program.actors(2, "work", num_gpus=1, num_cpus=1)
        wait_until(lambda: "exceeded quota: gpus" in found.said(), 60, "the cause", POLL)
        workers = program.ready("work", 120)
        wait_until(lambda: found.replicas() == {"gpu": 1, "other": 1}, 30, "one worker of each group", POLL)
        assert sorted(workers) == sorted(pod["metadata"]["name"] for pod in found.pods())
        program.end()
