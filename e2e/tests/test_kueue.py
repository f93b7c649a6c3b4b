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


def elastic(kueue, namespace, groups, **fields):
    manifest = rm.cluster("elastic", groups, annotations=ELASTIC, **fields)
    manifest["metadata"]["labels"] = {QUEUE_LABEL: kueue.local_queue(namespace)}
    return manifest


def topology_host(nodes, namespace, name, gpus, label):
    hostname = f"{namespace[:30].rstrip('-')}-{name}"
    return nodes.node(name, {"nvidia.com/gpu": str(gpus)}, {label: "true", "kubernetes.io/hostname": hostname})


def chosen_host(pod):
    return pod["spec"]["nodeSelector"]["kubernetes.io/hostname"]


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
    first = topology_host(nodes, namespace, "n-1", 2, label)
    kueue.quota(flavor=kueue.topology(label), gpu=8)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    group = rm.gpu_group(annotations={"kueue.x-k8s.io/podset-unconstrained-topology": "true"})
    one = scenario(elastic(kueue, namespace, [group]))
    controller(namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert len(program.ready("actors", seconds=90)) == 2
        assert chosen_host(one.head()) == first, "the head was behind the gate"
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 3 and kueue.waiting(namespace), 30, "the larger Workload")
        wait_until(lambda: "doesn't allow to fit any of 1 pod(s)" in status_text(one), 30, "Kueue's words")
        before = patches(api_server, namespace)
        hold(lambda: one.replicas() == 3, 12, "the place in the queue")
        assert patches(api_server, namespace) == before
        topology_host(nodes, namespace, "n-2", 1, label)
        program.ready("more", seconds=90)
        program.end()


def test_workers_behind_the_gate_of_the_topology(kueue, scenario, namespace, controller, api_server, nodes):
    """A group that begins with Pods has this gate in its template, beside that of elastic jobs, so all of its later Pods have
    both. Kueue takes the second one away when it has chosen a Node. It counts Pods of the previous Workload twice while it looks
    for the next one's (0.19.2, handleScaleUp in pkg/cache/scheduler/tas_elastic_workloads.go), so 4 GPUs are full with 2."""
    label = f"{namespace[:20].rstrip('-')}/topology"
    first = topology_host(nodes, namespace, "n-1", 4, label)
    kueue.quota(flavor=kueue.topology(label), gpu=8)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    group = rm.gpu_group(replicas=1, minReplicas=1, annotations={"kueue.x-k8s.io/podset-unconstrained-topology": "true"})
    one = scenario(elastic(kueue, namespace, [group]))
    controller(namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert len(program.ready("actors", seconds=90)) == 2
        gates = {gate["name"] for gate in one.group()["template"]["spec"]["schedulingGates"]}
        assert gates == {"kueue.x-k8s.io/elastic-job", "kueue.x-k8s.io/topology"}
        assert {chosen_host(pod) for pod in one.worker_pods()} == {first}
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 3 and kueue.waiting(namespace), 30, "the larger Workload")
        wait_until(lambda: "doesn't allow to fit any of 1 pod(s)" in status_text(one), 30, "Kueue's words")
        before = patches(api_server, namespace)
        hold(lambda: one.replicas() == 3, 12, "the place in the queue")
        assert patches(api_server, namespace) == before
        second = topology_host(nodes, namespace, "n-2", 1, label)
        program.ready("more", seconds=90)
        assert sorted(map(chosen_host, one.worker_pods())) == [first, first, second]
        program.end()
    wait_until(lambda: one.replicas() == 1 and len(one.worker_pods()) == 1, 60, "minReplicas")


def test_killed_while_a_launch_waits_and_while_it_is_admitted(kueue, scenario, namespace, controller, api_server):
    """The Workload that waits stays the same one: that is the place in the queue."""
    kueue.quota(gpu=1)
    kueue.let_read(namespace, CONTROLLER_ACCOUNT)
    one = scenario(elastic(kueue, namespace, [rm.gpu_group()]))
    ours = controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", seconds=60)
        program.actors(1, "more", num_gpus=1)
        wait_until(lambda: one.replicas() == 2 and kueue.waiting(namespace), 30, "the larger Workload")
        place, before = kueue.names_waiting(namespace), patches(api_server, namespace)
        for _ in range(3):
            ours.kill()
            ours.start()
            hold(lambda: one.replicas() == 2 and kueue.names_waiting(namespace) == place, 6, "the place in the queue")
        assert patches(api_server, namespace) == before
        ours.kill()
        kueue.quota(gpu=2)
        program.ready("more", seconds=60)
        ours.start()
        hold(lambda: one.replicas() == 2, 6, "busy workers")
        assert kueue.admitted(namespace) == {"head": 1, "gpu-group": 2} and patches(api_server, namespace) == before
        ours.kill()
        program.end()
    ours.start()
    one.wait_empty()
    wait_until(lambda: kueue.admitted(namespace) == {"head": 1, "gpu-group": 0}, 30, "the Workload without workers")


