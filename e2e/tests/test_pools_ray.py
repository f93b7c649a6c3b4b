"""GPUPools with real Ray: idle workers are released for others, busy ones are not. Gangs: test_pools_gangs.py."""

import os
import signal
import subprocess
import time
from typing import List

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ADMIN_USER
from rayscaler_e2e.pod_reaper import gcs_server
from rayscaler_e2e.pools import Fleet, Held
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import allowed, processes_per_core, wait_until

pytestmark = pytest.mark.minutes

IDLE = 2
REPETITIONS = 8 if os.environ.get("TEST_ALL") else 4
RELEASE_SECONDS = IDLE + 2.0


def p95(values: List[float]) -> float:
    return sorted(values)[min(len(values) - 1, round(0.95 * (len(values) - 1)))]


def test_idle_borrowed_workers_are_released_and_busy_ones_are_not(pool, teams, api_server, controller, namespace):
    """The time from the ask of a team below its guarantee to the patch that releases what another one borrowed."""
    pool.create(3, {"name": "a"}, {"name": "b", "guaranteed": 3}, reclaim={"idleAfterSeconds": IDLE})
    controller(namespace, everywhere=True)
    (borrower,) = teams.add("a")
    pool.space("b")
    fleet = Fleet(pool)
    took = []
    with Held(pool.server, list(pool.spaces.values())) as held, borrower.program() as program:
        program.actors(1, name="keeps", num_gpus=1)
        (kept,) = program.ready("keeps", 90)
        for i in range(REPETITIONS):
            # One worker of the borrower is idle, the other two busy.
            program.actors(1, name="busy", num_gpus=1)
            program.actors(1, name="ends", num_gpus=1)
            program.ready("busy", 90)
            program.ready("ends", 90)
            program.call("release", name="ends")
            wait_until(lambda: pool.queue("a").get("idle") == "1", 20, "an idle worker in the status")
            since = borrower.recorder.mark()
            fleet.add(f"asks{i}", "b", 1)
            fleet.wait(20, **{f"asks{i}": 1})
            events = borrower.recorder.of("replicas", since, "gpu-group")
            assert events and events[0].value == 2, events
            took.append((events[0].at - since) / processes_per_core())
            assert program.call("alive", name="keeps") == [kept]
            program.call("release", name="busy")
            fleet.end(f"asks{i}")
        # Two workers are wanted and one is idle: the busy ones stay.
        program.actors(2, name="busy", num_gpus=1)
        busy = program.ready("busy", 90)
        fleet.add("more", "b", 2)
        wait_until(lambda: pool.queue("b").get("waiting") == "2", 20, "the demand to wait")
        hold(lambda: borrower.replicas() == 3 and program.call("alive", name="busy") == busy, IDLE + 3, "busy ones stay")
        assert pool.queue("b")["belowGuaranteeSince"]
        program.end()
    print(f"released after {[round(one, 2) for one in took]} s, p95 {p95(took):.2f} s")
    assert p95(took) < RELEASE_SECONDS and held.most == 3


def test_work_has_what_a_request_of_its_team_keeps_idle(pool, teams, controller, namespace):
    """Within one queue, all of it guaranteed: idle workers of request_resources end for work of another RayCluster, and
    the request has them again when the work has ended."""
    pool.create(3, {"name": "a", "guaranteed": 3}, reclaim={"idleAfterSeconds": IDLE})
    controller(namespace, everywhere=True)
    (one,) = teams.add("a")
    fleet = Fleet(pool)
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        program.call("request", bundles=[{"GPU": 1}] * 3)
        one.wait_joined(3)
        busy = program.ready("busy", 90)
        fleet.add("asks", "a", 2)
        fleet.wait(60, asks=2)
        assert one.replicas() == 1 and program.call("alive", name="busy") == busy
        hold(lambda: one.replicas() == 1, IDLE + 3, "the request to wait behind the work")
        fleet.end("asks")
        wait_until(lambda: one.replicas() == 3, 90, "the request to have them again")
        program.end()


def test_who_runs_work_reads_why_it_waits_and_when_it_ends(pool, teams, controller, namespace):
    """The lines of Ray's drivers: of an actor that waits for the pool, and of one whose worker ends for others."""
    pool.create(1, {"name": "a"}, {"name": "b", "guaranteed": 1}, reclaim={"busy": {"afterSeconds": 600}})
    controller(namespace, everywhere=True)
    borrower, owner = teams.add("a"), teams.add("b")
    with borrower[0].program(prints=True) as first, owner[0].program(prints=True) as second:
        first.actors(1, name="borrows", num_gpus=1)
        first.ready("borrows", 90)
        second.actors(1, name="waits", num_gpus=1)
        waits = "No worker is launched for 1 pending bundle {"
        wait_until(lambda: any(waits in line and "(WaitsForPool): waits for" in line for line in second.autoscaler_lines()), 60, "why the actor waits")
        waits = " no worker: gpu-group, waitsforpool: waits for"
        wait_until(lambda: waits in second.call("status"), 30, "why the actor waits, in ray status")
        ends = " at the latest: "
        wait_until(lambda: any(ends in line and f"for {pool.space('b')}/" in line for line in first.autoscaler_lines()), 60, "when the other ends")
        second.end()
        first.end()


def test_a_gcs_that_does_not_answer_keeps_no_gpus_from_others(pool, teams, controller, namespace, work_dir):
    """Its asks are confirmed no longer: the grants that it cannot use are named, and others have them after a bound."""
    pool.create(8, {"name": "a"}, {"name": "b"}, {"name": "s"})
    controller(namespace, everywhere=True)
    (hung,) = teams.add("b")
    fleet = Fleet(pool)
    fleet.add("before", "s", 8)
    fleet.wait(60, before=8)
    kubeconfig = pool.server.write_kubeconfig(work_dir / "admin.kubeconfig", token=pool.server.tokens[ADMIN_USER])
    shown = lambda: subprocess.run(  # noqa: E731
        [str(paths.program()), "status", "--pools"], capture_output=True, text=True, check=True, env={"KUBECONFIG": str(kubeconfig)}
    ).stdout
    with hung.program() as program:
        program.actors(4, num_gpus=1)
        wait_until(lambda: pool.queue("b").get("waiting") == "4", 60, "the actors to wait")
        fleet.add("asks", "a", 8)
        wait_until(lambda: pool.queue("a").get("waiting") == "8", 60, "the others to wait")
        hung.recorder.may_be_blind()
        gcs = gcs_server(hung.head())
        os.kill(gcs, signal.SIGSTOP)
        try:
            fleet.end("before")
            ended = time.time()
            fleet.wait(30, asks=4)
            unused = f"{hung.namespace}/b has not used 4 GPUs, granted at "
            wait_until(lambda: unused in fleet.limited("asks"), 30, "the reason of the one that waits", 0.1)
            wait_until(lambda: unused in shown(), 10, "status --pools", 0.1)
            fleet.wait(60, asks=8)
            took = time.time() - ended
        finally:
            os.kill(gcs, signal.SIGCONT)
        print(f"others have all GPUs {took:.1f} s after they became free")
        assert took < allowed(45) and hung.replicas() == 0
        fleet.end("asks")
        program.ready("actors", 90)
        program.end()
