"""Two replicas with one Lease: one acts, the other waits with filled caches, and takes over.

The clusters have no head: minReplicas is honoured without Ray, so every edit of it is a patch of
the acting replica. The API server's own log names it (``ApiServer.writes``): each replica has a
ServiceAccount of its own.
"""

import signal
import time
from datetime import datetime
from typing import Any, Callable, Dict, List

import pytest

from rayscaler_e2e import rayclusters
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.program import Controller
from rayscaler_e2e.relay import HoldingRelay
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

LEASE, RENEW, RETRY = 4.0, 3.0, 0.5
FLAGS = ["--leader-elect", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3"]
FLAGS += ["--leader-elect-retry-period=500ms"]
# Delay of a loaded machine.
LATE = 4.0


class Replicas:
    """Replicas of one test, by ServiceAccount, and the RayCluster that they scale."""

    def __init__(self, server: ApiServer, namespace: str, start: Callable[..., Controller]):
        self.server, self.namespace = server, namespace
        self._start = start
        self.controllers: Dict[str, Controller] = {}
        self._clusters = server.admin.of("rayclusters", namespace)
        self._leases = server.admin.of("leases", namespace)
        self._clusters.create(rayclusters.minimal("demo", rayclusters.group("workers", replicas=0, maxReplicas=100)))

    def start(self, account: str, *flags: str, url: str = "") -> Controller:
        self.controllers[account] = self._start(account, *flags, url=url)
        return self.controllers[account]

    def lease(self) -> Dict[str, Any]:
        return (self._leases.find("rayscaler") or {}).get("spec") or {}

    def holder(self) -> str:
        return self.lease().get("holderIdentity", "")

    def wait_holder(self, *accounts: str, seconds: float = 15.0) -> str:
        return wait_until(lambda: self.holder() in accounts and self.holder(), seconds, f"one of {accounts} to hold the Lease")

    def replicas(self) -> int:
        return self._clusters.get("demo")["spec"]["workerGroupSpecs"][0]["replicas"]

    def ask(self, count: int) -> None:
        path = "/spec/workerGroupSpecs/0/minReplicas"
        self._clusters.patch_json("demo", [{"op": "add", "path": path, "value": count}])

    def scale(self, count: int) -> None:
        self.ask(count)
        wait_until(lambda: self.replicas() == count, 15, f"replicas to become {count}")

    def acts(self, account: str) -> List[Any]:
        """Everything that it asked to be changed but Leases."""
        return [one for one in self.server.writes(self.namespace) if one.account == account and one.plural != "leases"]


@pytest.fixture
def replicas(api_server, namespace, work_dir, artefacts):
    made: List[Controller] = []

    def start(account: str, *more: str, url: str) -> Controller:
        flags = [*FLAGS, "--leader-elect-resource-namespace", namespace, *more]
        api_server.ensure_service_account(namespace, account)
        api_server.allow_leader_election(namespace, account)
        one = Controller(
            api_server, namespace, work_dir / account, *flags, account=account, env={"POD_NAME": account}, url=url
        )
        made.append(one)
        artefacts.log(account, one.log)
        return one

    yield Replicas(api_server, namespace, start)
    for one in made:
        if one.process.running():
            one.process.kill()


def pair(replicas: Replicas, *flags: str, url: str = "") -> None:
    """"one" leads (with these flags, and reaches the API server by ``url``), "two" waits."""
    replicas.start("one", *flags, url=url).wait_for("deciding starts", seconds=15)
    replicas.start("two").wait_for("caches are filled, waiting to lead", seconds=15)
    assert replicas.holder() == "one"


def test_one_acts_and_hands_over(replicas):
    pair(replicas)
    one, two = replicas.controllers["one"], replicas.controllers["two"]
    replicas.scale(1)
    replicas.scale(2)
    patches = [act for act in replicas.acts("one") if (act.method, act.plural) == ("PATCH", "rayclusters")]
    assert [act.status for act in patches if act.status != 409] == [200, 200]
    assert replicas.acts("two") == []
    for program, leads in ((one, 1), (two, 0)):
        assert program.get("/readyz", "probes")[0] == 200
        wait_until(lambda: f"\nrayscaler_leader {leads}\n" in program.get("/metrics")[1], 10, f"rayscaler_leader {leads}")
    two.wait_for("another replica leads", '"one"')
    lease = replicas.lease()
    assert lease["leaseDurationSeconds"] == 4 and lease["leaseTransitions"] == 0

    started = time.monotonic()
    assert one.stop() == 0
    stopped = time.monotonic()
    done = len(replicas.acts("one"))
    two.wait_for("deciding starts", seconds=RETRY + LATE)
    took = time.monotonic() - stopped
    print(f"handed over {took:.2f} s after the exit, which took {stopped - started:.2f} s; retry period {RETRY} s")
    one.wait_for("gave the Lease back")
    assert replicas.holder() == "two" and replicas.lease()["leaseTransitions"] == 1
    replicas.scale(3)
    assert replicas.acts("two") and len(replicas.acts("one")) == done


def test_a_killed_leader_is_followed_when_its_lease_runs_out(replicas):
    pair(replicas)
    replicas.scale(1)
    killed = time.monotonic()
    replicas.controllers["one"].kill()
    renewed = datetime.strptime(replicas.lease()["renewTime"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
    replicas.ask(2)
    left = max(0, renewed + LEASE - RETRY - time.time())
    hold(lambda: replicas.replicas() == 1, left, "nobody acts while the Lease is valid")
    replicas.wait_holder("two", seconds=LEASE + LATE)
    took = time.monotonic() - killed
    wait_until(lambda: replicas.replicas() == 2, LATE, "the new leader to act")
    acted = time.monotonic() - killed
    print(f"taken over {took:.2f} s after kill -9, first patch {acted:.2f} s; lease {LEASE} s, retry period {RETRY} s")
    # It comes back as one that waits.
    replicas.controllers["one"].start()
    replicas.controllers["one"].wait_for("another replica leads", '"two"')
    assert replicas.holder() == "two"


def test_a_stopped_leader_does_not_act_when_it_goes_on(replicas):
    pair(replicas)
    replicas.scale(1)
    one, two = replicas.controllers["one"], replicas.controllers["two"]
    one.process.freeze()
    replicas.wait_holder("two", seconds=LEASE + RETRY + LATE)
    replicas.scale(2)
    done = len(replicas.server.writes(replicas.namespace))
    # No other replica acts on the events that the old leader finds in its watch when it continues.
    two.process.freeze()
    replicas.ask(3)
    one.process.signal(signal.SIGCONT)
    wait_until(lambda: not one.process.running(), 10, "the old leader to end")
    mine = [act for act in replicas.server.writes(replicas.namespace)[done:] if act.account == "one"]
    assert mine == [] and replicas.replicas() == 2
    assert one.process.returncode() == 1
    one.wait_for("the Lease", "is lost, another replica may act now")
    # This one continues, unless the test was so slow that it has lost the Lease as well.
    two.process.signal(signal.SIGCONT)
    wait_until(lambda: replicas.replicas() == 3 or two.process.returncode() == 1, 15, "the leader to go on")


def test_a_leader_without_an_api_server_ends(replicas, api_server):
    pair(replicas)
    one, two = replicas.controllers["one"], replicas.controllers["two"]
    api_server.freeze()
    try:
        frozen = time.monotonic()
        wait_until(lambda: not one.process.running(), RENEW + LATE, "the leader to end")
        took = time.monotonic() - frozen
        print(f"ended {took:.2f} s after the API server froze; renew deadline {RENEW} s")
        assert two.process.running()
    finally:
        api_server.thaw()
    assert one.process.returncode() == 1
    one.wait_for("is lost", "it was not renewed for")
    replicas.wait_holder("two", seconds=LEASE + LATE)
    replicas.scale(1)


def test_a_leader_that_is_cut_off_stops_before_another_starts(replicas, api_server):
    port = free_port()
    with HoldingRelay(port, ("127.0.0.1", api_server.port)) as relay:
        # Two seconds between the end of the one and the begin of the other, for a loaded machine.
        pair(replicas, "--leader-elect-renew-deadline=2", url=f"https://127.0.0.1:{port}")
        one, two = replicas.controllers["one"], replicas.controllers["two"]
        replicas.scale(1)
        assert replicas.acts("one")
        relay.cut()
        done = len(replicas.acts("one"))
        replicas.ask(2)
        wait_until(lambda: replicas.replicas() == 2, LEASE + RETRY + LATE, "the other one to act")
        wait_until(lambda: not one.process.running(), LATE, "the old leader to end")
        assert one.process.returncode() == 1
        stopped = one.wait_for("is lost", "it was not renewed for")
        started = two.wait_for("deciding starts")
        print(f"cut off: stopped at {stopped['time']}, the other one decides from {started['time']}")
        # Both are printed in the same form, by the same clock.
        assert stopped["time"] < started["time"]
        assert len(replicas.acts("one")) == done and replicas.acts("two")


def test_without_the_right_nobody_leads_and_the_cure_is_told(replicas, api_server, namespace, work_dir, artefacts):
    flags = [*FLAGS, "--leader-elect-resource-namespace", namespace]
    with Controller(api_server, namespace, work_dir / "poor", *flags, account="poor") as poor:
        artefacts.log("poor", poor.log)
        line = poor.wait_for("cannot use the Lease (needs get, create and update of leases.coordination.k8s.io)")
        assert 'resources: ["leases"]' in line["error"], line
        poor.wait_for("caches are filled, waiting to lead")
        replicas.ask(1)
        hold(lambda: replicas.replicas() == 0, 2, "who does not lead does not act")
        assert poor.get("/readyz", "probes")[0] == 200
    assert replicas.acts("poor") == []
