"""Wrong inputs of users, each with its answer: wrong_inputs.yaml. Those that need a cluster are in test_mistakes_live.py."""

import pytest

from rayscaler_e2e import wrong_inputs

OFFLINE = [row for section in ("commands", "manifests") for row in wrong_inputs.rows(section)]


@pytest.mark.parametrize("row", OFFLINE, ids=wrong_inputs.name)
def test_the_answer_has_a_cure(tmp_path, row):
    wrong_inputs.check(row, tmp_path)
