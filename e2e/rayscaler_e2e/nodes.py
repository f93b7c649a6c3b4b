"""Nodes of an API server and Pods on them, which no kubelet runs."""

from contextlib import ExitStack
from typing import Any, Dict, Optional

from .apiserver import ApiServer
from .kubeclient import STRATEGIC_MERGE_PATCH

Object = Dict[str, Any]
BIG = {"cpu": "64", "memory": "256Gi", "pods": "110"}


class Nodes:
    """Nodes and Pods on them; all of it is deleted at the end."""

    def __init__(self, server: ApiServer, namespace: str, stack: ExitStack):
        self.server, self.namespace, self._stack = server, namespace, stack

    def node(self, name: str, amounts: Object, labels: Optional[Object] = None, taints=(), address: str = "") -> str:
        name = f"{self.namespace[:30].rstrip('-')}-{name}"
        nodes = self.server.admin.of("nodes")
        nodes.create({"metadata": {"name": name, "labels": labels or {}}, "spec": {"taints": list(taints)}})
        self._stack.callback(nodes.delete, name)
        amounts = {**BIG, **amounts}
        status: Object = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        }
        # The API server taints a new Node, and there is no controller that would take the taint away.
        nodes.patch_merge(name, {"spec": {"taints": list(taints)}})
        if address:
            status["addresses"] = [{"type": "InternalIP", "address": address}]
        self.server.admin.call(
            "PATCH", nodes.path(name, "status"), {"status": status}, content_type=STRATEGIC_MERGE_PATCH
        )
        return name

    def pod(self, name: str, node: str, limits: Object, annotations: Optional[Object] = None, labels: Optional[Object] = None):
        pods = self.server.admin.of("pods", self.namespace)
        container = {"name": "c", "image": "none", "resources": {"limits": {"cpu": "1", "memory": "1Gi", **limits}}}
        spec: Object = {"containers": [container]}
        if node:
            spec["nodeName"] = node
        pods.create({"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}, "spec": spec})
        self._stack.callback(pods.delete, name, grace_seconds=0)
