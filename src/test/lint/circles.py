"""Files of the program that use each other in a circle: a line for each circle, exit status 1 when there is one.

    circles.py OBJECT...

A file (x.c with its x.h) uses another one when it refers to a function or a variable that the other one defines,
inline functions of headers included. A type alone is not a use: the functions of `a.c` may take a struct of `b.h`
while `b.c` calls them.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterable, List, Set

INLINE = re.compile(r"^static inline [\w *]*?(\w+)\(", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)


def uses(objects: Iterable[str]) -> Dict[str, Set[str]]:
    """For each object the objects whose symbols it refers to."""
    owner: Dict[str, str] = {}
    wanted: Dict[str, Set[str]] = {}
    listed = subprocess.run(
        ["nm", "-A", "--extern-only", "--format=posix", *objects], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        path, name, kind = line.split()[:3]
        path = path.rstrip(":")
        if kind == "U":
            wanted.setdefault(path, set()).add(name)
        else:
            owner[name] = path
    for path, used in inline_uses(objects).items():
        wanted.setdefault(path, set()).update(used)
    owner.update({name: path for path in objects for name in INLINE.findall(text_of(path, ".h"))})
    return {path: {owner[name] for name in wanted.get(path, ()) if name in owner} - {path} for path in objects}


def text_of(path: str, suffix: str) -> str:
    file = Path(source(path)).with_suffix(suffix)
    return COMMENT.sub("", file.read_text()) if file.exists() else ""


def inline_uses(objects: Iterable[str]) -> Dict[str, Set[str]]:
    """The words of each file and its header that are the name of an inline function."""
    words = {path: set(re.findall(r"\w+", text_of(path, ".c") + text_of(path, ".h"))) for path in objects}
    names = {name for path in objects for name in INLINE.findall(text_of(path, ".h"))}
    return {path: found & names for path, found in words.items()}


def reached(graph: Dict[str, Set[str]], start: str) -> Set[str]:
    seen: Set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def circles(graph: Dict[str, Set[str]]) -> List[List[str]]:
    """The sets of files that reach each other."""
    reach = {path: reached(graph, path) for path in graph}
    groups = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph if a in reach[a]}
    return [list(group) for group in sorted(groups)]


def source(path: str) -> str:
    return "src/" + path.split("/obj/", 1)[-1].removesuffix(".o") + ".c"


def main() -> int:
    found = circles(uses(sys.argv[1:]))
    for group in found:
        print(f"a circle of {', '.join(map(source, group))}: move what they share to one of them, or merge them")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
