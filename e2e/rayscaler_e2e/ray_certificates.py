"""Certificates of RayClusters with ``tlsOptions``: the Secrets that KubeRay's operator has cert-manager make.

Read in kuberay 1.7: raycluster_mtls_controller.go. One CA for each RayCluster; one certificate for its head and
one for all workers, which are made again when a Pod gets an address that is not in them.
"""

import base64
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from . import kuberay_pod as kp
from .pki import CertificateAuthority

Object = Dict[str, Any]
Write = Callable[[str, Dict[str, bytes]], None]


def secret_data(authority: CertificateAuthority, certificate: bytes, key: bytes) -> Dict[str, bytes]:
    return {"tls.crt": certificate, "tls.key": key, "ca.crt": authority.file.read_bytes()}


def encoded(data: Dict[str, bytes]) -> Dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in data.items()}


class RayCertificates:
    """``write`` is called with the name of a Secret and its data."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="rayscaler-ca-")
        self._authorities: Dict[str, CertificateAuthority] = {}
        self._made: Dict[Tuple[str, str], Tuple[str, ...]] = {}

    def reconcile(self, cluster: Object, addresses: Dict[str, List[str]], write: Write) -> None:
        """``addresses``: of the Pods of each node type, "head" and "worker"."""
        uid = cluster["metadata"]["uid"]
        if uid not in self._authorities:
            self._authorities[uid] = CertificateAuthority(Path(self._directory.name) / uid, f"ray-ca-{uid}")
        authority = self._authorities[uid]
        for node_type in ("head", "worker"):
            wanted = tuple(sorted({"127.0.0.1", *addresses[node_type]}))
            if self._made.get((uid, node_type)) == wanted:
                continue
            names = ["localhost", kp.head_service_host(cluster)] if node_type == "head" else ["localhost"]
            data = secret_data(authority, *authority.leaf(wanted, names))
            write(kp.tls_secret(cluster, node_type), data)
            self._made[(uid, node_type)] = wanted
