"""Beside Kueue itself, with real Ray: RayClusters as elastic jobs.

    RAYSCALER_KUEUE=KUEUE e2e/run-pytest.sh mine tests/test_kueue.py

KUEUE is a checkout of its tag v0.18.6 or v0.19.2, built there with ``go build -o bin/manager ./cmd/kueue``.
"""

import json
from contextlib import ExitStack

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT
from rayscaler_e2e.kueue import ELASTIC, QUEUE_LABEL, Kueue
from rayscaler_e2e.nodes import Nodes
from rayscaler_e2e.pools import Fleet
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.skipif(not paths.kueue(), reason="RAYSCALER_KUEUE names no checkout of Kueue")


@pytest.fixture(scope="module")
def kueue(api_server):
    made = Kueue(api_server, paths.kueue(), paths.work_root() / "kueue")
    yield made
    made.close()


@pytest.fixture
def nodes(api_server, namespace):
    with ExitStack() as stack:
        yield Nodes(api_server, namespace, stack)


def elastic(kueue, namespace, groups):
    manifest = rm.cluster("elastic", groups, annotations=ELASTIC)
    manifest["metadata"]["labels"] = {QUEUE_LABEL: kueue.local_queue(namespace)}
    return manifest


def patches(api_server, namespace):
    writes = [w for w in api_server.writes(namespace) if w.account == CONTROLLER_ACCOUNT]
    return len([w for w in writes if w.plural == "rayclusters"])


def test_a_launch_waits_for_quota_and_keeps_its_place(kueue, scenario, namespace, controller, api_server):
    kueue.quota(gpu=2)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    controller(namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert len(program.ready("actors", seconds=60)) == 2
        assert kueue.admitted(namespace) == {"head": 1, "gpu-group": 2}
        program.actors(2, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 4 and kueue.waiting(namespace), 30, "the larger Workload")
        wait_until(lambda: (one.autoscaler() or {}).get("status", {}).get("reason") == "WaitsForQueue", 30, "the reason")
        before = patches(api_server, namespace)
        # Twice the time after which a launch behind another gate is cancelled.
        hold(lambda: one.replicas() == 4 and kueue.waiting(namespace), 12, "the place in the queue")
        assert patches(api_server, namespace) == before, "nothing is patched while the Workload waits"
        kueue.quota(gpu=4)
        program.ready("more", seconds=60)
        assert kueue.admitted(namespace) == {"head": 1, "gpu-group": 4}
        program.end()
    one.wait_empty()
    wait_until(lambda: kueue.admitted(namespace) == {"head": 1, "gpu-group": 0}, 30, "the Workload without workers")


def status_text(one):
    return json.dumps((one.autoscaler() or {}).get("status", {}))


def test_the_quota_that_is_missing_is_named_once_the_workload_may_be_read(kueue, scenario, namespace, controller):
    kueue.quota(gpu=0)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    first = controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        wait_until(lambda: "kueue.readWorkloads=true" in status_text(one), 60, "the right that is missing")
        kueue.let_read(namespace, CONTROLLER_ACCOUNT)
        first.stop()
        controller(namespace)
        wait_until(lambda: "quota for nvidia.com/gpu in flavor any" in status_text(one), 60, "the quota's name")
        assert one.replicas() == 1


def test_a_group_without_quota_holds_back_no_other(kueue, scenario, namespace, controller, api_server):
    """Both groups are one Workload; only the first one has quota."""
    kueue.quota(gpu=0)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    groups = [rm.group("first", cpus=2), rm.gpu_group("second")]
    one = scenario(elastic(kueue, namespace, groups))
    controller(namespace)
    with one.program() as program:
        program.actors(1, "gpus", num_gpus=1)
        wait_until(lambda: one.replicas("second") == 1 and kueue.waiting(namespace), 30, "the second group waits")
        program.actors(1, "cpus", num_cpus=2)
        assert program.ready("cpus", seconds=60) == one.wait_workers(1, "first")
        before = patches(api_server, namespace)
        wait_until(lambda: one.replicas("second") == 1 and kueue.waiting(namespace), 60, "it waits again after its backoff")
        hold(lambda: one.replicas("first") == 1 and one.replicas("second") == 1, 12, "its place in the queue")
        assert patches(api_server, namespace) - before <= 2
        assert kueue.admitted(namespace) == {"head": 1, "first": 1, "second": 0}
        kueue.quota(gpu=1)
        assert program.ready("gpus", seconds=60) == one.wait_workers(1, "second")
        program.end()
    one.wait_empty(group="first")
    one.wait_empty(group="second")


def test_what_fits_of_a_group_runs(kueue, scenario, namespace, controller, api_server):
    kueue.quota(gpu=2)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    controller(namespace)
    with one.program() as program:
        program.actors(4, num_gpus=1)
        wait_until(lambda: kueue.admitted(namespace) == {"head": 1, "gpu-group": 2}, 60, "what fits")
        wait_until(lambda: one.replicas() == 4 and kueue.waiting(namespace), 60, "the others wait after the backoff")
        before = patches(api_server, namespace)
        hold(lambda: one.replicas() == 4 and kueue.waiting(namespace), 12, "their place in the queue")
        assert patches(api_server, namespace) == before
        kueue.quota(gpu=4)
        program.ready("actors", seconds=60)
        program.end()
    one.wait_empty()


def test_after_a_preemption_replicas_are_lowered(kueue, scenario, namespace, controller, api_server):
    kueue.quota(gpu=3)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    controller(namespace, "--lower-while-suspended")
    with one.program() as program:
        program.actors(3, num_gpus=1)
        program.ready("actors", seconds=60)
        one.recorder.excuse_all()  # the preemption ends busy workers
        end = kueue.preempt(namespace, 2)
        wait_until(lambda: one.get()["spec"].get("suspend"), 60, "the preemption")
        wait_until(lambda: one.replicas() == 0, 30, "minReplicas")
    before = patches(api_server, namespace)
    # The rest of the quota has no room for the 3 workers from before, but for the head.
    wait_until(lambda: not one.get()["spec"].get("suspend"), 60, "the RayCluster without workers")
    one.wait_head()
    assert one.replicas() == 0 and patches(api_server, namespace) == before
    end()


@pytest.mark.test_all
def test_no_fight(kueue, scenario, namespace, controller, api_server, capsys):
    """Writes of rayclusters by anyone in a minute: at rest, and while a launch waits."""

    def count(seconds):
        before = len([w for w in api_server.writes(namespace) if w.plural == "rayclusters"])
        ours = patches(api_server, namespace)
        hold(lambda: True, seconds, "the time")
        after = len([w for w in api_server.writes(namespace) if w.plural == "rayclusters"])
        return patches(api_server, namespace) - ours, after - before

    kueue.quota(gpu=1)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", seconds=60)
        rest = count(60)
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 2 and kueue.waiting(namespace), 30, "the larger Workload")
        wait_until(lambda: "quota for nvidia.com/gpu" in status_text(one), 30, "the quota's name")
        waits = count(60)
        with capsys.disabled():
            print(f"\npatches in 60 s (ours, all writers): at rest {rest}, while a launch waits {waits}")
        assert rest[0] == waits[0] == 0 and rest[1] <= 2 and waits[1] <= 2
        program.end()


