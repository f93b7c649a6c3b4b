"""Fixtures of the tests that run kubectl or helm (a pytest plugin, named in conftest.py). A test that
asks for one that cannot be had on this machine is skipped.

``kubectl``  as admin on the session's API server (``rayscaler_e2e.tools.Tool``)
``helm``     the same for helm; most of what the tests do with it needs no server
``controllers``  kube-controller-manager on the session's API server (``rayscaler_e2e.real.ControllerManager``);
             real API server only
"""

from pathlib import Path
from typing import Any

import pytest

from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.real import ControllerManager
from rayscaler_e2e.tools import Tool, ToolMissing, find_tool


@pytest.fixture
def kubectl(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("kubectl", api_server, work_dir)


@pytest.fixture
def helm(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("helm", api_server, work_dir)


@pytest.fixture
def controllers(api_server: ApiServer, work_dir: Path, artefacts: Any):
    if api_server.kind != "real":
        pytest.skip("the embedded API server has no Deployments")
    try:
        program = find_tool("kube-controller-manager")
    except ToolMissing as error:
        pytest.skip(str(error))
    artefacts.log("kube-controller-manager", work_dir / "kube-controller-manager.log")
    with ControllerManager(api_server, program, work_dir) as made:
        yield made


def _tool(name: str, server: ApiServer, work_dir: Path) -> Tool:
    kubeconfig = server.write_kubeconfig(work_dir / "admin.kubeconfig", token=server.tokens[ADMIN_USER])
    try:
        return Tool(name, kubeconfig, work_dir / "home")
    except ToolMissing as error:
        pytest.skip(str(error))
