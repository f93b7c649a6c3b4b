"""GCS servers over h2c for tests: the answers of each, and how it breaks the protocol.

``python -m rayscaler_e2e.hostile.heads PORT KIND=COUNT...`` serves forged heads until it is ended: tenant N of
the I-th kind at 127.66.I.N, the port is the same for all. It prints "ready" when all replies are made.
"""

import asyncio
import sys
from typing import Callable, Dict, List, NamedTuple, Optional

from .. import hpack
from ..faults import ProxyLoop, serve, until_gone
from ..gcs_proxy import (
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_MAX,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Frame,
    header_block,
    read_frame,
)
from . import replies

ACK = 0x1
UNKNOWN = 0xEE
WINDOW = 65535
FLOOD_BYTES = 65536
STATE = "GetClusterResourceState"
STORED_KEY = b"autoscaler_resource_request"
CLUSTER_ID = b"\x0a\x00\x12\x1c" + bytes(range(28))
ACCEPTED = b"\x08\x01"


def address(kind: int, tenant: int) -> str:
    return f"127.66.{kind}.{tenant}"


class Head(NamedTuple):
    """One forged head and its answer to a read of Ray's state."""

    message: bytes = b""
    stops_at: Optional[int] = None
    """So many bytes of the message are sent, and then nothing."""
    flood: Optional[Callable[[int], Frame]] = None
    """Made for the call's stream, and sent for ever."""
    before_headers: bool = False
    """The flood comes before the answer's first header block."""
    silent: bool = False
    """Calls are accepted and never answered."""
    stored: bytes = b""
    """The answer to a read of the key of request_resources() under autoscaler v1."""


Answer = Callable[[str, str, bytes], Head]
"""``answer(local address, method, request)``; called for every method but GetClusterId."""


class HeadServer:
    """Listens on ``port`` of these loopback addresses; ``answer`` runs in the thread of ``loop``."""

    def __init__(self, loop: ProxyLoop, addresses: List[str], port: int, answer: Answer):
        self._loop = loop
        self._answer = answer
        self._server = loop.call(serve(port, addresses, self._handle))

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()

        self._loop.call(end())

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(PREFACE))
        connection = _Connection(reader, writer, self._answer)
        try:
            await connection.run()
        finally:
            connection.end()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer):
        self._reader, self._writer, self._answer = reader, writer, answer
        self._address = writer.get_extra_info("sockname")[0]
        self._paths: Dict[int, str] = {}
        self._bodies: Dict[int, bytes] = {}
        self._initial = self._window = WINDOW
        self._windows: Dict[int, int] = {}
        self._changed = asyncio.Event()
        self._tasks: List[asyncio.Task] = []

    async def run(self) -> None:
        self._writer.write(Frame(SETTINGS, 0, 0, b"").encode())
        decoder = hpack.Decoder()
        while True:
            frame = await read_frame(self._reader)
            if frame.kind == HEADERS:
                headers = dict(decoder.decode(header_block(frame)))
                self._paths[frame.stream] = headers.get(b":path", b"").decode().rpartition("/")[2]
                self._bodies[frame.stream] = b""
                self._windows[frame.stream] = self._initial
            elif frame.kind == DATA:
                self._bodies[frame.stream] = self._bodies.get(frame.stream, b"") + frame.payload
                self._writer.write(_window_update(0, len(frame.payload)) if frame.payload else b"")
            elif frame.kind == GOAWAY:
                return
            else:
                self._control(frame)
            if frame.kind in (HEADERS, DATA) and frame.flags & END_STREAM:
                self._tasks.append(asyncio.ensure_future(self._take(frame.stream)))

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _control(self, frame: Frame) -> None:
        if frame.kind == SETTINGS and not frame.flags & ACK:
            for at in range(0, len(frame.payload), 6):
                if int.from_bytes(frame.payload[at : at + 2], "big") == 4:
                    self._set_initial(int.from_bytes(frame.payload[at + 2 : at + 6], "big"))
            self._writer.write(Frame(SETTINGS, ACK, 0, b"").encode())
        elif frame.kind == WINDOW_UPDATE:
            more = int.from_bytes(frame.payload, "big")
            if frame.stream:
                self._windows[frame.stream] = self._windows.get(frame.stream, 0) + more
            else:
                self._window += more
        elif frame.kind == PING and not frame.flags & ACK:
            self._writer.write(Frame(PING, ACK, 0, frame.payload).encode())
        elif frame.kind == RST_STREAM:
            self._windows.pop(frame.stream, None)
        self._changed.set()

    def _set_initial(self, size: int) -> None:
        for stream in self._windows:
            self._windows[stream] += size - self._initial
        self._initial = size

    async def _take(self, stream: int) -> None:
        method = self._paths.pop(stream)
        body = self._bodies.pop(stream)[5:]
        try:
            if method == "GetClusterId":
                await self._send(stream, Head(CLUSTER_ID))
            else:
                await self._send(stream, self._answer(self._address, method, body))
        except OSError:
            pass

    async def _send(self, stream: int, head: Head) -> None:
        if head.silent:
            return
        if head.flood and head.before_headers:
            await self._flood(head.flood(stream))
        block = hpack.encode([(b":status", b"200"), (b"content-type", b"application/grpc")])
        self._writer.write(Frame(HEADERS, END_HEADERS, stream, block).encode())
        if head.flood:
            await self._flood(head.flood(stream))
        message = b"\0" + len(head.message).to_bytes(4, "big") + head.message
        await self._send_data(stream, memoryview(message)[: head.stops_at])
        if head.stops_at:
            await until_gone(self._reader)
        block = hpack.encode([(b"grpc-status", b"0"), (b"grpc-message", b"")])
        self._writer.write(Frame(HEADERS, END_STREAM | END_HEADERS, stream, block).encode())
        self._windows.pop(stream, None)

    async def _send_data(self, stream: int, data: memoryview) -> None:
        while data and stream in self._windows:
            size = min(FRAME_MAX, len(data), self._window, self._windows[stream])
            if size <= 0:
                self._changed.clear()
                await self._changed.wait()
                continue
            self._window -= size
            self._windows[stream] -= size
            self._writer.write(Frame(DATA, 0, stream, bytes(data[:size])).encode())
            await self._writer.drain()
            data = data[size:]

    async def _flood(self, frame: Frame) -> None:
        one = frame.encode()
        chunk = one * (FLOOD_BYTES // len(one))
        while not self._writer.is_closing():
            self._writer.write(chunk)
            await self._writer.drain()


def _window_update(stream: int, size: int) -> bytes:
    return Frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4, "big")).encode()


