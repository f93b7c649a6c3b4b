"""The scheduler of the kubelet stand-in: binds Pods, or records why one cannot be bound."""

import time
from collections import Counter
from typing import Any, Dict, List, Optional

from . import quantity
from .kubeclient import KubeClient
from .standin import annotation

Object = Dict[str, Any]
VIRTUAL_NODE = "bench-node"
HOSTNAME = "kubernetes.io/hostname"


class Scheduler:
    def __init__(self, client: KubeClient):
        self._client = client
        self._bound: Dict[str, str] = {}

    def schedule(self, pod: Object, pods: List[Object], nodes: List[Object]) -> None:
        """Bind ``pod`` or put the reason into its condition PodScheduled."""
        if pod["spec"].get("schedulingGates") or pod["metadata"]["uid"] in self._bound:
            return
        held = annotation(pod, "unschedulable")
        node = None if held else self._choose(pod, pods, nodes)
        if node is None:
            count = max(len(nodes), 1)
            message = held or f"0/{count} nodes are available: {count} Insufficient {_scarcest(pod)}."
            self._report(pod, message)
            return
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._client.of("pods", namespace).create_sub(name, "binding", binding)
        self._bound[pod["metadata"]["uid"]] = node

    def _choose(self, pod: Object, pods: List[Object], nodes: List[Object]) -> Optional[str]:
        if not nodes:
            # A Node that is selected by its name may be one that the watch has not brought yet.
            return None if HOSTNAME in (pod["spec"].get("nodeSelector") or {}) else VIRTUAL_NODE
        wanted = requests(pod)
        for node in nodes:
            used: Counter = Counter()
            for other in pods:
                uid = other["metadata"]["uid"]
                place = other["spec"].get("nodeName") or self._bound.get(uid)
                finished = (other.get("status") or {}).get("phase") in ("Failed", "Succeeded")
                if place == node["metadata"]["name"] and not finished:
                    used.update(requests(other))
            room = (node.get("status") or {}).get("allocatable") or {}
            fits = all(used[name] + amount <= quantity.parse(room.get(name, 0)) for name, amount in wanted.items())
            if fits and not node["spec"].get("unschedulable") and _selected(pod, node) and _tolerated(pod, node):
                return node["metadata"]["name"]
        return None

    def _report(self, pod: Object, message: str) -> None:
        conditions = (pod.get("status") or {}).get("conditions") or []
        old = next((c for c in conditions if c["type"] == "PodScheduled"), None)
        if old and (old["status"], old.get("message")) == ("False", message):
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": old["lastTransitionTime"] if old and old["status"] == "False" else now,
        }
        where = self._client.of("pods", pod["metadata"]["namespace"])
        where.patch_status(pod["metadata"]["name"], {"status": {"conditions": [condition]}})


def requests(pod: Object) -> Dict[str, Any]:
    """Of all containers together; limits replace requests that are not given."""
    total: Counter = Counter()
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        for name, amount in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
            total[name] += quantity.parse(amount)
    return total


def _selected(pod: Object, node: Object) -> bool:
    wanted = pod["spec"].get("nodeSelector") or {}
    return wanted.items() <= (node["metadata"].get("labels") or {}).items()


def _tolerated(pod: Object, node: Object) -> bool:
    tolerations = pod["spec"].get("tolerations") or []
    for taint in node["spec"].get("taints") or []:
        if taint["effect"] != "NoSchedule":
            continue
        if not any(
            toleration.get("key") in (None, taint["key"])
            and toleration.get("effect") in (None, "", taint["effect"])
            and (toleration.get("operator") == "Exists" or toleration.get("value") == taint.get("value"))
            for toleration in tolerations
        ):
            return False
    return True


def _scarcest(pod: Object) -> str:
    names = [name for name in requests(pod) if name not in ("cpu", "memory")]
    return names[0] if names else "cpu"
