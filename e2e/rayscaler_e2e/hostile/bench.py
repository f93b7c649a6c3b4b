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

RBAC = "rbac.authorization.k8s.io"
REVIEWS = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]


class Bench:
    """One controller in one namespace, and honest clusters on request."""

    def __init__(self, server: Any, directory: Any):
        self.namespace = server.create_namespace("hostile")
        server.ensure_service_account(self.namespace, "hostile")
        server.allow_leader_election(self.namespace, "hostile")
        self.server, self.directory = server, directory
        self.api, self.loop = RealApi(server), ProxyLoop()
        self.limit = MemoryLimit(chart_limit_mib())
        flags = ["--leader-elect", "--leader-elect-resource-namespace", self.namespace, "--metrics-secure"]
        self._let("hostile", "reviews", REVIEWS)
        self._let("scraper", "metrics", [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])
        self.controller = Controller(
            server, self.namespace, directory, *flags, account="hostile", env={"POD_NAME": "hostile"}, limit=self.limit
        )
        self.controller.wait_for("deciding starts", seconds=30)
        self.pid = self.controller.process.pid
        self._numbers = itertools.count(1)

    def _let(self, account: str, name: str, rules: List[Any]) -> None:
        metadata = {"name": f"{self.namespace}-{name}"}
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": metadata["name"]}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        self.server.ensure_service_account(self.namespace, account)
        self.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules})
        self.server.apply(
            {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]}
        )

    def scraper(self) -> str:
        """The token of an account that may read /metrics."""
        return self.server.service_account_token(self.namespace, "scraper")

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
