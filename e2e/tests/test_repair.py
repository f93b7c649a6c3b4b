"""Nodes with the sign of a sick GPU: work moves to a replacement that is there, and the Node is let go."""

import time
from typing import Any, List

import pytest
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

IDLE = 3
TAINT = {"key": "nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"}
GROUP, PLURAL = "nvsentinel.nvidia.com", "drainrequests"
DEFINITION = paths.MANIFESTS / "drain-request-crd.yaml"


@pytest.fixture
def drain_requests(api_server, namespace):
    """NVSentinel's kind DrainRequest; requests live in ``namespace``, and ``let(namespace)`` gives a controller its rights."""
    api_server.install_crd(DEFINITION)

    class Requests:
        def let(self, controllers: str) -> None:
            rules = [{"resources": [PLURAL], "verbs": ["list", "watch"]}, {"resources": [f"{PLURAL}/status"], "verbs": ["patch"]}]
            api_server.grant(controllers, PLURAL, [{"apiGroups": [GROUP], **rule} for rule in rules])

        def create(self, name: str, node: str) -> None:
            kind = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DrainRequest", "metadata": {"name": name}}
            objects.create({**kind, "spec": {"nodeName": node, "reason": "double bit error"}})

        def withdraw(self, name: str) -> None:
            objects.delete(name)

        def conditions(self, name: str) -> Any:
            return objects.get(name).get("status", {}).get("conditions")

    objects = api_server.admin.of(PLURAL, namespace)
    yield Requests()
    api_server.admin.of("customresourcedefinitions").delete(f"{PLURAL}.{GROUP}")


@pytest.fixture
def gpu_nodes(api_server):
    """Nodes with one GPU each, so that a replacement has a Node of its own."""
    nodes = api_server.admin.of("nodes")
    room = {"cpu": "8", "memory": "64Gi", "pods": "20", "nvidia.com/gpu": "1"}
    names: List[str] = []

    class Nodes:
        def make(self, count: int = 3) -> None:
            names.extend(f"repair-{number}" for number in range(count))
            for name in names:
                nodes.create({"metadata": {"name": name}})
                nodes.patch_merge(name, {"status": {"capacity": room, "allocatable": room}}, "status")
                nodes.patch_merge(name, {"spec": {"taints": []}})

        def change(self, name: str, **spec: Any) -> None:
            nodes.patch_merge(name, {"spec": spec})

    yield Nodes()
    for name in names:
        nodes.delete(name, missing_ok=True)


def joined(one):
    return {n["pod"] for n in one.witness.latest()["nodes"] if n["group"] == "gpu-group" and n["status"] != "DEAD"}


def test_work_moves_to_a_replacement_that_is_there(shared, controller, api_server, gpu_nodes):
    gpu_nodes.make()
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", "300")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        gpu_nodes.change(node, taints=[TAINT])
        control.wait_for("ScaleUpReplacement", f"Node {node} is to be repaired", TAINT["key"], seconds=20)
        ((_, deadline),) = wait_until(lambda: program.call("draining").items(), 60, "Ray to know")
        assert time.time() + 200 < deadline <= time.time() + 300
        wait_until(lambda: len(joined(one)) == 2, 5, "the replacement, which was there before, in Ray")
        hold(lambda: old in one.workers() and not one.workers_to_delete(), 2, "nobody ends what is in use")
        assert program.call("alive", name="busy") == [old]
        program.end()


def test_a_sign_that_ends_undoes_everything(shared, controller, api_server, gpu_nodes):
    gpu_nodes.make()
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "1")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        gpu_nodes.change(node, taints=[TAINT])
        control.wait_for("ScaleUpReplacement", f"Node {node} is to be repaired", seconds=20)
        gpu_nodes.change(node, taints=[])
        wait_until(lambda: one.workers() == [old] and one.replicas() == 1, 60, "the replacement to end as idle")
        assert program.call("draining") == {} and program.call("alive", name="busy") == [old]
        program.end()


def test_a_sign_that_ends_before_it_acts_or_after_the_drain(shared, controller, api_server, gpu_nodes):
    """Before it acts nothing happens; a drain cannot be taken back, but nobody ends the worker after its deadline."""
    gpu_nodes.make()
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "6", "--repair-deadline-seconds", "5", "--repair-deletes")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        gpu_nodes.change(node, taints=[TAINT])
        control.wait_for("NodesToRepair", node, seconds=5)
        gpu_nodes.change(node, taints=[])
        hold(lambda: one.replicas() == 1 and not control.find("ScaleUpReplacement"), 8, "a sign that does not last does nothing")
        gpu_nodes.change(node, taints=[TAINT])
        wait_until(lambda: program.call("draining"), 60, "Ray to know", 0.05)
        gpu_nodes.change(node, taints=[])
        hold(lambda: old in one.workers() and not one.workers_to_delete(), 10, "nobody ends the worker after the deadline")
        assert program.call("alive", name="busy") == [old]
        program.end()


