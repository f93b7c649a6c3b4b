"""`make demo`: two GPU actors make a worker group grow from 0 to 2; when they have ended it shrinks to 0.

etcd and kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray head, real raylets with
logical GPUs, and the controller. Ends with status 0 when the group went 0 -> 2 -> 0.
"""

import shutil
import signal
import sys
import time
from contextlib import ExitStack
from typing import Any, Dict, List

from rayscaler_e2e import paths, ray_manifests
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_program import RayProgram
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.wait import WaitTimeout, wait_until

NAMESPACE = "default"
CLUSTER = "demo"
GROUP = "gpu-group"
ACTORS = 2
IDLE_SECONDS = 10
LOOK_SECONDS = 0.2
ROW = "{:>6}  {:<34} {:>8}  {:<26} {}"


class Timeline:
    """Prints a line whenever something changes; earlier lines stay on the screen."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last: Any = None
        self._logged = 0
        self.replicas_seen: List[int] = []

    def head(self) -> None:
        self._start = time.monotonic()
        print(flush=True)
        self._print(ROW.format("time", "event", "replicas", "Pods", "why"))

    def event(self, text: str, scenario: Scenario, why: str = "") -> None:
        replicas, pods = self._state(scenario)
        self._last = (replicas, pods)
        at = f"{time.monotonic() - self._start:.1f}s"
        self._print(ROW.format(at, text, replicas, pods, why).rstrip())

    def look(self, scenario: Scenario, controller: Controller) -> None:
        """One look at Pods and log; also keeps the history of replicas."""
        for line in controller.lines()[self._logged:]:
            self._logged += 1
            if line.get("message") == "scaled":
                change = f"{line['replicas']} -> {line['targetReplicas']}"
                self.event(f"{line['group']}: {change}", scenario, f"{line['reason']}: {line['why']}")
        state = self._state(scenario)
        if state != self._last:
            self.event("Pods changed" if state[0] == (self._last or [None])[0] else "replicas changed", scenario)
        if not self.replicas_seen or self.replicas_seen[-1] != state[0]:
            self.replicas_seen.append(state[0])

    @staticmethod
    def _state(scenario: Scenario) -> Any:
        words: Dict[str, int] = {}
        for pod in scenario.worker_pods(GROUP):
            going = pod["metadata"].get("deletionTimestamp")
            word = "Terminating" if going else (pod.get("status") or {}).get("phase") or "Pending"
            words[word] = words.get(word, 0) + 1
        return scenario.replicas(GROUP), ", ".join(f"{n} {word}" for word, n in sorted(words.items())) or "-"

    @staticmethod
    def _print(text: str) -> None:
        print(text, flush=True)


def step(text: str) -> None:
    print(f"... {text}", flush=True)


def follow(timeline: Timeline, scenario: Scenario, controller: Controller, done: Any, seconds: float, what: str) -> None:
    def look() -> bool:
        controller.process.check_running()
        timeline.look(scenario, controller)
        return done()

    wait_until(look, seconds, what, LOOK_SECONDS)


def play(scenario: Scenario, controller: Controller) -> None:
    timeline = Timeline()
    timeline.head()
    with scenario.program() as program:
        program.actors(ACTORS, num_gpus=1)
        timeline.event(f"program asks for {ACTORS} actors, num_gpus=1", scenario)
        program.begin("ready", name="actors")
        follow(timeline, scenario, controller, program.answered, 120, "both actors to run")
        finish(program, timeline, scenario)
    timeline.event(f"program ended, idle timeout {IDLE_SECONDS} s", scenario)

    def gone() -> bool:
        return scenario.replicas(GROUP) == 0 and not scenario.worker_pods(GROUP)

    follow(timeline, scenario, controller, gone, IDLE_SECONDS + 60, "the group to be back at 0")
    timeline.event("done", scenario)
    print(flush=True)
    seen = " -> ".join(str(n) for n in timeline.replicas_seen)
    # The two actors may end on both sides of a reading of Ray: then the workers go one by one.
    ways = [[0, ACTORS, *range(left, 0, -1), 0] for left in range(ACTORS)]
    if timeline.replicas_seen not in ways:
        raise AssertionError(f"replicas of {GROUP} went {seen}, not 0 -> {ACTORS} -> 0")
    print(f"replicas of {GROUP} went {seen}", flush=True)


def finish(program: RayProgram, timeline: Timeline, scenario: Scenario) -> None:
    pods = program.answer(10)
    for pod in pods:
        timeline.event("an actor runs", scenario, f"in {pod}")
    program.end()


def main() -> int:
    # Ctrl-C and a plain kill unwind the stack, which ends every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work_dir = paths.build_dir() / "demo"
    shutil.rmtree(work_dir, ignore_errors=True)
    cluster = ray_manifests.cluster(CLUSTER, [ray_manifests.gpu_group(GROUP)], idle_seconds=IDLE_SECONDS)
    with ExitStack() as stack:
        step("starting etcd and kube-apiserver")
        server = stack.enter_context(ApiServer(work_dir / "apiserver"))
        server.install_bench()
        step("starting stand-ins for KubeRay's operator and a kubelet")
        stack.enter_context(StandIns(server, work_dir / "nodes"))
        step("starting the controller: rayscaler run")
        controller = stack.enter_context(Controller(server, NAMESPACE, work_dir / "controller"))
        step(f"creating RayCluster {NAMESPACE}/{CLUSTER} and starting its Ray head (some 10 s)")
        scenario = Scenario(server, NAMESPACE, cluster, work_dir / "scenario")
        stack.callback(scenario.close)
        scenario.wait_head()
        play(scenario, controller)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted; everything that was started has ended", file=sys.stderr)
        sys.exit(130)
    except (AssertionError, RuntimeError, WaitTimeout) as error:
        print(f"\ndemo failed: {error}\nlogs: {paths.build_dir() / 'demo'}", file=sys.stderr)
        sys.exit(1)
