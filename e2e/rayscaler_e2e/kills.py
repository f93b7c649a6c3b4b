"""kill -9 of the program over and over during one story of scale-up and scale-down, and the objects
left at its end. Used by tests/test_kill.py (a sample) and torture_kill.py (all of it).

``Bench``      one RayCluster behind relays, with a Ray program; ``target`` is killed
``Bench.run``  one story, with shots from a plan or undisturbed; ``Outcome`` is its result

The story: an actor and a task of one GPU each (0 -> 2 workers), both busy beyond the idle timeout, both
end (2 -> 0), one GPU asked for by the annotation of request-resources (0 -> 1), kept beyond the idle
timeout, withdrawn (1 -> 0).
"""

import os
import random
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from . import kuberay_pod as kp
from . import ray_manifests as rm
from .apiserver import ApiServer
from .kill_relay import POINTS, Aim, ApiRelay, GcsRelay
from .pod_reaper import pids_of
from .ports import free_port
from .program import Controller
from .recorder import UNSEEN
from .scenario import Scenario
from .wait import WaitTimeout, wait_until

IDLE_SECONDS = 2
# Busy, or asked for, for longer than the idle timeout.
HELD_SECONDS = IDLE_SECONDS + 3.0
# A loaded machine may need several tries to start a raylet, and a back-off between them.
STEP_SECONDS = 400.0
SETTLE_SECONDS = 40.0
QUIET_SECONDS = 2.0
ONE_GPU = '[{"GPU": 1}]'
POLL_SECONDS = 0.02
MOST_WORKERS = 2
# How often each kind of request is aimed at; "lease" where there is one.
WEIGHTS = {"patch": 4, "drain": 3, "status": 1, "event": 1, "lease": 1}

Step = Tuple[str, Callable[[], Any]]


class Shot(NamedTuple):
    """``kind`` "": after ``delay_seconds`` from the last start; else the next request of the kind, at ``point``,
    or any moment when none comes for ``aim_seconds``."""

    delay_seconds: float
    kind: str = ""
    point: str = ""
    aim_seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.kind} {self.point}" if self.kind else "any moment"


def shots(
    seed: int, delays: Callable[[random.Random], float], kinds: List[str], aim_seconds: float
) -> Iterator[Shot]:
    """Without end: by turns at a random moment and at a request."""
    chance = random.Random(seed)
    weights = [WEIGHTS[kind] for kind in kinds]
    while True:
        yield Shot(delays(chance))
        (kind,) = chance.choices(kinds, weights)
        yield Shot(delays(chance) / 4, kind, chance.choice(POINTS), aim_seconds)


def any_moment(chance: random.Random) -> float:
    """Since its start: while it starts, or later."""
    return chance.uniform(0, 0.6) if chance.random() < 0.3 else chance.uniform(0.6, 3)


def beside_the_back_off(chance: random.Random) -> float:
    """In a sidecar: mostly when the worker has run for so long that its parent starts the next one at once."""
    return chance.uniform(0, 4) if chance.random() < 0.3 else chance.uniform(10.1, 13)


@dataclass
class Kill:
    at: float
    how: str
    recovered: float = 0.0
    """Until the next process asked the GCS, in seconds; 0: it was killed before."""


@dataclass
class Outcome:
    seconds: float = 0.0
    kills: List[Kill] = field(default_factory=list)
    most_replicas: int = 0
    most_pods: int = 0
    created: int = 0
    busy: List[str] = field(default_factory=list)
    """What the witness has against a deletion."""
    unseen: int = 0
    """Deletions that the witness was too slow to see; the raylet's own word is that it had nothing to do."""
    left: List[str] = field(default_factory=list)
    """What is there at the end and should not be."""
    requests: Dict[str, int] = field(default_factory=dict)
    events: Dict[str, int] = field(default_factory=dict)
    """Reason: how often it was said."""

    def problems(self, calm: "Outcome") -> List[str]:
        """Against a run without kills."""
        found = [f"busy: {text}" for text in self.busy] + [f"left: {text}" for text in self.left]
        if self.most_replicas > calm.most_replicas:
            found.append(f"replicas {self.most_replicas}, without kills {calm.most_replicas}")
        if self.most_pods > calm.most_pods:
            found.append(f"{self.most_pods} Pods at once, without kills {calm.most_pods}")
        # Each process may report once what it found, and once more what it ended.
        allowed = 2 * (len(self.kills) + 1)
        found += [
            f"Event {reason} {count} times in {len(self.kills)} kills, without kills {calm.events.get(reason, 0)}"
            for reason, count in self.events.items()
            if count > calm.events.get(reason, 0) + allowed
        ]
        return found


