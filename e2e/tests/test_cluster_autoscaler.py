"""Scale-up from zero Nodes through the whole chain: rayscaler, KubeRay, kube-scheduler, the real cluster autoscaler."""

import shutil

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.dra import ROOM
from rayscaler_e2e.node_autoscaler import POOL_LABEL, NodeAutoscaler, NodePool
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.control_plane import KubeScheduler
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.tools import find_tool
from rayscaler_e2e.wait import wait_until

SMALL, LARGE = NodePool("small", gpus=1, most=1), NodePool("large", gpus=1, most=2)


@pytest.fixture(scope="module")
def api_server():
    if not paths.cluster_autoscaler():
        pytest.skip("RAYSCALER_CLUSTER_AUTOSCALER names no cluster autoscaler")
    directory = paths.work_root() / "apiserver-nodes"
    shutil.rmtree(directory, ignore_errors=True)
    with ApiServer(directory) as server:
        server.install_bench()
        nodes = server.admin.of("nodes")
        nodes.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "head"}})
        status = {"allocatable": ROOM, "capacity": ROOM, "conditions": [{"type": "Ready", "status": "True"}]}
        nodes.patch_merge("head", {"status": status}, "status")
        nodes.patch_merge("head", {"spec": {"taints": None}})
        with KubeScheduler(server, find_tool("kube-scheduler"), directory):
            yield server


@pytest.fixture(scope="module")
def standins(api_server):
    with StandIns(api_server, paths.work_root() / "standins-nodes", schedules=False) as made:
        yield made


@pytest.fixture
def nodes(api_server, namespace, work_dir, artefacts):
    with NodeAutoscaler(api_server, namespace, work_dir, [SMALL, LARGE]) as made:
        artefacts.log("cluster-autoscaler", made.process.log)
        yield made


def group_of(pool):
    made = rm.gpu_group(pool.name)
    made["template"]["spec"]["nodeSelector"] = {POOL_LABEL: pool.name}
    return made


def condition(one, pod):
    found = one.server.admin.of("pods", one.namespace).get(pod)["status"].get("conditions") or []
    return next((each.get("message", "") for each in found if each["type"] == "PodScheduled"), "")


def test_a_gpu_group_starts_from_zero_nodes(nodes, scenario, controller, api_server, namespace, work_dir):
    """Two actors: the first choice has one Node at most, so the refusal for its second Pod moves that demand."""
    one = scenario(rm.cluster("from-zero", [group_of(SMALL), group_of(LARGE)]))
    control = controller(namespace, "--backoff-initial-seconds", "5")
    cli = Cli(api_server, namespace, work_dir)
    with one.program() as program:
        program.actors(1, name="first", num_gpus=1)
        (pod,) = one.wait_workers(1, "small")
        wait_until(lambda: "TriggeredScaleUp" in nodes.said(one, pod), 30, "the cluster autoscaler to order a Node")
        assert "Preemption is not helpful for scheduling" in condition(one, pod)
        assert nodes.said(one, pod)["TriggeredScaleUp"] == "pod triggered scale-up: [{small 0->1 (max: 1)}]"
        assert "WaitingForNode: 0/" in cli.run("status").stdout
        assert one.replicas("large") == 0, "a promised Node is waited for"
        assert program.ready("first") == [pod]
        assert len(nodes.names("small")) == 1

        program.actors(1, name="second", num_gpus=1)
        control.wait_for("ScaleDownBackOff", "NotTriggerScaleUp: pod didn't trigger scale-up", "max node group size reached", seconds=60)
        assert program.ready("second") == one.wait_workers(1, "large")
        assert [len(nodes.names(pool.name)) for pool in (SMALL, LARGE)] == [1, 1]
        program.end()
    for pool in (SMALL, LARGE):
        one.wait_empty(group=pool.name)
        wait_until(lambda: not nodes.names(pool.name), 90, f"the Nodes of {pool.name} to be removed")
