"""Pods that are resized in place: the kubelet's own answers, the limits of its cgroups, real raylets."""

import json

import pytest

from rayscaler_e2e import quantity
from rayscaler_e2e.node import clusters
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.wait import wait_until

POLL = 0.5
RECORD = "ray.io/ippr-status"
QUOTA = "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/cpu.max"
PERIOD_MICROSECONDS = 100_000
CPUS = 8  # of the Node, as `make node` has it by default

pytestmark = pytest.mark.test_all


@pytest.fixture(scope="module", autouse=True)
def _resizing(node):
    node.upgrade("config.inPlaceResize=true")
    yield
    node.upgrade()


def demo(most_cpu, *others):
    first = clusters.group("first", minReplicas=1, maxReplicas=1, replicas=1)
    del first["rayStartParams"]["num-cpus"]
    amounts = {"cpu": "1", "memory": "1Gi"}
    first["template"]["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    made = clusters.cluster("demo", [first, *others], idle_seconds=600)
    allowed = {"max-cpu": most_cpu, "max-memory": "1Gi", "resize-timeout": 300}
    made["metadata"]["annotations"] = {"ray.io/ippr": json.dumps({"groups": {"first": allowed}})}
    return made


class Worker:
    """The only one of group ``first``."""

    def __init__(self, found):
        self._found = found
        self.name = wait_until(lambda: found.ready("first"), 90, "the first worker", POLL)[0]["metadata"]["name"]

    def pod(self):
        return next(pod for pod in self._found.pods("first") if pod["metadata"]["name"] == self.name)

    def record(self):
        return json.loads((self.pod()["metadata"].get("annotations") or {}).get(RECORD, "{}"))

    def millicpus(self):
        """As the spec has them, as the kubelet has them, and as the container's cgroup has them."""
        pod = self.pod()
        done = self._found.node.kubectl.run("exec", "-n", self._found.namespace, self.name, "-c", "ray-worker", "--", "sh", "-c", QUOTA)
        limits = [pod["spec"]["containers"][0], pod["status"]["containerStatuses"][0]]
        seen = [round(1000 * quantity.parse(one["resources"]["limits"]["cpu"])) for one in limits]
        return [*seen, round(1000 * int(done.stdout) / PERIOD_MICROSECONDS)]

    def wait_millicpus(self, count):
        wait_until(lambda: set(self.millicpus()) == {count}, 60, f"{count}m CPU of spec, kubelet and cgroup", POLL)
        wait_until(lambda: self.record().get("resizing-at") is None, 60, "the record to end", POLL)
        assert self.pod()["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_worker_grows_for_an_actor(ray):
    found = ray(demo("3"))
    worker = Worker(found)
    with found.program() as program:
        program.actors(1, "large", num_cpus=3)
        assert program.ready("large", 120) == [worker.name]
        worker.wait_millicpus(3000)
        assert found.replicas() == {"first": 1} and len(found.pods(alive=False)) == 1
        program.end()


def test_more_than_the_node_has(ray):
    """Infeasible, then deferred: by the kubelet's own words the worker grows to what the Node has free, which serves."""
    found = ray(demo(str(4 * CPUS)))
    worker = Worker(found)
    with found.program() as program:
        program.actors(1, "large", num_cpus=CPUS - 3)
        assert program.ready("large", 180) == [worker.name]
        grown = worker.record()["suggested-max-cpu"]
        assert CPUS - 3 <= grown < CPUS
        worker.wait_millicpus(round(1000 * grown))
        assert found.replicas() == {"first": 1}
        program.end()


def test_a_node_that_others_use(node, ray, place):
    """The room that is left would serve nothing, so the worker keeps its size and the other group serves."""
    amounts = {"requests": {"cpu": str(CPUS - 3)}}
    tenant = {"containers": [{"name": "tenant", "image": RAY, "command": ["sleep", "600"], "resources": amounts}], "terminationGracePeriodSeconds": 1}
    pods = node.admin.of("pods", place)
    pods.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tenant"}, "spec": tenant})
    wait_until(lambda: pods.get("tenant")["status"].get("phase") == "Running", 60, "the tenant's Pod to run", POLL)
    other = clusters.group("other", maxReplicas=1)
    other["rayStartParams"]["num-cpus"] = "4"
    found = ray(demo("4", other))
    worker = Worker(found)
    with found.program() as program:
        program.actors(1, "large", num_cpus=4)
        (at,) = program.ready("large", 180)
        assert [pod["metadata"]["name"] for pod in found.pods("other")] == [at]
        worker.wait_millicpus(1000)
        assert found.replicas() == {"first": 1, "other": 1}
        program.end()
