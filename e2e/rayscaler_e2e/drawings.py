"""The drawings of the documents, as SVG: who talks to whom, the steps of one decision, and one workload with
Ray's autoscaler and with rayscaler (measured by e2e/measure_timeline.py).

    python -m rayscaler_e2e.drawings          writes docs/pictures/*.svg

Only the standard library. A test compares the files with this source, and the steps of the decision with
src/core/decide.c. A drawing is a list of boxes, arrows and notes on a fixed canvas; coordinates are pixels.
"""

import json
from html import escape
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
FONT = "font-family='Helvetica, Arial, sans-serif'"
INK, MUTED, OURS, OTHERS, GROUND = "#1f2933", "#52606d", "#d5e8f7", "#f3f4f6", "#ffffff"
LINE_HEIGHT = 17

Point = Tuple[int, int]


class Drawing:
    """Shapes on a canvas of ``width`` x ``height`` pixels."""

    def __init__(self, title: str, width: int, height: int) -> None:
        self.width, self.height, self.title = width, height, title
        self.shapes: List[str] = []

    def text(self, x: int, y: int, words: str, size: int = 13, color: str = INK, more: str = "") -> None:
        self.shapes.append(f"<text x='{x}' y='{y}' font-size='{size}' fill='{color}' {more}>{escape(words)}</text>")

    def box(self, at: Point, size: Point, title: str, lines: Sequence[str] = (), fill: str = OTHERS) -> None:
        """A rectangle with a bold title and lines of text below it."""
        (x, y), (width, height) = at, size
        self.shapes.append(
            f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='6' fill='{fill}' stroke='{INK}'/>"
        )
        self.text(x + 12, y + 23, title, 14, more="font-weight='bold'")
        for number, line in enumerate(lines, 1):
            self.text(x + 12, y + 25 + number * LINE_HEIGHT, line, 12, MUTED)

    def arrow(self, points: Sequence[Point], both: bool = False) -> None:
        """A line through ``points`` with a head at its end, and with ``both`` at its start too."""
        path = " ".join(f"{x},{y}" for x, y in points)
        start = " marker-start='url(#head)'" if both else ""
        self.shapes.append(f"<polyline points='{path}' fill='none' stroke='{INK}'{start} marker-end='url(#head)'/>")

    def note(self, at: Point, lines: Sequence[str], number: str = "") -> None:
        """Text beside an arrow, with the number of its step in a circle."""
        x, y = at
        if number:
            self.shapes.append(f"<circle cx='{x}' cy='{y - 4}' r='10' fill='{INK}'/>")
            self.text(x, y, number, 12, GROUND, "text-anchor='middle' font-weight='bold'")
        for index, line in enumerate(lines):
            self.text(x + 17, y + index * LINE_HEIGHT, line, 12)

    def steps(self, points: Sequence[Tuple[float, float]], stroke: str, more: str) -> None:
        """A line that keeps its height until the next point."""
        path = [points[0]]
        for (x, y), (_, before) in zip(points[1:], points):
            path += [(x, before), (x, y)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
        self.shapes.append(f"<polyline points='{drawn}' stroke='{stroke}' {more}/>")

    def axes(self, top: int, ground: int) -> None:
        """Their names: GPUs from the ground to ``top``, and time."""
        middle = (top + ground) // 2
        self.text(18, middle, "GPUs", 12, MUTED, f"text-anchor='middle' transform='rotate(-90 18 {middle})'")
        self.text(LEFT - 14, ground + 18, "time", 12, MUTED, "text-anchor='end'")

    def svg(self) -> str:
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f"width='{self.width}' height='{self.height}' role='img' {FONT}>\n<title>{escape(self.title)}</title>\n"
            "<defs><marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='8' markerHeight='8' "
            f"orient='auto-start-reverse'><path d='M0,0 L10,5 L0,10 z' fill='{INK}'/></marker></defs>\n"
            f"<rect width='{self.width}' height='{self.height}' fill='{GROUND}'/>\n"
        )
        return head + "\n".join(self.shapes) + "\n</svg>\n"


