"""A machine for a node: namespaces for mounts, network and processes, a root file system, and cgroups.

All processes are children of the first one of the process namespace, which ends with this process, also after kill -9;
with it the kernel ends the others, and their mounts and network go with the namespaces. Only empty cgroups and the
state directory can remain; ``Machine`` removes those of an earlier run with the same state directory.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence

from ..processes import Process
from ..wait import wait_until

HERE = Path(__file__).resolve().parent
NAMESPACES = ("--mount", "--net", "--pid", "--ipc", "--uts")
ENV = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
CGROUPS = Path("/sys/fs/cgroup")
WRITTEN = ("upper", "work", "root", "containerd", "kubelet", "etcd", "etc")
CLONE_NEWNET = 0x40000000


class Entered:
    """The machine that runs with its files in ``state``, from whichever process."""

    def __init__(self, state: Path):
        self.state, self.etc = state, state / "etc"
        self.pid = int((self.etc / "entered").read_text()) if (self.etc / "entered").exists() else 0

    def words(self, *command: object) -> List[str]:
        """The command that runs ``command`` on this machine."""
        return ["nsenter", "--target", str(self.pid), *NAMESPACES, "--", *map(str, command)]

    def run(self, *command: object, seconds: float = 120) -> str:
        done = subprocess.run(
            self.words(*command), capture_output=True, text=True, timeout=seconds, check=False, env=ENV, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


class Machine(Entered):
    """``root``, ``pause``: as e2e/setup-node.sh makes them; ``programs``: the directory of Kubernetes' programs."""

    def __init__(self, state: Path, root: Path, pause: Path, programs: Path, cpus: int):
        super().__init__(state)
        self.cgroup = cgroup_name(state)
        state.mkdir(parents=True, exist_ok=True)
        self._lock = (state / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"a node runs already with its files in {state}") from None
        self._remove()
        for name in WRITTEN:
            (state / name).mkdir()
        shutil.copy(pause, self.etc / "pause")
        self._make_cgroups()
        self._enter = ["unshare", *NAMESPACES, "--fork", "--kill-child", "--propagation", "private"]
        self._enter += ["bash", str(HERE / "enter.sh"), str(state), str(root), str(programs), str(cpus)]
        self.process: Optional[Process] = None
        self.pid = 0

    def start(self) -> None:
        self.process = Process("machine", self._enter, self.log("machine"))

        def entered() -> bool:
            self.process.check_running()
            return (self.etc / "entered").exists()

        wait_until(entered, 20, "the namespaces of the node")
        (self.pid,) = children(self.process.pid)
        (self.etc / "entered").write_text(str(self.pid))

    def log(self, name: str) -> Path:
        return self.state / "logs" / f"{name}.log"

    def spawn(self, name: str, *command: object) -> Process:
        """Ahead of other work of the machine: what waits for a node has deadlines, and a node at rest needs little."""
        return Process(name, ["nice", "-n", "-10", *self.words(*command)], self.log(name), ENV)

    def end(self, process: Process) -> None:
        """SIGTERM to what ``spawn`` started; nsenter ends with it."""
        for pid in children(process.pid):
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not process.running(), 20, f"{process.name} to end")

    def relay(self, port: int) -> str:
        """An address on loopback outside, from which connections are carried to ``port`` of the machine."""
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=_carry, args=(self.pid, listener, port), daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def stop(self) -> None:
        if self.process:
            self.process.kill()
        self._remove()
        self._lock.close()

    def _make_cgroups(self) -> None:
        """One in each hierarchy, and the kubelet's in it: of a cpuset that is empty none could be made."""
        for top in hierarchies():
            for made in (top / self.cgroup, top / self.cgroup / "kubepods"):
                made.mkdir(exist_ok=True)
                for name in ("cpuset.cpus", "cpuset.mems"):
                    if (made / name).exists():
                        (made / name).write_text((made.parent / name).read_text())
            # A raylet aborts when its agents take 15 s to start, which is soon the case beside other work.
            for name, weight in (("cpu.shares", 16384), ("cpu.weight", 1600)):
                if (top / self.cgroup / name).exists():
                    (top / self.cgroup / name).write_text(str(weight))

    def _remove(self) -> None:
        for top in hierarchies():
            remove_cgroup(top / self.cgroup)
        for name in (*WRITTEN, "home", "logs"):
            shutil.rmtree(self.state / name, ignore_errors=True)


def cgroup_name(state: Path) -> str:
    return f"rayscaler-node-{hashlib.sha256(str(state).encode()).hexdigest()[:8]}"


def hierarchies() -> List[Path]:
    """The directories of version 1's controllers, or the one of version 2.

    Where both are mounted version 2 has no controllers, but runc makes cgroups in it as well."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [path for path in CGROUPS.iterdir() if path.is_dir() and not path.is_symlink()]


def remove_cgroup(directory: Path) -> None:
    """With those below it; the processes in them are ending."""
    for path, _, _ in os.walk(directory, topdown=False):
        wait_until(lambda path=path: _removed(path), 20, f"the processes of {path} to end")


def _removed(path: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        try:
            os.rmdir(path)
        except OSError:
            return False
    return True


def children(pid: int) -> List[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _carry(pid: int, listener: socket.socket, port: int) -> None:
    """A socket belongs to the network namespace in which it was made: of this thread from here on."""
    with open(f"/proc/{pid}/ns/net", "rb") as network:
        if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    asyncio.run(_serve(listener, port))


async def _serve(listener: socket.socket, port: int) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))

    server = await asyncio.start_server(accept, sock=listener)
    async with server:
        await server.serve_forever()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
