"""An honest RayCluster beside hostile ones: its Ray head, operator and kubelet are the test itself."""

import time
from typing import Any, Dict, List

from ..faults import ProxyLoop
from ..wait import wait_until
from . import heads, objects, replies
from .heads import Head, HeadServer
from .objects import GROUP, Api, Tenant

SECONDS = 40.0
KIND = 250
"""Of its address: hostile kinds have the numbers below."""
CPU = {"CPU": 1.0}


class Honest:
    """No worker at first; ``scale_up`` and ``scale_down`` as often as a test likes."""

    def __init__(self, api: Api, clusters: Any, loop: ProxyLoop, namespace: str, number: int, port: int):
        """``clusters``: the RayClusters of the namespace, to be looked at."""
        self._clusters = clusters
        self._wanted = 0
        self._workers: List[str] = []
        self._started = 0
        self._idle_since = 0.0
        ip = heads.address(KIND, number)
        self._tenant = Tenant(api, f"honest-{number}", number, ip, port, namespace)
        self._server = HeadServer(loop, [ip], port, self._answer)
        self._made = self._tenant.cluster()
        self.name = f"honest-{number}"
        self.drained = 0

    def stop(self) -> None:
        self._server.stop()
        self._tenant.remove()

    def identity(self) -> Any:
        """Namespace, name and uid, as ``kinds.forged_pods`` asks for."""
        return (self._tenant.namespace, self.name, self._made["metadata"]["uid"])

    def group(self) -> Dict[str, Any]:
        return self._clusters.get(self.name)["spec"]["workerGroupSpecs"][0]

    def named(self) -> List[str]:
        return (self.group().get("scaleStrategy") or {}).get("workersToDelete") or []

    def scale_up(self) -> None:
        """One task more; the worker that it brings is busy."""
        count = len(self._workers) + 1
        self._idle_since, self._wanted = 0.0, 1
        wait_until(lambda: self.group()["replicas"] == count, SECONDS, f"replicas of {self.name} to become {count}")
        # A new name each time, as from KubeRay: the operator deletes a Pod that workersToDelete still names.
        pod = objects.worker_pod(self._made, self._started)
        self._started += 1
        self._tenant.put("pods", pod)
        self._workers, self._wanted = [*self._workers, pod["metadata"]["name"]], 0

    def scale_down(self) -> None:
        """All workers end their work; they are named and drained, and their Pods deleted."""
        self._idle_since = time.monotonic()
        wait_until(lambda: self.group()["replicas"] == 0, SECONDS, f"replicas of {self.name} to become 0")
        assert sorted(self.named()) == sorted(self._workers), (self.named(), self._workers)
        gone, self._workers = self._workers, []
        for key in [key for key in self._tenant.made if key[2] in gone]:
            self._tenant.api.remove(key[0], self._tenant.made.pop(key))

    def _answer(self, _address: str, method: str, _request: bytes) -> Head:
        if method != heads.STATE:
            self.drained += method == "DrainNode"
            return Head(heads.ACCEPTED)
        idle_ms = int(1000 * (time.monotonic() - self._idle_since)) if self._idle_since else 0
        status = replies.IDLE if self._idle_since else replies.RUNNING
        nodes = [replies.node(pod, GROUP, status, CPU, idle_ms) for pod in self._workers]
        shapes = [replies.shape(CPU)] * self._wanted
        return Head(replies.reply(replies.head(f"{self._tenant.kind}-head"), *nodes, *shapes))