def test_a_refused_launch_moves_to_the_next_group(kueue, scenario, namespace, controller):
    """Only the first group asks Kueue for a GPU."""
    kueue.quota(gpu=0)
    groups = [rm.gpu_group("first"), rm.group("second", params={"num-gpus": "1"})]
    one = scenario(elastic(kueue, namespace, groups))
    controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors", seconds=90) == one.wait_workers(1, "second")
        assert one.replicas("first") == 0
        assert kueue.admitted(namespace) == {"head": 1, "first": 0, "second": 1}
        program.end()
    one.wait_empty(group="second")


def test_a_launch_that_the_topology_has_no_room_for_keeps_its_place(kueue, scenario, namespace, controller, api_server, nodes):
    """Kueue chooses a Node for the head, and admits workers that the Nodes hold; a group that begins without Pods has no such
    gate. The quota has room for more than the Nodes."""
    label = f"{namespace[:20].rstrip('-')}/topology"

    def host(name, gpus):
        hostname = f"{namespace[:30].rstrip('-')}-{name}"
        return nodes.node(name, {"nvidia.com/gpu": gpus}, {label: "true", "kubernetes.io/hostname": hostname})

    first = host("n-1", "2")
    kueue.quota(flavor=kueue.topology(label), gpu=8)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    group = rm.gpu_group(annotations={"kueue.x-k8s.io/podset-unconstrained-topology": "true"})
    one = scenario(elastic(kueue, namespace, [group]))
    controller(namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert len(program.ready("actors", seconds=90)) == 2
        assert one.head()["spec"]["nodeSelector"]["kubernetes.io/hostname"] == first, "the head was behind the gate"
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 3 and kueue.waiting(namespace), 30, "the larger Workload")
        wait_until(lambda: "doesn't allow to fit any of 1 pod(s)" in status_text(one), 30, "Kueue's words")
        before = patches(api_server, namespace)
        hold(lambda: one.replicas() == 3, 12, "the place in the queue")
        assert patches(api_server, namespace) == before
        host("n-2", "1")
        program.ready("more", seconds=90)
        program.end()


def test_beside_a_pool(kueue, scenario, pool, namespace, controller):
    """Both use the same Nodes: what Kueue has admitted is not there for the teams of the pool."""
    kueue.quota(gpu=3)
    pool.create(4, {"name": "a"})
    one = scenario(elastic(kueue, namespace, [pool.group(rm.gpu_group())]))
    controller(namespace, everywhere=True)
    fleet = Fleet(pool)
    with one.program() as program:
        program.actors(3, num_gpus=1)
        program.ready("actors", seconds=60)
        fleet.add("pooled", "a", 4)
        fleet.wait(pooled=1)
        wait_until(lambda: fleet.limited("pooled").startswith("WaitsForPool"), 20, "the condition")
        hold(lambda: fleet.replicas() == {"pooled": 1} and one.replicas() == 3, 2, "the pool is full")
        program.end()
    one.wait_empty()
    fleet.wait(pooled=4)
