"""In-place resize of one Pod on the kubelet stand-in, as the kubelet of Kubernetes 1.34 does it.

A change of the containers' resources in the spec is first judged (``PodResizePending`` with Infeasible or
Deferred and the kubelet's own messages), then carried out (``PodResizeInProgress``), which takes a second,
and only then in ``status.containerStatuses[].resources``. Annotations of the Pod:

    bench.rayscaler.dev/node-cpu        "CAPACITY USED": CPUs of its Node, and those that other Pods requested;
                                        without it there is room
    bench.rayscaler.dev/node-memory     the same of memory
    bench.rayscaler.dev/resize-seconds  how long a resize takes
    bench.rayscaler.dev/resize-error    any text: a resize ends with this error
"""

import copy
import time
from typing import Any, Dict, List, Optional, Tuple

from . import quantity
from .standin import annotation

Object = Dict[str, Any]
PENDING, PROGRESS = "PodResizePending", "PodResizeInProgress"
# Type, reason, message.
Condition = Tuple[str, str, str]


def resources(pod: Object) -> List[Object]:
    return [copy.deepcopy(container.get("resources") or {}) for container in pod["spec"]["containers"]]


def amounts_of(all_resources: List[Object]) -> List[Object]:
    """1Gi is 1073741824."""
    kinds = ("limits", "requests")
    return [
        {kind: {name: quantity.parse(value) for name, value in (one.get(kind) or {}).items()} for kind in kinds}
        for one in all_resources
    ]


def requested(amounts: List[Object], name: str) -> int:
    """In the unit of the kubelet's messages: 1/1000 CPU, or bytes."""
    return sum(in_unit((one.get("requests") or {}).get(name, (one.get("limits") or {}).get(name, 0)), name) for one in amounts)


def in_unit(value: Any, name: str) -> int:
    return quantity.ceil(quantity.parse(value) * (1000 if name == "cpu" else 1))


class PodResize:
    def __init__(self, pod: Object):
        self._allocated = resources(pod)
        self.actual = self._allocated
        """What each container has, in the order of the spec."""
        self._done_at = 0.0
        self.conditions: List[Condition] = []

    def step(self, pod: Object) -> None:
        self.conditions = []
        wanted = resources(pod)
        changed = amounts_of(wanted) != amounts_of(self._allocated)
        refusal = _refusal(pod, wanted) if changed else None
        if refusal:
            self.conditions.append((PENDING, *refusal))
        elif changed:
            self._allocated = wanted
            self._done_at = time.monotonic() + float(annotation(pod, "resize-seconds", "1"))
        if self.actual == self._allocated:
            return
        error = annotation(pod, "resize-error")
        if not error and time.monotonic() >= self._done_at:
            self.actual = self._allocated
            return
        self.conditions.append((PROGRESS, "Error" if error else "", error or ""))


def _refusal(pod: Object, wanted: List[Object]) -> Optional[Tuple[str, str]]:
    """Infeasible comes before Deferred, CPU before memory."""
    found = []
    for name in ("cpu", "memory"):
        node = annotation(pod, f"node-{name}")
        if not node:
            continue
        capacity, used = (in_unit(word, name) for word in node.split())
        asked = requested(wanted, name)
        if asked > capacity:
            found.append(("Infeasible", f"Node didn't have enough capacity: {name}, requested: {asked}, capacity: {capacity}"))
        elif asked > capacity - used:
            text = f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}"
            found.append(("Deferred", text))
    return min(found, key=lambda one: one[0] != "Infeasible") if found else None
