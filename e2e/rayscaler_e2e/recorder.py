"""The changes of one RayCluster and its Pods, in order, and the check that no busy worker was terminated."""

import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Set

import urllib3

from . import kuberay_pod as kp
from .apiserver import ApiServer
from .kubeclient import ApiError
from .ray_program import Witness, node_of
from .wait import allowed, wait_until
from .watchcache import WatchCache

Object = Dict[str, Any]
# The witness asks every 0.2 s.
FRESH_SECONDS = 1.0
# Until the GCS knows how a raylet ended.
DEATH_SECONDS = 5.0
CATCH_UP_SECONDS = 20.0
UNSEEN = "unseen"


@dataclass
class Event:
    """``kind``: replicas, workersToDelete, created, phase, ready, deleted (asked for; whether it had ended), gone."""

    at: float
    kind: str
    subject: str
    value: Any = None


@dataclass
class _PodSeen:
    phase: str = ""
    ready: bool = False
    ended: bool = False
    deleted: bool = False


class Recorder:
    """Watches with the admin's client; ``events`` is what was seen so far. ``mark``, ``of`` and ``forget`` first let the
    watches catch up with the API server, so that they are not behind what a test has read there."""

    def __init__(self, server: ApiServer, namespace: str, cluster: str):
        self.events: List[Event] = []
        self._versions: Dict[str, str] = {}  # of the Pods that were looked at
        self._cluster_version = ""
        self._cluster = cluster
        self._namespace = namespace
        self._lock = threading.Lock()
        self._pods: Dict[str, _PodSeen] = {}
        self._groups: Dict[str, Object] = {}
        self._excused: Set[str] = set()
        self._excuse_all_from: Optional[float] = None
        self._may_be_blind = False
        selector = f"{kp.CLUSTER_LABEL}={cluster}"
        self._listed_pods = lambda: server.admin.of("pods", namespace).items(selector)
        self._listed_cluster = lambda: server.admin.of("rayclusters", namespace).find(cluster)
        self._pod_cache = WatchCache(server.admin, "pods", namespace, selector, self._look_at_pods)
        self._cluster_cache = WatchCache(server.admin, "rayclusters", namespace, changed=self._look_at_cluster)

    def stop(self) -> None:
        self._pod_cache.stop()
        self._cluster_cache.stop()

    def mark(self) -> float:
        """A moment; pass it as ``since``."""
        self._catch_up()
        return time.time()

    def of(self, kind: str, since: float = 0, subject: Optional[str] = None) -> List[Event]:
        self._catch_up()
        with self._lock:
            return [
                event
                for event in self.events
                if event.kind == kind and event.at >= since and subject in (None, event.subject)
            ]

    def excuse(self, *pods: str) -> None:
        """The test itself deletes these Pods."""
        self._excused.update(pods)

    def may_be_blind(self) -> None:
        """The test keeps the GCS from answering, the witness too."""
        self._may_be_blind = True

    def excuse_all(self) -> None:
        """From now on the test itself takes the cluster apart."""
        self._excuse_all_from = time.time()

    def forget(self) -> None:
        """The next test begins: its story starts here."""
        self._catch_up()
        with self._lock:
            self.events.clear()
        self._excused.clear()
        self._excuse_all_from = None

    def busy_deletions(self, witness: Witness) -> List[str]:
        """Pods that were deleted, or named in workersToDelete, while Ray reported them busy.

        A deletion that the witness could not see, because its reply is too old, is one of them too
        unless ``may_be_blind`` was called or the Pod had ended: a check that saw nothing must not pass for one that
        did.
        """
        found = []
        for event in self.of("deleted") + self.of("workersToDelete"):
            names = event.value if event.kind == "workersToDelete" else [event.subject]
            for pod in names:
                if pod in self._excused or (self._excuse_all_from and event.at >= self._excuse_all_from):
                    continue
                ended = event.kind == "deleted" and event.value
                verdict = self._verdict(witness, pod, event.at, ended)
                if verdict:
                    found.append(f"{pod} at {event.at:.3f} ({event.kind}): {verdict}")
        return found

    def _verdict(self, witness: Witness, pod: str, at: float, ended: bool) -> str:
        fresh = allowed(FRESH_SECONDS)
        verdict = busy_when_deleted(witness.lines(), pod, at, ended, fresh)
        if verdict.startswith(UNSEEN) and self._may_be_blind:
            return ""
        deadline = time.time() + allowed(DEATH_SECONDS)
        while verdict and time.time() < deadline:
            time.sleep(0.1)
            verdict = busy_when_deleted(witness.lines(), pod, at, ended, fresh)
        return verdict

    # -- watching -------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        try:
            wait_until(self._is_current, CATCH_UP_SECONDS, "the watches to show what the API server has")
        except (OSError, urllib3.exceptions.HTTPError, ApiError):
            pass  # a server that does not answer has nothing newer

    def _is_current(self) -> bool:
        pods = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in self._listed_pods()}
        cluster = self._listed_cluster()
        with self._lock:
            return self._versions == pods and self._cluster_version == _version(cluster)

    def _add(self, kind: str, subject: str, value: Any = None) -> None:
        self.events.append(Event(time.time(), kind, subject, value))

    def _look_at_pods(self) -> None:
        with self._lock:
            there = set()
            pods = self._pod_cache.objects()
            for pod in pods:
                there.add(pod["metadata"]["name"])
                self._look_at_pod(pod)
            for name in self._pods.keys() - there:
                if not self._pods[name].deleted:
                    self._add("deleted", name, self._pods[name].ended)
                self._add("gone", name)
                del self._pods[name]
            self._versions = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in pods}

    def _look_at_pod(self, pod: Object) -> None:
        name, status = pod["metadata"]["name"], pod.get("status") or {}
        seen = self._pods.get(name)
        if seen is None:
            seen = self._pods[name] = _PodSeen()
            self._add("created", name, pod["metadata"]["labels"].get(kp.GROUP_LABEL))
        if status.get("phase", "") != seen.phase:
            seen.phase = status.get("phase", "")
            self._add("phase", name, seen.phase)
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or [])
        if ready != seen.ready:
            seen.ready = ready
            self._add("ready", name, ready)
        if pod["metadata"].get("deletionTimestamp"):
            if not seen.deleted:
                seen.deleted = True
                self._add("deleted", name, seen.ended)
        elif seen.phase in ("Failed", "Succeeded"):
            seen.ended = True

    def _look_at_cluster(self) -> None:
        with self._lock:
            cluster = self._cluster_cache.get(self._namespace, self._cluster)
            groups = (cluster["spec"].get("workerGroupSpecs") or []) if cluster else []
            for group in groups:
                name, replicas = group["groupName"], group.get("replicas", 0)
                named = list((group.get("scaleStrategy") or {}).get("workersToDelete") or [])
                before = self._groups.get(name, {"replicas": None, "named": []})
                if replicas != before["replicas"]:
                    self._add("replicas", name, replicas)
                new = [pod for pod in named if pod not in before["named"]]
                if new:
                    self._add("workersToDelete", name, new)
                self._groups[name] = {"replicas": replicas, "named": named}
            self._cluster_version = _version(cluster)


