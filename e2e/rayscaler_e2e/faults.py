"""One fault at one request: both fault-injecting proxies check it before they forward anything.

A proxy names every request, call and watch event that passes through it; the board counts them by
name and by the phase of the scenario, and selects the one that has to fail.
"""

import asyncio
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Union


class Seen(NamedTuple):
    """The ``number``-th request ``name`` of ``phase``, counted from 1."""

    at: float
    phase: str
    name: str
    number: int


@dataclass
class Fault:
    """``kind`` for the ``number``-th request ``name`` of ``phase``; "" is any phase."""

    kind: str
    name: str
    phase: str = ""
    number: int = 1
    delivered_at: Optional[float] = None
    """Set by the proxy when the client really got it (time.monotonic())."""
    recovered_at: Optional[float] = None
    """When a later request of this name had a good answer."""


class Board:
    """Shared by the proxies of one scenario. Thread-safe: the test arms it, the proxies read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Dict[Any, int] = {}
        self._fault: Optional[Fault] = None
        self._taken = False
        self._phase = ""
        self.seen: List[Seen] = []

    def begin(self, fault: Optional[Fault] = None) -> None:
        """A new run: nothing was seen; ``fault`` None only counts."""
        with self._lock:
            self._counts.clear()
            self.seen = []
            self._fault, self._taken, self._phase = fault, False, ""

    @property
    def phase(self) -> str:
        return self._phase

    @phase.setter
    def phase(self, name: str) -> None:
        with self._lock:
            self._phase = name

    def take(self, name: str) -> Optional[str]:
        """Count one more ``name``; the fault that it is to meet, None for none."""
        with self._lock:
            key = (self._phase, name)
            self._counts[key] = number = self._counts.get(key, 0) + 1
            self.seen.append(Seen(time.monotonic(), *key, number))
            fault = self._fault
            if fault is None or self._taken or fault.name != name:
                return None
            if fault.phase and (fault.phase != self._phase or fault.number != number):
                return None
            if not fault.phase and fault.number != sum(n for (_, one), n in self._counts.items() if one == name):
                return None
            self._taken = True
            return fault.kind

    def delivered(self) -> None:
        with self._lock:
            if self._fault and self._taken and self._fault.delivered_at is None:
                self._fault.delivered_at = time.monotonic()

    def answered(self, name: str) -> None:
        """A request of this name had a good answer."""
        with self._lock:
            fault = self._fault
            if fault and fault.name == name and fault.delivered_at and fault.recovered_at is None:
                fault.recovered_at = time.monotonic()


class ProxyLoop:
    """One thread with an event loop, in which the proxies of a test live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def call(self, made: Any, seconds: float = 10.0) -> Any:
        """Run a coroutine there; its result."""
        return asyncio.run_coroutine_threadsafe(made, self._loop).result(seconds)

    def stop(self) -> None:
        self.call(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def join(self) -> None:
        """Until ``stop``, for a process that does nothing else."""
        self._thread.join()

    async def _cancel_all(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Reset(Exception):
    """The client's connection is to be reset now."""


async def serve(port: int, host: Union[str, List[str]], handle: Callable[..., Any], tls: Any = None) -> asyncio.AbstractServer:
    """``handle(reader, writer)`` for each connection; ``Reset`` from it sends a TCP RST."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except Reset:
            reset(writer)
        except (OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            close(writer)

    return await asyncio.start_server(one, host, port, ssl=tls, limit=16 << 20)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the peer gets a RST: bytes that it has not read yet may be lost, as in a crash."""
    raw = writer.get_extra_info("socket")
    if raw is not None and raw.fileno() >= 0:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def close(writer: asyncio.StreamWriter) -> None:
    if not writer.transport.is_closing():
        writer.close()


async def until_gone(reader: asyncio.StreamReader) -> None:
    """Open but silent: returns when the peer has given up."""
    try:
        while await reader.read(65536):
            pass
    except OSError:
        pass