def _early_hints(stream: int) -> Frame:
    return Frame(HEADERS, END_HEADERS, stream, hpack.encode([(b":status", b"103")]))


# The behaviour of each kind of head, by the name of its head Pod.
KINDS: Dict[str, Callable[[str], Head]] = {
    "shapes-300k": lambda pod: Head(replies.shapes_300k(pod)),
    "nodes-1m": lambda pod: Head(replies.nodes_1m(pod)),
    "nodes-empty": lambda pod: Head(replies.nodes_empty(pod)),
    "stall-60m": lambda pod: Head(bytes(62 * replies.MIB), stops_at=60 * replies.MIB),
    "shapes-100k": lambda pod: Head(replies.shapes_100k(pod)),
    "shapes-8k": lambda pod: Head(replies.shapes_8k(pod)),
    "gangs-1k": lambda pod: Head(replies.gangs_1k(pod)),
    "numbers": lambda pod: Head(replies.numbers(pod)),
    "flood-rst": lambda pod: Head(flood=lambda stream: Frame(RST_STREAM, 0, max(stream - 2, 1), bytes(4))),
    "flood-window": lambda pod: Head(flood=lambda stream: Frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")),
    "flood-data": lambda pod: Head(flood=lambda stream: Frame(DATA, 0, stream, b"")),
    "flood-1xx": lambda pod: Head(flood=_early_hints, before_headers=True),
    "flood-unknown": lambda pod: Head(flood=lambda stream: Frame(UNKNOWN, 0, 0, b"")),
    "flood-ping": lambda pod: Head(flood=lambda stream: Frame(PING, 0, 0, bytes(8))),
    "flood-settings": lambda pod: Head(flood=lambda stream: Frame(SETTINGS, 0, 0, b"")),
    "forged-demand": lambda pod: Head(replies.forged_demand(pod)),
    "topology-6k": lambda pod: Head(replies.topology_6k(pod)),
    "silent": lambda pod: Head(silent=True),
    "rest": lambda pod: Head(replies.at_rest(pod)),
    "kv-requests": lambda pod: Head(replies.at_rest(pod), stored=replies.stored_requests()),
}


def main(port: int, kinds: List[str]) -> None:
    heads: List[Head] = []
    addresses: List[str] = []
    for index, word in enumerate(kinds):
        kind, count = word.split("=")
        heads.append(KINDS[kind](f"{kind}-head"))
        addresses += [address(index, tenant) for tenant in range(1, int(count) + 1)]

    def answer(local: str, method: str, request: bytes) -> Head:
        head = heads[int(local.split(".")[2])]
        if method == STATE:
            return head
        return Head(head.stored) if STORED_KEY in request else Head(b"" if method == "InternalKVGet" else ACCEPTED)

    loop = ProxyLoop()
    HeadServer(loop, addresses, port, answer)
    print("ready", flush=True)
    loop.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
