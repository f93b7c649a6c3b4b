"""docs/GPU.md: what it shows is in examples/, line for line."""

import re
import textwrap
from pathlib import Path
from typing import Iterator, List, Tuple

TOP = Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "GPU.md").read_text()
EXAMPLES = TOP / "examples"


def blocks(kind: str) -> Iterator[Tuple[str, List[str]]]:
    """Each fenced block of ``kind`` with the example that was linked last before it."""
    for found in re.finditer(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        linked = re.findall(r"\(\.\./examples/([\w-]+)\.yaml\)", TEXT[: found.start()])
        yield linked[-1], textwrap.dedent(found.group(1)).splitlines()


def holds(text: str, part: List[str]) -> bool:
    """Are the lines of ``part`` in ``text``, one after the other, at some indentation?"""
    lines = text.splitlines()
    windows = (lines[at : at + len(part)] for at in range(len(lines) - len(part) + 1))
    return any(textwrap.dedent("\n".join(window)).splitlines() == part for window in windows)


def test_what_is_shown_is_in_the_example():
    shown = 0
    for kind, prefix in (("yaml", ""), ("python", "# ")):
        for name, part in blocks(kind):
            lines = (EXAMPLES / f"{name}.yaml").read_text().splitlines()
            text = "\n".join(line[len(prefix) :] for line in lines if line.startswith(prefix))
            assert holds(text, part), f"examples/{name}.yaml has no such lines: {part}"
            shown += 1
    assert shown > 10


def test_what_the_plan_says_is_its_text():
    seen = set()
    for name, part in blocks("text"):
        assert part[0] == f"$ rayscaler plan -f examples/{name}.snapshot.yaml", f"{part[0]}: shown beside {name}.yaml"
        assert len(part) > 2 and holds((EXAMPLES / f"{name}.plan.txt").read_text(), part[1:]), f"{name}: {part}"
        seen.add(name)
    assert seen == {path.name[: -len(".plan.txt")] for path in EXAMPLES.glob("*.plan.txt")}
