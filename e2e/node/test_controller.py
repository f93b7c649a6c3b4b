"""The controller's own Pods under a real kubelet."""

import pytest

from rayscaler_e2e.kuberay_pod import is_ready
from rayscaler_e2e.node.install import HOME
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

POLL = 0.5
MOST_BYTES = 64 << 20


def pods(node):
    return node.admin.of("pods", HOME).items("app.kubernetes.io/name=rayscaler")


def holder(node):
    return node.admin.of("leases", HOME).get("rayscaler")["spec"].get("holderIdentity")


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
    used = {}
    for pod in node.admin.call("GET", "/api/v1/nodes/node1/proxy/stats/summary")["pods"]:
        if pod["podRef"]["namespace"] == HOME:
            used[pod["podRef"]["name"]] = pod["containers"][0]["memory"]["workingSetBytes"]
    print(used)
    assert len(used) >= 2 and all(amount < MOST_BYTES for amount in used.values()), used


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