def who_talks_to_whom() -> Drawing:
    """The README's picture: one pending actor becomes a worker, in five steps."""
    d = Drawing("rayscaler between Ray, the Kubernetes API server and the KubeRay operator", 1000, 470)
    d.box((20, 20), (250, 66), "Your Ray program", ["Actor.options(num_gpus=1).remote()"])
    d.box((410, 20), (570, 66), "You", ["kubectl get rca · kubectl rayscaler status, explain · Prometheus and Grafana"])
    d.box((20, 160), (250, 134), "Head Pod", ["Ray's GCS: demand, idleness, drains", "container autoscaler: parked, it sleeps"])
    d.box(
        (410, 160),
        (220, 134),
        "rayscaler",
        ["one controller for all RayClusters,", "no state of its own: each decision", "comes from what this pass has read"],
        OURS,
    )
    d.box((760, 160), (220, 134), "Kubernetes API server", ["RayClusters, Pods, Nodes,", "Events, RayClusterAutoscalers"])
    d.box((20, 384), (250, 66), "Worker Pods", ["one raylet each, with or without GPUs"])
    d.box((760, 384), (220, 66), "KubeRay operator", ["creates and deletes the Pods"])
    d.arrow([(145, 86), (145, 160)])
    d.note((163, 128), ["tasks and actors wait"], "1")
    d.arrow([(410, 225), (270, 225)], both=True)
    d.note((286, 214), ["gRPC: demand,"], "2")
    d.note((286, 245), ["idle workers,", "drain requests"])
    d.arrow([(630, 225), (760, 225)], both=True)
    d.note((644, 214), ["watch;"], "3")
    d.note((632, 245), ["patch replicas,", "workersToDelete"])
    d.arrow([(870, 384), (870, 294)], both=True)
    d.note((742, 344), ["reads replicas"], "4")
    d.arrow([(760, 417), (270, 417)])
    d.note((420, 406), ["Pods are created or deleted"])
    d.arrow([(145, 384), (145, 294)])
    d.note((163, 344), ["raylets register, the actors run"], "5")
    d.arrow([(520, 86), (520, 160)], both=True)
    d.note((520, 128), ["Prometheus: metrics"])
    # The plugin reaches rayscaler by the API server's proxy.
    d.arrow([(870, 86), (870, 160)], both=True)
    d.note((722, 128), ["kubectl: reasons"])
    return d


# The values of src/core/decide.c and the plan, in their order: title, the question that the value answers, and
# the steps that fill it.
DECISION: Sequence[Tuple[str, str, Sequence[str]]] = (
    ("facts", "Is the cluster ours, is Ray's reply whole and fresh, which Pod is which worker?", ("gate_check", "facts_make")),
    (
        "health",
        "Why does capacity not come? Backoff, ownership conflict, start grace, dead raylets",
        ("raylet_update", "progress_assess", "conflict_update", "backoff_update"),
    ),
    (
        "offer",
        "Which workers may be terminated, which launches cancelled, what is capacity?",
        ("terminate_classify", "launch_recall", "template_seen_update", "packing_state"),
    ),
    ("packing", "Which demand fits on which worker, which new workers does the rest need?", ("packing_run", "gang_hold", "disruption_replace", "packing_note_workers")),
    (
        "choice",
        "Which workers are drained or deleted, how many replicas does each group get?",
        ("terminate_choose", "relay_choose", "launch_cancel", "target_launches", "limits_throttle", "target_finish", "launch_remember", "conflict_remember"),
    ),
    (
        "plan",
        "Patch, drains, conditions, and a reason for each worker and each bundle",
        ("served_report", "explain_groups", "terminate_write", "explain_worker_write", "patch_make", "placement_write", "verdict_write", "verdict_end"),
    ),
)


