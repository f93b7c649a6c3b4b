"""Headers with one user: a line for each that should join it, exit status 1 when there is one. Run from the top.

A header that one source file of its own folder includes, and no other header or test, is worth its lines as the contract
of a source file of 100 lines or more. A shorter one, and a header without a source file, joins the file that
includes it. One that a file of another folder includes is the contract of its folder and stays.
"""

import re
import sys
from pathlib import Path
from typing import Dict, Set

SHORT_LINES = 100
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def users(files: Set[Path]) -> Dict[Path, Set[Path]]:
    found: Dict[Path, Set[Path]] = {}
    for file in files:
        for name in INCLUDE.findall(file.read_text()):
            header = Path("src", name)
            if header in files and header.parts[1] != "test" and file != header.with_suffix(".c"):
                found.setdefault(header, set()).add(file)
    return found


def joins(header: Path, by: Set[Path]) -> bool:
    (user,) = by if len(by) == 1 else (None,)
    own = header.with_suffix(".c")
    return (
        user is not None
        and user.suffix == ".c"
        and user.parent == header.parent
        and not (own.exists() and own.read_text().count("\n") >= SHORT_LINES)
    )


def main() -> int:
    found = users({*Path("src").rglob("*.c"), *Path("src").rglob("*.h")})
    short = sorted(f"{header}: only {min(by)} includes it: join them" for header, by in found.items() if joins(header, by))
    print("\n".join(short), end="\n" if short else "")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
