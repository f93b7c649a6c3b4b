"""Beside Volcano's and KAI's own schedulers, with real Ray and Nodes that have room for all.

    RAYSCALER_VOLCANO=VOLCANO RAYSCALER_KAI=KAI e2e/run-pytest.sh mine tests/test_queue_schedulers.py

Each is a checkout with its programs (``QueueScheduler.programs``) built there: ``go build -o bin/ ./cmd/PROGRAM``.
"""

import json
import shutil
from contextlib import ExitStack

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.nodes import Nodes
from rayscaler_e2e.queue_schedulers import FixedKai, GatedVolcano, Kai, Volcano
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

# Which checkout, how, and the owner with its words in the status.
OWNERS = [
    ("VOLCANO", Volcano, "Volcano: its queue has no room: pod group is ready, 1 Pending, 2 Running"),
    ("VOLCANO", GatedVolcano, "Volcano: scheduling gate scheduling.volcano.sh/queue-allocation-gate"),
    ("KAI", Kai, "KAI: OverLimit: research quota has reached the allowable limit of GPUs"),
    ("KAI", FixedKai, "KAI: NonPreemptibleOverQuota: Non-preemptible workload is over quota"),
]


@pytest.fixture(scope="module")
def api_server():
    directory = paths.work_root() / "apiserver-queues"
    shutil.rmtree(directory, ignore_errors=True)
    with ApiServer(directory) as server:
        server.install_bench()
        yield server


@pytest.fixture(scope="module")
def standins(api_server):
    with StandIns(api_server, paths.work_root() / "standins-queues", schedules=False) as made:
        yield made


@pytest.fixture(scope="module", params=OWNERS, ids=lambda row: row[1].__name__)
def owner(request, api_server):
    variable, kind, _ = request.param
    checkout = paths.queue_scheduler(variable)
    if not checkout:
        pytest.skip(f"RAYSCALER_{variable} names no checkout")
    made = kind(api_server, checkout, paths.work_root() / f"queues-{kind.__name__}")
    yield made
    made.close()


@pytest.fixture
def words(request):
    return request.getfixturevalue("owner") and request.node.callspec.params["owner"][2]


@pytest.fixture
def cluster(api_server, namespace, owner, scenario):
    """A RayCluster in the queue, on a Node with room for it."""
    with ExitStack() as stack:
        Nodes(api_server, namespace, stack).node("n-1", {"nvidia.com/gpu": "8"})

        def create(*groups):
            manifest = rm.cluster("queued", list(groups))
            manifest["metadata"]["namespace"] = namespace
            owner.quota(1)
            owner.join(manifest)
            return scenario(manifest)

        yield create


def patches(api_server, namespace):
    writes = [w for w in api_server.writes(namespace) if w.account == CONTROLLER_ACCOUNT]
    return len([w for w in writes if w.plural == "rayclusters"])


def status_text(one):
    return json.dumps((one.autoscaler() or {}).get("status", {}))


def uids(one):
    return {pod["metadata"]["uid"] for pod in [*one.heads(), *one.worker_pods()]}


def test_a_launch_keeps_its_place_until_it_is_admitted(api_server, cluster, namespace, controller, owner, words):
    one = cluster(rm.gpu_group(replicas=1, minReplicas=1))
    ours = controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", seconds=60)
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: words in status_text(one), 60, words)
        pods, before = uids(one), patches(api_server, namespace)
        hold(lambda: uids(one) == pods and one.replicas() == 2, 30, "the place in the queue")
        ours.kill()
        ours.start()
        hold(lambda: uids(one) == pods and one.replicas() == 2, 10, "the place in the queue")
        wait_until(lambda: words in status_text(one), 10, words)
        owner.quota(2)
        program.ready("more", seconds=60)
        assert uids(one) == pods and patches(api_server, namespace) == before
        program.end()


def test_a_refused_launch_moves_to_the_next_group(cluster, namespace, controller):
    """Only the first group asks the queue for a GPU."""
    one = cluster(rm.gpu_group("first", replicas=1, minReplicas=1), rm.group("second", params={"num-gpus": "1"}))
    controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", seconds=60)
        program.actors(1, "more", num_gpus=1)
        assert program.ready("more", seconds=90) == one.wait_workers(1, "second")
        assert one.replicas("first") == 1
        program.end()


def test_a_group_without_minimum_beside_kai(cluster, namespace, controller, owner, words):
    """Its gang is then all that is asked for (getReplicaCountersForWorkerGroup in ray_grouper.go): without the annotation KAI ends
    the head and the workers that run when one more has waited for the grace period."""
    if not isinstance(owner, Kai):
        pytest.skip("about KAI")
    one = cluster(rm.gpu_group())
    controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", seconds=60)
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: words in status_text(one), 60, words)
        pods = uids(one)
        hold(lambda: uids(one) == pods, 40, "head and workers")
        program.end()
