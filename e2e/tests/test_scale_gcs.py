"""A head whose Ray restarts in its Pod, and a raylet that died in a Pod that still runs."""

import os
import signal
import time
from pathlib import Path

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pod_reaper import kill, pids_of
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

TWO_GPUS = '[{"GPU": 1}, {"GPU": 1}]'
# For the processes that Ray starts, on a machine with other work.
LONG = 150


def restarts(pod):
    return next(c["restartCount"] for c in pod["status"]["containerStatuses"] if c["name"] == "ray-head")


def test_a_head_whose_ray_starts_anew_costs_no_worker(scenario, namespace, controller):
    """In the same Pod, as KubeRay has it with autoscaler v1: another cluster id and session, no node known."""
    one = scenario(rm.cluster("again", [rm.gpu_group()], autoscaler={"version": "v1"}))
    control = controller(namespace)
    one.request(TWO_GPUS)
    workers = one.wait_joined(2, seconds=LONG)
    one.recorder.may_be_blind()
    one.witness.stop()
    killed = one.recorder.mark()
    assert kill(pids_of(one.head()["metadata"]["uid"], "ray-head"))
    control.wait_for("DemandUnavailable", "again", seconds=30)
    wait_until(lambda: restarts(one.head()) and one._head_ready(), LONG, "the head's Ray to be back")
    one.wait_head()
    one.witness.fresh(30)
    assert one.wait_joined(2, seconds=LONG) == workers
    print(f"both workers are back {time.time() - killed:.1f} s after the head's Ray was killed")
    for kind in ("workersToDelete", "deleted", "replicas"):
        assert not one.recorder.of(kind, killed), kind
    # And it is scaled down by the state of the new GCS.
    one.request(None)
    one.wait_empty(90)


def test_a_raylet_that_died_in_a_pod_that_runs(shared, controller):
    one = shared([rm.gpu_group()])
    control = controller(one.namespace, "--raylet-gone-seconds", "3")
    with one.program() as program:
        program.tasks(1, name="long", num_gpus=1)
        (busy,) = program.ready("long", LONG)
        one.request(TWO_GPUS)
        workers = one.wait_joined(2, seconds=LONG)
        (victim,) = set(workers) - {busy}
        uid = next(p["metadata"]["uid"] for p in one.worker_pods() if p["metadata"]["name"] == victim)
        processes = pids_of(uid)
        (raylet,) = [pid for pid in processes if command(pid).endswith(b"/raylet")]
        # `ray start` would see it and end the container.
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        os.kill(raylet, signal.SIGKILL)
        killed = time.time()
        line = control.wait_for('"scaled"', "WorkerRecycled", seconds=60)
        recycled = time.time()
        assert "raylet is dead" in line["why"] and recycled - killed > 2, line
        named = wait_until(lambda: one.recorder.of("workersToDelete", killed), 20, "the patch to be seen")
        assert named[0].value == [victim]
        for pid in set(processes) - {raylet}:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: victim not in one.workers(), 60, "the Pod to go")
        assert busy in one.wait_joined(2, seconds=LONG)
        print(f"recycled {recycled - killed:.1f} s after the raylet was killed, replaced after {time.time() - killed:.1f} s")
        assert one.replicas() == 2 and program.call("release", name="long") == [busy]
        one.request(None)
        program.end()
    one.wait_empty(90)


def command(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
