"""The drawings under docs/pictures are those of rayscaler_e2e/drawings.py, and show the program of today."""

import re
import xml.etree.ElementTree

import pytest

from rayscaler_e2e import drawings, paths


@pytest.mark.parametrize("name", sorted(drawings.DRAWINGS))
def test_the_file_is_current(name):
    text = (drawings.PICTURES / name).read_text()
    assert text == drawings.drawn()[name], f"docs/pictures/{name}: run python -m rayscaler_e2e.drawings in e2e/"
    assert xml.etree.ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("name", sorted(drawings.DRAWINGS))
def test_text_stays_on_the_canvas(name):
    """At most 6.7 pixels for a letter of size 11 or 12, which is more than Helvetica takes."""
    root = xml.etree.ElementTree.fromstring(drawings.drawn()[name])
    texts = root.findall(".//{http://www.w3.org/2000/svg}text")
    assert len(texts) > 10
    for text in texts:
        right = {"end": 0, "middle": 0.5}.get(text.get("text-anchor"), 1)
        end = float(text.get("x")) + right * 6.7 * len(text.text)
        assert end < float(root.get("width")), text.text


def test_the_decision_has_the_steps_of_decide():
    """In the order of the source: gate, facts, and the calls of the functions that make the other values and the plan.

    The check of the invariants at the end of each value, and functions of decide.c itself, are not steps."""
    source = (paths.ROOT / "src/core/decide.c").read_text()
    local = set(re.findall(r"^static [\w *]*?\b(\w+)\(", source, re.M))
    calls = []
    for function in ("health_make", "offer_make", "packing_make", "choice_make", "write_plan"):
        body = re.search(rf"^static [\w *]+\b{function}\(.*?^}}", source, re.M | re.S).group(0)
        calls += re.findall(r"^\t+(?!arena_|invariants_|EACH_|VEC_)(\w+)\(", body, re.M)
    calls = [name for name in calls if name not in local]
    shown = [name for _, _, functions in drawings.DECISION for name in functions]
    assert shown == ["gate_check", "facts_make", *calls]
