#!/usr/bin/env python3
"""Tests of e2e that read once what is true only a moment later:  waits.py, at the top of the tree

Some views are behind the objects of the API server: Ray's state in the GCS, which raylets report to and the
bench reads a few times a second; the log and the metrics of the program, which it writes after it has acted. A test
that asserts such a fact right after it waited for another one fails on some machines. So in e2e/tests these reads
are in a wait (`wait_until`, `hold`, `wait_for`), where the fact itself is waited for:

* `witness.node()`, `witness.latest()`, `get("/metrics")`, and functions of the same file that call them
* `find()` of a log, where its result has to be there

An assert of a value that was read into a variable is not seen, nor one in another function. Prints a line for each
assert; exit status 1 when there is one.
"""

import ast
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set

WAITS = {"wait_until", "hold"}
LATE = {"node", "latest"}


def is_late(call: ast.Call, known: Set[str]) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in known
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in LATE and isinstance(function.value, ast.Attribute) and function.value.attr == "witness":
        return True
    first = call.args[0] if call.args else None
    return function.attr == "get" and isinstance(first, ast.Constant) and first.value == "/metrics"


def outside_waits(node: ast.AST) -> Iterator[ast.AST]:
    """All parts, without lambdas and the arguments of waits."""
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WAITS:
        return
    yield node
    for part in ast.iter_child_nodes(node):
        yield from outside_waits(part)


def late_functions(tree: ast.Module) -> Set[str]:
    """Functions that return such a read, directly or by another one."""
    bodies: Dict[str, ast.AST] = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("test_")}
    known: Set[str] = set()
    while True:
        found = {
            name
            for name, body in bodies.items()
            for part in outside_waits(body)
            if isinstance(part, ast.Return) and part.value
            and any(isinstance(call, ast.Call) and is_late(call, known) for call in outside_waits(part.value))
        }
        if found == known:
            return known
        known = found


def operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from operands(value)
    else:
        yield test


def is_found(test: ast.expr) -> bool:
    """`assert control.find("...")`: what is found has to be there already."""
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "find"


def faults(path: Path) -> List[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = late_functions(tree)
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assert):
            continue
        late = [call for call in outside_waits(node.test) if isinstance(call, ast.Call) and is_late(call, known)]
        found = [part for part in operands(node.test) if is_found(part)]
        for part in late + found:
            lines.append(f"{path}:{node.lineno}: `{ast.unparse(part)}` is read once; wait for the fact (wait_until, wait_for)")
    return lines


def main() -> int:
    lines = [line for path in sorted(Path("e2e/tests").glob("*.py")) for line in faults(path)]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
