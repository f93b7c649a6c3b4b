"""A RayCluster on real parts, with everything that a scenario needs to drive and to judge it."""

import base64
import contextlib
import copy
import itertools
import shutil
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Set

from . import kuberay_pod as kp
from . import ray_manifests as rm
from .apiserver import ApiServer
from .ray_program import RayProgram, Witness, ray_environment
from .recorder import Recorder
from .wait import WaitTimeout, allowed, wait_until

Object = Dict[str, Any]
HEAD_SECONDS = 90.0
REQUEST_ANNOTATION = "rayscaler.dev/request-resources"


def hold(predicate: Callable[[], Any], seconds: float, what: str, poll_seconds: float = 0.1) -> None:
    """``predicate`` must be true now and for ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        value = predicate()
        assert value, f"{what}: did not hold for {seconds} s; last seen: {value!r}"
        if time.monotonic() >= end:
            return
        time.sleep(poll_seconds)


def wait_at_rest(value: Callable[[], Any], seconds: float, what: str, poll_seconds: float = 0.1) -> None:
    """Until ``value`` is the same for ``seconds``. Its last change is at most as long after the call: what led to it has
    happened before."""
    latest = time.monotonic() + allowed(seconds)
    last, since = value(), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(poll_seconds)
        now = value()
        if now != last:
            assert time.monotonic() < latest, f"{what}: changes after {seconds} s, from {last!r} to {now!r}"
            last, since = now, time.monotonic()


class Scenario:
    """``cluster`` is created at once; ``wait_head`` returns when its Ray answers.

    ``close`` checks that no busy worker was deleted, then deletes the RayCluster.
    """

    def __init__(self, server: ApiServer, namespace: str, cluster: Object, work_dir: Path):
        self.server = server
        self.namespace = namespace
        self.name = cluster["metadata"]["name"]
        self.work_dir = work_dir / self.name
        shutil.rmtree(self.work_dir, ignore_errors=True)
        self.work_dir.mkdir(parents=True)
        self._clusters = server.admin.of("rayclusters", namespace)
        self._pods = server.admin.of("pods", namespace)
        self._autoscalers = server.admin.of("rayclusterautoscalers", namespace)
        self._programs = itertools.count(1)
        self._running: List[RayProgram] = []
        self._head_annotations: Optional[Set[str]] = None  # before any test
        self._witness: Optional[Witness] = None
        # Of the programs; read from what the operator made, where it made one. `tls`: a Secret's data.
        self.token: Optional[str] = None
        self.tls: Dict[str, bytes] = {}
        self._port = int(kp.head_port(cluster))
        self.recorder = Recorder(server, namespace, self.name)
        self._manifest = copy.deepcopy(cluster)
        self._clusters.create(cluster)

    # -- Ray ------------------------------------------------------------------------------------

    def wait_head(self, seconds: float = HEAD_SECONDS) -> "Scenario":
        """Also of a cluster that starts again."""
        wait_until(self._head_ready, seconds, f"the head of {self.name} to be ready")
        if kp.delegated_tokens(self.get()):
            self.token = self.server.service_account_token(self.namespace, kp.service_account(self.get()))
        elif kp.token_auth(self.get()):
            self.token = self.secret(kp.token_secret(self.get()))[kp.TOKEN_KEY].decode()
        if self._witness:
            self._witness.stop()
        self._witness = Witness(self.work_dir, self.address(), self._environment())
        return self

    def _head_ready(self) -> bool:
        head = self.head()
        return head is not None and kp.is_ready(head)

    def heads(self) -> List[Object]:
        return self._pods.items(f"{kp.CLUSTER_LABEL}={self.name},{kp.NODE_TYPE_LABEL}=head")

    def head(self) -> Optional[Object]:
        """Of active-passive heads the active one."""
        heads = self.heads()
        return next((head for head in heads if kp.is_ready(head)), heads[0] if heads else None)

    def head_ip(self) -> str:
        return self.head()["status"]["podIP"]

    def address(self) -> str:
        return f"{self.head_ip()}:{self._port}"

    @property
    def witness(self) -> Witness:
        assert self._witness, "wait_head first"
        return self._witness

    def program(self, prints: bool = False) -> RayProgram:
        """A Ray program connected to the head; ``prints``: with the lines of other processes in its log."""
        directory = self.work_dir / f"program-{next(self._programs)}"
        program = RayProgram(directory, self.address(), self.head_ip(), self._environment(), prints)
        self._running.append(program)
        return program

    def secret(self, name: str) -> Dict[str, bytes]:
        data = self.server.admin.of("secrets", self.namespace).get(name)["data"]
        return {key: base64.b64decode(value) for key, value in data.items()}

    def _environment(self) -> Dict[str, str]:
        env = ray_environment(self.work_dir / "home", self.token)
        if rm.is_serving(self._manifest):
            env.update(rm.SERVE_ENV)
        if kp.delegated_tokens(self.get()):
            files = self.server.in_cluster_files(self.work_dir / "account", self.token or "", self.namespace)
            env.update(files.env, RAY_ENABLE_K8S_TOKEN_AUTH="true", RAYSCALER_BENCH_SERVICE_ACCOUNT=str(files.directory))
            env.update(RAY_CLUSTER_NAME=self.name, RAY_CLUSTER_NAMESPACE=self.namespace)
        if kp.tls(self.get()):  # a program here has the address of the head
            self.tls = self.secret(kp.tls_secret(self.get(), "head"))
        if self.tls:
            for name, value in self.tls.items():
                (self.work_dir / name).write_bytes(value)
            env.update(RAY_USE_TLS="1", RAY_TLS_CA_CERT=str(self.work_dir / "ca.crt"))
            env.update(
                RAY_TLS_SERVER_CERT=str(self.work_dir / "tls.crt"), RAY_TLS_SERVER_KEY=str(self.work_dir / "tls.key")
            )
        return env

    # -- the RayCluster -------------------------------------------------------------------------

    def get(self) -> Object:
        return self._clusters.get(self.name)

    def group(self, name: str = "gpu-group") -> Object:
        return next(g for g in self.get()["spec"]["workerGroupSpecs"] if g["groupName"] == name)

    def replicas(self, group: str = "gpu-group") -> int:
        return self.group(group)["replicas"]

    def workers_to_delete(self, group: str = "gpu-group") -> List[str]:
        return list((self.group(group).get("scaleStrategy") or {}).get("workersToDelete") or [])

    def edit_group(self, group: str = "gpu-group", **fields: Any) -> None:
        """As a user's `kubectl edit`: set members of one group."""
        groups = self.get()["spec"]["workerGroupSpecs"]
        index = next(i for i, g in enumerate(groups) if g["groupName"] == group)
        path = f"/spec/workerGroupSpecs/{index}"
        operations = [{"op": "test", "path": f"{path}/groupName", "value": group}]
        operations += [{"op": "add", "path": f"{path}/{key}", "value": value} for key, value in fields.items()]
        self._clusters.patch_json(self.name, operations)

    def edit(self, patch: Object) -> None:
        """A merge patch of the RayCluster."""
        self._clusters.patch_merge(self.name, patch)

    def request(self, text: Optional[str]) -> None:
        """The annotation of request_resources; None takes it away."""
        self.edit({"metadata": {"annotations": {REQUEST_ANNOTATION: text}}})

    def autoscaler(self) -> Optional[Object]:
        """The RayClusterAutoscaler, when there is one."""
        return self._autoscalers.find(self.name)

    def configure(self, **spec: Any) -> None:
        """As a user's `kubectl patch`: members of the spec of the RayClusterAutoscaler; None takes one away."""
        self._autoscalers.patch_merge(self.name, {"spec": spec})

    # -- Pods -----------------------------------------------------------------------------------

    def workers(self, group: Optional[str] = "gpu-group") -> List[str]:
        """Names of the worker Pods that are not being deleted."""
        return [pod["metadata"]["name"] for pod in self.worker_pods(group) if not pod["metadata"].get("deletionTimestamp")]

    def worker_pods(self, group: Optional[str] = None) -> List[Object]:
        selector = f"{kp.CLUSTER_LABEL}={self.name},{kp.NODE_TYPE_LABEL}=worker"
        if group:
            selector += f",{kp.GROUP_LABEL}={group}"
        return self._pods.items(selector)

    def pods(self) -> List[Object]:
        """All of its Pods, also those that end."""
        return self._pods.items(f"{kp.CLUSTER_LABEL}={self.name}")

    def annotate_pod(self, pod: str, annotations: Dict[str, Optional[str]]) -> None:
        self._pods.patch_merge(pod, {"metadata": {"annotations": annotations}})

    def wait_workers(self, count: int, group: Optional[str] = "gpu-group", seconds: float = 30.0) -> List[str]:
        """Until exactly ``count`` Pods are there that are not being deleted; their names."""
        there = lambda: len(found := self.workers(group)) == count and [found]  # noqa: E731
        return wait_until(there, seconds, f"{count} Pods of {group or 'all groups'}")[0]

    def wait_joined(self, count: int, group: str = "gpu-group", seconds: float = 60.0) -> List[str]:
        """Until exactly ``count`` workers of the group live in Ray; their Pods. One whose Pod is gone may seem to live until it
        has missed its heartbeats."""

        def joined() -> List[str]:
            nodes, pods = self.witness.latest()["nodes"], {pod["metadata"]["name"] for pod in self.worker_pods(group)}
            living = (n["pod"] for n in nodes if n["group"] == group and n["status"] in ("RUNNING", "IDLE"))
            return sorted(pod for pod in living if pod in pods)

        there = lambda: len(found := joined()) == count and [found]  # noqa: E731
        return wait_until(there, seconds, f"{count} workers of {group} in Ray")[0]

    def wait_empty(self, seconds: float = 60.0, group: str = "gpu-group") -> None:
        """Until the group has replicas 0 and no Pod."""
        wait_until(
            lambda: self.replicas(group) == 0 and not self.worker_pods(group), seconds, f"{group} to have no worker"
        )

    def stays(self, predicate: Callable[[], Any], seconds: float, what: str) -> None:
        """The opposite of wait_until: ``predicate`` must hold all the time."""
        hold(predicate, seconds, what)

    # -- the end --------------------------------------------------------------------------------

    def end_programs(self) -> None:
        for program in self._running:
            program.process.stop(3)
        self._running.clear()

    def check_no_busy_deleted(self) -> None:
        if self._witness:
            found = self.recorder.busy_deletions(self._witness)
            assert not found, "deleted while Ray reported it busy:\n" + "\n".join(found)

    def reset(self, groups: List[Object], idle_seconds: Optional[int] = None) -> None:
        """The same head, other groups: the test before is over. No controller may be running."""
        self.end_programs()
        self.recorder.excuse_all()
        # Removes the settings and requests that a failed test has left.
        self._autoscalers.delete(self.name, missing_ok=True)
        self._restore_head()
        with self.program() as program:
            program.call("request", bundles=[])
        spec = copy.deepcopy(self._manifest["spec"])
        spec["workerGroupSpecs"] = groups
        if idle_seconds is not None:
            spec["autoscalerOptions"]["idleTimeoutSeconds"] = idle_seconds
        # Empty first: a Pod that is made and deleted in the same moment keeps the operator waiting for it.
        empty = [{**group, "replicas": 0, "minReplicas": 0} for group in groups]
        self._replace_spec({**spec, "workerGroupSpecs": empty})
        wait_until(self._delete_workers, 30, f"all workers of {self.name} to be gone")
        with contextlib.suppress(WaitTimeout):
            wait_until(self._ray_is_calm, 30, "Ray to forget the workers and the demand of the test before")
        if empty != groups:
            self._replace_spec(spec)
        self.recorder.forget()

    def _restore_head(self) -> None:
        """Without annotations of the test before: a controller would remove those of rayscaler, with rights that it may lack."""
        head = self.head()["metadata"]
        annotations = head.get("annotations") or {}
        if self._head_annotations is None:
            self._head_annotations = set(annotations)
        added = set(annotations) - self._head_annotations
        if added:
            self.annotate_pod(head["name"], dict.fromkeys(added))

    def _ray_is_calm(self) -> bool:
        if not self._witness:
            return True
        state = self._witness.fresh()
        workers = [node for node in state["nodes"] if node["group"] != kp.HEAD_GROUP and node["status"] != "DEAD"]
        return not workers and not state["pending"] and not state["gangs"] and not state["constraints"]

    def _replace_spec(self, spec: Object) -> None:
        operations = [{"op": "replace", "path": "/spec", "value": spec}]
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
        self._clusters.patch_json(self.name, operations)

    def _delete_workers(self) -> bool:
        """In good order: Ray would give work to one that was killed, until it misses the heartbeats."""
        pods = self.worker_pods()
        for pod in pods:
            if not pod["metadata"].get("deletionTimestamp"):
                self._pods.delete(pod["metadata"]["name"], missing_ok=True)
        return not pods

    def close(self) -> None:
        try:
            self.end_programs()
            self.check_no_busy_deleted()
        finally:
            self.recorder.excuse_all()
            self._remove()
            self.recorder.stop()
            if self._witness:
                self._witness.stop()

    def _remove(self) -> None:
        self.edit({"metadata": {"finalizers": None}})
        self._clusters.delete(self.name, missing_ok=True)
        self._autoscalers.delete(self.name, missing_ok=True)  # no garbage collector runs
        wait_until(self._delete_pods, 60, f"the Pods of {self.name} to be gone", 0.2)

    def _delete_pods(self) -> bool:
        """At once: their grace periods are no part of a test."""
        pods = self.pods()
        for pod in pods:
            self._pods.delete(pod["metadata"]["name"], grace_seconds=0, missing_ok=True)
        return not pods
