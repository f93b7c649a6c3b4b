"""Parts of the control plane beside the API server, as child processes that a test starts."""

from pathlib import Path
from typing import Tuple

from .apiserver import ADMIN_USER, ApiServer
from .ports import free_port
from .processes import Process


class ControllerManager:
    """kube-controller-manager with the controllers that an installation needs, against ``server``.

    Its garbage collector works on all namespaces: it deletes objects whose owner was deleted.
    """

    CONTROLLERS = (
        "deployment-controller",
        "replicaset-controller",
        "disruption-controller",
        "garbage-collector-controller",
        "clusterrole-aggregation-controller",
    )

    GARBAGE_COLLECTOR = ("garbage-collector-controller",)

    def __init__(
        self, server: ApiServer, program: Path, work_dir: Path, controllers: Tuple[str, ...] = CONTROLLERS, *flags: str
    ):
        kubeconfig = server.write_kubeconfig(work_dir / "controllers.kubeconfig", token=server.tokens[ADMIN_USER])
        words = [str(program), f"--kubeconfig={kubeconfig}", f"--controllers={','.join(controllers)}", *flags]
        words += ["--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={free_port()}"]
        words += [f"--cert-dir={work_dir / 'controllers-cert'}", "--profiling=false", "--v=1"]
        self.process = Process("kube-controller-manager", words, work_dir / "kube-controller-manager.log")

    def __enter__(self) -> "ControllerManager":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop()


class KubeScheduler:
    """kube-scheduler against ``server``, with its default profile: in place of the scheduler of the kubelet stand-in."""

    def __init__(self, server: ApiServer, program: Path, work_dir: Path, *flags: str):
        kubeconfig = server.write_kubeconfig(work_dir / "scheduler.kubeconfig", token=server.tokens[ADMIN_USER])
        words = [str(program), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1", *flags]
        words += [f"--secure-port={free_port()}", f"--cert-dir={work_dir / 'scheduler-cert'}", "--profiling=false"]
        self.process = Process("kube-scheduler", words, work_dir / "kube-scheduler.log")

    def __enter__(self) -> "KubeScheduler":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop()
