"""`rayscaler unprotect`: what protectBusyPods wrote on Pods is taken back without a controller, and nothing of a user."""

import os
import subprocess

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ADMIN_USER

RECORD = "rayscaler.dev/protected"
KARPENTER = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SINCE = "2026-11-20T10:00:00Z"


def pod(name, annotations, cluster="demo"):
    labels = {"ray.io/cluster": cluster, "ray.io/node-type": "worker"} if cluster else {}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "ray", "image": "ray"}]}}


def test_only_what_the_controller_wrote_is_removed(api_server, namespace, tmp_path):
    pods = api_server.admin.of("pods", namespace)
    written = {RECORD: f"{SINCE} {KARPENTER} {SAFE_TO_EVICT}", KARPENTER: "true", SAFE_TO_EVICT: "false"}
    pods.create(pod("both", {**written, "team": "a"}))
    # The user has set one of the two before, and changed the other one afterwards.
    pods.create(pod("half", {RECORD: f"{SINCE} {SAFE_TO_EVICT}", KARPENTER: "true", SAFE_TO_EVICT: "false"}))
    pods.create(pod("changed", {**written, KARPENTER: "1h"}))
    pods.create(pod("users", {KARPENTER: "true", SAFE_TO_EVICT: "false"}))
    pods.create(pod("ended", {RECORD: f"{SINCE} ended", KARPENTER: "true"}))
    config = api_server.write_kubeconfig(tmp_path / "admin.kubeconfig", token=api_server.tokens[ADMIN_USER], namespace=namespace)

    def run(*words):
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(config)}
        command = [str(paths.program()), "unprotect", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def annotations():
        return {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in pods.items()}

    before = annotations()
    shown = run()
    assert "nothing was written; --yes writes it" in shown and shown.count("Pod ") == 4
    assert annotations() == before
    assert run("--yes").count(": removed") == 4
    assert annotations() == {
        "both": {"team": "a"},
        "half": {KARPENTER: "true"},
        "changed": {KARPENTER: "1h"},
        "users": {KARPENTER: "true", SAFE_TO_EVICT: "false"},
        "ended": {KARPENTER: "true"},
    }
    assert run("--yes", "-A") == "no Pod has annotations of protectBusyPods\n"
