"""The GPU facts of docs/internals/evidence.md with real Ray: each test's name begins with its row.

Rows A2 to A6 and A10 are in test_scale_demand.py and test_scale_clusters.py. GPUs are logical, so the
tests see Ray's own arithmetic: the GPU that a raylet gives to each task, and tasks that it never places.
"""

from typing import Any, Dict, List

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_program import RayError, RayProgram
from rayscaler_e2e.scenario import Scenario, hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

Object = Dict[str, Any]
STUCK = 3
READY = 120.0
V100 = "accelerator_type:V100"


def group(name: str, limits: Object, **fields: Any) -> Object:
    """A group whose Ray container has these limits as well."""
    made = rm.group(name, **fields)
    made["template"]["spec"]["containers"][0]["resources"]["limits"].update(limits)
    return made


# ---- Nodes: before the fixture `cluster`, whose controller must be the only one ----

PRODUCT = "nvidia.com/gpu.product"
MODEL, OTHER_MODEL = "Tesla-V100-SXM2-16GB", "NVIDIA-A100-SXM4-40GB"
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def bound_to(name: str, model: str, tolerations: List[Object]) -> Object:
    made = rm.gpu_group(name)
    made["template"]["spec"].update(nodeSelector={PRODUCT: model}, tolerations=tolerations)
    return made


@pytest.fixture
def gpu_node(api_server):
    """The only Node there is: a V100, tainted as GPU Nodes are."""
    nodes = api_server.admin.of("nodes")
    room = {"cpu": "8", "memory": "64Gi", "pods": "20", "nvidia.com/gpu": "4"}
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    nodes.create({"metadata": {"name": "gpu-rows", "labels": {PRODUCT: MODEL}}})
    nodes.patch_merge("gpu-rows", {"status": {"capacity": room, "allocatable": room}}, "status")
    # Not with the create: admission adds a taint to a Node that is new.
    nodes.patch_merge("gpu-rows", {"spec": {"taints": [taint]}})
    yield "gpu-rows"
    nodes.delete("gpu-rows")


def first_that_runs(shared, controller, groups: List[Object]) -> str:
    """The group that serves one GPU in the end, where the others' Pods find no Node."""
    one = shared(groups)
    controller(one.namespace, "--node-provision-timeout-seconds", "1")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (pod,) = program.ready("actors", READY)
        program.end()
    (found,) = [group["groupName"] for group in groups if f"-{group['groupName']}-" in pod]
    return found


def test_a7_a_group_without_the_toleration_gets_no_node(shared, controller, gpu_node):
    groups = [bound_to("bare", MODEL, []), bound_to("tolerant", MODEL, [TOLERATION])]
    assert first_that_runs(shared, controller, groups) == "tolerant"


def test_a9_a_node_selector_ties_a_group_to_a_model(shared, controller, gpu_node):
    groups = [bound_to("other", OTHER_MODEL, [TOLERATION]), bound_to("right", MODEL, [TOLERATION])]
    assert first_that_runs(shared, controller, groups) == "right"


# ---- one cluster with a group for each row ----

# One for each row. No other group has the resources of a row's demand.
GROUPS = [
    group("typical", {"cpu": "3", "memory": "50Gi", "nvidia.com/gpu": "1"}),
    rm.group("logical", params={"num-gpus": "8"}),
    rm.group("pair", gpus=2, cpus=4, resources={"pair": "100"}),
    rm.group("trio", gpus=2, resources={"trio": "100"}),
    rm.group("quad", gpus=4, resources={"quad": "100"}, maxReplicas=1),
    rm.gpu_group("v100", resources={V100: "1"}),
    group("neuron", {"aws.amazon.com/neuroncore": "2"}),
    group("mig", {"nvidia.com/mig-1g.5gb": "1"}, resources={"mig-1g.5gb": "1"}),
    group("share", {"aliyun.com/gpu-mem": "5"}, resources={"GPU": "1", "gpu-mem": "5"}),
]


@pytest.fixture(scope="module")
def cluster(shared_head: Scenario, api_server):
    """The shared head with all groups, one controller for the whole module.

    No test here is about idle workers: 5 s are less than a slow machine needs from one actor to the next.
    """
    shared_head.reset(GROUPS, idle_seconds=60)
    directory = paths.work_root() / "gpu-rows"
    with Controller(api_server, shared_head.namespace, directory, "--stuck-demand-seconds", str(STUCK)):
        yield shared_head
        shared_head.end_programs()
        shared_head.check_no_busy_deleted()


