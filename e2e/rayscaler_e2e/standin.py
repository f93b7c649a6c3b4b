"""Shared by the stand-ins for operator and kubelet: they are child processes of the bench."""

import logging
import signal
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

import yaml

from .kubeclient import KubeClient

# Annotations that steer the stand-ins, on RayClusters and (by their Pod templates) on Pods.
ANNOTATIONS = "bench.rayscaler.dev/"


def client_from_kubeconfig(path: Path) -> Tuple[KubeClient, Path]:
    """Client and CA file of a kubeconfig that ``write_kubeconfig`` wrote, with the names of files."""
    config = yaml.safe_load(Path(path).read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    ca_file = Path(cluster["certificate-authority"])
    files = {name: Path(user[key]) for name, key in (("client_cert", "client-certificate"), ("client_key", "client-key")) if key in user}
    return KubeClient(cluster["server"], ca_file, token=user.get("token"), **files), ca_file


def annotation(obj: Dict[str, Any], name: str, default: str = "") -> str:
    return (obj["metadata"].get("annotations") or {}).get(ANNOTATIONS + name, default)


def log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")


def on_signals(stop: Callable[[], None]) -> None:
    """SIGTERM and SIGINT call ``stop``, which must only set flags."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
