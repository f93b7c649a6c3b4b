"""examples/: each RayCluster is accepted, linted, planned with its snapshot, and some run with real Ray.

NAME.yaml is the file that a user applies (a RayJob and a RayService too: their RayCluster is tested), NAME.snapshot.yaml the same with a demand, NAME.plan.txt the
output of `rayscaler plan` for it; UPDATE=1 rewrites the plans.
"""

import copy
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest
import yaml

from rayscaler_e2e import kuberay_pod, paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.kuberay_validate import invalid
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
EXAMPLES = paths.ROOT / "examples"
MAKES_A_CLUSTER = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}
# The model that Ray detects on the card: a stand-in for the card.
FOUND_BY_RAY = {"l4": "L4", "h100": "H100"}


def names() -> List[str]:
    return sorted(path.stem for path in EXAMPLES.glob("*.yaml") if not path.stem.endswith(".snapshot"))


def load(file: str) -> Object:
    return yaml.safe_load((EXAMPLES / file).read_text())


def cluster_of(name: str) -> Object:
    """The RayCluster of NAME.yaml, or that which KubeRay makes of it (there its name has an end of its own)."""
    made = {obj["kind"]: obj for obj in yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())}
    for kind, field in MAKES_A_CLUSTER.items():
        if kind in made:
            return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": made[kind]["spec"][field]}
    return made["RayCluster"]


def rayscaler(*words: Any) -> str:
    done = subprocess.run([paths.program(), *map(str, words)], capture_output=True, text=True, cwd=paths.ROOT, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_examples_and_no_stray_files():
    assert len(names()) >= 10
    wanted = {f"{name}{end}" for name in names() for end in (".yaml", ".snapshot.yaml", ".plan.txt")}
    # pools: tests/test_sharing.py
    assert {path.name for path in EXAMPLES.iterdir()} - {"README.md", "pools"} == wanted


@pytest.mark.parametrize("name", names())
def test_the_plan_is_the_one_shown(name):
    shown = EXAMPLES / f"{name}.plan.txt"
    made = rayscaler("plan", "-f", f"examples/{name}.snapshot.yaml")
    if os.environ.get("UPDATE") == "1":
        shown.write_text(made)
    assert made == shown.read_text()
    assert "INFEASIBLE" not in made and "UNSERVED" not in made


@pytest.mark.parametrize("name", names())
def test_the_snapshot_is_of_the_example(name):
    cluster = load(f"{name}.snapshot.yaml")["rayCluster"]
    assert cluster["metadata"].pop("namespace") == "default"
    assert cluster == cluster_of(name)
    assert cluster["metadata"]["name"] == name


def test_lint_finds_nothing_and_passes_over_none(tmp_path):
    """Of a directory as a user would: the Snapshots are no RayClusters, all others are looked at. The pools are
    alternatives: each one alone."""
    clusters = shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("pools"))
    for pool in sorted((EXAMPLES / "pools").iterdir()):
        assert json.loads(rayscaler("lint", "-f", pool, "-o", "json")) == []
    done = subprocess.run([paths.program(), "lint", "-f", clusters], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    count = len(names())
    assert f"{2 * count} files, {count} RayClusters: 0 errors, 0 warnings, 0 infos" in done.stderr
    for name in names():
        assert json.loads(rayscaler("lint", "-f", f"examples/{name}.yaml", "-o", "json")) == []


@pytest.mark.parametrize("name", names())
def test_the_api_server_accepts_it(name, api_server, namespace):
    """The RayCluster with every field kept, KubeRay's validation, and the Pods that it makes of it."""
    made = api_server.admin.of("rayclusters", namespace).create(cluster_of(name))
    assert not missing_fields(cluster_of(name)["spec"], made["spec"], "spec")
    assert invalid(made) == ""
    pods = api_server.admin.of("pods", namespace)
    pods.create(kuberay_pod.head_pod(made))
    for group in made["spec"]["workerGroupSpecs"]:
        pods.create(kuberay_pod.worker_pod(made, group, f"{group['groupName']}-0", 0, 0))


def missing_fields(wanted: Any, got: Any, path: str) -> List[str]:
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [m for key, value in wanted.items() for m in missing_fields(value, got.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [m for n, (left, right) in enumerate(zip(wanted, got)) for m in missing_fields(left, right, f"{path}[{n}]")]
    return [] if wanted == got else [f"{path}: {got!r} and not {wanted!r}"]


def light(group: Object) -> Object:
    """The group as it is, with a Ray process that this machine can carry."""
    made = copy.deepcopy(group)
    made["rayStartParams"]["object-store-memory"] = rm.OBJECT_STORE_BYTES
    env = made["template"]["spec"]["containers"][0].setdefault("env", [])
    env += [{"name": name, "value": value} for name, value in rm.LIGHT_ENV.items()]
    if group["groupName"] in FOUND_BY_RAY:
        found = {f"accelerator_type:{FOUND_BY_RAY[group['groupName']]}": 1}
        env.append({"name": "RAY_OVERRIDE_RESOURCES", "value": json.dumps(found)})
    return made


def options_of(bundle: Object) -> Object:
    """The request of a program, from the bundle that Ray makes of it."""
    options: Object = {}
    for resource, amount in bundle.items():
        if resource.startswith("accelerator_type:"):
            options["accelerator_type"] = resource.split(":")[1]
        elif resource in ("CPU", "GPU"):
            options[f"num_{resource.lower()}s"] = amount
        else:
            options.setdefault("resources", {})[resource] = amount
    return options


@pytest.mark.parametrize("name", ["gpu", "fractional", "accelerator-types"])
def test_rays_workers_are_those_of_the_plan(name, shared, controller):
    """The demand of the snapshot, asked by a program of real Ray: every actor runs, on as many workers."""
    snapshot = load(f"{name}.snapshot.yaml")
    plan = json.loads(rayscaler("plan", "-f", f"examples/{name}.snapshot.yaml", "-o", "json"))
    wanted = {group["name"]: group["targetReplicas"] for group in plan["groups"]}
    one = shared([light(group) for group in snapshot["rayCluster"]["spec"]["workerGroupSpecs"]])
    controller(one.namespace)
    with one.program() as program:
        demand = snapshot["rayState"]["pendingResourceRequests"]
        for number, entry in enumerate(demand):
            program.actors(entry["count"], name=str(number), **options_of(entry["request"]["resourcesBundle"]))
        pods = {pod for number in range(len(demand)) for pod in program.ready(str(number))}
        assert pods == {pod for group in wanted for pod in one.workers(group)}
        wait_until(lambda: {group: one.replicas(group) for group in wanted} == wanted, 10, f"replicas {wanted}")
        hold(lambda: {group: one.replicas(group) for group in wanted} == wanted, 2, "nothing more is launched")
        program.end()
