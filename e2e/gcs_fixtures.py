"""Real Ray heads, workers and drivers on loopback addresses, for tests of the GCS client.

Everything that is started here is ended by its process id. Temporary directories of Ray are right
under /tmp, because a socket path of a raylet must fit in 107 characters.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.pki import CertificateAuthority
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until

PYTHON = os.environ.get("RAYSCALER_PYTHON") or sys.executable
START_SECONDS = 60.0
RAY_MAIN = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; main()"
# Nothing of the environment that runs the tests may decide how a head authenticates.
RAY_VARIABLES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS", "RAY_USE_TLS")


def probe_program() -> Path:
    """``src/test/tools/gcs_probe.c``, built by make; GCS_PROBE names another one."""
    return Path(os.environ.get("GCS_PROBE", paths.build_dir() / "tools" / "gcs_probe"))


def ray_environment(extra: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in RAY_VARIABLES}
    environment.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ENABLE_UV_RUN_RUNTIME_ENV="0",
        RAY_enable_autoscaler_v2="1",
        RAY_DEDUP_LOGS="0",
        RAY_AUTH_MODE="disabled",
        RAY_raylet_report_resources_period_milliseconds="100",
    )
    environment.update(extra or {})
    return environment


def descendants(pid: int) -> List[int]:
    """All processes below ``pid`` at this moment."""
    children: Dict[int, List[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, parents = [], [pid]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += below
    return found


def end_tree(process: Process) -> None:
    """End a process and its children, also those that left its process group."""
    below = descendants(process.pid)
    process.stop()
    for pid in below:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass


class Probe:
    """Calls of gcs_probe against one head."""

    def __init__(self, head: "RayHead"):
        self.head = head

    def command(self, *words: str, options: List[str] = ()) -> List[str]:
        return [str(probe_program()), *options, self.head.ip, str(self.head.port), *words]

    def run(self, *words: str, options: List[str] = (), environment=None) -> List[Dict[str, Any]]:
        """All JSON lines that the probe prints."""
        finished = subprocess.run(
            self.command(*words, options=list(options)),
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert finished.returncode in (0, 1), finished.stderr
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def one(self, *words: str, options: List[str] = (), environment=None) -> Dict[str, Any]:
        lines = self.run(*words, options=options, environment=environment)
        assert len(lines) == 1, lines
        return lines[0]

    def state(self, **kwargs) -> Dict[str, Any]:
        reply = self.one("state", **kwargs)
        assert "error" not in reply, reply
        return reply["state"]


class RayHead:
    """One head with its GCS; ``worker`` and ``driver`` start more processes on it."""

    def __init__(self, ip: str, environment: Optional[Mapping[str, str]] = None, cpus: int = 0):
        self.ip = ip
        self.port = free_port()
        self.extra = dict(environment or {})
        self.cpus = cpus
        self.directory = Path(tempfile.mkdtemp(prefix="rsg", dir="/tmp"))
        self.processes: List[Process] = []
        self.head: Optional[Process] = None
        self.probe = Probe(self)

    def start(self) -> "RayHead":
        # A second start is a new head at the same address: it must not find the old session.
        temporary = tempfile.mkdtemp(prefix="t", dir=self.directory)
        self.head = self._ray(
            "head",
            [
                "--head",
                "--port", str(self.port),
                "--temp-dir", temporary,
                "--no-monitor",
                "--include-dashboard=false",
                "--num-cpus", str(self.cpus),
            ],
            self.ip, "headgroup", "head-pod",
        )

        def ready() -> bool:
            self.head.check_running()
            reply = self.probe.one("state", environment=self.environment(), options=self.options())
            nodes = reply.get("state", {}).get("nodeStates", [])
            return any(node["status"] in ("RUNNING", "IDLE") for node in nodes)

        wait_until(ready, START_SECONDS, f"the head at {self.ip}:{self.port}", 0.3)
        return self

    def environment(self) -> Dict[str, str]:
        return ray_environment(self.extra)

    def options(self) -> List[str]:
        return ["--from-environment"] if self.extra else []

    def worker(self, ip: str, pod: str, group: str, *arguments: str) -> Process:
        process = self._ray(
            pod, ["--address", f"{self.ip}:{self.port}", *arguments], ip, group, pod
        )

        def joined() -> bool:
            process.check_running()
            return any(node["instanceId"] == pod for node in self.nodes())

        wait_until(joined, START_SECONDS, f"worker {pod}", 0.3)
        return process

    def nodes(self) -> List[Dict[str, Any]]:
        state = self.probe.state(environment=self.environment(), options=self.options())
        return state.get("nodeStates", [])

    def driver(self, source: str, without: str = "") -> Process:
        """A program that is connected to the head when ``source`` runs; ends with ``stop``.

        ``without`` names a variable that its environment does not have."""
        preamble = f"""
            import time, ray
            from ray.util.placement_group import placement_group
            ray.init(address="{self.ip}:{self.port}", _node_ip_address="{self.ip}",
                     log_to_driver=False, logging_level="warning")
        """
        program = textwrap.dedent(preamble) + textwrap.dedent(source)
        number = len(self.processes)
        process = Process(
            f"driver {number}",
            [PYTHON, "-u", "-c", program],
            self.directory / f"driver-{number}.log",
            env={name: value for name, value in self.environment().items() if name != without},
        )
        self.processes.append(process)
        return process

    def end(self, process: Process) -> None:
        end_tree(process)
        self.processes.remove(process)

    def stop(self) -> None:
        for process in reversed(self.processes):
            end_tree(process)
        self.processes.clear()
        self.head = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _ray(self, name: str, arguments: List[str], ip: str, group: str, pod: str) -> Process:
        environment = self.environment()
        environment.update(RAY_CLOUD_INSTANCE_ID=pod, RAY_NODE_TYPE_NAME=group)
        process = Process(
            f"ray {name}",
            [
                PYTHON, "-c", RAY_MAIN, "start",
                "--block",
                "--node-ip-address", ip,
                "--min-worker-port", "0",
                "--max-worker-port", "0",
                "--object-store-memory", "80000000",
                "--disable-usage-stats",
                *arguments,
            ],
            self.directory / f"{name}.log",
            env=environment,
        )
        self.processes.append(process)
        return process


def write_certificates(directory: Path, addresses: List[str], name: str = "ray") -> Dict[str, str]:
    """A CA and one certificate for server and client, as Ray's TLS wants them; Ray's variables."""
    authority = CertificateAuthority(directory, f"{name} CA")
    certificate, key = authority.leaf(addresses)
    (directory / "tls.crt").write_bytes(certificate)
    (directory / "tls.key").write_bytes(key)
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_CA_CERT": str(authority.file),
        "RAY_TLS_SERVER_CERT": str(directory / "tls.crt"),
        "RAY_TLS_SERVER_KEY": str(directory / "tls.key"),
    }


@pytest.fixture(scope="module")
def ray_head():
    """A head without authentication and without CPUs, so that every demand stays pending."""
    head = RayHead("127.0.0.81")
    try:
        yield head.start()
    finally:
        head.remove()
