"""Samples of `make hostile` on the tests' API server: hostile tenants of each group of kinds, and beside them an
honest RayCluster that is scaled up and down. The controller runs with the chart's memory limit and holds a Lease; it
is one process from the first test to the last."""

import itertools
from typing import Any, List

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.faults import ProxyLoop
from rayscaler_e2e.fleet import status_mib
from rayscaler_e2e.hostile import kinds as hostile
from rayscaler_e2e.hostile.honest import Honest
from rayscaler_e2e.hostile.objects import RealApi
from rayscaler_e2e.memory_limit import MemoryLimit, chart_limit_mib
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_manifests import gcs_port

GROUPS = {
    "nul": [kind for kind in hostile.OBJECTS if kind.name.startswith("nul-")],
    "large-and-deep-objects": [kind for kind in hostile.OBJECTS if kind.name in ("big-pod", "big-pods", "deep")],
    "speeds": hostile.SPEEDS,
    "large-replies": [kind for kind in hostile.REPLIES if kind.name in ("shapes-300k", "nodes-1m", "nodes-empty", "stall-60m")],
    "costly-replies": [kind for kind in hostile.REPLIES if kind.name in ("shapes-100k", "shapes-8k", "gangs-1k", "numbers")],
    "floods": hostile.FLOODS,
}


class Bench:
    """One controller in one namespace, and honest clusters on request."""

    def __init__(self, server: Any, directory: Any):
        self.namespace = server.create_namespace("hostile")
        server.ensure_service_account(self.namespace, "hostile")
        server.allow_leader_election(self.namespace, "hostile")
        self.server, self.directory = server, directory
        self.api, self.loop = RealApi(server), ProxyLoop()
        self.limit = MemoryLimit(chart_limit_mib())
        flags = ["--leader-elect", "--leader-elect-resource-namespace", self.namespace]
        self.controller = Controller(
            server, self.namespace, directory, *flags, account="hostile", env={"POD_NAME": "hostile"}, limit=self.limit
        )
        self.controller.wait_for("deciding starts", seconds=30)
        self.pid = self.controller.process.pid
        self._numbers = itertools.count(1)

    def honest(self) -> Honest:
        clusters = self.server.admin.of("rayclusters", self.namespace)
        return Honest(self.api, clusters, self.loop, self.namespace, next(self._numbers), gcs_port())

    def attack(self, kinds: List[hostile.Kind]) -> hostile.Attack:
        return hostile.Attack(self.api, kinds, 1, self.directory, self.namespace)

    def check(self) -> None:
        """The same process, within its memory, with the Lease that it began with."""
        assert self.controller.process.running() and self.controller.process.pid == self.pid
        assert status_mib(self.pid, "VmHWM") < self.limit.mib
        lease = self.server.admin.of("leases", self.namespace).get("rayscaler")["spec"]
        assert lease["holderIdentity"] == "hostile" and lease["leaseTransitions"] == 0

    def stop(self) -> None:
        self.controller.process.kill()
        self.limit.remove()
        self.loop.stop()
        self.server.empty_namespace(self.namespace)


@pytest.fixture(scope="module")
def bench(api_server):
    made = Bench(api_server, paths.work_root() / "hostile")
    yield made
    made.stop()


@pytest.fixture
def honest(bench: Bench, artefacts):
    artefacts.log("controller", bench.controller.log)
    made = [bench.honest(), bench.honest()]
    yield made
    for one in made:
        one.stop()


@pytest.mark.parametrize("group", GROUPS)
def test_an_honest_cluster_is_scaled_beside_hostile_ones(bench: Bench, honest: List[Honest], group: str):
    bench.check()
    honest[0].scale_up()
    with bench.attack(GROUPS[group]):
        for one in honest:
            one.scale_up()
        for one in honest:
            one.scale_down()
        bench.check()


def test_forged_pods_take_no_worker_and_stop_no_demand(bench: Bench, honest: List[Honest]):
    victim, other = honest
    bench.check()
    victim.scale_up()
    with bench.attack([hostile.forged_pods([victim.identity()])]):
        for one in honest:
            one.scale_up()
        other.scale_down()
        assert victim.named() == [] and victim.group()["replicas"] == 2
        bench.check()
    victim.scale_down()
