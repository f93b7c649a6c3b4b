"""reclaim.busy with real Ray Train: a checkpoint between the drain request and its deadline, and a smaller run that
resumes from it."""

import pytest

from rayscaler_e2e import ray_train_run
from rayscaler_e2e.pools import Fleet
from rayscaler_e2e.wait import wait_until

AFTER = 20


@pytest.mark.test_all  # 120 s, 30 of them Ray's own waits; test_pools_gangs.py has the drain with an actor
def test_a_run_takes_a_checkpoint_before_its_worker_ends(pool, teams, controller, namespace):
    reclaim = {"idleAfterSeconds": 1, "busy": {"afterSeconds": AFTER}}
    pool.create(3, {"name": "a"}, {"name": "b", "guaranteed": 1}, reclaim=reclaim)
    controller(namespace, everywhere=True)
    (one,) = teams.add("a", idle_seconds=300)
    fleet = Fleet(pool)
    with one.program(prints=True) as program:
        lines = lambda event: [x for x in ray_train_run.lines(program.directory) if x["event"] == event]  # noqa: E731
        nodes = lambda status: [n for n in one.witness.latest()["nodes"] if n["status"] == status]  # noqa: E731
        program.call("request", bundles=[{"GPU": 1}] * 3)
        one.wait_joined(3)
        program.call("train", fewest=2, most=3)
        wait_until(lambda: len(lines("step")) > 9, 60, "the run to begin", 0.2)
        assert [(x["world"], x["from"]) for x in lines("begins")] == [(3, None)] * 3 and not lines("preemption")

        since = one.recorder.mark()
        fleet.add("asks", "b", 1)
        (drained,) = wait_until(lambda: nodes("DRAINING"), 20, "a draining node")
        one.recorder.excuse(drained["pod"])
        assert drained["in_use"]["GPU"] == 1
        wait_until(lambda: len(lines("checkpoint")) == 3, 20, "the checkpoint", 0.2)
        assert one.replicas() == 3 and not one.recorder.of("deleted", since)
        fleet.wait(60, asks=1)
        smaller = lambda: [x for x in lines("step") if x["world"] == 2]  # noqa: E731
        wait_until(lambda: len(smaller()) > 3, 120, "the run to go on", 0.2)
        assert program.call("trained", 60)["step"] > 0
        (dead,) = nodes("DEAD")
        program.end()

    announced, (saved, *_) = lines("preemption"), lines("checkpoint")
    deadlines = {x["deadline_ms"] / 1000 for x in announced}
    (deadline,) = deadlines
    (ended, *more) = one.recorder.of("workersToDelete", since)
    # The reason and the deadline, as Ray Train reads them from the GCS and as the GCS keeps the cause of the death.
    assert [x["nodes"] for x in announced] == [[drained["id"]]] * 3
    assert since + AFTER - 1 < deadline < since + AFTER + 5
    assert dead["id"] == drained["id"] and dead["death"] == "AUTOSCALER_DRAIN_PREEMPTED"
    assert saved["at"] < deadline <= ended.at + 1 and ended.value == [drained["pod"]] and not more
    # Smaller, from that step on, and on the workers that it had.
    resumed = lines("begins")[3:]
    assert [(x["world"], x["from"]) for x in resumed] == [(2, saved["step"])] * 2
    assert min(x["step"] for x in smaller()) == saved["step"] + 1
    assert {x["pod"] for x in resumed} == {x["pod"] for x in lines("begins")} - {drained["pod"]} == set(one.workers())
    print(f"after the ask: checkpoint {saved['at'] - since:.1f} s, deadline {deadline - since:.1f} s, ", end="")
    print(f"worker ended {ended.at - since:.1f} s, resumed {resumed[0]['at'] - since:.1f} s")
