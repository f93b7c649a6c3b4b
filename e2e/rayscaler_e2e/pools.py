"""GPUs that several teams share: a GPUPool, namespaces with the label of their team, and what of it was held at any
moment."""

import json
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import kuberay_pod as kp
from . import rayclusters
from .apiserver import ApiServer
from .dra import with_claim
from .scenario import REQUEST_ANNOTATION
from .wait import wait_until
from .watchcache import WatchCache

Object = Dict[str, Any]
POOL_LABEL = "pool"
RCA = "rayclusterautoscalers"
GPU = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}


class Pool:
    """A GPUPool of the groups whose nodeSelector names it; ``name`` is also that of the test."""

    def __init__(self, server: ApiServer, name: str):
        self.server, self.name = server, name
        self.selector = {POOL_LABEL: name}
        self.spaces: Dict[str, str] = {}
        self._pools = server.admin.of("gpupools")
        self._watch: Optional["Held"] = None

    def create(self, gpus: Optional[float], *queues: Object, **spec: Any) -> None:
        """``queues``: {"name": ..., "guaranteed": ...}; the selector is the label of the team. Without ``gpus`` those of Nodes."""
        listed = [{"namespaceSelector": {"matchLabels": {"team": queue["name"]}}, **queue} for queue in queues]
        body = {"groups": {"nodeSelector": self.selector}, "queues": listed, **spec}
        if gpus is not None:
            body["gpus"] = gpus
        self._pools.create(
            {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "GPUPool", "metadata": {"name": self.name}, "spec": body}
        )

    def edit(self, **spec: Any) -> None:
        self._pools.patch_merge(self.name, {"spec": spec})

    def delete(self) -> None:
        self._pools.delete(self.name, missing_ok=True)

    def space(self, team: str) -> str:
        """The namespace of the team, which is made on first use; "": one that belongs to none."""
        if team not in self.spaces:
            name = f"{self.name}-{team or 'nobody'}"
            labels = {"team": team} if team else {}
            self.server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
            self.spaces[team] = name
        return self.spaces[team]

    def status(self) -> Object:
        return (self._pools.find(self.name) or {}).get("status") or {}

    def queue(self, name: str) -> Object:
        return next((queue for queue in self.status().get("queues") or [] if queue["name"] == name), {})

    def figures(self, *names: str) -> Dict[str, Dict[str, str]]:
        """Of each queue the named members."""
        return {q["name"]: {name: q.get(name) for name in names} for q in self.status().get("queues") or []}

    def ready(self) -> Object:
        return next((c for c in self.status().get("conditions") or [] if c["type"] == "Ready"), {})

    def group(self, made: Object) -> Object:
        """A worker group that draws from the pool."""
        made["template"]["spec"]["nodeSelector"] = dict(self.selector)
        return made

    def close(self) -> None:
        self.delete()
        for name in self.spaces.values():
            self.server.empty_namespace(name)


class Fleet:
    """RayClusters of one group of GPU workers each, and no head: the annotation has their demand."""

    def __init__(self, pool: Pool):
        self.pool = pool
        self._teams: Dict[str, str] = {}

    def _of(self, name: str) -> Any:
        return self.pool.server.admin.of("rayclusters", self.pool.space(self._teams[name]))

    def add(self, name: str, team: str, gpus: int, labels: Optional[Dict[str, str]] = None, claim: str = "") -> Object:
        """``claim``: the ResourceClaimTemplate of its GPUs."""
        self._teams[name] = team
        limits = {"cpu": "1", "memory": "1Gi"} if claim else GPU
        group = self.pool.group(rayclusters.group("gpu", limits, replicas=0, minReplicas=0, maxReplicas=100))
        if claim:
            group["template"]["spec"] = with_claim(group["template"]["spec"], claim)
        made = rayclusters.minimal(name, group)
        # An operator of the session does not work on it.
        made["metadata"]["annotations"] = {REQUEST_ANNOTATION: _request(gpus), "bench.rayscaler.dev/operator-lag-seconds": "100000"}
        made["metadata"]["labels"] = dict(labels or {})
        return self._of(name).create(made)

    def ask(self, name: str, gpus: int) -> None:
        self._of(name).patch_merge(name, {"metadata": {"annotations": {REQUEST_ANNOTATION: _request(gpus)}}})

    def end(self, name: str) -> None:
        self._of(name).delete(name)

    def replicas(self) -> Dict[str, int]:
        found = {name: self._of(name).find(name) for name in self._teams}
        return {name: held_by(made) for name, made in found.items() if made}

    def wait(self, seconds: float = 30.0, **replicas: int) -> None:
        def there() -> bool:
            found = self.replicas()
            # The last value is part of the failure message.
            assert {name: found.get(name) for name in replicas} == replicas
            return True

        wait_until(there, seconds, f"the replicas {replicas}")

    def limited(self, name: str) -> str:
        """Message of the condition ScalingLimited, when it is true."""
        space = self.pool.space(self._teams[name])
        status = (self.pool.server.admin.of(RCA, space).find(name) or {}).get("status") or {}
        found = [c for c in status.get("conditions") or [] if c["type"] == "ScalingLimited" and c["status"] == "True"]
        return f"{found[0]['reason']}: {found[0]['message']}" if found else ""


class Held:
    """Follows the replicas of some namespaces, or with ``pods`` their worker Pods, each as long as it exists. With one
    GPU each: the most GPUs that the API server had at one moment, each sum over time, and by whom they were held."""

    def __init__(self, server: ApiServer, spaces: List[str], pods: bool = False):
        self.most = 0
        self.sums: List[int] = []
        self.rows: List[Tuple[float, Dict[str, int]]] = []
        self._spaces = list(spaces)
        self._lock = threading.Lock()
        self._count: Callable[[Object], int] = is_worker if pods else held_by
        self._cache = WatchCache(server.admin, "pods" if pods else "rayclusters", changed=self._look)
        self._cache.wait_synced()

    def _look(self) -> None:
        with self._lock:
            row = dict.fromkeys(self._spaces, 0)
            for each in self._cache.objects():
                if each["metadata"]["namespace"] in row:
                    row[each["metadata"]["namespace"]] += self._count(each)
            self.rows.append((time.time(), row))
            self.sums.append(sum(row.values()))
            self.most = max(self.most, self.sums[-1])

    def stop(self) -> None:
        self._cache.stop()

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def is_worker(pod: Object) -> bool:
    return pod["metadata"].get("labels", {}).get(kp.NODE_TYPE_LABEL) == "worker"


def held_by(cluster: Object) -> int:
    return sum(group.get("replicas") or 0 for group in cluster["spec"]["workerGroupSpecs"])


def _request(gpus: int) -> str:
    return json.dumps([{"GPU": 1}] * gpus)
