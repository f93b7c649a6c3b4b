"""`make torture-kill`: kill -9 of the program at any moment of a scale-up and a scale-down, again and again.

A real kube-apiserver, a real Ray head and raylets. Per mode: the story of rayscaler_e2e/kills.py once without
kills, then with kills until there are enough, by turns at a random moment and at a write (before it is passed
on, with its answer held back, just after its answer). Status 0: every run ended as the one without kills.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple

from rayscaler_e2e import kills, paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT, ApiServer
from rayscaler_e2e.kills import Bench, ControllerTarget, Outcome, SidecarTarget
from rayscaler_e2e.program import Controller
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

# Kills of a process that has another identity each time.
STRANGERS = 3
AIM_SECONDS = 12.0


class Mode(NamedTuple):
    name: str
    share: float
    """Of all kills."""
    per_run: int
    kinds: List[str]
    delays: Callable[[random.Random], float]
    target: Callable[[Bench], Any]


def election(bench: Bench, **env: str) -> ControllerTarget:
    bench.api.ensure_service_account(bench.namespace, CONTROLLER_ACCOUNT)
    bench.api.allow_leader_election(bench.namespace)
    flags = ("--leader-elect", "--leader-elect-resource-namespace", bench.namespace)
    return ControllerTarget(bench, *flags, env={"POD_NAME": "", **env})


CONTROLLER_KINDS = ["patch", "drain", "status", "event"]
MODES = [
    Mode("controller", 0.4, 20, CONTROLLER_KINDS, kills.any_moment, ControllerTarget),
    Mode("elected", 0.4, 20, [*CONTROLLER_KINDS, "lease"], kills.any_moment, lambda bench: election(bench, POD_NAME="one")),
    Mode("sidecar", 0.2, 8, ["patch", "drain"], kills.beside_the_back_off, lambda bench: SidecarTarget(bench.one)),
]


def say(text: str) -> None:
    print(text, flush=True)


def spread(values: List[float]) -> str:
    if not values:
        return "-"
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f} s (of {len(values)})"


def show(number: int, outcome: Outcome, problems: List[str]) -> None:
    ended = "ended the same" if not problems else "; ".join(problems)
    say(
        f"  run {number}: {len(outcome.kills):2} kills in {outcome.seconds:5.1f} s, most replicas {outcome.most_replicas}, most Pods"
        f" {outcome.most_pods}, Pods made {outcome.created}, Events {sum(outcome.events.values())}: {ended}"
    )


def torture(api: ApiServer, mode: Mode, wanted: int, seed: int, work_dir: Path) -> Dict[str, Any]:
    namespace = api.create_namespace(f"kill-{mode.name}")
    say(f"{mode.name}: {wanted} kills")
    with closing(Bench(api, namespace, work_dir, sidecar=mode.name == "sidecar")) as bench:
        target = mode.target(bench)
        runs: List[Outcome] = []
        calm, bad = Outcome(), []
        try:
            plan = kills.shots(seed, mode.delays, mode.kinds, AIM_SECONDS)
            calm = bench.run(target, plan, 0)
            bad = calm.problems(calm)
            show(0, calm, bad)
            say(f"    writes without kills: {dict(sorted(calm.requests.items()))}; Events {calm.events}")
            done = 0
            while done < wanted:
                run = bench.run(target, plan, min(mode.per_run, wanted - done))
                runs.append(run)
                done += len(run.kills)
                problems = run.problems(calm)
                bad += problems
                show(len(runs), run, problems)
        except AssertionError as error:  # of the story; the cluster is not as a run needs it
            bad.append(str(error))
            say(f"  run {len(runs) + 1}: {error}")
        finally:
            target.stop()
    return {"mode": mode.name, "runs": runs, "bad": bad, "calm": calm}


def figures(found: List[Dict[str, Any]]) -> None:
    for one in found:
        hits = [kill for run in one["runs"] for kill in run.kills]
        recovered = [kill.recovered for kill in hits if kill.recovered]
        say(f"{one['mode']}: {len(hits)} kills in {len(one['runs'])} runs; problems: {len(one['bad'])}")
        say(f"    at: {', '.join(f'{how} {count}' for how, count in sorted(Counter(kill.how for kill in hits).items()))}")
        say(f"    kill to first question to the GCS, min / median / max: {spread(recovered)}")
        made = [run.created - one["calm"].created for run in one["runs"]]
        say(f"    Pods made beyond the run without kills: {sum(made)} in all, {max(made, default=0)} in one run at most")
    hits = [kill for one in found for run in one["runs"] for kill in run.kills]
    unseen = sum(run.unseen for one in found for run in one["runs"])
    busy = sum(len(run.busy) for one in found for run in one["runs"])
    runs = sum(len(one["runs"]) for one in found)
    same = sum(not run.problems(one["calm"]) for one in found for run in one["runs"])
    say(f"all: {len(hits)} kills in {runs} runs, {same} ended the same, {busy} busy workers harmed")
    say(f"    deletions that the witness was too slow to see, idle by the raylet's own word: {unseen}")


def strangers(api: ApiServer, work_dir: Path) -> None:
    """An election without POD_NAME: the next process is a stranger to the Lease and waits until it has run out."""
    namespace = api.create_namespace("kill-stranger")
    api.ensure_service_account(namespace, CONTROLLER_ACCOUNT)
    api.allow_leader_election(namespace)
    flags = ("--leader-elect", "--leader-elect-resource-namespace", namespace)
    took: List[float] = []
    with Controller(api, namespace, work_dir, *flags, env={"POD_NAME": ""}) as controller:
        controller.wait_for('"leading"', seconds=30)
        for number in range(STRANGERS):
            killed = time.monotonic()
            controller.kill()
            controller.start()
            wait_until(lambda: len(controller.find('"leading"')) > number + 1, 40, "the Lease")
            took.append(time.monotonic() - killed)
    say(f"elected without POD_NAME (another identity each time), Lease of 15 s: {spread(took)} until it leads")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=240, help="in all modes together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--modes", nargs="*", default=[mode.name for mode in MODES])
    parser.add_argument("--ray-start", action="store_true", help="start workers by `ray start`, as KubeRay does")
    options = parser.parse_args()
    if not options.ray_start:
        rm.start_quickly()
    say(f"seed {options.seed}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    work_dir = paths.work_root() / "torture-kill" / "-".join(options.modes)
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    # A build meanwhile must not take the program away from under a restart.
    os.environ["RAYSCALER"] = str(shutil.copy2(paths.controller(), work_dir / "rayscaler"))
    with ApiServer(work_dir / "apiserver") as api:
        api.install_bench()
        say(api.describe())
        with StandIns(api, work_dir / "nodes"):
            found = []
            for mode in (mode for mode in MODES if mode.name in options.modes):
                wanted = round(options.kills * mode.share)
                found.append(torture(api, mode, wanted, options.seed, work_dir / mode.name))
            if "elected" in options.modes:
                strangers(api, work_dir / "stranger")
    figures(found)
    return 1 if any(one["bad"] for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
