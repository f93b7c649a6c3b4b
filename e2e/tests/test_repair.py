"""Nodes with the sign of a sick GPU: work moves to a replacement that is there, and the Node is let go."""

import time

import pytest
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

IDLE = 3
TAINT = {"key": "nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"}
GROUP, PLURAL = "nvsentinel.nvidia.com", "drainrequests"
CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message")},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}


@pytest.fixture
def drain_requests(api_server, namespace):
    """NVSentinel's kind DrainRequest, as its CRD of plugins/slinky-drainer has it; requests live in ``namespace``."""
    definitions = api_server.admin.of("customresourcedefinitions")
    text = {"type": "string"}
    spec = {"type": "object", "required": ["nodeName"], "properties": {n: text for n in ("nodeName", "checkName", "reason")}}
    status = {"type": "object", "properties": {"conditions": {"type": "array", "items": CONDITION}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": "DrainRequest", "plural": PLURAL, "singular": "drainrequest", "listKind": "DrainRequestList"}
    definitions.create(
        {
            "metadata": {"name": f"{PLURAL}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": names,
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        }
    )
    path = f"/apis/{GROUP}/v1alpha1/{PLURAL}"
    wait_until(lambda: api_server.admin.request("GET", path).status == 200, 30, "the kind to be served")
    api_server.grant(
        namespace,
        PLURAL,
        [
            {"apiGroups": [GROUP], "resources": [PLURAL], "verbs": ["list", "watch"]},
            {"apiGroups": [GROUP], "resources": [f"{PLURAL}/status"], "verbs": ["patch"]},
        ],
    )
    yield api_server.admin.of(PLURAL, namespace)
    definitions.delete(f"{PLURAL}.{GROUP}")


def joined(one):
    return {n["pod"] for n in one.witness.latest()["nodes"] if n["group"] == "gpu-group" and n["status"] != "DEAD"}


def test_work_moves_to_a_replacement_that_is_there(shared, controller, api_server):
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    nodes = api_server.admin.of("nodes")
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", "300")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        nodes.create({"metadata": {"name": node}, "spec": {"taints": [TAINT]}})
        try:
            control.wait_for("ScaleUpReplacement", f"Node {node} is to be repaired", TAINT["key"], seconds=20)
            ((_, deadline),) = wait_until(lambda: program.call("draining").items(), 60, "Ray to know")
            assert time.time() + 280 < deadline <= time.time() + 300
            assert len(joined(one)) == 2, "the replacement was there before"
            hold(lambda: old in one.workers() and not one.workers_to_delete(), 2, "nobody ends what is in use")
            assert program.call("alive", name="busy") == [old]
        finally:
            nodes.delete(node)
        program.end()


def test_a_sign_that_ends_undoes_everything(shared, controller, api_server):
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    nodes = api_server.admin.of("nodes")
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "1")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        nodes.create({"metadata": {"name": node}, "spec": {"taints": [TAINT]}})
        try:
            control.wait_for("ScaleUpReplacement", f"Node {node} is to be repaired", seconds=20)
        finally:
            nodes.delete(node)
        wait_until(lambda: one.workers() == [old] and one.replicas() == 1, 60, "the replacement to end as idle")
        assert program.call("draining") == {} and program.call("alive", name="busy") == [old]
        program.end()


def test_a_drain_request_is_completed_when_the_node_is_empty(shared, controller, api_server, drain_requests):
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=300)
    nodes = api_server.admin.of("nodes")
    api_server.let_read_nodes(one.namespace)
    controller(one.namespace, "--repair-drain-requests")
    with one.program() as program:
        program.call("request", bundles=[{"GPU": 1}])
        one.wait_joined(1)
        program.call("request", bundles=[])
        node = one.worker_pods()[0]["spec"]["nodeName"]
        nodes.create({"metadata": {"name": node}, "spec": {"unschedulable": True}})
        try:
            spec = {"nodeName": node, "reason": "double bit error"}
            drain_requests.create({"metadata": {"name": "drain-1"}, "spec": spec})
            get = lambda: drain_requests.get("drain-1").get("status", {}).get("conditions")  # noqa: E731
            conditions = wait_until(get, 60, "the request to be complete")
            assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [("DrainComplete", "True", "NoPods")]
            assert not [p for p in one.worker_pods() if p["spec"]["nodeName"] == node]
        finally:
            nodes.delete(node)
        program.end()
