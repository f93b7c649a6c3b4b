"""One Pod on the kubelet stand-in: its life from bound to deleted, and its status."""

import logging
import time
from typing import Any, Dict, List, Optional

from .pod_process import Container, Host
from .pod_resize import PENDING, PROGRESS, PodResize
from .standin import annotation

Object = Dict[str, Any]
DEFAULT_GRACE_SECONDS = 30
RESTART_FIRST_SECONDS, RESTART_LONGEST_SECONDS = 1.0, 300.0

log = logging.getLogger("kubelet")


class PodRunner:
    """``step`` is called again and again with the Pod as the cache has it."""

    def __init__(self, host: Host, pod: Object):
        self._host = host
        self._pod = pod
        self._started_at = _now()
        self._pulled_at = time.monotonic() + float(annotation(pod, "pull-seconds", "0"))
        self._ip = ""
        self._written: Optional[Object] = None
        self._deadline: Optional[float] = None
        self._init_done = not pod["spec"].get("initContainers")
        self._lost = (pod.get("status") or {}).get("phase") in ("Running", "Failed", "Succeeded")
        self._rejected = annotation(pod, "rejected")
        self._containers: List[Container] = []
        self._resize = PodResize(pod)
        self._transitions: Dict[str, Object] = {}
        if not self._lost and not self._rejected:
            self._ip = host.take_address()
            self._containers = [
                Container(host, pod, self._ip, index) for index in range(len(pod["spec"]["containers"]))
            ]

    def step(self, pod: Object) -> None:
        self._pod = pod
        if self._lost:
            self._settle_lost()
            return
        if pod["metadata"].get("deletionTimestamp"):
            self._end()
            return
        if self._rejected:
            self._write({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": self._rejected})
            return
        if not self._init_done and time.monotonic() >= self._pulled_at:
            self._init_done = self._host.init_containers_done(pod, self._ip)
        if self._init_done and time.monotonic() >= self._pulled_at:
            for container in self._containers:
                self._advance(container)
        self._resize.step(pod)
        self._write(self._status())

    def running(self) -> bool:
        return any(container.running() for container in self._containers)

    def terminate(self) -> None:
        for container in self._containers:
            container.terminate()

    def kill(self) -> None:
        """At once; the address and the directory are free again after it."""
        for container in self._containers:
            container.kill()
        if self._ip:
            self._host.give_back(self._ip, self._pod)
            self._ip = ""

    def _advance(self, container: Container) -> None:
        container.poll()
        if container.state == "waiting":
            if time.monotonic() >= container.start_at:
                container.start()
            return
        policy = self._pod["spec"].get("restartPolicy", "Always")
        failed = container.state == "terminated" and container.exit_code != 0
        if container.state == "terminated" and (policy == "Always" or (policy == "OnFailure" and failed)):
            delay = min(RESTART_FIRST_SECONDS * 2**container.restarts, RESTART_LONGEST_SECONDS)
            container.wait_for_restart(delay)

    def _end(self) -> None:
        """SIGTERM, after the grace period SIGKILL, then the object is deleted."""
        if self._deadline is None:
            grace = self._pod["metadata"].get("deletionGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
            self._deadline = time.monotonic() + grace
            self.terminate()
        for container in self._containers:
            container.poll()
        if self.running() and time.monotonic() < self._deadline:
            return
        metadata = self._pod["metadata"]
        self.kill()
        where = self._host.client.of("pods", metadata["namespace"])
        where.delete(metadata["name"], grace_seconds=0, uid=metadata["uid"], missing_ok=True)

    def _settle_lost(self) -> None:
        """A Pod that ran before this kubelet began: its processes have ended, as after a node's reboot."""
        metadata, status = self._pod["metadata"], self._pod.get("status") or {}
        where = self._host.client.of("pods", metadata["namespace"])
        if metadata.get("deletionTimestamp"):
            where.delete(metadata["name"], grace_seconds=0, uid=metadata["uid"], missing_ok=True)
        elif status.get("phase") == "Running":
            where.patch_merge(metadata["name"], {"status": {"phase": "Failed", "reason": "Terminated"}}, "status")

    # -- status ---------------------------------------------------------------------------------

    def _status(self) -> Object:
        ready = all(container.ready() for container in self._containers)
        phase = self._phase()
        status = {
            "phase": phase,
            "hostIP": "127.0.0.1",
            "podIP": self._ip,
            "podIPs": [{"ip": self._ip}],
            "startTime": self._started_at,
            "conditions": [
                self._condition("PodScheduled", True, ""),
                self._condition("Initialized", self._init_done, "" if self._init_done else "ContainersNotInitialized"),
                self._condition("ContainersReady", ready, "" if ready else "ContainersNotReady"),
                self._condition("Ready", ready, "" if ready else "ContainersNotReady"),
                *self._resize_conditions(),
            ],
            "containerStatuses": [
                {**container.status(), **({"resources": has} if container.running() else {})}
                for container, has in zip(self._containers, self._resize.actual)
            ],
        }
        if self._pod["spec"].get("initContainers"):
            status["initContainerStatuses"] = [
                self._init_status(container) for container in self._pod["spec"]["initContainers"]
            ]
        return status

    def _phase(self) -> str:
        policy = self._pod["spec"].get("restartPolicy", "Always")
        if any(container.state == "waiting" and container.restarts == 0 for container in self._containers):
            return "Pending"
        if any(container.state == "running" for container in self._containers):
            return "Running"
        if policy == "Always" or any(container.state == "waiting" for container in self._containers):
            return "Running"
        failed = any(container.exit_code != 0 for container in self._containers)
        return "Failed" if failed else "Succeeded"

    def _condition(self, kind: str, value: bool, reason: str) -> Object:
        word = "True" if value else "False"
        old = self._transitions.get(kind)
        since = old["lastTransitionTime"] if old and old["status"] == word else _now()
        # A merge keeps what is absent: no reason is written as null.
        condition = {"type": kind, "status": word, "lastTransitionTime": since, "reason": reason or None}
        self._transitions[kind] = condition
        return condition

    def _resize_conditions(self) -> List[Object]:
        """Those of a resize; a strategic merge removes the ones that have ended."""
        found = []
        there = {condition["type"] for condition in (self._pod.get("status") or {}).get("conditions") or []}
        now = {kind: (reason, message) for kind, reason, message in self._resize.conditions}
        for kind in (PENDING, PROGRESS):
            if kind in now:
                reason, message = now[kind]
                found.append({**self._condition(kind, True, reason), "message": message or None})
                continue
            self._transitions.pop(kind, None)
            if kind in there:
                found.append({"$patch": "delete", "type": kind})
        return found

    def _init_status(self, container: Object) -> Object:
        running = {"running": {"startedAt": self._started_at}}
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": self._started_at, "finishedAt": self._started_at}
        return {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": self._init_done,
            "restartCount": 0,
            "state": {"terminated": ended} if self._init_done else running,
        }

    def _write(self, status: Object) -> None:
        if status == self._written:
            return
        metadata = self._pod["metadata"]
        where = self._host.client.of("pods", metadata["namespace"])
        where.patch_status(metadata["name"], {"metadata": {"uid": metadata["uid"]}, "status": status})
        if not self._written or status["phase"] != self._written["phase"]:
            log.info("%s/%s: %s %s", metadata["namespace"], metadata["name"], status["phase"], self._ip)
        self._written = status


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