@pytest.fixture(scope="module")
def together(cluster: Scenario):
    """The demand of the rows that need workers of their own, at once: their raylets start side by side."""
    with cluster.program() as program:
        # SPREAD, because Ray 2.60 tries PACK on one node over and over when the sum fits there.
        program.call("group", name="trio", strategy="SPREAD", bundles=[{"GPU": 0.6, "trio": 1}] * 3)
        program.actors(1, name="typical", num_gpus=1, num_cpus=3, memory=48 << 30)
        program.actors(1, name="logical", num_gpus=8)
        program.actors(1, name="v100", num_gpus=1, num_cpus=0, accelerator_type="V100")
        program.actors(2, name="neuron", resources={"neuron_cores": 1}, num_cpus=0)
        program.actors(1, name="mig", num_gpus=1, num_cpus=0, resources={"mig-1g.5gb": 1})
        program.actors(2, name="share", num_gpus=0.5, num_cpus=0, resources={"gpu-mem": 2})
        program.actors(1, name="both", num_gpus=1, num_cpus=0, resources={"neuron_cores": 1})
        program.call("request", bundles=[{"GPU": 1.5, "pair": 1}])
        yield program
        program.call("request", bundles=[])
        program.end()


@pytest.fixture(autouse=True)
def kept(shared_head: Scenario, artefacts):
    """The objects and logs of a failed test, also of one that has no program of its own."""
    artefacts.namespace(shared_head.namespace, shared_head.server)


@pytest.fixture
def program(cluster: Scenario):
    with cluster.program() as made:
        yield made


def only_worker(cluster: Scenario, program: RayProgram, name: str) -> Object:
    """The group's one worker, where all actors of ``name`` run; Ray's node of it."""
    pods = program.ready(name, READY)
    assert pods and set(pods) == set(cluster.workers(name)), f"{name} has one worker, and its demand is there"
    return wait_until(lambda: cluster.witness.node(pods[0]), 10, "the worker in Ray")["total"]


def one_by_one(cluster: Scenario, program: RayProgram, amounts: List[float], name: str) -> List[List[str]]:
    """Actors with these parts of a GPU in this order; the GPU that each got. Of the workers that are there all GPUs are
    free: one of which an actor before has not given its part back yet would be filled first."""
    wait_until(lambda: not any(used(cluster, pod) for pod in cluster.workers("pair")), READY, "all GPUs to be free")
    given = []
    for number, amount in enumerate(amounts):
        actor = f"{name}-{number}"
        program.actors(1, name=actor, num_gpus=amount, num_cpus=0, resources={"pair": 1})
        program.ready(actor, READY)
        given += program.call("devices", name=actor)
    return given


def test_a1_limits_of_the_pod_template_are_the_capacity(cluster, together):
    total = only_worker(cluster, together, "typical")
    assert (total["GPU"], total["CPU"], total["memory"]) == (1, 3, 50 << 30)


def test_b1_gpus_are_logical(cluster, together):
    assert only_worker(cluster, together, "logical")["GPU"] == 8


def test_b4_a_declared_accelerator_type_scales_from_zero(cluster, together):
    assert only_worker(cluster, together, "v100")[V100] == 1


def test_b5_neuron_cores_are_what_kuberay_tells_ray(cluster, together):
    total = only_worker(cluster, together, "neuron")
    assert total["neuron_cores"] == 2 and "GPU" not in total
    assert sorted(together.call("devices", name="neuron", resource="neuron_cores")) == [["0"], ["1"]]


def test_c1_a_mig_slice_is_one_gpu_and_its_profile_counts_as_declared(cluster, together):
    total = only_worker(cluster, together, "mig")
    assert (total["GPU"], total["mig-1g.5gb"]) == (1, 1)


def test_c2_a_share_of_memory_counts_as_declared(cluster, together):
    total = only_worker(cluster, together, "share")
    assert (total["GPU"], total["gpu-mem"]) == (1, 5)
    assert together.call("devices", name="share") == [["0"], ["0"]]


def infeasible(cluster: Scenario, text: str) -> List[Object]:
    events = cluster.server.admin.of("events", cluster.namespace).items()
    events = [event for event in events if event["involvedObject"]["kind"] == "RayCluster"]
    return [event for event in events if event["reason"] == "InfeasibleDemand" and text in event["message"]]


