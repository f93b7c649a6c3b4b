"""Wrong inputs of users and their answers: ``e2e/tests/wrong_inputs.yaml``, which explains its rows."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import yaml

from . import paths

Row = Dict[str, Any]
Object = Dict[str, Any]
# Beginnings of paths in "set".
START = {
    "HEAD": "spec headGroupSpec",
    "GROUP": "spec workerGroupSpecs 0",
    "POD": "spec workerGroupSpecs 0 template spec",
    "RAY": "spec workerGroupSpecs 0 template spec containers 0",
    "HEADRAY": "spec headGroupSpec template spec containers 0",
    "JOBCLUSTER": "spec rayClusterSpec",
}
TABLE = paths.E2E / "tests" / "wrong_inputs.yaml"
MEMBERS = {"run", "files", "change", "of", "set", "server", "values", "state", "exit", "cure", "also", "not"}
LINT = "lint -f changed.yaml"
SECONDS = 30

# A cure tells the user what to do, at the beginning of a clause, or what would be right; the lines that lint prints below a
# finding are to be written.
CURE = re.compile(
    r"\n    \S|did you mean|such as|\blike \S|must (?:be|have)|is required|needs --|it has \S|groups: \S|\btakes \S|must be one of|\bwant \w|"
    r"(?:^|[;:,(] |\b(?:or|and|to) )(?:add|apply|ask|check|choose|correct|create|delete|fix|give|grant|install|keep|leave|lower|"
    r"move|name|park|put|raise|remove|rename|replace|run|see|set|split|start|use|wait|write)\b",
    re.IGNORECASE,
)


def rows(section: str) -> List[Row]:
    return yaml.safe_load(TABLE.read_text())[section]


def name(row: Row) -> str:
    """Of the test."""
    given = row.get("change") or row.get("set") or row.get("values") or ""
    return " ".join(str(part) for part in (row.get("state", ""), row.get("run", ""), given) if part)[:100]


def mistakes(row: Row) -> List[str]:
    """In the row itself."""
    found = [f"no member of a row: {member}" for member in set(row) - MEMBERS]
    if not CURE.search(row["cure"]):
        found.append(f"tells not what to do: {row['cure']}")
    return found


def prepare(row: Row, directory: Path) -> None:
    """Write the files of the row."""
    for file, text in row.get("files", {}).items():
        if text is None:
            (directory / file).mkdir()
        else:
            (directory / file).write_text(text)
    if "change" in row:
        old, new = row["change"]
        text = (paths.ROOT / "examples" / "gpu.yaml").read_text()
        assert old in text, f"the example has no {old}"
        (directory / "changed.yaml").write_text(text.replace(old, new))
    if "set" in row:
        (directory / "changed.yaml").write_text(yaml.safe_dump(changed(row), sort_keys=False))


def changed(row: Row) -> Object:
    """The example of the kind with the members of ``set``."""
    kind = row.get("of", "RayCluster")
    file = {"RayJob": "rayjob", "RayCronJob": "rayjob", "RayService": "rayservice"}.get(kind, "gpu")
    (whole,) = [one for one in yaml.safe_load_all((paths.ROOT / "examples" / f"{file}.yaml").read_text()) if one["kind"].startswith("Ray")]
    if kind == "RayCronJob":
        whole.update(kind=kind, spec={"schedule": "0 8 * * *", "jobTemplate": whole["spec"]})
    for path, value in row["set"].items():
        *names, last = [START.get(name, name) for name in path.split(" ")]
        at: Any = whole
        for name in " ".join(names).split():
            at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
        if last == "+":
            at.append(value)
        elif value == "REMOVED":
            del at[last]
        else:
            at[last] = value
    return whole


def rayscaler(row: Row, directory: Path, env: Optional[Dict[str, str]] = None) -> subprocess.CompletedProcess:
    """Run the row's command line in the directory; ``env`` replaces an environment without a kubeconfig."""
    words = [word.replace("EXAMPLES", str(paths.ROOT / "examples")) for word in shlex.split(row.get("run", LINT))]
    return subprocess.run(
        [str(paths.program()), *words],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=directory,
        env=env if env is not None else {"HOME": "/nonexistent"},
        stdin=subprocess.DEVNULL,
    )


def check(row: Row, directory: Path, run: Callable[..., subprocess.CompletedProcess] = rayscaler, **more: Any) -> None:
    """Run it and compare the answer."""
    assert not mistakes(row), mistakes(row)
    prepare(row, directory)
    done = run(row, directory, **more)
    text = done.stdout + done.stderr
    wanted = [row["cure"], *row.get("also", [])]
    assert done.returncode == row["exit"], text
    if row["exit"] in (1, 2) and not row.get("run", LINT).startswith("lint"):
        # The error and what to do are one line; the findings of lint have theirs, with the lines to write below it.
        assert [line for line in done.stderr.splitlines() if row["cure"] in line], done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    assert all(part in text for part in wanted), f"{wanted} in:\n{text}"
    assert not any(part in text for part in row.get("not", [])), text
