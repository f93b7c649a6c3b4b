"""A small client for the Kubernetes REST API, for stand-ins and tests (not for the program).

It is thread-safe: one ``KubeClient`` may be shared. Nothing is retried and nothing is hidden: an
answer of 400 or above is an ``ApiError`` that carries the Status object.

    client.of("pods", "team-a").list(label_selector="ray.io/cluster=demo")["items"]
    client.of("rayclusters", "team-a").patch_json("demo", [{"op": "replace", ...}])
    for event in client.of("pods", "team-a").watch(resource_version=rv, timeout_seconds=5): ...
"""

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlencode

import urllib3

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"

CONNECT_SECONDS = 30.0
READ_SECONDS = 30.0

# plural -> (API group and version as in the path, kind, namespaced)
RESOURCES: Dict[str, Tuple[str, str, bool]] = {
    "namespaces": ("api/v1", "Namespace", False),
    "nodes": ("api/v1", "Node", False),
    "pods": ("api/v1", "Pod", True),
    "secrets": ("api/v1", "Secret", True),
    "configmaps": ("api/v1", "ConfigMap", True),
    "services": ("api/v1", "Service", True),
    "endpoints": ("api/v1", "Endpoints", True),
    "serviceaccounts": ("api/v1", "ServiceAccount", True),
    "events": ("api/v1", "Event", True),
    "resourcequotas": ("api/v1", "ResourceQuota", True),
    "poddisruptionbudgets": ("apis/policy/v1", "PodDisruptionBudget", True),
    "podgroups": ("apis/scheduling.k8s.io/v1beta1", "PodGroup", True),
    "priorityclasses": ("apis/scheduling.k8s.io/v1", "PriorityClass", False),
    "leases": ("apis/coordination.k8s.io/v1", "Lease", True),
    "roles": ("apis/rbac.authorization.k8s.io/v1", "Role", True),
    "rolebindings": ("apis/rbac.authorization.k8s.io/v1", "RoleBinding", True),
    "clusterroles": ("apis/rbac.authorization.k8s.io/v1", "ClusterRole", False),
    "clusterrolebindings": ("apis/rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False),
    "customresourcedefinitions": ("apis/apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
    "mutatingwebhookconfigurations": ("apis/admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", False),
    "validatingwebhookconfigurations": ("apis/admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", False),
    "deviceclasses": ("apis/resource.k8s.io/v1", "DeviceClass", False),
    "resourceslices": ("apis/resource.k8s.io/v1", "ResourceSlice", False),
    "devicetaintrules": ("apis/resource.k8s.io/v1alpha3", "DeviceTaintRule", False),
    "resourceclaims": ("apis/resource.k8s.io/v1", "ResourceClaim", True),
    "resourceclaimtemplates": ("apis/resource.k8s.io/v1", "ResourceClaimTemplate", True),
    "rayclusters": ("apis/ray.io/v1", "RayCluster", True),
    "resourceflavors": ("apis/kueue.x-k8s.io/v1beta2", "ResourceFlavor", False),
    "topologies": ("apis/kueue.x-k8s.io/v1beta2", "Topology", False),
    "clusterqueues": ("apis/kueue.x-k8s.io/v1beta2", "ClusterQueue", False),
    "localqueues": ("apis/kueue.x-k8s.io/v1beta2", "LocalQueue", True),
    "workloadpriorityclasses": ("apis/kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", False),
    "workloads": ("apis/kueue.x-k8s.io/v1beta2", "Workload", True),
    "queues": ("apis/scheduling.volcano.sh/v1beta1", "Queue", False),
    "drainrequests": ("apis/nvsentinel.nvidia.com/v1alpha1", "DrainRequest", True),
    "rayclusterautoscalers": ("apis/rayscaler.dev/v1alpha1", "RayClusterAutoscaler", True),
    "gpupools": ("apis/rayscaler.dev/v1alpha1", "GPUPool", False),
}


class ApiError(Exception):
    """An answer of 400 or above. ``status`` is the HTTP code, ``reason`` the Status reason."""

    def __init__(self, method: str, path: str, status: int, body: Any):
        self.method = method
        self.path = path
        self.status = status
        self.body = body
        self.reason = body.get("reason", "") if isinstance(body, dict) else ""
        self.message = body.get("message", "") if isinstance(body, dict) else str(body)
        super().__init__(f"{method} {path}: {status} {self.reason}: {self.message}")


@dataclass
class Response:
    """``body`` is decoded JSON, or text where the answer is not JSON."""

    status: int
    body: Any
    headers: Dict[str, str] = field(default_factory=dict)


class KubeClient:
    """One server, one identity. Close it when its threads have ended."""

    def __init__(
        self,
        url: str,
        ca_file: Path,
        token: Optional[str] = None,
        client_cert: Optional[Path] = None,
        client_key: Optional[Path] = None,
    ):
        self.url = url.rstrip("/")
        self.token = token
        self._pool = urllib3.PoolManager(
            num_pools=2,
            maxsize=32,
            ca_certs=str(ca_file),
            cert_file=str(client_cert) if client_cert else None,
            key_file=str(client_key) if client_key else None,
            retries=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
        )

    def close(self) -> None:
        self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Optional[Dict[str, Any]] = None,
        content_type: str = "application/json",
        headers: Optional[Dict[str, str]] = None,
    ) -> Response:
        """One request; any HTTP status comes back as a ``Response``.

        ``path`` starts with "/" and is already escaped; ``params`` are escaped here and those that
        are None are left out. ``body`` is sent as it is when bytes, else as JSON.
        """
        answer = self._send(method, path, body, params, content_type, headers, stream=False)
        return Response(answer.status, _decode(answer.headers, answer.data), dict(answer.headers))

    def raw(
        self, method: str, path: str, body: Optional[bytes] = None, content_type: str = "application/json"
    ) -> Tuple[int, bytes]:
        """One request; HTTP status and the body as it came."""
        answer = self._send(method, path, body, None, content_type, None, stream=False)
        return answer.status, answer.data

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """As ``request``, but returns the body and raises ``ApiError`` from 400 on."""
        response = self.request(method, path, body, **more)
        if response.status >= 400:
            raise ApiError(method, path, response.status, response.body)
        return response.body

    def stream(self, path: str, params: Dict[str, Any], read_seconds: float) -> "Stream":
        """GET ``path`` as a stream of JSON values, one per line; ``read_seconds`` is how long the
        server may be silent."""
        answer = self._send("GET", path, None, params, "application/json", None, True, read_seconds)
        if answer.status >= 400:
            body = _decode(answer.headers, answer.read())
            raise ApiError("GET", path, answer.status, body)
        return Stream(answer)

    def of(self, plural: str, namespace: Optional[str] = None) -> "Resource":
        """A resource of ``RESOURCES``; without namespace: all namespaces (list and watch only)."""
        return Resource(self, plural, namespace)

    def for_object(self, obj: Dict[str, Any], namespace: Optional[str] = None) -> "Resource":
        """The resource that ``obj`` belongs to, by apiVersion and kind; its namespace wins."""
        for plural, (_, kind, namespaced) in RESOURCES.items():
            if kind == obj.get("kind"):
                break
        else:
            raise ValueError(f"unknown kind {obj.get('kind')}")
        where = obj.get("metadata", {}).get("namespace") or namespace
        resource = Resource(self, plural, where if namespaced else None)
        version = obj["apiVersion"]
        resource.group_version = f"apis/{version}" if "/" in version else f"api/{version}"
        return resource

    def _send(self, method, path, body, params, content_type, headers, stream, read_seconds=READ_SECONDS):
        sent = {"Accept": "application/json"}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            sent["Content-Type"] = content_type
        sent.update(headers or {})
        url = self.url + path
        query = {key: _param(value) for key, value in (params or {}).items() if value is not None}
        if query:
            url += "?" + urlencode(query)
        return self._pool.request(
            method,
            url,
            body=data,
            headers=sent,
            preload_content=not stream,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
        )


class Stream:
    """The values of a watch, in order; iterate it once, in one thread."""

    def __init__(self, answer: Any):
        self._answer = answer
        self.status = answer.status

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        rest = b""
        try:
            for chunk in self._answer.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield json.loads(line)
        finally:
            self._answer.close()

    def abort(self) -> None:
        """Cut the connection, from any thread: the iteration ends, with or without an error."""
        connection = self._answer.connection
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # already deleted

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_exc: Any) -> None:
        self._answer.close()


