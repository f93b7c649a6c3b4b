"""docs/internals: the tour follows a decision of today's program, and its values are the program's."""

import json
import re
import subprocess
import textwrap

from rayscaler_e2e import paths

INTERNALS = paths.ROOT / "docs" / "internals"
TOUR = (INTERNALS / "tour.md").read_text()
COMMAND = "plan -f examples/gpu.snapshot.yaml -o json --debug"


def test_the_tour_shows_the_plan_of_the_example():
    """Each JSON block is a part of the command's output, line for line."""
    assert f"    rayscaler {COMMAND}\n" in TOUR
    done = subprocess.run([paths.program(), *COMMAND.split()], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["kind"] == "Plan"
    blocks = re.findall(r"^```json\n(.*?)^```$", TOUR, re.M | re.S)
    assert len(blocks) == 4
    for block in blocks:
        assert block in done.stdout, block


def test_the_tour_names_functions_that_exist():
    sources = "\n".join(path.read_text() for path in (paths.ROOT / "src/core").rglob("*.[ch]"))
    section = re.search(r"^## 3\. Follow one decision.*?(?=^## 4\.)", TOUR, re.M | re.S).group(0)
    named = set(re.findall(r"`([a-z]+_[a-z_]+|schedule|observe)(?:\(\))?`", section)) - {"min_nodes", "max_nodes", "launch_held"}
    assert len(named) > 10
    missing = [name for name in named if not re.search(rf"\b{name}\(", textwrap.dedent(sources))]
    assert not missing, missing
