"""A proxy for HTTP/2 without TLS in front of a Ray GCS that makes one chosen call fail (``faults``).

It passes frames on, so client and GCS keep their own flow control and settings. Header blocks are
decoded and encoded again: each side's table stays right when a block is left out or put in. A call is
named by its gRPC method: "DrainNode".
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import hpack
from .faults import Board, ProxyLoop, Reset, serve

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY = 0x1, 0x4, 0x8, 0x20
INTERNAL_ERROR = 2
FRAME_MAX = 16384
TRICKLE_PIECES, TRICKLE_SECONDS = 60, 0.1
GRPC_STATUS = {"unavailable": 14, "deadline-exceeded": 4, "internal": 13}
FAULTS = (
    "reset-before",
    "reset-after",
    "stall",
    "mute",
    "goaway",
    "rst-stream",
    *GRPC_STATUS,
    "cut-frame",
    "trickle",
    "garbage",
    "bad-message",
    "old-reply",
)


def faults_of(name: str) -> Tuple[str, ...]:
    """Old replies are of calls that tell a state."""
    return FAULTS if name == "GetClusterResourceState" else FAULTS[:-1]


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes

    def encode(self) -> bytes:
        return (
            len(self.payload).to_bytes(3, "big")
            + bytes([self.kind, self.flags])
            + self.stream.to_bytes(4, "big")
            + self.payload
        )


async def read_frame(reader: asyncio.StreamReader) -> Frame:
    head = await reader.readexactly(9)
    payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
    return Frame(head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload)


@dataclass
class _Call:
    name: str
    fault: Optional[str] = None
    """What its answer has to meet."""
    reply: bytes = b""
    """DATA of the answer so far."""
    silent: bool = False
    """No more frames of it go to the client."""


class GcsProxy:
    """Listens on ``port`` of all addresses, as a GCS does, for the GCS at ``target``."""

    def __init__(self, loop: ProxyLoop, board: Board, target: Tuple[str, int], port: int, seed: int = 1):
        self._loop = loop
        self.board = board
        self.target = target
        self.random = random.Random(seed)
        self.first_replies: Dict[str, bytes] = {}
        self._server = loop.call(serve(port, "0.0.0.0", self._handle))

    def forget(self) -> None:
        """A new run: "old-reply" may replay replies from here on."""
        self.first_replies.clear()

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()

        self._loop.call(end())

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection(*self.target)
        connection = _Connection(self, writer, upstream[1])
        try:
            upstream[1].write(await reader.readexactly(len(PREFACE)))
            await connection.run(reader, upstream[0])
        finally:
            upstream[1].close()


class _Connection:
    """One client's connection and the one to the GCS behind it."""

    def __init__(self, proxy: GcsProxy, client: asyncio.StreamWriter, server: asyncio.StreamWriter):
        self._proxy = proxy
        self._board = proxy.board
        self._client = client
        self._server = server
        self._calls: Dict[int, _Call] = {}
        self._stalled = False
        self._tasks: List[Any] = []

    async def run(self, client: asyncio.StreamReader, server: asyncio.StreamReader) -> None:
        self._tasks = [
            asyncio.ensure_future(self._pump(client, self._from_client)),
            asyncio.ensure_future(self._pump(server, self._from_server)),
        ]
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in self._tasks:
                task.cancel()

    async def _pump(self, reader: asyncio.StreamReader, pass_on: Any) -> None:
        decoder = hpack.Decoder()
        while True:
            frame = await read_frame(reader)
            if frame.kind == HEADERS:
                block = header_block(frame)
                while not frame.flags & END_HEADERS:
                    more = await read_frame(reader)
                    block += more.payload
                    frame = frame._replace(flags=frame.flags | more.flags & END_HEADERS)
                headers = decoder.decode(block)
                flags = frame.flags & END_STREAM | END_HEADERS
                frame = Frame(HEADERS, flags, frame.stream, hpack.encode(headers))
                await pass_on(frame, headers)
            else:
                await pass_on(frame, None)

    # -- to the GCS -------------------------------------------------------------------------------

    async def _from_client(self, frame: Frame, headers: Optional[hpack.Headers]) -> None:
        if headers is not None:
            path = dict(headers).get(b":path", b"").decode()
            call = self._calls[frame.stream] = _Call(path.rpartition("/")[2])
            call.fault = self._board.take(call.name)
            await self._before(frame.stream, call)
        call = self._calls.get(frame.stream)
        if call and call.fault == "kept":
            return
        self._server.write(frame.encode())
        await self._server.drain()

    async def _before(self, stream: int, call: _Call) -> None:
        """Faults that keep the call from the GCS."""
        fault = call.fault or ""
        if fault == "reset-before":
            self._board.delivered()
            raise Reset
        if fault == "goaway":
            last = max([one for one in self._calls if one < stream], default=0)
            self._send(Frame(GOAWAY, 0, 0, last.to_bytes(4, "big") + bytes(4)))
        elif fault in GRPC_STATUS:
            status = str(GRPC_STATUS[fault]).encode()
            headers = [(b":status", b"200"), (b"content-type", b"application/grpc")]
            headers += [(b"grpc-status", status), (b"grpc-message", b"injected")]
            self._send(Frame(HEADERS, END_STREAM | END_HEADERS, stream, hpack.encode(headers)))
        else:
            return
        self._board.delivered()
        call.fault = "kept"
        await self._client.drain()

    # -- to the client ----------------------------------------------------------------------------

    async def _from_server(self, frame: Frame, headers: Optional[hpack.Headers]) -> None:
        call = self._calls.get(frame.stream) if frame.stream else None
        ends = frame.kind in (HEADERS, DATA) and bool(frame.flags & END_STREAM)
        if call and frame.kind == DATA:
            call.reply += frame.payload
        if call and call.fault:
            await self._after(frame, call, ends)
        elif not (call and call.silent):
            self._send(frame)
        if call and ends and not call.fault and not call.silent:
            self._ended(call, headers)
        await self._client.drain()

    def _ended(self, call: _Call, headers: Optional[hpack.Headers]) -> None:
        if headers and dict(headers).get(b"grpc-status") == b"0":
            self._board.answered(call.name)
            self._proxy.first_replies.setdefault(call.name, call.reply)

    async def _after(self, frame: Frame, call: _Call, ends: bool) -> None:
        """Faults at the answer: the GCS has done the call."""
        fault = call.fault
        if fault in ("reset-after", "rst-stream", "mute", "stall"):
            await self._lose(frame, call, ends)
        elif fault in ("old-reply", "bad-message"):
            if frame.kind == HEADERS and ends:
                self._replace_reply(frame.stream, call)
                self._send(frame)
            elif frame.kind != DATA:
                self._send(frame)
        elif frame.kind != DATA:
            self._send(frame)
        else:
            await self._break(frame, fault or "")

    async def _lose(self, frame: Frame, call: _Call, ends: bool) -> None:
        if call.fault == "stall":
            self._board.delivered()
            self._stalled = True
        elif call.fault == "mute":
            self._board.delivered()
            call.silent, call.fault = True, None
        elif ends:
            self._board.delivered()
            if call.fault == "reset-after":
                raise Reset
            call.silent, call.fault = True, None
            self._send(Frame(RST_STREAM, 0, frame.stream, INTERNAL_ERROR.to_bytes(4, "big")))

    def _replace_reply(self, stream: int, call: _Call) -> None:
        size = max(len(call.reply) - 5, 64)
        reply = b"\0" + size.to_bytes(4, "big") + self._proxy.random.randbytes(size)
        if call.fault == "old-reply":
            reply = self._proxy.first_replies.get(call.name, b"")
        if reply:
            self._board.delivered()
        reply = reply or call.reply
        for start in range(0, len(reply), FRAME_MAX):
            self._send(Frame(DATA, 0, stream, reply[start : start + FRAME_MAX]))
        call.fault = None

    async def _break(self, frame: Frame, fault: str) -> None:
        data = frame.encode()
        self._board.delivered()
        if fault == "trickle":
            size = len(data) // TRICKLE_PIECES + 1
            for start in range(0, len(data), size):
                self._client.write(data[start : start + size])
                await self._client.drain()
                await asyncio.sleep(TRICKLE_SECONDS)
            self._calls[frame.stream].fault = None
            return
        if fault == "cut-frame":
            self._client.write(data[: len(data) // 2])
            await self._client.drain()
            raise EOFError
        self._client.write(self._proxy.random.randbytes(len(data)))
        await self._client.drain()
        self._stalled = True

    def _send(self, frame: Frame) -> None:
        if not self._stalled:
            self._client.write(frame.encode())


def header_block(frame: Frame) -> bytes:
    """The header block without padding and priority."""
    data = frame.payload
    if frame.flags & PADDED:
        data = data[1 : len(data) - data[0]]
    if frame.flags & PRIORITY:
        data = data[5:]
    return data
