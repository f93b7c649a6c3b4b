"""Nodes without raylets in a real GCS: each is registered as a raylet registers itself, by NodeInfoGcsService.

The environment HEAD_ENV keeps the head from asking them whether they live. They use nothing and are never idle
for the GCS, but each reply of the autoscaler's state has them.
"""

import secrets
import socket
import struct
from typing import Dict, List, Optional

from . import hpack
from .gcs_proxy import DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE

HEAD_ENV = {"RAY_health_check_initial_delay_ms": "1000000000"}
METHOD = b"/ray.rpc.NodeInfoGcsService/RegisterNode"
ACK = 0x1
WINDOW = 1 << 30
SECONDS = 30.0


class _Calls:
    """One HTTP/2 connection without TLS, one unary call after the other."""

    def __init__(self, host: str, port: int, headers: Dict[bytes, bytes]):
        self._socket = socket.create_connection((host, port), SECONDS)
        self._file = self._socket.makefile("rb")
        self._host = f"{host}:{port}".encode()
        self._headers = list(headers.items())
        self._decoder = hpack.Decoder()
        self._stream = 1
        self._socket.sendall(PREFACE + _frame(SETTINGS, 0, 0, b"") + _frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW)))

    def call(self, path: bytes, message: bytes) -> bytes:
        headers = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", self._host)]
        headers += [(b"content-type", b"application/grpc"), (b"te", b"trailers"), *self._headers]
        body = struct.pack(">BI", 0, len(message)) + message
        self._socket.sendall(
            _frame(HEADERS, END_HEADERS, self._stream, hpack.encode(headers)) + _frame(DATA, END_STREAM, self._stream, body)
        )
        reply = self._reply()
        self._stream += 2
        return reply[5:]

    def _reply(self) -> bytes:
        body, found = b"", {}
        while True:
            size, kind, flags, stream = _header(self._file.read(9))
            payload = self._file.read(size)
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._socket.sendall(_frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind == GOAWAY or kind == RST_STREAM and stream == self._stream:
                raise ConnectionError(f"the GCS ended the call: frame {kind}, {payload!r}")
            elif kind == HEADERS:
                found.update(self._decoder.decode(payload))
            elif kind == DATA:
                body += payload
            if kind in (HEADERS, DATA) and flags & END_STREAM and stream == self._stream:
                assert found.get(b"grpc-status") == b"0", f"RegisterNode: {found}"
                return body

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def _header(data: bytes) -> List[int]:
    if len(data) < 9:
        raise ConnectionError("the GCS closed the connection")
    return [int.from_bytes(data[:3], "big"), data[3], data[4], int.from_bytes(data[5:9], "big") & 0x7FFFFFFF]


def register(host: str, port: int, pods: List[str], group: str, resources: Dict[str, float], token: Optional[str] = None) -> None:
    """A node for each of ``pods``, all at the head's address."""
    from ray.core.generated.gcs_service_pb2 import RegisterNodeReply, RegisterNodeRequest

    calls = _Calls(host, port, {b"authorization": f"Bearer {token}".encode()} if token else {})
    try:
        for pod in pods:
            request = RegisterNodeRequest()
            info = request.node_info
            info.node_id, info.instance_id, info.node_name = secrets.token_bytes(28), pod, pod
            info.node_type_name, info.node_manager_address, info.node_manager_port = group, host, 1
            for name, amount in resources.items():
                info.resources_total[name] = amount
            info.labels["ray.io/node-group"] = group
            reply = RegisterNodeReply.FromString(calls.call(METHOD, request.SerializeToString()))
            assert reply.status.code == 0, f"{pod}: {reply.status.message}"
    finally:
        calls.close()
