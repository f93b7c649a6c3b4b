"""Ports for servers that need their number before they start."""

import random
import socket
from typing import Set

PORTS = range(20000, 32000)
"""Below the ports that the kernel gives to outgoing connections (from 32768), above those of Ray's workers."""

_given: Set[int] = set()


def free_port() -> int:
    """A TCP port that is free on all addresses and stays free until the caller's server binds it."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
