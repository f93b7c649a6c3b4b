"""docs/figures.json: what `make bench-reaction` and `make bench-answer` measured with BENCH=--write, and the pages that show it.

Rows of tables in README.md and docs/ whose first cell is a key of "rows" have its values, and the text of "report" is
a block of docs/internals/performance.md. `make lint-names` refuses a page that differs.

    python -m rayscaler_e2e.figures          writes the pages from the file
"""

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import paths

FILE = paths.ROOT / "docs" / "figures.json"
REPORT = paths.ROOT / "docs" / "internals" / "performance.md"


def pages() -> List[Path]:
    return [paths.ROOT / "README.md", *sorted((paths.ROOT / "docs").rglob("*.md"))]


def with_rows(text: str, rows: Dict[str, List[str]]) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        name = line.split("|")[1].strip() if line.startswith("| ") else ""
        if name in rows:
            lines[number] = f"| {name} | {' | '.join(rows[name])} |"
    return "\n".join(lines)


def with_report(text: str, first: str, report: List[str]) -> str:
    """The block of code whose first line begins with ``first``."""
    lines = text.split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(f"    {first}"))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("    "))
    lines[start:end] = [f"    {line}" for line in report]
    return "\n".join(lines)


def write_pages() -> None:
    made: Dict[str, Any] = json.loads(FILE.read_text())
    for path in pages():
        text = with_rows(path.read_text(), made["rows"])
        path.write_text(with_report(text, made["first"], made["report"]) if path == REPORT else text)


def record(rows: Dict[str, List[str]], report: Optional[List[str]] = None) -> None:
    """``rows``: in place of those of the same names; ``report``: in place of the one before."""
    made: Dict[str, Any] = json.loads(FILE.read_text())
    made["rows"].update(rows)
    if report:
        made.update(first=" ".join(report[0].split()[:3]), report=report)
    FILE.write_text(json.dumps(made, indent=1) + "\n")
    write_pages()


if __name__ == "__main__":
    write_pages()
