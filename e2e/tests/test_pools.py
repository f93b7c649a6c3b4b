"""GPUPools without Ray: RayClusters of several teams whose demand is the annotation. With Ray: test_pools_ray.py."""

import random
import threading
import time
from contextlib import ExitStack

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT
from rayscaler_e2e.nodes import Nodes
from rayscaler_e2e.pools import Fleet, Held, Pool
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

KILLS = 20
NODES_SECONDS = 5  # the old list of Nodes was up to 60 s old
QUEUES = ({"name": "a", "guaranteed": 2}, {"name": "b", "guaranteed": 4}, {"name": "c", "guaranteed": 0})


@pytest.fixture
def fleet(pool) -> Fleet:
    return Fleet(pool)


def wait_figures(pool: Pool, wanted, *names: str) -> None:
    def there() -> bool:
        assert pool.figures(*names) == wanted
        return True

    wait_until(there, 20, f"the figures {names} of the GPUPool")


def test_borrowing_up_to_the_pool_and_guarantees(pool, fleet, controller, namespace):
    pool.create(8, *QUEUES)
    control = controller(namespace, everywhere=True)
    with Held(pool.server, [pool.space(team) for team in ("a", "b", "c", "")]) as held:
        # One team alone borrows the whole pool, whatever its guarantee is.
        fleet.add("one", "a", 6)
        fleet.wait(one=6)
        # The next ones: up to the pool, and what is beyond waits.
        fleet.add("two", "b", 5)
        fleet.wait(one=6, two=2)
        told = f"WaitsForPool: waits for pool {namespace}, queue b: place 1 of 3, 8 of 8 GPUs are held"
        told += "; queue a holds 4 GPUs beyond its guarantee"
        wait_until(lambda: fleet.limited("two").startswith(told), 20, "the condition ScalingLimited")
        wait_figures(
            pool,
            {
                "a": {"held": "6", "borrowed": "4", "guaranteed": "2", "waiting": "0", "waitingUnits": 0},
                "b": {"held": "2", "borrowed": "0", "guaranteed": "4", "waiting": "3", "waitingUnits": 3},
                "c": {"held": "0", "borrowed": "0", "guaranteed": "0", "waiting": "0", "waitingUnits": 0},
                "": {"held": "0", "borrowed": "0", "guaranteed": "0", "waiting": "0", "waitingUnits": 0},
            },
            "held", "borrowed", "guaranteed", "waiting", "waitingUnits",
        )  # fmt: skip
        status = pool.status()
        assert status["gpus"] == {"total": "8", "held": "8", "waiting": "3"} and status["observedGeneration"] == 1
        assert pool.ready()["status"] == "True" and pool.queue("b")["belowGuaranteeSince"]
        assert [(w["cluster"], w["groups"], w["count"]) for w in status["waiting"]] == [(f"{pool.space('b')}/two", "gpu*1", 3)]
        # What the first team gives back is the second one's, before a third that only borrows.
        fleet.add("three", "c", 8)
        # The order is that of the first decisions: without this wait the fourth one's may be the earlier one.
        wait_until(lambda: pool.queue("c").get("waiting") == "8", 20, "the third one to wait")
        fleet.add("four", "", 8)
        wait_until(lambda: pool.queue("").get("waiting") == "8", 20, "the fourth one to wait")
        fleet.end("one")
        # First b up to its guarantee and its last one beyond it, then by turns, the oldest first.
        fleet.wait(two=5, three=2, four=1)
    assert held.most == 8
    assert not [line for line in control.lines() if line["level"] == "error"]


