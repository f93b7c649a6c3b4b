"""The kubelet stand-in: real Ray in Pods, status, restarts, graceful ends, capacity."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Dict

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pod_reaper import MARK_VARIABLE, kill_all, pids_of
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]


@pytest.fixture
def pods(api_server, standins, namespace):
    return api_server.admin.of("pods", namespace)


def pod(name: str, script: str, **spec: Any) -> Object:
    container = {"name": "main", "image": "none", "command": ["/bin/sh", "-c", script]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "restartPolicy": "Never", **spec},
    }


def phase(pods, name: str) -> str:
    return pods.get(name)["status"]["phase"]


def main_status(pods, name: str) -> Object:
    statuses = pods.get(name)["status"].get("containerStatuses") or [{}]
    return statuses[0]


def test_restart_policies(pods):
    for policy, script in (("Never", "exit 3"), ("OnFailure", "exit 0"), ("Always", "exit 0")):
        pods.create(pod(policy.lower(), script, restartPolicy=policy))
    wait_until(lambda: phase(pods, "never") == "Failed", 10, "never to be Failed")
    assert main_status(pods, "never")["state"]["terminated"]["exitCode"] == 3
    wait_until(lambda: phase(pods, "onfailure") == "Succeeded", 10, "onfailure to be Succeeded")
    wait_until(lambda: main_status(pods, "always")["restartCount"] >= 2, 15, "two restarts of always")
    assert phase(pods, "always") == "Running"
    assert main_status(pods, "always")["lastState"]["terminated"]["exitCode"] == 0


def test_environment_and_service_account_come_from_the_pod(pods, api_server, namespace, standins):
    api_server.ensure_service_account(namespace, "robot")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "hush"}}
    api_server.admin.of("secrets", namespace).create(secret)
    made = pod("env", 'echo "$NAME $HUSH $BOTH $0"; cat "$RAYSCALER_BENCH_SERVICE_ACCOUNT/namespace"; env')
    made["spec"]["serviceAccountName"] = "robot"
    made["metadata"]["labels"] = {"a": "b"}
    made["spec"]["containers"][0]["args"] = ["$(NAME)"]
    made["spec"]["containers"][0]["env"] = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}},
        {"name": "HUSH", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "BOTH", "value": "$(NAME)-$(HUSH)"},
    ]
    pods.create(made)
    wait_until(lambda: phase(pods, "env") == "Succeeded", 10, "the Pod to end")
    log = (standins.pods_dir / namespace / "env" / "main.log").read_text()
    assert log.startswith(f"b hush b-hush b\n{namespace}")  # ended
    assert f"KUBERNETES_SERVICE_PORT={api_server.port}\n" in log  # ended
    assert "BUILD=" not in log and "RAYSCALER_RESULT_NAME" not in log


def test_a_deleted_pod_gets_its_grace_period_and_nothing_of_it_stays(pods):
    pods.create(pod("polite", "trap 'sleep 3; exit 0' TERM; sleep 1000 & wait", terminationGracePeriodSeconds=60))
    script = "trap '' TERM; setsid sleep 1000 & while :; do sleep 1; done"
    pods.create(pod("stubborn", script, terminationGracePeriodSeconds=2))
    for name in ("polite", "stubborn"):
        wait_until(lambda: phase(pods, name) == "Running", 10, f"{name} to run")
    uids = {name: pods.get(name)["metadata"]["uid"] for name in ("polite", "stubborn")}
    # A shell runs before it has set its trap, and without it a signal ends it; its sleep starts after the trap.
    for name, uid in uids.items():
        wait_until(lambda uid=uid: len(pids_of(uid)) >= 2, 10, f"the trap of {name}")
    pods.delete("polite")
    pods.delete("stubborn")
    hold(lambda: pods.find("polite"), 0.5, "the Pod during its grace period")
    assert pods.get("polite")["metadata"]["deletionTimestamp"]
    wait_until(lambda: not pods.find("polite"), 8, "polite to be gone long before its grace period")
    wait_until(lambda: not pods.find("stubborn"), 6, "stubborn to be gone after its grace period")
    assert pids_of(uids["polite"]) == [] and pids_of(uids["stubborn"]) == []


def test_a_container_that_starts_processes_while_it_is_killed_ends_whole():
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do for j in $(seq 30); do setsid sleep 1000 & done; sleep 0.02; done; wait"
    environment = {**os.environ, MARK_VARIABLE: "forks/main/node"}
    shell = subprocess.Popen(["/bin/sh", "-c", script], env=environment, start_new_session=True)
    wait_until(lambda: len(pids_of("forks")) >= 2, 5, "the first of its processes")
    kill_all("forks", "main")
    assert pids_of("forks") == []
    shell.wait()


def test_pods_wait_for_nodes_with_room(pods, api_server):
    nodes = api_server.admin.of("nodes")
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "one-gpu", "labels": {"kubernetes.io/hostname": "one-gpu"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
    }
    room = {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "1"}
    nodes.create(node)
    try:
        nodes.patch_merge("one-gpu", {"status": {"allocatable": room, "capacity": room}}, "status")
        # Admission has added the taint not-ready; the node controller would take it away.
        nodes.patch_merge("one-gpu", {"spec": {"taints": node["spec"]["taints"]}})
        tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        for name, more in (("a", {}), ("b", {}), ("untolerated", {"tolerations": []})):
            made = pod(name, "sleep 1000", **{"tolerations": tolerations, **more})
            limit = {} if name == "untolerated" else {"nvidia.com/gpu": "1"}
            made["spec"]["containers"][0]["resources"] = {"limits": limit}
            made["spec"]["nodeSelector"] = node["metadata"]["labels"]
            made["spec"]["terminationGracePeriodSeconds"] = 1
            pods.create(made)
            if name == "a":
                wait_until(lambda: phase(pods, "a") == "Running", 10, "a to run")

        def reason(name: str) -> str:
            conditions = pods.get(name)["status"].get("conditions") or []
            return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")

        wait_until(lambda: "Insufficient nvidia.com/gpu" in reason("b"), 5, "b to be Unschedulable")
        wait_until(lambda: "nodes are available" in reason("untolerated"), 5, "the taint to be honoured")
        pods.delete("a")
        wait_until(lambda: phase(pods, "b") == "Running", 10, "b to take the place of a")
    finally:
        nodes.delete("one-gpu")


def test_a_pod_can_be_held_by_annotations(pods):
    made = pod("held", "sleep 1000")
    made["metadata"]["annotations"] = {
        "bench.rayscaler.dev/unschedulable": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        "bench.rayscaler.dev/pull-seconds": "6",
    }
    pods.create(made)
    wait_until(lambda: pods.get("held")["status"].get("conditions"), 5, "a condition")
    condition = pods.get("held")["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert "3 Insufficient" in condition["message"]
    hold(lambda: phase(pods, "held") == "Pending", 1, "Pending")
    pods.patch_merge("held", {"metadata": {"annotations": {"bench.rayscaler.dev/unschedulable": None}}})
    wait_until(lambda: "containerStatuses" in pods.get("held")["status"], 5, "the Pod to be bound")
    assert "waiting" in main_status(pods, "held")["state"]
    hold(lambda: phase(pods, "held") == "Pending", 0.8, "Pending while the image is pulled")
    wait_until(lambda: phase(pods, "held") == "Running", 15, "the container to start")


def test_ray_runs_in_pods_and_follows_replicas(scenario):
    one = scenario(rm.cluster("ray", [rm.gpu_group()], autoscaler={"command": ["sleep"], "args": ["1000"]}))
    wait_until(lambda: [node["group"] for node in one.witness.latest()["nodes"]] == [kp.HEAD_GROUP], 10, "the head in Ray")
    one.edit_group(replicas=2)
    joined = one.wait_joined(2)
    assert joined == sorted(one.workers())
    wait_until(lambda: one.witness.node(joined[0])["total"]["GPU"] == 1, 10, "its GPU in Ray")
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert program.ready("actors") == joined
        program.end()
    one.recorder.excuse(joined[0])
    one.edit_group(replicas=1, scaleStrategy={"workersToDelete": [joined[0]]})
    one.wait_workers(1)
    wait_until(lambda: one.witness.node(joined[0])["status"] == "DEAD", 10, "Ray to see the worker go")
    # A raylet that dies takes `ray start --block` with it: the Pod fails and is replaced.
    (left,) = one.workers()
    uid = next(p["metadata"]["uid"] for p in one.worker_pods() if p["metadata"]["name"] == left)
    raylets = [p for p in pids_of(uid) if "raylet/raylet" in Path(f"/proc/{p}/cmdline").read_text()]
    one.recorder.excuse(left)
    os.kill(raylets[0], signal.SIGKILL)
    wait_until(lambda: one.workers() and one.workers() != [left], 15, "another Pod in its place")


def test_a_raylet_survives_agents_that_start_slowly(scenario, work_dir):
    """Ray allows them 15 s, and Python on a loaded machine may take longer."""
    (work_dir / "sitecustomize.py").write_text(
        "import time\n"
        "if '/dashboard/agent.py' in open('/proc/self/cmdline').read():\n"
        "    time.sleep(60)\n"
    )
    group = rm.gpu_group(env={"PYTHONPATH": str(work_dir)})
    one = scenario(rm.cluster("ray", [group], autoscaler={"command": ["sleep"], "args": ["1000"]}))
    one.edit_group(replicas=1)
    assert one.wait_joined(1) == one.workers()
    (worker,) = one.worker_pods()
    wait_until(lambda: one.worker_pods()[0]["status"]["containerStatuses"][0]["ready"], 30, "the Pod to be ready")
    assert one.worker_pods()[0]["metadata"]["uid"] == worker["metadata"]["uid"]


def test_the_witness_sees_a_busy_worker_that_is_deleted(shared):
    """The check at the end of every scenario, seen failing: here the test itself plays the bad autoscaler."""
    group = rm.gpu_group(replicas=2)
    # `ray start` waits up to 30 s for the task when it is asked to end.
    group["template"]["spec"]["terminationGracePeriodSeconds"] = 2
    one = shared([group])
    joined = one.wait_joined(2)
    with one.program() as program:
        program.tasks(1, num_gpus=1)
        (busy,) = program.ready("tasks")
        (free,) = set(joined) - {busy}
        wait_until(lambda: one.witness.node(busy)["status"] == "RUNNING", 5, "Ray to report the task")
        wait_until(lambda: one.witness.node(free)["status"] == "IDLE", 5, "Ray to report the idle worker")
        one.edit_group(replicas=0, scaleStrategy={"workersToDelete": joined})
        wait_until(lambda: not one.worker_pods(), 15, "both to be gone")
    found = one.recorder.busy_deletions(one.witness)
    assert found and all(busy in text and free not in text for text in found)
    one.recorder.excuse(busy)
    one.check_no_busy_deleted()


def test_nothing_outlives_a_kubelet_that_is_killed(work_dir):
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        namespace = server.create_namespace("killed")
        standins = StandIns(server, work_dir / "standins")
        try:
            cluster = rm.cluster("c", [rm.gpu_group()], autoscaler={"command": ["sleep"], "args": ["1000"]})
            server.admin.of("rayclusters", namespace).create(cluster)
            pods = server.admin.of("pods", namespace)
            wait_until(lambda: pods.items() and ready(pods.items()[0]), 60, "the head to be ready")
            (uid,) = [head["metadata"]["uid"] for head in pods.items()]
            assert len(pids_of(uid)) >= 4
            standins.kubelet.signal(signal.SIGKILL)
            wait_until(lambda: not pids_of(uid), 20, "all of Ray to end with its kubelet")
        finally:
            standins.stop()


def ready(one: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in one["status"].get("conditions") or [])