def test_a_drain_request_that_is_withdrawn(shared, controller, api_server, drain_requests, gpu_nodes):
    """Before Ray is notified the replacement ends as idle; afterwards nobody ends the worker at its deadline."""
    gpu_nodes.make()
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    api_server.let_read_nodes(one.namespace)
    drain_requests.let(one.namespace)
    control = controller(one.namespace, "--repair-drain-requests", "--repair-deadline-seconds", "5", "--repair-deletes", everywhere=True)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        gpu_nodes.change(node, unschedulable=True)
        drain_requests.create("drain-1", node)
        control.wait_for("ScaleUpReplacement", f"Node {node} is to be repaired", seconds=20)
        drain_requests.withdraw("drain-1")
        wait_until(lambda: one.workers() == [old] and one.replicas() == 1, 60, "the replacement to end as idle")
        assert program.call("draining") == {}
        drain_requests.create("drain-2", node)
        wait_until(lambda: program.call("draining"), 60, "Ray to know", 0.05)
        drain_requests.withdraw("drain-2")
        hold(lambda: old in one.workers() and not one.workers_to_delete(), 8, "nobody ends the worker after the deadline")
        assert program.call("alive", name="busy") == [old]
        program.end()


def test_a_false_sign_on_all_used_nodes_drains_one(shared, controller, api_server, gpu_nodes):
    gpu_nodes.make(4)
    one = shared([rm.gpu_group(maxReplicas=4)], idle_seconds=300)
    api_server.let_read_nodes(one.namespace)
    control = controller(one.namespace, "--repair-after-seconds", "1")
    with one.program() as program:
        program.actors(2, name="busy", num_gpus=1)
        old = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        for pod in one.worker_pods():
            gpu_nodes.change(pod["spec"]["nodeName"], taints=[TAINT])
        wait_until(lambda: program.call("draining"), 60, "Ray to know of one")
        hold(lambda: len(program.call("draining")) == 1 and len(one.workers()) == 3, 4, "the other Node waits")
        control.wait_for("RepairWaits", "repair.maxUnavailable")
        assert program.call("alive", name="busy") == old
        program.end()


