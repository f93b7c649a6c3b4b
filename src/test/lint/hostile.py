#!/usr/bin/env python3
"""Every watched kind, annotation, label and page of the program has a row in e2e/rayscaler_e2e/hostile/surface.py, and
every attack in a row exists: `make lint-hostile`. Run from the top of the repository; other directories are for its test.

    hostile.py [SOURCE [SURFACE]]
"""

import ast
import re
import sys
from pathlib import Path
from typing import Dict, Set

STRING = r'"([^"\\\n]+)"'
# What each table holds, by the text in the source that has a name.
PATTERNS = {
    "KINDS": [rf"^KUBE_TYPE\([^;{{]*?\.kind = {STRING}"],
    "ANNOTATIONS": [
        rf"#define \w*ANNOTATION\w*(?:\s|\\\n)+{STRING}",
        rf"labels_value\([^;]*?annotations,\s*{STRING}",
    ],
    "LABELS": [rf"#define (?!BY_)\w*LABEL(?!S)\w*(?:\s|\\\n)+{STRING}", rf"labels_value\([^;]*?labels,\s*{STRING}"],
    "PAGES": [
        rf"#define PAGE_\w+ {STRING}",
        r'strcmp\(path, "/(\w+)"\)',
        rf"struct list_page_kind \w+ = \{{[^}}]*?\.path = {STRING}",
    ],
}
# Members of rayStartParams and of maps that are no labels of an object.
NOT_LABELS = {"labels-file"}


def names_in_source(top: Path) -> Dict[str, Set[str]]:
    found: Dict[str, Set[str]] = {table: set() for table in PATTERNS}
    for path in sorted(top.rglob("*.[ch]")):
        if "test" in path.relative_to(top).parts:
            continue
        text = path.read_text()
        for table, patterns in PATTERNS.items():
            for pattern in patterns:
                found[table].update(re.findall(pattern, text, re.MULTILINE | re.DOTALL))
    found["LABELS"] -= NOT_LABELS
    found["ANNOTATIONS"] = {name for name in found["ANNOTATIONS"] if not name.startswith("/")}
    return found


def assigned(path: Path) -> Dict[str, ast.expr]:
    tree = ast.parse(path.read_text(), str(path))
    return {one.target.id: one.value for one in tree.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}


def attack_names(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.glob("*.py")) if path.name != "surface.py")


def main() -> int:
    top = Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    surface = Path(sys.argv[2] if len(sys.argv) > 2 else "e2e/rayscaler_e2e/hostile/surface.py")
    constants = assigned(surface)
    text, wrong = attack_names(surface.parent), []
    for table, names in names_in_source(top).items():
        rows = constants[table]
        assert isinstance(rows, ast.Dict)
        given = {ast.literal_eval(key): value for key, value in zip(rows.keys, rows.values) if key}
        for name in sorted(names - set(given)):
            wrong.append(f"{surface}: {table} has no row for {name}: add the attacks that use it, or why no tenant can")
        for name in sorted(set(given) - names):
            wrong.append(f"{surface}: {table} has a row for {name}, which the source does not have")
        for name, value in given.items():
            for attack in ast.literal_eval(value) if isinstance(value, ast.List) else []:
                shape, _, suffix = attack.partition("-")
                parts = f'"{shape}": Shape(' in text and suffix in ("large", "many", "fast")
                if f'"{attack}"' not in text and not parts:
                    wrong.append(f"{surface}: {table}: {name}: there is no attack {attack}")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
