"""The GPUPool as an API server has it: its schema, its columns, its status."""

import json
import re
import subprocess
from typing import Any, Dict

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e.cli import RBAC, USER, Cli
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
DOCUMENT = paths.ROOT / "docs" / "GPUPOOL.md"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def pool(name: str = "a100", **spec: Any) -> Object:
    return {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "GPUPool", "metadata": {"name": name}, "spec": spec}


def queues(*changed: Object) -> Object:
    return pool(queues=[{"name": f"team-{i}", "namespaceSelector": {}, **one} for i, one in enumerate(changed)])


def selector(**expression: Any) -> Object:
    return queues({"namespaceSelector": {"matchExpressions": [{"key": "team", **expression}]}})


@pytest.fixture
def pools(api_server):
    resource = api_server.admin.of("gpupools")

    def clean() -> None:
        for obj in resource.items():
            resource.delete(obj["metadata"]["name"], missing_ok=True)

    clean()
    yield resource
    clean()


def test_pools_that_the_schema_refuses(api_server, pools):
    refused = [
        ("spec: Required", {k: v for k, v in pool().items() if k != "spec"}),
        ("spec.groups", pool(groups={})),
        ("spec.groups.acceleratorType", pool(groups={"acceleratorType": ""})),
        ("spec.groups.nodeSelector", pool(groups={"nodeSelector": {}})),
        ("spec.groups.nodeSelector.a", pool(groups={"nodeSelector": {"a": 1}})),
        ("spec.gpus", pool(gpus=-1)),
        ("spec.gpus", pool(gpus=1000001)),
        ("spec.gpus", pool(gpus="many")),
        ("spec.queues[0].name: Required", pool(queues=[{"namespaceSelector": {}}])),
        ("spec.queues[0].namespaceSelector: Required", pool(queues=[{"name": "a"}])),
        ("spec.queues[0].name", queues({"name": "Research"})),
        ("spec.queues[0].name", queues({"name": "a" * 64})),
        ("spec.queues[1]: Duplicate", queues({"name": "a"}, {"name": "a"})),
        ("spec.queues: Too many", queues(*[{}] * 201)),
        ("guaranteed is above maximum", queues({"guaranteed": 2, "maximum": 1.5})),
        ("lendable is above guaranteed", queues({"guaranteed": 2, "lendable": 3})),
        ("lendable is above guaranteed", queues({"lendable": 1})),
        ("spec.queues[0].guaranteed", queues({"guaranteed": -0.5})),
        ("spec.queues[0].weight", queues({"weight": 0})),
        ("spec.queues[0].weight", queues({"weight": 1000001})),
        ("spec.queues[0].priority", queues({"priority": 1000001})),
        ("matchExpressions[0].operator", selector(operator="Near")),
        ("In and NotIn need values", selector(operator="In")),
        ("In and NotIn need values", selector(operator="In", values=[])),
        ("take none", selector(operator="Exists", values=["a"])),
        ("spec.queues[0].busy", queues({"busy": "Sometimes"})),
        ("spec.queues[0].busy", queues({"busy": {}})),
        ("spec.reclaim.busy.afterSeconds", pool(reclaim={"busy": {"afterSeconds": 0}})),
        ("spec.reclaim.busy.afterSeconds", pool(reclaim={"busy": {"afterSeconds": "1"}})),
        ("spec.reclaim.idleAfterSeconds", pool(reclaim={"idleAfterSeconds": -1})),
        ("spec.reserveAfterSeconds", pool(reserveAfterSeconds=2592001)),
        ("spec.reserveAfterSeconds", pool(reserveAfterSeconds="Sometimes")),
        ("spec.reserve.atMostSeconds", pool(reserve={"atMostSeconds": 0})),
        ("spec.repair.maxUnavailable", pool(repair={"maxUnavailable": -1})),
    ]
    for field, body in refused:
        with pytest.raises(ApiError) as error:
            pools.create(body)
        assert error.value.status == 422 and field in error.value.message, (field, body, error.value.message)
    # As kubectl asks for it.
    for body in (pool(guaranteed=1), queues({"gauranteed": 1})):
        answer = api_server.admin.request("POST", pools.path(), body, params={"fieldValidation": "Strict"})
        assert answer.status == 400 and "unknown field" in answer.body["message"], answer.body


def test_pools_that_the_schema_accepts(pools):
    accepted = [
        pool(),
        pool(groups={"acceleratorType": "A100", "resourceName": "nvidia.com/gpu", "nodeSelector": {"a": "b"}}, gpus=0.5),
        pool(queues=[]),
        queues({"guaranteed": 2, "maximum": 2, "lendable": 0, "weight": 3, "priority": -5, "busy": "Never"}),
        queues({"guaranteed": 2.25, "maximum": 3, "busy": {"afterSeconds": 600}}, {}),
        queues(*[{}] * 200),
        selector(operator="In", values=["a", "b"]),
        selector(operator="DoesNotExist"),
        pool(reclaim={"idleAfterSeconds": 0, "busy": {"afterSeconds": 600}}, reserveAfterSeconds=0),
        pool(reserveAfterSeconds="Never", reserve={"atMostSeconds": 60}),
        pool(repair={"maxUnavailable": 0}),
        pool(kueueOutside=True, reclaim={"keepDoNotDisrupt": True}),
    ]
    for i, body in enumerate(accepted):
        body["metadata"]["name"] = f"pool-{i}"
        assert pools.create(body)["spec"] == body["spec"]


