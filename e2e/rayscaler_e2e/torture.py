"""One scale-up and scale-down, again and again, each time with one fault at one request.

The scenario: no worker; an actor and a task of one GPU each start two; the actor ends, its worker is terminated
while the other one works; the task ends, and so does the last worker. Between program and API server,
and between program and GCS, is a proxy each. ``Slot`` is one RayCluster on which runs follow one
another: a head and a Ray program for all, raylets, controller and counts new in each.
"""

import random
import shutil
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import api_proxy, gcs_proxy
from . import ray_manifests as rm
from .api_proxy import ApiProxy
from .apiserver import ApiServer
from .faults import Board, Fault, ProxyLoop
from .gcs_proxy import GcsProxy
from .ports import free_port
from .program import Controller
from .ray_program import RayError
from .scenario import Scenario
from .wait import wait_until

PHASES = ("start", "up", "busy", "down", "end")
BUSY_SECONDS = 2.5
START_SECONDS = 4.0
RUN_SECONDS = 120.0
WORKERS = 2
GROUP = "gpu-group"
# The content of these does not depend on the progress of the scenario: one class for all phases.
STEADY = (
    *("ReportAutoscalingState", "PATCH rayclusterautoscalers/status", "POST events", "PATCH events"),
    *("EVENT rayclusterautoscalers", "EVENT events", "GetClusterId"),
)
# Of whom a fault could cost a worker: these are tried first.
TELLING = ("PATCH rayclusters", "DrainNode", "GetClusterResourceState", "EVENT pods", "EVENT rayclusters", "GET pods")


class Cell(NamedTuple):
    """One fault at the ``number``-th request ``name`` of ``phase`` ("" is any)."""

    name: str
    phase: str
    kind: str
    number: int

    @property
    def row(self) -> str:
        return f"{self.name} @{self.phase}" if self.phase else self.name


@dataclass
class Result:
    """``end``: same, different, harmed (a busy worker), blind (the witness saw no reply when a worker
    went), missed (the fault met no request)."""

    cell: Optional[Cell]
    end: str = "different"
    why: str = ""
    seconds: float = 0.0
    phases: Dict[str, float] = field(default_factory=dict)
    recovered: Optional[float] = None
    """Seconds from the fault to a good answer to a request of this name; None: none was asked again."""
    most: int = 0
    """The most replicas that were asked for."""
    counts: Dict[str, int] = field(default_factory=dict)
    """Requests by row."""

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)


def row(name: str, phase: str) -> str:
    return name if name in STEADY else f"{name} @{phase}"


def faults_of(name: str) -> Sequence[str]:
    return api_proxy.faults_of(name) if " " in name else gcs_proxy.faults_of(name)


def cells_of(counts: Sequence[Dict[str, int]], seed: int) -> List[Cell]:
    """All cells of the requests counted in every one of some clean runs, the most useful first. Which one
    of equivalent requests is hit is drawn from the first three."""
    draw = random.Random(seed)
    cells = []
    for one in sorted(set.intersection(*(set(count) for count in counts))):
        name, _, phase = one.partition(" @")
        least = min(count[one] for count in counts)
        cells += [Cell(name, phase, kind, draw.randint(1, min(least, 3))) for kind in faults_of(name)]
    draw.shuffle(cells)
    return sorted(cells, key=lambda cell: not cell.name.startswith(TELLING))