def _version(obj: Optional[Object]) -> str:
    return obj["metadata"]["resourceVersion"] if obj else ""


def busy_when_deleted(lines: List[Object], pod: str, at: float, ended: bool = False, fresh: float = FRESH_SECONDS) -> str:
    """The objection of a witness to a deletion of ``pod`` at ``at``; "" is none. Pure.

    The last reply before decides, and a worker may end its work between that reply and the deletion.
    Only its own raylet can tell, by the cause of its death: it ends so only after it took a drain with
    nothing to do. That it looks idle later is not a proof: the deletion may have ended its work. Without a reply of
    the last ``fresh`` seconds a Pod that had ``ended`` (Failed or Succeeded) was not busy: a head takes its workers down with it.
    """
    good = [line for line in lines if "nodes" in line]
    before = [line for line in good if line["at"] < at]
    node = node_of(before[-1], pod) if before else None
    if node and _drained_idle(good, node["id"]):
        return ""
    if not before or at - before[-1]["at"] > fresh:
        return "" if ended else f"{UNSEEN}, the last reply is {before[-1] if before else None}"
    if not node or not _busy(node):
        return ""
    return f"Ray said {node} at {before[-1]['at']:.3f}"


def _drained_idle(lines: List[Object], node_id: str) -> bool:
    nodes = (node for line in reversed(lines) for node in line["nodes"])
    return any(node["id"] == node_id and node["death"] == "AUTOSCALER_DRAIN_IDLE" for node in nodes)


def _busy(node: Object) -> bool:
    if node["status"] == "RUNNING":
        return True
    used = {name for name in node["in_use"] if not name.startswith("node:")}
    return node["status"] == "DRAINING" and bool(used)
