"""Messages of a forged GCS (GetClusterResourceStateReply of src/gcs/ray.proto), written byte by byte: the
classes of protobuf would take minutes for the large ones."""

import struct
from typing import Dict, Iterable, Mapping

MIB = 1 << 20
RUNNING, DEAD, IDLE = 1, 2, 3
STRICT_PACK = 2
SESSION = "session_2026-01-01_00-00-00_000000_1"
HEAD_GROUP = "headgroup"
HEAD_TOTAL = {"node:__internal_head__": 1.0, "memory": 2e9}
LOWEST = -(2**63)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    data = b""
    while value >= 128:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def _bytes(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(payload)) + payload


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3]) + varint(value)


def _amounts(number: int, amounts: Mapping[str, float]) -> bytes:
    """A map from names to doubles."""
    entries = (_bytes(1, key.encode()) + b"\x11" + struct.pack("<d", value) for key, value in amounts.items())
    return b"".join(_bytes(number, entry) for entry in entries)


def node(pod: str, group: str, status: int, total: Mapping[str, float], idle_ms: int = 0) -> bytes:
    """One of ``node_states``; a RUNNING one has nothing available but its memory."""
    available = {key: value for key, value in total.items() if status == IDLE or not key.isupper()}
    made = _bytes(1, pod.encode().ljust(28, b"\0")[-28:]) + _bytes(2, pod.encode()) + _bytes(3, group.encode())
    made += _amounts(4, available) + _amounts(5, total)
    return _bytes(3, made + _number(8, status) + _number(9, idle_ms))


def head(pod: str) -> bytes:
    return node(pod, HEAD_GROUP, IDLE, HEAD_TOTAL, 1)


def request(amounts: Mapping[str, float]) -> bytes:
    return _amounts(1, amounts)


def shape(amounts: Mapping[str, float], count: int = 1) -> bytes:
    """One of ``pending_resource_requests``."""
    return _bytes(4, _bytes(1, request(amounts)) + _number(2, count))


def gang(bundles: Iterable[Dict[str, float]], details: str = "") -> bytes:
    """One of ``pending_gang_resource_requests``."""
    return _bytes(5, b"".join(_bytes(1, request(one)) for one in bundles) + _bytes(2, details.encode()))


def reply(*parts: bytes) -> bytes:
    return _bytes(1, _number(1, 1) + b"".join(parts) + _bytes(7, SESSION.encode()))


def stored_requests() -> bytes:
    """InternalKVGetReply: 0.6 MB of JSON, as request_resources() stores it under autoscaler v1."""
    return _bytes(2, b"[" + b'{"CPU": 1},' * 50_000 + b'{"CPU": 1}]')


# -- attacks; each takes the name of the head Pod ---------------------------------------------------------


def shapes_300k(pod: str) -> bytes:
    """300,000 shapes, 7.8 MB."""
    return reply(head(pod), *(shape({"custom1": 1 + i / 10000}) for i in range(300_000)))


def nodes_1m(pod: str) -> bytes:
    """1,000,000 nodes, 20.0 MB."""
    return reply(head(pod), *(_bytes(3, _bytes(1, b"node" + i.to_bytes(12, "big"))) for i in range(1_000_000)))


def nodes_empty(pod: str) -> bytes:
    """64 MiB of empty nodes, 2 bytes each."""
    return reply(head(pod), _bytes(3, b"") * (32 * MIB - 1000))


def shapes_100k(pod: str) -> bytes:
    """100,000 shapes that fit somewhere, 4.1 MB."""
    return reply(head(pod), *(shape({"CPU": 1 + i % 97 / 100, "memory": 1e6 + i}) for i in range(100_000)))


def shapes_8k(pod: str) -> bytes:
    """8,500 such shapes, 0.35 MB."""
    return reply(head(pod), *(shape({"CPU": 1 + i % 97 / 100, "memory": 1e6 + i}) for i in range(8_500)))


def gangs_1k(pod: str) -> bytes:
    """1,000 placement groups, no two alike."""
    return reply(head(pod), *(gang([{"GPU": 1.0, "memory": 1e6 + i}] * 8, f"{i:032x}:STRICT_SPREAD") for i in range(1000)))


def topology_6k(pod: str) -> bytes:
    """6,000 placement groups of 2 bundles with a topology_strategy, no two alike."""
    locality = _bytes(2, _bytes(1, _bytes(1, b"ray.io/gpu-domain") + _number(2, STRICT_PACK)))

    def one(number: int) -> bytes:
        bundle = _bytes(1, request({"CPU": 1 + number / 10000}))
        return _bytes(5, 2 * bundle + _bytes(2, f"{number:032x}:PACK".encode()) + _bytes(3, 2 * bundle + locality))

    return reply(head(pod), *(one(number) for number in range(6000)))


def numbers(pod: str) -> bytes:
    """Integers and amounts at and beyond their bounds, of a worker of this cluster and of demand."""
    worker = pod.replace("-head", "-workers-worker-0")
    nodes = [node(worker, "workers", IDLE, {"CPU": amount}, LOWEST) for amount in (1.0, -1.0, 1e308, float("nan"))]
    shapes = [shape({"CPU": amount}, count) for amount in (1.0, 1e308, float("inf")) for count in (LOWEST, -1, 2**63 - 1)]
    return reply(head(pod), *nodes, *shapes)


def forged_demand(pod: str) -> bytes:
    """1,000,000 bundles, and a placement group of 200,000 GPUs."""
    return reply(head(pod), shape({"GPU": 1.0}, 1_000_000), gang({"GPU": 100.0} for _ in range(2000)))


def at_rest(pod: str) -> bytes:
    return reply(head(pod))
