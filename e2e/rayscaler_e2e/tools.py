"""kubectl and helm as users run them: the real programs, with nothing of the user's own configuration.

    kubectl = Tool("kubectl", kubeconfig, home)
    kubectl.run("get", "rca", "-n", namespace).stdout
    kubectl.run("apply", "-f", "-", stdin=text)
    kubectl.run("get", "pod", "no-such", status=1).stderr
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, Optional

import yaml

from . import paths

SECONDS = 120.0


class ToolMissing(RuntimeError):
    """The program is not on this machine; the message names the fix."""


class Tool:
    """One program with one kubeconfig; ``home`` is an empty directory that it may write to."""

    def __init__(self, name: str, kubeconfig: Optional[Path], home: Path):
        self.program = find_tool(name)
        home.mkdir(parents=True, exist_ok=True)
        self.env: Dict[str, str] = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        if kubeconfig is not None:
            self.env["KUBECONFIG"] = str(kubeconfig)

    def run(self, *words: Any, stdin: str = "", status: Optional[int] = 0) -> subprocess.CompletedProcess:
        """Run it to its end, in the top directory. ``status`` is the exit status that it must have, None for any."""
        command = [str(self.program), *map(str, words)]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env=self.env,
            cwd=paths.ROOT,
        )
        if status is not None and done.returncode != status:
            raise AssertionError(
                f"{' '.join(command)}: exit status {done.returncode}, wanted {status}\n{done.stdout}{done.stderr}"
            )
        return done

    def apply(self, text: str, *words: Any) -> str:
        """``apply -f -`` of YAML text (kubectl)."""
        return self.run("apply", "-f", "-", *words, stdin=text).stdout

    def get(self, *words: Any) -> Any:
        """``get`` ... as an object (kubectl)."""
        return yaml.safe_load(self.run("get", *words, "-o", "json").stdout)


def find_tool(name: str) -> Path:
    """As e2e/setup-apiserver.sh finds it. One in PATH may be of any version: only these of the server are taken."""
    places = [paths.cache_dir() / "bin" / name]
    if name in ("etcd", "kube-apiserver") and (in_path := shutil.which(name)):
        places.insert(0, Path(in_path))
    if name != "helm" and os.environ.get("KUBEBUILDER_ASSETS"):
        places.insert(0, Path(os.environ["KUBEBUILDER_ASSETS"]) / name)
    for place in places:
        if os.access(place, os.X_OK):
            return place
    raise ToolMissing(f"no {name} on this machine: run e2e/setup-apiserver.sh {name}")
