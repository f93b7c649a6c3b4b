"""Samples of `make hostile` on the tests' API server: hostile tenants of each group of kinds, and beside them an
honest RayCluster that is scaled up and down. The controller runs with the chart's memory limit and holds a Lease; it
is one process from the first test to the last."""

from typing import List

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.hostile import fields
from rayscaler_e2e.hostile import kinds as hostile
from rayscaler_e2e.hostile.bench import Bench
from rayscaler_e2e.hostile.honest import Honest
from rayscaler_e2e.hostile.tokens import TokenFlood, status_of

# Each defence alone has unit tests (docs/internals/threats.md names them) and the fuzz targets.
pytestmark = pytest.mark.test_all

GROUPS = {
    "nul": [kind for kind in hostile.OBJECTS if kind.name.startswith("nul-")],
    "large-and-deep-objects": [kind for kind in hostile.OBJECTS if kind.name in ("big-pod", "big-pods", "deep")],
    "speeds": hostile.SPEEDS,
    "large-replies": [kind for kind in hostile.REPLIES if kind.name in ("shapes-300k", "nodes-1m", "nodes-empty", "stall-60m")],
    "costly-replies": [kind for kind in hostile.REPLIES if kind.name in ("shapes-100k", "shapes-8k", "gangs-1k", "numbers")],
    "floods": hostile.FLOODS,
    "dra": [kind for kind in hostile.CLAIMS if kind.name == "dra-changing"],
}


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


def test_forged_tokens_delay_neither_scaling_nor_a_scrape(bench: Bench, honest: List[Honest]):
    """How many reviews they cost: test_secure.py."""
    bench.check()
    address, scraper = bench.controller.address("metrics"), bench.scraper()
    assert status_of(address, "/metrics", scraper) == 200
    with TokenFlood(address) as flood:
        for one in honest:
            one.scale_up()
            assert status_of(address, "/metrics", scraper) == 200
        for one in honest:
            one.scale_down()
            assert status_of(address, "/metrics", scraper) == 200
        bench.check()
    assert len(flood.statuses) > 100 and set(flood.statuses) <= {401, 429, 0}


PARTS = 10
"""Of the values of each field; `make hostile` tries all (e2e/hostile_fields.py)."""


def test_each_field_with_hostile_values(bench: Bench, honest: List[Honest]):
    """While the objects come and go, an honest cluster is scaled up and down again and again."""
    run = fields.beside(bench, honest[0], 0, PARTS)
    print(run.text())
    assert run.rounds
    if not paths.kuberay_operator():
        assert fields.differences(run.results) == []
