"""For each kind of object that a tenant may create: the largest that an API server accepts, the most of them, and the
fastest change; the largest annotations; readers of a page that do not read. ``surface`` says what needs a row here."""

import json
import socket
from typing import Any, Callable, Dict, List, NamedTuple

from ..dra import request, with_claim
from ..scenario import REQUEST_ANNOTATION
from . import claims, objects, tokens
from .attack import Kind
from .objects import Object, Tenant, group

OBJECT_BYTES = 1_250_000
"""etcd refuses 1.5 MiB."""
ANNOTATION_BYTES = 246_000
"""Kubernetes refuses more than 256 KiB of annotations."""
CEL_BYTES = 9 * 1024
READERS = 60
FAST_SECONDS = 0.01

# -- objects ------------------------------------------------------------------------------------------------


class Shape(NamedTuple):
    plural: str
    make: Callable[[Tenant, int], Object]
    """Object ``number`` of a tenant, small."""
    grow: List[Callable[[Object], None]]
    """Each makes it as large as it may be, in another list; object ``number`` takes one in turn."""
    large: int
    """Large objects of each tenant."""
    many: int
    """Small objects of one tenant."""


def fill(element: Callable[[int], Any], size: int = OBJECT_BYTES) -> List[Any]:
    """Elements of about ``size`` bytes of JSON."""
    return [element(number) for number in range(size // (len(json.dumps(element(99_999), separators=(",", ":"))) + 1))]


def fill_map(key: str, value: str, size: int = OBJECT_BYTES) -> Dict[str, str]:
    return {f"{key}-{number}": value for number in range(size // (len(key) + len(value) + 12))}


def _cluster(tenant: Tenant, number: int) -> Object:
    manifest = objects.cluster(tenant.namespace, f"c-{number}", tenant.port)
    labels = {"ray.io/originated-from-crd": f"x-{number}", "kueue.x-k8s.io/queue-name": f"q-{number}"}
    manifest["metadata"]["labels"] = labels
    manifest["spec"]["workerGroupSpecs"][0]["labels"] = {"ray.io/accelerator-type": f"a-{number}", "ray.io/node-group": "g"}
    return objects.with_head(manifest, tenant.ip) if tenant.ip else manifest


def _worker(made: Object) -> Object:
    return made["spec"]["workerGroupSpecs"][0]["template"]["spec"]


def _term(number: int) -> Object:
    return {"matchExpressions": [{"key": f"k-{number}", "operator": "In", "values": ["v"]}]}


def _affinity(spec: Object) -> None:
    required = {"nodeSelectorTerms": fill(_term)}
    spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _limits(spec: Object) -> None:
    """A container with GPUs, and with more resources than any Node has."""
    limits = {"nvidia.com/gpu": "1", **fill_map("example.com/r", "1")}
    spec["containers"][0]["resources"] = {"limits": limits}


def _more(spec: Object, name: str, element: Callable[[int], Any]) -> None:
    spec[name] = spec.get(name, []) + fill(element)


CLUSTER_LISTS: List[Callable[[Object], None]] = [
    lambda made: _more(_worker(made), "containers", lambda number: {"name": f"c{number}"}),
    lambda made: _more(_worker(made), "tolerations", lambda number: {"key": f"k-{number}", "operator": "Exists"}),
    lambda made: _affinity(_worker(made)),
    lambda made: _limits(_worker(made)),
    lambda made: _more(_worker(made)["containers"][0], "env", lambda number: {"name": f"E{number}", "value": "v"}),
    lambda made: _more(_worker(made)["containers"][0], "args", lambda number: f"--arg-{number}"),
    lambda made: made["spec"]["workerGroupSpecs"][0]["rayStartParams"].update(fill_map("param", "v")),
]


def _pod(tenant: Tenant, number: int) -> Object:
    if "cluster" not in tenant.state:
        tenant.state["cluster"] = tenant.cluster(group(maxReplicas=1_000_000))
    pod = objects.worker_pod(tenant.state["cluster"], number)
    pod["metadata"]["labels"].update({"ray.io/worker-group-replica-name": f"r-{number}", "ray.io/replica-host-index": "0"})
    return pod


POD_LISTS: List[Callable[[Object], None]] = [
    lambda made: _more(made["spec"], "containers", lambda number: {"name": f"c{number}", "image": "i"}),
    lambda made: _more(made["spec"], "tolerations", lambda number: {"key": f"k-{number}", "operator": "Exists"}),
    lambda made: _affinity(made["spec"]),
    lambda made: _limits(made["spec"]),
]


def _event(tenant: Tenant, number: int) -> Object:
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": tenant.namespace, "name": f"p-{number}"}
    times = {"firstTimestamp": objects.now(), "lastTimestamp": objects.now(), "count": 1}
    metadata = {"name": f"e-{number}", "namespace": tenant.namespace, "annotations": {}}
    # Of a kind that decisions read: others are dropped at once.
    body = {"reason": "NotTriggerScaleUp", "message": "pod didn't trigger scale-up: " + "m" * 500, "source": {"component": "cluster-autoscaler"}}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, **body, **times}


def _autoscaler(tenant: Tenant, number: int) -> Object:
    metadata = {"name": f"c-{number}", "namespace": tenant.namespace, "annotations": {}}
    return {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": metadata, "spec": {}}


def _status(made: Object) -> None:
    made["status"] = {"infeasible": fill(lambda number: {"reason": f"r-{number}", "count": 1, "message": "m"})}


def _annotate(made: Object) -> None:
    made["metadata"]["annotations"]["note"] = "x" * ANNOTATION_BYTES


def _claim(tenant: Tenant, number: int) -> Object:
    _claims(tenant)
    metadata = {"name": f"claim-{number}", "namespace": tenant.namespace}
    return {"apiVersion": claims.API, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": [request("r")]}}}


def _template(tenant: Tenant, number: int) -> Object:
    _claims(tenant)
    metadata = {"name": f"template-{number}", "namespace": tenant.namespace}
    spec = {"spec": {"devices": {"requests": [request("r")]}}}
    return {"apiVersion": claims.API, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def _claims(tenant: Tenant) -> None:
    """A RayCluster that claims: only then these objects are read."""
    if "claims" not in tenant.state:
        made = group()
        made["template"]["spec"] = with_claim(made["template"]["spec"], "template-0")
        tenant.state["claims"] = tenant.cluster(made)


def _requests(spec: Object) -> None:
    """32 requests with 4 selectors of the greatest length."""
    text = "device.driver == '%s'"
    selectors = [{"cel": {"expression": text % ("x" * (claims.CEL_BYTES - 200))}}] * (OBJECT_BYTES // claims.CEL_BYTES // 32)
    spec["devices"]["requests"] = [{"name": f"r{i}", "exactly": {"deviceClassName": "gpu.nvidia.com", "selectors": selectors}} for i in range(32)]


OF_A_POOL = ["RayCluster-large", "RayCluster-fast", "Pod-large"]
"""Kinds that a GPUPool reads."""

SHAPES = {
    "RayCluster": Shape("rayclusters", _cluster, CLUSTER_LISTS, 3, 2000),
    "Pod": Shape("pods", _pod, POD_LISTS, 3, 100_000),
    "Event": Shape("events", _event, [_annotate], 10, 20_000),
    "RayClusterAutoscaler": Shape("rayclusterautoscalers", _autoscaler, [_annotate, _status], 3, 2000),
    "ResourceClaim": Shape("resourceclaims", _claim, [lambda made: _requests(made["spec"])], 3, 10_000),
    "ResourceClaimTemplate": Shape("resourceclaimtemplates", _template, [lambda made: _requests(made["spec"]["spec"])], 3, 10_000),
}


def of_shape(name: str, shape: Shape, scale: float) -> List[Kind]:
    """The largest, the most and the fastest; ``scale``: of the most."""

    def large(tenant: Tenant) -> None:
        for number in range(shape.large):
            made = shape.make(tenant, number)
            made["metadata"].setdefault("annotations", {})
            shape.grow[(tenant.number + number) % len(shape.grow)](made)
            tenant.put(shape.plural, made)

    def many(tenant: Tenant) -> None:
        for number in range(max(1, int(scale * shape.many))):
            tenant.put(shape.plural, shape.make(tenant, number))

    def one(tenant: Tenant) -> None:
        made = shape.make(tenant, 0)
        made["metadata"].setdefault("annotations", {})
        tenant.state["fast"] = tenant.put(shape.plural, made)

    def change(tenant: Tenant) -> None:
        annotations = tenant.state["fast"]["metadata"].setdefault("annotations", {})
        annotations["change"] = str(int(annotations.get("change", "0")) + 1)
        tenant.put(shape.plural, tenant.state["fast"])

    return [
        Kind(f"{name}-large", f"{shape.large} of {OBJECT_BYTES / 1e6:.2f} MB for each tenant", large),
        Kind(f"{name}-many", f"{int(scale * shape.many):,} of one tenant", many, most=1),
        Kind(f"{name}-fast", "one that changes 100 times a second", one, step=change, period=FAST_SECONDS),
    ]


# -- annotations --------------------------------------------------------------------------------------------


def _annotated(count: int, **values: str) -> Callable[[Tenant], None]:
    """So many RayClusters with these annotations."""

    def make(tenant: Tenant) -> None:
        for number in range(count):
            made = _cluster(tenant, number)
            made["metadata"]["annotations"].update(values)
            tenant.put("rayclusters", made)

    return make


def _annotated_pods(count: int, **values: str) -> Callable[[Tenant], None]:
    def make(tenant: Tenant) -> None:
        for number in range(count):
            made = _pod(tenant, number)
            made["metadata"]["annotations"].update(values)
            tenant.put("pods", made)

    return make


def _long_annotations(tenant: Tenant) -> None:
    names = ("rayscaler.dev/managed", "rayscaler.dev/suspended-by-idle-termination", "kueue.x-k8s.io/elastic-job")
    _annotated(5, **{name: "x" * (ANNOTATION_BYTES // len(names)) for name in names})(tenant)
    names = ("rayscaler.dev/do-not-disrupt", "rayscaler.dev/protected")
    names += ("karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict")
    _annotated_pods(5, **{name: "x" * (ANNOTATION_BYTES // len(names)) for name in names})(tenant)


def _json_map(key: str, value: Any) -> str:
    return json.dumps({f"{key}{i}": value for i in range(ANNOTATION_BYTES // (len(json.dumps(value)) + len(key) + 12))})


RESIZE_GROUP = {"max-cpu": "6", "max-memory": "8Gi", "resize-timeout": 300}
BUNDLES = json.dumps(fill(lambda number: {"CPU": 1 + number / 10000}, ANNOTATION_BYTES))
ANNOTATIONS = [
    Kind("request-resources", "10 RayClusters with 246 kB of bundles for each tenant", _annotated(10, **{REQUEST_ANNOTATION: BUNDLES})),
    Kind("resize-limits", "10 RayClusters with 246 kB of ray.io/ippr for each tenant",
         _annotated(10, **{"ray.io/ippr": json.dumps({"groups": json.loads(_json_map("g", RESIZE_GROUP))})})),
    Kind("resize-status", "10 Pods with 246 kB of ray.io/ippr-status for each tenant",
         _annotated_pods(10, **{"ray.io/ippr-status": _json_map("k", 1)})),
    Kind("gpushare", "10 Pods with 246 kB of allocations for each tenant",
         _annotated_pods(10, **{"scheduler.framework.gpushare.allocation": _json_map("c", {"0": 1}), "ALIYUN_COM_GPU_MEM_IDX": "0"})),
    Kind("long-annotations", "annotations of which a word is read, as long as they may be", _long_annotations),
]

# -- single loads -------------------------------------------------------------------------------------------


def _thousand_groups(tenant: Tenant) -> None:
    for number in range(2):
        manifest = objects.cluster(tenant.namespace, f"c-{number}", tenant.port, *(group(f"g-{i}") for i in range(1000)))
        tenant.put("rayclusters", manifest)


def _claim_by(tenant: Tenant, name: str, text: str) -> Object:
    """A group that claims by a template with this CEL text."""
    spec = {"spec": {"devices": {"requests": [request("r", cel=text)]}}}
    metadata = {"name": f"t-{name}", "namespace": tenant.namespace}
    tenant.put("resourceclaimtemplates", {"apiVersion": claims.API, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec})
    made = group(f"g-{name}", minReplicas=1)
    made["template"]["spec"] = with_claim(made["template"]["spec"], f"t-{name}")
    return made


def _slices(tenant: Tenant, name: str, count: int) -> None:
    for number in range(count):
        tenant.put("resourceslices", claims.slice_of(f"{name}-{number:04d}", [claims.gpu(i) for i in range(8)]))


def _claim_texts(tenant: Tenant) -> None:
    """Of 16 groups each claims by a template with a CEL text of its own, as long as it may be; 1,000 Nodes."""
    parts = [f"device.attributes['gpu.nvidia.com'].index == {number} || " for number in range(16)]
    made = [_claim_by(tenant, str(number), part * (CEL_BYTES // len(part)) + "false") for number, part in enumerate(parts)]
    _slices(tenant, "texts", 1000)
    tenant.cluster(*made)


def _claim_groups(tenant: Tenant) -> None:
    made = [_claim_by(tenant, str(number), f"device.attributes['gpu.nvidia.com'].index >= {number % 8}") for number in range(100)]
    _slices(tenant, "groups", 20)
    tenant.cluster(*made)


def _templates(tenant: Tenant) -> None:
    shape = SHAPES["ResourceClaimTemplate"]
    for number in range(24):
        made = shape.make(tenant, number)
        shape.grow[0](made)
        tenant.put(shape.plural, made)


def _pinned(tenant: Tenant) -> None:
    made = [group(f"g-{number}") for number in range(20)]
    for number, one in enumerate(made):
        one["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.clique": f"domain.{number}"}
        one["rayStartParams"]["labels-file"] = "/labels.yaml"
    first = tenant.cluster(group(replicas=20), *made)
    for number in range(20):
        tenant.put("pods", objects.worker_pod(first, number))


def _silent(scale: float) -> Kind:
    count = max(1, int(scale * 2000))

    def make(tenant: Tenant) -> None:
        for number in range(count):
            made = tenant.put("rayclusters", _cluster(tenant, number))
            tenant.put("pods", objects.head_pod({**_cluster(tenant, number), "metadata": made["metadata"]}, tenant.ip))

    return Kind("silent-heads", f"{count:,} heads that accept calls and are silent", make, "silent", most=1)


def _unregistered(scale: float) -> Kind:
    count = max(1, int(scale * 36_000))

    def make(tenant: Tenant) -> None:
        for number in range(count):
            tenant.put("pods", _pod(tenant, number))

    return Kind("pods-unregistered", f"{count:,} Pods of one cluster whose raylets its Ray does not know", make, "rest", most=1)


# -- readers ------------------------------------------------------------------------------------------------


def _read(tenant: Tenant, address: str, path: str, secure: bool) -> None:
    host, _, port = address.rpartition(":")
    try:
        made = socket.create_connection((host, int(port)), timeout=20)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made = tokens.UNVERIFIED.wrap_socket(made) if secure else made
        made.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer honest\r\n\r\n".encode())
    except OSError:  # there are enough connections
        return
    tenant.state.setdefault("sockets", []).append(made)


def _close(tenant: Tenant) -> None:
    for one in tenant.state.pop("sockets", []):
        one.close()


def unread(name: str, address: str, path: str, secure: bool, scale: float) -> Kind:
    """READERS requests whose answers are not read; ``path`` may name "{cluster}", one of 5,000 Pods."""

    def make(tenant: Tenant) -> None:
        if "{cluster}" in path:
            for number in range(max(1, int(scale * 5000))):
                tenant.put("pods", _pod(tenant, number))
        _step(tenant)

    def _step(tenant: Tenant) -> None:
        """Connections that the program has closed are opened again."""
        _close(tenant)
        for _ in range(READERS):
            _read(tenant, address, path.format(cluster=f"{tenant.namespace}/{tenant.kind}"), secure)

    return Kind(name, f"{READERS} readers of {path} that do not read", make, "rest", _step, 3.0, 1, _close)


PAGES = {
    "unread-status": "/status",
    "unread-cluster": "/status/{cluster}",
    "unread-snapshot": "/snapshot/{cluster}",
    "unread-metrics": "/metrics",
    "unread-gpu-holders": "/gpu-holders/{cluster}",
    "unread-work": "/work/{cluster}",
}


def all_kinds(metrics: str, health: str, scale: float) -> List[Kind]:
    """``metrics``, ``health``: addresses of the program."""
    made = [kind for name, shape in SHAPES.items() for kind in of_shape(name, shape, scale)] + ANNOTATIONS
    made += [
        Kind("groups-1k", "2 RayClusters of 1,000 groups for each tenant", _thousand_groups),
        Kind("claim-texts", "16 groups with 9 KiB of CEL each, 1,000 Nodes with devices", _claim_texts, most=1),
        Kind("claim-groups", "100 groups that claim by CEL, 20 Nodes with devices, a head", _claim_groups, "rest", most=1),
        Kind("templates-24", "24 ResourceClaimTemplates of 1.25 MB in one namespace", _templates, most=1),
        Kind("topology-pinned", "6,000 placement groups with topology_strategy, 20 pinned groups", _pinned, "topology-6k", most=1),
        _silent(scale),
        _unregistered(scale),
    ]
    made += [unread(name, metrics, path, True, scale) for name, path in PAGES.items()]
    return made + [unread("unread-healthz", health, "/healthz", False, scale)]
