"""From Ray's autoscaler to rayscaler by `autoscalerOptions`, with each KubeRay.

KUBERAY=real runs it with the operator and the CRDs that are named: docs/internals/compatibility.md has the runs.
The kubelet stand-in starts the container `autoscaler` as the operator made it; where it names our image, in the
root file system of that image, whose `/bin/bash` and `ray` are the program.
"""

import re
import time

import pytest

from rayscaler_e2e import image
from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ADMIN_USER, CONTROLLER_ACCOUNT
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

IMAGE = "rayscaler:0.1.0"
PARK = {"name": "RAYSCALER_MODE", "value": "park"}
SLEEP = {"command": ["sleep"], "args": ["infinity"]}
KUBERAYS_OWN = (
    r"(/bin/bash -(c|lc|cl) -- )?ray kuberay-autoscaler "
    r"--cluster-name \$\(RAY_CLUSTER_NAME\) --cluster-namespace \$\(RAY_CLUSTER_NAMESPACE\)"
)
ONE_GPU = '[{"GPU": 1}]'
NO_POD = {"bench.rayscaler.dev/unschedulable": "held by the test"}


@pytest.fixture
def enterable(work_dir):
    """Skips where the root file system of the image cannot be entered."""
    missing = image.no_namespaces(work_dir)
    if missing:
        pytest.skip(missing)


def cluster(name, **options):
    """With these autoscalerOptions and no others that a user writes to switch."""
    made = rm.cluster(name, [rm.gpu_group()])
    made["spec"]["autoscalerOptions"] = {"version": "v2", "idleTimeoutSeconds": 5, **options}
    for each in (made["spec"]["headGroupSpec"], *made["spec"]["workerGroupSpecs"]):
        resources = each["template"]["spec"]["containers"][0].setdefault("resources", {})
        resources["requests"] = dict(resources.get("limits") or {})  # KubeRay 1.1 ends with a panic without them
    return made


def container_of(one):
    (found,) = [each for each in one.head()["spec"]["containers"] if each["name"] == kp.AUTOSCALER_CONTAINER]
    return found


def check_kuberays_own(container):
    words = " ".join([*container["command"], *container["args"]])
    print(f"KubeRay's command: {words}")
    assert container["image"] == IMAGE and re.fullmatch(KUBERAYS_OWN, words)


def check_up_and_down(one, account):
    """A task brings one worker, which is deleted when idle; of rayscaler's accounts, only this one
    scales. The operator, an admin here, writes the status."""
    with one.program() as program:
        asked = time.monotonic()
        program.tasks(1, num_gpus=1)
        assert program.ready("tasks") == one.workers()
        runs = time.monotonic()
        assert program.call("release", name="tasks")
        one.wait_empty()
        print(f"the task ran {runs - asked:.1f} s after its submission; no worker {time.monotonic() - runs:.1f} s later")
    writes = [each for each in one.server.writes(one.namespace) if each.plural == "rayclusters"]
    assert {each.account for each in writes if each.method == "PATCH"} - {ADMIN_USER} == {account}


def test_the_image_is_the_whole_switch(enterable, scenario):
    one = scenario(cluster("image", image=IMAGE))
    check_kuberays_own(container_of(one))
    check_up_and_down(one, "image")


def test_the_image_parks_by_a_variable(enterable, scenario, namespace, controller):
    one = scenario(cluster("image", image=IMAGE, env=[PARK]))
    check_kuberays_own(container_of(one))
    controller(namespace)
    check_up_and_down(one, CONTROLLER_ACCOUNT)


def test_sleep_parks_where_the_crd_has_a_command(scenario, api_server, namespace, controller):
    """Ray's image sleeps. Before KubeRay 1.7 the API server drops both lines: the cluster keeps Ray's autoscaler,
    and ours reports that instead of scaling."""
    if "command" in options_of_crd(api_server):
        one = scenario(cluster("sleeps", **SLEEP))
        container = container_of(one)
        assert {key: container[key] for key in SLEEP} == SLEEP and container["image"] != IMAGE
        controller(namespace)
        return check_up_and_down(one, CONTROLLER_ACCOUNT)
    made = cluster("sleeps", **SLEEP)
    made["spec"]["headGroupSpec"]["template"]["metadata"] = {"annotations": NO_POD}
    made["metadata"]["annotations"] = {"rayscaler.dev/request-resources": ONE_GPU}
    one = scenario(made, wait=False)
    wait_until(one.head, 10, "the head Pod")
    assert "command" not in one.get()["spec"]["autoscalerOptions"]
    controller(namespace)
    wait_until(lambda: reason_of(one) == "SecondAutoscaler", 10, "the reason for leaving the cluster alone")
    hold(lambda: one.replicas() == 0, 3, "Ray's autoscaler has the cluster")
    print("the CRD has no autoscalerOptions.command: SecondAutoscaler")


def options_of_crd(server):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io"
    (served,) = [one for one in server.admin.call("GET", path)["spec"]["versions"] if one["name"] == "v1"]
    spec = served["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return spec["autoscalerOptions"]["properties"]


def reason_of(one):
    conditions = ((one.autoscaler() or {}).get("status") or {}).get("conditions") or []
    return next((each["reason"] for each in conditions if each["type"] == "ScalingActive"), "")
