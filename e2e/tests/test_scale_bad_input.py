"""Input that is wrong: the message names object, field and fix, the rest continues, nothing is terminated."""

import json
import os

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

IDLE = 5
ONE_GPU = '[{"GPU": 1}]'


def text(line) -> str:
    return json.dumps(line, ensure_ascii=False)


def test_malformed_annotation(shared, controller):
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    one.request(ONE_GPU)
    (worker,) = one.wait_joined(1)
    one.request('[{"GPU": 1}')
    line = control.wait_for("InvalidRequest", "rayscaler.dev/request-resources", seconds=5)
    assert "shared" in text(line)
    hold(lambda: one.workers() == [worker], IDLE + 4, "nothing is removed while the request is unreadable")
    with one.program() as program:
        program.actors(2, num_gpus=1)
        assert len(program.ready("actors")) == 2, "scale-up goes on"
        assert one.replicas() == 2
        program.end()
    hold(lambda: len(one.workers()) == 2, IDLE + 3, "nothing is removed while the request is unreadable")
    one.request(None)
    one.wait_empty()


@pytest.mark.parametrize(
    "bad, words",
    [
        (rm.group("bad", resources={"CPU": "lots"}), ["resources", "CPU", "lots"]),
        (rm.group("bad", params={"num-gpus": "many"}), ["num-gpus", "many"]),
    ],
    ids=["quantity", "num-gpus"],
)
def test_an_unknown_quantity_stops_its_group_only(shared, controller, bad, words):
    # KubeRay refuses a group with both `resources` and rayStartParams of that kind; here only one is set.
    goes_on(shared, controller, bad, words)


def test_a_group_without_cpu_stops_alone(shared, controller):
    bad = rm.group("bad")
    bad["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    goes_on(shared, controller, bad, ["CPU", "num-cpus"])


def goes_on(shared, controller, bad, words):
    """The group `bad` is frozen with a message; gpu-group beside it grows and shrinks."""
    one = shared([bad, rm.gpu_group()])
    control = controller(one.namespace)
    control.wait_for("InvalidRequest", "shared", "bad", *words)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors")
        program.end()
    one.wait_empty()
    assert one.replicas("bad") == 0


def test_min_above_max_stops_its_group(shared, controller, api_server):
    one = shared([rm.group("bad", minReplicas=2, maxReplicas=1), rm.gpu_group()])
    control = controller(one.namespace)
    control.wait_for("InvalidRequest", "shared", "bad", "minReplicas", "maxReplicas")
    # KubeRay's operator does nothing at all for such a cluster.
    control.wait_for("RefusedByKubeRay", "worker group bad has minReplicas 2 greater than maxReplicas 1")
    one.request(ONE_GPU)
    hold(lambda: [one.replicas("bad"), one.replicas("gpu-group")] == [0, 0], 2, "both groups wait")
    assert one.workers(None) == []
    one.edit_group("bad", minReplicas=0)
    one.wait_joined(1)


def test_wrong_types_are_refused_or_named(shared, controller, scenario, namespace, api_server):
    bad = rm.cluster("wrong", [rm.gpu_group()])
    bad["spec"]["headGroupSpec"]["template"]["metadata"] = {"annotations": {"bench.rayscaler.dev/unschedulable": "-"}}

    def refuses(field, value, pod=True):
        refused = json.loads(json.dumps(bad))
        group = refused["spec"]["workerGroupSpecs"][0]
        (group["template"]["spec"] if pod else group)[field] = value
        with pytest.raises(ApiError) as error:
            api_server.admin.of("rayclusters", namespace).create(refused)
        assert error.value.status == 422 and field in error.value.message

    refuses("maxReplicas", "five", pod=False)
    refuses("affinity", "near")
    refuses("affinity", {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}})
    refuses("schedulerName", 5)
    refuses("hostNetwork", "yes")
    refuses("volumes", [{"emptyDir": {}}])
    tolerations = [{"key": 5}]
    if os.environ.get("KUBERAY") == "real":
        refuses("tolerations", tolerations)
        return
    # Our CRD accepts it unchanged.
    bad["spec"]["workerGroupSpecs"][0]["template"]["spec"]["tolerations"] = tolerations
    wrong = scenario(bad, wait=False)
    good = scenario(rm.cluster("good", [rm.gpu_group()]))
    control = controller(namespace)
    control.wait_for(f"{namespace}/wrong", "tolerations")
    wrong.request(ONE_GPU)
    with good.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors")
        program.end()
    good.wait_empty()
    assert wrong.replicas() == 0
