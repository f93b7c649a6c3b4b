"""A gang of the whole pool against a stream of single tasks, in two clusters with real Ray."""

import itertools
import json

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pools import Held
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

GPUS = 8
KINDS = ("even", "odd")
STARVED_ROUNDS = 2


class Stream:
    """Single tasks, one at least at any moment. A worker of the one kind runs no task of the other, so that the next
    task asks the pool and not the worker that becomes free (Ray gives it the next one in its own queue)."""

    def __init__(self, scenario, control, program):
        self.scenario, self.control, self.program = scenario, control, program
        self._names = (f"task{n}-{KINDS[n % 2]}" for n in itertools.count())
        self.running = self.start()
        self.wait_runs(self.running)

    def start(self) -> str:
        name = next(self._names)
        self.program.tasks(1, name=name, num_gpus=1, resources={name.rpartition("-")[2]: 1})
        return name

    def runs(self, name: str) -> bool:
        return (self.program.directory / f"{name}-0.pod").exists()

    def wait_runs(self, name: str) -> None:
        wait_until(lambda: self.runs(name), 60, f"{name} to run")

    def end(self, name: str) -> None:
        """And its worker, which is idle then."""
        self.program.call("release", name=name)
        kind = name.rpartition("-")[2]
        wait_until(lambda: not self.scenario.worker_pods(kind), 40, f"the worker of {name} to end")

    def round(self) -> None:
        """The next task begins, then the one before ends."""
        after = self.start()
        self.wait_runs(after)
        self.end(self.running)
        self.running = after

    def reasons(self) -> set:
        status, text = self.control.get(f"/status/{self.scenario.namespace}/{self.scenario.name}")
        return {one["reason"] for one in json.loads(text)["plan"].get("unserved", [])} if status == 200 else set()


def kind(name: str):
    return rm.gpu_group(name, maxReplicas=GPUS, resources={name: "100"})


@pytest.mark.test_all  # 90 s; test_pools_gangs.py has two gangs, test_sharing.py a slice that GPUs are saved for
def test_gpus_are_saved_for_a_gang_of_8(pool, teams, controller, namespace):
    pool.create(GPUS, {"name": "a"}, {"name": "b"}, reclaim={"idleAfterSeconds": 1}, reserveAfterSeconds=3600)
    control = controller(namespace, everywhere=True)
    single, large = teams.add("a", "b", idle_seconds=2, groups={"a": [kind(name) for name in KINDS]})
    with Held(pool.server, list(pool.spaces.values())) as held, single.program() as left, large.program() as right:
        stream = Stream(single, control, left)
        right.call("group", name="gang", strategy="PACK", bundles=[{"GPU": 1}] * GPUS)
        right.begin("ready", name="gang")
        wait_until(lambda: pool.queue("b").get("waiting") == str(GPUS), 20, "the gang to wait")
        # Without a reservation the stream always has a GPU, and the gang needs all of them.
        for _ in range(STARVED_ROUNDS):
            stream.round()
            assert large.replicas() == 0
        pool.edit(reserveAfterSeconds=1)
        after = stream.start()
        wait_until(lambda: "ReservedForGang" in stream.reasons(), 20, "the next task to wait for the gang")
        hold(lambda: not stream.runs(after) and large.replicas() == 0, 2, "it waits while the one before runs")
        stream.end(stream.running)
        assert right.answer(120) == [] and large.replicas() == GPUS
        assert not stream.runs(after) and not single.worker_pods(None)
        # Whole: never a part of it.
        assert [event.value for event in large.recorder.of("replicas", 0, "gpu-group") if event.value] == [GPUS]
        right.call("release", name="gang")
        stream.wait_runs(after)
        left.call("release", name=after)
        left.end()
        right.end()
    assert held.most <= GPUS
