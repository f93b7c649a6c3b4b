"""Operator and kubelet stand-ins as child processes of a test session, the demo or the dev cluster."""

import os
import shutil
import sys
from pathlib import Path
from typing import Optional

from . import paths
from .apiserver import ADMIN_USER, ApiServer
from .processes import Process
from .control_plane import ControllerManager
from .service_proxy import ServiceProxy
from .tools import find_tool

_REAL_OPERATOR_FLAGS = (
    *("--metrics-addr", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"),
    *("--enable-leader-election=false", "--reconcile-concurrency", "4"),
)
_CERT_MANAGER_FLAGS = (
    *("--leader-elect=false", "--cluster-resource-namespace=default", "--metrics-listen-address=127.0.0.1:0"),
    "--internal-healthz-listen-address=127.0.0.1:0",
)


def ray_program() -> Path:
    """The ``ray`` beside the Python that runs the bench."""
    return Path(sys.executable).parent / "ray"


class StandIns:
    """Both, against one API server. Started from the main thread they die with this process."""

    def __init__(self, server: ApiServer, work_dir: Path, schedules: bool = True):
        """``schedules``: false beside a kube-scheduler."""
        self._server = server
        self._schedules = schedules
        self.work_dir = Path(work_dir)
        shutil.rmtree(self.work_dir, ignore_errors=True)
        self.work_dir.mkdir(parents=True)
        token = server.tokens[ADMIN_USER]
        self._kubeconfig = server.write_kubeconfig(self.work_dir / "standins.kubeconfig", token=token)
        self.operator: Optional[Process] = None
        self.kubelet: Optional[Process] = None
        self._collector: Optional[ControllerManager] = None
        self._cert_manager: Optional[Process] = None
        self._services: Optional[ServiceProxy] = None
        self.start_kubelet()
        self.start_operator()

    def start_operator(self) -> None:
        words, env = self._python("rayscaler_e2e.kuberay_operator"), dict(os.environ)
        real = paths.kuberay_operator()
        if real:
            words = [str(real), *_REAL_OPERATOR_FLAGS]
            if paths.cert_manager():
                words.append("--feature-gates=RayClusterMTLS=true")
                self._start_cert_manager()
            self._services = self._services or ServiceProxy(self._server.admin)
            env.update(KUBECONFIG=str(self._kubeconfig), HTTP_PROXY=self._services.url)
            self._start_collector()
        self.operator = Process("operator", words, self.work_dir / "operator.log", env, paths.E2E)

    def _start_cert_manager(self) -> None:
        if self._cert_manager is None:
            words = [str(paths.cert_manager()), *_CERT_MANAGER_FLAGS, "--kubeconfig", str(self._kubeconfig)]
            self._cert_manager = Process("cert-manager", words, self.work_dir / "cert-manager.log", cwd=paths.E2E)

    def _start_collector(self) -> None:
        """The Pods of a deleted RayCluster: the real operator leaves them to the garbage collector."""
        if self._collector is None:
            program = find_tool("kube-controller-manager")
            which = ControllerManager.GARBAGE_COLLECTOR
            self._collector = ControllerManager(self._server, program, self.work_dir, which)

    def start_kubelet(self) -> None:
        words = self._python("rayscaler_e2e.kubelet")
        words += ["--work-dir", str(self.pods_dir), "--ray", str(ray_program()), "--program", str(paths.controller())]
        words += [] if self._schedules else ["--no-scheduler"]
        self.kubelet = Process("kubelet", words, self.work_dir / "kubelet.log", cwd=paths.E2E)

    @property
    def pods_dir(self) -> Path:
        """Logs of the Pods: NAMESPACE/POD/CONTAINER.log."""
        return self.work_dir / "pods"

    def check_running(self) -> None:
        for process in (self.operator, self.kubelet):
            if process is not None:
                process.check_running()

    def stop(self) -> None:
        """The operator first, so that it makes no new Pods; the kubelet ends its Pods' processes."""
        collector = self._collector.process if self._collector else None
        for process in (self.operator, self.kubelet, collector, self._cert_manager):
            if process is not None:
                process.stop(20)
        if self._services:
            self._services.stop()

    def _python(self, module: str) -> list:
        return [sys.executable, "-u", "-m", module, "--kubeconfig", str(self._kubeconfig)]

    def __enter__(self) -> "StandIns":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
