"""Rows C2 to C5, D5 and pain 36: the inventory of Nodes on an API server, and what the controller says of
Pods that no Node takes. Node objects and their Pods are made here; nobody schedules or runs them."""

import json
import subprocess
from contextlib import ExitStack
from typing import Any, Dict, Iterator, Optional

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.kubeclient import STRATEGIC_MERGE_PATCH

Object = Dict[str, Any]
GPU, MIG, MEM, COUNT = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
RBAC = "rbac.authorization.k8s.io"
BIG = {"cpu": "64", "memory": "256Gi", "pods": "110"}


class Nodes:
    """Nodes and Pods on them; all of it goes at the end."""

    def __init__(self, server: ApiServer, namespace: str, stack: ExitStack):
        self.server, self.namespace, self._stack = server, namespace, stack

    def node(self, name: str, amounts: Object, labels: Optional[Object] = None, taints=(), address: str = "") -> str:
        name = f"{self.namespace[:30].rstrip('-')}-{name}"
        nodes = self.server.admin.of("nodes")
        nodes.create({"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": list(taints)}})
        self._stack.callback(nodes.delete, name)
        amounts = {**BIG, **amounts}
        status: Object = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        }
        if address:
            status["addresses"] = [{"type": "InternalIP", "address": address}]
        self.server.admin.call(
            "PATCH", nodes.path(name, "status"), {"status": status}, content_type=STRATEGIC_MERGE_PATCH
        )
        return name

    def pod(self, name: str, node: str, limits: Object, annotations: Optional[Object] = None, labels: Optional[Object] = None):
        pods = self.server.admin.of("pods", self.namespace)
        container = {"name": "c", "image": "none", "resources": {"limits": {"cpu": "1", "memory": "1Gi", **limits}}}
        spec: Object = {"containers": [container]}
        if node:
            spec["nodeName"] = node
        # The bench's kubelet leaves Pods alone that are not of a RayCluster.
        pods.create({"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}, "spec": spec})
        self._stack.callback(pods.delete, name, grace_seconds=0)


@pytest.fixture
def nodes(api_server: ApiServer, namespace: str) -> Iterator[Nodes]:
    with ExitStack() as stack:
        yield Nodes(api_server, namespace, stack)


def user_config(server: ApiServer, namespace: str, resources, work_dir) -> str:
    """A user who may list and watch these in all namespaces."""
    name = f"gpus-of-{namespace}"
    rules = [{"apiGroups": [""], "resources": list(resources), "verbs": ["list", "watch"]}]
    server.ensure_service_account(namespace, "gpu-user")
    server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    server.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "gpu-user", "namespace": namespace}],
        }
    )
    token = server.service_account_token(namespace, "gpu-user")
    return str(server.write_kubeconfig(work_dir / f"gpu-{len(resources)}.kubeconfig", token=token, namespace=namespace))


def run(config: str, *words: str) -> subprocess.CompletedProcess:
    command = [str(paths.program()), "status", "--gpus", "--kubeconfig", config, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_c3_c5_status_gpus_shows_every_device_and_who_uses_it(api_server, namespace, nodes, work_dir):
    config = user_config(api_server, namespace, ["nodes", "pods"], work_dir)
    whole = nodes.node("whole", {GPU: "4"}, {"nvidia.com/gpu.product": "Tesla-T4"}, address="10.1.2.3")
    mig = nodes.node("mig", {MIG: "7"})
    shared = nodes.node("share", {MEM: "32", COUNT: "2"}, {"gpushare": "true"})
    nodes.node("plain", {})
    nodes.pod("worker", whole, {GPU: "3"}, labels={"ray.io/group": "gpu-group", "app": "x"})
    nodes.pod("slices", mig, {MIG: "2"})
    nodes.pod("first", shared, {MEM: "10"}, annotations={"ALIYUN_COM_GPU_MEM_IDX": "1"})
    allocation = json.dumps({"c": {"0": 4}})
    nodes.pod("second", shared, {MEM: "4"}, annotations={"scheduler.framework.gpushare.allocation": allocation})
    nodes.pod("third", shared, {MEM: "5"})
    nodes.pod("waits", "", {MEM: "10"})
    nodes.pod("no-accelerator", whole, {})

    done = run(config)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}
    assert lines[whole][:3] == [whole, "10.1.2.3", "3/4"]
    assert lines[mig][2] == "2/7"
    assert lines[shared][2:6] == ["4/16", "10/16", "5", "19/32"] and "gpushare" in lines[shared]
    assert "GPU0(Allocated/Total)" in done.stdout and "GPU Memory(GiB)" in done.stdout
    assert "19/32 (59%)" in done.stdout
    assert "waiting: 1 Pod without a Node asks for 10" in done.stdout

    answer = json.loads(run(config, "-o", "json").stdout)
    found = {node["name"]: node for node in answer["nodes"]}
    assert set(found) == {whole, mig, shared}
    assert answer["nodesWithout"] >= 1 and answer["unreadable"] == 0
    (memory,) = found[shared]["resources"]
    assert [gpu["allocated"] for gpu in memory["gpus"]] == [4, 10]
    # The third is forecast on the GPU with the least room that is enough; no Pod of 10 fits any more.
    assert [gpu["forecast"] for gpu in memory["gpus"]] == [0, 5]
    assert memory["stranded"] == 32 - 19 - 10 and "in one piece" in memory["strandedWhy"]
    users = {user["pod"]: user for user in memory["users"]}
    assert (users["first"]["gpu"], users["second"]["gpu"], users["third"]["gpu"]) == (1, 0, None)
    (gpus,) = found[whole]["resources"]
    assert gpus["gpus"] == [] and gpus["users"][0]["gpu"] is None, "Kubernetes does not say which GPU a Pod has"
    assert gpus["users"][0]["group"] == "gpu-group"
    totals = {total["resource"]: total for total in answer["totals"]}
    assert (totals[GPU]["allocated"], totals[GPU]["total"]) == (3, 4)
    assert yaml.safe_load(run(config, "-o", "yaml").stdout)["nodes"] == answer["nodes"]


def test_c3_status_gpus_names_the_right_that_is_missing(api_server, namespace, nodes, work_dir):
    nodes.node("gpu", {GPU: "1"})
    done = run(user_config(api_server, namespace, ["nodes"], work_dir))
    assert done.returncode == 1 and "pods" in done.stderr and "Pods of all namespaces" in done.stderr, done.stderr
    done = run(user_config(api_server, namespace, ["events", "pods", "secrets"], work_dir))
    assert done.returncode == 1 and "nodes" in done.stderr, done.stderr
    assert run("x", "-n", "y").returncode == 2