def test_kueues_own_test_of_autoscaling(kueue, scenario, namespace, controller, api_server, nodes):
    """Kueue's test/e2e/singlecluster/extended/kuberay_autoscaling_test.go of 0.19.2 with our autoscaler, step by step:

    ==============================================  ==============================================
    its step or assertion                           here
    ==============================================  ==============================================
    flavor with a Node label; 3 CPUs, 2Gi           ``on-demand``, ``kueue.quota`` and a Node with it
    RayCluster: suspended, elastic, autoscaled      ``elastic(..., suspend=True)``
    head of 1 CPU, ``num-cpus: 0``; idle after 1 s  ``head_cpus=0``, ``idle_seconds=1``
    groups a and b: 400m, a resource each, max 1    ``group``
    ``suspend`` false, HeadPodReady, head Running,  "the head without workers"
    desiredWorkerReplicas 0
    detached actor of a (b), with ``num_cpus=0``    ``program.actors``
    replicas and running Pods of both groups        ``sizes``
    one Workload that has not finished; admitted;   ``accounts``
    its PodSets have these counts
    end of the actor of a: b as before; of b: none  ``program.release``
    ==============================================  ==============================================

    Its actors outlive their driver; ours end with it, and it does not end before.
    """
    label = {f"{namespace[:20].rstrip('-')}/instance-type": "on-demand"}
    nodes.node("n-1", {}, label)
    metadata = {"name": "on-demand"}
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": metadata}
    api_server.apply({**flavor, "spec": {"nodeLabels": label}})
    kueue.quota(flavor="on-demand", cpu=3, memory="2Gi")

    def group(name, resource):
        made = rm.group(name, maxReplicas=1, params={"num-cpus": "0", "resources": f"'{{\"{resource}\": 1}}'"})
        made["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "400m"}, "requests": {"cpu": "400m"}}
        return made

    groups = [group("workers-a", "worker_a"), group("workers-b", "worker_b")]
    manifest = elastic(kueue, namespace, groups, idle_seconds=1, head_cpus=0, suspend=True)
    head = manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    head["resources"] = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    one = scenario(manifest)
    controller(namespace)

    def is_ready():
        made = one.get()
        conditions = {c["type"]: c["status"] for c in made.get("status", {}).get("conditions", [])}
        running = one.head() and one.head()["status"].get("phase") == "Running"
        wanted = made.get("status", {}).get("desiredWorkerReplicas", 0)
        return made["spec"]["suspend"] is False and conditions.get("HeadPodReady") == "True" and running and wanted == 0

    def sizes(a, b):
        expected = {"workers-a": a, "workers-b": b}
        running = lambda name: [p for p in one.worker_pods(name) if p["status"].get("phase") == "Running"]  # noqa: E731
        return all(one.replicas(name) == count == len(running(name)) for name, count in expected.items())

    def accounts(a, b):
        made = kueue.workloads(namespace)
        return len(made) == 1 and kueue.admitted(namespace) == {"head": 1, "workers-a": a, "workers-b": b}

    def expect(a, b):
        wait_until(lambda: sizes(a, b), 90, f"sizes {a}, {b}")
        wait_until(lambda: accounts(a, b), 90, f"one Workload with {a}, {b}")

    wait_until(is_ready, 90, "the head without workers")
    one.wait_head()
    with one.program() as program:
        program.actors(1, "a", num_cpus=0, resources={"worker_a": 1})
        expect(1, 0)
        program.actors(1, "b", num_cpus=0, resources={"worker_b": 1})
        expect(1, 1)
        program.call("release", name="a")
        expect(0, 1)
        program.call("release", name="b")
        expect(0, 0)
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
