"""Workers that Kubernetes ends, or cannot end: evicted, drained, preempted, on a lost Node, with a finalizer."""

import contextlib
import json
import time
from datetime import datetime

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.node.kubernetes import GPU, GPUS, NODE
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import allowed, wait_until

POLL = 0.3
GRACE_SECONDS = 30
SIGKILLED = 137
GIB = 1 << 30


def started(ray, group, **how):
    """A RayCluster with an actor in a worker of ``group``; Ray starts it again elsewhere when it is lost."""
    found = ray(clusters.cluster("demo", [group], **how))
    program = found.program()
    program.actors(1, "work", resources={"work": 1}, num_cpus=0, max_restarts=-1, max_task_retries=-1)
    return found, program, program.ready("work", 120)[0]


def names(pods):
    return sorted(pod["metadata"]["name"] for pod in pods)


def replaced(found, program, old, seconds=120):
    """The actor runs in another worker, and the operator is not asked for more than it has."""
    wait_until(lambda: names(found.ready()) and old not in names(found.ready()), seconds, "another worker", POLL)
    (now,) = program.call("alive", seconds, name="work")
    assert now != old
    wait_until(lambda: found.replicas() == {"first": 1} and names(found.pods(alive=False)) == [now], 90, "one worker", POLL)


def condition(node, name):
    conditions = node.admin.of("nodes").get(NODE)["status"]["conditions"]
    return next(one["status"] for one in conditions if one["type"] == name)


def cordoned(node):
    return node.admin.of("nodes").get(NODE)["spec"].get("unschedulable", False)


@pytest.fixture
def drain(node):
    """`kubectl drain` of all workers; the Node is usable again afterwards."""

    def run(*words, status=0):
        flags = ("--pod-selector=ray.io/node-type=worker", "--force", "--ignore-daemonsets", "--delete-emptydir-data")
        return node.kubectl.run("drain", NODE, *flags, *words, status=status)

    yield run
    node.kubectl.run("uncordon", NODE)


def test_an_idle_worker_ends_by_itself(ray):
    """Ray drains it first, so its raylet ends on SIGTERM: long before the kubelet kills it."""
    found, program, worker = started(ray, clusters.group("first", resource="work"), idle_seconds=5)
    with program:
        program.call("release", name="work")
        ends = []

        def removed():
            pods = found.pods(alive=False)
            ends.extend(pod for pod in pods if "deletionTimestamp" in pod["metadata"])
            return not pods

        wait_until(removed, 60, f"{worker} to end", 0.1)
        states = [pod["status"]["containerStatuses"][0]["state"].get("terminated") for pod in ends]
        assert SIGKILLED not in {state["exitCode"] for state in states if state}
        asked = datetime.fromisoformat(ends[0]["metadata"]["deletionTimestamp"].replace("Z", "+00:00")).timestamp() - GRACE_SECONDS
        assert time.time() - asked < allowed(GRACE_SECONDS / 2)
        program.end()


@pytest.mark.test_all
def test_drain_with_a_disruption_budget(node, ray, place, drain):
    """One of two busy workers must stay: the first is replaced, the second stays until the replacement is there.

    (`maxUnavailable` allows none for Pods of a RayCluster, which has no subresource `scale`.)"""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"ray.io/node-type": "worker"}}}
    node.admin.of("poddisruptionbudgets", place).create(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "workers"}, "spec": spec}
    )
    found = ray(clusters.cluster("demo", [clusters.group("first", resource="work", maxReplicas=4)]))
    with found.program() as program:
        program.actors(2, "work", resources={"work": 1}, num_cpus=0, max_restarts=-1, max_task_retries=-1)
        before = program.ready("work", 120)
        budget = node.admin.of("poddisruptionbudgets", place)
        wait_until(lambda: budget.get("workers")["status"].get("disruptionsAllowed") == 1, 30, "the budget to be counted", POLL)
        done = drain("--timeout=20s", status=1)
        assert "violate the pod's disruption budget" in done.stderr
        (left,) = [name for name in before if name in names(found.pods())]
        wait_until(lambda: "EvictionByEvictionAPI" in found.said(), 30, "the cause", POLL)
        assert cordoned(node)
        node.kubectl.run("uncordon", NODE)
        wait_until(lambda: len(found.ready()) == 2 and set(names(found.ready())) - set(before), 120, "the replacement", POLL)
        after = program.call("alive", 120, name="work")
        assert left in after and len(set(after)) == 2
        wait_until(lambda: found.replicas() == {"first": 2} and len(found.pods(alive=False)) == 2, 90, "two workers", POLL)
        program.end()


