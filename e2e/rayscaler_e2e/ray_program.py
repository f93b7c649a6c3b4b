"""The test's side of ``ray_driver.py``, and of ``gcs_witness.py``."""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import paths
from .kubeconfig import sees_account
from .processes import Process
from .wait import wait_until

START_SECONDS = 60.0
# The first answer of a program comes after its start.
CALL_SECONDS = 60.0
# A Ray client takes these from its environment; nothing of the user's may decide how it connects.
_RAY_VARIABLES = ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_USE_TLS")


class RayError(AssertionError):
    """The Ray program answered with an error, or ended."""


def ray_environment(home: Path, token: Optional[str]) -> Dict[str, str]:
    home.mkdir(parents=True, exist_ok=True)
    env = {name: value for name, value in os.environ.items() if name not in _RAY_VARIABLES}
    env.update(HOME=str(home), RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")
    # Told explicitly: without a mode Ray looks for a token file.
    env["RAY_AUTH_MODE"] = "token" if token else "disabled"
    if token:
        env["RAY_AUTH_TOKEN"] = token
    return env


def autoscaler_lines(output: str) -> List[str]:
    """The texts behind "(autoscaler +12s)" in a driver's output, without its tip to use ``ray status``."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    return [line for line in re.findall(r"\(autoscaler \+[\dhms]+\) (.*)", plain) if not line.startswith("Tip:")]


class RayProgram:
    """A driver connected to one head. Use as a context manager: leaving it ends the program."""

    def __init__(
        self, directory: Path, address: str, node_ip: str, env: Mapping[str, str], prints: bool = False, words: Sequence[str] = ()
    ):
        """``words``: the command that runs ``ray_driver.py`` elsewhere, with ``directory`` there."""
        directory.mkdir(parents=True)
        self.directory = directory
        self._number = 0
        script = Path(__file__).parent / "ray_driver.py"
        here = [sys.executable, "-u", str(script), str(directory), address, node_ip, *["prints"] * prints]
        self.process = Process("driver", words or sees_account(here, env), directory / "driver.log", env, directory)

    def call(self, do: str, seconds: float = CALL_SECONDS, **arguments: Any) -> Any:
        """Do one command and return its answer; RayError when Ray refuses or loses something."""
        self.begin(do, **arguments)
        return self.answer(seconds)

    def begin(self, do: str, **arguments: Any) -> None:
        """Send a command; ``answer`` must be called before the next one."""
        order = self.directory / f"{self._number}.in"
        order.with_suffix(".tmp").write_text(json.dumps({"do": do, **arguments}))
        order.with_suffix(".tmp").rename(order)

    def answer(self, seconds: float = CALL_SECONDS) -> Any:
        out = self.directory / f"{self._number}.out"

        def arrived() -> bool:
            if not self.process.running() and not out.exists():
                raise RayError(f"the Ray program ended; end of its log:\n{self.process.log_tail()}")
            return out.exists()

        wait_until(arrived, seconds, f"the Ray program's answer ({out})")
        self._number += 1
        answer = json.loads(out.read_text())
        if "error" in answer:
            raise RayError(answer["error"])
        return answer["ok"]

    def answered(self) -> bool:
        return (self.directory / f"{self._number}.out").exists()

    def autoscaler_lines(self) -> List[str]:
        """The texts behind "(autoscaler +12s)" in its output, of a program that ``prints``."""
        return autoscaler_lines(self.process.log.read_text())

    def actors(self, count: int, name: str = "actors", **options: Any) -> None:
        self.call("actors", name=name, count=count, options=options)

    def tasks(self, count: int, name: str = "tasks", **options: Any) -> None:
        self.call("tasks", name=name, count=count, options=options)

    def ready(self, name: str, seconds: float = 60.0) -> List[str]:
        return self.call("ready", seconds, name=name)

    def end(self) -> None:
        """The program ends of itself, as a user's does; its processes end with it."""
        if self.process.running():
            self.begin("end")
            wait_until(lambda: not self.process.running(), 20, "the Ray program to end")

    def __enter__(self) -> "RayProgram":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop(3)


class Witness:
    """Ray's own state, read beside the program under test."""

    def __init__(self, directory: Path, address: str, env: Mapping[str, str], period: float = 0.2):
        directory.mkdir(parents=True, exist_ok=True)
        self._out = directory / "witness.jsonl"
        words = [sys.executable, "-m", "rayscaler_e2e.gcs_witness", "--address", address]
        words += ["--out", str(self._out), "--period", str(period)]
        self._process = Process("witness", words, directory / "witness.log", env, paths.E2E)
        self._offset = 0
        self._lines: List[Dict[str, Any]] = []
        wait_until(lambda: any("nodes" in line for line in self.lines()), START_SECONDS, f"the GCS at {address}")

    def lines(self) -> List[Dict[str, Any]]:
        """All that was read so far, oldest first; lines with "error" are calls that failed."""
        if self._out.exists():
            with open(self._out, "rb") as file:
                file.seek(self._offset)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._lines += [json.loads(line) for line in whole.splitlines()]
        return self._lines

    def latest(self) -> Dict[str, Any]:
        """The newest good reply."""
        return next(line for line in reversed(self.lines()) if "nodes" in line)

    def fresh(self, seconds: float = 10.0) -> Dict[str, Any]:
        """A good reply of a call that began after now."""
        since = time.time()
        wait_until(lambda: self.latest()["at"] > since, seconds, "a fresh reply of the GCS")
        return self.latest()

    def node(self, pod: str) -> Optional[Dict[str, Any]]:
        """The newest node of this Pod."""
        return node_of(self.latest(), pod)

    def history(self, pod: str) -> List[Dict[str, Any]]:
        """{"at", "status", "idle_ms", ...} of one Pod over time."""
        found = []
        for line in self.lines():
            node = node_of(line, pod) if "nodes" in line else None
            if node:
                found.append({"at": line["at"], **node})
        return found

    def forget(self) -> None:
        """All but the last seconds: for benches that run for long."""
        self._lines = self.lines()[-50:]

    def stop(self) -> None:
        self._process.stop(2)


def node_of(line: Dict[str, Any], pod: str) -> Optional[Dict[str, Any]]:
    """A raylet that was started again in the same Pod is another node: the living one counts."""
    nodes = [node for node in line["nodes"] if node["pod"] == pod]
    living = [node for node in nodes if node["status"] != "DEAD"]
    return (living or nodes or [None])[0]
