"""The attacks, one row each. Those of every kind, annotation and page: ``sizes``."""

import json
import random
import secrets
import sys
from typing import Callable, Dict, List, Optional, Tuple

from .. import kuberay_pod as kp
from ..scenario import REQUEST_ANNOTATION
from . import claims, objects, tokens
from .attack import Attack, Kind
from .objects import Object, Tenant, group

NUL = "a\0b"
BIG_BYTES = 1_400_000
DEPTH = 9000
GROUPS = 300
REQUESTS = 10_000
CONTAINERS = 75_000
SURPLUS = 10_000
FORGED = "forged-pods"
sys.setrecursionlimit(8 * DEPTH)  # json writes nested objects by recursion
Victim = Tuple[str, str, str]


# -- objects ------------------------------------------------------------------------------------------------


def _annotated(tenant: Tenant, value: str) -> None:
    tenant.cluster(edit=lambda made: made["metadata"]["annotations"].update(note=value))


def _nested(depth: int) -> Object:
    value: Object = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def _pod(tenant: Tenant, made: Optional[Object] = None, name: str = "", **annotations: str) -> Object:
    pod = objects.worker_pod(made or tenant.cluster(), name=name)
    pod["metadata"]["annotations"].update(annotations)
    return pod


def _nul_pod(tenant: Tenant) -> None:
    tenant.put("pods", _pod(tenant, note=NUL))


def _stray_pod(tenant: Tenant) -> None:
    """Ray's labels, and no RayCluster anywhere."""
    pod = _pod(tenant, {**objects.cluster(tenant.namespace, tenant.kind, 1), "metadata": _identity(tenant)}, note=NUL)
    del pod["metadata"]["ownerReferences"]
    tenant.put("pods", pod)


def _identity(tenant: Tenant) -> Object:
    return {"name": tenant.kind, "namespace": tenant.namespace, "uid": "0"}


def _big_pod(tenant: Tenant, name: str = "", made: Optional[Object] = None) -> Object:
    pod = _pod(tenant, made, name, change="0")
    pod["spec"]["containers"][0]["args"] = ["<" * BIG_BYTES]
    return pod


def _one_big_pod(tenant: Tenant) -> None:
    tenant.state["pod"] = tenant.put("pods", _big_pod(tenant))


def _change_big_pod(tenant: Tenant) -> None:
    _change(tenant, "pods", "pod")


def _big_pods(tenant: Tenant) -> None:
    made = tenant.cluster()
    for number in range(30):
        tenant.put("pods", _big_pod(tenant, f"big-{number}", made))


def _clusters(tenant: Tenant, count: int, edit: Callable[[Object], None]) -> None:
    """``count`` RayClusters in the tenant's namespace."""
    for number in range(count):
        made = objects.cluster(tenant.namespace, f"{tenant.kind}-{number}", tenant.port)
        edit(made)
        tenant.put("rayclusters", made)


def _many_requests(tenant: Tenant) -> None:
    bundles = json.dumps([{"CPU": number / 8, "x": 1} for number in range(REQUESTS)])
    assert 240_000 < len(bundles) < 256 << 10
    _clusters(tenant, 100, lambda made: made["metadata"]["annotations"].update({REQUEST_ANNOTATION: bundles}))


def _many_containers(made: Object) -> None:
    spec = made["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    spec["containers"] += [{"name": f"c{number}"} for number in range(CONTAINERS)]


def _surplus_pods(tenant: Tenant) -> None:
    """Running, above maxReplicas, and no raylet of theirs registers."""
    made = tenant.cluster(group(maxReplicas=1))
    for number in range(SURPLUS):
        tenant.put("pods", objects.worker_pod(made, number))


def _change(tenant: Tenant, plural: str, key: str) -> None:
    obj = tenant.state[key]
    count = int(obj["metadata"]["annotations"].get("change", "0")) + 1
    obj["metadata"]["annotations"]["change"] = str(count)
    tenant.put(plural, obj)


def _changing(tenant: Tenant) -> None:
    tenant.state["cluster"] = tenant.cluster()


def _reverting(tenant: Tenant) -> None:
    """Asks for workers by minReplicas and puts replicas back (``fleet`` does that by itself)."""
    tenant.state["cluster"] = tenant.cluster(group(minReplicas=3))


def _revert(tenant: Tenant) -> None:
    tenant.put("rayclusters", tenant.state["cluster"])


# -- replies ------------------------------------------------------------------------------------------------


def _many_groups(tenant: Tenant) -> None:
    tenant.cluster(*(_sized_group(number) for number in range(GROUPS)))


def _sized_group(number: int) -> Object:
    limits = {"cpu": str(1 + number % 50), "memory": f"{1 + number}Gi"}
    made = group(f"g{number}", maxReplicas=1000)
    made["template"]["spec"]["containers"][0]["resources"]["limits"] = limits
    return made


def _with_worker(tenant: Tenant) -> None:
    made = tenant.cluster(group(replicas=1))
    tenant.put("pods", objects.worker_pod(made))


def _plain(tenant: Tenant) -> None:
    tenant.cluster()


def _of_v1(tenant: Tenant) -> None:
    tenant.cluster(edit=lambda made: made["spec"]["autoscalerOptions"].update(version="v1"))


def _reply(name: str, what: str, make: Callable[[Tenant], None] = _plain) -> Kind:
    return Kind(name, what, make, name)


def _flood(name: str, what: str) -> Kind:
    return Kind(name, f"{what} without end", _plain, name)


def _forge_demand(tenant: Tenant) -> None:
    made = group(maxReplicas=10_000)
    made["template"]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "100"}
    tenant.state["cluster"] = tenant.cluster(made)


