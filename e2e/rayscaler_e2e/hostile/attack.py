"""One kind of attack, and how to run tenants of several."""

import sys
import threading
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from .. import paths
from ..ports import free_port
from ..processes import Process
from ..wait import wait_until
from . import heads, objects
from .objects import Tenant

HEADS_SECONDS = 900.0  # they make their replies first, after everything else that runs


class Kind(NamedTuple):
    name: str
    what: str
    make: Callable[[Tenant], None]
    head: str = ""
    """One of heads.KINDS; "": the tenant has no Ray head."""
    step: Optional[Callable[[Tenant], None]] = None
    """Called again and again, every ``period`` seconds."""
    period: float = 1.0
    most: int = 10
    """Tenants, however many are asked for."""
    end: Optional[Callable[[Tenant], None]] = None
    """Before the tenant's objects are removed."""


class Attack:
    """Tenants of these kinds, ``each`` of every kind (at most its ``most``), from construction until ``stop``."""

    def __init__(self, api: objects.Api, kinds: List[Kind], each: int, work_dir: Path, namespace: str = ""):
        """``namespace``: of all of them; "": each has one of its own."""
        self._ended = threading.Event()
        self._threads: List[threading.Thread] = []
        self.errors: List[str] = []
        self.tenants: List[Tuple[Kind, Tenant]] = []
        self._heads: Optional[Process] = None
        port = free_port()
        served = [kind for kind in kinds if kind.head]
        if served:
            self._start_heads(port, [f"{kind.head}={each}" for kind in served], work_dir / "heads.log")
        for kind in kinds:
            for number in range(1, min(each, kind.most) + 1):
                ip = heads.address(served.index(kind), number) if kind.head else ""
                self.tenants.append((kind, Tenant(api, kind.name, number, ip, port, namespace)))
        for kind, tenant in self.tenants:
            kind.make(tenant)
        for kind in kinds:
            if kind.step:
                self._begin(kind, [tenant for other, tenant in self.tenants if other is kind])

    def _start_heads(self, port: int, words: List[str], log: Path) -> None:
        log.unlink(missing_ok=True)
        command = [sys.executable, "-u", "-m", "rayscaler_e2e.hostile.heads", str(port), *words]
        self._heads = Process("forged heads", ["nice", "-n", "10", *command], log, cwd=paths.E2E)

        def ready() -> bool:
            self._heads.check_running()
            return "ready" in self._heads.log_text()

        wait_until(ready, HEADS_SECONDS, "the forged heads")

    def _begin(self, kind: Kind, tenants: List[Tenant]) -> None:
        def run() -> None:
            while not self._ended.wait(kind.period):
                for tenant in tenants:
                    try:
                        kind.step(tenant)
                    except Exception as error:  # an attacker's request may well be refused
                        self.errors.append(f"{kind.name}: {error}")

        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(30)
        if self._heads:
            self._heads.stop(1)
        for kind, tenant in self.tenants:
            if kind.end:
                kind.end(tenant)
            tenant.remove()

    def __enter__(self) -> "Attack":
        return self

    def __exit__(self, *_exc: Any) -> None:
        self.stop()