class Slot:
    """A RayCluster in a namespace of its own, with its proxies and one Ray program."""

    def __init__(self, server: ApiServer, number: int, work_dir: Path):
        self._server = server
        self._number = number
        self._made = 0
        self._work_dir = work_dir / f"slot-{number}"
        self._loop = ProxyLoop()
        self.board = Board()
        cert = server.pki.server(f"torture-{number}")
        self._api = ApiProxy(self._loop, self.board, server.url, server.ca_file, cert, free_port())
        self._begin()

    def _begin(self) -> None:
        self._made += 1
        self._runs = 0
        self.namespace = self._server.create_namespace(f"torture-{self._number}-{self._made}")
        params = {"include-log-monitor": "false"}
        manifest = rm.cluster("torture", [rm.gpu_group(GROUP, params=params)], idle_seconds=1)
        head = manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
        # Dead raylets are remembered, and every reply has each of them.
        head["env"].append({"name": "RAY_maximum_gcs_dead_node_cached_count", "value": "20"})
        relay_port = free_port()
        gcs_port, head["ports"][0]["containerPort"] = head["ports"][0]["containerPort"], relay_port
        self._scenario = Scenario(self._server, self.namespace, manifest, self._work_dir / str(self._made))
        self._scenario.wait_head()
        self._gcs = GcsProxy(self._loop, self.board, (self._scenario.head_ip(), gcs_port), relay_port)
        self._program = self._scenario.program()

    def _end(self) -> None:
        self._gcs.stop()
        # The checks are done; from here on this takes the cluster apart itself.
        self._scenario.recorder.forget()
        self._scenario.recorder.excuse_all()
        self._scenario.close()
        self._server.empty_namespace(self.namespace)

    def renew(self) -> None:
        """After a run that did not end well: nothing of it is left for the next one."""
        self._end()
        self._begin()

    def close(self) -> None:
        self._end()
        self._api.stop()
        self._loop.stop()

    def run(self, cell: Optional[Cell] = None) -> Result:
        """One run; without ``cell`` nothing fails. Its files are kept only if it failed."""
        result = Result(cell)
        fault = Fault(cell.kind, cell.name, cell.phase, cell.number) if cell else None
        self._clean()
        self.board.begin(fault)
        self._runs += 1
        directory = self._scenario.work_dir / f"run-{self._runs}"
        began = time.monotonic()
        self._phase(result, "start")
        controller = Controller(self._server, self.namespace, directory, url=self._api.url)
        try:
            self._play(result, began)
            result.end = "same"
        except (AssertionError, RayError) as error:
            result.end, result.why = "different", str(error)[:500]
        finally:
            code = controller.stop()
        result.seconds = time.monotonic() - began
        self._judge(result, fault, code)
        if result.end == "same":
            shutil.rmtree(directory)
        else:
            result.why += f" (log: {controller.log})"
        return result

    def _clean(self) -> None:
        one = self._scenario
        self._server.admin.of("rayclusterautoscalers", self.namespace).delete(one.name, missing_ok=True)
        events = self._server.admin.of("events", self.namespace)
        self._server.admin.call("DELETE", events.path())
        one.edit_group(GROUP, replicas=0, scaleStrategy={"workersToDelete": []})
        one.recorder.forget()
        one.witness.forget()
        self._api.forget()
        self._gcs.forget()

    # -- the scenario ---------------------------------------------------------------------------

    def _play(self, result: Result, began: float) -> None:
        one, program, run = self._scenario, self._program, self._runs
        deadline = began + RUN_SECONDS

        def left() -> float:
            return max(deadline - time.monotonic(), 0.1)

        self._wait_polls(2)
        self._phase(result, "up")
        program.actors(1, f"actor-{run}", num_gpus=1)
        program.tasks(1, f"task-{run}", num_gpus=1)
        (idle_later,) = program.ready(f"actor-{run}", left())
        (busy,) = program.ready(f"task-{run}", left())
        self._phase(result, "busy")
        end = time.monotonic() + BUSY_SECONDS
        wait_until(lambda: time.monotonic() > end, BUSY_SECONDS + 5, "a while with two busy workers")
        self._phase(result, "down")
        program.call("release", name=f"actor-{run}")
        gone = lambda: one.replicas() == 1 and one.workers() == [busy]
        wait_until(gone, left(), f"{idle_later} to go and {busy} to stay", 0.2)
        self._phase(result, "end")
        assert program.call("release", name=f"task-{run}") == [busy], "the task ended elsewhere"
        one.wait_empty(left())
        wait_until(self._no_drain, left(), "no drain to be pending", 0.2)
        self._phase(result, "")

    def _phase(self, result: Result, name: str) -> None:
        now = time.monotonic()
        if self.board.phase:
            result.phases[self.board.phase] = now - self._phase_began
        self._phase_began = now
        self.board.phase = name

    def _wait_polls(self, count: int) -> None:
        """Until the GCS was read; a fault may be in the way of it."""
        end = time.monotonic() + START_SECONDS

        def enough() -> bool:
            polls = [one for one in self.board.seen if one.name == "GetClusterResourceState"]
            return len(polls) >= count or time.monotonic() > end

        wait_until(enough, START_SECONDS + 5, "the GCS to be read")

    def _no_drain(self) -> bool:
        return all(node["status"] != "DRAINING" for node in self._scenario.witness.fresh()["nodes"])

    # -- the verdict ----------------------------------------------------------------------------

    def _judge(self, result: Result, fault: Optional[Fault], code: int) -> None:
        result.counts = dict(Counter(row(one.name, one.phase) for one in self.board.seen if one.phase))
        recorder = self._scenario.recorder
        result.most = max([event.value or 0 for event in recorder.of("replicas", subject=GROUP)], default=0)
        if fault and fault.delivered_at and fault.recovered_at:
            result.recovered = fault.recovered_at - fault.delivered_at
        found = recorder.busy_deletions(self._scenario.witness)
        harmed = [one for one in found if ": unseen" not in one]
        if harmed:
            result.end, result.why = "harmed", "\n".join(harmed)
        elif result.end == "same" and code != 0:
            result.end, result.why = "different", f"the program ended with status {code}"
        elif result.end == "same" and found:
            result.end, result.why = "blind", "\n".join(found)
        elif result.end == "same" and fault and not fault.delivered_at:
            result.end, result.why = "missed", "the fault met no request"