@pytest.mark.test_all
def test_drain_of_the_whole_node(node, ray, drain):
    """Each group of one worker has one again, not two: replicas are raised only while both Pods count."""
    groups = [clusters.group(name, resource=name) for name in ("first", "second")]
    found = ray(clusters.cluster("demo", groups, idle_seconds=60))
    with found.program() as program:
        for name in ("first", "second"):
            program.actors(1, name, resources={name: 1}, num_cpus=0, max_restarts=-1, max_task_retries=-1)
        before = [program.ready(name, 120)[0] for name in ("first", "second")]
        drain("--timeout=60s")
        wait_until(lambda: not set(before) & set(names(found.pods(alive=False))), 60, "the drained workers to be gone", POLL)
        wanted = {"first": 1, "second": 1}
        wait_until(lambda: found.replicas() == wanted and len(found.pods(alive=False)) == 2, 30, "one worker of each group", POLL)
        hold(lambda: found.replicas() == wanted, 10, "replicas stay")
        node.kubectl.run("uncordon", NODE)
        wait_until(lambda: len(found.ready()) == 2, 120, "both workers to be ready", POLL)
        assert found.replicas() == wanted
        program.end()


@pytest.mark.test_all
def test_preemption(node, ray, place):
    """A Pod of higher priority takes the GPUs of a busy worker: its replacement waits for them, and says so."""
    classes = node.admin.of("priorityclasses")
    classes.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000})
    urgent = {"name": "urgent", "image": RAY, "command": ["sleep", "600"], "resources": {"limits": {GPU: str(GPUS)}}}
    spec = {"priorityClassName": "urgent", "containers": [urgent], "terminationGracePeriodSeconds": 1}
    try:
        found, program, worker = started(ray, clusters.group("first", gpus=2, resource="work"))
        with program:
            node.admin.of("pods", place).create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent"}, "spec": spec})
            wait_until(lambda: "PreemptionByScheduler" in found.said(), 60, "the cause", POLL)
            wait_until(lambda: f"Insufficient {GPU}" in found.said() and worker not in names(found.pods(alive=False)), 90, "the replacement to wait", POLL)
            node.admin.of("pods", place).delete("urgent")
            replaced(found, program, worker)
            program.end()
    finally:
        classes.delete("urgent")


