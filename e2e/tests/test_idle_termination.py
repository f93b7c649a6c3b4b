"""A RayCluster that nothing uses is suspended, head included, and starts again; with KUBERAY=real by KubeRay's operator.

Idle termination takes a minute at least, so the clusters of a test live beside each other. IDLE_KILLS=30 kills the
controller that often (default: 4); docs/internals/reliability.md has the figures.
"""

import json
import os
import random
import subprocess
import time
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
import yaml

from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.kill_relay import POINTS, Aim, ApiRelay
from rayscaler_e2e.kills import ControllerTarget
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

KEY = "rayscaler.dev/suspended-by-idle-termination"
AFTER_SECONDS = 60
# A loaded machine starts four heads at once.
START_SECONDS = 180.0
SUSPEND_SECONDS = AFTER_SECONDS + 90.0
ON_HEAD = '[{"CPU": 0.1}]'
KILLS = int(os.environ.get("IDLE_KILLS", "4"))
CLUSTERS_TO_KILL = 2 if KILLS < 10 else 6


def sleeper() -> dict:
    """The RayClusterAutoscaler of the page, with the shortest time."""
    page = (paths.ROOT / "docs/AUTOSCALER_OBJECT.md").read_text()
    text = page.split("\n## Idle termination\n")[1].split("```yaml\n")[1].split("```")[0]
    spec = yaml.safe_load(text)["spec"]
    assert spec == {"idleTermination": {"afterSeconds": 1800, "action": "Suspend"}}
    spec["idleTermination"]["afterSeconds"] = AFTER_SECONDS
    return spec


def configure(api_server, namespace, name, **spec):
    """Before the controller makes it."""
    kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": name}}
    api_server.admin.of("rayclusterautoscalers", namespace).create({**kind, "spec": spec or sleeper()})


def asleep(one) -> bool:
    now = one.get()
    return now["spec"].get("suspend") is True and KEY in now["metadata"]["annotations"] and not one.pods()


def awake(one) -> bool:
    now = one.get()
    return not now["spec"].get("suspend") and KEY not in (now["metadata"].get("annotations") or {})


def run_job(one):
    """A driver whose task needs a worker; both end."""
    with one.program() as program:
        program.tasks(1, num_gpus=1)
        assert program.ready("tasks", START_SECONDS)
        program.call("release", name="tasks")
        program.end()


@pytest.fixture
def sleepers(scenario, api_server, namespace):
    """``sleepers(names)``: RayClusters with idle termination whose heads are ready."""

    def make(names):
        for name in names:
            configure(api_server, namespace, name)
        found = {name: scenario(rm.cluster(name, [rm.gpu_group()], idle_seconds=5), wait=False) for name in names}
        for one in found.values():
            one.wait_head(START_SECONDS)
        return found

    return make


def schedule_now() -> dict:
    """A window that opens within a minute."""
    start = datetime.fromtimestamp(time.time() + 60, timezone.utc)
    groups = [{"name": "gpu-group", "minReplicas": 1}]
    return {"name": "office", "start": f"{start.minute} {start.hour} * * *", "duration": "1h", "groups": groups}


