"""The table of the chart's values, from values.yaml: `make manifests` puts it into the chart's README.

    python -m rayscaler_e2e.chart_docs          writes charts/rayscaler/README.md
"""

import json
import re
from typing import Any, Dict, Iterator, List, Tuple

import yaml

from .chart import CHART

Path = Tuple[str, ...]
README = CHART / "README.md"
BEGIN, END = "<!-- values -->\n", "<!-- end of values -->\n"
# Their members are Kubernetes' or flags of the program.
WHOLE = ("config", "resources", "strategy")


def schema() -> Dict[str, Any]:
    return json.loads((CHART / "values.schema.json").read_text())


def schema_paths(node: Dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Every value that the chart defines."""
    for name, one in node["properties"].items():
        if "properties" in one and name not in WHOLE:
            yield from schema_paths(one, (*path, name))
        else:
            yield (*path, name)


def comments() -> Dict[Path, str]:
    """Of each key of values.yaml the comment right above it."""
    found: Dict[Path, str] = {}
    stack: List[str] = []
    above: List[str] = []
    for line in (CHART / "values.yaml").read_text().splitlines():
        key = re.match(r"^( *)([a-zA-Z]+):", line)
        if key:
            stack = [*stack[: len(key.group(1)) // 2], key.group(2)]
            found[tuple(stack)] = " ".join(above)
        above = [*above, line.strip("# ")] if line.lstrip().startswith("#") else []
    return found


def values_table() -> str:
    values, says = yaml.safe_load((CHART / "values.yaml").read_text()), comments()
    rows = ["| value | default | meaning |", "| --- | --- | --- |"]
    for path in schema_paths(schema()):
        if path != ("global",):
            default = values
            for name in path:
                default = default[name]
            rows.append(f"| `{'.'.join(path)}` | {_default(default)} | {says[path].replace('|', chr(92) + '|')} |")
    return "\n".join(rows) + "\n"


def _default(value: Any) -> str:
    if value in ("", {}, [], None):
        return ""
    if isinstance(value, (dict, list)):
        return "see values.yaml"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def with_table(text: str) -> str:
    """``text`` of the README with the present table."""
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + values_table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