@pytest.mark.test_all
def test_a_gang_of_four_hosts_moves_whole(shared, controller, api_server, gpu_nodes):
    """One of its Nodes is sick: all four replacements are in Ray before it drains a host, and then it drains all four."""
    gpu_nodes.make(8)
    one = shared([rm.gpu_group(numOfHosts=4, maxReplicas=2)], idle_seconds=300)
    api_server.let_read_nodes(one.namespace)
    controller(one.namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", "15", "--repair-deletes")
    with one.program() as program:
        program.call("group", name="gang", strategy="STRICT_SPREAD", bundles=[{"GPU": 1}] * 4)
        old = set(one.wait_joined(4))
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        for pod in old:
            one.recorder.excuse(pod)
        since = one.recorder.mark()
        gpu_nodes.change(one.worker_pods()[0]["spec"]["nodeName"], taints=[TAINT])
        wait_until(lambda: program.call("draining"), 120, "Ray to know", 0.05)
        wait_until(lambda: len(joined(one)) == 8, 5, "the replacements, which were there before, in Ray")
        assert not one.recorder.of("workersToDelete", since)
        deadlines = wait_until(lambda: len(program.call("draining")) == 4 and program.call("draining").values(), 20, "all hosts", 0.05)
        wait_until(lambda: one.recorder.of("workersToDelete", since), 60, "the end of the old ones", 0.05)
        assert time.time() > max(deadlines)
        wait_until(lambda: len(one.workers()) == 4 and not old & set(one.workers()), 60, "the replacement alone")
        program.end()


@pytest.mark.test_all
def test_of_a_placement_group_the_lost_bundle_moves(shared, controller, api_server, gpu_nodes):
    """Ray places that bundle again, on the replacement, and leaves the three others where they are."""
    gpu_nodes.make(5)
    one = shared([rm.gpu_group(maxReplicas=5)], idle_seconds=300)
    api_server.let_read_nodes(one.namespace)
    controller(one.namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", "10", "--repair-deletes")
    with one.program() as program:
        program.call("group", name="gang", strategy="STRICT_SPREAD", bundles=[{"GPU": 1}] * 4)
        old = set(one.wait_joined(4))
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        sick, since = one.worker_pods()[0], one.recorder.mark()
        name = sick["metadata"]["name"]
        one.recorder.excuse(name)
        gpu_nodes.change(sick["spec"]["nodeName"], taints=[TAINT])
        wait_until(lambda: program.call("draining"), 120, "Ray to know", 0.05)
        wait_until(lambda: len(joined(one)) == 5, 5, "the replacement, which was there before, in Ray")
        assert len(program.call("draining")) == 1
        wait_until(lambda: set(one.workers()) & old == old - {name} and one.replicas() == 4, 60, "the end of the sick one alone")
        used = lambda: {n["pod"] for n in one.witness.fresh()["nodes"] if n["in_use"].get("GPU")}  # noqa: E731
        wait_until(lambda: used() == set(one.workers()), 60, "its bundle on the replacement")
        assert [event.value for event in one.recorder.of("workersToDelete", since)] == [[name]]
        program.end()


# Two minutes; an actor that moves: the tests above, Serve that scales: test_serve.py.
@pytest.mark.test_all
def test_serve_moves_without_a_failed_request(scenario, controller, api_server, gpu_nodes):
    gpu_nodes.make()
    one = scenario(rm.with_env(rm.cluster("served", [rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE), rm.SERVE_ENV))
    api_server.let_read_nodes(one.namespace)
    controller(one.namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", "120")
    with one.program() as program:
        program.call("deploy", name="model", options={"num_replicas": 1, "ray_actor_options": {"num_cpus": 0.1, "num_gpus": 1}})
        one.wait_joined(1)
        wait_until(lambda: program.call("running", name="model") == 1, 60, "the replica to run")
        program.call("load", name="model")
        (old,) = one.workers()
        gpu_nodes.change(one.worker_pods()[0]["spec"]["nodeName"], taints=[TAINT])
        wait_until(lambda: one.workers() and old not in one.workers(), 120, "the replacement alone")
        (new,) = one.workers()
        load = program.call("loaded", 90)
        assert load["errors"] == [] and set(load["pods"]) == {old, new}
        program.call("undeploy")
        program.end()


def test_a_drain_request_is_completed_when_the_node_is_empty(shared, controller, api_server, drain_requests, gpu_nodes):
    """The Node, the only one with a GPU, is repaired then, and takes work again at once."""
    gpu_nodes.make(1)
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=300)
    api_server.let_read_nodes(one.namespace)
    drain_requests.let(one.namespace)
    controller(one.namespace, "--repair-drain-requests", everywhere=True)
    with one.program() as program:
        program.call("request", bundles=[{"GPU": 1}])
        one.wait_joined(1)
        program.call("request", bundles=[])
        node = one.worker_pods()[0]["spec"]["nodeName"]
        gpu_nodes.change(node, unschedulable=True)
        drain_requests.create("drain-1", node)
        conditions = wait_until(lambda: drain_requests.conditions("drain-1"), 60, "the request to be complete")
        assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [("DrainComplete", "True", "NoPods")]
        assert not one.worker_pods()
        program.actors(1, name="waiting", num_gpus=1)
        hold(lambda: not joined(one), 3, "the Node takes no worker")
        gpu_nodes.change(node, unschedulable=False)
        program.ready("waiting", 20)
        assert [pod["spec"]["nodeName"] for pod in one.worker_pods()] == [node]
        program.end()


def test_a_controller_killed_in_each_step_goes_on(shared, controller, api_server, drain_requests, gpu_nodes):
    """The sign was read, a replacement asked for, Ray asked to drain, the Pod deleted, the DrainRequest completed."""
    gpu_nodes.make()
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=300)
    api_server.let_read_nodes(one.namespace)
    drain_requests.let(one.namespace)
    flags = ("--repair-drain-requests", "--repair-deletes", "--repair-deadline-seconds", "20", "--raylet-gone-seconds", "10")
    control = controller(one.namespace, *flags, everywhere=True)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        wait_until(lambda: not one.witness.fresh()["pending"], 20, "nothing to be pending")
        node = one.worker_pods()[0]["spec"]["nodeName"]
        since = one.recorder.mark()
        gpu_nodes.change(node, unschedulable=True)
        drain_requests.create("drain-1", node)
        steps = {
            "the sign": lambda: control.find("NodesToRepair") or control.find("ScaleUpReplacement"),
            "the replacement": lambda: one.replicas() == 2,
            "the drain": lambda: program.call("draining"),
            "the end of the Pod": lambda: one.recorder.of("workersToDelete", since),
            "the completion": lambda: drain_requests.conditions("drain-1"),
        }
        one.recorder.excuse(old)
        deadlines = set()
        for step, seen in steps.items():
            wait_until(seen, 60, step, 0.05)
            control.kill()
            control.start()
            deadlines |= set(program.call("draining").values())
        wait_until(lambda: one.workers() not in ([], [old]) and one.replicas() == 1, 60, "the replacement alone")
        (left,) = one.workers()
        assert left != old
        assert [c["type"] for c in drain_requests.conditions("drain-1")] == ["DrainComplete"]
        assert [event.value for event in one.recorder.of("workersToDelete", since)] == [[old]]
        assert max(event.value for event in one.recorder.of("replicas", since)) == 2
        assert len(control.find("Ray drains a worker in use", "is to be repaired")) <= 1, "a restart keeps Ray's deadline"
        assert all(deadline <= time.time() for deadline in deadlines)
        program.end()