def _ask_otherwise(tenant: Tenant) -> None:
    bundles = [{"GPU": 100}] * random.randrange(1, 1000)
    tenant.state["cluster"]["metadata"]["annotations"][REQUEST_ANNOTATION] = json.dumps(bundles)
    tenant.put("rayclusters", tenant.state["cluster"])


# Beside a fleet with a GPUPool (``Fleet.add_pool``).
FORGED_DEMAND = Kind(
    "forged-demand", "1,000,000 bundles, a gang larger than the pool, asks that change each second", _forge_demand, "forged-demand",
    _ask_otherwise,
)
OBJECTS = [
    Kind("nul-annotation", "NUL in an annotation of a RayCluster", lambda tenant: _annotated(tenant, NUL)),
    Kind("nul-group", "NUL in a groupName", lambda tenant: tenant.cluster(group("g\0"))),
    Kind("nul-pod", "NUL in an annotation of a worker Pod", _nul_pod),
    Kind("nul-stray-pod", "the same of a Pod with Ray's labels alone", _stray_pod),
    Kind("big-pod", "a Pod of 8.4 MB of JSON, changed once a second", _one_big_pod, step=_change_big_pod),
    Kind("big-pods", "30 Pods of 8.4 MB of JSON", _big_pods, most=1),
    Kind("requests", "100 RayClusters with 246 kB of requested bundles", _many_requests, most=1),
    Kind("containers", "20 RayClusters with 75,000 containers", lambda tenant: _clusters(tenant, 20, _many_containers), most=1),
    Kind("surplus", "10,000 running Pods above maxReplicas that are not in Ray", _surplus_pods, "rest", most=1),
    Kind("deep", "a RayCluster nested 9,000 deep", lambda tenant: tenant.cluster(tlsOptions=_nested(DEPTH))),
]
# Of Dynamic Resource Allocation.
CLAIMS = [
    Kind("dra-slices", "10,000 ResourceSlices", claims.many_slices, most=1),
    Kind("dra-counters", "1,000,000 counters of partitionable devices", claims.many_counters, most=1),
    Kind("dra-cel", "selectors that are deep, loop or grow", claims.costly_selectors),
    Kind("dra-circles", "claims and requests that name each other", claims.circles),
    Kind("dra-results", "1,000,000 results of claims", claims.many_results, most=1),
    Kind("dra-changing", "claims that change 100 times a second, beside 1,000 ResourceSlices", claims.changing, "rest",
         claims.change, 0.01),
]
SPEEDS = [
    Kind("changing", "a RayCluster that changes 100 times a second", _changing, "rest",
         lambda tenant: _change(tenant, "rayclusters", "cluster"), 0.01),
    Kind("reverting", "a RayCluster whose replicas are reverted", _reverting, "rest", _revert, 0.2),
]
REPLIES = [
    _reply("shapes-300k", "300,000 shapes, 7.8 MB"),
    _reply("nodes-1m", "1,000,000 nodes, 20.0 MB"),
    _reply("nodes-empty", "64 MiB of empty nodes"),
    _reply("stall-60m", "a reply that stops after 60 MiB"),
    _reply("shapes-100k", "100,000 shapes, 4.1 MB, for 300 groups", _many_groups),
    _reply("shapes-8k", "8,500 shapes, 0.35 MB, for 300 groups", _many_groups),
    _reply("gangs-1k", "1,000 distinct placement groups", _many_groups),
    _reply("numbers", "integers and amounts beyond their bounds", _with_worker),
    _reply("kv-requests", "0.6 MB of requests stored under autoscaler v1", _of_v1),
]
FLOODS = [
    _flood("flood-rst", "RST_STREAM"),
    _flood("flood-window", "WINDOW_UPDATE"),
    _flood("flood-data", "empty DATA"),
    _flood("flood-1xx", "1xx headers"),
    _flood("flood-unknown", "unknown frames"),
    _flood("flood-ping", "PING"),
    _flood("flood-settings", "SETTINGS"),
]


def forged_tokens(address: str) -> Kind:
    """Requests for the metrics at ``address``, each with another bearer token, as fast as a tenant can."""

    def step(_tenant: Tenant) -> None:
        tokens.status_of(address, "/metrics", secrets.token_hex(16))

    return Kind("forged-tokens", "requests with forged bearer tokens", lambda _tenant: None, step=step, period=0.001, most=4)


def forged_pods(victims: List[Victim]) -> Kind:
    """Pods with the labels of other tenants' clusters, made in their namespaces by a user with the right to create Pods
    there: a head whose name sorts first, and a worker. ``victims``: namespace, name, uid of a RayCluster."""

    def make(tenant: Tenant) -> None:
        namespace, name, uid = victims[(tenant.number - 1) % len(victims)]
        claimed = objects.cluster(namespace, name, tenant.port)
        claimed["metadata"]["uid"] = uid
        forged = [objects.head_pod(claimed, tenant.ip), objects.worker_pod(claimed)]
        for pod, first in zip(forged, ("0-forged-head", "0-forged-worker")):
            del pod["metadata"]["ownerReferences"]
            pod["metadata"]["name"] = f"{first}-{tenant.number}"
            assert pod["metadata"]["labels"][kp.CLUSTER_LABEL] == name
            tenant.put("pods", pod)

    return Kind(FORGED, "a forged head and a forged worker of another's cluster", make, "rest")
