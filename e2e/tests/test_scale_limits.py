"""minReplicas and maxReplicas, also edited while the program runs."""

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

IDLE = 5


def test_min_replicas_without_any_demand(shared, controller):
    one = shared([rm.gpu_group(minReplicas=1)])
    controller(one.namespace)
    one.wait_joined(1)
    wait_until(lambda: one.replicas() == 1, 5, "replicas to say so as well")
    hold(lambda: len(one.workers()) == 1 and one.replicas() == 1, IDLE + 4, "minReplicas keeps an idle worker")


def test_min_and_max_replicas_edited_while_running(shared, controller):
    one = shared([rm.gpu_group(maxReplicas=1)])
    controller(one.namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        one.wait_joined(1)
        hold(lambda: one.replicas() == 1, 2, "maxReplicas 1 holds")
        one.edit_group(maxReplicas=3)
        program.ready("actors")
        assert one.replicas() == 2
        one.edit_group(minReplicas=3)
        one.wait_joined(3)
        # The operator makes Pods for minReplicas before replicas says so.
        wait_until(lambda: one.replicas() == 3, 10, "replicas to say so as well")
        one.edit_group(minReplicas=0)
        one.wait_workers(2)
        assert one.replicas() == 2
        program.end()
    one.wait_empty()


def test_lowered_max_replicas_removes_idle_workers_and_no_busy_one(shared, controller):
    one = shared([rm.gpu_group()], idle_seconds=600)
    controller(one.namespace)
    with one.program() as program:
        program.actors(1, name="kept", num_gpus=1)
        (busy,) = program.ready("kept")
        one.request('[{"GPU": 1}, {"GPU": 1}]')
        one.wait_joined(2)
        program.actors(1, name="second", num_gpus=1)
        program.ready("second")
        one.request(None)
        one.edit_group(maxReplicas=1)
        wait_until(lambda: one.replicas() == 1, 5, "replicas to be lowered at once")
        hold(lambda: len(one.workers()) == 2, 3, "busy workers above maxReplicas stay")
        program.call("release", name="second")
        one.wait_workers(1)
        assert one.workers() == [busy]
        assert program.call("alive", name="kept") == [busy]


def test_only_launches_of_ours_that_nothing_needs_are_taken_back(shared, controller):
    held = {"bench.rayscaler.dev/unschedulable": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}
    one = shared([rm.gpu_group(annotations=held), rm.group("by-hand", annotations=held)])
    one.edit_group("by-hand", replicas=1)
    controller(one.namespace, "--cancel-launch-seconds", "3")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        one.wait_workers(1)
        hold(lambda: len(one.workers()) == 1, 5, "a launch that is needed stays, Unschedulable or not")
        program.end()
    one.wait_empty()
    assert one.replicas("by-hand") == 1 and len(one.workers("by-hand")) == 1, "what a user asked for stays"


def test_conservative_starts_five_at_once_and_then_one_every_round(shared, controller):
    held = {"bench.rayscaler.dev/unschedulable": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}
    one = shared([rm.gpu_group(annotations=held, maxReplicas=10)])
    one.edit({"spec": {"autoscalerOptions": {"upscalingMode": "Conservative"}}})
    since = one.recorder.mark()
    controller(one.namespace, "--cancel-launch-seconds", "3")
    with one.program() as program:
        program.actors(10, num_gpus=1)
        one.wait_workers(10, seconds=90)
        program.end()
    raised = [event.value for event in one.recorder.of("replicas", since, "gpu-group") if event.value >= 5]
    assert raised[:6] == [5, 6, 7, 8, 9, 10], "nothing has joined: as many as Ray's v1 at once, and as its v2 after that"
    one.wait_empty()


def test_surplus_that_runs_and_never_registers_is_terminated(shared, controller):
    slow = rm.gpu_group()
    slow["template"]["spec"]["containers"][0]["command"] = ["sleep", "600"]  # before ray start
    one = shared([slow])
    controller(one.namespace, "--unregistered-seconds", "3", "--cancel-launch-seconds", "3")
    with one.program() as program:
        program.actors(2, num_gpus=1)
        one.wait_workers(2)
        wait_until(lambda: [pod["status"].get("phase") for pod in one.worker_pods()] == ["Running"] * 2, 30, "both to run")
        hold(lambda: one.replicas() == 2 and len(one.workers()) == 2, 6, "below maxReplicas they are waited for")
        since = one.recorder.mark()
        one.edit_group(maxReplicas=1)
        one.wait_workers(1)
        assert one.replicas() == 1
        (event,) = one.recorder.of("workersToDelete", since, "gpu-group")
        assert len(event.value) == 1, "one is above the maximum, and it is named"
        program.end()
    one.wait_empty()
