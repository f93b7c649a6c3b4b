"""Fixtures of the tests that run kubectl or helm (a pytest plugin, named in conftest.py). A test that
asks for one that cannot be had on this machine is skipped.

``kubectl``  as admin on the session's API server (``rayscaler_e2e.tools.Tool``)
``helm``     the same for helm; most of what the tests do with it needs no server
"""

from pathlib import Path

import pytest

from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.tools import Tool, ToolMissing


@pytest.fixture
def kubectl(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("kubectl", api_server, work_dir)


@pytest.fixture
def helm(api_server: ApiServer, work_dir: Path) -> Tool:
    return _tool("helm", api_server, work_dir)


def _tool(name: str, server: ApiServer, work_dir: Path) -> Tool:
    kubeconfig = server.write_kubeconfig(work_dir / "admin.kubeconfig", token=server.tokens[ADMIN_USER])
    try:
        return Tool(name, kubeconfig, work_dir / "home")
    except ToolMissing as error:
        pytest.skip(str(error))
