"""Relays that end a process at a chosen moment of a chosen request: before it is passed on, when the
answer is there and not passed on, or just after it was.

``Aim``            the next target; shared by the two
``ApiRelay``       TLS to TLS, HTTP/1.1, in front of an API server; the bearer token is passed on
``GcsRelay``       plain HTTP/2 in front of a GCS; knows a drain by its text

Kinds of requests: "patch" (of a RayCluster), "status" (writes of RayClusterAutoscalers), "event", "lease",
"drain"; of a resize in place "record" (a patch of a Pod), "resize" (of its subresource) and "raylet". A killed process's connections end; others continue.
"""

import asyncio
import random
import re
import ssl
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

KINDS = ("patch", "drain", "status", "event", "lease")
POINTS = ("before", "unanswered", "answered")
# After an answer was passed on: how long the process has to read it.
ANSWERED_SECONDS = 0.01
_PLURALS = {"rayclusters": "patch", "rayclusterautoscalers": "status", "events": "event", "leases": "lease"}
# plan.reason of a drain for idleness; no other message to a GCS has it.
_DRAIN_TEXT = b"idle for "
# ResizeRayletResourceInstancesRequest: a node id of 28 bytes, then the entry of CPU.
_RESIZE = re.compile(rb"\x0a\x1c.{28}\x12\x0e\x0a\x03CPU\x11", re.DOTALL)
_CHUNK = 65536
_HEAD_MAX = 1 << 20
_DATA_FRAME = 0


class Aim:
    """One shot at a time: ``arm`` it, and ``hit`` is set when ``strike`` was called."""

    def __init__(self) -> None:
        self.hit = threading.Event()
        self.seen: Dict[str, int] = {}
        """Requests of each kind so far."""
        self._lock = threading.Lock()
        self._armed: Optional[Tuple[str, str]] = None
        self._strike: Callable[[], None] = lambda: None

    def arm(self, kind: str, point: str, strike: Callable[[], None]) -> None:
        with self._lock:
            self.hit.clear()
            self._strike = strike
            self._armed = (kind, point)

    def disarm(self) -> bool:
        """True when it was too late: the shot was taken."""
        with self._lock:
            taken = self._armed is None
            self._armed = None
        return taken

    def take(self, kind: str) -> str:
        """A request of this kind begins: the point at which it is to be hit, "" for none."""
        with self._lock:
            self.seen[kind] = self.seen.get(kind, 0) + 1
            if self._armed is None or self._armed[0] != kind:
                return ""
            point = self._armed[1]
            self._armed = None
            return point

    def strike(self) -> None:
        self._strike()
        self.hit.set()


class _Link:
    """One connection of a client and its other half."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer
        self.point = ""
        """Where the request under way is to be hit."""


class _Relay:
    """An event loop in a thread of its own; use as a context manager."""

    def __init__(self, aim: Aim, host: str, port: int, tls: Optional[ssl.SSLContext]):
        self.aim = aim
        self.begun: List[float] = []
        """When (time.monotonic) the first bytes of each client connection came."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.start_server(self._serve, host, port, ssl=tls, limit=_HEAD_MAX)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _connect(self) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise NotImplementedError

    async def _requests(self, link: _Link, upstream: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def _is_answer(self, data: bytes) -> bool:
        raise NotImplementedError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends: List[asyncio.StreamWriter] = [writer]
        link = _Link(reader, writer)
        try:
            up_reader, up_writer = await self._connect()
            ends.append(up_writer)
            halves = [self._requests(link, up_writer), self._answers(link, up_reader)]
            await _first_of([asyncio.ensure_future(half) for half in halves])
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            if link.point:
                self._strike(link)  # the connection ended before its moment came
            for end in ends:
                end.close()

    def _strike(self, link: _Link) -> None:
        link.point = ""
        self.aim.strike()

    async def _answers(self, link: _Link, upstream: asyncio.StreamReader) -> None:
        while data := await upstream.read(_CHUNK):
            point = link.point if link.point and self._is_answer(data) else ""
            if point == "unanswered":
                self._strike(link)
                return
            link.writer.write(data)
            await link.writer.drain()
            if point == "answered":
                await asyncio.sleep(random.uniform(0, ANSWERED_SECONDS))
                self._strike(link)
                return

    def __enter__(self) -> "_Relay":
        return self

    def __exit__(self, *_exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _end(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class ApiRelay(_Relay):
    """``url`` is for clients; the certificate is of the CA of ``server``."""

    def __init__(self, aim: Aim, server: Any):
        """``server``: an ApiServer."""
        self._target = urlsplit(server.url)
        self._trust = ssl.create_default_context(cafile=str(server.ca_file))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*server.pki.server("kill-relay"))
        tls.set_alpn_protocols(["http/1.1"])
        super().__init__(aim, "127.0.0.1", 0, tls)
        self.url = f"https://127.0.0.1:{self.port}"

    async def _connect(self) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._target.hostname, self._target.port, ssl=self._trust)

    async def _requests(self, link: _Link, upstream: asyncio.StreamWriter) -> None:
        while True:
            head = await link.reader.readuntil(b"\r\n\r\n")
            body = await link.reader.readexactly(_content_length(head))
            kind = _kind_of(head)
            link.point = self.aim.take(kind) if kind else ""
            if link.point == "before":
                self._strike(link)
                return
            upstream.write(head + body)
            await upstream.drain()

    def _is_answer(self, data: bytes) -> bool:
        return True


class GcsRelay(_Relay):
    """Listens on all addresses: a Pod's GCS is asked for by the Pod's address."""

    def __init__(self, aim: Aim, port: int, target: Tuple[str, int]):
        self._target = target
        super().__init__(aim, "0.0.0.0", port, None)

    async def _connect(self) -> Tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self._target)

    async def _requests(self, link: _Link, upstream: asyncio.StreamWriter) -> None:
        first = True
        while data := await link.reader.read(_CHUNK):
            if first:
                self.begun.append(time.monotonic())
                first = False
            kind = "drain" if _DRAIN_TEXT in data else "raylet" if _RESIZE.search(data) else ""
            if kind:
                # Of two drains at once, the second leaves the shot for the first.
                link.point = self.aim.take(kind) or link.point
                if link.point == "before":
                    self._strike(link)
                    return
            upstream.write(data)
            await upstream.drain()

    def _is_answer(self, data: bytes) -> bool:
        """A GCS acknowledges and pings before it answers."""
        while len(data) >= 9:
            if data[3] == _DATA_FRAME:
                return True
            data = data[9 + int.from_bytes(data[:3], "big") :]
        return False


async def _first_of(tasks: List["asyncio.Future[None]"]) -> None:
    """Until one ends; the others are ended then."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _kind_of(head: bytes) -> str:
    """Of a write; "" for a read."""
    method, path = head.split(b" ", 2)[:2]
    if method == b"GET":
        return ""
    words = path.decode().partition("?")[0].split("/")
    # /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL..., or /api/VERSION/namespaces/...
    after = words[words.index("namespaces") + 2 :] if "namespaces" in words else []
    if after[:1] == ["pods"]:
        return "resize" if after[2:] == ["resize"] else "record"
    return _PLURALS.get(after[0], "") if after else ""
