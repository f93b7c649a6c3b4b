"""A TCP relay that can hold back the bytes of a client, from the first bytes that a test names, or cut all off."""

import socket
import threading
from typing import List, Tuple

from .wait import wait_until

CHUNK = 65536


class HoldingRelay:
    """Listens on all addresses; use as a context manager.

    ``hold(needle)``: the next chunk of a client in which ``needle`` occurs waits for ``release``.
    gRPC sends messages uncompressed, so a message can be named by the bytes of one of its fields.
    ``cut()``: from now on nothing passes in either direction, and every connection stays open.
    ``redirect(target)``: ends all connections; new ones reach another server.
    """

    def __init__(self, port: int, target: Tuple[str, int]):
        self._target = target
        self._needle = b""
        self._held = threading.Event()
        self._released = threading.Event()
        self._cut = False
        self._sockets: List[socket.socket] = []
        self._listener = socket.create_server(("0.0.0.0", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, needle: bytes) -> None:
        self._released.clear()
        self._needle = needle

    def wait_held(self, seconds: float) -> None:
        wait_until(self._held.is_set, seconds, "the client to send what is held back")

    def release(self) -> None:
        self._needle = b""
        self._released.set()

    def cut(self) -> None:
        self._cut = True

    def redirect(self, target: Tuple[str, int]) -> None:
        self._target = target
        self._end()

    def _end(self) -> None:
        for one in self._sockets:
            _close(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                if self._listener.fileno() < 0:
                    return
                continue
            self._sockets += [client, server]
            threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        recent = b""
        while data := _receive(client):
            recent = (recent + data)[-CHUNK:]
            if self._needle and self._needle in recent:
                self._held.set()
                self._released.wait(60)
            if not self._cut:
                _send(server, data)
        _close(server)

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        while data := _receive(source):
            if not self._cut:
                _send(target, data)
        _close(target)

    def __enter__(self) -> "HoldingRelay":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()
        self._listener.close()
        self._end()


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(CHUNK)
    except OSError:
        return b""


def _send(target: socket.socket, data: bytes) -> None:
    try:
        target.sendall(data)
    except OSError:
        pass


def _close(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
