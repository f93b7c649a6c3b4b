"""KubeRay's operator and the product's chart on a Kubernetes."""

import shutil
import sys
from pathlib import Path
from typing import Optional

from .. import paths
from ..processes import Process
from ..tools import Tool
from ..wait import wait_until
from . import images
from .kubernetes import Kubernetes
from .machine import Machine

DIST = paths.build_dir() / "node-dist"
HOME = "rayscaler-system"
MANIFEST = paths.MANIFESTS / "node-operator.yaml"


class Installed:
    """``kubectl`` and ``helm`` run as the admin, outside of the machine."""

    def __init__(self, machine: Machine, kubernetes: Kubernetes):
        self._machine, self._kubernetes = machine, kubernetes
        home = machine.state / "home"
        self.kubectl = Tool("kubectl", kubernetes.kubeconfig, home)
        self.helm = Tool("helm", kubernetes.kubeconfig, home)
        self.operator = ""
        self._standin: Optional[Process] = None

    def load_product(self) -> None:
        (archive,) = DIST.glob("rayscaler-*-linux-amd64.oci.tar")
        shutil.copy(archive, self._machine.etc / "product.tar")
        images.load_archive(self._machine, self._machine.etc / "product.tar")

    def install_operator(self) -> None:
        """KubeRay's own where there is one (e2e/setup-kuberay.sh), else the stand-in, outside of the machine."""
        for path in paths.crd_files():
            if "rayscaler.dev" not in path.name:
                self.kubectl.run("create", "-f", path)
        program = paths.kuberay_operator()
        if program:
            self.operator = "KubeRay's operator"
            images.load(self._machine, images.OPERATOR, [images.layer_with("manager", program)], {"Entrypoint": ["/manager"]})
            self.kubectl.run("create", "-f", MANIFEST)
            return
        self.operator = "the stand-in for KubeRay's operator"
        words = [sys.executable, "-u", "-m", "rayscaler_e2e.kuberay_operator", "--kubeconfig", str(self._kubernetes.kubeconfig)]
        self._standin = Process("operator", words, self._machine.log("operator"), cwd=paths.E2E)

    def install_chart(self, *values: str) -> None:
        (chart,) = DIST.glob("rayscaler-*.tgz")
        words = ["upgrade", "--install", "rayscaler", chart, "--namespace", HOME, "--create-namespace"]
        words += [word for value in values for word in ("--set", value)]
        # Helm waits 60 s for the CRDs, which does not suffice while 20 processes want each core.
        if self.helm.run(*words, status=None).returncode != 0:
            self.helm.run(*words)

    def wait_ready(self) -> None:
        deployments = [(HOME, "rayscaler")] + ([("kuberay-system", "kuberay-operator")] if self._standin is None else [])
        for namespace, name in deployments:

            def ready(namespace: str = namespace, name: str = name) -> bool:
                self._kubernetes.check()
                path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
                found = self._kubernetes.admin.call("GET", path)
                return found["spec"]["replicas"] == (found.get("status") or {}).get("readyReplicas")

            wait_until(ready, 120, f"Deployment {namespace}/{name} to be ready", 0.3)

    def stop(self) -> None:
        if self._standin:
            self._standin.stop(5)
