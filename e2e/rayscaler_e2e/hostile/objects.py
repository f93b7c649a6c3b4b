"""RayClusters and Pods of one tenant, as KubeRay's operator and a kubelet would write them, on the API
server of the tests (``RealApi``) or on the fleet's (``fleet.Fleet``); both have ``put`` and ``remove``."""

import time
import uuid
from typing import Any, Dict, List, Optional, Protocol, Set, Tuple

from .. import kuberay_pod as kp
from .. import rayclusters
from ..apiserver import ApiServer

Object = Dict[str, Any]
GROUP = "workers"


class Api(Protocol):
    def put(self, plural: str, obj: Object) -> Object:
        """Create or replace, its status too; the object as it is then."""

    def remove(self, plural: str, obj: Object) -> None:
        ...


class RealApi:
    """Writes with the admin's client; makes namespaces on first use. Of an object that is there a Pod's
    annotations are changed, and annotations and spec of a RayCluster."""

    def __init__(self, server: ApiServer):
        self._server = server
        self._made: Set[Tuple[str, str, str]] = set()

    def put(self, plural: str, obj: Object) -> Object:
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        objects = self._server.admin.of(plural, namespace)
        if (plural, namespace, name) in self._made:
            patch = {"metadata": {"annotations": obj["metadata"].get("annotations") or {}}}
            return objects.patch_merge(name, patch if plural == "pods" else {**patch, "spec": obj["spec"]})
        if namespace:
            self._server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        made = objects.create(obj)
        self._made.add((plural, namespace, name))
        return objects.patch_merge(name, {"status": obj["status"]}, "status") if "status" in obj else made

    def remove(self, plural: str, obj: Object) -> None:
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        self._made.discard((plural, namespace, name))
        self._server.admin.of(plural, namespace).delete(name, 0, missing_ok=True)


def cluster(namespace: str, name: str, port: int, *groups: Object, **spec: Any) -> Object:
    """Its status is missing: ``with_head`` adds it, when the head's address is known."""
    made = rayclusters.minimal(name, *(groups or [group()]), **spec)
    made["metadata"] = {"name": name, "namespace": namespace, "annotations": {}}
    made["spec"]["autoscalerOptions"] = {"version": "v2", "idleTimeoutSeconds": 2}
    container = made["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "gcs-server", "containerPort": port}]
    return made


def group(name: str = GROUP, **fields: Any) -> Object:
    return rayclusters.group(name, **{"replicas": 0, "minReplicas": 0, "maxReplicas": 10, **fields})


def with_head(obj: Object, ip: str) -> Object:
    """Status of a cluster whose head is this Pod."""
    name = obj["metadata"]["name"]
    return {**obj, "status": {"state": "ready", "head": {"podName": f"{name}-head", "podIP": ip}}}


def head_pod(made: Object, ip: str) -> Object:
    return _running(kp.head_pod(made), f"{made['metadata']['name']}-head", ip)


def worker_pod(made: Object, number: int = 0, name: str = "") -> Object:
    first = made["spec"]["workerGroupSpecs"][0]
    pod = kp.worker_pod(made, first, "", number, 0)
    return _running(pod, name or f"{made['metadata']['name']}-{first['groupName']}-worker-{number}", "127.66.255.1")


def _running(pod: Object, name: str, ip: str) -> Object:
    pod["metadata"]["name"] = name
    pod["spec"].pop("serviceAccountName", None)
    pod["spec"].pop("initContainers", None)
    pod["spec"]["containers"] = pod["spec"]["containers"][:1]
    pod["spec"]["nodeName"] = "node-1"
    container = {
        "name": pod["spec"]["containers"][0]["name"],
        "image": "rayproject/ray:2.60.0",
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now()}},
    }
    ready = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
    pod["status"] = {
        "phase": "Running",
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": now(),
        "conditions": ready,
        "containerStatuses": [container],
    }
    return pod


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def uid_of(plural: str, obj: Object) -> str:
    """For an API server that gives none."""
    names = "/".join((plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, names))


class Tenant:
    """Tenant ``number`` of one kind: a namespace, a RayCluster with the kind's name, its head Pod and more."""

    def __init__(self, api: Api, kind: str, number: int, ip: str, port: int, namespace: str = ""):
        """``namespace`` "": one of its own."""
        self.api, self.kind, self.number, self.ip, self.port = api, kind, number, ip, port
        self.namespace = namespace or f"hostile-{kind}-{number}"
        self.made: Dict[Tuple[str, str, str], Object] = {}
        self.state: Object = {}
        """What the kind's step remembers."""

    def put(self, plural: str, obj: Object) -> Object:
        stored = self.api.put(plural, obj)
        self.made.setdefault((plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]), stored)
        return stored

    def cluster(self, *groups: Object, edit: Optional[Any] = None, **spec: Any) -> Object:
        """The RayCluster, and its head where the kind has one; ``edit`` changes the manifest first."""
        manifest = cluster(self.namespace, self.kind, self.port, *groups, **spec)
        if edit:
            edit(manifest)
        manifest = with_head(manifest, self.ip) if self.ip else manifest
        made = self.put("rayclusters", manifest)
        made = {**manifest, "metadata": {**manifest["metadata"], "uid": made["metadata"]["uid"]}}
        if self.ip:
            self.put("pods", head_pod(made, self.ip))
        return made

    def remove(self) -> None:
        for (plural, _, _), obj in reversed(self.made.items()):
            self.api.remove(plural, obj)
        self.made.clear()
