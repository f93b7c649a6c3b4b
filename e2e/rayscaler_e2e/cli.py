"""``rayscaler status``, ``explain``, ``snapshot`` and ``request`` as a user runs them: with a kubeconfig
of their own and the rights that docs/COMMANDS.md names."""

import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from . import paths
from .apiserver import ApiServer

Object = Dict[str, Any]
USER = "cli-user"
SECONDS = 60.0
RBAC = "rbac.authorization.k8s.io"

# Rights of a user to a RayCluster: to read it, and for `request` to patch it.
CLUSTER_RULES: List[Object] = [
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["rayscaler.dev"], "resources": ["rayclusterautoscalers"], "verbs": ["get", "list", "watch"]},
]
# ... and where the controller runs: the chart's value rbac.statusReaders, and, as no Service exists in most tests, what the
# way to its Pod needs.
CONTROLLER_RULES: List[Object] = [
    {"apiGroups": [""], "resources": ["services/proxy"], "verbs": ["get"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]},
]


class Cli:
    """``log`` keeps the commands and their output. The program with the rights of one user on the RayClusters of ``namespace`` and, with ``system``,
    on the controller there."""

    def __init__(self, server: ApiServer, namespace: str, work_dir: Path, system: str = "", url: Optional[str] = None):
        server.ensure_service_account(namespace, USER)
        _grant(server, namespace, namespace, "cli-clusters", CLUSTER_RULES)
        if system:
            _grant(server, system, namespace, "cli-controller", CONTROLLER_RULES)
        self.kubeconfig = server.write_kubeconfig(
            work_dir / "user.kubeconfig", token=server.service_account_token(namespace, USER), namespace=namespace
        )
        if url:
            self.kubeconfig.write_text(self.kubeconfig.read_text().replace(server.url, url))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(work_dir), "KUBECONFIG": str(self.kubeconfig)}
        self.log = work_dir / "cli.log"
        self._flags = ["--controller-namespace", system or namespace]

    def words(self, *words: str) -> List[str]:
        """``adopt`` and ``release`` do not ask the controller."""
        return [str(paths.program()), *words, *([] if words[0] in ("adopt", "release", "resume") else self._flags)]

    def run(self, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        """``status``: the exit status that it must have."""
        done = subprocess.run(
            self.words(*words), capture_output=True, text=True, timeout=SECONDS, check=False, env=self.env
        )
        with open(self.log, "a") as log:
            log.write(f"$ rayscaler {' '.join(words)}\n{done.stdout}{done.stderr}\n")
        assert done.returncode == status, f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done


def _grant(server: ApiServer, namespace: str, user_namespace: str, name: str, rules: List[Object]) -> None:
    metadata = {"name": name, "namespace": namespace}
    server.apply({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    server.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": USER, "namespace": user_namespace}],
        }
    )


def controller_pod(server: ApiServer, namespace: str, name: str, address: str) -> None:
    """The Pod that a controller of this bench would be: its process listens at ``address``. The kubelet
    stand-in does not touch it."""
    host, port = address.rsplit(":", 1)
    container = {"name": "rayscaler", "image": "rayscaler", "ports": [{"name": "metrics", "containerPort": int(port)}]}
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {"app.kubernetes.io/name": "rayscaler"},
        "annotations": {"bench.rayscaler.dev/unschedulable": "it runs as a process of the bench"},
    }
    pods = server.admin.of("pods", namespace)
    pods.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
    status = {"phase": "Running", "podIP": host, "podIPs": [{"ip": host}]}
    pods.patch_merge(name, {"status": status}, subresource="status")


def grant(server: ApiServer, namespace: str, account: str, resources: Sequence[str]) -> None:
    """An account of the namespace may list and watch these in all namespaces."""
    name = f"{account}-of-{namespace}"
    rules = [{"apiGroups": ["", "resource.k8s.io"], "resources": list(resources), "verbs": ["list", "watch"]}]
    server.ensure_service_account(namespace, account)
    server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    server.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }
    )


def user_config(server: ApiServer, namespace: str, resources: Sequence[str], work_dir: Path) -> str:
    """A user with these rights."""
    grant(server, namespace, "gpu-user", resources)
    token = server.service_account_token(namespace, "gpu-user")
    return str(server.write_kubeconfig(work_dir / f"gpu-{len(resources)}.kubeconfig", token=token, namespace=namespace))