def test_a_pool_that_is_edited_and_deleted(pool, fleet, controller, namespace):
    pool.create(4, {"name": "a", "guaranteed": 1, "maximum": 3}, {"name": "b"})
    controller(namespace, everywhere=True)
    fleet.add("one", "a", 6)
    fleet.add("other", "", 6)
    wait_until(lambda: sum(fleet.replicas().values()) == 4, 30, "the pool to be given away")
    first = fleet.replicas()
    # It gets larger; a queue stays below its maximum.
    pool.edit(gpus=9)
    fleet.wait(one=3, other=6)
    wait_until(lambda: f"pool {namespace}, queue a: at its maximum 3" in fleet.limited("one"), 20, "the maximum in a condition")
    wait_until(lambda: pool.status()["observedGeneration"] == 2, 10, "the status of the second generation")
    assert first["one"] >= 1 and pool.status()["summary"]["gpus"] == "9 of 9"
    # Smaller than what is held: workers that start are not ended, and nothing is added.
    pool.edit(gpus=2)
    wait_until(lambda: pool.status()["summary"]["gpus"] == "9 of 2", 10, "the status of the third generation")
    hold(lambda: fleet.replicas() == {"one": 3, "other": 6}, 1, "nothing changes")
    # The API server's schema lets a guarantee above the pool pass: it counts in proportion.
    pool.edit(gpus=10, queues=[{"name": "b", "guaranteed": 100, "namespaceSelector": {"matchLabels": {"team": "a"}}}])
    fleet.wait(one=4, other=6)
    wait_until(lambda: pool.queue("b").get("held") == "4", 10, "the namespace in another queue")
    assert not pool.queue("a")
    # A namespace changes its team.
    space = pool.space("a")
    pool.server.admin.of("namespaces").patch_merge(space, {"metadata": {"labels": {"team": None}}})
    wait_until(lambda: pool.queue("").get("held") == "10" and pool.queue("b")["held"] == "0", 10, "the cluster in no queue")
    # Without a pool nothing is limited.
    pool.delete()
    fleet.wait(one=6)
    wait_until(lambda: not fleet.limited("one"), 20, "the condition to end")


@pytest.fixture
def workloads(api_server, namespace):
    """Kueue's kind without Kueue, and the right to read it."""
    rbac, crds = "rbac.authorization.k8s.io", api_server.admin.of("customresourcedefinitions")
    served = crds.find("workloads.kueue.x-k8s.io")
    if not served:
        api_server.install_crd(paths.MANIFESTS / "kueue-workloads.yaml")
    name = f"read-workloads-{namespace}"
    rules = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list", "watch"]}]
    api_server.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    binding = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}}
    subject = {"kind": "ServiceAccount", "name": CONTROLLER_ACCOUNT, "namespace": namespace}
    api_server.apply({**binding, "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": [subject]})
    yield lambda place: api_server.admin.of("workloads", place)
    for kind in ("clusterrolebindings", "clusterroles"):
        api_server.admin.of(kind).delete(name)
    if not served:
        crds.delete("workloads.kueue.x-k8s.io")


def test_a_cluster_of_kueue_draws_from_no_pool(pool, workloads, fleet, controller, namespace):
    """With kueueOutside and a Workload it is scaled as without pools, and what it holds is not there for others. Kueue's
    label alone, which its users set, changes nothing."""
    pool.create(5, {"name": "a"}, {"name": "b", "guaranteed": 5}, kueueOutside=True)
    controller(namespace, everywhere=True)
    made = fleet.add("kueue", "a", 3, labels={"kueue.x-k8s.io/queue-name": "local-queue"})
    fleet.wait(kueue=3)
    wait_until(lambda: pool.queue("a").get("held") == "3", 20, "the label to be no way around the pool")
    of = workloads(made["metadata"]["namespace"])
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "kueue", "uid": made["metadata"]["uid"], "controller": True}
    of.create({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "kueue", "ownerReferences": [owner]}})
    hold(lambda: pool.queue("a").get("held") == "3", 2, "without quota it is in the pool")
    of.patch_merge("kueue", {"status": {"conditions": [{"type": "QuotaReserved", "status": "True"}]}}, "status")
    wait_until(lambda: pool.queue("a").get("held") == "0", 20, "the Workload")
    fleet.add("pooled", "b", 4)
    fleet.wait(pooled=2)
    wait_until(lambda: pool.queue("b").get("waiting") == "2" and pool.queue("a").get("held") == "0", 20, "the others to wait")
    wait_until(lambda: pool.status()["gpus"]["held"] == "5", 20, "its GPUs to count as held")
    fleet.ask("kueue", 4)
    fleet.wait(kueue=4)
    hold(lambda: fleet.replicas() == {"kueue": 4, "pooled": 2}, 1, "the pool is full")
    fleet.end("kueue")
    fleet.wait(pooled=4)