class Resource:
    """The calls on one resource, in one namespace or cluster-wide."""

    def __init__(self, client: KubeClient, plural: str, namespace: Optional[str]):
        self.client = client
        self.plural = plural
        self.namespace = namespace
        self.group_version, self.kind, self.namespaced = RESOURCES[plural]

    def path(self, name: Optional[str] = None, subresource: Optional[str] = None) -> str:
        parts = ["", self.group_version]
        if self.namespaced and self.namespace:
            parts += ["namespaces", self.namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)

    def get(self, name: str, **params: Any) -> Dict[str, Any]:
        return self.client.call("GET", self.path(name), params=params)

    def find(self, name: str) -> Optional[Dict[str, Any]]:
        """As ``get``, but None when the object is not there."""
        try:
            return self.get(name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(
        self,
        label_selector: Optional[str] = None,
        field_selector: Optional[str] = None,
        **params: Any,
    ) -> Dict[str, Any]:
        """The List object; further query parameters (limit, continue, ...) by keyword."""
        params.update(labelSelector=label_selector, fieldSelector=field_selector)
        if "continue_" in params:
            params["continue"] = params.pop("continue_")
        return self.client.call("GET", self.path(), params=params)

    def items(self, label_selector: Optional[str] = None) -> List[Dict[str, Any]]:
        return self.list(label_selector)["items"]

    def watch(
        self,
        resource_version: Optional[str] = None,
        timeout_seconds: int = 60,
        label_selector: Optional[str] = None,
        field_selector: Optional[str] = None,
        bookmarks: bool = True,
        **params: Any,
    ) -> Stream:
        """Watch events ({"type", "object"}) until the server ends the watch."""
        params.update(
            watch=True,
            resourceVersion=resource_version,
            timeoutSeconds=timeout_seconds,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            allowWatchBookmarks=bookmarks,
        )
        return self.client.stream(self.path(), params, timeout_seconds + READ_SECONDS)

    def create(self, obj: Dict[str, Any]) -> Dict[str, Any]:
        return self.client.call("POST", self.path(), obj)

    def create_sub(self, name: str, subresource: str, obj: Dict[str, Any]) -> Dict[str, Any]:
        """POST to a subresource, for example ``serviceaccounts/NAME/token``."""
        return self.client.call("POST", self.path(name, subresource), obj)

    def update(self, obj: Dict[str, Any], subresource: Optional[str] = None) -> Dict[str, Any]:
        """PUT; the object's resourceVersion, when present, must be the current one (409)."""
        return self.client.call("PUT", self.path(obj["metadata"]["name"], subresource), obj)

    def patch_json(self, name: str, operations: List[Dict[str, Any]], subresource: Optional[str] = None):
        return self.client.call("PATCH", self.path(name, subresource), operations, content_type=JSON_PATCH)

    def patch_merge(self, name: str, patch: Dict[str, Any], subresource: Optional[str] = None):
        return self.client.call("PATCH", self.path(name, subresource), patch, content_type=MERGE_PATCH)

    def patch_status(self, name: str, patch: Dict[str, Any]):
        """As kubelet and scheduler write it: conditions of other writers are kept."""
        return self.client.call("PATCH", self.path(name, "status"), patch, content_type=STRATEGIC_MERGE_PATCH)

    def delete(
        self,
        name: str,
        grace_seconds: Optional[int] = None,
        uid: Optional[str] = None,
        missing_ok: bool = False,
    ) -> Optional[Dict[str, Any]]:
        """DELETE with optional gracePeriodSeconds and uid precondition."""
        options: Dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        try:
            return self.client.call("DELETE", self.path(name), options)
        except ApiError as error:
            if error.status == 404 and missing_ok:
                return None
            raise

    def apply(self, obj: Dict[str, Any]) -> Dict[str, Any]:
        """Create, or replace the present object (for test set-up; not server-side apply)."""
        current = self.find(obj["metadata"]["name"])
        if current is None:
            return self.create(obj)
        metadata = {**obj["metadata"], "resourceVersion": current["metadata"]["resourceVersion"]}
        return self.update({**obj, "metadata": metadata})


def _param(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _decode(headers: Any, data: bytes) -> Any:
    if "json" in headers.get("Content-Type", ""):
        return json.loads(data)
    return data.decode(errors="replace")
