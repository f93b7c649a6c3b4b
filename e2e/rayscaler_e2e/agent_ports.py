"""Port files of a raylet's agents, written for agents that start too slowly.

A raylet aborts when its agents have not written their ports to files 15 s after its start, and
`ray start` exits with 1 another 15 s later; both times are constants of Ray (ray#65983). On a loaded
machine an agent, a Python program that imports Ray, can take longer. After 10 s the files that are
missing are written here, with the values of agents that serve nothing. That raylet has no runtime
environments; whatever else the tests use works.
"""

import secrets
import time
from pathlib import Path
from typing import Dict, Optional

from .quick_raylet import AGENT_PORTS, port_of_idle_agent

PATIENCE_SECONDS = 10.0


class AgentPorts:
    """Of the raylet that a container is about to start; Ray's files are in ``directory``."""

    def __init__(self, directory: Path):
        self._directory = directory
        self._node_id = secrets.token_hex(28)
        self._write_at: Optional[float] = None

    def environment(self) -> Dict[str, str]:
        return {"RAY_OVERRIDE_NODE_ID_FOR_TESTING": self._node_id}

    def poll(self) -> None:
        """Call until the raylet is known to run."""
        sessions = [path for path in self._directory.glob("session_2*") if (path / "logs" / "raylet.out").exists()]
        if not sessions:
            return
        if self._write_at is None:
            self._write_at = time.monotonic() + PATIENCE_SECONDS
        if time.monotonic() < self._write_at:
            return
        # A container that started again finds the session of before as well; its files are not read.
        for session in sessions:
            for name in AGENT_PORTS:
                path = session / f"{name}_{self._node_id}"
                if not path.exists():
                    path.write_text(port_of_idle_agent(name))