def test_b2_each_part_above_a_half_takes_a_gpu(cluster, together):
    """Three of 0.6 are 1.8 by the sum, and three GPUs for a raylet."""
    together.call("ready", READY, name="trio")
    steps = [event.value for event in cluster.recorder.of("replicas", subject="trio")]
    # The first launch: a raylet that reads a port file while its agent writes it crashes, and is replaced.
    assert [value for value in steps if value][:1] == [2], f"not two at once: {cluster.recorder.events}"


def test_b3_amounts_above_one_are_whole(cluster, together):
    with pytest.raises(RayError, match="GPU resource quantities >1 must"):
        together.actors(1, num_gpus=1.5)
    wait_until(lambda: infeasible(cluster, "GPU: 1.5"), 30, "the request to be called infeasible")
    (event,) = infeasible(cluster, "GPU: 1.5")
    assert "FractionAboveOne" in event["message"] and "must be whole numbers" in event["message"]
    assert not cluster.workers("pair"), "nothing was started for it"


def test_b5_no_worker_has_gpu_and_neuron_cores(cluster, together):
    wait_until(lambda: infeasible(cluster, "neuron_cores: 1"), 30, "the demand to be called infeasible")


def test_b2_parts_fill_one_gpu_before_the_next(cluster, program):
    since = cluster.recorder.mark()
    # Fits one worker in whichever order Ray sends it there.
    program.actors(2, name="halves", num_gpus=0.5, num_cpus=0, resources={"pair": 1})
    program.actors(1, name="whole", num_gpus=1, num_cpus=0, resources={"pair": 1})
    pods = program.ready("halves", READY) + program.ready("whole", READY)
    assert set(pods) == set(cluster.workers("pair")) and len(cluster.workers("pair")) == 1
    halves, (whole,) = program.call("devices", name="halves"), program.call("devices", name="whole")
    assert halves[0] == halves[1] != whole, "a GPU for the two halves and one for the whole"
    for name in ("halves", "whole"):
        program.call("release", name=name)
    for amounts, shared in (([0.5, 0.5, 0.6, 0.4], 2), ([0.3, 0.3, 0.3, 0.7], 3)):
        name = f"parts-{amounts[0]}"
        first, second = ["0"], ["1"]
        assert one_by_one(cluster, program, amounts, name) == [first] * shared + [second] * (4 - shared)
        for number in range(4):
            program.call("release", name=f"{name}-{number}")
    steps = [event.value for event in cluster.recorder.of("replicas", since, "pair")]
    assert steps == [1], "one worker for all of it"


def test_b2_a_worker_full_of_parts_has_room_by_the_sum_alone(cluster, program):
    """Ten replicas of a model with 0.4 each: 4.0 on four GPUs by the sum, and one worker for Ray's forecast."""
    program.actors(10, name="models", num_gpus=0.4, num_cpus=0, resources={"quad": 1})
    (pod,) = cluster.wait_joined(1, "quad")
    wait_until(lambda: used(cluster, pod) == 3.2, 60, "two on each GPU")
    hold(lambda: used(cluster, pod) == 3.2, 5, "0.2 of each GPU are free, 0.8 by the sum, and nothing more is placed")
    assert cluster.replicas("quad") == 1, "maxReplicas"
    since = cluster.recorder.mark()
    cluster.edit_group("quad", maxReplicas=3)
    cluster.wait_joined(2, "quad")
    steps = [event.value for event in cluster.recorder.of("replicas", since, "quad")]
    assert steps == [2], "one more worker for the two that are left"


def test_b2_what_fits_by_the_sum_and_stays_pending_gets_a_new_worker(cluster, program):
    given = one_by_one(cluster, program, [0.5] * 4, "half")
    assert given == [["0"], ["0"], ["1"], ["1"]]
    (busy,) = cluster.workers("pair")
    program.call("release", name="half-1")
    program.call("release", name="half-3")
    wait_until(lambda: used(cluster, busy) == 1, 20, "half of each GPU to be free")
    # Ray schedules again for a placement group only; tasks queued at a raylet stay there.
    program.call("group", name="part", strategy="PACK", bundles=[{"GPU": 0.6, "pair": 1}])
    hold(lambda: cluster.replicas("pair") == 1, 1, "by the numbers it fits")
    program.call("ready", READY, name="part")
    (new,) = set(cluster.workers("pair")) - {busy}
    wait_until(lambda: (used(cluster, busy), used(cluster, new)) == (1, 0.6), 20, "the part to be on the new worker")


def used(cluster: Scenario, pod: str) -> float:
    node = cluster.witness.node(pod)
    return round(node["in_use"].get("GPU", 0), 4) if node else 0