@pytest.mark.test_all
def test_eviction_for_its_disk(node, ray):
    """The kubelet evicts a worker above its limit of ephemeral storage; its own words are the cause."""
    group = clusters.group("first", resource="work")
    group["template"]["spec"]["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "300Mi"
    found, program, worker = started(ray, group)
    with program:
        words = ("exec", "-n", found.namespace, worker, "-c", "ray-worker", "--", "dd", "if=/dev/zero", "of=/large", "bs=1M", "count=400")
        node.kubectl.run(*words)
        wait_until(lambda: "ephemeral local storage usage exceeds" in found.said(), 150, "the cause", POLL)
        replaced(found, program, worker)
        program.end()


def usage(node):
    """As the kubelet measures it; nothing while it starts."""
    try:
        return node.admin.call("GET", f"/api/v1/nodes/{NODE}/proxy/stats/summary")
    except ApiError:
        return {"pods": []}


@contextlib.contextmanager
def kubelet_with(node, **settings):
    """The kubelet with other settings, started again before and afterwards."""
    path = node.state / "etc/kubelet.json"
    before = path.read_text()
    path.write_text(json.dumps({**json.loads(before), **settings}))
    try:
        with node.away("kubelet"):
            pass
        # Pods whose usage it does not know yet are the first that it evicts.
        known = lambda: {one["podRef"]["name"] for one in usage(node)["pods"] if one.get("memory", {}).get("workingSetBytes")}
        wait_until(lambda: names(node.admin.of("pods", "").items()) == sorted(known()), 90, "the usage of all Pods", POLL)
        yield
    finally:
        path.write_text(before)
        with node.away("kubelet"):
            pass
        wait_until(lambda: condition(node, "MemoryPressure") == "False", 120, "a Node with enough memory", POLL)


@pytest.mark.test_all
def test_eviction_for_memory(node, ray):
    """The Node's memory ends, and the kubelet evicts the worker that took it, as the head needs no more than it requests:
    the kubelet's own words are the cause."""
    free = usage(node)["node"]["memory"]["availableBytes"]
    group = clusters.group("first", resource="work")
    group["template"]["spec"]["containers"][0]["resources"]["limits"].pop("memory")
    found, program, worker = started(ray, group, head_memory="2Gi")
    hard = {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": str(free - 2 * GIB)}
    with program, kubelet_with(node, evictionHard=hard, evictionPressureTransitionPeriod="5s"):
        # Slowly, as the kubelet judges by usages that are up to 15 s old.
        taken = "nohup python3 -c \"import time; taken = [time.sleep(1) or b'1' * 2**26 for _ in range(64)]; time.sleep(600)\" > /dev/null 2>&1 &"
        words = ("exec", "-n", found.namespace, worker, "-c", "ray-worker", "--", "sh", "-c", taken)
        wait_until(lambda: node.kubectl.run(*words, status=None).returncode == 0, 60, "the kubelet to know the worker", POLL)
        wait_until(lambda: "The node was low on resource: memory" in found.said(), 150, "the cause", POLL)
        replaced(found, program, worker)
        program.end()


@pytest.mark.test_all
def test_a_worker_that_cannot_end(node, ray):
    """Its finalizer keeps the Pod: KubeRay leaves the group alone, so another group serves the demand."""
    first = clusters.group("first", resource="work")
    second = clusters.group("second", resource="work")
    second["rayStartParams"]["num-cpus"] = "8"
    found = ray(clusters.cluster("demo", [first, second], idle_seconds=5))
    pods = node.admin.of("pods", found.namespace)
    with found.program() as program:
        program.actors(1, "work", resources={"work": 1}, num_cpus=1)
        (stuck,) = program.ready("work", 120)
        assert names(found.pods("first")) == [stuck]
        pods.patch_merge(stuck, {"metadata": {"finalizers": ["rayscaler.dev/test"]}})
        program.call("release", name="work")
        wait_until(lambda: not found.pods("first"), 60, "the worker to be deleted", POLL)
        try:
            program.actors(1, "again", resources={"work": 1}, num_cpus=1)
            assert program.ready("again", 120) == names(found.pods("second"))
            wait_until(lambda: stuck in found.said(), 30, "the Pod that stays", POLL)
        finally:
            pods.patch_merge(stuck, {"metadata": {"finalizers": None}})
        program.end()


@pytest.mark.test_all
def test_a_node_that_is_not_ready(node, ray):
    """Its kubelet does not answer for longer than the node controller waits: the busy worker is neither ended nor
    replaced, and the state names the Node; afterwards everything is as before."""
    found, program, worker = started(ray, clusters.group("first", resource="work", maxReplicas=2), idle_seconds=10)
    with program:
        with node.away("kubelet"):
            wait_until(lambda: condition(node, "Ready") != "True", 120, "the Node to be NotReady", POLL)
            wait_until(lambda: "condition Ready" in found.said(), 30, "the state of the worker", POLL)
            hold(lambda: found.replicas() == {"first": 1} and names(found.pods()) == [worker], 15, "the busy worker stays")
            assert program.call("alive", name="work") == [worker]
        wait_until(lambda: condition(node, "Ready") == "True", 60, "the Node to be Ready", POLL)
        wait_until(lambda: names(found.ready()) == [worker], 60, "the worker to be ready", POLL)
        assert program.call("alive", name="work") == [worker]
        program.end()


@pytest.fixture
def repairs(node):
    """NVSentinel's kind DrainRequest, which the controller may complete; a sick worker has 20 s."""
    node.kubectl.apply((paths.MANIFESTS / "drain-request-crd.yaml").read_text())
    node.upgrade("config.repairDrainRequests=true", "config.repairDeadlineSeconds=20", "config.repairDeletes=true")
    yield node.admin.of("drainrequests", "default")
    node.kubectl.run("uncordon", NODE)
    node.kubectl.run("delete", "crd", "drainrequests.nvsentinel.nvidia.com")
    node.upgrade()


@pytest.mark.test_all
def test_a_node_that_is_to_be_repaired(node, ray, repairs):
    """A condition is reported; a DrainRequest that is withdrawn changes nothing; by another one, with no room for a
    replacement, Ray drains the worker, its Pod ends at the deadline, and the request is complete when the head has ended."""

    def sick(**condition):
        patch = {"status": {"conditions": [{"type": "SysLogsXIDError", **condition}]}}
        node.kubectl.run("patch", "node", NODE, "--subresource=status", "--type=strategic", "-p", json.dumps(patch))

    def request(name):
        node.kubectl.run("cordon", NODE)
        kind = {"apiVersion": "nvsentinel.nvidia.com/v1alpha1", "kind": "DrainRequest", "metadata": {"name": name}}
        repairs.create({**kind, "spec": {"nodeName": NODE, "reason": "double bit error"}})

    found, program, worker = started(ray, clusters.group("first", resource="work", maxReplicas=2), idle_seconds=5)
    with program:
        sick(status="True", message="Xid 79")
        wait_until(lambda: f"its Node {NODE}: condition SysLogsXIDError: Xid 79" in found.said(), 30, "the sign", POLL)
        sick(**{"$patch": "delete"})
        request("first")
        wait_until(lambda: f"Node {NODE} is to be repaired (DrainRequest default/first" in found.said(), 30, "the request", POLL)
        wait_until(lambda: len(found.pods()) == 2, 30, "the replacement, which waits for a Node", POLL)
        repairs.delete("first")
        node.kubectl.run("uncordon", NODE)
        wait_until(lambda: found.replicas() == {"first": 1} and names(found.pods()) == [worker], 90, "the worker alone", POLL)
        assert program.call("draining") == {} and program.call("alive", name="work") == [worker]

        (first,) = found.clusters.get("demo")["spec"]["workerGroupSpecs"]
        found.clusters.patch_merge("demo", {"spec": {"workerGroupSpecs": [{**first, "maxReplicas": 1}]}})
        request("second")
        ((_, deadline),) = wait_until(lambda: program.call("draining").items(), 30, "Ray to know", POLL)
        assert time.time() + 10 < deadline <= time.time() + 20
        wait_until(lambda: worker not in names(found.pods()), 60, "the worker to end", POLL)
        assert time.time() > deadline
        assert "conditions" not in repairs.get("second").get("status", {}), "the head is on the Node"
        node.kubectl.run("uncordon", NODE)
        replaced(found, program, worker)
        program.end()
    found.__exit__()
    ended = wait_until(lambda: repairs.get("second").get("status", {}).get("conditions"), 90, "the request to be complete", POLL)
    assert [(one["type"], one["status"]) for one in ended] == [("DrainComplete", "True")]