def decision() -> Drawing:
    """One decision: a snapshot in, a plan out, and the functions of each step."""
    top, step, gap = 96, 60, 16
    height = top + len(DECISION) * (step + gap) + 84
    d = Drawing("One decision: decide(snapshot) returns a plan, without I/O and clock", 980, height)
    d.box((20, 16), (940, 56), "snapshot", ["RayCluster, Pods, Ray's reply, Nodes, Events, settings, the memory of the last plan, the time"])
    for number, (title, question, functions) in enumerate(DECISION):
        y = top + number * (step + gap)
        d.arrow([(490, y - gap if number else 72), (490, y)])
        d.box((20, y), (940, step), title, [], OURS)
        d.text(132, y + 23, question, 13)
        d.text(104, y + 43, ", ".join(functions), 10, MUTED, "font-family='monospace'")
    y = top + len(DECISION) * (step + gap)
    d.arrow([(490, y - gap), (490, y)])
    d.box((20, y), (940, 56), "plan", ["one guarded JSON Patch, drains, reasons, conditions, the memory for the next snapshot"])
    return d


PANEL_HEIGHT, GPU_PIXELS, LEFT, RIGHT = 190, 32, 60, 980


def _panel(d: Drawing, run: Dict[str, Any], title: str, top: int, seconds: float) -> None:
    """GPUs over time of one run: demand as an area, replicas dashed, registered workers as a line."""
    ground = top + PANEL_HEIGHT - 36

    def points(key: str) -> List[Tuple[float, float]]:
        return [(LEFT + row["at"] / seconds * (RIGHT - LEFT), ground - row[key] * GPU_PIXELS) for row in run["rows"]]

    d.text(LEFT, top + 16, title, 14, more="font-weight='bold'")
    d.axes(ground - 3 * GPU_PIXELS, ground)
    for gpus in range(4):
        y = ground - gpus * GPU_PIXELS
        d.shapes.append(f"<line x1='{LEFT}' y1='{y}' x2='{RIGHT}' y2='{y}' stroke='{OTHERS}'/>")
        d.text(LEFT - 10, y + 4, str(gpus), 11, MUTED, "text-anchor='end'")
    for second in range(0, int(seconds) + 1, 10):
        x = LEFT + second / seconds * (RIGHT - LEFT)
        d.text(round(x), ground + 18, f"{second} s", 11, MUTED, "text-anchor='middle'")
    demand = [*points("demand"), (points("demand")[-1][0], ground)]
    d.steps(demand, "none", f"fill='{OURS}'")
    d.steps(points("replicas"), MUTED, "fill='none' stroke-width='2' stroke-dasharray='5 4'")
    d.steps(points("gpus"), INK, "fill='none' stroke-width='2.5'")
    for mark in run["reasons"]:
        x = round(LEFT + mark["at"] / seconds * (RIGHT - LEFT))
        d.shapes.append(f"<line x1='{x}' y1='{ground - 104}' x2='{x}' y2='{ground}' stroke='{MUTED}' stroke-width='0.7'/>")
        anchor = "end" if x > RIGHT - 60 else "middle"
        d.text(x, ground - 110, mark["reason"], 12, INK, f"text-anchor='{anchor}'")


def timeline() -> Drawing:
    """docs/pictures/timeline.json, as e2e/measure_timeline.py left it."""
    measured = json.loads((PICTURES / "timeline.json").read_text())
    seconds = max(run["rows"][-1]["at"] for run in measured["runs"])
    d = Drawing("One workload with Ray's autoscaler and with rayscaler: GPUs over time", 1000, 2 * PANEL_HEIGHT + 50)
    for number, run in enumerate(measured["runs"]):
        title = "rayscaler, with the reason of each change" if run["reasons"] else "Ray's autoscaler"
        _panel(d, run, title, 10 + number * PANEL_HEIGHT, seconds)
    y = 2 * PANEL_HEIGHT + 26
    d.shapes.append(f"<rect x='{LEFT}' y='{y - 12}' width='26' height='14' fill='{OURS}'/>")
    d.text(LEFT + 34, y, "GPUs in demand: pending or in use", 12)
    for x, words, color, dashes in ((330, "replicas of the group", MUTED, "5 4"), (540, "GPUs of registered workers", INK, "none")):
        d.steps([(x, y - 5), (x + 26, y - 5)], color, f"fill='none' stroke-width='2' stroke-dasharray='{dashes}'")
        d.text(x + 34, y, words, 12)
    d.text(RIGHT, y, f"Ray {measured['ray']}, idle timeout {measured['idleSeconds']} s", 12, MUTED, "text-anchor='end'")
    return d


