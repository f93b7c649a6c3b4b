"""The errors that are put into the sharing of GPUs on purpose (`make mutants`): a sample of them is noticed."""

import importlib.util
import os
import subprocess

import pytest

from rayscaler_e2e.paths import ROOT


def test_each_text_is_in_its_file_once():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "src/test/mutants.py")
    mutants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutants)
    assert len(mutants.MUTANTS) > 40
    for one in mutants.MUTANTS:
        assert (ROOT / one.file).read_text().count(one.old) == 1, one


@pytest.mark.test_all
def test_the_first_is_noticed():
    result = subprocess.run(
        ["make", "mutants", "MUTANTS=^1 "], cwd=ROOT, env=dict(os.environ, MAKEFLAGS=""), capture_output=True, text=True
    )
    assert result.returncode == 0 and "1 of 1 mutants are noticed" in result.stdout, result.stdout + result.stderr
