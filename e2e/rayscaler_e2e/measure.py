"""`make measure`: how good the structure is, each figure with its meaning, and then sizes for information.

Two tables of docs/internals/tour.md are measured by really making the change; they are printed as they stand.
`make lint-symbols` finds the circles and the exported functions without a caller; the rest is counted here.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Iterable, Iterator, List, Tuple

TOP = Path(__file__).resolve().parents[2]
SRC = TOP / "src"
DEVELOPERS = {"CONTRIBUTING.md", "DECISIONS.md"}


def lines(paths: Iterable[Path]) -> int:
    return sum(path.read_text().count("\n") for path in paths)


def sources(folder: Path, pattern: str = "*.[ch]") -> List[Path]:
    """The files of the program: not those of src/test."""
    return [path for path in sorted(folder.rglob(pattern)) if SRC / "test" not in path.parents]


def folders() -> List[Path]:
    """Each folder of src that has sources of its own."""
    return sorted({path.parent for path in sources(SRC)})


def statements(text: str) -> int:
    """Semicolons outside of comments and texts, less the two of each `for`."""
    code = re.sub(
        r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", " ", text, flags=re.DOTALL
    )
    return code.count(";") - 2 * len(re.findall(r"\bfor\s*\(", code))


def table(path: Path, before: str) -> List[List[str]]:
    """The rows of the first Markdown table after a text, without its head."""
    rows = path.read_text().split(before, 1)[1].split("\n| ", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("| ").split(" | ")] for row in rows]


def comment_lines(text: str) -> int:
    """Lines of a C source on which a comment begins, goes on or ends, code beside it or not."""
    return sum(comment.count("\n") + 1 for comment in re.findall(r"/\*.*?\*/", text, re.DOTALL))


def user_documents() -> List[Path]:
    return [TOP / "README.md", *(path for path in sorted((TOP / "docs").glob("*.md")) if path.name not in DEVELOPERS)]


def words(path: Path) -> int:
    """A word has a letter or a digit, so the bars of tables do not count."""
    return sum(bool(re.search(r"\w", word)) for word in path.read_text().split())


def bundle_structs() -> List[str]:
    """The table of the tour: the structs of one pending bundle, from Ray's bytes to the patch."""
    text = (TOP / "docs/internals/tour.md").read_text().split("the bundle is in these structs:")[1].split("\n\n")[1]
    return re.findall(r"^\| `struct (\w+)` \|", text, re.MULTILINE)


def symbols() -> List[str]:
    """What `make lint-symbols` prints."""
    done = subprocess.run(["make", "-s", "lint-symbols"], cwd=TOP, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode != 0 and not any(" exports " in line or line.startswith("a circle") for line in lines):
        sys.exit("\n".join(lines))
    return lines


def aims() -> Iterator[Tuple[str, str, str]]:
    tour, principles = (TOP / "docs/internals" / name for name in ("tour.md", "principles.md"))
    doubles = table(principles, "## 9. One fact, one place")

    yield (
        "statements",
        f"{sum(statements(path.read_text()) for path in sources(SRC)):,}",
        "size of src without tests, whatever its layout: semicolons outside of comments and texts, less two per `for`",
    )
    for folder in folders():
        yield f"  {folder.relative_to(SRC)}", f"{sum(statements(p.read_text()) for p in folder.glob('*.[ch]')):,}", ""
    circles = [line for line in symbols() if line.startswith("a circle")]
    yield "circles", f"{len(circles)}", "sets of modules that use each other; lint-symbols holds 0"
    yield "double facts", f"{len(doubles)}", "facts with two places (docs/internals/principles.md, 9); only fewer"
    for fact, *_ in doubles:
        yield "", "", fact
    yield "cost of a change", "", "source files besides tests, by really making it (docs/internals/tour.md)"
    for what, *figures in table(tour, "Cost of a change"):
        yield f"  {what}", "", "; ".join(figures)


def rows() -> Iterator[Tuple[str, str]]:
    core, codec = sources(SRC / "core"), sources(SRC / "codec/objects")
    packing, golden = sources(SRC / "core/schedule"), [p for p in (SRC / "test/golden").rglob("*") if p.is_file()]
    code = {path: path.read_text() for path in sources(SRC, "*.c")}
    checks = sum(len(re.findall(r"^\s.*\bCHECK\(", path.read_text(), re.MULTILINE)) for path in core)
    make = [TOP / "Makefile", *sorted((TOP / "mk").glob("*.mk"))]

    yield "lines of src without src/test", f"{lines(sources(SRC)):,}"
    for folder in folders():
        own = [path for path in sorted(folder.glob("*.[ch]"))]
        yield f"  {folder.relative_to(SRC)}", f"{lines(own):,} in {len(own)} files"
    yield "packing: src/core/schedule", f"{lines(packing):,} in {len(packing)} files"
    yield "codec of objects: src/codec/objects", f"{lines(codec):,} in {len(codec)} files"
    yield "golden cases: src/test/golden", f"{lines(golden):,} in {len(golden)} files"
    yield "CHECKs per 1,000 lines of src/core", f"{1000 * checks / lines(core):.1f} ({checks})"
    yield "structs of a bundle, from bytes to patch", f"{len(bundle_structs())}"
    listed = re.search(r"^FOR_TESTS := ((?:.*\\\n)*.*)", (TOP / "mk/lint.mk").read_text(), re.MULTILINE)
    alone = sum(" exports " in line for line in symbols())
    only_tests = len(listed.group(1).replace(chr(92), " ").split())
    yield "exported functions without a caller", f"{alone} ({only_tests} only for tests)"
    yield "comment share of the lines of .c files", f"{100 * sum(map(comment_lines, code.values())) / lines(code):.1f} %"
    yield "words of the user documents", f"{sum(map(words, user_documents())):,}"
    yield "lines of Makefile; of mk/*.mk", f"{lines(make[:1]):,}; {lines(make[1:]):,}"


def main() -> None:
    for name, figure, meaning in aims():
        print(f"{name:<26} {figure:>7}  {meaning}".rstrip())
    print("\nFor information:")
    for name, figure in rows():
        print(f"{name:<41} {figure}")


if __name__ == "__main__":
    main()
