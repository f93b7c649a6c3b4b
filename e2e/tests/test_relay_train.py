"""A spot notice, and a sick GPU, with real Ray Train: a checkpoint before the Node ends, and the run continues."""

import time

import pytest
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e import ray_train_run
from rayscaler_e2e.wait import wait_until

NOTICE, LEFT = 120, 20


@pytest.fixture
def gpu_nodes(api_server):
    """Eight Nodes with one GPU each; ``end(name)`` announces the end of one in LEFT seconds, ``sick(name)`` taints it."""
    nodes = api_server.admin.of("nodes")
    room = {"cpu": "8", "memory": "64Gi", "pods": "20", "nvidia.com/gpu": "1"}
    names = [f"relay-{number}" for number in range(8)]

    class Nodes:
        def make(self) -> None:
            for name in names:
                nodes.create({"metadata": {"name": name}})
                nodes.patch_merge(name, {"status": {"capacity": room, "allocatable": room}}, "status")
                nodes.patch_merge(name, {"spec": {"taints": []}})

        def end(self, name: str) -> int:
            """The deadline."""
            added = int(time.time()) + LEFT - NOTICE
            text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(added))
            key = "aws-node-termination-handler/spot-itn"
            nodes.patch_merge(name, {"spec": {"taints": [{"key": key, "effect": "NoSchedule", "timeAdded": text}]}})
            return added + NOTICE

        def sick(self, name: str) -> None:
            nodes.patch_merge(name, {"spec": {"taints": [{"key": "nvidia.com/gpu-xid-error", "effect": "NoSchedule"}]}})

    yield Nodes()
    for name in names:
        nodes.delete(name, missing_ok=True)


@pytest.mark.test_all  # 100 s, 30 of them Ray's own waits; test_scale_spot.py has the notice with an actor
def test_a_run_takes_a_checkpoint_before_its_node_ends(scenario, controller, api_server, namespace, gpu_nodes):
    one = scenario(rm.with_env(rm.cluster("train", [rm.gpu_group(maxReplicas=4)], idle_seconds=300), rm.LIBRARY_ENV))
    gpu_nodes.make()
    api_server.let_read_nodes(namespace)
    control = controller(namespace)
    with one.program(prints=True) as program:
        lines = lambda event: [x for x in ray_train_run.lines(program.directory) if x["event"] == event]  # noqa: E731
        program.call("request", bundles=[{"GPU": 1}] * 3)
        one.wait_joined(3)
        program.call("request", bundles=[])
        program.call("train", fewest=2, most=3)
        wait_until(lambda: len(lines("step")) > 9, 150, "the run to begin", 0.2)
        assert [(x["world"], x["from"]) for x in lines("begins")] == [(3, None)] * 3 and not lines("preemption")

        first = one.worker_pods()[0]
        pod, before = first["metadata"]["name"], set(one.workers())
        begun = time.time()
        deadline = gpu_nodes.end(first["spec"]["nodeName"])
        one.recorder.excuse(pod)
        wait_until(lambda: len(lines("preemption")) == 3, 10, "all ranks to hear of it", 0.1)
        heard = max(x["at"] for x in lines("preemption")) - begun
        (new,) = wait_until(lambda: set(one.workers()) - before, 5, "the replacement's Pod")
        wait_until(lambda: len(lines("checkpoint")) == 3, 20, "the checkpoint", 0.2)
        assert pod in one.workers() and not one.workers_to_delete(), "only Kubernetes ends it"
        wait_until(lambda: new in {n["pod"] for n in one.witness.latest()["nodes"]}, 60, "the replacement in Ray")
        wait_until(lambda: time.time() > deadline, LEFT, "the end of the Node")
        api_server.admin.of("pods", namespace).delete(pod, grace_seconds=1)
        resumed = wait_until(lambda: lines("begins")[3:], 120, "the run to go on", 0.2)
        more = lambda: [x["step"] for x in lines("step") if x["at"] > resumed[-1]["at"]]  # noqa: E731
        wait_until(lambda: len(more()) > 5, 60, "more steps", 0.2)
        assert program.call("trained", 60)["step"] > 0
        program.end()

    saved = lines("checkpoint")[0]
    assert {x["deadline_ms"] for x in lines("preemption")} == {deadline * 1000}
    assert saved["at"] < deadline
    # From that step on, and with the replacement or with the two that were left.
    assert {x["from"] for x in lines("begins")[3:]} == {saved["step"]}
    assert pod not in {x["pod"] for x in lines("begins")[3:]}
    control.wait_for("Ray drains a worker in use", pod)
    assert len(control.find("Ray drains a worker in use", pod)) <= 1
    assert min(more()) > saved["step"]
    print(f"after the taint: ranks hear of it {heard:.1f} s, checkpoint {saved['at'] - begun:.1f} s, ", end="")
    print(f"deadline {deadline - begun:.1f} s, resumed {resumed[0]['at'] - begun:.1f} s")


@pytest.mark.test_all
def test_a_run_on_half_of_the_gpus_moves_from_a_sick_node(scenario, controller, api_server, namespace, gpu_nodes):
    """4 of 8 GPUs: the replacement first, a checkpoint when Ray is notified, and the run goes on with 4 elsewhere."""
    one = scenario(rm.with_env(rm.cluster("train", [rm.gpu_group(maxReplicas=8)], idle_seconds=300), rm.LIBRARY_ENV))
    gpu_nodes.make()
    api_server.let_read_nodes(namespace)
    controller(namespace, "--repair-after-seconds", "1", "--repair-deadline-seconds", str(LEFT), "--repair-deletes")
    with one.program(prints=True) as program:
        lines = lambda event: [x for x in ray_train_run.lines(program.directory) if x["event"] == event]  # noqa: E731
        program.call("request", bundles=[{"GPU": 1}] * 4)
        one.wait_joined(4)
        program.call("request", bundles=[])
        program.call("train", fewest=3, most=4)
        wait_until(lambda: len(lines("step")) > 9, 150, "the run to begin", 0.2)
        first, before = one.worker_pods()[0], set(one.workers())
        sick = first["metadata"]["name"]
        one.recorder.excuse(sick)
        gpu_nodes.sick(first["spec"]["nodeName"])
        wait_until(lambda: len(lines("checkpoint")) == 4, 60, "the checkpoint", 0.2)
        assert set(one.workers()) - before, "the replacement is there"
        resumed = wait_until(lambda: lines("begins")[4:], 120, "the run to go on", 0.2)
        more = lambda: [x["step"] for x in lines("step") if x["at"] > resumed[-1]["at"]]  # noqa: E731
        wait_until(lambda: len(more()) > 5, 60, "more steps", 0.2)
        assert program.call("trained", 60)["step"] > 0
        program.end()
    saved = lines("checkpoint")[0]
    assert {x["from"] for x in lines("begins")[4:]} == {saved["step"]}, "at most one checkpoint is lost"
    assert sick not in {x["pod"] for x in lines("begins")[4:]}
    assert saved["at"] < lines("preemption")[0]["deadline_ms"] / 1000
