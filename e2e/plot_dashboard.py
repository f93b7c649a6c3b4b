"""`make dashboard-picture`: a scenario with real Ray, scraped by a real Prometheus, and the main panels of the
chart's dashboard over its two minutes as a picture (docs/pictures/dashboard.png).

Two groups: t4 (one GPU, at most 4 workers) and a100 (two GPUs, at most 2). Images take 3 s to pull.
"""

import argparse
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from rayscaler_e2e import dashboard, paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.picture import Layout, Window, draw
from rayscaler_e2e.program import Controller
from rayscaler_e2e.prometheus import NotAvailable, Prometheus, find_programs
from rayscaler_e2e.scenario import Scenario, hold
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.wait import wait_until

NAMESPACE = "ml"
GROUPS = ("t4", "a100")
SMALL = ("first", "second")
IDLE_SECONDS = 5
OUT = paths.ROOT / "docs" / "pictures" / "dashboard.png"
LAYOUT: Layout = (
    (0.95, ("RayClusters managed", "GPUs wanted", "GPUs running", "GPUs wasted", "GPUs pending", "Groups in back-off")),
    (2.5, ("GPUs over time", "Wasted GPUs by group")),
    (2.3, ("Replicas: $group", "Demand that cannot be served")),
    (2.3, ("Decisions that changed something", "Demand to patch", "Patch to Pod (the operator's share)")),
    (2.0, ("Conditions", "Safe to scale down")),
)


def say(text: str) -> None:
    print(f"plot_dashboard: {text}", flush=True)


def cluster() -> rm.Object:
    slow = {"bench.rayscaler.dev/pull-seconds": "3"}
    groups = [rm.group("t4", gpus=1, maxReplicas=4, annotations=slow)]
    groups.append(rm.group("a100", gpus=2, cpus=2, maxReplicas=2, annotations=slow))
    return rm.cluster("train", groups, idle_seconds=IDLE_SECONDS)


def rest(seconds: float) -> None:
    """So that the picture has something to show between two changes."""
    hold(lambda: True, seconds, "")


def play(one: Scenario) -> float:
    """Small work, large work beside it, the small ends, then more than there may be. When it was over."""
    rest(4)
    with one.program() as program:
        say("an actor with one GPU, then another one: together they would fill an a100")
        for name in SMALL:
            program.actors(1, name=name, num_gpus=1)
            program.ready(name, 120)
        rest(4)
        say("two actors with two GPUs each")
        program.actors(2, name="large", num_gpus=2)
        program.ready("large", 120)
        rest(6)
        say("the small ones end; their workers are idle, and go")
        for name in SMALL:
            program.call("release", name=name)
        one.wait_empty(60, "t4")
        rest(4)
        say("six actors with one GPU each, for a group of at most four")
        program.actors(6, name="many", num_gpus=1)
        wait_until(lambda: len(one.workers("t4")) == 4, 60, "the group to reach its maximum")
        one.wait_joined(4, "t4", 120)
        rest(8)
        say("one large actor ends")
        program.call("release", name="large")
        program.ready("many", 120)
        one.wait_workers(1, "a100", 60)
        rest(5)
        return time.time()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    work_dir = paths.work_root() / "plot"
    shutil.rmtree(work_dir, ignore_errors=True)
    try:
        programs = find_programs()
    except NotAvailable as error:
        say(str(error))
        return 1
    with ExitStack() as stack:
        server = stack.enter_context(ApiServer(work_dir / "apiserver"))
        server.install_bench()
        server.create_namespace(NAMESPACE)
        stack.enter_context(StandIns(server, work_dir / "standins"))
        one = Scenario(server, NAMESPACE, cluster(), work_dir)
        stack.callback(one.close)
        controller = stack.enter_context(Controller(server, NAMESPACE, work_dir / "controller"))
        jobs = {"rayscaler": [controller.address("metrics")]}
        prometheus = stack.enter_context(Prometheus(programs, work_dir / "prometheus", jobs, [dashboard.ALERTS]))
        one.wait_head()
        prometheus.wait_for('rayscaler_condition{type="ScalingActive"} == 1', 60)
        start = time.time()
        end = play(one)
        out.parent.mkdir(parents=True, exist_ok=True)
        draw(prometheus, Window(start, end), LAYOUT, GROUPS, out)
        say(f"{out}: {out.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
