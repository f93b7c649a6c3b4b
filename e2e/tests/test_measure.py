"""`make measure` prints every figure."""

import re
import subprocess

from rayscaler_e2e import measure


def test_every_figure_is_measured():
    subprocess.run(["make", "-s", "lint-symbols"], cwd=measure.TOP, capture_output=True, check=True)  # compiles
    shown = subprocess.run(["make", "-s", "measure"], cwd=measure.TOP, capture_output=True, text=True, check=True).stdout
    aims, sizes = shown.split("\nFor information:\n")
    for name in ("statements", "circles", "double facts", "cost of a change"):
        assert re.search(rf"^{name}  +.*[a-z]{{3}}", aims, re.MULTILINE), name
    assert re.search(r"^circles +0 ", aims, re.MULTILINE)
    figures = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in sizes.splitlines())
    assert len(figures) > 25
    for name, figure in figures.items():
        assert re.match(r"[\d,.]+", figure), (name, figure)
    assert figures["exported functions without a caller"].startswith("0 ")
    total = int(figures["lines of src without src/test"].replace(",", ""))
    folders = [figures[str(folder.relative_to(measure.SRC))] for folder in measure.folders()]
    assert total == sum(int(figure.split()[0].replace(",", "")) for figure in folders)


def test_statements():
    text = 'for (int i = 0; i < 2; i++)\n\tputs(";"); /* a; b; */\nchar c = \';\'; // d;\n'
    assert measure.statements(text) == 2


def test_comment_lines():
    assert measure.comment_lines("int a; /* one */\n/* two\n * lines */\nint b;\n") == 3


def test_structs_of_a_bundle():
    headers = "".join(path.read_text() for path in measure.sources(measure.SRC / "core", "*.h"))
    names = measure.bundle_structs()
    assert len(names) > 8 and [name for name in names if f"struct {name} {{" not in headers] == []
