"""kill -9 at random moments with real Ray and busy workers: three clusters of three teams, a pool of 8 GPUs."""

import random
import time

import pytest

from rayscaler_e2e.pools import Held
from rayscaler_e2e.wait import wait_until

pytestmark = pytest.mark.minutes

GPUS = 8
KILLS = 20
ASKED = {"a": 6, "b": 3, "c": 3}


class Work:
    """Tasks with one GPU each, by name; the file of a task is there when it runs."""

    def __init__(self, programs):
        self._programs = programs
        self._team = {}
        self.released = 0

    def add(self, team: str, count: int) -> None:
        for _ in range(count):
            name = f"task{len(self._team)}"
            self._team[name] = team
            self._programs[team].tasks(1, name=name, num_gpus=1)

    def running(self):
        return [name for name, team in self._team.items() if team and self._file(name).exists()]

    def _file(self, name: str):
        return self._programs[self._team[name]].directory / f"{name}-0.pod"

    def release(self, name: str) -> None:
        """An error if it was lost."""
        self._programs[self._team[name]].call("release", name=name)
        self._team[name] = ""
        self.released += 1

    def release_all(self) -> None:
        """Those that wait run when others have ended."""
        while any(self._team.values()):
            for name in wait_until(self.running, 60, "the next task to run"):
                self.release(name)


@pytest.mark.test_all  # 90 s of CPU with 6 kills; test_pools.py has 20 without Ray
def test_kills_beside_busy_workers(pool, teams, controller, namespace):
    """The pool is never exceeded, by replicas or by Pods; each task runs to its end, in the worker that it began in."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    queues = [{"name": "a", "guaranteed": 2}, {"name": "b", "guaranteed": 4}, {"name": "c"}]
    pool.create(GPUS, *queues, reclaim={"idleAfterSeconds": 1})
    # A kill between Ray's yes to a drain and the patch leaves a Pod without a raylet for so long.
    control = controller(namespace, "--raylet-gone-seconds", "10", everywhere=True)
    # An idle worker within a guarantee ends by its own timeout only.
    scenarios = dict(zip(ASKED, teams.add(*ASKED, idle_seconds=3)))
    spaces = list(pool.spaces.values())
    work = Work({name: one.program() for name, one in scenarios.items()})
    with Held(pool.server, spaces) as replicas, Held(pool.server, spaces, pods=True) as pods:
        for team, count in ASKED.items():
            work.add(team, count)
        wait_until(lambda: len(work.running()) == GPUS, 120, "the pool to be in use")
        for _ in range(KILLS):
            if rng.random() < 0.7 and work.running():
                work.release(rng.choice(work.running()))
            else:
                work.add(rng.choice("abc"), rng.randrange(1, 3))
            time.sleep(rng.random() * 2.5)  # the moment of the kill
            control.kill()
            control.start()
        busy = len(work.running())
        work.release_all()
        print(f"{work.released} tasks, {busy} of them ran after the last kill; most replicas {replicas.most}, Pods {pods.most}")
    assert replicas.most == pods.most == GPUS
    for one in scenarios.values():
        one.check_no_busy_deleted()
