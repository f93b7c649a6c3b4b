"""A TLS proxy in front of an API server that makes one chosen request fail (``faults``).

It ends the client's TLS with a certificate of the bench's CA, speaks HTTP/1.1, and passes the bearer
token on; with ``client_cert`` it identifies itself to the API server instead. A watch is read line
by line: each of its events is a request of its own for the board.

Names: "LIST pods", "GET pods", "WATCH pods", "PATCH rayclusters", "PATCH rayclusterautoscalers/status",
"POST events", a patch that names Pods to delete "PATCH rayclusters workersToDelete", and for the
events of a watch "EVENT pods" and "BOOKMARK pods".
"""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qs, urlsplit

from .faults import Board, ProxyLoop, Reset, serve, until_gone

RETRY_AFTER_SECONDS = 2
TRICKLE_SECONDS = 0.2
STATUS_FAULTS = {
    "409": ("Conflict", "the object has been modified; please apply your changes to the latest version and try again"),
    "410": ("Expired", "The provided resource version is too old"),
    "429": ("TooManyRequests", "too many requests, please try again later"),
    "500": ("InternalError", "Internal error occurred: injected"),
    "503": ("ServiceUnavailable", "the server is currently unable to handle the request"),
}
COMMON = ("reset-before", "reset-after", "stall", "410", "429", "500", "503")
WRITE_FAULTS = (*COMMON, "409", "half-body", "cut-json", "trickle")
READ_FAULTS = (*COMMON, "half-body", "cut-json", "trickle")
WATCH_FAULTS = COMMON
EVENT_FAULTS = ("reset-before", "stall", "half-body", "cut-json", "duplicate", "old-event", "410-event", "trickle")


def faults_of(name: str) -> Tuple[str, ...]:
    """The faults that a request of this name can meet."""
    verb = name.split()[0]
    return {"WATCH": WATCH_FAULTS, "EVENT": EVENT_FAULTS, "BOOKMARK": EVENT_FAULTS, "LIST": READ_FAULTS}.get(
        verb, READ_FAULTS if verb == "GET" else WRITE_FAULTS
    )