class ControllerTarget:
    """``rayscaler run`` as a controller, restarted at once, as a kubelet does with the first back-off left out."""

    def __init__(self, bench: "Bench", *flags: str, env: Optional[Dict[str, str]] = None):
        words = (bench.api, bench.namespace, bench.work_dir / "controller", *flags)
        self.controller = Controller(*words, env=env, url=bench.api_relay.url)
        self.log = self.controller.log

    def kill_now(self) -> None:
        os.kill(self.controller.process.pid, signal.SIGKILL)

    def back(self) -> bool:
        self.controller.kill()
        self.controller.start()
        return True

    def alive(self) -> bool:
        return self.controller.process.running()

    def stop(self) -> None:
        self.controller.stop()


class SidecarTarget:
    """The worker process of the container `autoscaler`; its parent brings it back."""

    def __init__(self, one: Scenario):
        uid = one.head()["metadata"]["uid"]
        pids = wait_until(lambda: pids_of(uid, kp.AUTOSCALER_CONTAINER), 20, "the sidecar")
        (self.parent,) = [pid for pid in pids if _stat(pid)[1] not in map(str, pids)]
        self.child = wait_until(self._find, 10, "the worker of the sidecar")

    def _find(self) -> int:
        words = Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text().split()
        return next((int(word) for word in words if _stat(int(word))[0] != "Z"), 0)

    def kill_now(self) -> None:
        os.kill(self.child, signal.SIGKILL)

    def back(self) -> bool:
        """Whether there is a new worker."""
        found = self._find()
        if not found or found == self.child:
            return False
        self.child = found
        return True

    def alive(self) -> bool:
        return self._find() == self.child

    def stop(self) -> None:
        pass


class Bench:
    """A RayCluster of its own whose head and API server are reached through relays only by the target."""

    def __init__(
        self, api: ApiServer, namespace: str, work_dir: Path, sidecar: bool = False, groups: Optional[List[Any]] = None
    ):
        self.api, self.namespace, self.work_dir = api, namespace, work_dir
        self.aim = Aim()
        self._runs = 0
        self.api_relay = ApiRelay(self.aim, api)
        autoscaler = None
        if sidecar:
            port = str(self.api_relay.port)
            names = ("KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")
            autoscaler = {**rm.sidecar_options(), "env": [{"name": name, "value": port} for name in names]}
        manifest = rm.cluster(
            "kill", groups or [rm.gpu_group(maxReplicas=5)], idle_seconds=IDLE_SECONDS, autoscaler=autoscaler
        )
        head = manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
        relay_port = free_port()
        gcs_port, head["ports"][0]["containerPort"] = head["ports"][0]["containerPort"], relay_port
        self.one = Scenario(api, namespace, manifest, work_dir).wait_head()
        self.gcs_relay = GcsRelay(self.aim, relay_port, (self.one.head_ip(), gcs_port))
        self.program = self.one.program()

    def close(self) -> None:
        self.one.recorder.forget()  # each run is judged already
        try:
            self.one.close()
        finally:
            self.gcs_relay.__exit__()
            self.api_relay.__exit__()

    # -- a run ------------------------------------------------------------------------------------

    def run(self, target: Any, plan: Iterator[Shot], most: int) -> Outcome:
        """The story with at most ``most`` kills."""
        self.one.recorder.forget()
        self.aim.seen = {}
        said = self._said()
        outcome = Outcome()
        killer = _Killer(self, target, plan, most, outcome)
        begun = time.monotonic()
        for what, done in self._story():
            deadline = time.monotonic() + STEP_SECONDS
            while not done():
                if time.monotonic() > deadline:
                    raise WaitTimeout(f"{what}: not within {STEP_SECONDS} s and {len(outcome.kills)} kills")
                killer.tick()
                time.sleep(POLL_SECONDS)
        killer.rest()
        outcome.seconds = time.monotonic() - begun
        outcome.left += self._left()
        self._judge(outcome, said)
        killer.note_recoveries()
        return outcome

    def _story(self) -> Iterator[Step]:
        one, program = self.one, self.program
        # Names of their own in each run: the program's output of a task is in files of its name.
        self._runs += 1
        actor, task = f"actor-{self._runs}", f"task-{self._runs}"
        program.actors(1, name=actor, num_gpus=1)
        program.tasks(1, name=task, num_gpus=1)
        pods: List[str] = []
        for name in (actor, task):
            program.begin("ready", name=name)
            yield f"the {name} to run", program.answered
            pods += program.answer()
        assert len(set(pods)) == 2, pods
        yield "being busy", _later(HELD_SECONDS)
        assert program.call("alive", name=actor) == pods[:1]
        program.call("release", name=actor)
        assert program.call("release", name=task) == pods[1:], "the task ended where it began"
        yield "the two workers to go", self._empty
        one.request(ONE_GPU)
        yield "the worker that is asked for", lambda: len(self._joined()) == 1
        asked = self._joined()
        yield "being asked for", _later(HELD_SECONDS)
        assert self._joined() == asked, "what is asked for stays"
        one.request(None)
        yield "that worker to go", self._empty

    def _joined(self) -> List[str]:
        """Workers that live in Ray: the witness's last look may be from before their Pod went."""
        nodes = self.one.witness.latest()["nodes"]
        living = {node["pod"] for node in nodes if node["status"] in ("RUNNING", "IDLE")}
        return [pod for pod in self.one.workers() if pod in living]

    def _empty(self) -> bool:
        return self.one.replicas() == 0 and not self.one.worker_pods()

    # -- the outcome --------------------------------------------------------------------------------

    def _left(self) -> List[str]:
        """The objects that are left when all had time to end; [] is the expected result."""

        def found() -> List[str]:
            group, what = self.one.group(), []
            what += [f"replicas {group['replicas']}"] if group["replicas"] else []
            what += [f"Pod {pod['metadata']['name']}" for pod in self.one.worker_pods()]
            what += [f"workersToDelete {name}" for name in self.one.workers_to_delete()]
            nodes = self.one.witness.latest()["nodes"]
            what += [f"{n['status']} {n['pod']}" for n in nodes if n["group"] == "gpu-group" and n["status"] != "DEAD"]
            return what

        try:
            wait_until(lambda: not found(), SETTLE_SECONDS, "nothing to be left")
        except WaitTimeout:
            return found()
        quiet = time.time()
        time.sleep(QUIET_SECONDS)
        return found() + [f"replicas {event.value} again" for event in self.one.recorder.of("replicas", quiet)]

    def _judge(self, outcome: Outcome, said: Dict[str, int]) -> None:
        recorder = self.one.recorder
        found = recorder.busy_deletions(self.one.witness)
        outcome.busy = [text for text in found if UNSEEN not in text or not self._ended_idle(text.split()[0])]
        outcome.unseen = len(found) - len(outcome.busy)
        outcome.most_replicas = max([event.value for event in recorder.of("replicas")] or [0])
        outcome.created = len(recorder.of("created"))
        there = 0
        for event in recorder.events:
            there += {"created": 1, "deleted": -1}.get(event.kind, 0)
            outcome.most_pods = max(outcome.most_pods, there)
        outcome.requests = dict(self.aim.seen)
        outcome.events = {reason: count - said.get(reason, 0) for reason, count in self._said().items()}

    def _ended_idle(self, pod: str) -> bool:
        nodes = (node for line in self.one.witness.lines() for node in line.get("nodes", []))
        return any(node["pod"] == pod and node["death"] == "AUTOSCALER_DRAIN_IDLE" for node in nodes)

    def _said(self) -> Dict[str, int]:
        """How often each reason is in our Events."""
        found: Dict[str, int] = {}
        for event in self.api.admin.of("events", self.namespace).items():
            if (event.get("source") or {}).get("component") == "rayscaler" and event["involvedObject"]["kind"] == "RayCluster":
                found[event["reason"]] = found.get(event["reason"], 0) + (event.get("count") or 1)
        return found


