"""A raylet that died in a Pod that runs on: the Pod is made anew, and nobody else is touched."""

import os
import signal
import time
from pathlib import Path

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pod_reaper import pids_of
from rayscaler_e2e.wait import wait_until

TWO_GPUS = '[{"GPU": 1}, {"GPU": 1}]'
# For what Ray has to start, on a machine with other work.
LONG = 150


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
        assert "raylet is gone" in line["why"] and recycled - killed > 2, line
        assert one.recorder.of("workersToDelete", killed)[0].value == [victim]
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
