"""A flood of requests with forged bearer tokens for metrics, and the client that such a flood needs."""

import secrets
import socket
import ssl
import threading
from typing import List

THREADS = 4

# Made once: it costs more than a request.
UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
UNVERIFIED.check_hostname, UNVERIFIED.verify_mode = False, ssl.CERT_NONE


def status_of(address: str, path: str, token: str) -> int:
    """The status of one GET, with little work for this process; 0: closed in favour of another connection."""
    host, _, port = address.rpartition(":")
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    try:
        with socket.create_connection((host, int(port)), timeout=20) as plain, UNVERIFIED.wrap_socket(plain) as connection:
            connection.sendall(head.encode())
            answer = connection.recv(64)
    except OSError:
        return 0
    return int(answer.split()[1]) if answer else 0


class TokenFlood:
    """Runs until the end of ``with``; ``statuses`` has the answers."""

    def __init__(self, address: str):
        self._address = address
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        self.statuses: List[int] = []

    def __enter__(self) -> "TokenFlood":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while not self._end.is_set():
            self.statuses.append(status_of(self._address, "/metrics", secrets.token_hex(16)))
