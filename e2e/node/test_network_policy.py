"""The chart's NetworkPolicies, enforced by kube-router's firewall: workers start, and nobody else is let in or out."""

import os
import shutil
import signal
import subprocess

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.kuberay_pod import is_ready
from rayscaler_e2e.node import clusters, kubernetes
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.node.install import HOME
from rayscaler_e2e.node.machine import Entered, children
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.test_all
POLL = 0.5
METRICS, HEALTH, GCS, OTHER = 8080, 8081, 6379, 8000
FIREWALL = "kube-router"


@pytest.fixture(scope="module")
def firewall(node):
    """What the bridge of this node leaves out."""
    built = subprocess.run([paths.E2E / "setup-apiserver.sh", FIREWALL], capture_output=True, text=True, check=False)
    if built.returncode == 3:
        pytest.skip(built.stderr.strip().splitlines()[-1])
    machine = Entered(node.state)
    shutil.copy(built.stdout.split()[1], machine.etc / FIREWALL)
    program = f"{kubernetes.ETC}/{FIREWALL}"
    words = machine.words(
        *(program, "--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--run-loadbalancer=false"),
        *(f"--kubeconfig={kubernetes.ETC}/admin.kubeconfig", f"--hostname-override={kubernetes.NODE}"),
        *(f"--service-cluster-ip-range={kubernetes.SERVICES}", "--iptables-sync-period=5s", "--health-port=0"),
    )
    with Process(FIREWALL, words, node.state / f"logs/{FIREWALL}.log") as process:
        yield process
        for pid in children(process.pid):
            os.kill(pid, signal.SIGTERM)
    for chain in ("INPUT", "FORWARD", "OUTPUT"):
        machine.run("iptables", "--flush", f"KUBE-ROUTER-{chain}")
    node.upgrade()


def pod(node, namespace, name, labels=None):
    """Serves ``OTHER``, and opens connections for a test."""
    container = {"name": "main", "image": RAY, "command": ["python3", "-S", "-m", "http.server", str(OTHER)]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    pods = node.admin.of("pods", namespace)
    pods.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}}, "spec": spec})
    return wait_until(lambda: is_ready(pods.get(name)) and pods.get(name), 60, f"Pod {name}", POLL)


def connects(node, source, address, port):
    code = f"import socket; socket.create_connection(('{address}', {port}), 2)"
    name, namespace = source["metadata"]["name"], source["metadata"]["namespace"]
    return node.kubectl.run("exec", "-n", namespace, name, "--", "python3", "-S", "-c", code, status=None).returncode == 0


def controllers(node):
    found = [one for one in node.admin.of("pods", HOME).items("app.kubernetes.io/name=rayscaler") if "pod-template-hash" in one["metadata"]["labels"]]
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def test_policies_let_in_and_out_only_what_is_needed(node, firewall, ray, place):
    stranger = pod(node, place, "stranger")
    twin = {key: value for key, value in controllers(node)[0]["metadata"]["labels"].items() if key != "pod-template-hash"}
    twin = pod(node, HOME, "twin", twin)
    stranger_ip = stranger["status"]["podIP"]
    assert connects(node, stranger, controllers(node)[0]["status"]["podIP"], METRICS)
    assert connects(node, twin, stranger_ip, OTHER)

    values = ["enabled=true", f"rayClusters[0].namespace={place}", "rayClusters[0].name=demo"]
    values += [f"metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name={HOME}"]
    node.upgrade(*(f"networkPolicy.{value}" for value in values))
    found = ray(clusters.cluster("demo", [clusters.group("gpu", gpus=1)], idle_seconds=10))
    with found.program() as program:
        program.actors(2, num_gpus=1, num_cpus=0)
        program.ready("actors", 120)
        address, head = controllers(node)[0]["status"]["podIP"], found.head()["status"]["podIP"]
        wait_until(lambda: not connects(node, stranger, address, METRICS), 60, "metrics closed to others", POLL)
        wait_until(lambda: not connects(node, twin, stranger_ip, OTHER), 60, "what is no head closed to the controller", POLL)
        assert connects(node, stranger, address, HEALTH)
        assert connects(node, twin, address, METRICS)
        assert connects(node, twin, head, GCS) and not connects(node, stranger, head, GCS)
        assert connects(node, twin, kubernetes.SERVICE_ADDRESS, 443)
        program.call("release", name="actors")
        wait_until(lambda: not found.pods(alive=False), 90, "all workers to be gone", POLL)
        program.end()
    node.admin.of("pods", HOME).delete("twin")
