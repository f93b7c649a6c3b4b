"""The rows of docs/internals/evidence.md that `rayscaler lint` reports, each in its test's name: an example is
changed, and the finding names the error, its place in the file, and the fix.

Every rule by itself has its files under src/test/lint/; here the program is run.
"""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest
import yaml

from rayscaler_e2e import lint_schema, paths
from rayscaler_e2e.apiserver import ADMIN_USER

Object = Dict[str, Any]
GPU = "nvidia.com/gpu"
LIMITS = 'template.spec.containers[0].resources.limits["nvidia.com/gpu"]'
MODEL = "nvidia.com/gpu.product"


@pytest.fixture
def lint(tmp_path):
    """``lint(example, change, nodes=None)``: the findings above info after ``change(cluster, group)``."""

    def run(example: str, change: Callable[[Object, Object], Any], nodes: Optional[List[Object]] = None) -> "Findings":
        cluster = yaml.safe_load((paths.ROOT / f"examples/{example}.yaml").read_text())
        change(cluster, cluster["spec"]["workerGroupSpecs"][0])
        file = tmp_path / f"{example}.yaml"
        file.write_text(yaml.safe_dump(cluster, sort_keys=False))
        words = ["lint", "-f", file, "-o", "json"]
        if nodes is not None:
            (tmp_path / "nodes.yaml").write_text(yaml.safe_dump_all(nodes))
            words += ["--nodes", tmp_path / "nodes.yaml"]
        done = subprocess.run([paths.program(), *map(str, words)], capture_output=True, text=True, timeout=30)
        assert done.returncode in (0, 1), done.stderr
        return Findings(json.loads(done.stdout), done.returncode, file.read_text().splitlines())

    return run


class Findings:
    def __init__(self, found: List[Object], status: int, lines: List[str]):
        self._found, self._status, self._lines = found, status, lines
        assert status == (1 if any(one["severity"] == "error" for one in found) else 0)

    def rules(self) -> List[str]:
        return [one["rule"] for one in self._found]

    def places(self, rule: str) -> List[str]:
        return sorted(one["path"] for one in self._found if one["rule"] == rule)

    def the(self, rule: str, severity: str, path_end: str, line_has: str, fix_has: str = "") -> None:
        """There is exactly one finding of the rule, of this severity, that points there."""
        (one,) = [one for one in self._found if one["rule"] == rule]
        assert one["severity"] == severity, one
        assert one["path"].endswith(path_end), one
        assert line_has in self._lines[one["line"] - 1], (one, self._lines[one["line"] - 1])
        assert fix_has in one["fix"], one
        assert one["message"] and one["column"] > 0


def limits(group: Object) -> Object:
    return group["template"]["spec"]["containers"][0]["resources"]["limits"]


def requests(group: Object) -> Object:
    return group["template"]["spec"]["containers"][0]["resources"]["requests"]


def renamed(group: Object, old: str, new: str, amount: Any = "1") -> None:
    """In the limits, which hold for the requests as well."""
    requests(group).pop(old, None)
    limits(group).pop(old, None)
    limits(group)[new] = amount