def test_suspended_and_resumed_in_each_way(sleepers, api_server, namespace, controller, work_dir):
    """A finished job, no Pods after the time, and a head after each way to resume it; a new job after one."""
    program = controller(namespace)
    clusters = sleepers(["command", "request", "annotation", "schedule"])
    run_job(clusters["command"])
    ended = time.monotonic()
    wait_until(lambda: asleep(clusters["command"]), SUSPEND_SECONDS, "the cluster to be suspended without a Pod")
    print(f"no Pod at the latest {time.monotonic() - ended:.0f} s after the job")
    assert time.monotonic() - ended > AFTER_SECONDS - 5  # it had ended in Ray a moment before
    for name, one in clusters.items():
        wait_until(lambda one=one: asleep(one), SUSPEND_SECONDS, f"{name}, which had no job, to be suspended")
    since = {name: one.get()["metadata"]["annotations"][KEY] for name, one in clusters.items()}
    for name, one in clusters.items():
        message = f"Suspended by idle termination at {since[name]}; resume with: rayscaler resume"
        wait_until(lambda one=one: message in json.dumps(one.autoscaler()["status"]), 10, f"the status of {name}")
    hold(lambda: all(asleep(one) for one in clusters.values()), 5, "nothing resumes them")

    cli = Cli(api_server, namespace, work_dir, system=namespace)
    url = ["--controller-url", program.address("metrics")]
    assert "is resumed" in cli.run("resume", "command").stdout
    assert "the controller resumes it" in cli.run("request", "request", "--bundles", ON_HEAD, *url).stdout
    clusters["annotation"].request('[{"GPU": 1}]')
    clusters["schedule"].configure(schedules=[schedule_now()])
    for name, one in clusters.items():  # by its schedule up to a minute later: the others may sleep again by then
        wait_until(lambda one=one: awake(one), 90, f"{name} to be resumed")
        one.wait_head(START_SECONDS)
        assert awake(one), "each has a full period"
        one.recorder.excuse_all()  # the witness does not see its next head, which sleeps again when its time has passed
        if name == "command":
            run_job(one)


def test_work_keeps_a_cluster(sleepers, namespace, controller):
    """Work that takes no resources too. The fourth cluster shows that the others would have been suspended."""
    controller(namespace)
    clusters = sleepers(["detached", "driver", "task", "control"])
    actor = clusters["detached"].program()
    options = {"name": "keeper", "lifetime": "detached", "num_cpus": 0}
    actor.call("actors", name="keepers", count=1, options=options)
    actor.ready("keepers")
    actor.end()
    driver = clusters["driver"].program()
    task = clusters["task"].program()
    task.tasks(1, num_cpus=0.1)
    task.ready("tasks")
    wait_until(lambda: asleep(clusters["control"]), SUSPEND_SECONDS, "the cluster without work to be suspended")
    clusters["control"].edit({"spec": {"suspend": False}})  # as by kubectl patch
    wait_until(lambda: awake(clusters["control"]), 20, "the annotation to be removed after a user's resume")
    clusters["control"].recorder.excuse_all()  # the witness does not see its next head
    others = [clusters[name] for name in ("detached", "driver", "task")]
    hold(lambda: all(awake(one) for one in others), 8, "work keeps its cluster")
    task.call("release", name="tasks")
    task.end()
    driver.end()


def test_a_simulation_compares_times(work_dir):
    """The later the end, the more GPU-hours, and the shorter the waiting: work in between finds a worker."""
    group = rayclusters.group("gpu-group", {"cpu": "1", "nvidia.com/gpu": "1"}, minReplicas=1, maxReplicas=4)
    item = {"duration": "10m", "resources": {"GPU": 1}}
    files = work_dir / "cluster.yaml", work_dir / "workload.yaml"
    files[0].write_text(yaml.safe_dump(rayclusters.minimal("demo", group)))
    work = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload"}
    files[1].write_text(yaml.safe_dump({**work, "items": [{**item, "submit": time} for time in ("0s", "1h", "5h")]}))
    words = ["simulate", "-f", files[0], "-w", files[1], "--vary", "idleTermination.afterSeconds=600,7200,86400", "-o", "json"]
    done = subprocess.run([paths.program(), *words], capture_output=True, text=True, timeout=60, check=True)
    short, middle, never = json.loads(done.stdout)["variants"]
    assert [one["suspensions"] for one in (short, middle, never)] == [3, 1, 0]
    assert short["gpuHours"]["provisioned"] < middle["gpuHours"]["provisioned"] < never["gpuHours"]["provisioned"]
    assert short["headHours"] < middle["headHours"] < never["headHours"]
    assert [one["waitingSeconds"]["max"] > 25 for one in (short, middle, never)] == [True, True, False]
    assert short["waitingSeconds"]["p50"] > middle["waitingSeconds"]["p50"]


