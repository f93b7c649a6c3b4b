"""Attacks by objects of Dynamic Resource Allocation: also by those that only a driver or an administrator
may write (ResourceSlices), as a driver may be wrong."""

from typing import Any, Dict, Iterator, List

from ..dra import request, with_claim
from .objects import Object, Tenant, group

API = "resource.k8s.io/v1"
DRIVER = "gpu.nvidia.com"
SLICES = 10_000
COUNTERS = 1_000_000
SETS_OF_SLICE = 32
COUNTERS_OF_SET = 128
RESULTS = 100_000
"""Of each of ten tenants."""
RESULTS_OF_CLAIM = 128
CEL_BYTES = 10_000
"""The API server refuses more than 10 KiB."""


def _object(kind: str, name: str, namespace: str, **members: Any) -> Object:
    """``namespace`` "": of none."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, **members}


def _template(namespace: str, name: str, *requests: Object, **devices: Any) -> Object:
    return _object("ResourceClaimTemplate", name, namespace, spec={"spec": {"devices": {"requests": [*requests], **devices}}})


def _claim(namespace: str, name: str, results: List[Object], **status: Any) -> Object:
    spec = {"devices": {"requests": [request("r")]}}
    return _object("ResourceClaim", name, namespace, spec=spec, status={"allocation": {"devices": {"results": results}}, **status})


def slice_of(name: str, devices: List[Object], **spec: Any) -> Object:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return _object("ResourceSlice", name, "", spec={"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices, **spec})


def gpu(number: int) -> Object:
    attributes: Dict[str, Object] = {"type": {"string": "gpu"}, "productName": {"string": f"GPU {number}"}, "index": {"int": number}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def _claiming(tenant: Tenant, *templates: str, **fields: Any) -> Object:
    """A RayCluster whose group claims by these templates."""
    made = group(**fields)
    for template in templates:
        made["template"]["spec"] = with_claim(made["template"]["spec"], template)
    return tenant.cluster(made)


def many_slices(tenant: Tenant) -> None:
    """A count over all Nodes is asked for as well."""
    tenant.put("resourceclaimtemplates", _template(tenant.namespace, "all", request("r", allocationMode="All")))
    for number in range(SLICES):
        tenant.put("resourceslices", slice_of(f"node-{number:05d}", [gpu(number % 8)]))
    _claiming(tenant, "all")


def many_counters(tenant: Tenant) -> None:
    tenant.put("resourceclaimtemplates", _template(tenant.namespace, "one", request("r")))
    for number in range(COUNTERS // (SETS_OF_SLICE * COUNTERS_OF_SET) + 1):
        # The first one is above the limit.
        counters = {f"c{j}": {"value": "1"} for j in range(COUNTERS_OF_SET)}
        sets = [{"name": f"set-{i}", "counters": counters} for i in range(SETS_OF_SLICE + (400 if number == 0 else 0))]
        devices = [{**gpu(i), "consumesCounters": [{"counterSet": "set-0", "counters": {"c0": {"value": "1"}}}]} for i in range(128)]
        tenant.put("resourceslices", slice_of(f"counters-{number}", devices, sharedCounters=sets))
    _claiming(tenant, "one")


def selectors() -> Iterator[str]:
    """Deep, with loops in loops, growing, and merely long."""
    yield "(" * (CEL_BYTES // 2 - 10) + "true" + ")" * (CEL_BYTES // 2 - 10)
    yield "!" * (CEL_BYTES - 10) + "true"
    yield "[" * (CEL_BYTES // 2 - 10) + "1" + "]" * (CEL_BYTES // 2 - 10)
    numbers = ",".join(map(str, range(400)))
    yield "".join(f"[{numbers}].all(v{i}, " for i in range(5)) + "true" + ")" * 5
    yield "'x'" + " + 'x'" * (CEL_BYTES // 7)
    yield "cel.bind(a, 'xxxxxxxx', " + "".join(f"cel.bind(b{i}, a + a, " for i in range(300)) + "a == ''" + ")" * 301
    yield " || ".join(["device.driver == 'x'"] * (CEL_BYTES // 25))
    yield " && ".join(["'x' in ['y', 'x']"] * (CEL_BYTES // 25))
    yield "device.driver.matches('^(a+)+$')" + " || device.driver.matches('((((a*)*)*)*)*b')" * 100
    yield "'" + "x" * CEL_BYTES + "' == device.attributes['gpu.nvidia.com'].type"
    yield "device.attributes['gpu.nvidia.com'].type == '" * 200


def costly_selectors(tenant: Tenant) -> None:
    for number, text in enumerate(selectors()):
        requests = [request(f"r{i}", cel=text) for i in range(32)]
        tenant.put("resourceclaimtemplates", _template(tenant.namespace, f"cel-{number}", *requests))
    for number in range(100):
        tenant.put("resourceslices", slice_of(f"cel-{number}-{tenant.number}", [gpu(i) for i in range(8)]))
    _claiming(tenant, *(f"cel-{number}" for number, _ in enumerate(selectors())))


def circles(tenant: Tenant) -> None:
    """Claims and requests that name each other, themselves and nothing."""
    names = [f"c{i}" for i in range(30)]
    for number, name in enumerate(names):
        other = names[(number + 1) % len(names)]
        results = [{"request": f"{other}/{name}", "driver": DRIVER, "pool": name, "device": other}]
        holders = [{"resource": "resourceclaims", "apiGroup": "resource.k8s.io", "name": one, "uid": one} for one in (other, name)]
        tenant.put("resourceclaims", _claim(tenant.namespace, name, results, reservedFor=holders))
    requests = [{"name": f"r{i}", "firstAvailable": [{"name": f"r{(i + 1) % 32}", "deviceClassName": f"r{i}"}] * 8} for i in range(32)]
    constraints = [{"requests": [f"r{(i + j) % 32}" for j in range(32)], "matchAttribute": f"{DRIVER}/r{i}"} for i in range(32)]
    tenant.put("resourceclaimtemplates", _template(tenant.namespace, "c0", *requests, constraints=constraints))
    _claiming(tenant, *["c0"] * 50)


def many_results(tenant: Tenant) -> None:
    for number in range(RESULTS // RESULTS_OF_CLAIM):
        results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": f"d{i}"} for i in range(RESULTS_OF_CLAIM)]
        tenant.put("resourceclaims", _claim(tenant.namespace, f"claim-{number}", results))
    tenant.put("resourceclaims", _claim(tenant.namespace, "long", [{}] * RESULTS))
    tenant.put("resourceclaimtemplates", _template(tenant.namespace, "one", request("r", count=RESULTS)))
    _claiming(tenant, "one")


def changing(tenant: Tenant) -> None:
    tenant.put("resourceclaimtemplates", _template(tenant.namespace, "one", request("r")))
    if tenant.number == 1:
        for number in range(1000):
            tenant.put("resourceslices", slice_of(f"node-{number:05d}", [gpu(i) for i in range(8)]))
    tenant.state["claim"] = _claim(tenant.namespace, "changes", [])
    _claiming(tenant, "one")


def change(tenant: Tenant) -> None:
    tenant.put("resourceclaims", tenant.state["claim"])
