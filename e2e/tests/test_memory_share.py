"""One namespace with more objects than its part of the memory beside an honest one, also when its objects are listed
first after a restart, and once it has less."""

import re
import urllib.request
from typing import Dict, Set

import pytest

from rayscaler_e2e.faults import ProxyLoop
from rayscaler_e2e.fleet import status_mib
from rayscaler_e2e.hostile import objects
from rayscaler_e2e.hostile.honest import Honest
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.program import Controller
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.test_all

LIMIT_MIB = 64  # so all objects have 9 MiB, and one namespace half of it
CLUSTERS = 30
NOTE_BYTES = 240_000
UNREADABLE = "RayClusterUnreadable"
ROOM_SECONDS = 120.0


def unreadable(controller: Controller) -> Set[str]:
    """Of the program that runs now, not of one before it in the log."""
    address = controller.find('"serving"', '"metrics"')[-1]["address"]
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return set(re.findall(f'rayscaler_condition{{.*raycluster="([^"]*)".*reason="{UNREADABLE}".*', answer.read().decode()))


def told(api_server, namespace: str) -> Dict[str, str]:
    """The messages of the Events, by RayCluster."""
    events = api_server.admin.of("events", namespace).items()
    return {event["involvedObject"]["name"]: event["message"] for event in events if event["reason"] == UNREADABLE}


@pytest.fixture
def tenant(api_server):
    """Of a namespace that every list names before the honest one."""
    namespace = api_server.create_namespace("a-memory-tenant")
    clusters = api_server.admin.of("rayclusters", namespace)
    for number in range(CLUSTERS):
        made = objects.cluster(namespace, f"large-{number}", 6379)
        made["metadata"]["annotations"]["rayscaler.dev/note"] = "x" * NOTE_BYTES
        clusters.create(made)
    yield namespace
    api_server.empty_namespace(namespace)


@pytest.fixture
def honest(api_server):
    namespace, loop = api_server.create_namespace("z-memory-honest"), ProxyLoop()
    clusters = api_server.admin.of("rayclusters", namespace)
    made = Honest(objects.RealApi(api_server), clusters, loop, namespace, 1, free_port())
    yield made
    made.stop()
    loop.stop()
    api_server.empty_namespace(namespace)


def test_a_namespace_above_its_part_stands_still_alone(api_server, tenant, honest, work_dir, artefacts):
    where = honest.identity()[0]
    controller = Controller(api_server, where, work_dir, "--memory-limit", str(LIMIT_MIB), everywhere=True)
    artefacts.log("controller", controller.log)
    try:
        for start in range(2):
            if start > 0:
                controller.kill()
                controller.start()
            line = controller.wait_for("memory in MiB", '"limit": "64"')
            assert (line["budget"], line["objects"], line["passes"]) == ("18", "9", "32")
            honest.scale_up()
            assert status_mib(controller.process.pid, "VmHWM") < LIMIT_MIB
        wait_until(lambda: told(api_server, tenant), 30, "an Event")
        refused, events = unreadable(controller), told(api_server, tenant)
        assert 0 < len(refused) < CLUSTERS and set(events) <= refused
        assert all(f"by the objects of namespace {tenant}; delete or shrink objects" in text for text in events.values())
        assert told(api_server, where) == {}
        clusters = api_server.admin.of("rayclusters", tenant)
        for number in range(CLUSTERS):
            if f"large-{number}" not in refused:
                clusters.delete(f"large-{number}", 0)
        # The same versions as before: only a list can bring them.
        wait_until(lambda: not unreadable(controller), ROOM_SECONDS, "the refused RayClusters to be read")
        honest.scale_down()
    finally:
        controller.process.kill()
