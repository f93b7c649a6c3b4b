"""Modules of the program that use each other in a circle: a line for each circle, exit status 1 when there is one.

    circles.py OBJECT...

A module is a header with the source files that define what it declares. It uses another one when a file of it
includes that header, for a type, a macro or a function, or refers to a function or a variable that the other one
defines. A struct that a header only names (`struct map;`) is not a use.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Set

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
Graph = Dict[str, Set[str]]


def source(path: str) -> str:
    return "src/" + path.split("/obj/", 1)[-1].removesuffix(".o") + ".c"


def includes(file: str) -> List[str]:
    """The headers of the program, not those that the build writes."""
    found = (f"src/{name}" for name in INCLUDE.findall(Path(file).read_text()))
    return [header for header in found if Path(header).exists()]


def module_of(file: str, defined: Set[str]) -> str:
    """The header of its own name, or the first one that it includes and that declares something of it."""
    own = Path(file).with_suffix(".h")
    for header in [str(own)] if own.exists() else includes(file):
        if header == str(own) or defined & set(re.findall(r"\w+", COMMENT.sub("", Path(header).read_text()))):
            return header
    return file


def uses(objects: List[str]) -> Graph:
    """For each module the modules that it uses."""
    defined: Graph = {source(path): set() for path in objects}
    wanted: Graph = {source(path): set() for path in objects}
    listed = subprocess.run(
        ["nm", "-A", "--extern-only", "--format=posix", *objects], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        path, name, kind = line.split()[:3]
        (wanted if kind == "U" else defined)[source(path.rstrip(":"))].add(name)
    module = {file: module_of(file, names) for file, names in defined.items()}
    owner = {name: module[file] for file, names in defined.items() for name in names}
    graph: Graph = {}
    for file, names in wanted.items():
        used = {owner[name] for name in names if name in owner}
        graph.setdefault(module[file], set()).update(used, includes(file))
    todo = [header for used in graph.values() for header in used]
    read: Set[str] = set()
    while todo:
        header = todo.pop()
        if header not in read and header.endswith(".h"):
            read.add(header)
            graph.setdefault(header, set()).update(includes(header))
            todo += graph[header]
    return {name: used - {name} for name, used in graph.items()}


def reached(graph: Graph, start: str) -> Set[str]:
    seen: Set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def circles(graph: Graph) -> List[List[str]]:
    """The sets of modules that reach each other."""
    reach = {name: reached(graph, name) for name in graph}
    groups = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def main() -> int:
    found = circles(uses(sys.argv[1:]))
    for group in found:
        print(f"a circle of {', '.join(group)}: move what they share to one of them, or merge them")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
