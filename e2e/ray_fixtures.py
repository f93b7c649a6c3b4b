"""Fixtures of the scenarios with real Ray (a pytest plugin, named in conftest.py).

``standins``      operator and kubelet stand-ins of the session, started on first use
``scenario``      makes a RayCluster in the test's own namespace: ``scenario(manifest)``; its workers are raylets without
                  the Python of `ray start` around them, unless the manifest has ray_manifests.RAY_START_ENV
``shared_head``   one head for the whole session; ``shared(groups)`` hands it over with other groups
``controller``    the program under test: ``controller(namespace, *flags)``; ``without="events"`` leaves a right out
``pool``          a GPUPool of the test, with a namespace for each team; deleted after the test
``teams``         RayClusters with a head for teams of the pool: ``teams.add("a", "b")``
"""

from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.pools import Pool
from rayscaler_e2e.program import Controller
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.teams import Teams

Object = Dict[str, Any]

rm.start_quickly()


@pytest.fixture(scope="session")
def standins(api_server: ApiServer):
    with StandIns(api_server, paths.work_root() / "standins") as made:
        yield made


@pytest.fixture
def controller(api_server: ApiServer, work_dir: Path, artefacts: Any):
    """``controller(namespace, *flags, **how)`` starts the program (``Controller``); it is ended after the test."""
    made: List[Controller] = []

    def start(namespace: str, *flags: str, **how: Any) -> Controller:
        directory = work_dir / f"controller-{len(made) + 1}"
        made.append(Controller(api_server, namespace, directory, *flags, **how))
        artefacts.log(f"controller {len(made)}", made[-1].log)
        return made[-1]

    yield start
    for one in made:
        one.stop()


@pytest.fixture
def pool(api_server: ApiServer, namespace: str, artefacts: Any):
    made = Pool(api_server, namespace)
    yield made
    for space in made.spaces.values():
        artefacts.namespace(space, api_server)
    made.close()


@pytest.fixture
def teams(api_server: ApiServer, standins: StandIns, pool: Pool, work_dir: Path, artefacts: Any, controller):
    """Closed before the controller ends."""
    artefacts.log("operator", standins.work_dir / "operator.log")
    artefacts.log("kubelet", standins.work_dir / "kubelet.log")
    made = Teams(api_server, pool, work_dir)
    yield made
    made.close()


@pytest.fixture
def scenario(api_server: ApiServer, standins: StandIns, namespace: str, work_dir: Path, artefacts: Any, controller):
    """``scenario(manifest)`` creates a RayCluster in ``namespace``; it is closed after the test, before
    the controller is ended (fixtures end in reverse order)."""
    made: List[Scenario] = []
    artefacts.log("operator", standins.work_dir / "operator.log")
    artefacts.log("kubelet", standins.work_dir / "kubelet.log")

    def create(manifest: Object, wait: bool = True) -> Scenario:
        made.append(Scenario(api_server, namespace, manifest, work_dir))
        return made[-1].wait_head() if wait else made[-1]

    yield create
    _close_all(made)


@pytest.fixture(scope="session")
def shared_head(api_server: ApiServer, standins: StandIns):
    """One light head (1 CPU, no GPU) in a namespace of its own."""
    namespace = api_server.create_namespace("shared")
    directory = paths.work_root() / "shared"
    made = Scenario(api_server, namespace, rm.cluster("shared", [rm.gpu_group()]), directory)
    yield made.wait_head()
    made.close()


@pytest.fixture
def shared(shared_head: Scenario, standins: StandIns, artefacts: Any) -> Callable[..., Scenario]:
    """``shared(groups, idle_seconds=None)``: the shared head with these worker groups, and no worker yet.

    Ask for ``controller`` in the test as well: it must end before the head is reset.
    """
    artefacts.log("operator", standins.work_dir / "operator.log")
    artefacts.log("kubelet", standins.work_dir / "kubelet.log")
    artefacts.namespace(shared_head.namespace, shared_head.server)

    def hand_over(groups: List[Object], idle_seconds: Optional[int] = None) -> Scenario:
        shared_head.reset(groups, idle_seconds)
        return shared_head

    yield hand_over
    shared_head.end_programs()
    shared_head.check_no_busy_deleted()


def _close_all(scenarios: List[Scenario]) -> None:
    failures = []
    for one in reversed(scenarios):
        try:
            one.close()
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)
