"""Pods in use carry the annotations that keep Karpenter and Cluster Autoscaler from evicting them, and idle ones lose them.

``KEEPS`` has the rules of both for one Pod, as their sources have them (docs/internals/conformance.md).
"""

import re
from typing import Any, Dict, Iterator, List, Set

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.scenario import Scenario, hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

RECORD = "rayscaler.dev/protected"
KEEPS = {
    # IsDoNotDisruptActive: "true", or a duration since the start of the Pod.
    "karpenter.sh/do-not-disrupt": lambda value: value == "true",
    # HasNotSafeToEvictAnnotation.
    "cluster-autoscaler.kubernetes.io/safe-to-evict": lambda value: value == "false",
}
KARPENTER = "karpenter.sh/do-not-disrupt"
IDLE = 600  # workers stay, so that their annotations can be seen to end
# A minute of protection at least, 30 s of idleness, and a slow machine.
REMOVED_SECONDS = 150.0


@pytest.fixture(autouse=True)
def _until_the_end(api_server: ApiServer) -> Iterator[None]:
    """The right in the namespace of the shared head ends with the test: one begins without it."""
    yield
    api_server.admin.of("rolebindings", "shared").delete("patch-pods", missing_ok=True)


def let_patch_pods(server: ApiServer, namespace: str) -> None:
    """As the chart's protectBusyPods.allowPatch."""
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": "patch-pods", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}]
    subject = {"kind": "ServiceAccount", "name": CONTROLLER_ACCOUNT, "namespace": namespace}
    role = {"apiGroup": rbac, "kind": "Role", "name": "patch-pods"}
    server.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    server.apply({"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]})


def annotations(pod: Dict[str, Any]) -> Dict[str, str]:
    return pod["metadata"].get("annotations") or {}


def kept(one: Scenario) -> Set[str]:
    """Pods that neither of the two would evict."""
    return {
        pod["metadata"]["name"] for pod in one.pods() if all(keeps(annotations(pod).get(key)) for key, keeps in KEEPS.items())
    }


def marked(one: Scenario) -> Set[str]:
    """Pods with any of the keys."""
    return {pod["metadata"]["name"] for pod in one.pods() if {RECORD, *KEEPS} & set(annotations(pod))}


def versions(one: Scenario, names: Set[str]) -> List[str]:
    return sorted(annotations(pod)[RECORD] for pod in one.pods() if pod["metadata"]["name"] in names)


def head_of(one: Scenario) -> str:
    return one.head()["metadata"]["name"]


def test_pods_in_use_are_kept(shared, controller, api_server):
    """First without the right: the condition has the cure. Then set at once, kept over kill -9, not in the way of an eviction
    that somebody asks for, and removed after the work."""
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    control = controller(one.namespace, "--protect-busy-pods", "--metrics-bind-address", "127.0.0.1:0")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (busy,) = program.ready("busy")
        wait_until(
            lambda: "protectBusyPods.allowPatch=true" in str((one.autoscaler() or {}).get("status")), 30, "the condition with the cure"
        )
        assert not marked(one)
        let_patch_pods(api_server, one.namespace)
        wait_until(lambda: kept(one) == {head_of(one), busy}, 90, "both to be protected")
        wait_until(lambda: "PodPatchForbidden" not in str(one.autoscaler()["status"]), 30, "the condition to end")
        sample = re.compile(r'^rayscaler_protected_pods\{[^}]*raycluster="%s"[^}]*\} 2$' % one.name, re.M)
        wait_until(lambda: sample.search(control.get("/metrics")[1]), 30, "the metric")
        status, text = control.get(f"/status/{one.namespace}/{one.name}")
        assert status == 200 and "protected from eviction since" in text

        # A user's key, and a restart in the middle of the protection.
        one.annotate_pod(head_of(one), {KARPENTER: "30m"})
        before = versions(one, {head_of(one), busy})
        control.kill()
        control.start()
        control.wait_for("deciding starts", seconds=30)
        hold(lambda: versions(one, {head_of(one), busy}) == before, 8, "nothing is written again")
        program.call("release", name="busy")
        program.end()
    wait_until(lambda: marked(one) == {head_of(one)}, REMOVED_SECONDS, "the worker's annotations to end")
    wait_until(lambda: set(annotations(one.head())) & {RECORD, *KEEPS} == {KARPENTER}, 60, "the user's key alone stays")
    assert annotations(one.head())[KARPENTER] == "30m"
    one.annotate_pod(head_of(one), {KARPENTER: None})


def test_an_eviction_is_not_blocked(shared, controller, api_server):
    """The annotations are for the two programs: the eviction API itself does not read them."""
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    let_patch_pods(api_server, one.namespace)
    controller(one.namespace, "--protect-busy-pods")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1, max_restarts=-1, max_task_retries=-1)
        (busy,) = program.ready("busy")
        wait_until(lambda: busy in kept(one), 60, "it to be protected")
        one.recorder.excuse(busy)
        pods = api_server.admin.of("pods", one.namespace)
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": busy, "namespace": one.namespace}}
        pods.create_sub(busy, "eviction", body)
        wait_until(lambda: busy not in one.workers(), 60, "the evicted Pod to end")
        wait_until(lambda: (program.ready("busy") or [busy]) != [busy], 90, "the actor to run in another worker")
        (again,) = program.ready("busy")
        wait_until(lambda: again in kept(one), 60, "the other worker to be protected")
        program.end()
