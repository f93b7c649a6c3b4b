"""``make node``: a real Kubernetes with KubeRay and the product, until Ctrl-C.

    python -m rayscaler_e2e.node [--gpus 4] [--cpus 8] [--set VALUE_OF_THE_CHART]... NAME=PATH...

NAME=PATH: the parts that e2e/setup-node.sh prints. Files are in $(BUILD)/node: kubeconfig, logs.
"""

import argparse
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Dict

from .. import paths
from . import images
from .install import Installed
from .kubernetes import GPUS, Kubernetes, keep_images, use_images
from .machine import Machine
from .running import READY, state_directory


def main() -> int:
    options = _arguments()
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _interrupt(stopping))
    state = state_directory()
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"node: {time.monotonic() - begun:5.1f} s  {text}", flush=True)

    parts = {name: Path(path) for name, _, path in (part.partition("=") for part in options.parts)}
    try:
        with ExitStack() as stack:
            _run(stack, options, state, parts, say, stopping)
    except KeyboardInterrupt:
        pass
    (state / READY).unlink(missing_ok=True)
    say("ended, nothing is left of it")
    return 0


def _interrupt(stopping: threading.Event) -> None:
    if not stopping.is_set():
        stopping.set()
        raise KeyboardInterrupt


def _run(stack: ExitStack, options: argparse.Namespace, state: Path, parts: Dict[str, Path], say, stopping: threading.Event) -> None:
    (state / READY).unlink(missing_ok=True)
    machine = Machine(state, parts["root"], parts["pause"], paths.cache_dir() / "bin", options.cpus)
    stack.callback(machine.stop)
    kept = paths.cache_dir() / "node" / f"images-{parts['ray-root'].name[-8:]}-{parts['ray'].name[-8:]}-{parts['pause'].parent.name[-8:]}"
    new = not kept.exists()
    if not new:
        use_images(machine, kept)
    machine.start()
    say("namespaces, mounts, cgroups")
    kubernetes = Kubernetes(machine, gpus=options.gpus)
    if new:
        _make_images(machine, parts, kept, say)
    kubernetes.start()
    say("programs started")
    installed = Installed(machine, kubernetes)
    stack.callback(installed.stop)
    installed.load_product()
    kubernetes.wait_ready()
    say("the Node is Ready")
    installed.install_operator()
    installed.install_chart(*options.set)
    installed.wait_ready()
    say(f"{installed.operator} and the chart are ready")
    _explain(kubernetes, installed)
    (state / READY).touch()
    while not stopping.wait(1):
        kubernetes.check()


def _make_images(machine: Machine, parts: Dict[str, Path], kept: Path, say) -> None:
    say("making the images of Ray, once")
    containerd = machine.spawn("containerd", "containerd", "-c", "/etc/kubernetes/containerd.toml")
    images.load_base(machine, parts)
    machine.end(containerd)
    keep_images(machine, kept)


def _explain(kubernetes: Kubernetes, installed: Installed) -> None:
    text = f"""
A Kubernetes with one Node ({installed.operator}). Type in another terminal:

    export KUBECONFIG={kubernetes.kubeconfig} PATH={paths.cache_dir()}/bin:{paths.build_dir()}:$PATH
    kubectl get pods -A
    kubectl apply -f {paths.MANIFESTS}/node-raycluster.yaml
    kubectl get raycluster,pods
    kubectl exec -it $(kubectl get pod -l ray.io/node-type=head -o name) -c ray-head -- python3
    rayscaler status

Ctrl-C ends it and removes all that it made.
"""
    print(text, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A real single-node Kubernetes with KubeRay and rayscaler.")
    parser.add_argument("--gpus", type=int, default=GPUS, help="nvidia.com/gpu that a device plugin offers, without devices")
    parser.add_argument("--cpus", type=int, default=8, help="CPUs that the kubelet sees")
    parser.add_argument("--set", action="append", default=[], help="a value of the chart, NAME=VALUE")
    parser.add_argument("parts", nargs="+")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
