"""docs/GPU.md shows lines of examples/, and each row of docs/internals/evidence.md names tests that exist."""

import re
import textwrap
from pathlib import Path
from typing import Iterator, List, Tuple

TOP = Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "GPU.md").read_text()
EVIDENCE = (TOP / "docs/internals/evidence.md").read_text()
EXAMPLES = TOP / "examples"
ROWS = [f"{part}{n}" for part, count in (("A", 10), ("B", 5), ("C", 5), ("D", 5)) for n in range(1, count + 1)]


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
    every = {path.name[: -len(".plan.txt")] for path in EXAMPLES.glob("*.plan.txt")}
    elsewhere = {name for name in every if f"(../examples/{name}.yaml)" in (TOP / "docs/KUBERAY.md").read_text()}
    assert elsewhere == {"rayjob", "rayservice"} and seen == every - elsewhere


def test_every_kind_of_claimed_device_is_shown_by_a_test():
    tests = re.findall(r"^\| `[^|]*\| [^|]* \| `(\w+)` \|$", TEXT, re.MULTILINE)
    assert len(tests) >= 5
    assert not set(tests) - existing()


def rows() -> Iterator[Tuple[str, str]]:
    """Each row's name and its last cell, the names of its tests."""
    for line in EVIDENCE.splitlines():
        if re.match(r"\| [A-D]\d+ \|", line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 4 and all(cells), line
            yield cells[0], cells[3]


def existing() -> set:
    """Names of tests in Python and C, and of golden cases."""
    names = {path.stem for path in (TOP / "src/test/golden").glob("*.yaml")}
    for path in (TOP / "e2e/tests").glob("test_*.py"):
        names.update(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))
    for path in (TOP / "src/test").glob("*/*_test.c"):
        names.update(re.findall(r"^static void (\w+)\(void \*\*state\)", path.read_text(), re.MULTILINE))
    return names


def test_every_row_is_shown_by_tests_that_exist():
    found = list(rows())
    assert [name for name, _ in found] == ROWS
    there = existing()
    for name, cell in found:
        tests = re.findall(r"`(\w+)`", cell)
        assert tests, f"{name} is shown by nothing"
        missing = [test for test in tests if test not in there]
        assert not missing, f"{name}: there is no test {missing}"
