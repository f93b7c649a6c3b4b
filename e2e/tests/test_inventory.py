"""Rows C2 to C5, D5 and pain 36: the inventory of Nodes on an API server, and the controller's reports of
Pods that fit on no Node. Node objects and their Pods are made here; they are not scheduled and do not run."""

import json
import os
import subprocess
from contextlib import ExitStack
from typing import Any, Dict, Iterator, Optional

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.cli import grant, user_config
from rayscaler_e2e.kuberay_pod import owner_reference
from rayscaler_e2e.nodes import Nodes
from rayscaler_e2e.program import Controller
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
GPU, MIG, MEM, COUNT = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "aliyun.com/gpu-mem", "aliyun.com/gpu-count"


@pytest.fixture
def nodes(api_server: ApiServer, namespace: str) -> Iterator[Nodes]:
    with ExitStack() as stack:
        yield Nodes(api_server, namespace, stack)


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
    lines: Dict[str, Any] = {}
    for words in map(str.split, done.stdout.splitlines()):
        if words:
            lines.setdefault(words[0], words)  # the users come after
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


def test_c3_status_gpus_shows_parts_by_annotation(api_server, namespace, nodes, work_dir):
    """KAI holds the GPU that two Pods share with a Pod of its own, which counts once."""
    config = user_config(api_server, namespace, ["nodes", "pods"], work_dir)
    gpu, group = nodes.node("gpu", {GPU: "4"}), {"runai-gpu-group": "a"}
    nodes.pod("reservation", gpu, {GPU: "1"}, labels=group)
    nodes.pod("whole", gpu, {GPU: "1"})
    nodes.pod("half", gpu, {}, labels={**group, "ray.io/group": "shared"}, annotations={"gpu-fraction": "0.5"})
    nodes.pod("quarter", gpu, {}, labels=group, annotations={"gpu-fraction": "0.25"})
    done = run(config, "-o", "json")
    assert done.returncode == 0, done.stderr
    (node,) = json.loads(done.stdout)["nodes"]
    parts, whole = node["resources"]
    assert (parts["resource"], parts["allocated"], parts["total"]) == ("gpu-fraction", 1.75, 4)
    assert [(user["pod"], user["group"]) for user in parts["users"]] == [("half", "shared"), ("quarter", "")]
    assert (whole["allocated"], whole["total"]) == (2, 4)


def test_c3_status_gpus_names_the_right_that_is_missing(api_server, namespace, nodes, work_dir):
    nodes.node("gpu", {GPU: "1"})
    done = run(user_config(api_server, namespace, ["nodes"], work_dir))
    assert done.returncode == 1 and "pods" in done.stderr and "Pods of all namespaces" in done.stderr, done.stderr
    done = run(user_config(api_server, namespace, ["events", "pods", "secrets"], work_dir))
    assert done.returncode == 1 and "nodes" in done.stderr, done.stderr
    assert run("x", "-n", "y").returncode == 2


A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
UNTOUCHED = {"bench.rayscaler.dev/operator-lag-seconds": "3600"}


@pytest.fixture
def waits(api_server, namespace, nodes, work_dir):
    """A RayCluster with a worker that no Node takes, and a controller; its snapshot and its plan."""
    if os.environ.get("KUBERAY") == "real":
        pytest.skip("KubeRay's own operator would make Pods")
    with ExitStack() as stack:

        def start(rights, limits) -> Object:
            group = rm.gpu_group(minReplicas=1, maxReplicas=4)
            group["replicas"] = 1
            spec = group["template"]["spec"]
            spec["nodeSelector"] = dict(A100)
            spec["containers"][0]["resources"] = {"limits": {"cpu": "1", **limits}}
            made = rm.cluster("demo", [group])
            made["metadata"]["annotations"].update(UNTOUCHED)
            made = api_server.admin.of("rayclusters", namespace).create(made)
            labels = {"ray.io/cluster": "demo", "ray.io/node-type": "worker", "ray.io/group": group["groupName"]}
            pods = api_server.admin.of("pods", namespace)
            owners = [owner_reference(made)]
            pods.create({"metadata": {"name": "demo-worker-1", "labels": labels, "ownerReferences": owners}, "spec": spec})
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes."}
            pods.patch_merge("demo-worker-1", {"status": {"phase": "Pending", "conditions": [condition]}}, "status")
            grant(api_server, namespace, CONTROLLER_ACCOUNT, rights)
            control = stack.enter_context(Controller(api_server, namespace, work_dir / "controller"))
            found = work_dir / "snapshot.json"

            def known() -> Optional[Object]:
                status, text = control.get(f"/snapshot/{namespace}/demo")
                seen = json.loads(text) if status == 200 else {}
                if not any(n["status"].get("allocatable") for n in seen.get("nodes", [])):
                    return None
                if "pods" in rights and "otherPods" not in seen:
                    return None
                found.write_text(text)
                return seen

            snapshot = wait_until(known, 60, "the Nodes in a snapshot")
            words = [str(paths.program()), "plan", "-f", str(found), "-o", "json"]
            plan = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout)
            (worker,) = plan["workers"]
            return {"snapshot": snapshot, "message": worker["message"], "control": control}

        yield start


def test_d5_a9_the_controller_says_that_no_node_has_the_label(nodes, waits):
    t4 = nodes.node("t4", {GPU: "4"}, {"nvidia.com/gpu.product": "Tesla-T4"})
    nodes.node("plain", {})
    nodes.pod("of-somebody", t4, {GPU: "1"})
    found = waits(["nodes", "pods"], {GPU: "1"})
    assert "no Node of the cluster could ever hold it" in found["message"], found["message"]
    assert f"Node {t4}: label nvidia.com/gpu.product is Tesla-T4" in found["message"]
    assert "of-somebody" not in json.dumps(found["snapshot"]), "who else is there is nobody's business"


def test_c4_the_controller_says_what_others_take_of_the_only_node(nodes, waits):
    busy = nodes.node("a100", {GPU: "4"}, A100)
    nodes.pod("of-somebody", busy, {GPU: "3"})
    nodes.pod("cpu-only", busy, {})
    found = waits(["nodes", "pods"], {GPU: "2"})
    words = f"waits for free capacity or for a new Node (node autoscaler), the closest is Node {busy}: 1 of 4 {GPU} are free, 2 are needed"
    assert words in found["message"], found["message"]
    used = [pod["spec"]["containers"][0]["resources"]["requests"] for pod in found["snapshot"]["otherPods"]]
    assert {"cpu": "1", "memory": "1073741824", GPU: "3"}.items() <= max(used, key=len).items(), used


def test_pain_36_a_ready_node_that_matches_has_none_of_the_resource(nodes, waits):
    """Without the right to see the Pods of all namespaces it still reports that."""
    absent = nodes.node("a100", {}, A100)
    found = waits(["nodes"], {GPU: "1"})
    assert f"Node {absent} is Ready and matches, but it offers no {GPU}" in found["message"], found["message"]
    assert "otherPods" not in found["snapshot"]
