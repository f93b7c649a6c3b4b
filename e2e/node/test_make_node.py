"""`make node` leaves nothing behind: after Ctrl-C, and after kill -9 the next start."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Set

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.node import running
from rayscaler_e2e.node.machine import CGROUPS, cgroup_name
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until

SECONDS = 150


class Node:
    """One beside that of the other tests, with its files in ``directory``."""

    def __init__(self, directory: Path, log: str):
        self.state = directory / "node"
        (self.state / running.READY).unlink(missing_ok=True)
        env = {**os.environ, "BUILD": str(directory)}
        self.process = Process("node", ["bash", str(paths.E2E / "node.sh")], directory / log, env)

    def ready(self) -> bool:
        self.process.check_running()
        return (self.state / running.READY).exists()

    def network(self) -> str:
        inside = int((self.state / "etc/entered").read_text())
        return os.readlink(f"/proc/{inside}/ns/net")

    def left(self) -> Set[str]:
        """Its cgroups in every hierarchy, and its mounts."""
        name = cgroup_name(self.state)
        found = {str(path) for pattern in (name, f"*/{name}") for path in CGROUPS.glob(pattern)}
        return found | {line for line in Path("/proc/mounts").read_text().splitlines() if str(self.state) in line}


@pytest.fixture
def node_in(work_dir):
    """`node_in(log)` starts one; all end with the test."""
    made = []

    def start(log):
        made.append(Node(work_dir, log))
        wait_until(made[-1].ready, SECONDS, "the node to be ready", 0.3)
        return made[-1]

    yield start
    for one in made:
        one.process.stop(60)


@pytest.mark.test_all
def test_nothing_is_left(work_dir, node_in):
    for name in ("rayscaler", "node-dist"):
        (work_dir / name).symlink_to(paths.build_dir() / name)
    first = node_in("first.log")
    killed = first.network()
    assert killed in networks()
    first.process.signal(signal.SIGKILL)
    wait_until(lambda: killed not in networks(), 30, "its processes to end with it", 0.3)
    second = node_in("second.log")
    used = second.network()
    second.process.signal(signal.SIGINT)
    wait_until(lambda: not second.process.running(), 60, "the node to end", 0.3)
    assert second.process.returncode() == 0
    assert used not in networks()
    assert not second.left()
    left = subprocess.run(["du", "-sm", second.state], capture_output=True, text=True, check=True).stdout
    assert int(left.split()[0]) < 5, left


def networks():
    """Network namespaces with a process."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            continue
    return found
