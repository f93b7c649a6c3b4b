"""The controller's own Pods under a real kubelet."""

from datetime import datetime

import pytest

from rayscaler_e2e.kuberay_pod import is_ready
from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.install import HOME
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

POLL = 0.5
MOST_BYTES = 64 << 20
CLUSTERS = 50
SUMMARY = "/api/v1/nodes/node1/proxy/stats/summary"


def pods(node):
    return node.admin.of("pods", HOME).items("app.kubernetes.io/name=rayscaler")


def holder(node):
    return node.admin.of("leases", HOME).get("rayscaler")["spec"].get("holderIdentity")


def used(node):
    """The most memory of a Pod of the controller in bytes, the CPU time of both in seconds, and when the kubelet read it."""
    found = [pod["containers"][0] for pod in node.admin.call("GET", SUMMARY)["pods"] if pod["podRef"]["namespace"] == HOME]
    seconds = sum(one["cpu"]["usageCoreNanoSeconds"] for one in found) / 1e9
    at = max(datetime.fromisoformat(one["cpu"]["time"].replace("Z", "+00:00")).timestamp() for one in found)
    return max(one["memory"]["workingSetBytes"] for one in found), seconds, at


def test_both_are_ready_and_one_leads(node):
    """Read-only root, no rights, the runtime's seccomp profile: as the chart has it, accepted by the kubelet."""
    found = wait_until(lambda: len(pods(node)) == 2 and all(map(is_ready, pods(node))) and pods(node), 60, "both Pods", POLL)
    names = tuple(pod["metadata"]["name"] for pod in found)
    wait_until(lambda: (holder(node) or "").startswith(names), 60, f"one of {names} to lead", POLL)
    for pod in found:
        context = pod["spec"]["containers"][0]["securityContext"]
        assert context["readOnlyRootFilesystem"] and pod["spec"]["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"


def test_memory_at_rest(node):
    """Of the container's cgroup, which the kubelet reports."""
    memory, _, _ = used(node)
    print(f"{memory / 2**20:.1f} MiB")
    assert memory < MOST_BYTES


@pytest.mark.test_all
def test_fifty_clusters_at_rest(node, ray, place):
    """Each with a head Pod of its own, whose port leads to one real head."""
    real = ray(clusters.cluster("real", [clusters.group("first", resource="work")]))
    address = real.head()["status"]["podIP"]
    probe = {"tcpSocket": {"port": 6379}, "periodSeconds": 5, "failureThreshold": 60}
    command = ["python3", "-S", f"{clusters.PROGRAMS}/forward.py", address, "6379"]
    small = {"requests": {"cpu": "1m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}
    for number in range(CLUSTERS - 1):
        made = clusters.cluster(f"c{number}", [clusters.group("first", resource="work")])
        made["metadata"]["annotations"] = {"ray.io/overwrite-container-cmd": "true"}
        spec = made["spec"]["headGroupSpec"]["template"]["spec"]
        spec["containers"][0].update(command=command, args=[], resources=small, readinessProbe=probe, livenessProbe=probe)
        ray(made, wait=False)

    def scaled():
        found = node.admin.of("rayclusterautoscalers", place).items()
        return CLUSTERS == sum(
            one["type"] == "ScalingActive" and one["status"] == "True" for each in found for one in each.get("status", {}).get("conditions", [])
        )

    wait_until(scaled, 300, f"{CLUSTERS} RayClusters to be scaled", POLL)
    _, seconds, at = used(node)
    memory, after, until = wait_until(lambda: used(node)[2] > at + 30 and used(node), 90, "30 s at rest", POLL)
    print(f"{CLUSTERS} RayClusters at rest: {memory / 2**20:.1f} MiB, {100 * (after - seconds) / (until - at):.2f} % of a core")
    assert memory < MOST_BYTES


@pytest.mark.test_all
def test_api_server_away(node):
    """For 60 s: both Pods are ready again soon afterwards, and neither has restarted more than once."""
    before = {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods(node)}
    with node.away("kube-apiserver"):
        wait_until(lambda: not node.processes("kube-apiserver"), 10, "the API server to end", POLL)
        hold(lambda: not node.processes("kube-apiserver"), 60, "the API server stays away")
    wait_until(lambda: node.processes("kube-apiserver"), 30, "the API server to start", POLL)
    wait_until(lambda: node.answers() and all(map(is_ready, pods(node))), 120, "both Pods to be ready", POLL)
    wait_until(lambda: (holder(node) or "").startswith(tuple(before)), 60, "a leader", POLL)
    for pod in pods(node):
        restarts = pod["status"]["containerStatuses"][0]["restartCount"] - before[pod["metadata"]["name"]]
        assert restarts <= 1, (pod["metadata"]["name"], restarts)


@pytest.mark.test_all
def test_both_pods_end_at_once(node, ray):
    """Without a grace period, beside a busy worker: two others are ready, one leads, the worker stays, new demand is served."""
    found = ray(clusters.cluster("demo", [clusters.group("first", resource="work", maxReplicas=2)]))
    with found.program() as program:
        program.actors(1, "busy", resources={"work": 1}, num_cpus=0)
        (busy,) = program.ready("busy", 120)
        before = {pod["metadata"]["name"] for pod in pods(node)}
        node.kubectl.run("delete", "pods", "-n", HOME, "--grace-period=0", "--force", *before)
        program.actors(1, "new", resources={"work": 1}, num_cpus=0)
        assert program.ready("new", 180) != [busy]
        now = wait_until(lambda: len(pods(node)) == 2 and all(map(is_ready, pods(node))) and pods(node), 60, "both Pods", POLL)
        assert not before & {pod["metadata"]["name"] for pod in now}
        assert program.call("alive", name="busy") == [busy]
        program.end()
