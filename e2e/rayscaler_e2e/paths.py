"""Where things are. Every directory can be moved by an environment variable; nothing else reads it."""

import os
from pathlib import Path
from typing import List, Optional

ROOT = Path(__file__).resolve().parents[2]
E2E = ROOT / "e2e"
CRD_DIR = ROOT / "crd"
MANIFESTS = E2E / "manifests"


def build_dir() -> Path:
    """The build tree: ``BUILD`` of the Makefile, relative to the repository, default ``build``."""
    return (ROOT / os.environ.get("BUILD", "build")).resolve()


def program() -> Path:
    """The program under test: ``RAYSCALER`` if set, else ``$(BUILD)/rayscaler``."""
    return Path(os.environ.get("RAYSCALER", build_dir() / "rayscaler"))


def controller() -> Path:
    """The program of the image, which controllers and sidecars of the tests are: ``RAYSCALER`` if set, else
    ``$(BUILD)/rayscaler-controller``."""
    return Path(os.environ.get("RAYSCALER", build_dir() / "rayscaler-controller"))


def work_root() -> Path:
    """Work directories of servers and tests, kept after the run: ``$(BUILD)/e2e``, or a directory
    there for each process of pytest-xdist."""
    return build_dir() / "e2e" / os.environ.get("PYTEST_XDIST_WORKER", "")


def results_dir() -> Path:
    """Summaries that ``make test`` reads: ``$(BUILD)/test-results``."""
    return build_dir() / "test-results"


def cache_dir() -> Path:
    """The cache outside of a build tree: the Python environment, etcd and kube-apiserver."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "rayscaler"


def kuberay_operator() -> Optional[Path]:
    """``RAYSCALER_KUBERAY_OPERATOR``: a real KubeRay operator to be used in place of the stand-in."""
    named = os.environ.get("RAYSCALER_KUBERAY_OPERATOR")
    return Path(named) if named else None


def cert_manager() -> Optional[Path]:
    """``RAYSCALER_CERT_MANAGER``: cert-manager's controller, beside the real operator; its CRDs are in
    ``RAYSCALER_CERT_MANAGER_CRDS``."""
    named = os.environ.get("RAYSCALER_CERT_MANAGER")
    return Path(named) if named else None


def kueue() -> Optional[Path]:
    """``RAYSCALER_KUEUE``: a checkout of Kueue with its manager built as ``bin/manager`` (go build ./cmd/kueue)."""
    named = os.environ.get("RAYSCALER_KUEUE")
    return Path(named) if named else None


def queue_scheduler(name: str) -> Optional[Path]:
    """``RAYSCALER_VOLCANO``, ``RAYSCALER_KAI``: a checkout with its programs built in ``bin`` (queue_schedulers.py)."""
    named = os.environ.get(f"RAYSCALER_{name}")
    return Path(named) if named else None


def cluster_autoscaler() -> Optional[Path]:
    """``RAYSCALER_CLUSTER_AUTOSCALER``: the cluster autoscaler with its provider ``kwok``."""
    named = os.environ.get("RAYSCALER_CLUSTER_AUTOSCALER")
    return Path(named) if named else None


def crd_files() -> List[Path]:
    """Ours; with ``RAYSCALER_KUBERAY_CRDS``, a directory, KubeRay's own in place of our RayCluster."""
    own = sorted(CRD_DIR.glob("*.yaml"))
    if cert_manager():
        own += sorted(Path(os.environ["RAYSCALER_CERT_MANAGER_CRDS"]).glob("*.yaml"))
    kuberay = os.environ.get("RAYSCALER_KUBERAY_CRDS")
    if not kuberay:
        return own
    return sorted(Path(kuberay).glob("*.yaml")) + [path for path in own if not path.name.startswith("rayclusters.")]
