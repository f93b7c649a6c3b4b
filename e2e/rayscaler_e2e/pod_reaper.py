"""Ends the processes that a kubelet stand-in leaves when it is itself ended by SIGKILL.

    python -m rayscaler_e2e.pod_reaper NODE DIRECTORY    # standard input: a pipe that the kubelet holds

Everything that runs in a Pod has MARK_VARIABLE in its environment, also processes in a session of
their own. Ray's processes write their titles over the beginning of it: the variable is the last one, and
a process is also known by the session of another. The pipe ends with the kubelet, however that
ends; then every process of the node is killed and DIRECTORY, the node's, is removed.
"""

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Set

# Its value: uid of the Pod/name of the container/node.
MARK_VARIABLE = "RAYSCALER_BENCH_CONTAINER"
REAP_SECONDS = 20.0


def pids_of(pod_uid: str = "[^/]+", container: str = "[^/]+", node: str = "[^/]+") -> List[int]:
    """Processes of one Pod, container or node, and all others in their sessions."""
    mark = re.compile(f"{MARK_VARIABLE}={pod_uid}/{container}/{node}".encode())
    session_of: Dict[int, int] = {}
    sessions: Set[int] = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            session = os.getsid(int(entry))
            words = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
            ended = _state(int(entry)) == "Z"
        except OSError:
            continue
        if not ended:
            session_of[int(entry)] = session
        if any(map(mark.fullmatch, words)):
            sessions.add(session)
    return [pid for pid, session in session_of.items() if session in sessions]


def gcs_server(head: Dict[str, Any]) -> int:
    """The process of the GCS of this head Pod."""
    for pid in pids_of(head["metadata"]["uid"]):
        if b"gcs_server" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
            return pid
    raise AssertionError(f"no gcs_server of {head['metadata']['name']}")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def kill(pids: List[int]) -> bool:
    """Whether there was a process to kill."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return bool(pids)


def kill_all(pod_uid: str = "[^/]+", container: str = "[^/]+", node: str = "[^/]+") -> None:
    """Until no process of them is left: a killed one may have been starting another, and one that is killed
    ends a little later."""
    deadline = time.monotonic() + REAP_SECONDS
    while kill(pids_of(pod_uid, container, node)) and time.monotonic() < deadline:
        time.sleep(0.01)


def main() -> None:
    node, directory = sys.argv[1:]
    sys.stdin.buffer.read()
    kill_all(node=node)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
