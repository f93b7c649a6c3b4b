"""GPUPools with real Ray: gangs whole or not at all, and busy workers that end after a deadline."""

import pytest

from rayscaler_e2e.pools import Fleet, Held
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import allowed, wait_until

pytestmark = pytest.mark.minutes


def test_two_gangs_of_six_in_a_pool_of_eight(pool, teams, controller, namespace):
    """One runs, then the other; neither ever holds a part."""
    pool.create(8, {"name": "a"}, {"name": "b"}, reclaim={"idleAfterSeconds": 1})
    controller(namespace, everywhere=True)
    one, two = teams.add("a", "b", idle_seconds=2)
    with Held(pool.server, list(pool.spaces.values())) as held, one.program() as left, two.program() as right:
        for program in (left, right):
            program.call("group", name="gang", strategy="PACK", bundles=[{"GPU": 1}] * 6)
            program.begin("ready", name="gang")
        first = wait_until(lambda: left if left.answered() else right if right.answered() else None, 90, "one gang to run")
        winner, loser, other = (one, two, right) if first is left else (two, one, left)
        assert first.answer() == [] and winner.replicas() == 6 and loser.replicas() == 0
        wait_until(lambda: len(pool.status().get("waiting") or []) == 1, 20, "the other gang to wait")
        hold(lambda: loser.replicas() == 0 and winner.replicas() == 6, 2, "the other one holds no part")
        first.call("release", name="gang")
        assert other.answer(90) == [] and loser.replicas() == 6
        steps = [event.value for event in loser.recorder.of("replicas", 0, "gpu-group")]
        assert [step for step in steps if step] == [6], steps
        left.end()
        right.end()
    assert held.most <= 8


def test_a_busy_worker_ends_after_its_deadline(pool, teams, controller, namespace):
    """``busy`` of a queue, as in examples/pools/reserve.yaml: Ray reports the node as draining, the Pod ends after the
    deadline, also if the controller is killed before it, and others have its GPU. That of ``reclaim``:
    test_pools_train.py."""
    queues = {"name": "a", "busy": {"afterSeconds": 6}}, {"name": "b", "guaranteed": 1}
    pool.create(2, *queues, reclaim={"idleAfterSeconds": 1})
    control = controller(namespace, everywhere=True)
    (one,) = teams.add("a", idle_seconds=300)
    fleet = Fleet(pool)
    with one.program() as program:
        program.actors(2, num_gpus=1, max_restarts=0)
        busy = program.ready("actors", 90)
        since = one.recorder.mark()
        fleet.add("asks", "b", 1)
        nodes = lambda: {n["pod"]: n["status"] for n in one.witness.latest()["nodes"]}  # noqa: E731
        (drained,) = wait_until(lambda: [p for p in busy if nodes().get(p) == "DRAINING"], 20, "a draining node")
        one.recorder.excuse(drained)
        control.kill()
        control.start()
        # The Pod has its grace period after the deadline.
        fleet.wait(60, asks=1)
        (deleted, *more) = one.recorder.of("deleted", since) or one.recorder.of("workersToDelete", since)
        print(f"ended {deleted.at - since:.2f} s after the ask")
        assert not more and 5.5 <= deleted.at - since < allowed(20) and one.replicas() == 1
        assert set(one.workers()) == set(busy) - {drained}
