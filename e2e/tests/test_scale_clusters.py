"""Clusters of their own: a head with GPUs, two at once, suspended, deleted, sidecar, token."""

import os
import signal
import urllib.request
from pathlib import Path
from typing import Dict

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.pod_reaper import pids_of
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

IDLE = 5
METRICS_KEY = "AutoscalerMetricsAddress"
ONE_GPU = '[{"GPU": 1}]'
TWO_GPUS = '[{"GPU": 1}, {"GPU": 1}]'
NO_POD = {"bench.rayscaler.dev/unschedulable": "held by the test"}


def test_a10_gpus_of_the_head_count_and_the_head_stays(scenario, namespace, controller):
    one = scenario(rm.cluster("headgpu", [rm.gpu_group()], head_gpus=1, head_cpus=2))
    controller(namespace)
    head = one.head()["metadata"]["name"]
    with one.program() as program:
        program.actors(1, name="first", num_gpus=1)
        assert program.ready("first") == [head]
        hold(lambda: one.replicas() == 0, 2, "the head's GPU serves the first actor")
        program.actors(1, name="second", num_gpus=1)
        (worker,) = program.ready("second")
        assert worker in one.workers()
        program.end()
    one.wait_empty()
    hold(lambda: one.head()["metadata"]["name"] == head, IDLE + 1, "an idle head is never removed")
    wait_until(lambda: one.witness.node(head)["status"] == "IDLE", 10, "the head to be idle in Ray")


def test_two_clusters_at_once(scenario, namespace, controller):
    first = scenario(rm.cluster("first", [rm.gpu_group()]), wait=False)
    second = scenario(rm.cluster("second", [rm.gpu_group()]))
    first.wait_head()
    control = controller(namespace)
    with first.program() as one, second.program() as two:
        one.actors(1, num_gpus=1)
        two.actors(2, num_gpus=1)
        assert one.ready("actors") == first.workers()
        assert two.ready("actors") == second.workers()
        one.end()
        first.wait_empty()
        assert second.replicas() == 2 and two.call("alive", name="actors") == second.workers()
        two.end()
    second.wait_empty()
    control.wait_for(f"{namespace}/first")
    control.wait_for(f"{namespace}/second")


def test_a_suspended_cluster_is_left_alone(scenario, namespace, controller):
    one = scenario(held("sleeping", suspend=True, annotations={"rayscaler.dev/request-resources": TWO_GPUS}), wait=False)
    control = controller(namespace)
    wait_until(lambda: (one.get().get("status") or {}).get("state") == "suspended", 10, "the operator to suspend it")
    control.wait_for("caches are filled")
    hold(lambda: one.replicas() == 0, 4, "a suspended cluster is not scaled")
    one.edit({"spec": {"suspend": False}})
    wait_until(lambda: one.replicas() == 2, 10, "the annotation to be honoured again")


def test_a_cluster_that_is_being_deleted_is_left_alone(scenario, namespace, controller):
    one = scenario(held("leaving"), wait=False)
    control = controller(namespace)
    control.wait_for("caches are filled")
    one.edit({"metadata": {"finalizers": ["bench.rayscaler.dev/hold"]}})
    one.server.admin.of("rayclusters", namespace).delete("leaving")
    assert one.get()["metadata"]["deletionTimestamp"]
    one.request(TWO_GPUS)
    hold(lambda: one.replicas() == 0, 4, "a cluster that is being deleted is not scaled")


def test_a2_clusters_that_are_not_ours_are_left_alone(scenario, namespace, controller):
    asked = {"rayscaler.dev/request-resources": TWO_GPUS}
    off = scenario(held("off", annotations=asked), wait=False)
    off.edit({"spec": {"enableInTreeAutoscaling": False}})
    unmanaged = scenario(held("unmanaged", annotations={**asked, "rayscaler.dev/managed": "false"}), wait=False)
    rays_own = held("raysown", annotations=asked)
    for key in ("command", "args", "image"):
        del rays_own["spec"]["autoscalerOptions"][key]
    rays_own = scenario(rays_own, wait=False)
    ours = scenario(held("ours", annotations=asked), wait=False)
    for one in (unmanaged, rays_own, ours):
        wait_until(one.head, 10, f"the head Pod of {one.name}")
    controller(namespace)
    wait_until(lambda: ours.replicas() == 2, 10, "our cluster to be scaled")
    hold(lambda: off.replicas() == unmanaged.replicas() == rays_own.replicas() == 0, 3, "the others are not")


def test_sidecar_with_exactly_kuberays_role(scenario, api_server, namespace):
    manifest = rm.cluster("side", [rm.gpu_group()], autoscaler=rm.sidecar_options())
    one = scenario(manifest)
    role = api_server.admin.of("roles", namespace).get("side")
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], ["get", "list", "watch", "patch"]),
        (["pods/resize"], ["patch"]),
        (["rayclusters"], ["get", "patch"]),
    ]
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.workers()
        wait_until(lambda: "gpu-group" in (program.call("shape") or {"groups": ()})["groups"], 20, "the shape for Ray's libraries")
        # Ray finds the metrics, also after it forgot where they are.
        address = wait_until(lambda: program.call("key", name=METRICS_KEY), 20, "the address of the metrics")
        running = f'rayscaler_gpus_running{{namespace="{namespace}",raycluster="side",group="gpu-group"}}'
        wait_until(lambda: metrics_of(address).get(running) == "1", 10, "the metrics of a pass that saw the worker")
        program.call("key", name=METRICS_KEY, drop=True)
        os.kill(sidecar_child(one), signal.SIGKILL)
        address = wait_until(lambda: program.call("key", name=METRICS_KEY), 20, "the address to be written again")
        wait_until(lambda: "rayscaler_leader" in metrics_of(address), 10, "the metrics of the new process")
        program.end()
    one.wait_empty()
    # The worker process of the sidecar dies: its small parent starts another, the container stays.
    os.kill(sidecar_child(one), signal.SIGKILL)
    one.request(ONE_GPU)
    one.wait_joined(1)
    (status,) = [s for s in one.head()["status"]["containerStatuses"] if s["name"] == kp.AUTOSCALER_CONTAINER]
    assert "running" in status["state"] and status["restartCount"] == 0
    token = api_server.service_account_token(namespace, "side")
    with pytest.raises(ApiError) as refused:
        api_server.client(token).of("rayclusters", namespace).list()
    assert refused.value.status == 403


def metrics_of(address: str) -> Dict[str, str]:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def sidecar_child(one) -> int:
    """The child of the process that runs as the container `autoscaler`."""
    pids = pids_of(one.head()["metadata"]["uid"], kp.AUTOSCALER_CONTAINER)
    children = [pid for pid in pids if parent_of(pid) in pids]
    assert len(children) == 1, f"the sidecar is one process and its parent, not {pids}"
    return children[0]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def held(name, **more):
    """A RayCluster whose Pods are never scheduled: nothing runs for it."""
    manifest = rm.cluster(name, [rm.gpu_group(annotations=NO_POD)], **more)
    manifest["spec"]["headGroupSpec"]["template"]["metadata"] = {"annotations": dict(NO_POD)}
    return manifest
