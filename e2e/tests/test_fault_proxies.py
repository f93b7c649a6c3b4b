"""The fault-injecting proxies themselves: a plain client really sees each fault, and nothing else fails."""

import asyncio
import json
import socket
import ssl
import time
from pathlib import Path
from typing import Any, List, Optional, Tuple

import pytest

from rayscaler_e2e import api_proxy, gcs_proxy, hpack
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.faults import Board, Fault, ProxyLoop, serve
from rayscaler_e2e.gcs_proxy import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, RST_STREAM, Frame
from rayscaler_e2e.kubeclient import KubeClient
from rayscaler_e2e.pki import CertificateAuthority
from rayscaler_e2e.wait import allowed, wait_until

# With the sample of `make torture`, which they serve.
pytestmark = pytest.mark.test_all

SILENCE_SECONDS = 1.0
POD = {"metadata": {"name": "a", "uid": "1", "resourceVersion": "7"}}
LIST = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [POD]}
EVENTS = [
    {"type": "MODIFIED", "object": {"metadata": {"name": "a", "uid": "1", "resourceVersion": str(version)}}}
    for version in (8, 9)
]


def wait_recovered(fault: Fault) -> None:
    """The client has the answer a moment before the proxy writes it down."""
    wait_until(lambda: fault.recovered_at, 5, "the fault to be over")


@pytest.fixture
def loop():
    made = ProxyLoop()
    yield made
    made.stop()


# -- the API server's proxy -----------------------------------------------------------------------


class Bench:
    """A small API server (one list, one watch with two events, then silence) and the proxy before it."""

    def __init__(self, loop: ProxyLoop, directory: Path):
        pki = CertificateAuthority(directory)
        self.ca_file = pki.file
        cert = pki.server()
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*map(str, cert))
        self.asked: List[str] = []
        port = free_port()
        loop.call(serve(port, "127.0.0.1", self._answer, tls))
        self.board = Board()
        self.proxy = api_proxy.ApiProxy(loop, self.board, f"https://127.0.0.1:{port}", self.ca_file, cert, free_port())

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await api_proxy.read_request(reader):
            self.asked.append(request.head.first.rsplit(" ", 1)[0])
            if request.name == "WATCH pods":
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for event in EVENTS:
                    line = json.dumps(event).encode() + b"\n"
                    writer.write(b"%x\r\n%s\r\n" % (len(line), line))
                    await writer.drain()
                    await asyncio.sleep(0.05)
                await asyncio.sleep(30)
            body = json.dumps(LIST).encode()
            writer.write(api_proxy.framed(api_proxy.Head("HTTP/1.1 200 OK", []), body))
            await writer.drain()

    def fail(self, kind: str, name: str, number: int = 1) -> Fault:
        fault = Fault(kind, name, number=number)
        self.board.begin(fault)
        return fault

    def send(self, method: str = "GET", path: str = "/api/v1/pods", body: bytes = b"") -> ssl.SSLSocket:
        tls = ssl.create_default_context(cafile=str(self.ca_file))
        port = int(self.proxy.url.rpartition(":")[2])
        plain = socket.create_connection(("127.0.0.1", port))
        made = tls.wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        made.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return made

    def ask(self, *request: Any) -> Tuple[bytes, str]:
        """The bytes received within a second, and their end: reset, closed, silent."""
        client, got = self.send(*request), b""
        deadline = time.monotonic() + allowed(SILENCE_SECONDS)
        try:
            while True:
                client.settimeout(max(deadline - time.monotonic(), 0.01))
                piece = client.recv(65536)
                got += piece
                if not piece:
                    return got, "closed"
        except TimeoutError:
            return got, "silent"
        except OSError:
            return got, "reset"
        finally:
            client.close()


@pytest.fixture
def bench(loop, work_dir):
    return Bench(loop, work_dir / "pki")


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def events_of(answer: bytes) -> List[Any]:
    lines = [line for line in body_of(answer).split(b"\r\n") if line.endswith(b"}\n")]
    return [json.loads(line) for line in lines]


def versions(answer: bytes) -> List[str]:
    return [event["object"]["metadata"]["resourceVersion"] for event in events_of(answer)]


