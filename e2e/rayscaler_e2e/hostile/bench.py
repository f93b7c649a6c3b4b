"""One controller with the chart's memory limit and a Lease, beside which tenants are hostile."""

import itertools
from typing import Any, List

from ..faults import ProxyLoop
from ..fleet import status_mib
from ..memory_limit import MemoryLimit, chart_limit_mib
from ..program import Controller
from ..ports import free_port
from . import kinds as hostile
from .honest import Honest
from .objects import RealApi


class Bench:
    """One controller in one namespace, and honest clusters on request."""

    def __init__(self, server: Any, directory: Any):
        self.namespace = server.create_namespace("hostile")
        server.ensure_service_account(self.namespace, "hostile")
        server.allow_leader_election(self.namespace, "hostile")
        self.server, self.directory = server, directory
        self.api, self.loop = RealApi(server), ProxyLoop()
        self.limit = MemoryLimit(chart_limit_mib())
        flags = ["--leader-elect", "--leader-elect-resource-namespace", self.namespace]
        self.controller = Controller(
            server, self.namespace, directory, *flags, account="hostile", env={"POD_NAME": "hostile"}, limit=self.limit
        )
        self.controller.wait_for("deciding starts", seconds=30)
        self.pid = self.controller.process.pid
        self._numbers = itertools.count(1)

    def honest(self) -> Honest:
        clusters = self.server.admin.of("rayclusters", self.namespace)
        return Honest(self.api, clusters, self.loop, self.namespace, next(self._numbers), free_port())

    def attack(self, kinds: List[hostile.Kind]) -> hostile.Attack:
        return hostile.Attack(self.api, kinds, 1, self.directory, self.namespace)

    def check(self) -> None:
        """The same process, within its memory, with the Lease that it began with."""
        assert self.controller.process.running() and self.controller.process.pid == self.pid
        assert status_mib(self.pid, "VmHWM") < self.limit.mib
        lease = self.server.admin.of("leases", self.namespace).get("rayscaler")["spec"]
        assert lease["holderIdentity"] == "hostile" and lease["leaseTransitions"] == 0

    def stop(self) -> None:
        self.controller.process.kill()
        self.limit.remove()
        self.loop.stop()
        self.server.empty_namespace(self.namespace)