# -- the report -------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> List[str]:
    """Requests by faults. A cell is the seconds to recover, "." when nothing was asked again, or a letter."""
    by_cell = {(one.cell.row, one.cell.kind): one for one in results if one.cell}
    kinds = [kind for kind in _all_kinds() if any(kind == key[1] for key in by_cell)]
    rows = sorted({key[0] for key in by_cell})
    width = max([len(one) for one in rows], default=0)
    lines = [" " * width + " ".join(f"{kind:>7.7}" for kind in kinds)]
    for one in rows:
        lines.append(f"{one:<{width}}" + " ".join(f"{_shown(by_cell.get((one, kind))):>7}" for kind in kinds))
    return lines


def _all_kinds() -> List[str]:
    kinds = [*api_proxy.WRITE_FAULTS, *api_proxy.EVENT_FAULTS, *gcs_proxy.FAULTS]
    return list(dict.fromkeys(kinds))


def _shown(result: Optional[Result]) -> str:
    if result is None:
        return ""
    if result.end != "same":
        return result.end.upper()[:7]
    return "." if result.recovered is None else f"{result.recovered:.1f}"


def summary(results: Sequence[Result], clean: Sequence[Result]) -> Dict[str, Any]:
    """The figures of docs/internals/reliability.md."""
    runs = [one for one in results if one.cell]
    ends = Counter(one.end for one in runs)
    recovered = sorted(one.recovered for one in runs if one.recovered is not None)
    return {
        "runs": len(runs),
        "faults": sum(one.end != "missed" for one in runs),
        "ends": dict(ends),
        "busy": ends["harmed"],
        "launched more than asked": sum(one.most > WORKERS for one in runs),
        "recovered": _spread(recovered),
        "not asked again": sum(one.recovered is None for one in runs),
        "clean run s": _spread([one.seconds for one in clean]),
        "run s": _spread([one.seconds for one in runs]),
    }


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    found = sorted(values)
    at = [found[min(int(len(found) * share), len(found) - 1)] for share in (0.5, 0.9, 1.0)]
    return "p50 {:.1f}, p90 {:.1f}, most {:.1f}".format(*at)


def shard(cells: Sequence[Cell], text: str) -> List[Cell]:
    """``text``: "2/5" is the second of five parts."""
    part, of = (int(word) for word in text.split("/"))
    if not 1 <= part <= of:
        raise SystemExit(f"SHARD {text}: it must be I/N with I from 1 to N")
    return list(cells)[part - 1 :: of]


Classes = List[Tuple[str, int]]


def classes(counts: Sequence[Dict[str, int]]) -> Tuple[Classes, Classes]:
    """Rows that every clean run had, with the fewest requests; and the others, with the most."""
    every = set.intersection(*(set(count) for count in counts))
    some = set().union(*counts) - every
    least = [(one, min(count[one] for count in counts)) for one in sorted(every)]
    return least, [(one, max(count.get(one, 0) for count in counts)) for one in sorted(some)]
