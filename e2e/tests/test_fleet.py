"""A small fleet: the requests of one controller for 50 RayClusters with a Ray head each. Counts alone; the
times and sizes of large ones are measured by `make fleet` (docs/internals/performance.md)."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.fleet import Fleet, reads, writes
from rayscaler_e2e.wait import wait_until

CLUSTERS = 50
PODS = 4
REST_SECONDS = 6.0
CHANGES = 20


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    fleet = Fleet(CLUSTERS, PODS, Path(tmp_path_factory.mktemp("fleet")), [])
    try:
        fleet.start()
        fleet.settle(2, 60)
        yield fleet
    finally:
        fleet.stop()


def test_at_rest_nothing_is_written_and_no_cluster_is_asked_for(fleet: Fleet):
    connections = fleet.ask("figures")["connections"]
    figures = fleet.sample(REST_SECONDS)
    assert writes(figures) == 0
    assert figures["single_reads"] == 0
    assert reads(figures) == figures["watches"]  # lists of whole kinds: none either
    assert figures["states"] >= CLUSTERS
    assert figures["reports"] >= 1
    assert figures["connections"] == connections >= CLUSTERS


def test_kinds_of_device_claims_are_not_asked_for(fleet: Fleet):
    """No RayCluster claims devices: since the start neither their API was asked for nor a kind of it."""
    total = fleet.ask("totals")
    assert {"rayclusters", "pods", "nodes"} <= set(total) <= {"rayclusters", "pods", "nodes", "events", "rayclusterautoscalers"}


def test_every_demand_is_patched_once(fleet: Fleet):
    fleet.ask("reset")
    fleet.change(10)
    wait_until(lambda: fleet.ask("figures")["demands"] >= CHANGES, 60, "demand in some clusters")
    fleet.drain()
    threading.Event().wait(2)  # a patch too many would come now
    figures = fleet.ask("figures")
    assert figures["patched"] == figures["demands"] >= CHANGES
    assert figures["write_rayclusters"] == figures["demands"]
    assert figures["single_reads"] == 0


def test_the_first_list_of_all_pods_is_whole():
    """`make bench-list` with 3,000 Pods instead of 100,000."""
    words = [sys.executable, paths.E2E / "bench_list.py", "300"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^ +3000 +3000 +0 ", done.stdout, re.MULTILINE), done.stdout
