"""Ray Serve with logical GPUs: replicas that wait for workers, and a deployment that ends at zero and begins again."""

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

REPLICA = {"num_cpus": 0.1, "num_gpus": 0.5}


@pytest.fixture
def served(scenario, controller, namespace, work_dir):
    one = scenario(rm.with_env(rm.cluster("served", [rm.gpu_group(maxReplicas=3)], idle_seconds=2), rm.SERVE_ENV))
    control = controller(namespace)
    cli = Cli(one.server, namespace, work_dir, system=namespace)
    with one.program() as program:
        yield one, program, lambda: cli.run("explain", "served", "--controller-url", control.address("metrics")).stdout
        program.call("undeploy")
        program.end()


def test_replicas_that_may_not_share_a_node_get_their_own(served):
    one, program, explain = served
    program.call("deploy", name="apart", options={"num_replicas": 2, "max_replicas_per_node": 1, "ray_actor_options": REPLICA})
    one.wait_joined(2, seconds=180)  # Serve's own processes begin first
    wait_until(lambda: program.call("running", name="apart") == 2, 120, "both replicas to run")
    assert len(set(program.call("call", 150, name="apart", count=8))) == 2
    hold(lambda: len(one.workers()) == 2, 5, "no other worker")


@pytest.mark.test_all  # some 90 s each; the test above has Serve's demand
def test_replicas_with_bundles_get_their_workers(served):
    one, program, explain = served
    options = {
        "num_replicas": 2,
        "ray_actor_options": {"num_cpus": 0.1},
        "placement_group_bundles": [{"CPU": 0.1, "GPU": 1}, {"GPU": 1}],
        "placement_group_strategy": "STRICT_SPREAD",
    }
    program.call("deploy", name="wide", options=options)
    one.wait_joined(2)
    wait_until(lambda: program.call("running", name="wide") == 1, 60, "the first replica to run")
    wait_until(lambda: "Ray Serve: 1 replica of wide:Model waits for a worker" in explain(), 20, "explain to name the deployment")
    one.edit({"spec": {"workerGroupSpecs": [{**one.get()["spec"]["workerGroupSpecs"][0], "maxReplicas": 4}]}})
    wait_until(lambda: program.call("running", name="wide") == 2, 120, "both replicas to run")


@pytest.mark.test_all  # some 90 s each; the test above has Serve's demand
def test_from_zero_and_back(served):
    one, program, explain = served
    scaling = {
        "min_replicas": 0, "initial_replicas": 0, "max_replicas": 2, "target_ongoing_requests": 1, "upscale_delay_s": 0.5,
        "downscale_delay_s": 2, "downscale_to_zero_delay_s": 2, "metrics_interval_s": 0.5, "look_back_period_s": 2,
    }
    options = {"autoscaling_config": scaling, "ray_actor_options": {"num_cpus": 0.1, "num_gpus": 1}}
    program.call("deploy", name="rare", options=options)
    hold(lambda: not one.workers(), 5, "no worker without a request")
    for _ in range(2):
        (pod,) = program.call("call", 180, name="rare")
        assert pod in one.workers()
        one.wait_empty()
