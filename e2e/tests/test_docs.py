"""docs/DECISIONS.md: a row for every trap of Ray, and everything that it names as a proof exists."""

import re
import subprocess
from pathlib import Path

from rayscaler_e2e import paths

TOP = Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "DECISIONS.md").read_text()
TRAPS = 41


def rows():
    lines = [line for line in TEXT.splitlines() if re.match(r"\| T\d", line)]
    return {cells[1].strip(): [c.strip() for c in cells[2:5]] for cells in (re.split(r"(?<!`)\|", line) for line in lines)}


def test_every_trap_has_a_row():
    assert list(rows()) == [f"T{number}" for number in range(1, TRAPS + 1)]
    for name, cells in rows().items():
        assert len(cells) == 3 and all(cells), name
        assert re.search(r"\b0\d{3}\b|`[^`]+` test_", cells[2]), f"{name} is shown by nothing"


def test_golden_cases_exist():
    numbers = [path.name[:4] for path in (TOP / "src/test/golden").glob("*.yaml")]
    there = set(numbers)
    assert len(numbers) == len(there), sorted(number for number in there if numbers.count(number) > 1)
    named = set(re.findall(r"\b0\d{3}\b", TEXT))
    assert named and named <= there, sorted(named - there)


def test_rules_are_those_of_the_cases():
    rules = subprocess.run([paths.build_dir() / "tools/codec_golden", "--rules"], cwd=TOP, capture_output=True, timeout=60, check=True)
    made = (TOP / "docs/internals/rules.md").read_bytes()
    assert rules.stdout == made, "make docs, and commit docs/internals/rules.md"
    assert made.count(b"\n* 0") == len(list((TOP / "src/test/golden").glob("*.yaml")))


def test_other_tests_exist():
    named = [pair for cells in rows().values() for pair in re.findall(r"`([^`]+)` (test_\w+)", cells[2])]
    assert named
    for path, test in named:
        assert re.search(rf"\b{test}\b", (TOP / path).read_text()), f"{path} has no {test}"


def test_threats_are_shown_by_tests_that_exist():
    text = (TOP / "docs/internals/threats.md").read_text()
    sources = [*(TOP / "e2e/tests").glob("*.py"), *(TOP / "src/test").glob("*/*_test.c")]
    there = "\n".join(path.read_text() for path in sources)
    files = {path.name for path in sources} | {path.stem for path in sources}
    named = set(re.findall(r"\b(?:test_\w+(?:\.py)?|\w+_test)\b", text))
    missing = [name for name in named if name not in files and not re.search(rf"\b{re.escape(name)}\(", there)]
    assert len(named) > 25 and not missing, missing
    golden = {path.name[:4] for path in (TOP / "src/test/golden").glob("*.yaml")}
    assert set(re.findall(r"\b0\d{3}\b", text)) <= golden


def test_every_class_of_differences_is_explained():
    classes = []
    tables = (("corrections.py", "ALL"), ("decisions.py", "ALL"), ("capacity.py", "CORRECTIONS"))
    for name, table in tables:
        text = (TOP / "e2e/conformance" / name).read_text()
        body = re.search(rf"^{table} = {{$(.*?)^}}$", text, re.MULTILINE | re.DOTALL).group(1)
        classes += re.findall(r'^    "([a-z-]+)":', body, re.MULTILINE)
    assert len(classes) > 20
    for document in ("DECISIONS.md", "internals/conformance.md"):
        text = (TOP / "docs" / document).read_text()
        explained = re.findall(r"^\| ([a-z-]+) \| ", text, re.MULTILINE)
        assert set(classes) | {"group-alone"} <= set(explained), document
