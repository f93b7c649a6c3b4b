"""Gangs of kube-scheduler (KEP-4671) on the real kube-apiserver and kube-scheduler of Kubernetes 1.37: a RayCluster as
kuberay#5266 makes it, one PodGroup for all of its Pods whose minCount follows `replicas`; the test does that part."""

import shutil
import subprocess
import threading
from contextlib import ExitStack

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.cli import grant
from rayscaler_e2e.control_plane import KubeScheduler
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.nodes import Nodes
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.tools import find_tool
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.test_all  # builds Kubernetes 1.37 once; golden cases 2115 to 2118 and 2181 to 2184 have the decisions
SERVER, SCHEDULER = "kube-apiserver-1.37", "kube-scheduler-1.37"
GATES = "--feature-gates=GenericWorkload=true"
GROUP = "demo"
HEAD_CPUS = "8"


@pytest.fixture(scope="module")
def api_server():
    built = subprocess.run([paths.E2E / "setup-apiserver.sh", SERVER, SCHEDULER], capture_output=True, text=True, check=False)
    if built.returncode == 3:
        pytest.skip(built.stderr.strip().splitlines()[-1])
    assert built.returncode == 0, built.stderr
    directory = paths.work_root() / "apiserver-gangs"
    shutil.rmtree(directory, ignore_errors=True)
    flags = (GATES, "--runtime-config=scheduling.k8s.io/v1beta1=true")
    with ApiServer(directory, *flags, program=SERVER) as server:
        server.install_bench()
        yield server


@pytest.fixture(scope="module")
def standins(api_server):
    directory = paths.work_root() / "gangs"
    directory.mkdir(parents=True, exist_ok=True)
    with KubeScheduler(api_server, find_tool(SCHEDULER), directory, GATES, "--v=3"):
        with StandIns(api_server, paths.work_root() / "standins-gangs", schedules=False) as made:
            yield made


@pytest.fixture
def nodes(api_server, namespace):
    with ExitStack() as stack:
        yield Nodes(api_server, namespace, stack)


def in_gang(template):
    template["spec"]["schedulingGroup"] = {"podGroupName": GROUP}


class PodGroup:
    """One Pod is the head. minCount is raised before the operator, which lags, creates Pods."""

    def __init__(self, server, namespace):
        self._groups = server.admin.of("podgroups", namespace)
        self._clusters = server.admin.of("rayclusters", namespace)
        self._groups.create({"metadata": {"name": GROUP}, "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}})
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def count(self):
        return self._groups.get(GROUP)["spec"]["schedulingPolicy"]["gang"]["minCount"]

    def conditions(self):
        return self._groups.get(GROUP).get("status", {}).get("conditions", [])

    def _follow(self):
        count = 1
        while not self._end.wait(0.05):
            try:
                groups = [group for one in self._clusters.items() for group in one["spec"]["workerGroupSpecs"]]
                wanted = 1 + sum(group.get("replicas", 0) for group in groups)
                if wanted != count:
                    self._groups.patch_merge(GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": wanted}}}})
                    count = wanted
            except ApiError:
                continue

    def close(self):
        self._end.set()
        self._thread.join()


@pytest.fixture
def pod_group(api_server, namespace):
    made = PodGroup(api_server, namespace)
    yield made
    made.close()


@pytest.fixture
def gang(api_server, nodes, namespace, pod_group, scenario):
    """A RayCluster of one gang, on a Node of its head alone."""
    nodes.node("head", {"cpu": HEAD_CPUS})
    worker = rm.gpu_group(maxReplicas=10)
    in_gang(worker["template"])
    manifest = rm.cluster("demo", [worker], annotations={"bench.rayscaler.dev/operator-lag-seconds": "1"})
    in_gang(manifest["spec"]["headGroupSpec"]["template"])
    return scenario(manifest)


def bound(one):
    return sorted(pod["spec"].get("nodeName", "") for pod in one.worker_pods())


def test_steps_are_those_that_the_free_nodes_hold(api_server, nodes, gang, pod_group, namespace, controller):
    first, second = (nodes.node(name, {"nvidia.com/gpu": gpus}) for name, gpus in (("n-1", "2"), ("n-2", "1")))
    grant(api_server, namespace, CONTROLLER_ACCOUNT, ["nodes", "pods"])
    controller(namespace)
    with gang.program() as program:
        program.actors(5, num_gpus=1)
        wait_until(lambda: gang.replicas() == 3, 60, "a step of three")
        wait_until(lambda: bound(gang) == [first, first, second], 30, "all three to be bound")
        wait_until(lambda: gang.replicas() == 5 and len(gang.worker_pods()) == 5, 60, "the next step, which no Node holds")
        hold(lambda: bound(gang).count("") == 2, 5, "the rest waits as a whole")
        assert pod_group.count() == 6
        assert {one["type"]: one["status"] for one in pod_group.conditions()} == {"PodGroupInitiallyScheduled": "True"}, "also now"
        third = nodes.node("n-3", {"nvidia.com/gpu": "2"})
        wait_until(lambda: bound(gang) == [first, first, second, third, third], 60, "the rest to be bound")
        program.ready("actors", seconds=60)
        program.end()
    gang.wait_empty()


def test_half_of_a_step_that_is_refused_then_what_the_free_nodes_hold(api_server, nodes, gang, pod_group, namespace, controller):
    """No Node is free, so all is asked for; then comes one that holds three of the four. Nodes are listed once a minute."""
    grant(api_server, namespace, CONTROLLER_ACCOUNT, ["nodes", "pods"])
    controller(namespace, "--node-provision-timeout-seconds", "75")
    with gang.program() as program:
        program.actors(4, num_gpus=1)
        wait_until(lambda: len(gang.worker_pods()) == 4, 60, "all four are asked for")
        node = nodes.node("n-1", {"nvidia.com/gpu": "3"})
        hold(lambda: bound(gang) == [""] * 4, 5, "none is bound")
        wait_until(lambda: bound(gang)[-2:] == [node] * 2, 120, "half of the step is bound")
        wait_until(lambda: bound(gang)[-3:] == [node] * 3, 120, "the next step is what the Node holds beside it")
        program.end()


def test_a_step_that_is_refused_is_asked_for_in_part(nodes, gang, pod_group, namespace, controller):
    """Without the right to see Nodes all is asked for: one Pod that fits nowhere holds back the others."""
    node = nodes.node("n-1", {"nvidia.com/gpu": "2"})
    controller(namespace, "--node-provision-timeout-seconds", "10")
    with gang.program() as program:
        program.actors(4, num_gpus=1)
        wait_until(lambda: gang.replicas() == 4 and len(gang.worker_pods()) == 4, 60, "all four are asked for")
        hold(lambda: bound(gang) == [""] * 4, 5, "none is bound")
        wait_until(lambda: bound(gang) == [node, node], 60, "half of the step is bound")
        program.end()
