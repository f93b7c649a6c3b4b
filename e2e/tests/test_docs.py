"""docs/DECISIONS.md: a row for every trap of Ray, and everything that it names as a proof exists."""

import itertools
import re
import subprocess
from pathlib import Path

import yaml

from rayscaler_e2e import paths

TOP = Path(__file__).resolve().parents[2]
TEXT = (TOP / "docs" / "DECISIONS.md").read_text()
TRAPS = 41


def rows():
    lines = [line for line in TEXT.splitlines() if re.match(r"\| T\d", line)]
    return {cells[1].strip(): [c.strip() for c in cells[2:5]] for cells in (re.split(r"(?<!`)\|", line) for line in lines)}


def test_the_settings_that_end_busy_workers_are_the_same_everywhere():
    """README leads to the table; the pages that repeat it name each setting of it, and no other number of them."""
    table = TEXT.split("## Which settings end busy workers")[1].split("\n## ")[0]
    assert "DECISIONS.md#which-settings-end-busy-workers" in (TOP / "README.md").read_text()
    for page in ("docs/internals/principles.md", "docs/SYMPTOMS.md", "docs/DECISIONS.md"):
        text = table if page.endswith("DECISIONS.md") else (TOP / page).read_text()
        assert all(setting in text for setting in ("--enforce-max=now", "busy", "repair.deletes")), page
        if text is not table:
            assert re.search(r"(?i)\bthree settings\b", text), page
    assert len(re.findall(r"^\| `|^\| a GPUPool", table, re.M)) == 3, table


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
    assert len(re.findall(rb"^\* \d{4}: ", rules.stdout, re.M)) == len(list((TOP / "src/test/golden").glob("*.yaml")))


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


def autoscaler_options(path):
    """Each `autoscalerOptions` of a text with lines below it, as YAML. A value of the chart is a text here."""
    lines = re.sub(r"{{-? *(include|\.).*?}}", "value", path.read_text()).splitlines()
    for number, line in enumerate(lines):
        found = re.fullmatch(r"( *)autoscalerOptions:", line)
        if found:
            inner = itertools.takewhile(lambda text: text.startswith(found[1] + "  "), lines[number + 1 :])
            yield yaml.safe_load("\n".join(inner))


def test_every_switch_shown_reserves_little():
    """Without `resources` KubeRay reserves 500m CPU and 512 MiB for a process that sleeps."""
    root = paths.ROOT
    files = [root / "README.md", root / "charts/rayscaler/templates/NOTES.txt", *root.glob("docs/**/*.md"),
             *root.glob("examples/*.yaml")]  # fmt: skip
    found = {path.relative_to(root): list(autoscaler_options(path)) for path in files}
    found = {str(path): blocks for path, blocks in found.items() if blocks}
    assert found.keys() >= {"docs/QUICKSTART.md", "docs/KUBERAY.md",
                            "charts/rayscaler/templates/NOTES.txt", "examples/gpu.yaml"}  # fmt: skip
    for path, blocks in found.items():
        for block in blocks:
            assert set(block.get("resources", {})) == {"requests", "limits"}, f"{path}: {block}"
            parks = "image" not in block and (block["command"], block["args"]) == (["timeout"], ["infinity", "sleep", "infinity"])
            assert parks or path == "docs/KUBERAY.md", f"{path}: {block}"


def test_the_changelog_says_each_change_once():
    """Two entries that begin alike are one that was changed before the release."""
    text = (paths.ROOT / "CHANGELOG.md").read_text()
    entries = [" ".join(one[2:].split()) for one in re.split(r"\n(?=\* )", text) if one.startswith("* ")]
    begins = [one[:30] for one in entries]
    assert len(entries) > 20
    assert not {one for one in begins if begins.count(one) > 1}
