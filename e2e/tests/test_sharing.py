"""docs/SHARING.md: each recipe of examples/pools on an API server. The clusters have no head: the annotation asks for
GPUs, and a RayCluster that is deleted gives its GPUs back."""

import json
from typing import Any, Dict, Iterator

import pytest
import yaml

from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e.program import Controller
from rayscaler_e2e.scenario import REQUEST_ANNOTATION, hold
from rayscaler_e2e.wait import wait_until

RECIPES = paths.ROOT / "examples" / "pools"
GPU = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
A100 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}


class Teams:
    """A namespace for each team, a GPUPool from a recipe, and a controller of all namespaces."""

    def __init__(self, server: Any, namespace: str, work_dir: Any):
        self.server, self.home, self.work_dir = server, namespace, work_dir
        self.spaces = {team: f"{namespace}-{team}" for team in ("research", "serving")}
        for team, name in self.spaces.items():
            labels = {"team": team}
            server.admin.of("namespaces").create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        self.pools = server.admin.of("gpupools")
        self.controller: Any = None
        self.made = ""

    def start(self, recipe: str, **changes: Any) -> None:
        pool = yaml.safe_load((RECIPES / f"{recipe}.yaml").read_text())
        pool["spec"].update(changes)
        self.made = pool["metadata"]["name"]
        self.pools.delete(self.made, missing_ok=True)
        self.pools.create(pool)
        self.controller = Controller(self.server, self.home, self.work_dir / "controller", everywhere=True)

    def close(self) -> None:
        if self.controller:
            self.controller.stop()
        self.pools.delete(self.made, missing_ok=True)
        for name in self.spaces.values():
            self.server.empty_namespace(name)
            self.server.admin.of("namespaces").delete(name, missing_ok=True)

    def clusters(self, team: str) -> Any:
        return self.server.admin.of("rayclusters", self.spaces[team])

    def add(self, team: str, name: str, replicas: int, hosts: int = 1) -> None:
        group = rayclusters.group("gpu", GPU, replicas=0, maxReplicas=10, numOfHosts=hosts)
        group["template"]["spec"]["nodeSelector"] = A100
        made = rayclusters.minimal(name, group)
        made["metadata"]["annotations"] = {REQUEST_ANNOTATION: json.dumps([{"GPU": 1}] * (replicas * hosts))}
        made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
        self.clusters(team).create(made)

    def replicas(self, team: str, name: str) -> int:
        return self.clusters(team).get(name)["spec"]["workerGroupSpecs"][0]["replicas"]

    def wait(self, team: str, name: str, replicas: int) -> None:
        wait_until(lambda: self.replicas(team, name) == replicas, 30, f"{name} to have {replicas} replicas")

    def plan(self, team: str, name: str) -> Dict[str, Any]:
        status, text = self.controller.get(f"/status/{self.spaces[team]}/{name}")
        return json.loads(text)["plan"] if status == 200 else {}

    def waits(self, team: str, name: str, reason: str, *words: str) -> None:
        """Until the plan has a bundle that waits for this reason, with all words in its message."""

        def said() -> bool:
            unserved = self.plan(team, name).get("unserved", [])
            return any(one["reason"] == reason and all(word in one["message"] for word in words) for one in unserved)

        wait_until(said, 30, f"{name} to wait: {reason} {words}")


@pytest.fixture
def teams(api_server, namespace, work_dir) -> Iterator[Teams]:
    made = Teams(api_server, namespace, work_dir)
    yield made
    made.close()


def test_every_recipe_is_in_the_document_and_has_a_test():
    text = (paths.ROOT / "docs" / "SHARING.md").read_text()
    for path in RECIPES.iterdir():
        assert f"](../examples/pools/{path.name})" in text and f'teams.start("{path.stem}"' in open(__file__).read()


def test_commands(teams, api_server, namespace, kubectl):
    """The label of a namespace and the pool, as the document shows them."""
    text = (paths.ROOT / "docs" / "SHARING.md").read_text()
    label, apply = "kubectl label namespace team-a team=research", "kubectl apply -f examples/pools/guarantees.yaml"
    assert label in text and apply in text
    kubectl.run(*label.replace("team-a", namespace).split()[1:])
    assert api_server.admin.of("namespaces").get(namespace)["metadata"]["labels"]["team"] == "research"
    teams.made = "a100-guarantees"
    kubectl.run("apply", "-f", str(RECIPES / "guarantees.yaml"))
    assert teams.pools.get(teams.made)["spec"]["gpus"] == 8


def test_guarantees_and_borrowing(teams):
    teams.start("guarantees")
    teams.add("research", "train", 8)
    teams.wait("research", "train", 8)
    teams.add("serving", "chat", 4)
    teams.waits("serving", "chat", "WaitsForPool", "place 1 of 4", "queue research holds 4 GPUs beyond its guarantee")
    hold(lambda: teams.replicas("serving", "chat") == 0, 2, "busy or unknown workers are never taken")
    teams.clusters("research").delete("train")
    teams.wait("serving", "chat", 4)


def test_serving_before_training(teams):
    teams.start("priority")
    teams.add("research", "train", 4)
    teams.wait("research", "train", 4)
    teams.add("research", "eval", 4)
    teams.waits("research", "eval", "WaitsForPool", "place 1 of 4")
    teams.add("serving", "chat", 4)
    teams.waits("serving", "chat", "WaitsForPool")
    teams.clusters("research").delete("train")
    teams.wait("serving", "chat", 4)
    assert teams.replicas("research", "eval") == 0


def test_gpus_are_saved_for_a_slice(teams):
    """Four GPUs of single workers; one becomes free, then the others. The time is shorter than in the recipe."""
    teams.start("reserve", reserveAfterSeconds=2)
    for name in ("a", "b", "c", "d"):
        teams.add("research", name, 1)
        teams.wait("research", name, 1)
    teams.add("research", "slice", 1, hosts=4)
    teams.waits("research", "slice", "WaitsForPool", "GPUs that become free are saved for it")
    teams.add("research", "late", 1)
    teams.waits("research", "late", "ReservedForGang", "slice")
    teams.clusters("research").delete("a")
    hold(lambda: teams.replicas("research", "late") == 0, 2, "the free GPU is saved")
    for name in ("b", "c", "d"):
        teams.clusters("research").delete(name)
    teams.wait("research", "slice", 1)
