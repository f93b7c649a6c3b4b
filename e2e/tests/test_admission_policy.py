"""The chart's MutatingAdmissionPolicy on a real API server that serves the kind (in 1.34 behind a feature gate)."""

import copy
import shutil
from typing import Any, Callable, Dict, Optional

import pytest
import yaml

from rayscaler_e2e import chart, paths, rayclusters
from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer, load_yaml
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.tools import Tool
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
FLAGS = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
)
ON: Object = {"admissionPolicy": {"enabled": True}}
RESOURCES: Object = {"requests": {"cpu": "1m", "memory": "4Mi"}, "limits": {"cpu": "50m", "memory": "16Mi"}}
PARKED: Object = {"command": ["timeout"], "args": ["infinity", "sleep", "infinity"], "resources": RESOURCES}


class Admission:
    """A server with the gate; ``options`` are those of a RayCluster after a CREATE that is not kept."""

    def __init__(self, server: ApiServer):
        kubeconfig = server.write_kubeconfig(server.work_dir / "admin.kubeconfig", token=server.tokens[ADMIN_USER])
        self.server = server
        self.helm = Tool("helm", kubeconfig, server.work_dir / "home")
        self.kubectl = Tool("kubectl", kubeconfig, server.work_dir / "home")

    def install(self, release: str, values: Object) -> None:
        words = ["install", release, chart.CHART, "-n", chart.NAMESPACE, "--create-namespace", "--skip-crds"]
        self.helm.run(*words, "--values", "-", stdin=yaml.safe_dump({**ON, **values}))

    def wait(self, predicate: Callable[[], bool], what: str) -> None:
        """A policy takes effect some time after it was written; the API server answers 503 until its admission knows
        a new definition."""

        def held() -> bool:
            try:
                return predicate()
            except ApiError as error:
                if error.status != 503:
                    raise
                return False

        wait_until(held, 120, what)

    def wait_active(self, namespace: str) -> None:
        self.wait(lambda: self.options(namespace, {}) == PARKED, "the policy to take effect")

    def create(self, namespace: str, options: Optional[Object], dry_run: bool = True, **more: Any) -> Object:
        manifest = rayclusters.minimal("demo", rayclusters.group("gpu", {"cpu": "1"}), **more.pop("spec", {}))
        manifest["spec"] = {name: value for name, value in manifest["spec"].items() if value is not None}
        manifest["metadata"].update(more)
        if options is not None:
            manifest["spec"]["autoscalerOptions"] = options
        path = f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters"
        return self.server.admin.call("POST", path, manifest, params={"dryRun": "All" if dry_run else None})

    def options(self, namespace: str, options: Optional[Object], **more: Any) -> Optional[Object]:
        return self.create(namespace, options, **more)["spec"].get("autoscalerOptions")


@pytest.fixture(scope="module")
def admission():
    directory = paths.work_root() / "apiserver-admission"
    shutil.rmtree(directory, ignore_errors=True)
    with ApiServer(directory, *FLAGS) as server:
        server.install_bench()
        for namespace in ("watched", "other"):
            server.create_namespace(namespace)
        yield Admission(server)


# Before the policy of all namespaces is installed.
def test_only_the_watched_namespace(admission):
    admission.install("one", {"watchNamespace": "watched"})
    admission.wait_active("watched")
    assert admission.options("other", {}) == {}
    admission.helm.run("uninstall", "one", "-n", chart.NAMESPACE)


@pytest.fixture(scope="module")
def everywhere(admission):
    admission.install(chart.RELEASE, {})
    admission.wait_active("other")
    return admission


def test_a_new_cluster_is_parked(everywhere):
    """Whether it has autoscalerOptions or not; other options and the user's own resources stay."""
    assert everywhere.options("other", None) == PARKED
    assert everywhere.options("other", {"idleTimeoutSeconds": 5}) == {"idleTimeoutSeconds": 5, **PARKED}
    own = {"limits": {"cpu": "1"}}
    assert everywhere.options("other", {"resources": own}) == {**PARKED, "resources": own}
    assert everywhere.options("other", {}, annotations={"rayscaler.dev/managed": "true"}) == PARKED


UNCHANGED = {
    "image": ({"image": "rayproject/ray:2.60.0"}, {}),
    "command": ({"command": ["rayscaler"]}, {}),
    "args": ({"args": ["x"]}, {}),
    "not managed": ({}, {"annotations": {"rayscaler.dev/managed": "false"}}),
    "neither true nor false": ({}, {"annotations": {"rayscaler.dev/managed": "no"}}),
    "no autoscaling": ({}, {"spec": {"enableInTreeAutoscaling": False}}),
    "autoscaling not set": ({}, {"spec": {"enableInTreeAutoscaling": None}}),
    "managed elsewhere": ({}, {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_unchanged(everywhere, name):
    options, more = copy.deepcopy(UNCHANGED[name])
    assert everywhere.options("other", options, **more) == options


def test_an_update_is_unchanged(everywhere):
    """Of a cluster whose lines its user removed."""
    clusters = everywhere.server.admin.of("rayclusters", "other")
    assert everywhere.create("other", {}, dry_run=False)["spec"]["autoscalerOptions"] == PARKED
    clusters.patch_merge("demo", {"spec": {"autoscalerOptions": None}})
    changed = clusters.patch_merge("demo", {"metadata": {"labels": {"a": "b"}}})
    assert "autoscalerOptions" not in changed["spec"]
    clusters.delete("demo")


def test_apply_keeps_the_lines(everywhere):
    """Server-side and client-side, of the same manifest again: its writer never had the lines."""
    manifest = yaml.safe_dump(rayclusters.minimal("demo", rayclusters.group("gpu", {"cpu": "1"}, replicas=0)))
    clusters = everywhere.server.admin.of("rayclusters", "other")
    for how in ((), ("--server-side",)):
        for replicas in ("replicas: 0", "replicas: 1"):
            text = manifest.replace("replicas: 0", replicas)
            everywhere.kubectl.run("apply", "-n", "other", "-f", "-", *how, stdin=text)
            assert clusters.get("demo")["spec"]["autoscalerOptions"] == PARKED, (how, replicas)
        clusters.delete("demo")


def test_before_kuberay_1_7(everywhere):
    """Its definition has no command and args: Ray's autoscaler runs on and keeps its own resources."""
    crds = everywhere.server.admin.of("customresourcedefinitions")
    new = crds.get("rayclusters.ray.io")
    old = copy.deepcopy(new)
    for version in old["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for name in ("command", "args"):
            del spec["properties"]["autoscalerOptions"]["properties"][name]
    everywhere.server.apply(old)
    try:
        asked = {"idleTimeoutSeconds": 5, "command": ["x"]}
        everywhere.wait(lambda: "command" not in everywhere.options("other", asked), "the older definition")
        user = {"idleTimeoutSeconds": 5}
        everywhere.wait(lambda: everywhere.options("other", user) == user, "admission to know the older definition")
        assert everywhere.options("other", None) in (None, {})
    finally:
        (now,) = [one for path in paths.crd_files() for one in load_yaml(path) if one["metadata"]["name"] == "rayclusters.ray.io"]
        everywhere.server.apply(now)
        everywhere.wait_active("other")
