"""The chart's Grafana dashboard: its panels and their queries as Grafana would send them."""

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Tuple

from . import paths

FILE = paths.ROOT / "charts" / "rayscaler" / "dashboards" / "rayscaler.json"
ALERTS = paths.ROOT / "charts" / "rayscaler" / "files" / "alerts.yaml"
METRIC = re.compile(r"\b(?:rayscaler|autoscaler|process)_[a-z_]+")


@dataclass(frozen=True)
class Panel:
    """``raw`` is the panel's JSON; ``targets`` are (expression, legend)."""

    raw: Mapping[str, Any]

    @property
    def title(self) -> str:
        return self.raw["title"]

    @property
    def kind(self) -> str:
        return self.raw["type"]

    @property
    def defaults(self) -> Mapping[str, Any]:
        return self.raw["fieldConfig"]["defaults"]

    @property
    def targets(self) -> List[Tuple[str, str]]:
        return [(target["expr"], target["legendFormat"]) for target in self.raw["targets"]]


def load() -> Dict[str, Any]:
    return json.loads(FILE.read_text())


def panels() -> List[Panel]:
    """Every panel that has queries, in the order of the board."""
    return [Panel(panel) for panel in load()["panels"] if panel["type"] != "row"]


def fill_in(text: str, rate_interval: str, **variables: str) -> str:
    """As Grafana does: variables that are not given mean All."""
    text = text.replace("$__rate_interval", rate_interval)
    text = re.sub(r"\$(namespace|raycluster|group)\b", lambda name: variables.get(name.group(1), ".*"), text)
    assert "$" not in text, f"a variable without a value: {text}"
    return text


def legend(template: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{(\w+)}}", lambda name: labels.get(name.group(1), ""), template)


def metric_names(expression: str) -> List[str]:
    """The metrics of ours, and of a process, that an expression reads; histograms by their base name."""
    unquoted = re.sub(r'"[^"]*"', "", expression)
    return [re.sub(r"_(bucket|sum|count)$", "", name) for name in METRIC.findall(unquoted)]
