"""The operator stand-in keeps KubeRay's contract. No Ray runs: the Pods' commands are `sleep`.

The real operator cannot be had here (the Go module proxy refuses its module), so the scenarios
run with this stand-in; these tests compare it with KubeRay's source.
"""

import re
from typing import Any, Dict, List

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.kuberay_operator import Operator
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
OWN_COMMAND = {"ray.io/overwrite-container-cmd": "true"}


def sleepy(template: Object, words: List[str]) -> None:
    template.setdefault("metadata", {}).setdefault("annotations", {}).update(OWN_COMMAND)
    template["spec"]["containers"][0]["command"] = words
    template["spec"]["containers"][0]["args"] = []


class Sleepers:
    """A RayCluster whose Pods only sleep."""

    def __init__(self, server, namespace: str):
        self.server = server
        self.namespace = namespace
        self.clusters = server.admin.of("rayclusters", namespace)
        self.pods = server.admin.of("pods", namespace)

    def create(self, groups: List[Object], words=("sleep", "1000"), **more: Any) -> None:
        manifest = rm.cluster("c", groups, autoscaler={"command": ["sleep"], "args": ["1000"]}, **more)
        sleepy(manifest["spec"]["headGroupSpec"]["template"], ["sleep", "1000"])
        for group in manifest["spec"]["workerGroupSpecs"]:
            sleepy(group["template"], list(words))
        # The init container would wait for a GCS.
        self.clusters.create(manifest)

    def workers(self, **labels: str) -> List[Object]:
        selector = ",".join([f"{kp.NODE_TYPE_LABEL}=worker", *(f"{k}={v}" for k, v in labels.items())])
        return self.pods.items(selector)

    def names(self) -> List[str]:
        return [pod["metadata"]["name"] for pod in self.workers()]

    def living(self) -> List[str]:
        return [p["metadata"]["name"] for p in self.workers() if not p["metadata"].get("deletionTimestamp")]

    def edit(self, **fields: Any) -> None:
        ops = [{"op": "add", "path": f"/spec/workerGroupSpecs/0/{k}", "value": v} for k, v in fields.items()]
        self.clusters.patch_json("c", ops)

    def wait(self, count: int, seconds: float = 10) -> List[str]:
        wait_until(lambda: len(self.names()) == count, seconds, f"{count} worker Pods")
        return self.names()

    def hold(self, count: int, seconds: float = 1.5) -> None:
        hold(lambda: len(self.names()) == count, seconds, f"{count} worker Pods")


@pytest.fixture
def sleepers(api_server, standins, namespace):
    yield Sleepers(api_server, namespace)
    clusters = api_server.admin.of("rayclusters", namespace)
    clusters.delete("c", missing_ok=True)


