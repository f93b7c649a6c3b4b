"""Wrong inputs of users, each with its answer: wrong_inputs.yaml. Rows that need a cluster are in test_mistakes_live.py."""

import json

import pytest

from rayscaler_e2e import chart, wrong_inputs

OFFLINE = [row for section in ("commands", "manifests") for row in wrong_inputs.rows(section)]


@pytest.mark.parametrize("row", OFFLINE, ids=wrong_inputs.name)
def test_the_answer_has_a_cure(tmp_path, row):
    wrong_inputs.check(row, tmp_path)


@pytest.mark.parametrize("row", wrong_inputs.rows("chart"), ids=wrong_inputs.name)
def test_helm_names_a_cure(helm, row):
    assert not wrong_inputs.mistakes(row), wrong_inputs.mistakes(row)
    said = chart.refused(helm, row["values"])
    assert all(part in said for part in [row["cure"], *row.get("also", [])]), said


def test_the_schema_names_its_keys():
    """Helm says which keys there are by ``propertyNames`` alone."""

    def closed(part):
        for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
            yield from closed(value)
        if isinstance(part, dict) and part.get("additionalProperties") is False:
            yield part

    parts = list(closed(json.loads((chart.CHART / "values.schema.json").read_text())))
    assert len(parts) > 20
    for part in parts:
        assert part["propertyNames"]["enum"] == list(part["properties"]), part


def test_there_are_enough_rows():
    assert sum(len(wrong_inputs.rows(section)) for section in ("commands", "manifests", "chart", "live")) >= 890