def test_nodes_count_at_once_and_say_why_there_is_no_room(pool, fleet, controller, namespace, api_server):
    """GPUs counted from Nodes follow the Nodes within seconds, also while nothing waits; a notebook outside of Ray that
    uses them is named by its Node and amount."""
    pool.create(None, {"name": "a"})
    controller(namespace, everywhere=True)
    wait_until(lambda: pool.ready().get("reason") == "NoGPUs", 20, "a pool without GPUs")
    with ExitStack() as stack:
        nodes = Nodes(api_server, namespace, stack)
        fleet.add("one", "a", 0)
        gpu = nodes.node("gpu", {"nvidia.com/gpu": "4"}, labels=pool.selector)
        wait_until(lambda: pool.status()["summary"]["gpus"] == "0 of 4", NODES_SECONDS, "the new Node to count")
        nodes.pod("notebook", gpu, {"nvidia.com/gpu": "4"})
        # The list that has the second of these Nodes began after that with the first, and so has the notebook.
        for name, sum_of_gpus in (("tainted", "5"), ("second", "6")):
            taint = {"key": "a", "effect": "NoSchedule"}
            nodes.node(name, {"nvidia.com/gpu": "1"}, labels=pool.selector, taints=[taint])
            wait_until(lambda s=sum_of_gpus: pool.status()["summary"]["gpus"] == f"0 of {s}", NODES_SECONDS, "a Node to count")
        said = f"place 1 of 1, 0 of 6 GPUs are held; waits for free capacity or for a new Node (node autoscaler), the closest is Node {gpu}:"
        said += " 0 of 4 nvidia.com/gpu are free, 1 are needed; Pods outside of RayClusters use 4 nvidia.com/gpu there"
        fleet.ask("one", 1)
        wait_until(lambda: said in fleet.limited("one"), 20, "the notebook in the condition")
    # Lists take a twentieth of the time at most: after slow ones the next is later. A worker may start before the Node
    # is deleted, when the notebook has gone.
    wait_until(lambda: pool.status()["summary"]["gpus"].endswith(" of 0"), 4 * NODES_SECONDS, "the deleted Node to count no longer")


def test_a_pool_that_cannot_work_says_so(pool, fleet, controller, namespace, kubectl):
    """Its condition, an Event that kubectl describes, and the next cause when one is mended."""
    # Namespaces of other tests have the labels of teams a and b.
    pool.create(2, {"name": "first", "guaranteed": 3}, {"name": "second"})
    controller(namespace, everywhere=True)
    said = lambda reason, text: pool.ready()["reason"] == reason and text in pool.ready()["message"]  # noqa: E731
    wait_until(lambda: pool.ready() and said("GuaranteesAboveSize", "the guarantees are 3 GPUs and the pool has 2"), 20, "the guarantees")
    pool.edit(gpus=4)
    wait_until(lambda: said("EmptyQueue", "queue first selects no namespace: correct its namespaceSelector"), 20, "the first queue")
    pool.space("first")
    wait_until(lambda: said("EmptyQueue", "queue second selects no namespace"), 20, "the second queue")
    pool.space("second")
    wait_until(lambda: said("NoGroups", "no worker group of a RayCluster matches spec.groups"), 20, "the groups")
    assert pool.ready()["status"] == "False"
    fleet.add("one", "first", 0)
    wait_until(lambda: pool.ready()["status"] == "True", 20, "a pool that works")
    shown = lambda: kubectl.run("describe", "gpool", namespace).stdout  # noqa: E731
    wait_until(lambda: "GuaranteesAboveSize" in shown().partition("Events:")[2], 20, "the Event")