def test_without_a_fault_all_goes_through(bench):
    bench.board.begin()
    answer, _ = bench.ask()
    assert json.loads(body_of(answer)) == LIST
    answer, end = bench.ask("GET", "/api/v1/pods?watch=1")
    assert events_of(answer) == EVENTS and end == "silent"
    assert [one.name for one in bench.board.seen] == ["LIST pods", "WATCH pods", "EVENT pods", "EVENT pods"]


@pytest.mark.parametrize("kind", api_proxy.STATUS_FAULTS)
def test_a_status(bench, kind):
    fault = bench.fail(kind, "LIST pods")
    answer, _ = bench.ask()
    assert answer.startswith(f"HTTP/1.1 {kind} ".encode())
    assert (b"Retry-After: 2\r\n" in answer) == (kind == "429")
    assert json.loads(body_of(answer))["code"] == int(kind)
    assert bench.asked == [] and fault.delivered_at and not fault.recovered_at
    assert json.loads(body_of(bench.ask()[0])) == LIST
    wait_recovered(fault)


def test_a_reset_before_and_after(bench):
    for kind, asked in (("reset-before", 0), ("reset-after", 1)):
        bench.asked.clear()
        fault = bench.fail(kind, "LIST pods")
        assert bench.ask() == (b"", "reset")
        assert len(bench.asked) == asked and fault.delivered_at


def test_a_stall_and_a_trickle(bench):
    bench.fail("stall", "LIST pods")
    assert bench.ask() == (b"", "silent") and len(bench.asked) == 1
    bench.fail("trickle", "LIST pods")
    answer, end = bench.ask()
    assert end == "silent" and 1 <= len(body_of(answer)) <= 9


