"""Ray Data, Ray Train and request_resources: the groups as Ray's libraries read them, and unused workers."""

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e import ray_train_run
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import allowed, processes_per_core, wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def gpus(name="gpu-group", **fields):
    """One GPU by rayStartParams, so that its workers show no type of accelerator."""
    return rm.group(name, cpus=4, params={"num-gpus": "1"}, **fields)


def typed(**fields):
    made = rm.gpu_group("typed", **fields)
    made["template"]["spec"]["nodeSelector"] = H100
    return made


def shape_of(program, is_right, seconds=20):
    found = []

    def reads():
        found[:] = [program.call("shape")]
        return found[0] and is_right(found[0])

    wait_until(reads, seconds, "the shape that Ray's libraries read", 0.3)
    return found[0]


def test_libraries_read_groups_that_have_no_worker(shared, controller):
    one = shared([gpus(maxReplicas=4), typed(maxReplicas=3)])
    controller(one.namespace)
    with one.program() as program:
        shape = shape_of(program, lambda s: set(s["groups"]) == {"headgroup", "gpu-group", "typed"})
        groups = shape["groups"]
        assert not one.workers() and shape["scales"]
        assert (groups["headgroup"]["min"], groups["headgroup"]["max"]) == (1, 1)
        assert (groups["gpu-group"]["min"], groups["gpu-group"]["max"]) == (0, 4)
        assert groups["gpu-group"]["resources"]["GPU"] == 1 and groups["gpu-group"]["resources"]["CPU"] == 4
        assert groups["typed"]["resources"]["accelerator_type:H100"] == 1
        assert [4, 1, 0] in shape["seen"] and shape["most"]["GPU"] == 7 and shape["most"]["accelerator_type:H100"] == 3
        one.edit({"spec": {"workerGroupSpecs": [gpus(maxReplicas=6)]}})
        shape = shape_of(program, lambda s: s["groups"].get("gpu-group", {}).get("max") == 6)
        assert shape["most"]["GPU"] == 6 and "typed" not in shape["groups"]
        program.end()


def test_nothing_is_reported_while_a_type_is_unknown_or_it_is_off(shared, controller):
    one = shared([gpus(maxReplicas=2)])
    off = controller(one.namespace, "--report-cluster-config=false")
    with one.program() as program:
        before = program.call("shape")
        hold(lambda: program.call("shape") == before, 6, "no report", 0.5)
        off.stop()
        one.edit({"spec": {"workerGroupSpecs": [rm.gpu_group(maxReplicas=2)]}})  # its first worker will show the type of its GPU
        controller(one.namespace)
        hold(lambda: program.call("shape") == before, 6, "no report", 0.5)
        program.actors(1, name="first", num_gpus=1)
        program.ready("first")
        shape = shape_of(program, lambda s: s["groups"]["gpu-group"]["max"] == 2)
        assert shape["most"]["GPU"] == 2
        program.end()


def test_an_impossible_run_of_train_ends_at_once(scenario, controller, namespace):
    # In a cluster of its own: the coordinator of Ray's libraries outlives the run, and later clears the requests of others.
    one = scenario(rm.with_env(rm.cluster("impossible", [gpus(maxReplicas=4)]), rm.LIBRARY_ENV))
    controller(namespace)
    with one.program() as program:
        shape_of(program, lambda s: s["most"].get("GPU") == 4)
        program.call("train", fewest=8, most=8)
        kind, text, seconds = program.call("refused", 180)
        print(f"refused after {seconds} s, {processes_per_core():.1f} processes for each core: {kind}")
        # The controller of the run wraps InsufficientClusterResourcesError.
        assert "Insufficient cluster resources" in text and '{"GPU": 8}' in text and '{"GPU": 4}' in text, text
        assert seconds <= allowed(10)
        # Train asks for its GPUs before it reads the shape, and the four that there may be have started meanwhile.
        wait_until(lambda: not one.workers(), 120, "the workers of its request to end")
        program.end()