TEAMS_HEIGHT, TEAM_PIXELS = 300, 26
TEAM_COLORS = ("#d5e8f7", "#7fb3d9", "#2f6f9f")


def sharing() -> Drawing:
    """docs/pictures/sharing.json, as e2e/measure_sharing.py left it: the teams' GPUs on top of each other."""
    measured = json.loads((PICTURES / "sharing.json").read_text())
    rows, gpus, teams = measured["rows"], measured["gpus"], list(measured["guaranteed"])
    seconds = rows[-1]["at"]
    d = Drawing("GPUs of one GPUPool held by three teams over time", 1000, TEAMS_HEIGHT + 110)
    ground = TEAMS_HEIGHT + 44
    x_of = lambda at: LEFT + at / seconds * (RIGHT - LEFT)  # noqa: E731
    y_of = lambda count: ground - count * TEAM_PIXELS  # noqa: E731
    for last in range(len(teams), 0, -1):
        points = [(x_of(row["at"]), y_of(sum(row[team] for team in teams[:last]))) for row in rows]
        d.steps([(LEFT, ground), *points, (points[-1][0], ground)], "none", f"fill='{TEAM_COLORS[last - 1]}'")
    for count in range(0, gpus + 1, 2):
        d.text(LEFT - 10, round(y_of(count)) + 4, str(count), 11, MUTED, "text-anchor='end'")
    d.steps([(LEFT, y_of(gpus)), (RIGHT, y_of(gpus))], INK, "fill='none' stroke-width='1.5'")
    d.text(LEFT + 4, round(y_of(gpus)) - 5, f"the {gpus} GPUs of the pool", 12, MUTED)
    d.axes(round(y_of(gpus)), ground)
    for second in range(0, int(seconds) + 1, 10):
        d.text(round(x_of(second)), ground + 18, f"{second} s", 11, MUTED, "text-anchor='middle'")
    for number, mark in enumerate(measured["marks"]):
        x, y = round(x_of(mark["at"])), 20 + number % 6 * LINE_HEIGHT
        d.shapes.append(f"<line x1='{x}' y1='{y + 4}' x2='{x}' y2='{ground}' stroke='{MUTED}' stroke-width='0.7'/>")
        d.text(x, y, mark["text"], 12, INK, f"text-anchor='{'end' if x + 7 * len(mark['text']) > RIGHT else 'start'}'")
    for number, (team, guaranteed) in enumerate(measured["guaranteed"].items()):
        x, y = LEFT + number * 200, ground + 46
        d.shapes.append(f"<rect x='{x}' y='{y - 12}' width='26' height='14' fill='{TEAM_COLORS[number]}'/>")
        d.text(x + 34, y, f"{team}, guaranteed {guaranteed}", 12)
    note = f"Ray {measured['ray']}, idleAfterSeconds {measured['idleSeconds']}, reserveAfterSeconds {measured['reserveSeconds']}"
    d.text(RIGHT, ground + 46, note, 12, MUTED, "text-anchor='end'")
    return d


DRAWINGS = {"sharing.svg": sharing, "timeline.svg": timeline, "who-talks-to-whom.svg": who_talks_to_whom, "decision.svg": decision}


def drawn() -> Dict[str, str]:
    """The text of each file under docs/pictures."""
    return {name: make().svg() for name, make in DRAWINGS.items()}


if __name__ == "__main__":
    for file_name, text in drawn().items():
        (PICTURES / file_name).write_text(text)
