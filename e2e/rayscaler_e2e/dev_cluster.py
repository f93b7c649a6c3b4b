"""Everything at once, for use by hand: API server, operator, kubelet, controller, one RayCluster.

    python -m rayscaler_e2e.dev_cluster [--empty] [-- FLAG OF rayscaler run...]

``make dev-cluster`` calls it. It runs until Ctrl-C and then ends all that it started. Its
files are in $(BUILD)/dev-cluster: kubeconfig, logs, and the directories of the Pods.
"""

import argparse
import shutil
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import List, Optional

from . import paths, ray_manifests
from .apiserver import ADMIN_USER, ApiServer
from .ports import free_port
from .processes import Process
from .standins import StandIns
from .wait import WaitTimeout, wait_until

NAMESPACE = "default"
CLUSTER = "demo"
HOME = "rayscaler-system"  # of the controller's ServiceAccount
HEAD_SECONDS = 90.0
LOOK_SECONDS = 0.5


def main() -> int:
    options = _arguments()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    work_dir = paths.build_dir() / "dev-cluster"
    shutil.rmtree(work_dir, ignore_errors=True)
    if not paths.program().exists():
        print(f"no program at {paths.program()}: run make", file=sys.stderr)
        return 1
    with ExitStack() as stack:
        _say("starting etcd and kube-apiserver")
        server = stack.enter_context(ApiServer(work_dir / "apiserver"))
        server.install_bench()
        token = server.tokens[ADMIN_USER]
        kubeconfig = server.write_kubeconfig(work_dir / "kubeconfig", token=token, namespace=NAMESPACE)
        _say("starting the stand-ins for KubeRay's operator and the kubelet")
        standins = stack.enter_context(StandIns(server, work_dir / "nodes"))
        _say(f"starting {paths.controller()} run {' '.join(options.flags)}")
        address = f"127.0.0.1:{free_port()}"
        controller = stack.enter_context(_start_controller(server, work_dir, address, options.flags))
        head = None if options.empty else _start_cluster(server, stopping)
        if not stopping.is_set():
            _explain(server, kubeconfig, address, head, work_dir)
        _watch(server, standins, controller, stopping)
        _say("ending everything")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A Kubernetes and Ray cluster on this machine, for use by hand.")
    parser.add_argument("--empty", action="store_true", help="without the RayCluster demo")
    parser.add_argument("flags", nargs="*", help="flags of rayscaler run, after --")
    return parser.parse_args()


def _start_controller(server: ApiServer, work_dir: Path, address: str, flags: List[str]) -> Process:
    """For all namespaces, with the controller's ClusterRole; the chart's own ServiceAccount is left to ``helm install``."""
    server.create_namespace(HOME)
    token = server.controller_token(HOME, "dev-cluster")
    file = server.write_kubeconfig(work_dir / "controller.kubeconfig", token=token)
    words = [str(paths.controller()), "run", "--kubeconfig", str(file)]
    words += ["--metrics-bind-address", address, "--health-probe-bind-address", "127.0.0.1:0", *flags]
    return Process("rayscaler", words, work_dir / "controller.log")


def _start_cluster(server: ApiServer, stopping: threading.Event) -> Optional[str]:
    """Create the RayCluster and return the address of its head, None when it was interrupted."""
    groups = [ray_manifests.gpu_group(), ray_manifests.group("cpu-group", cpus=2, maxReplicas=3)]
    made = server.admin.of("rayclusters", NAMESPACE).create(ray_manifests.cluster(CLUSTER, groups, idle_seconds=20))
    _say(f"starting the head of RayCluster {NAMESPACE}/{CLUSTER}")
    pods = server.admin.of("pods", NAMESPACE)

    def head() -> object:
        if stopping.is_set():
            return True
        found = [pod for pod in pods.items(f"ray.io/cluster={CLUSTER},ray.io/node-type=head") if _ready(pod)]
        return found[0] if found else None

    pod = wait_until(head, HEAD_SECONDS, "the head Pod to be ready")
    if pod is True:
        return None
    port = made["spec"]["headGroupSpec"]["rayStartParams"]["port"]
    return f"{pod['status']['podIP']}:{port}"


def _ready(pod: dict) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _explain(server: ApiServer, kubeconfig: Path, address: str, head: Optional[str], work_dir: Path) -> None:
    lines = [
        "",
        f"The cluster is up: {server.describe()}",
        "",
        f"    export KUBECONFIG={kubeconfig}",
        "    kubectl get rayclusters,pods",
        "    kubectl get pods --watch",
        f"    {paths.program()} status --controller-url {address}",
    ]
    if head:
        lines += [
            "",
            "A program that asks for two GPUs (the GPU group grows, and shrinks 20 s after it ended):",
            "",
            f"    RAY_ADDRESS={head} {sys.executable} -c 'import ray; ray.init();"
            ' a = [ray.remote(num_gpus=1)(lambda: "done").remote() for _ in range(2)]; print(ray.get(a))\'',
        ]
    lines += ["", f"Logs: {work_dir}", "Ctrl-C ends everything.", ""]
    print("\n".join(lines), flush=True)


def _watch(server: ApiServer, standins: StandIns, controller: Process, stopping: threading.Event) -> None:
    """Until Ctrl-C; a part that ends by itself is reported once."""
    reported: List[str] = []
    while not stopping.wait(LOOK_SECONDS):
        for check in (server.check_running, standins.check_running, controller.check_running):
            try:
                check()
            except RuntimeError as error:
                if str(error) not in reported:
                    reported.append(str(error))
                    print(error, file=sys.stderr, flush=True)


def _say(text: str) -> None:
    print(f"dev-cluster: {text}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (WaitTimeout, RuntimeError) as error:
        sys.exit(f"dev-cluster: {error}\nlogs: {paths.build_dir() / 'dev-cluster'}")
