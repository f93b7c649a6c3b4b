#!/usr/bin/env python3
"""Tests of e2e that read once what is true only a moment later, and bounds on times of this machine:  waits.py, at the top
of the tree

Some views are behind the objects of the API server: Ray's state in the GCS, which raylets report to and the
bench reads a few times a second; the log and the metrics of the program, which it writes after it has acted. A test
that asserts such a fact right after it waited for another one fails on some machines. So in tests these reads
are in a wait (`wait_until`, `wait_for`), where the fact itself is waited for:

* `witness.node()`, `witness.latest()`, `get("/metrics")`, and functions of the same file that return them
* `find()` of a log where its result has to be there: alone, unpacked, by index, by `any()`, or by its number
* the text of a log, where something has to be in it

This holds for an assert and for a variable that such a read was assigned to and that an assert then needs. That
something is not there may be read once. What is written by a process that has ended is complete: a comment "ended" on the
line of the assert says so; counters are at rest after `wait_at_rest`.

A measured time (of time.time(), time.monotonic() or the `at` of an event) has an upper bound below 100 s only by
`allowed()`, and a process gets 10 s at least in an assert.

An assert in another function than the read is not seen. Prints a line for each fault; exit status 1 when there is one.
"""

import ast
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Set, Tuple

FILES = ("e2e/tests/*.py", "e2e/kuberay/*.py", "e2e/node/*.py")
WAITS = {"wait_until", "hold", "wait_at_rest"}
LATE = {"node", "latest"}
CLOCKS = {"time.time", "time.monotonic"}
FEWEST_SECONDS, LONG_SECONDS = 10, 100


def name_of(call: ast.AST) -> str:
    return ast.unparse(call.func) if isinstance(call, ast.Call) else ""


def is_find(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "find"


def is_log_text(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr == "log_text" or (function.attr == "read_text" and "log" in ast.unparse(function.value))


def is_late(call: ast.AST, known: Set[str]) -> bool:
    if not isinstance(call, ast.Call):
        return False
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in known
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in LATE and isinstance(function.value, ast.Attribute) and function.value.attr == "witness":
        return True
    first = call.args[0] if call.args else None
    return is_log_text(call) or (function.attr == "get" and isinstance(first, ast.Constant) and first.value == "/metrics")


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
            and any(is_late(call, known) for call in outside_waits(part.value))
        }
        if found == known:
            return known
        known = found


def needed(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of an assert that need something to be there: all but what is negated."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from needed(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
        yield test.left
    else:
        yield test


def is_found(test: ast.expr) -> bool:
    """`assert log.find("...")`, `any(log.find("...") for ...)`: what is found has to be there already."""
    if isinstance(test, ast.Call) and name_of(test) == "any":
        return any(is_find(part) for part in outside_waits(test))
    return is_find(test)


def number(node: ast.expr) -> float:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else 1


def is_counted(test: ast.expr) -> bool:
    """`len(log.find("...")) == 1`."""
    if not isinstance(test, ast.Compare) or name_of(test.left) != "len" or not is_find(test.left.args[0]):
        return False
    return isinstance(test.ops[0], (ast.Eq, ast.GtE, ast.Gt)) and number(test.comparators[0]) > 0


def is_time(node: ast.AST, times: Set[str]) -> bool:
    return any(
        name_of(part) in CLOCKS
        or (isinstance(part, ast.Name) and part.id in times)
        or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and isinstance(part.left, ast.Attribute) and part.left.attr == "at")
        for part in outside_waits(node)
    )


def is_short(part: ast.AST) -> bool:
    """A number of seconds below LONG_SECONDS, or one that a name in capitals has."""
    return isinstance(part, ast.Name) and part.id.isupper() or isinstance(part, ast.Constant) and number(part) < LONG_SECONDS


def has_upper_bound(test: ast.expr, times: Set[str]) -> bool:
    """A number, or a sum with a number, as the upper bound of a time; another time may be one."""
    if not isinstance(test, ast.Compare):
        return False
    sides = [test.left, *test.comparators]
    for left, op, right in zip(sides, test.ops, sides[1:]):
        low, high = (left, right) if isinstance(op, (ast.Lt, ast.LtE)) else (right, left)
        if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) or not is_time(low, times):
            continue
        constants = [part for part in ast.walk(high) if is_short(part)]
        if constants and not any(name_of(part) == "allowed" for part in ast.walk(high)) and not is_time(high, times):
            return True
    return False