class _Killer:
    """Ticks beside the story: takes one shot after the other and waits for the next process."""

    def __init__(self, bench: Bench, target: Any, plan: Iterator[Shot], most: int, outcome: Outcome):
        self._bench, self._target, self._plan = bench, target, plan
        self._most, self._outcome = most, outcome
        self._dead = False
        self._next()

    def _next(self) -> None:
        self._shot = next(self._plan)
        self._due = time.monotonic() + self._shot.delay_seconds
        self._armed = False

    def tick(self) -> None:
        if self._dead:
            self._dead = not self._target.back()
            if not self._dead:
                self._next()
        elif self._armed and self._bench.aim.hit.is_set():
            self._killed(self._shot.name)
        elif not self._target.alive():
            # Unless a shot has just been taken.
            if not self._armed or not self._bench.aim.disarm():
                self._outcome.left.append("the process ended of itself")
                self._dead = True
        elif len(self._outcome.kills) < self._most and time.monotonic() >= self._due:
            self._shoot()

    def _shoot(self) -> None:
        if self._shot.kind and not self._armed:
            self._armed = True
            self._due = time.monotonic() + self._shot.aim_seconds
            self._bench.aim.arm(self._shot.kind, self._shot.point, self._target.kill_now)
        elif not self._armed or not self._bench.aim.disarm():
            self._target.kill_now()
            self._killed("any moment")

    def _killed(self, how: str) -> None:
        self._outcome.kills.append(Kill(time.monotonic(), how))
        self._dead = True

    def rest(self) -> None:
        """No more shots; until a process is there."""
        if self._armed and not self._dead and self._bench.aim.disarm():
            wait_until(self._bench.aim.hit.is_set, 10, "the last shot")
            self._killed(self._shot.name)
        wait_until(lambda: not self._dead or self._target.back(), 40, "the process to be back")
        self._dead = False

    def note_recoveries(self) -> None:
        kills, begun = self._outcome.kills, self._bench.gcs_relay.begun
        for number, kill in enumerate(kills):
            end = kills[number + 1].at if number + 1 < len(kills) else float("inf")
            first = next((at for at in begun if kill.at < at < end), None)
            kill.recovered = first - kill.at if first else 0.0


def _later(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _stat(pid: int) -> List[str]:
    """State and parent of a process; of one that does not exist as of a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return ["Z", "0"]
