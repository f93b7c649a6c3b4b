"""Fixtures of the tests that run kubectl or helm (a pytest plugin, named in conftest.py).

``kubectl``  as admin on the session's API server (``rayscaler_e2e.tools.Tool``)
``helm``     the same for helm; most of what the tests do with it needs no server
``controllers``  kube-controller-manager on the session's API server (``rayscaler_e2e.control_plane.ControllerManager``)
"""

from pathlib import Path
from typing import Any

import pytest

from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.control_plane import ControllerManager
from rayscaler_e2e.tools import Tool, find_tool


@pytest.fixture
def kubectl(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("kubectl", api_server, work_dir)


@pytest.fixture
def helm(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("helm", api_server, work_dir)


@pytest.fixture
def controllers(api_server: ApiServer, work_dir: Path, artefacts: Any):
    program = find_tool("kube-controller-manager")
    artefacts.log("kube-controller-manager", work_dir / "kube-controller-manager.log")
    with ControllerManager(api_server, program, work_dir) as made:
        yield made


def _tool(name: str, server: ApiServer, work_dir: Path) -> Tool:
    kubeconfig = server.write_kubeconfig(work_dir / "admin.kubeconfig", token=server.tokens[ADMIN_USER])
    return Tool(name, kubeconfig, work_dir / "home")