def test_an_elastic_run_of_train_begins_with_its_minimum(scenario, controller, namespace):
    """Ray Train asks for its most by request_resources, says its minimum to no one, and has a placement group only when
    as much is there: with aheadOfUse at the minimum this comes first, and the rest when it is in use."""
    one = scenario(rm.with_env(rm.cluster("elastic", [gpus(maxReplicas=4)]), rm.LIBRARY_ENV))
    controller(namespace, "--requests-ahead-of-use", "2")
    with one.program() as program:
        shape_of(program, lambda s: s["most"].get("GPU") == 4)
        program.call("train", fewest=2, most=4, looks=3)
        worlds = wait_until(lambda: begun(program), 120, "the run to begin")
        assert worlds[0] == 2, worlds
        wait_until(lambda: begun(program)[-1] == 4, 150, "the run to have all four")
        print(f"worlds of the run: {sorted(set(begun(program)))}")
        program.call("trained", 120)
        program.end()


def test_trials_of_tune_that_do_not_fit_together_take_turns(scenario, controller, namespace):
    """Ray Tune asks for a placement group of each trial at once: of four with two GPUs each one fits under three GPUs.
    No third worker starts for a part of the next one; one may start beside a worker that the first has left."""
    one = scenario(rm.with_env(rm.cluster("tune", [gpus(maxReplicas=3)], idle_seconds=3), rm.LIBRARY_ENV))
    controller(namespace)
    with one.program() as program:
        begun_at = one.recorder.mark()
        assert program.call("tune", 180, trials=4, gpus=2, takes=2) == 4
        seen = [event.value for event in one.recorder.of("replicas", begun_at, "gpu-group")]
        print(f"replicas: {seen}")
        assert seen[0] == 2 and max(seen) <= 3, seen
        one.wait_empty()
        program.end()


def begun(program):
    """The sizes with which the run began, by time."""
    return [line["world"] for line in ray_train_run.lines(program.directory) if line["event"] == "begins"]


def test_workers_that_only_a_request_keeps_end_when_nothing_uses_them(shared, controller):
    one = shared([gpus(maxReplicas=4)], idle_seconds=2)
    control = controller(one.namespace, "--requests-unused-after-seconds", "4")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        program.call("request", bundles=[{"GPU": 1}] * 3)
        one.wait_joined(3)
        (busy,) = program.ready("busy")
        wait_until(lambda: one.workers() == [busy], 60, "the unused workers to end")
        said = "request_resources asks for 3 GPU, 1 is used"
        wait_until(lambda: any(d["reason"] == "RequestUnused" and said in d["message"] for d in unserved(one)), 20, "the reason in the status")
        hold(lambda: one.workers() == [busy] and one.replicas() == 1, 6, "the request to start none")

        program.actors(1, name="more", num_gpus=1)  # what waits gets its worker
        program.ready("more")
        wait_until(lambda: kept(one), 20, "the status to have what was unused")
        control.stop()
        controller(one.namespace, "--requests-unused-after-seconds", "4")
        one.wait_joined(2)
        hold(lambda: one.replicas() == 2, 6, "the request to start none after a restart")
        program.call("request", bundles=[{"GPU": 1}] * 4)
        one.wait_joined(4)
        assert program.call("alive", name="busy") == [busy]
        program.call("request", bundles=[])
        program.end()


def unserved(one):
    return ((one.autoscaler() or {}).get("status") or {}).get("unserved") or []


def kept(one):
    status = (one.autoscaler() or {}).get("status") or {}
    return (status.get("requests") or {}).get("unusedSince")


def test_a_request_starts_at_most_so_many_ahead_of_use(shared, controller):
    one = shared([gpus(maxReplicas=4)], idle_seconds=2)
    control = controller(one.namespace, "--requests-ahead-of-use", "1")
    with one.program() as program:
        program.call("request", bundles=[{"GPU": 1}] * 4)
        one.wait_joined(1)
        hold(lambda: one.replicas() == 1, 5, "one ahead of use")
        program.actors(1, name="busy", num_gpus=1)
        program.ready("busy")
        one.wait_joined(2)
        hold(lambda: one.replicas() == 2, 5, "one ahead of use")
        metric = 'rayscaler_request_accelerators{namespace="shared'
        wait_until(lambda: metric in control.get("/metrics")[1], 10, "the metric of the request")
        program.call("request", bundles=[])
        program.end()