def assigned(node: ast.Assign) -> Iterator[Tuple[str, Optional[ast.AST]]]:
    """Each name and what it gets; of the answer to a GET the body is late, and its status is not."""
    for target in node.targets:
        if not isinstance(target, (ast.Tuple, ast.List)):
            pairs = [(target, node.value)]
        elif isinstance(node.value, (ast.Tuple, ast.List)) and len(node.value.elts) == len(target.elts):
            pairs = list(zip(target.elts, node.value.elts))
        else:
            status = name_of(node.value).endswith(".get")
            pairs = [(part, None if status and number == 0 else node.value) for number, part in enumerate(target.elts)]
        for part, value in pairs:
            yield from ((each.id, value) for each in ast.walk(part) if isinstance(each, ast.Name))


class Function:
    """One function, from its first line to its last; nested ones and lambdas are its own."""

    def __init__(self, path: Path, text: List[str], known: Set[str]):
        self.path, self.text, self.known = path, text, known
        self.late: Dict[str, str] = {}
        self.times: Set[str] = set()
        self.lines: List[str] = []

    def fault(self, node: ast.AST, what: str) -> None:
        self.lines.append(f"{self.path}:{node.lineno}: {what}")

    def once(self, node: ast.AST, part: ast.AST) -> None:
        self.fault(node, f"`{ast.unparse(part)}` is read once; wait for the fact (wait_until, wait_for)")

    def reads(self, expression: ast.AST) -> List[ast.AST]:
        return [part for part in outside_waits(expression) if is_late(part, self.known)]

    def assign(self, node: ast.Assign) -> None:
        tuples = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
        if is_find(value) and (tuples or isinstance(node.value, ast.Subscript)):
            self.once(node, value)
        for name, part in assigned(node):
            self.late.pop(name, None)
            self.times.discard(name)
            if part and self.reads(part):
                self.late[name] = ast.unparse(self.reads(part)[0])
            if part and is_time(part, self.times):
                self.times.add(name)

    def check(self, node: ast.Assert) -> None:
        if any("# ended" in line for line in self.text[node.lineno - 1 : node.end_lineno]):
            return
        for test in needed(node.test):
            for part in self.reads(test):
                self.once(node, part)
            if is_found(test) or is_counted(test):
                self.once(node, test)
            for part in outside_waits(test):
                if isinstance(part, ast.Name) and part.id in self.late:
                    self.fault(node, f"`{self.late[part.id]}` is read once, into {part.id}; wait for the fact (wait_until, wait_for)")
            if has_upper_bound(test, self.times):
                self.fault(node, f"`{ast.unparse(test)}` bounds a time of this machine; use allowed() of rayscaler_e2e.wait")
        for part in ast.walk(node.test):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "wait" and part.args:
                if number(part.args[0]) < FEWEST_SECONDS and isinstance(part.args[0], ast.Constant):
                    self.fault(node, f"`{ast.unparse(part)}` gives it less than {FEWEST_SECONDS} s")

    def visit(self, node: ast.AST) -> None:
        rests = False
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Assign) and rests:
                rests = False
            elif isinstance(part, ast.Expr) and name_of(part.value) == "wait_at_rest":
                rests = True
            elif isinstance(part, ast.Assign):
                self.assign(part)
            elif isinstance(part, ast.Assert):
                self.check(part)
            elif isinstance(part, ast.FunctionDef):
                continue  # it is called in a wait, or has its own look
            self.visit(part)


def faults(path: Path) -> List[str]:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    known = late_functions(tree)
    lines: List[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (node in tree.body or node.name.startswith("test_")):
            function = Function(path, source.splitlines(), known)
            function.visit(node)
            lines += function.lines
    return lines


def main() -> int:
    lines = [line for files in FILES for path in sorted(Path(".").glob(files)) for line in faults(path)]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
