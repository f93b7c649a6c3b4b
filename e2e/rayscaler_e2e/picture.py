"""Plots panels of the dashboard as Grafana would show them, from a real Prometheus."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure, SubFigure  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: E402
from PIL import Image  # noqa: E402

from . import dashboard  # noqa: E402
from .dashboard import Panel  # noqa: E402
from .prometheus import SCRAPE_SECONDS, Prometheus, Series  # noqa: E402

# Grafana's dark theme, its names for colours, and its palette-classic.
BACKGROUND, PANEL, TEXT, DIM, GRID = "#111217", "#181b1f", "#d8d9da", "#9a9ba0", "#2c3036"
COLOURS = {
    "green": "#73bf69", "dark-green": "#37872d", "blue": "#5794f2", "light-blue": "#8ab8ff", "dark-blue": "#1f60c4",
    "orange": "#ff9830", "red": "#f2495c", "yellow": "#fade2a", "text": TEXT,
}  # fmt: skip
PALETTE = ["#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#5794f2", "#b877d9", "#705da0", "#37872d", "#fade2a"]
DOTS_PER_INCH = 100
SHARPNESS = 1.2
BAR_SECONDS = 4.0
PALETTE_SIZE = 160

# Rows from top to bottom: their height, and the titles of their panels.
Layout = Sequence[Tuple[float, Sequence[str]]]


@dataclass(frozen=True)
class Window:
    """The plotted range: seconds since 1970, and how far two points are apart."""

    start: float
    end: float
    step: float = 1.0


def draw(prometheus: Prometheus, window: Window, layout: Layout, groups: Sequence[str], path: Path) -> None:
    """A PNG. A panel that Grafana repeats for each worker group is drawn for each of ``groups``."""
    known = {panel.title: panel for panel in dashboard.panels()}
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 8.5, "text.color": TEXT, "axes.edgecolor": GRID})
    figure = plt.figure(figsize=(13.6, sum(height for height, _ in layout)), facecolor=BACKGROUND)
    rows = figure.subfigures(len(layout), 1, height_ratios=[height for height, _ in layout])
    for row, (_, titles) in zip(rows, layout):
        row.set_facecolor(BACKGROUND)
        places = [place for title in titles for place in _repeat(known[title], groups)]
        for part, (panel, variables) in zip(row.subfigures(1, len(places), wspace=0.012, squeeze=False)[0], places):
            _draw_panel(part, panel, prometheus, window, variables)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=DOTS_PER_INCH * SHARPNESS, facecolor=BACKGROUND)
    plt.close(figure)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(PALETTE_SIZE, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def _repeat(panel: Panel, groups: Sequence[str]) -> List[Tuple[Panel, Dict[str, str]]]:
    if "repeat" not in panel.raw:
        return [(panel, {})]
    return [(panel, {"group": group}) for group in groups]


def _draw_panel(part: SubFigure, panel: Panel, prometheus: Prometheus, window: Window, variables: Mapping[str, str]):
    part.set_facecolor(BACKGROUND)
    height = part.bbox.height / DOTS_PER_INCH
    part.add_artist(plt.Rectangle((0.006, 0.03 / height), 0.988, 1 - 0.06 / height, color=PANEL, zorder=-1))
    title = panel.title
    for name, value in variables.items():
        title = title.replace(f"${name}", value)
    size = {"stat": 9.5}.get(panel.kind, 10)
    part.text(0.03, 1 - 0.2 / height, title, va="center", fontsize=size, color=TEXT)
    series = _ask(panel, prometheus, window, variables)
    if panel.kind == "stat":
        _draw_stat(part, panel, series)
    elif panel.kind == "state-timeline":
        _draw_states(_axes(part, height, window, 0.3 if series else 0.06), panel, series, window)
    else:
        _draw_lines(_axes(part, height, window), panel, series, window)


def _ask(panel: Panel, prometheus: Prometheus, window: Window, variables: Mapping[str, str]) -> List[Tuple[str, Series]]:
    bars = panel.defaults.get("custom", {}).get("drawStyle") == "bars"
    step = BAR_SECONDS if bars else window.step
    rate_interval = f"{math.ceil(max(4 * SCRAPE_SECONDS, step + SCRAPE_SECONDS))}s"  # as Grafana does
    found = []
    for expression, legend in panel.targets:
        text = dashboard.fill_in(expression, rate_interval, **variables)
        for series in prometheus.query_range(text, window.start, window.end, step):
            points = [(at - window.start, value) for at, value in series.points if not math.isnan(value)]
            if points:
                name = dashboard.legend(legend, series.labels).replace("{", "").replace("}", "")
                found.append((name, Series(series.labels, points)))
    return found


def _axes(part: SubFigure, height: float, window: Window, left: float = 0.075) -> Axes:
    """Below it, room for the times and the legend."""
    bottom, top = 0.62 / height, 0.4 / height
    axes = part.add_axes((left, bottom, 0.965 - left, 1 - bottom - top), facecolor=PANEL)
    axes.set_xlim(0, window.end - window.start)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{int(x) // 60}:{int(x) % 60:02}"))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 1.5, 2, 3, 5, 10]))
    axes.tick_params(colors=DIM, length=0, labelsize=7.5)
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _overrides(panel: Panel, name: str) -> Dict[str, Any]:
    """The properties of the field overrides that match this series."""
    found: Dict[str, Any] = {}
    for override in panel.raw["fieldConfig"]["overrides"]:
        matcher = override["matcher"]
        if matcher["id"] == "byName":
            fits = matcher["options"] == name
        else:
            fits = re.search(matcher["options"].strip("/"), name)
        if fits:
            found.update({one["id"]: one["value"] for one in override["properties"]})
    return found


def _colour(panel: Panel, name: str, index: int) -> str:
    chosen = _overrides(panel, name).get("color")
    return COLOURS[chosen["fixedColor"]] if chosen else PALETTE[index % len(PALETTE)]


def _draw_lines(axes: Axes, panel: Panel, series: List[Tuple[str, Series]], window: Window) -> None:
    custom = panel.defaults["custom"]
    stacked, bars = custom["stacking"]["mode"] == "normal", custom["drawStyle"] == "bars"
    floor: Dict[float, float] = {}
    highest = 0.0
    for index, (name, one) in enumerate(series):
        colour = _colour(panel, name, index)
        times = [at for at, _ in one.points]
        low = [floor.get(at, 0.0) if stacked else 0.0 for at in times]
        high = [value + base for (_, value), base in zip(one.points, low)]
        floor.update(zip(times, high))
        highest = max([highest, *high])
        if bars:
            heights = [top - base for top, base in zip(high, low)]
            axes.bar(times, heights, width=-BAR_SECONDS * 0.8, align="edge", bottom=low, color=colour, label=name)
            continue
        # A gap is shown as a gap.
        parts = _split(list(zip(times, low, high)), window.step)
        _draw_line(axes, parts, name, colour, custom, _overrides(panel, name))
    axes.set_ylim(0, highest * 1.15 or 1)
    _y_axis(axes, panel, highest)
    _legend(axes, [Patch(color=_colour(panel, name, index), label=name) for index, (name, _) in enumerate(series)])


def _draw_line(axes: Axes, parts: List[list], name: str, colour: str, custom: Mapping, overrides: Mapping) -> None:
    step = "post" if custom["lineInterpolation"] == "stepAfter" else None
    style = "--" if overrides.get("custom.lineStyle") else "-"
    fill = overrides.get("custom.fillOpacity", custom["fillOpacity"]) / 100
    for points in parts:
        times, low, high = (list(column) for column in zip(*points))
        axes.plot(times, high, style, color=colour, linewidth=1.5, drawstyle="steps-post" if step else "default")
        axes.fill_between(times, low, high, color=colour, alpha=fill, linewidth=0, step=step)


def _split(points: List[Tuple[float, float, float]], step: float) -> List[list]:
    parts: List[list] = []
    for point in points:
        if not parts or point[0] - parts[-1][-1][0] > step * 1.5:
            parts.append([])
        parts[-1].append(point)
    return parts


def _y_axis(axes: Axes, panel: Panel, highest: float) -> None:
    unit = panel.defaults["unit"]
    whole = panel.defaults.get("decimals") == 0 or unit == "short" and highest > 4
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=whole))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _format(y, unit)))


def _legend(axes: Axes, handles: Sequence[Patch]) -> None:
    if not handles:
        axes.text(0.5, 0.5, "No data", transform=axes.transAxes, ha="center", color=DIM)
        return
    height = axes.get_window_extent().height / DOTS_PER_INCH
    axes.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(-0.02, -0.24 / height), ncols=6, frameon=False, fontsize=7.5,
        labelcolor=TEXT, handlelength=1, handleheight=0.3, columnspacing=1.2, handletextpad=0.4, borderpad=0,
    )  # fmt: skip


def _draw_states(axes: Axes, panel: Panel, series: List[Tuple[str, Series]], window: Window) -> None:
    options = {float(value): found for value, found in panel.defaults["mappings"][0]["options"].items()}
    steps = [one["color"] for one in panel.defaults["thresholds"]["steps"]]
    words = {value: found["text"] for value, found in options.items()}
    colours = {value: COLOURS[found.get("color", steps[bool(value) and len(steps) > 1])] for value, found in options.items()}
    for index, (_, one) in enumerate(reversed(series)):
        for begin, end, value in _spans(one.points, window):
            axes.barh(index, end - begin, left=begin, height=0.72, color=colours[value])
            if end - begin > (window.end - window.start) / 14:
                axes.text(begin + (window.end - window.start) * 0.012, index, words[value], va="center", fontsize=7.5, color="#111217")
    axes.set_yticks(range(len(series)), [name for name, _ in reversed(series)])
    axes.set_ylim(-0.6, max(len(series), 1) - 0.4)
    axes.grid(False)
    _legend(axes, [Patch(color=colours[value], label=words[value]) for value in sorted(words, reverse=True)] if series else [])


def _spans(points: Sequence[Tuple[float, float]], window: Window) -> List[Tuple[float, float, float]]:
    """(begin, end, value) of times in which the value stays."""
    spans: List[Tuple[float, float, float]] = []
    for at, value in points:
        if spans and spans[-1][2] == value and at - spans[-1][1] <= window.step * 1.5:
            spans[-1] = (spans[-1][0], at, value)
        else:
            if spans and at - spans[-1][1] <= window.step * 1.5:
                spans[-1] = (spans[-1][0], at, spans[-1][2])
            spans.append((at, at, value))
    return spans


def _draw_stat(part: SubFigure, panel: Panel, series: List[Tuple[str, Series]]) -> None:
    value: Optional[float] = series[0][1].points[-1][1] if series else None
    colour = DIM
    if value is not None:
        for one in panel.defaults["thresholds"]["steps"]:
            if one["value"] is None or value >= one["value"]:
                colour = COLOURS[one["color"]]
        if panel.raw["options"]["graphMode"] == "area":
            axes = part.add_axes((0.006, 0.05, 0.988, 0.3))
            axes.axis("off")
            times, values = zip(*series[0][1].points)
            axes.fill_between(times, values, color=colour, alpha=0.25, linewidth=0, step="post")
            axes.plot(times, values, color=colour, linewidth=1, drawstyle="steps-post")
            axes.margins(x=0)
    shown = "No data" if value is None else _format(value, panel.defaults["unit"])
    part.text(0.5, 0.5, shown, ha="center", va="center", fontsize=21, fontweight="bold", color=colour)


def _format(value: float, unit: str) -> str:
    if unit == "s" and 0 < value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g}" + {"s": " s"}.get(unit, "")