class Head(NamedTuple):
    """The first line of a request or an answer, and its headers in lower case."""

    first: str
    headers: List[Tuple[str, str]]

    def get(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def encode(self, drop: Tuple[str, ...] = (), **more: str) -> bytes:
        lines = [self.first] + [f"{key}: {value}" for key, value in self.headers if key not in drop]
        lines += [f"{key.replace('_', '-')}: {value}" for key, value in more.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


class Request(NamedTuple):
    head: Head
    body: bytes
    name: str
    resource: str


class ApiProxy:
    """Listens on ``port`` of 127.0.0.1 for the API server at ``url``."""

    def __init__(
        self,
        loop: ProxyLoop,
        board: Board,
        url: str,
        ca_file: Path,
        server_cert: Tuple[Path, Path],
        port: int,
        client_cert: Optional[Tuple[Path, Path]] = None,
    ):
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 443)
        self._board = board
        self._upstream_tls = ssl.create_default_context(cafile=str(ca_file))
        if client_cert:
            self._upstream_tls.load_cert_chain(*map(str, client_cert))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*map(str, server_cert))
        self.url = f"https://127.0.0.1:{port}"
        self._loop = loop
        self._oldest: Dict[str, bytes] = {}
        self._server = loop.call(serve(port, "127.0.0.1", self._handle, tls))

    def forget(self) -> None:
        """A new run: "old-event" may replay events from here on."""
        self._oldest.clear()

    def stop(self) -> None:
        async def end() -> None:
            self._server.close()

        self._loop.call(end())

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: Any = None
        try:
            while True:
                request = await read_request(reader)
                if request is None:
                    return
                fault = self._board.take(request.name)
                if fault == "reset-before":
                    self._board.delivered()
                    raise Reset
                if fault in STATUS_FAULTS:
                    self._board.delivered()
                    writer.write(status_answer(fault))
                    await writer.drain()
                    continue
                if upstream is None or upstream[1].transport.is_closing():
                    upstream = await asyncio.open_connection(*self._target, ssl=self._upstream_tls, limit=16 << 20)
                upstream[1].write(request.head.encode(("accept-encoding", "host"), Host="127.0.0.1") + request.body)
                if not await self._answer(request, fault, upstream[0], reader, writer):
                    return
        finally:
            if upstream:
                upstream[1].close()

    async def _answer(self, request: Request, fault: Optional[str], upstream: Any, reader: Any, writer: Any) -> bool:
        """Pass the answer on; False when this connection cannot be used again."""
        head = await read_head(upstream)
        if head is None:
            raise Reset
        good = head.first.split()[1].startswith("2")
        if request.name.startswith("WATCH") and good:
            if fault:
                await self._spoil(fault, head, b"", reader, writer)
            self._board.answered(request.name)
            writer.write(head.encode())
            await Watch(self._board, request.resource, self._oldest, reader, writer).relay(upstream)
            return False
        body = await read_body(upstream, head)
        if request.name.startswith("LIST") and good:
            self._remember(body)
        if fault:
            await self._spoil(fault, head, body, reader, writer)
            return True
        if good:
            self._board.answered(request.name)
        writer.write(framed(head, body))
        await writer.drain()
        return "close" not in head.get("connection").lower()

    def _remember(self, body: bytes) -> None:
        """Each object of a list as the event that a watch would have sent of it."""
        found = json.loads(body)
        kind = {"kind": found["kind"].removesuffix("List"), "apiVersion": found["apiVersion"]}
        for item in found["items"]:
            event = {"type": "ADDED", "object": {**kind, **item}}
            self._oldest.setdefault(item["metadata"]["uid"], json.dumps(event).encode() + b"\n")

    async def _spoil(self, fault: str, head: Head, body: bytes, reader: Any, writer: Any) -> None:
        """The API server has done the request; the answer that the client gets."""
        self._board.delivered()
        if fault == "cut-json":
            writer.write(framed(head, body[: len(body) // 2]))
        elif fault == "half-body":
            whole = framed(head, body)
            writer.write(whole[: len(whole) - len(body) + len(body) // 2])
            await writer.drain()
            raise Reset
        elif fault == "stall":
            await until_gone(reader)
            raise Reset
        elif fault == "trickle":
            await trickle(framed(head, body), len(body), reader, writer)
            raise Reset
        else:
            raise Reset


class Watch:
    """The stream of one watch, event by event."""

    def __init__(self, board: Board, resource: str, oldest: Dict[str, bytes], reader: Any, writer: Any):
        """``oldest``: the first event of each object by its uid, added to here."""
        self._board = board
        self._resource = resource
        self._oldest = oldest
        self._reader = reader
        self._writer = writer

    async def relay(self, upstream: Any) -> None:
        """Until either side ends it."""
        gone = asyncio.ensure_future(until_gone(self._reader))
        lines = asyncio.ensure_future(self._lines(upstream))
        try:
            done, _ = await asyncio.wait({gone, lines}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            gone.cancel()
            lines.cancel()

    async def _lines(self, upstream: Any) -> None:
        rest = b""
        while True:
            chunk = await read_chunk(upstream)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                await self._event(line + b"\n")
        self._send(rest)
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def _event(self, line: bytes) -> None:
        event = json.loads(line)
        kind = "BOOKMARK" if event["type"] == "BOOKMARK" else "EVENT"
        fault = self._board.take(f"{kind} {self._resource}")
        uid = event["object"].get("metadata", {}).get("uid", "")
        if fault:
            await self._spoil(fault, line, uid)
        else:
            self._send(line)
            self._board.answered(f"{kind} {self._resource}")
        await self._writer.drain()
        if kind == "EVENT":
            self._oldest.setdefault(uid, line)

    async def _spoil(self, fault: str, line: bytes, uid: str) -> None:
        if fault in ("duplicate", "old-event"):
            self._send(line)
            again = line if fault == "duplicate" else self._oldest.get(uid)
            if not again:
                return  # the object has no earlier event: not delivered
            self._send(again)
            self._board.delivered()
            return
        self._board.delivered()
        if fault == "stall":
            await asyncio.Event().wait()
        if fault == "410-event":
            status = status_object("410")
            self._send(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
            raise EOFError
        half = line[: len(line) // 2]
        if fault == "trickle":
            for index in range(len(line)):
                self._send(line[index : index + 1])
                await self._writer.drain()
                await asyncio.sleep(TRICKLE_SECONDS)
            return
        if fault in ("half-body", "cut-json"):
            self._send(half)
            await self._writer.drain()
        if fault == "cut-json":
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
            raise EOFError
        raise Reset

    def _send(self, data: bytes) -> None:
        if data:
            self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))


# -- HTTP/1.1 -------------------------------------------------------------------------------------


async def read_head(reader: asyncio.StreamReader) -> Optional[Head]:
    """None when the peer has closed between two messages."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = text.rstrip("\r\n").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return Head(first, [(key.strip().lower(), value.strip()) for key, _, value in pairs])


async def read_request(reader: asyncio.StreamReader) -> Optional[Request]:
    head = await read_head(reader)
    if head is None:
        return None
    body = await reader.readexactly(int(head.get("content-length") or 0))
    method, target, _ = head.first.split()
    return Request(head, body, *name_of(method, target, body))


def name_of(method: str, target: str, body: bytes) -> Tuple[str, str]:
    """The request's name and its resource: ("PATCH rayclusters", "rayclusters")."""
    url = urlsplit(target)
    words = [word for word in url.path.split("/") if word]
    words = words[2:] if words[:1] == ["api"] else words[3:] if words[:1] == ["apis"] else words
    if words[:1] == ["namespaces"] and len(words) > 2:
        words = words[2:]
    if not words:  # the served versions: /apis/ray.io/v1
        return f"{method} {url.path}", url.path
    resource = words[0]
    if method == "GET" and len(words) < 2:
        watch = parse_qs(url.query).get("watch", ["0"])[0] in ("1", "true")
        return f"{'WATCH' if watch else 'LIST'} {resource}", resource
    kind = "/".join([resource, *words[2:3]])
    if method == "PATCH" and resource == "rayclusters" and b"workersToDelete" in body:
        kind += " workersToDelete"
    return f"{method} {kind}", resource


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    """The next chunk, b"" after the last one."""
    size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
    data = await reader.readexactly(size + 2)
    return data[:size]


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes:
    if "chunked" not in head.get("transfer-encoding").lower():
        return await reader.readexactly(int(head.get("content-length") or 0))
    body = b""
    while chunk := await read_chunk(reader):
        body += chunk
    return body


def framed(head: Head, body: bytes) -> bytes:
    """The whole answer with a Content-Length."""
    return head.encode(("transfer-encoding", "content-length"), Content_Length=str(len(body))) + body


def status_object(code: str) -> Dict[str, Any]:
    reason, message = STATUS_FAULTS[code]
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**status, "message": message, "reason": reason, "code": int(code)}


def status_answer(code: str) -> bytes:
    body = json.dumps(status_object(code)).encode()
    more = {"Retry_After": str(RETRY_AFTER_SECONDS)} if code == "429" else {}
    head = Head(f"HTTP/1.1 {code} {STATUS_FAULTS[code][0]}", [("content-type", "application/json")])
    return head.encode(Content_Length=str(len(body)), **more) + body


async def trickle(data: bytes, slow: int, reader: Any, writer: Any) -> None:
    """The last ``slow`` bytes one by one, until the client gives up."""
    gone = asyncio.ensure_future(until_gone(reader))
    writer.write(data[: len(data) - slow])
    for index in range(len(data) - slow, len(data)):
        writer.write(data[index : index + 1])
        await asyncio.wait({gone}, timeout=TRICKLE_SECONDS)
        if gone.done():
            return
    gone.cancel()