def test_half_of_a_body_and_half_of_a_json_value(bench):
    whole = json.dumps(LIST).encode()
    bench.fail("half-body", "LIST pods")
    answer, end = bench.ask()
    assert end == "reset" and body_of(answer) == whole[: len(whole) // 2] and b"Length: %d" % len(whole) in answer
    bench.fail("cut-json", "LIST pods")
    answer, end = bench.ask()
    assert end == "silent" and body_of(answer) == whole[: len(whole) // 2] and b"Length: %d" % len(whole) not in answer


def test_the_second_request_of_a_name_and_no_other(bench):
    fault = bench.fail("500", "PATCH rayclusters workersToDelete", 2)
    path = "/apis/ray.io/v1/namespaces/n/rayclusters/c"
    got = [bench.ask("PATCH", path, body)[0][9:12] for body in (b"workersToDelete", b"replicas", b"workersToDelete")]
    assert got == [b"200", b"200", b"500"] and fault.delivered_at


def watched(bench: Bench, kind: str, number: int = 1) -> Tuple[bytes, str]:
    fault = bench.fail(kind, "EVENT pods", number)
    bench.proxy.forget()
    found = bench.ask("GET", "/api/v1/pods?watch=1")
    assert fault.delivered_at
    return found


def test_faults_of_a_watch_event(bench):
    assert versions(watched(bench, "duplicate")[0]) == ["8", "8", "9"]
    assert versions(watched(bench, "old-event", 2)[0]) == ["8", "9", "8"]
    answer, end = watched(bench, "stall", 2)
    assert versions(answer) == ["8"] and end == "silent"
    answer, end = watched(bench, "reset-before", 2)
    assert versions(answer) == ["8"] and end == "reset"
    answer, end = watched(bench, "trickle", 2)
    assert versions(answer) == ["8"] and end == "silent"
    answer, end = watched(bench, "410-event", 2)
    assert events_of(answer)[1]["object"]["code"] == 410 and answer.endswith(b"0\r\n\r\n") and end == "closed"
    half = json.dumps(EVENTS[1]).encode()[:20]
    answer, end = watched(bench, "half-body", 2)
    assert half in answer and versions(answer) == ["8"] and end == "reset"
    answer, end = watched(bench, "cut-json", 2)
    assert half in answer and versions(answer) == ["8"] and answer.endswith(b"0\r\n\r\n") and end == "closed"


def test_an_old_event_may_come_from_the_list(bench):
    bench.board.begin()
    bench.proxy.forget()
    bench.ask()
    fault = Fault("old-event", "EVENT pods")
    bench.board.begin(fault)
    assert versions(bench.ask("GET", "/api/v1/pods?watch=1")[0]) == ["8", "7", "9"] and fault.delivered_at


def test_a_phase(bench):
    fault = Fault("500", "LIST pods", "down", 2)
    bench.board.begin(fault)
    codes = []
    for phase in ("up", "up", "down", "down", "down"):
        bench.board.phase = phase
        codes.append(bench.ask()[0][9:12])
    assert codes == [b"200", b"200", b"200", b"500", b"200"]
    wait_recovered(fault)
    assert fault.recovered_at > fault.delivered_at


def test_the_clients_identity_reaches_the_real_server(loop, api_server, namespace):
    cert = api_server.pki.server("proxy")
    board = Board()
    own = api_server.pki.client("proxy-user")
    for client_cert, token, user in (
        (None, api_server.sidecar_token(namespace, "some"), f"system:serviceaccount:{namespace}:some"),
        (own, None, "proxy-user"),
    ):
        proxy = api_proxy.ApiProxy(loop, board, api_server.url, api_server.ca_file, cert, free_port(), client_cert)
        client = KubeClient(proxy.url, api_server.ca_file, token=token)
        answer = client.request("GET", f"/api/v1/namespaces/{namespace}/configmaps")
        assert answer.status == 403 and user in str(answer.body)
        proxy.stop()


# -- the GCS's proxy ------------------------------------------------------------------------------


class Gcs:
    """A small gRPC server, which answers each call with the number of the call, and the proxy before it."""

    def __init__(self, loop: ProxyLoop):
        self.asked: List[str] = []
        port = free_port()
        loop.call(serve(port, "127.0.0.1", self._serve))
        self.board = Board()
        self.port = free_port()
        self.proxy = gcs_proxy.GcsProxy(loop, self.board, ("127.0.0.1", port), self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(gcs_proxy.PREFACE))
        decoder = hpack.Decoder()
        while True:
            frame = await gcs_proxy.read_frame(reader)
            if frame.kind != HEADERS:
                continue
            self.asked.append(dict(decoder.decode(frame.payload))[b":path"].decode())
            reply = b"reply %d" % len(self.asked)
            for one in (
                # An indexed name of the static table: 8 is ":status: 200".
                Frame(HEADERS, END_HEADERS, frame.stream, b"\x88"),
                Frame(DATA, 0, frame.stream, b"\0" + len(reply).to_bytes(4, "big") + reply),
                Frame(HEADERS, END_HEADERS | END_STREAM, frame.stream, hpack.encode([(b"grpc-status", b"0")])),
            ):
                writer.write(one.encode())
            await writer.drain()

    def fail(self, kind: str, number: int = 1) -> Fault:
        fault = Fault(kind, "Method", number=number)
        self.asked.clear()
        self.proxy.forget()
        self.board.begin(fault)
        return fault


class GrpcClient:
    """One connection; ``call`` returns the frames of one call and how it ended."""

    def __init__(self, port: int):
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(allowed(SILENCE_SECONDS))
        self._socket.sendall(gcs_proxy.PREFACE)
        self._decoder = hpack.Decoder()
        self._stream = -1
        self._rest = b""
        self.headers: List[hpack.Headers] = []

    def call(self) -> Tuple[List[Frame], str]:
        self._stream += 2
        block = hpack.encode([(b":method", b"POST"), (b":path", b"/some.Service/Method")])
        self._socket.sendall(Frame(HEADERS, END_HEADERS | END_STREAM, self._stream, block).encode())
        frames: List[Frame] = []
        try:
            while not frames or not self._last(frames[-1]):
                frame = self._frame()
                if frame is None:
                    return frames, "closed"
                if frame.kind == HEADERS:
                    self.headers.append(self._decoder.decode(frame.payload))
                frames.append(frame)
            return frames, "ended"
        except TimeoutError:
            return frames, "silent"
        except OSError:
            return frames, "reset"

    @staticmethod
    def _last(frame: Frame) -> bool:
        return frame.kind in (RST_STREAM, GOAWAY) or bool(frame.kind in (HEADERS, DATA) and frame.flags & END_STREAM)

    def _frame(self) -> Optional[Frame]:
        while True:
            size = 9 + int.from_bytes(self._rest[:3], "big")
            if len(self._rest) >= max(size, 9):
                data, self._rest = self._rest[:size], self._rest[size:]
                return Frame(data[3], data[4], int.from_bytes(data[5:9], "big"), data[9:])
            piece = self._socket.recv(65536)
            if not piece:
                return None
            self._rest += piece


def replies(frames: List[Frame]) -> List[bytes]:
    return [frame.payload[5:] for frame in frames if frame.kind == DATA]


@pytest.fixture
def gcs(loop):
    return Gcs(loop)


def test_a_call_goes_through(gcs):
    gcs.board.begin()
    client = GrpcClient(gcs.port)
    for number in (1, 2):
        frames, end = client.call()
        assert replies(frames) == [b"reply %d" % number] and end == "ended"
    assert gcs.asked == ["/some.Service/Method"] * 2
    assert [(one.name, one.number) for one in gcs.board.seen] == [("Method", 1), ("Method", 2)]


@pytest.mark.parametrize("kind, asked, end", [("reset-before", 0, "reset"), ("reset-after", 1, "reset")])
def test_a_connection_that_is_reset(gcs, kind, asked, end):
    fault = gcs.fail(kind)
    assert GrpcClient(gcs.port).call() == ([], end)
    assert len(gcs.asked) == asked and fault.delivered_at
    assert GrpcClient(gcs.port).call()[1] == "ended"
    wait_recovered(fault)


def test_a_connection_or_a_call_that_is_silent(gcs):
    gcs.fail("stall")
    client = GrpcClient(gcs.port)
    assert client.call() == ([], "silent") and client.call() == ([], "silent")
    gcs.fail("mute")
    client = GrpcClient(gcs.port)
    assert client.call() == ([], "silent") and client.call()[1] == "ended"


def test_goaway_and_rst_stream(gcs):
    gcs.fail("goaway", 2)
    client = GrpcClient(gcs.port)
    client.call()
    ((goaway,), _) = client.call()
    assert goaway == Frame(GOAWAY, 0, 0, (1).to_bytes(4, "big") + bytes(4)) and len(gcs.asked) == 1
    gcs.fail("rst-stream")
    client = GrpcClient(gcs.port)
    ((reset,), _) = client.call()
    assert (reset.kind, reset.stream) == (RST_STREAM, 1) and len(gcs.asked) == 1
    assert replies(client.call()[0]) == [b"reply 2"]


@pytest.mark.parametrize("kind", gcs_proxy.GRPC_STATUS)
def test_a_grpc_status(gcs, kind):
    gcs.fail(kind)
    client = GrpcClient(gcs.port)
    client.call()
    assert dict(client.headers[0])[b"grpc-status"] == str(gcs_proxy.GRPC_STATUS[kind]).encode()
    assert gcs.asked == []
    assert replies(client.call()[0]) == [b"reply 1"]


def test_broken_bytes(gcs):
    gcs.fail("cut-frame")
    frames, end = GrpcClient(gcs.port).call()
    assert [frame.kind for frame in frames] == [HEADERS] and end == "closed"
    gcs.fail("trickle")
    began = time.monotonic()
    frames, end = GrpcClient(gcs.port).call()
    assert replies(frames) == [b"reply 1"] and time.monotonic() - began > 1
    gcs.fail("garbage")
    frames, _ = GrpcClient(gcs.port).call()
    assert b"reply" not in b"".join(frame.encode() for frame in frames)
    gcs.fail("bad-message")
    client = GrpcClient(gcs.port)
    frames, end = client.call()
    assert end == "ended" and len(replies(frames)[0]) == 64 and b"reply" not in replies(frames)[0]
    assert replies(client.call()[0]) == [b"reply 2"]


def test_a_reply_of_before(gcs):
    fault = gcs.fail("old-reply", 3)
    client = GrpcClient(gcs.port)
    assert [replies(client.call()[0])[0] for _ in range(4)] == [b"reply 1", b"reply 2", b"reply 1", b"reply 4"]
    assert fault.delivered_at


def test_header_blocks_with_tables_and_huffman_codes():
    # RFC 7541, C.4.1 and C.4.2: the second block refers to the table that the first one filled.
    decoder = hpack.Decoder()
    first = decoder.decode(bytes.fromhex("828684418cf1e3c2e5f23a6ba0ab90f4ff"))
    assert first[-1] == (b":authority", b"www.example.com")
    second = decoder.decode(bytes.fromhex("828684be5886a8eb10649cbf"))
    assert second[-2:] == [(b":authority", b"www.example.com"), (b"cache-control", b"no-cache")]
    long = [(b"x", b"y" * 126), (b"x", b"y" * 127), (b"x", b"y" * 5000)]
    assert hpack.Decoder().decode(hpack.encode(long)) == long