def node(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def test_a6_values_of_ray_start_params_are_strings(lint):
    found = lint("gpu", lambda _, group: group.update(rayStartParams={"num-gpus": 2}))
    found.the("ray-start-param-not-string", "error", "rayStartParams.num-gpus", "num-gpus: 2", '"2"')


def test_a6_another_number_of_gpus_than_the_limits_is_a_note(lint):
    found = lint("gpu", lambda _, group: group.update(rayStartParams={"num-gpus": "2"}))
    found.the("gpu-count-mismatch", "info", "rayStartParams.num-gpus", "num-gpus: '2'")


def test_a7_a_gpu_group_without_the_toleration(lint):
    def intolerant(_: Object, group: Object) -> None:
        group["template"]["spec"].pop("tolerations")

    tainted = node("gpu-1")
    tainted["spec"] = {"taints": [{"key": GPU, "effect": "NoSchedule"}]}
    tainted["status"] = {"capacity": {"cpu": "8", GPU: "8"}, "allocatable": {"cpu": "8", GPU: "8"}}
    lint("gpu", intolerant, [tainted]).the("gpu-toleration-missing", "info", "template.spec", "spec:", GPU)
    tainted["metadata"]["labels"] = {"cloud.google.com/gke-nodepool": "a"}
    assert "gpu-toleration-missing" not in lint("gpu", intolerant, [tainted]).rules()
    assert "gpu-toleration-missing" not in lint("gpu", intolerant).rules()


def test_a8_a_cpu_group_that_would_see_all_gpus(lint):
    def visible(cluster: Object, _: Object) -> None:
        (cpu,) = [g for g in cluster["spec"]["workerGroupSpecs"] if g["groupName"] == "cpu-group"]
        cpu["template"]["spec"]["containers"][0].pop("env")
        cpu["template"]["spec"]["tolerations"] = [{"key": GPU, "operator": "Exists"}]

    lint("cpu-beside-gpu", visible).the("gpu-visible-without-request", "info", "containers[0]", "name: ray-worker", "void")


def test_a9_a_node_selector_that_matches_no_node(lint):
    found = lint("gpushare", lambda *_: None, [node("a", gpushare="false"), node("b")])
    found.the("selector-matches-no-node", "warning", "nodeSelector.gpushare", "gpushare: 'true'")
    assert "selector-matches-no-node" not in lint("gpushare", lambda *_: None, [node("a", gpushare="true")]).rules()


def test_b3_a_request_of_one_and_a_half_gpus(lint):
    def ask(cluster: Object, _: Object) -> None:
        cluster["metadata"]["annotations"] = {"rayscaler.dev/request-resources": '[{"GPU": 1.5}]'}

    lint("gpu", ask).the("request-invalid", "error", '["rayscaler.dev/request-resources"]', "1.5")


def test_b5_neuron_devices_are_unknown_to_ray(lint):
    found = lint("neuron", lambda _, group: renamed(group, "aws.amazon.com/neuroncore", "aws.amazon.com/neuron"))
    found.the("gpu-unknown-to-ray", "warning", "workerGroupSpecs[0]", "groupName: inf2", "neuron_cores")


def test_b5_one_worker_with_gpus_and_neuron_cores(lint):
    found = lint("neuron", lambda _, group: renamed(group, "none", GPU))
    found.the("gpu-and-neuron", "warning", "workerGroupSpecs[0]", "groupName: inf2")


def test_c1_a_mig_profile_that_no_task_can_ask_for(lint):
    found = lint("mig", lambda _, group: group.pop("resources"))
    found.the("gpu-unknown-to-ray", "info", "workerGroupSpecs[0]", "groupName: mig-1g", "mig-1g.10gb")


def test_c2_a_share_of_memory_that_ray_does_not_know(lint):
    found = lint("gpushare", lambda _, group: group.update(rayStartParams={}))
    found.the("gpu-unknown-to-ray", "warning", "workerGroupSpecs[0]", "groupName: share", 'num-gpus: "1"')


def test_c5_a_share_is_not_a_pod_that_sees_all_gpus(lint):
    def beside(cluster: Object, share: Object) -> None:
        whole = yaml.safe_load((paths.ROOT / "examples/gpu.yaml").read_text())["spec"]["workerGroupSpecs"][0]
        cluster["spec"]["workerGroupSpecs"].append(whole)
        env = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
        share["template"]["spec"]["containers"][0]["env"] = [env]

    assert "gpu-visible-without-request" not in lint("gpushare", beside).rules()


def test_d1_the_obsolete_name(lint):
    found = lint("gpu", lambda _, group: renamed(group, GPU, "alpha.kubernetes.io/nvidia-gpu"))
    found.the("gpu-obsolete-resource", "warning", 'limits["alpha.kubernetes.io/nvidia-gpu"]', "nvidia-gpu: ", GPU)


def test_d2_half_a_gpu_in_limits(lint):
    found = lint("gpu", lambda _, group: renamed(group, GPU, GPU, "0.5"))
    found.the("gpu-not-integer", "error", LIMITS, f"{GPU}: '0.5'")


def test_d3_requests_without_limits(lint):
    found = lint("gpu", lambda _, group: limits(group).pop(GPU))
    found.the("gpu-request-without-limit", "error", LIMITS.replace("limits", "requests"), GPU)


def test_d3_requests_that_differ_from_limits(lint):
    found = lint("gpu", lambda _, group: requests(group).update({GPU: "2"}))
    found.the("gpu-request-limit-differ", "error", LIMITS.replace("limits", "requests"), GPU)


def test_d4_a_second_container_with_gpus(lint):
    def second(_: Object, group: Object) -> None:
        side = {"name": "side", "image": "side", "resources": {"limits": {GPU: "1"}}}
        group["template"]["spec"]["containers"].append(side)

    lint("gpu", second).the("gpu-in-second-container", "warning", LIMITS.replace("[0]", "[1]"), GPU)


def test_d5_required_affinity_that_matches_no_node(lint):
    def affine(_: Object, group: Object) -> None:
        wanted = {"matchExpressions": [{"key": MODEL, "operator": "In", "values": ["NVIDIA-L4"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wanted]}}
        group["template"]["spec"]["affinity"] = {"nodeAffinity": required}

    t4, l4 = node("t4", **{MODEL: "Tesla-T4"}), node("l4", **{MODEL: "NVIDIA-L4"})
    assert "selector-matches-no-node" in lint("gpu", affine, [t4]).rules()
    assert "selector-matches-no-node" not in lint("gpu", affine, [t4, l4]).rules()


def test_d5_the_obsolete_annotation(lint):
    def annotate(_: Object, group: Object) -> None:
        key = "scheduler.alpha.kubernetes.io/affinity"
        group["template"]["metadata"] = {"annotations": {key: "{}"}}

    assert "affinity-annotation-obsolete" in lint("gpu", annotate).rules()


def test_the_sample_of_the_document(tmp_path):
    text = (paths.ROOT / "examples/gpu.yaml").read_text().replace("rayStartParams: {}", "rayStartParams: {num-gpus: 2}")
    (tmp_path / "my-cluster.yaml").write_text(text)
    words = [paths.program(), "lint", "-f", "my-cluster.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert done.returncode == 1
    document = (paths.ROOT / "docs/COMMANDS.md").read_text()
    assert f"```console\n$ rayscaler lint -f my-cluster.yaml\n{done.stdout}```" in document, done.stdout
    coloured = subprocess.run([*words, "--color=always"], capture_output=True, text=True, timeout=30, cwd=tmp_path).stdout
    assert ": \033[31merror\033[0m: " in coloured
    assert re.sub("\033\\[[0-9]*m", "", coloured) == done.stdout


def test_a_name_of_a_device_table_is_declared_as_the_table_says(tmp_path):
    table = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "DeviceTable"}
    table["devices"] = [{"resource": "example.com/wafer", "kind": "NPU", "rayResource": "wafer"}]
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(table))
    text = (paths.ROOT / "examples/gpu.yaml").read_text().replace("nvidia.com/gpu: ", "example.com/wafer: ")
    (tmp_path / "cluster.yaml").write_text(text)
    words = [paths.program(), "lint", "-f", "cluster.yaml", "-o", "json", "--device-table", "table.yaml"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    (one,) = [one for one in json.loads(done.stdout) if one["rule"] == "gpu-unknown-to-ray"]
    assert 'wafer\\": 1' in one["fix"] and "no demand for wafer" in one["message"], one


def test_from_cluster(api_server, namespace, work_dir):
    """The same of RayClusters that the API server holds: there is no file, so no line."""
    cluster = yaml.safe_load((paths.ROOT / "examples/gpushare.yaml").read_text())
    cluster["spec"]["workerGroupSpecs"][0]["rayStartParams"] = {}
    cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["terminationGracePeriodSeconds"] = 7200
    api_server.admin.of("rayclusters", namespace).create(cluster)
    config = api_server.write_kubeconfig(work_dir / "admin.kubeconfig", token=api_server.tokens[ADMIN_USER])
    words = [paths.program(), "lint", "--from-cluster", "-n", namespace, "--kubeconfig", config, "-o", "json"]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    (one,) = [one for one in json.loads(done.stdout) if one["rule"] == "gpu-unknown-to-ray"]
    assert one["object"] == f"RayCluster {namespace}/gpushare" and one["line"] == 0 and one["file"] == ""
    # A rule on a field that no decoder reads.
    (raw,) = [one for one in json.loads(done.stdout) if one["rule"] == "grace-period-long"]
    assert raw["path"] == "spec.workerGroupSpecs[0].template.spec.terminationGracePeriodSeconds" and raw["line"] == 0, raw


def test_every_field_of_a_pod_template_is_known(api_server, lint):
    """Those that the API server describes; a name with one letter more is a warning in each of the objects."""
    described = api_server.admin.request("GET", "/openapi/v3/api/v1").body["components"]["schemas"]

    def fields(kind: str) -> Object:
        return {name: None for name in [*described[f"io.k8s.api.core.v1.{kind}"]["properties"], "namez"]}

    def all_of_them(_: Object, group: Object) -> None:
        container = {**fields("Container"), "resources": fields("ResourceRequirements")}
        spec = {**fields("PodSpec"), "containers": [container], "initContainers": [fields("Container")]}
        group["template"] = {**fields("PodTemplateSpec"), "spec": spec}

    spec = "spec.workerGroupSpecs[0].template.spec"
    assert lint("gpu", all_of_them).places("unknown-field") == [
        "spec.workerGroupSpecs[0].template.namez",
        f"{spec}.containers[0].namez",
        f"{spec}.containers[0].resources.namez",
        f"{spec}.initContainers[0].namez",
        f"{spec}.namez",
    ]


def test_the_schema_is_that_of_kuberay():
    """The table of lint is what lint_schema.py makes of KubeRay's definitions."""
    definitions = os.environ.get("RAYSCALER_KUBERAY_CRDS")
    if not definitions:
        pytest.skip("without KubeRay's definitions")
    made = (paths.ROOT / "src/feature/lint/objects/lint_schema_table.c").read_text()
    assert lint_schema.table(Path(definitions)) == made


def test_rules_are_those_of_the_document():
    done = subprocess.run([paths.program(), "lint", "--rules"], capture_output=True, text=True, timeout=30)
    rules = [line.split(" ")[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    document = (paths.ROOT / "docs/LINT.md").read_text()
    assert len(rules) > 15 and all(f"| `{rule}` |" in document for rule in rules)