def test_pods_carry_kuberays_names_labels_and_environment(sleepers):
    sleepers.create([rm.gpu_group(replicas=1)])
    (name,) = sleepers.wait(1)
    worker = sleepers.pods.get(name)
    (head,) = sleepers.pods.items(f"{kp.NODE_TYPE_LABEL}=head")
    assert re.fullmatch(r"c-gpu-group-worker-[a-z0-9]{5}", name)
    assert re.fullmatch(r"c-head-[a-z0-9]{5}", head["metadata"]["name"])
    assert worker["metadata"]["labels"].items() >= {
        "ray.io/cluster": "c",
        "ray.io/node-type": "worker",
        "ray.io/group": "gpu-group",
        "ray.io/is-ray-node": "yes",
    }.items()
    assert head["metadata"]["labels"]["ray.io/group"] == "headgroup"
    assert worker["metadata"]["ownerReferences"][0]["uid"] == sleepers.clusters.get("c")["metadata"]["uid"]
    assert worker["spec"]["restartPolicy"] == head["spec"]["restartPolicy"] == "Never"
    env = {e["name"]: e for e in worker["spec"]["containers"][0]["env"]}
    assert env["RAY_CLOUD_INSTANCE_ID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert env["RAY_NODE_TYPE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['ray.io/group']"
    assert env["KUBERAY_GEN_RAY_START_CMD"]["value"].split()[:2] == ["ray", "start"]
    assert [c["name"] for c in head["spec"]["containers"]] == ["ray-head", "autoscaler"]
    assert "--no-monitor" in {e["name"]: e for e in head["spec"]["containers"][0]["env"]}["KUBERAY_GEN_RAY_START_CMD"]["value"]


def test_ray_start_takes_resources_as_kuberay_does():
    def command(params, limits, **group):
        made = kp._with_group_fields({"rayStartParams": params, **group})
        return kp.ray_start_command("worker", made, {"limits": limits, "requests": {"cpu": "9"}})

    assert "--num-cpus=2" in command({}, {"cpu": "1500m"})
    assert "--num-cpus=9" in command({}, {"memory": "1Gi"})
    assert "--memory=1073741824" in command({}, {"memory": "1Gi"})
    assert "--num-gpus=4" in command({}, {"cpu": "1", "nvidia.com/gpu": "4"})
    assert "--num-gpus=2" in command({"num-gpus": "2"}, {"cpu": "1", "nvidia.com/gpu": "4"})
    assert "--num-gpus=1" in command({}, {"cpu": "1", "nvidia.com/mig-1g.5gb": "1"})
    assert "--num-gpus" not in command({}, {"cpu": "1", "aliyun.com/gpu-mem": "8"})
    assert """--resources='{"neuron_cores": 2.0}'""" in command({}, {"cpu": "1", "aws.amazon.com/neuroncore": "2"})
    assert "--num-gpus=3" in command({}, {"cpu": "1", "nvidia.com/gpu": "1"}, resources={"GPU": "3"})
    escaped = {"resources": '"{\\"x\\": 8}"'}
    assert "--num-gpus" not in command(escaped, {"cpu": "1", "nvidia.com/mig-1g.5gb": "1"})
    assert "--num-gpus=1" in command(escaped, {"cpu": "1", "nvidia.com/mig-1g.5gb": "1"}, resources={"x": "1"})
    assert "--labels=zone=a" in command({}, {"cpu": "1"}, labels={"zone": "a"})
    assert "--block" in kp.ray_start_command("worker", {"block": "true"}, {})


def test_replicas_are_clamped_and_named_workers_go_whatever_replicas_says(sleepers):
    sleepers.create([rm.gpu_group(replicas=9, minReplicas=1, maxReplicas=3)])
    names = sleepers.wait(3)
    sleepers.hold(3)
    sleepers.edit(replicas=3, scaleStrategy={"workersToDelete": [names[0]]})
    wait_until(lambda: names[0] not in sleepers.names(), 10, "the named worker to be gone")
    sleepers.wait(3)
    sleepers.edit(replicas=0)
    sleepers.hold(3)
    assert sleepers.clusters.get("c")["status"]["desiredWorkerReplicas"] == 1


def test_surplus_goes_at_random_only_without_autoscaling(sleepers):
    sleepers.create([rm.gpu_group(replicas=3)])
    sleepers.wait(3)
    sleepers.edit(replicas=1)
    sleepers.hold(3)
    sleepers.clusters.patch_merge("c", {"spec": {"enableInTreeAutoscaling": False}})
    sleepers.wait(1)


def test_a_finished_pod_is_replaced_while_replicas_is_unchanged(sleepers):
    sleepers.create([rm.gpu_group(replicas=1)])
    (name,) = sleepers.wait(1)

    def replaced() -> bool:
        pod = sleepers.pods.find(name)
        # The kubelet's own first status may be written over ours.
        if pod and pod["status"].get("phase") != "Failed" and not pod["metadata"].get("deletionTimestamp"):
            sleepers.pods.patch_merge(name, {"status": {"phase": "Failed"}}, "status")
        return len(set(sleepers.names()) - {name}) == 1

    wait_until(replaced, 10, "another Pod in its place")
    sleepers.hold(1)


def test_a_group_is_not_touched_before_its_deleted_pod_is_gone(sleepers):
    sleepers.create([rm.gpu_group(replicas=2)])
    names = sleepers.wait(2)
    # A finalizer holds the Pod, as a slow termination does.
    sleepers.pods.patch_merge(names[0], {"metadata": {"finalizers": ["bench.rayscaler.dev/hold"]}})
    sleepers.edit(replicas=1, scaleStrategy={"workersToDelete": [names[0]]})
    wait_until(lambda: sleepers.living() == [names[1]], 10, "one to be deleted")
    sleepers.edit(replicas=3)
    hold(lambda: sleepers.living() == [names[1]], 1.5, "no new Pod beside one that is still being deleted")
    sleepers.pods.patch_merge(names[0], {"metadata": {"finalizers": None}})
    sleepers.wait(3)


def test_several_hosts_are_one_replica(sleepers):
    sleepers.create([rm.gpu_group(replicas=2, numOfHosts=2)])
    names = sleepers.wait(4)
    pods = {p["metadata"]["name"]: p["metadata"]["labels"] for p in sleepers.workers()}
    replicas = {labels[kp.REPLICA_NAME_LABEL] for labels in pods.values()}
    assert len(replicas) == 2
    assert sorted(labels[kp.HOST_INDEX_LABEL] for labels in pods.values()) == ["0", "0", "1", "1"]
    assert sorted(labels[kp.REPLICA_INDEX_LABEL] for labels in pods.values()) == ["0", "0", "1", "1"]
    gone = pods[names[0]][kp.REPLICA_NAME_LABEL]
    sleepers.edit(replicas=1, scaleStrategy={"workersToDelete": [names[0]]})
    sleepers.wait(2)
    assert gone not in {p["metadata"]["labels"][kp.REPLICA_NAME_LABEL] for p in sleepers.workers()}


def test_suspend_deletes_all_pods_and_resume_makes_them_again(sleepers):
    sleepers.create([rm.gpu_group(replicas=1)])
    sleepers.wait(1)
    sleepers.clusters.patch_merge("c", {"spec": {"suspend": True}})
    wait_until(lambda: not sleepers.pods.items(), 10, "no Pod")
    wait_until(lambda: sleepers.clusters.get("c")["status"].get("state") == "suspended", 5, "state suspended")
    sleepers.clusters.patch_merge("c", {"spec": {"suspend": False}})
    sleepers.wait(1)


def test_a_status_is_not_written_over_a_change_that_was_not_seen(sleepers):
    """Another one's RayCluster, so that the operator that runs leaves it alone."""
    sleepers.create([rm.gpu_group()], suspend=True, managedBy="kueue.x-k8s.io/multikueue")
    seen = sleepers.clusters.get("c")
    sleepers.clusters.patch_merge("c", {"spec": {"suspend": False}})
    operator = Operator(sleepers.server.admin)
    with pytest.raises(ApiError, match="409"):
        operator._update_status(seen, None)
    for cache in (operator._pods, operator._clusters):
        cache.stop()
    assert "conditions" not in sleepers.clusters.get("c").get("status", {})


def test_an_invalid_spec_is_an_event_and_nothing_else(sleepers):
    sleepers.create([rm.gpu_group(minReplicas=2, maxReplicas=1)])
    events = sleepers.server.admin.of("events", sleepers.namespace)
    wait_until(lambda: any(e["reason"] == "InvalidRayClusterSpec" for e in events.items()), 10, "the event")
    assert not sleepers.pods.items()


def test_the_sidecar_gets_exactly_kuberays_role_and_the_token_secret(sleepers):
    sleepers.create([rm.gpu_group()], authOptions={"mode": "token"})
    wait_until(lambda: sleepers.pods.items(), 10, "the head Pod")
    role = sleepers.server.admin.of("roles", sleepers.namespace).get("c")
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
    ]
    secret = sleepers.server.admin.of("secrets", sleepers.namespace).get("c")
    assert list(secret["data"]) == ["auth_token"]
    (head,) = sleepers.pods.items(f"{kp.NODE_TYPE_LABEL}=head")
    for container in head["spec"]["containers"]:
        env = {e["name"]: e for e in container["env"]}
        assert env["RAY_AUTH_MODE"]["value"] == "token"
        assert env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": "c", "key": "auth_token"}


def test_the_operator_can_be_told_to_lag(sleepers):
    sleepers.create([rm.gpu_group()], annotations={"bench.rayscaler.dev/operator-lag-seconds": "2"})
    wait_until(lambda: sleepers.pods.items(), 10, "the head Pod")
    sleepers.edit(replicas=1)
    sleepers.hold(0, 1.5)
    sleepers.wait(1)
