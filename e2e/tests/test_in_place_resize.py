"""Running workers are resized in place (annotation ray.io/ippr) before Pods are added: real raylets, a real API server.

The kubelet stand-in (e2e/rayscaler_e2e/pod_resize.py) carries resizes out, defers or refuses them as the kubelet does.
"""

import json
import re
from contextlib import closing
from typing import Any, Dict, Iterator, List

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.kills import Bench, ControllerTarget
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

Object = Dict[str, Any]
GROUP = "cpu-group"
RECORD = "ray.io/ippr-status"
IDLE = 600


@pytest.fixture(autouse=True)
def _right(api_server: ApiServer) -> Iterator[None]:
    """The right in the namespace of the shared head ends with the test."""
    yield
    api_server.admin.of("rolebindings", "shared").delete("resize-pods", missing_ok=True)


def let_resize(server: ApiServer, namespace: str) -> None:
    """As the chart's config.inPlaceResize."""
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": "resize-pods", "namespace": namespace}
    rules = [{"apiGroups": [""], "resources": ["pods", "pods/resize"], "verbs": ["patch"]}]
    subject = {"kind": "ServiceAccount", "name": CONTROLLER_ACCOUNT, "namespace": namespace}
    role = {"apiGroup": rbac, "kind": "Role", "name": "resize-pods"}
    server.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
    server.apply({"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]})


def group(**fields: Any) -> Object:
    """2 CPU; ``fields`` as of rm.group."""
    made = rm.group(GROUP, cpus=2, **{"replicas": 1, "minReplicas": 1, **fields})
    resources = made["template"]["spec"]["containers"][0]["resources"]
    resources["requests"] = dict(resources["limits"])
    return made


def annotation(cpu: str = "6", memory: str = "2Gi", timeout: int = 300) -> Dict[str, str]:
    of_group = {"max-cpu": cpu, "max-memory": memory, "resize-timeout": timeout}
    return {"ray.io/ippr": json.dumps({"groups": {GROUP: of_group}})}


def allow(one: Scenario, **most: Any) -> None:
    one.edit({"metadata": {"annotations": annotation(**most)}})


def pod(one: Scenario, name: str) -> Object:
    return next(found for found in one.worker_pods(GROUP) if found["metadata"]["name"] == name)


def record(one: Scenario, name: str) -> Object:
    return json.loads((pod(one, name)["metadata"].get("annotations") or {}).get(RECORD, "{}"))


def limits(one: Scenario, name: str) -> Object:
    return pod(one, name)["spec"]["containers"][0]["resources"]["limits"]


def wait_limits(one: Scenario, name: str, cpu: str, memory: int) -> None:
    """The record may end before the Pod is taken back."""
    wanted = {"cpu": cpu, "memory": str(memory)}
    wait_until(lambda: limits(one, name) == wanted, 20, f"the Pod to have the limits {wanted}")


def cpu_limit(found: Object) -> str:
    return found["spec"]["containers"][0]["resources"]["limits"]["cpu"]


def has(one: Scenario, name: str) -> Object:
    return pod(one, name)["status"]["containerStatuses"][0]["resources"]["limits"]


def raylet(one: Scenario, name: str) -> Dict[str, float]:
    return (one.witness.node(name) or {}).get("total") or {}


def wait_raylet(one: Scenario, name: str, cpus: int, memory: int) -> None:
    """The raylet tells the GCS its size after it has answered, so the record may end before."""
    wanted = {"CPU": cpus, "memory": memory}
    wait_until(lambda: {key: raylet(one, name).get(key) for key in wanted} == wanted, 20, f"the raylet to have {wanted}")


def conditions(one: Scenario) -> Dict[str, Object]:
    status = (one.autoscaler() or {}).get("status") or {}
    return {condition["type"]: condition for condition in status.get("conditions") or []}


def workers_seen(one: Scenario) -> List[str]:
    return sorted(found["metadata"]["name"] for found in one.worker_pods(GROUP))


def test_a_worker_grows_for_a_task(shared, controller, api_server):
    """2 CPU become 6 for a task that needs 5: the record, the Pod, the kubelet, then the raylet; no Pod is added."""
    one = shared([group()], idle_seconds=IDLE)
    allow(one)
    let_resize(api_server, one.namespace)
    (worker,) = one.wait_joined(1, GROUP)
    control = controller(one.namespace, "--in-place-resize", "--metrics-bind-address", "127.0.0.1:0")
    with one.program() as program:
        program.tasks(1, name="large", num_cpus=5)
        resized = wait_until(lambda: (found := pod(one, worker)) and cpu_limit(found) == "6" and found, 60, "the Pod to be resized")
        assert RECORD in resized["metadata"]["annotations"], "the record is written before the Pod is resized"
        assert program.ready("large", seconds=60) == [worker]
        wait_raylet(one, worker, cpus=6, memory=2 << 30)
        assert has(one, worker) == limits(one, worker) == {"cpu": "6", "memory": str(2 << 30)}
        wait_until(lambda: record(one, worker)["resizing-at"] is None, 20, "the record to end")
        assert record(one, worker)["last-failed-at"] is None
        assert workers_seen(one) == [worker] and one.replicas(GROUP) == 1
        assert pod(one, worker)["status"]["containerStatuses"][0]["restartCount"] == 0
        for result, count in (("requested", 1), ("done", 1), ("failed", 0)):
            series = f'raycluster="{one.name}",result="{result}"}} {count}'
            wait_until(lambda: series in control.get("/metrics")[1], 10, series)
        wait_until(lambda: conditions(one).get("InPlaceResize", {}).get("status") == "True", 20, "the condition")
        program.call("release", name="large")
        program.end()


def test_a_sidecar_with_exactly_kuberays_role(scenario, api_server, namespace):
    """KubeRay gives the autoscaler of a head Pod the rights for it, so no other is needed."""
    side = rm.sidecar_options("--in-place-resize")
    one = scenario(rm.cluster("side", [group()], idle_seconds=IDLE, annotations=annotation(), autoscaler=side))
    role = api_server.admin.of("roles", namespace).get("side")
    assert {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]} in role["rules"]
    assert [found["metadata"]["name"] for found in api_server.admin.of("rolebindings", namespace).list()["items"]] == ["side"]
    (worker,) = one.wait_joined(1, GROUP)
    with one.program() as program:
        program.tasks(1, name="large", num_cpus=5)
        assert program.ready("large", seconds=60) == [worker]
        wait_until(lambda: record(one, worker)["resizing-at"] is None, 20, "the record to end")
        wait_raylet(one, worker, cpus=6, memory=2 << 30)
        assert has(one, worker)["cpu"] == "6"
        assert workers_seen(one) == [worker] and one.replicas(GROUP) == 1
        program.call("release", name="large")
        program.end()


def lift(one: Scenario) -> None:
    """The group's next Pods are on Nodes with room, and are resized as others."""
    template = one.group(GROUP)["template"]
    template["metadata"]["annotations"] = {}
    one.edit_group(GROUP, template=template)


@pytest.mark.parametrize(
    "node, room, then, reason",
    [({"bench.rayscaler.dev/node-cpu": "4 0"}, 4, 4, "Infeasible"), ({"bench.rayscaler.dev/node-cpu": "8 5"}, 3, 2, "Deferred")],
)
def test_a_node_without_room_falls_back_to_a_new_worker(shared, controller, api_server, node, room, then, reason):
    """The task gets another worker. A Node that is too small is used up; the room of one that is full serves nothing, so
    the worker keeps its size."""
    one = shared([group(annotations=node)], idle_seconds=IDLE)
    allow(one)
    let_resize(api_server, one.namespace)
    (first,) = one.wait_joined(1, GROUP)
    lift(one)
    controller(one.namespace, "--in-place-resize")
    with one.program() as program:
        program.tasks(1, name="large", num_cpus=5)
        wait_until(lambda: record(one, first).get("suggested-max-cpu") == room, 60, f"the room of its Node to be recorded: {reason}")
        (at,) = program.ready("large", seconds=90)
        assert at != first and sorted(workers_seen(one)) == sorted([first, at])
        wait_until(lambda: (raylet(one, first).get("CPU"), raylet(one, at).get("CPU")) == (then, 6), 30, "both raylets")
        wait_until(lambda: limits(one, first)["cpu"] == str(then), 20, "the Pod to have its size")
        # That it may grow so far is remembered.
        program.tasks(1, name="small", num_cpus=room)
        assert program.ready("small", seconds=60) == [first]
        wait_until(lambda: raylet(one, first).get("CPU") == room, 30, "the raylet to have the room of its Node")
        wait_until(lambda: record(one, first)["resizing-at"] is None, 20, "the record to end")
        assert record(one, first)["suggested-max-cpu"] == room and record(one, first)["last-failed-at"] is None
        for name in ("large", "small"):
            program.call("release", name=name)
        program.end()


@pytest.mark.parametrize(
    "kubelet, timeout, reason",
    [
        ({"bench.rayscaler.dev/resize-error": "no cgroup"}, 300, "no cgroup"),
        ({"bench.rayscaler.dev/resize-seconds": "1000"}, 4, "Pod resize timed out"),
    ],
)
def test_a_resize_that_fails_is_taken_back(shared, controller, api_server, kubelet, timeout, reason):
    """Once and for all; the raylet keeps its size, and the task gets another worker."""
    one = shared([group(annotations=kubelet)], idle_seconds=IDLE)
    allow(one, timeout=timeout)
    let_resize(api_server, one.namespace)
    (first,) = one.wait_joined(1, GROUP)
    lift(one)
    controller(one.namespace, "--in-place-resize")
    with one.program() as program:
        program.tasks(1, name="large", num_cpus=5)
        wait_until(lambda: record(one, first).get("last-failed-reason") == reason, 60, "the failure to be recorded")
        wait_until(lambda: limits(one, first)["cpu"] == "2", 30, "the Pod to be taken back")
        (at,) = program.ready("large", seconds=90)
        assert at != first
        wait_raylet(one, first, cpus=2, memory=1 << 30)
        program.call("release", name="large")
        program.end()


def test_what_is_in_use_is_not_taken(shared, controller, api_server):
    """The Node is overcommitted and has 1 CPU for a worker of 2 that uses both: it keeps them."""
    one = shared([group(annotations={"bench.rayscaler.dev/node-cpu": "8 7"})], idle_seconds=IDLE)
    allow(one)
    let_resize(api_server, one.namespace)
    (first,) = one.wait_joined(1, GROUP)
    lift(one)
    controller(one.namespace, "--in-place-resize")
    with one.program() as program:
        program.actors(1, name="busy", num_cpus=2)
        assert program.ready("busy") == [first]
        program.tasks(1, name="large", num_cpus=4)
        (at,) = program.ready("large", seconds=90)
        assert at != first
        wait_until(lambda: record(one, first).get("suggested-max-cpu") == 1, 30, "the room of its Node to be recorded")
        wait_until(lambda: record(one, first)["resizing-at"] is None, 30, "the record to end")
        wait_limits(one, first, "2", 1 << 30)
        wait_raylet(one, first, cpus=2, memory=1 << 30)
        assert program.call("alive", name="busy") == [first]
        for name in ("large", "busy"):
            program.call("release", name=name)
        program.end()


HELD_MIB = 768


@pytest.mark.parametrize("ended", [False, True], ids=["in use", "ended"])
def test_memory_in_use_is_not_taken(shared, controller, api_server, ended):
    """The Node has 512Mi for a worker of 1Gi, of which an actor uses 768Mi. Ray keeps them, so the resize is given up;
    when the actor has ended, the worker grows to 6 CPU and shrinks to 512Mi."""
    one = shared([group(annotations={"bench.rayscaler.dev/node-memory": "4Gi 3584Mi"})], idle_seconds=IDLE)
    allow(one)
    let_resize(api_server, one.namespace)
    (first,) = one.wait_joined(1, GROUP)
    lift(one)
    controller(one.namespace, "--in-place-resize")
    with one.program() as program:
        program.actors(1, name="holder", num_cpus=2, memory=HELD_MIB << 20)
        assert program.ready("holder") == [first]
        program.call("hold", name="holder", mebibytes=30)
        if ended:
            program.call("release", name="holder")
            wait_until(lambda: not one.witness.node(first)["in_use"], 20, "the raylet to have its memory back")
        program.tasks(1, name="large", num_cpus=4)
        (at,) = program.ready("large", seconds=90)
        assert (at == first) == ended
        wait_until(lambda: record(one, first).get("raylet-id") and record(one, first)["resizing-at"] is None, 30, "the record to end")
        seen = {int(state["total"]["memory"]) >> 20 for state in one.witness.history(first) if state.get("total")}
        if ended:
            wait_limits(one, first, "6", 512 << 20)
            wait_until(lambda: has(one, first) == limits(one, first), 20, "the kubelet to have carried it out")
            assert record(one, first)["suggested-max-memory"] == 512 << 20 and record(one, first)["last-failed-at"] is None
            wait_until(lambda: raylet(one, first)["memory"] == 512 << 20, 20, "the raylet to have 512Mi")
        else:
            assert record(one, first)["last-failed-at"]
            wait_limits(one, first, "2", 1 << 30)
            assert min(seen) >= HELD_MIB and program.call("alive", name="holder") == [first]
            wait_until(lambda: raylet(one, first)["memory"] == 1 << 30, 20, "the raylet to have its former size")
            program.call("release", name="holder")
        program.call("release", name="large")
        program.end()


def test_explain_names_a_resize_and_its_failure(shared, controller, api_server, work_dir):
    """The Node has no room at all: the target, since when, until when and the kubelet's message; then why it has failed."""
    one = shared([group(annotations={"bench.rayscaler.dev/node-cpu": "8 8"})], idle_seconds=IDLE)
    allow(one, timeout=8)
    let_resize(api_server, one.namespace)
    (first,) = one.wait_joined(1, GROUP)
    lift(one)
    control = controller(one.namespace, "--in-place-resize", "--metrics-bind-address", "127.0.0.1:0")
    cli = Cli(api_server, one.namespace, work_dir)

    def says() -> str:
        return " ".join(cli.run("explain", one.name, "--controller-url", control.address("metrics")).stdout.split())

    with one.program() as program:
        program.tasks(1, name="large", num_cpus=5)
        time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        pending = "Node didn't have enough resource: cpu, requested: 6000, used: 8000, capacity: 8000"
        begun = rf"{first}: CPU from 2 to 6, memory from {1 << 30} to {2 << 30}, since {time}, at most until {time}, {pending}"
        wait_until(lambda: re.search(begun, says()), 30, "explain to name the resize")
        ended = rf"{first}: not resized again, failed at {time}: Pod resize timed out"
        wait_until(lambda: re.search(ended, says()), 40, "explain to name the failure")
        (at,) = program.ready("large", seconds=60)
        assert at != first
        wait_limits(one, first, "2", 1 << 30)
        program.call("release", name="large")
        program.end()


# Each step of a growth, in the order in which it comes; after a request that was carried out, the next one.
SHOTS = (
    [("record", "before"), ("record", "unanswered"), ("resize", "before"), ("resize", "unanswered")],
    [("raylet", "before"), ("raylet", "unanswered"), ("record", "before"), ("record", "unanswered")],
    [("record", "answered"), ("resize", "answered"), ("raylet", "answered"), ("record", "answered")],
)


def test_killed_in_each_step(api_server, standins, namespace, work_dir, artefacts):
    """kill -9 before a request, before its answer and after it: the next process goes on from the Pod."""
    let_resize(api_server, namespace)
    with closing(Bench(api_server, namespace, work_dir, groups=[group()])) as bench:
        one, program = bench.one, bench.program
        (worker,) = one.wait_joined(1, GROUP)
        allow(one, cpu="4", memory="1Gi")
        target = ControllerTarget(bench, "--in-place-resize")
        artefacts.log("controller", target.log)

        def grown() -> bool:
            return raylet(one, worker).get("CPU") == 6 and record(one, worker)["resizing-at"] is None

        def shoot(kind: str, point: str) -> bool:
            """False: too late. After an answer the process may take the next step before it is dead."""
            if (kind, point) == ("resize", "answered") and limits(one, worker)["cpu"] == "6":
                return False  # sent already
            bench.aim.arm(kind, point, target.kill_now)
            wait_until(lambda: bench.aim.hit.is_set() or (point == "answered" and grown()), 60, f"the request {kind}")
            if not bench.aim.disarm():
                return False
            wait_until(lambda: not target.alive(), 10, "the process to end")
            return target.back()

        try:
            program.tasks(1, name="four", num_cpus=4)
            for kind, point in SHOTS[0] + SHOTS[1]:
                shoot(kind, point)
            assert program.ready("four") == [worker]
            wait_until(lambda: record(one, worker)["resizing-at"] is None, 20, "the record to end")
            program.call("release", name="four")
            allow(one, cpu="6", memory="1Gi")
            program.tasks(1, name="six", num_cpus=6)
            assert [shoot(kind, point) for kind, point in SHOTS[2]].count(True) >= 2
            assert program.ready("six") == [worker]
            wait_until(grown, 20, "the raylet and the record to have 6 CPU")
            assert workers_seen(one) == [worker] and one.replicas(GROUP) == 1
            program.call("release", name="six")
        finally:
            target.stop()
