"""A node that runs: ``make node`` as a child process, and the objects of tests on it."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

from urllib3.exceptions import HTTPError

from .. import kuberay_pod as kp
from .. import paths
from ..kubeclient import ApiError
from ..processes import Process
from ..ray_program import RayProgram
from ..standin import client_from_kubeconfig
from ..tools import Tool
from ..wait import wait_until
from . import clusters
from .install import DIST, HOME

Object = Dict[str, Any]
READY = "ready"  # a file in the state directory: the node is complete
START_SECONDS = 300.0
HEAD_SECONDS = 90.0
POLL_SECONDS = 0.3


def state_directory() -> Path:
    return paths.build_dir() / "node"


class RunningNode:
    """Starts a node, or uses the one that runs already (the variable NODE=running)."""

    def __init__(self, log: Path, *flags: str):
        self.state = state_directory()
        self.process: Optional[Process] = None
        if os.environ.get("NODE") == "running":
            assert (self.state / READY).exists() and _network(self._machine()), f"no node runs with its files in {self.state}: run `make node` first"
        else:
            self._start(log, *flags)
        self.kubeconfig = self.state / "kubeconfig"
        self.admin, _ = client_from_kubeconfig(self.kubeconfig)
        self.kubectl = Tool("kubectl", self.kubeconfig, self.state / "home")
        self.helm = Tool("helm", self.kubeconfig, self.state / "home")
        programs = self.state / f"etc{clusters.PROGRAMS}"
        programs.mkdir(exist_ok=True)
        for name in ("ray_driver.py", "forward.py"):
            shutil.copy(paths.E2E / "rayscaler_e2e" / name, programs)

    def _start(self, log: Path, *flags: str) -> None:
        (self.state / READY).unlink(missing_ok=True)
        self.process = Process("node", ["bash", str(paths.E2E / "node.sh"), *flags], log, dict(os.environ))
        wait_until(self._complete, START_SECONDS, f"the node to be ready ({log})", POLL_SECONDS)

    def _complete(self) -> bool:
        self.process.check_running()
        return (self.state / READY).exists()

    def rayscaler(self, *words: str, status: Optional[int] = 0) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.state / "home"), "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run([paths.program(), *words], capture_output=True, text=True, timeout=60, check=False, env=env)
        assert status is None or done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def upgrade(self, *values: str) -> None:
        """The chart with other values, until its Pods are replaced."""
        (chart,) = DIST.glob("rayscaler-*.tgz")
        words = ["upgrade", "rayscaler", chart, "--namespace", HOME, "--wait", "--timeout", "100s"]
        self.helm.run(*words, *(word for value in values for word in ("--set", value)))

    def processes(self, name: str) -> List[int]:
        """Those of the node that run a program of this name."""
        network = _network(self._machine())
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _name(pid) == name[:15] and _network(pid) == network]

    def answers(self) -> bool:
        try:
            return bool(self.admin.call("GET", "/readyz"))
        except (ApiError, HTTPError):
            return False

    def away(self, name: str) -> "Away":
        """A program of the node that does not run within the context."""
        return Away(self, name)

    def _machine(self) -> int:
        return int((self.state / "etc/entered").read_text())

    def stop(self) -> None:
        if self.process:
            assert self.process.stop(60) == 0, self.process.log_tail()


class Away:
    def __init__(self, node: RunningNode, name: str):
        self._node, self._name = node, name
        self._file = node.state / "etc/held" / name

    def __enter__(self) -> None:
        self._file.touch()
        for pid in self._node.processes(self._name):
            os.kill(pid, signal.SIGKILL)

    def __exit__(self, *_exc: object) -> None:
        self._file.unlink()


class RayOnNode:
    """One RayCluster with Ray in real Pods; use as a context manager, which deletes it."""

    def __init__(self, node: RunningNode, namespace: str, made: Object, wait: bool = True):
        self.node, self.namespace, self.name = node, namespace, made["metadata"]["name"]
        self.clusters = node.admin.of("rayclusters", namespace)
        self.clusters.create(made)
        self._programs = 0
        if wait:
            self.wait_head()

    def wait_head(self) -> Object:
        return wait_until(self.head, HEAD_SECONDS, f"the head of {self.name} to be Ready", POLL_SECONDS)

    def pods(self, group: str = "", alive: bool = True) -> List[Object]:
        """Of ``group``, or all workers; ``alive``: without those that are being deleted."""
        labels = f"{kp.CLUSTER_LABEL}={self.name}" + (f",{kp.GROUP_LABEL}={group}" if group else f",{kp.NODE_TYPE_LABEL}=worker")
        found = self.node.admin.of("pods", self.namespace).items(labels)
        return [pod for pod in found if not alive or "deletionTimestamp" not in pod["metadata"]]

    def ready(self, group: str = "") -> List[Object]:
        return [pod for pod in self.pods(group) if kp.is_ready(pod)]

    def head(self) -> Optional[Object]:
        return next(iter(self.ready(kp.HEAD_GROUP)), None)

    def replicas(self) -> Dict[str, int]:
        spec = self.clusters.get(self.name)["spec"]
        return {one["groupName"]: one.get("replicas", 0) for one in spec["workerGroupSpecs"]}

    def explain(self) -> Object:
        """In the form of a plan."""
        return json.loads(self.node.rayscaler("explain", self.name, "-n", self.namespace, "-o", "json"))

    def events(self) -> List[Object]:
        found = self.node.admin.of("events", self.namespace).items()
        return [one for one in found if one["involvedObject"].get("name") == self.name]

    def said(self) -> str:
        """All that a user reads about it: `explain`, its Events, its RayClusterAutoscaler."""
        texts = [self.node.rayscaler("explain", self.name, "-n", self.namespace, status=None)]
        texts += [event["message"] for event in self.events() if event.get("reportingComponent", "") != "raycluster-controller"]
        return "\n".join(texts)

    def program(self) -> RayProgram:
        """A driver in the head Pod."""
        self._programs += 1
        directory = self.node.state / f"etc{clusters.PROGRAMS}" / f"{self.namespace}-{self.name}-{self._programs}"
        head = self.wait_head()
        inside = [f"{clusters.PROGRAMS}/ray_driver.py", f"{clusters.PROGRAMS}/{directory.name}", "auto", head["status"]["podIP"]]
        words = [str(self.node.kubectl.program), "exec", "-n", self.namespace, head["metadata"]["name"], "-c", "ray-head", "--"]
        return RayProgram(directory, "", "", self.node.kubectl.env, words=[*words, "python3", "-u", *inside])

    def __enter__(self) -> "RayOnNode":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.clusters.delete(self.name, missing_ok=True)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _network(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""
