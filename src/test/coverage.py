"""Branch coverage of one layer, from the output of `llvm-cov export`.

  coverage.py LAYER_DIR PERCENT EXPORT.json

Counted: each outcome, true and false, of each condition that is written in the C files of the
layer; the operands of && and || count one by one, and so does each case of a switch. Not counted:

* CHECK: its failing outcome cannot happen (base/check.h), so all conditions on its lines are left out;
* the way past all cases of a switch without default: the compiler refuses an enum value without case;
* conditions in a macro of another layer.

Prints the files with the branches that were never taken, then the sum. Exit status 1 below PERCENT.
"""

import json
import re
import sys
from pathlib import Path
from typing import Iterator

MISSING_SHOWN = 12


def check_lines(text: list[str]) -> set[int]:
    """Numbers of the lines that a CHECK (or a static assertion) spans."""
    lines: set[int] = set()
    depth = 0
    for number, line in enumerate(text, 1):
        start = 0
        if depth == 0:
            found = re.match(r"\s*CHECK\(", line)
            if not found:
                continue
            start = found.end() - 1
        lines.add(number)
        depth += line[start:].count("(") - line[start:].count(")")
    return lines


def outcomes(file: dict, text: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Of each outcome: its line, its text, and whether it was taken."""
    checked = check_lines(text)
    for line, column, _, end, true, false, *_ in file["branches"]:
        source = text[line - 1]
        if line in checked:
            continue
        what = source[column - 1 : end - 1] or source.strip()
        if re.search(r"switch \($", source[: column - 1]):
            continue
        if re.match(r"(case\b|default\b)", what):
            yield line, what, true > 0
            continue
        yield line, f"{what} is true", true > 0
        yield line, f"{what} is false", false > 0


def main() -> int:
    layer, percent, export = Path(sys.argv[1]).resolve(), float(sys.argv[2]), sys.argv[3]
    files = json.loads(Path(export).read_text())["data"][0]["files"]
    taken = total = 0
    print(f"{'branches':>9} {'taken':>7}")
    for file in sorted(files, key=lambda f: f["filename"]):
        path = Path(file["filename"])
        if layer not in path.parents:
            continue
        found = list(outcomes(file, path.read_text().splitlines()))
        missing = [o for o in found if not o[2]]
        taken += len(found) - len(missing)
        total += len(found)
        if missing:
            print(f"{len(found):9} {len(found) - len(missing):7}  {path.name}")
        for line, what, _ in missing[:MISSING_SHOWN]:
            print(f"{'':19}{line}: {what}")
        if len(missing) > MISSING_SHOWN:
            print(f"{'':19}and {len(missing) - MISSING_SHOWN} more")
    reached = 100 * taken / total if total else 0
    print(f"{layer.name}: {taken} of {total} branches taken, {reached:.2f} %, wanted {percent:g} %")
    return 0 if reached >= percent else 1


if __name__ == "__main__":
    sys.exit(main())
