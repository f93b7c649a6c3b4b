"""Fixtures of the tests on a real node, which one session shares: ``node``, ``ray`` and a fresh ``place`` for each test."""

import itertools
import os
from typing import Any, Callable, Iterator

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.node.running import RayOnNode, RunningNode

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def node() -> Iterator[RunningNode]:
    log = paths.work_root() / "node.log"
    log.unlink(missing_ok=True)
    started = RunningNode(log)
    yield started
    started.stop()


@pytest.fixture
def place(request: pytest.FixtureRequest, node: RunningNode) -> Iterator[str]:
    """A namespace, deleted afterwards without waiting."""
    name = f"t{os.getpid()}-{next(_numbers)}"
    spaces = node.admin.of("namespaces")
    spaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    spaces.delete(name)


@pytest.fixture
def ray(node: RunningNode, place: str) -> Iterator[Callable[..., RayOnNode]]:
    """``ray(manifest)``: a RayCluster in ``place``."""
    made = []

    def make(manifest: Any, wait: bool = True) -> RayOnNode:
        made.append(RayOnNode(node, place, manifest, wait))
        return made[-1]

    yield make
    for one in made:
        one.__exit__()
