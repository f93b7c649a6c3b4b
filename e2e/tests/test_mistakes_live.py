"""Wrong inputs that need a cluster, each with its answer: the section ``live`` of wrong_inputs.yaml.

``state`` names a function of STATES, which prepares the namespace and returns the environment of the command.
"""

import os
from pathlib import Path
from typing import Callable, Dict

import pytest

from rayscaler_e2e import wrong_inputs
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.cli import Cli

Environment = Dict[str, str]


def no_clusters(server: ApiServer, namespace: str, work_dir: Path) -> Environment:
    """A user with the rights of docs/COMMANDS.md; no RayCluster and no controller."""
    return Cli(server, namespace, work_dir).env


STATES: Dict[str, Callable[[ApiServer, str, Path], Environment]] = {"no clusters": no_clusters}


@pytest.mark.parametrize("row", wrong_inputs.rows("live"), ids=wrong_inputs.name)
def test_the_answer_has_a_cure(api_server, namespace, work_dir, row):
    env = STATES[row["state"]](api_server, namespace, work_dir)
    wrong_inputs.check(row, work_dir, env={"PATH": os.environ["PATH"], **env})