def test_forged_demand_takes_nothing_within_a_guarantee(pool, fleet, controller, namespace):
    """A tenant asks for thousands of GPUs, and for other numbers all the time: a team within its guarantee is served as
    soon as alone."""
    pool.create(8, {"name": "a", "guaranteed": 4, "lendable": 0}, {"name": "b"})
    controller(namespace, everywhere=True)
    fleet.add("honest", "a", 1)
    fleet.wait(honest=1)

    def seconds(gpus: int) -> float:
        begun = time.monotonic()
        fleet.ask("honest", gpus)
        fleet.wait(honest=gpus)
        return time.monotonic() - begun

    took = [seconds(2)]
    fleet.add("forger", "b", 3000)
    fleet.wait(forger=4)
    ended = threading.Event()

    def forge() -> None:
        while not ended.wait(0.1):
            fleet.ask("forger", random.randrange(1000, 3000))

    forger = threading.Thread(target=forge)
    forger.start()
    try:
        took += [seconds(3), seconds(4)]
    finally:
        ended.set()
        forger.join()
    print("from ask to patch, alone and twice beside the forger: " + ", ".join(f"{one:.2f} s" for one in took))
    assert fleet.replicas() == {"honest": 4, "forger": 4}


def test_kills_at_20_random_moments(pool, fleet, controller, namespace):
    """kill -9 while three teams take from the pool and give back: it is never exceeded, and units keep their places."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    pool.create(8, *QUEUES)
    control = controller(namespace, everywhere=True)
    with Held(pool.server, [pool.space(team) for team in ("a", "b", "c", "")]) as held:
        fleet.add("first", "a", 12)
        fleet.wait(first=8)
        since = wait_until(lambda: waiting(pool).get("first"), 20, "its place in the status")
        names = []
        for i in range(KILLS):
            if i % 5 == 4:
                fleet.end(names.pop(rng.randrange(len(names))) if i > 4 else "first")
            names.append(f"c{i}")
            fleet.add(names[-1], rng.choice("abc"), rng.randrange(1, 5))
            if i == 0:
                fleet.wait(first=8)
            time.sleep(rng.random() * 2.5)  # the moment of the kill
            control.kill()
            control.start()
        wait_until(lambda: sum(fleet.replicas().values()) == 8, 40, "the pool to be given away")
        hold(lambda: sum(fleet.replicas().values()) == 8, 1, "and no more")
    print(f"{len(held.sums)} changes seen, most {held.most}")
    assert held.most == 8, held.sums


def test_a_place_in_the_order_survives_kills(pool, fleet, controller, namespace):
    """Also kills before the first decision after a start, and while the other clusters ask for more."""
    pool.create(2, *QUEUES)
    control = controller(namespace, everywhere=True)
    fleet.add("holds", "c", 2)
    fleet.wait(holds=2)
    for name in ("second", "third", "fourth"):
        fleet.add(name, "c", 1)
        wait_until(lambda: name in waiting(pool), 20, f"the place of {name}")
        time.sleep(1.0)  # their times have whole seconds
    before = waiting(pool)
    assert sorted(before, key=before.get) == ["second", "third", "fourth"]
    for seconds in (0.1, 0.3, 0.6, 1.0, 2.2):
        control.kill()
        control.start()
        time.sleep(seconds)  # the moment of the kill
    control.kill()
    fleet.add("aaa-new", "c", 1)
    control.start()
    wait_until(lambda: "aaa-new" in waiting(pool), 20, "the place of the new one")
    assert {name: at for name, at in waiting(pool).items() if name != "aaa-new"} == before
    fleet.end("holds")
    fleet.wait(second=1, third=1)
    hold(lambda: fleet.replicas() == {"second": 1, "third": 1, "fourth": 0, "aaa-new": 0}, 1, "the later ones wait")


def waiting(pool: Pool):
    """Since when each cluster waits, by the status of the pool; the oldest unit."""
    found = {}
    for unit in pool.status().get("waiting") or []:
        found.setdefault(unit["cluster"].partition("/")[2], unit["since"])
    return found