def generation(one) -> int:
    """Counts the changes of the spec: no worker is started in these tests."""
    return one.get()["metadata"]["generation"]


class Killer:
    """kill -9 at a patch (before it is passed on, with its answer held back, just after), or soon after one."""

    def __init__(self, target, aim: Aim, seed: int):
        self.target, self.aim, self.chance = target, aim, random.Random(seed)
        self.kills = []

    def shoot(self, done, what: str, seconds: float) -> bool:
        """One kill before ``done``; False when there was no patch to aim at."""
        point = self.chance.choice([*POINTS, ""])
        seen, deadline = self._patches(), time.monotonic() + seconds
        if point:
            self.aim.arm("patch", point, self.target.kill_now)
        while not self._hit(point, seen):
            assert time.monotonic() < deadline, f"{what}: not within {seconds} s after {self.kills}"
            if done() and not (point and self.aim.disarm() and self.aim.hit.wait(10)):
                return False
            time.sleep(0.02)
        self.kills.append(f"{what} {point or 'later'}")
        self.target.back()
        return True

    def _patches(self) -> int:
        return self.aim.seen.get("patch", 0)

    def _hit(self, point: str, seen: int) -> bool:
        if point or self._patches() == seen:
            return bool(point) and self.aim.hit.is_set()
        time.sleep(self.chance.uniform(0, 0.5))
        self.target.kill_now()
        return True


# Kills of the controller at any moment: test_kill.py; each step of idle termination: ctl_pass_idle_test.
@pytest.mark.test_all
def test_killed_at_any_moment_it_ends_the_same(sleepers, api_server, namespace, work_dir, artefacts):
    """Each cluster is suspended once and resumed once, whenever the controller is killed."""
    seed, aim = random.randrange(1 << 32), Aim()
    print(f"seed {seed}")
    clusters = list(sleepers([f"kill-{number}" for number in range(CLUSTERS_TO_KILL)]).values())

    def all_asleep() -> bool:
        return all(asleep(one) for one in clusters)

    def check_changes(before, more: int) -> None:
        hold(lambda: [generation(one) for one in clusters] == [number + more for number in before], 3, "no other change")

    with ApiRelay(aim, api_server) as relay:
        target = ControllerTarget(SimpleNamespace(api=api_server, namespace=namespace, work_dir=work_dir, api_relay=relay))
        artefacts.log("controller", target.log)
        killer = Killer(target, aim, seed)
        try:
            while len(killer.kills) < KILLS:
                before = [generation(one) for one in clusters]
                for _ in range(2):
                    killer.shoot(all_asleep, "suspend", SUSPEND_SECONDS)
                wait_until(all_asleep, SUSPEND_SECONDS, "all to be suspended")
                check_changes(before, 1)
                for one in clusters:
                    one.request(ON_HEAD)
                    for _ in range(2):  # the second one where the first came before the patch
                        killer.shoot(lambda one=one: awake(one), "resume", 60)
                    wait_until(lambda one=one: awake(one), 60, f"{one.name} to be resumed")
                for one in clusters:
                    one.wait_head(START_SECONDS)
                check_changes(before, 2)
                assert all(awake(one) and len(one.pods()) == 1 for one in clusters)
                for one in clusters:
                    one.request(None)
        finally:
            target.stop()
    print(f"{len(killer.kills)} kills: {killer.kills}")


def test_two_controllers_act_once(sleepers, api_server, namespace, controller):
    """Both lead, as after a partition: the tests in the patch let one of them through."""
    controllers = [controller(namespace), controller(namespace)]
    (one,) = sleepers(["twice"]).values()
    before = generation(one)
    wait_until(lambda: asleep(one), SUSPEND_SECONDS, "the cluster to be suspended")
    hold(lambda: generation(one) == before + 1, 5, "it is suspended once")
    one.request(ON_HEAD)
    wait_until(lambda: awake(one), 30, "the cluster to be resumed")
    hold(lambda: generation(one) == before + 2, 5, "it is resumed once")
    assert all(each.process.running() for each in controllers)
