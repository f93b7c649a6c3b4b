"""`make sharing`: three teams share eight GPUs of one GPUPool, measured with real Ray.

A real kube-apiserver, stand-ins for KubeRay's operator and for a kubelet, a real Ray head for each team and real raylets
with logical GPUs. Tasks with one GPU each begin and end. Writes docs/pictures/sharing.json: how many worker Pods each
team had, from a watch of all Pods, and what the teams did; rayscaler_e2e/drawings.py draws it for docs/SHARING.md.
"""

import argparse
import json
import shutil
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Dict, List, Tuple

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.drawings import PICTURES
from rayscaler_e2e.pools import Held, Pool
from rayscaler_e2e.program import Controller
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.teams import Teams
from rayscaler_e2e.wait import wait_until

GPUS = 8
GUARANTEED = {"research": 3, "serving": 3, "interns": 0}
IDLE_SECONDS, TIMEOUT_SECONDS, RESERVE_SECONDS = 2, 5, 5
SECONDS = 60.0


class Story:
    def __init__(self, pool: Pool, programs: Dict[str, Any], held: Held):
        self._pool, self._programs, self._held = pool, programs, held
        self._tasks: Dict[str, List[str]] = {team: [] for team in programs}
        self._started = 0
        self.begun = time.time()
        self.marks: List[Dict[str, Any]] = []

    def mark(self, text: str) -> None:
        self.marks.append({"at": round(time.time() - self.begun, 1), "text": text})
        print(f"{self.marks[-1]['at']:6.1f} s  {text}", flush=True)

    def ask(self, team: str, count: int) -> None:
        self.mark(f"{team} asks for {count}")
        for _ in range(count):
            self._started += 1
            self._tasks[team].append(f"task{self._started}")
            self._programs[team].tasks(1, name=self._tasks[team][-1], num_gpus=1)

    def end(self, team: str, count: int) -> None:
        self.mark(f"{count} of {team} end")
        for _ in range(count):
            self._programs[team].call("release", name=self._tasks[team].pop(0))

    def runs(self, team: str, count: int) -> None:
        """Until that many of its tasks run."""
        directory = self._programs[team].directory
        files = lambda: [name for name in self._tasks[team] if (directory / f"{name}-0.pod").exists()]  # noqa: E731
        wait_until(lambda: len(files()) >= count, SECONDS, f"{count} tasks of {team}")

    def waits(self, team: str) -> None:
        wait_until(lambda: self._pool.queue(team).get("waiting", "0") != "0", SECONDS, f"{team} to wait")

    def stays(self, seconds: float) -> None:
        """Long enough to be seen in the picture."""
        time.sleep(seconds)


def play(story: Story, programs: Dict[str, Any]) -> None:
    story.ask("research", 8)
    story.runs("research", 8)
    story.stays(3)
    story.ask("serving", 3)
    story.ask("interns", 2)
    story.waits("serving")
    story.stays(4)
    story.end("research", 3)
    story.runs("serving", 3)
    story.stays(3)
    story.end("research", 1)
    story.runs("interns", 1)
    story.stays(3)
    story.end("serving", 3)
    story.runs("interns", 2)
    story.stays(3)
    story.mark("serving asks for a gang of 5")
    programs["serving"].call("group", name="gang", strategy="PACK", bundles=[{"GPU": 1}] * 5)
    programs["serving"].begin("ready", name="gang")
    story.waits("serving")
    story.stays(RESERVE_SECONDS + 3)
    story.end("research", 2)
    story.ask("interns", 1)
    story.waits("interns")
    story.stays(4)
    story.end("research", 1)
    assert programs["serving"].answer(SECONDS) == []
    story.mark("the gang runs")
    story.stays(5)
    story.mark("it ends")
    programs["serving"].call("release", name="gang")
    story.ask("research", 3)
    story.runs("interns", 3)
    story.runs("research", 4)
    story.stays(4)


def rows_of(held: Held, begun: float, spaces: Dict[str, str]) -> List[Dict[str, float]]:
    """Without the rows in which nothing changed."""
    found: List[Dict[str, float]] = []
    for at, row in held.rows:
        counts = {team: row[space] for team, space in spaces.items()}
        if not found or any(found[-1][team] != count for team, count in counts.items()):
            found.append({"at": round(max(0.0, at - begun), 2), **counts})
    return [*found, {**found[-1], "at": round(time.time() - begun, 2)}]


def measure(server: Any, work_dir: Any) -> Tuple[List[Dict[str, float]], List[Dict[str, Any]]]:
    namespace = server.create_namespace("sharing")
    with ExitStack() as closing_all:
        pool = closing_all.enter_context(closing(Pool(server, namespace)))
        queues = [{"name": team, "guaranteed": gpus} for team, gpus in GUARANTEED.items()]
        pool.create(GPUS, *queues, reclaim={"idleAfterSeconds": IDLE_SECONDS}, reserveAfterSeconds=RESERVE_SECONDS)
        controller = Controller(server, namespace, work_dir / "controller", everywhere=True)
        closing_all.callback(controller.stop)
        teams = closing_all.enter_context(closing(Teams(server, pool, work_dir)))
        programs = {team: one.program() for team, one in zip(GUARANTEED, teams.add(*GUARANTEED, idle_seconds=TIMEOUT_SECONDS))}
        held = closing_all.enter_context(Held(server, list(pool.spaces.values()), pods=True))
        story = Story(pool, programs, held)
        play(story, programs)
        rows = rows_of(held, story.begun, pool.spaces)
        assert held.most == GPUS
        return rows, story.marks


def main() -> None:
    import ray

    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, help="the folder of the file")
    out = parser.parse_args().out

    rm.start_quickly()
    work_dir = paths.work_root() / "sharing"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    with ApiServer(work_dir / "apiserver") as server:
        server.install_bench()
        with StandIns(server, work_dir / "standins"):
            rows, marks = measure(server, work_dir)
    made = {"ray": ray.__version__, "gpus": GPUS, "idleSeconds": IDLE_SECONDS, "reserveSeconds": RESERVE_SECONDS}
    made.update(guaranteed=GUARANTEED, rows=rows, marks=marks)
    out.mkdir(parents=True, exist_ok=True)
    out.joinpath("sharing.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