STATUS = {
    "observedGeneration": 1,
    "summary": {"gpus": "52 of 64", "queues": "research 28/16, serving 24/24"},
    "gpus": {"total": "64", "held": "52", "waiting": "8.5"},
    "queues": [
        {
            "name": "research",
            "held": "28",
            "busy": "27",
            "idle": "1",
            "borrowed": "12",
            "guaranteed": "16",
            "waiting": "8.5",
            "waitingUnits": 2,
            "share": "0.0938",
        },
        {
            "name": "serving",
            "held": "24",
            "busy": "24",
            "idle": "0",
            "borrowed": "0",
            "guaranteed": "24",
            "waiting": "0",
            "waitingUnits": 0,
            "share": "0",
            "belowGuaranteeSince": "2026-01-01T00:00:00Z",
        },
    ],
    "waiting": [{"cluster": "r/demo", "groups": "gpu-group*8", "gpus": "8", "count": 1, "since": "2026-01-01T00:00:00Z"}],
    "reservedFor": "r/demo: gpu-group*8",
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "PoolReady",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
    "lastUpdateTime": "2026-01-01T00:00:00Z",
}


def test_columns_and_status(api_server, pools):
    pools.create(pool(gpus=64))
    # The object's own writers cannot write the status, and the status' writer cannot write the spec.
    pools.patch_merge("a100", {"status": STATUS})
    assert "status" not in pools.get("a100")
    pools.patch_merge("a100", {"status": STATUS, "spec": {"gpus": 1}}, subresource="status")
    found = pools.get("a100")
    assert found["status"] == STATUS and found["spec"] == {"gpus": 64}
    pools.patch_merge("a100", {"status": {"lastUpdateTime": None, "reservedFor": ""}}, subresource="status")
    assert "lastUpdateTime" not in pools.get("a100")["status"]
    table = api_server.admin.call("GET", pools.path(), headers={"Accept": TABLE})
    cells = dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"]))
    assert cells["GPUs held"] == "52 of 64" and cells["Waiting"] == "8.5"
    assert cells["Ready"] == "True"
    assert cells["Queues held/guaranteed"] == "research 28/16, serving 24/24" and cells["Age"]


def allowed(cli: Cli) -> str:
    done = subprocess.run(cli.words("status", "--pools"), capture_output=True, text=True, timeout=60, check=False, env=cli.env)
    return done.stdout if done.returncode == 0 else ""


@pytest.fixture
def pools_reader(api_server, namespace):
    """The chart's ClusterRole rayscaler-pools, which nothing but this makes here, bound to the user of the CLI on demand."""
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "rayscaler-pools"},
        "rules": [{"apiGroups": ["rayscaler.dev"], "resources": ["gpupools"], "verbs": ["get", "list", "watch"]}],
    }
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "pools-of-the-test"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "rayscaler-pools"},
        "subjects": [{"kind": "ServiceAccount", "name": USER, "namespace": namespace}],
    }
    yield lambda: [api_server.apply(obj) for obj in (role, binding)]
    # Helm takes no object that it has not made, so that an installation beside this one would fail.
    for kind, obj in (("clusterrolebindings", binding), ("clusterroles", role)):
        api_server.admin.of(kind).delete(obj["metadata"]["name"], missing_ok=True)


def test_status_of_pools(api_server, pools, pools_reader, namespace, work_dir):
    cli = Cli(api_server, namespace, work_dir)
    denied = cli.run("status", "--pools", status=1)
    assert "create clusterrolebinding NAME --clusterrole=rayscaler-pools" in denied.stderr
    pools_reader()
    # The server sees a new binding after a moment.
    first = wait_until(lambda: allowed(cli), 20, "the right to read pools")
    assert first == "there are no GPUPools; docs/GPUPOOL.md has one to apply\n"
    pools.create(pool(gpus=64))
    assert cli.run("status", "--pools").stdout.startswith("a100: no status yet; a controller for all namespaces writes it")
    pools.patch_merge("a100", {"status": STATUS}, subresource="status")
    shown = cli.run("status", "--pools").stdout
    assert re.match(r"a100: 52 of 64 GPUs held, 8\.5 waiting \(\S+ ago\)\n", shown)
    assert re.search(r"^research +#{10}\+{7}-?w+ +28 +16 +12 +1 +8\.5 +-$", shown, re.MULTILINE), shown
    assert "waits longest: r/demo: 1 x gpu-group*8 (8 GPUs) for " in shown and "free GPUs are kept for r/demo: gpu-group*8" in shown
    (one,) = json.loads(cli.run("status", "--pools", "-o", "json").stdout)["pools"]
    assert one == {"name": "a100", "problem": "", "status": STATUS}


def test_what_the_document_shows(api_server, pools, kubectl):
    """docs/GPUPOOL.md: its manifest, and kubectl's words for it."""
    manifest = re.search(r"^```yaml\n(apiVersion.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL).group(1)
    kubectl.run("apply", "-f", "-", stdin=manifest)
    assert pools.get("a100")["spec"] == yaml.safe_load(manifest)["spec"]
    kubectl.run("apply", "-f", "-", stdin=manifest.replace("busy: Never", "busy: {afterSeconds: 60}"))
    assert pools.get("a100")["spec"]["reclaim"]["busy"] == {"afterSeconds": 60}
    kubectl.run("get", "gpool")
    fields = kubectl.run("explain", "gpool.spec", "--recursive").stdout
    assert all(field in fields for field in ("groups", "gpus", "queues", "reclaim", "reserveAfterSeconds"))
    said = kubectl.run("apply", "-f", "-", stdin=manifest.replace("maximum", "maximun"), status=1)
    assert 'unknown field "spec.queues[0].maximun"' in said.stderr
