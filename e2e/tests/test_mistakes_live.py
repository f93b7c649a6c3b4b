"""Wrong inputs that need a cluster, each with its answer: the section ``live`` of wrong_inputs.yaml.

``state`` names a function of STATES, which prepares the namespace and returns the environment of the command.
"""

import os
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from rayscaler_e2e import rayclusters, wrong_inputs
from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.cli import Cli

Environment = Dict[str, str]


def no_clusters(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """A user with the rights of docs/COMMANDS.md; no RayCluster and no controller."""
    return Cli(server, namespace, work_dir).env


def two_clusters(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """The same user, and the RayClusters demo and train."""
    for name in ("demo", "train"):
        server.admin.of("rayclusters", namespace).create(cluster(name))
    return Cli(server, namespace, work_dir).env


def elsewhere(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """An administrator whose context names another namespace than that of the RayClusters."""
    two_clusters(server, namespace, work_dir)
    return with_config(server, work_dir, token=server.tokens[ADMIN_USER], namespace="default")


def no_rights(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """A ServiceAccount without any Role."""
    two_clusters(server, namespace, work_dir)
    server.ensure_service_account(namespace, "nobody")
    return with_config(server, work_dir, token=server.service_account_token(namespace, "nobody"), namespace=namespace)


def old_token(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """A token that the API server does not know."""
    return with_config(server, work_dir, token="old", namespace=namespace)


def no_server(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """Nothing listens at the address of the kubeconfig."""
    env = no_clusters(server, namespace, work_dir)
    config = Path(env["KUBECONFIG"])
    config.write_text(config.read_text().replace(server.url, "https://127.0.0.1:1"))
    return env


def no_controller(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """The last controller has decided 12 minutes ago."""
    env = two_clusters(server, namespace, work_dir)
    objects = server.admin.of("rayclusterautoscalers", namespace)
    for name in ("demo", "train"):
        objects.create({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": name, "namespace": namespace}})
        then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 12 * 60 - 1))
        status = {"reason": "ReadyForNewScale", "message": "nothing limits scaling", "lastDecisionTime": then}
        objects.patch_merge(name, {"status": status}, subresource="status")
    return env


def half_adopted(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """The RayCluster demo is parked, and its head Pod was made before."""
    clusters = server.admin.of("rayclusters", namespace)
    clusters.create(cluster("demo", autoscalerOptions={"command": ["sleep"], "args": ["infinity"]}))
    clusters.patch_merge("demo", {"status": {"head": {"podName": "demo-head"}}}, subresource="status")
    containers = [{"name": name, "image": "ray", "command": [name]} for name in ("ray-head", "autoscaler")]
    labels = {"ray.io/cluster": "demo", "ray.io/node-type": "head"}
    metadata = {"name": "demo-head", "namespace": namespace, "labels": labels, "annotations": {"bench.rayscaler.dev/unschedulable": "not run"}}
    server.admin.of("pods", namespace).create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}})
    return Cli(server, namespace, work_dir).env


def cluster(name: str, **options: Any) -> Dict[str, Any]:
    """The operator of the bench leaves it alone."""
    made = rayclusters.minimal(name, **options)
    made["metadata"]["annotations"] = {"bench.rayscaler.dev/operator-lag-seconds": "3600"}
    return made


def with_config(server: ApiServer, work_dir: Path, **how: Any) -> Environment:
    return {"HOME": str(work_dir), "KUBECONFIG": str(server.write_kubeconfig(work_dir / "user.kubeconfig", **how))}


STATES: Dict[str, Callable[[ApiServer, str, Path], Environment]] = {
    function.__name__.replace("_", " "): function
    for function in (no_clusters, two_clusters, elsewhere, no_rights, old_token, no_server, no_controller, half_adopted)
}


@pytest.mark.parametrize("row", wrong_inputs.rows("live"), ids=wrong_inputs.name)
def test_the_answer_has_a_cure(api_server, namespace, work_dir, row):
    env = STATES[row["state"]](api_server, namespace, work_dir)
    wrong_inputs.check(row, work_dir, env={"PATH": os.environ["PATH"], **env})
