#!/usr/bin/env python3
"""Names in documents and in comments that do not exist:  names.py, at the top of the tree

Looks at paths and headers of src/, other files of the tree, folders of the layers, functions, make targets,
commands and flags of the program, metrics, headings that links lead to, and at the tables of
steps, folders and checks. Prints a line for each name that the
source does not have; exit status 1 when there is one.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

DOCUMENTS = ("*.md", "docs/**/*.md", "e2e/**/*.md", "charts/**/*.md", "examples/**/*.md", "src/**/*.md")
# Names of Ray, of libraries and of other programs, and examples of a name.
OTHERS = {
    "k8s_constants.h", "grpc_server.h", "ray_config_def.h", "ray/common/status.h", "ray/common/constants.h",
    "sanitizer/allocator_interface.h", "cmocka.h", "filter_autoscaler_events",
    "--clusterrole", "--serviceaccount", "--user", "--take-ownership", "--skip-crds", "--type", "--previous", "--reconcile-concurrency", "--name",
    "rayscaler_e2e", "rayscaler_group_idle_workers", "core/v1",
}  # fmt: skip
PROGRAMS = r"(?:kubectl[ -])?rayscaler"
CALL = re.compile(r"\b([a-z]\w+)\(")
WORDS_OF_C = {"if", "for", "while", "switch", "return", "sizeof"}

Found = Tuple[Path, int, str]  # file, line, code or comment


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def documents() -> List[Path]:
    return sorted({path for pattern in DOCUMENTS for path in Path().glob(pattern)})


def code_of_documents() -> Iterator[Found]:
    """Code spans, indented lines and fenced lines of each document, one command or word at a time."""
    for path in documents():
        fenced = False
        for number, line in enumerate(read(path).splitlines(), 1):
            if line.startswith("```"):
                fenced = not fenced
            elif fenced or line.startswith("    "):
                yield path, number, line.strip()
            else:
                for span in re.findall(r"`([^`]+)`", line):
                    yield path, number, span


def comments() -> Iterator[Found]:
    for path in sorted(Path("src").rglob("*.[ch]")):
        text = read(path)
        for comment in re.finditer(r"/\*.*?\*/", text, re.DOTALL):
            first = text.count("\n", 0, comment.start()) + 1
            for number, line in enumerate(comment.group().splitlines(), first):
                yield path, number, line


def strings() -> Iterator[Found]:
    """Lines of the program with a string, without comments: they have its messages."""
    for path in sorted(path for path in Path("src").rglob("*.[ch]") if path.parts[1] != "test"):
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), read(path), flags=re.DOTALL)
        for number, line in enumerate(text.splitlines(), 1):
            if '"' in line:
                yield path, number, line


def wrong_anchors() -> Iterator[str]:
    """Links to a heading of a document."""
    anchors: Dict[Path, Set[str]] = {}
    for path in documents():
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", read(path)):
            page = Path(os.path.normpath(path.parent / target)) if target else path
            if "://" in target or not page.exists():
                continue
            if page not in anchors:
                titles = re.findall(r"^#+ (.*)", read(page), re.MULTILINE)
                anchors[page] = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            if anchor not in anchors[page]:
                yield f"{path}: {page} has no heading #{anchor}"


class Tree:
    """What there is to be named."""

    def __init__(self) -> None:
        paths = sorted(Path("src").rglob("*"))
        self.files = {str(path.relative_to("src")) for path in paths}
        self.names = {path.name for path in paths}
        self.layers = {path.name for path in Path("src").iterdir() if path.is_dir()}
        sources = {path: without_comments(read(path)) for path in paths if path.suffix in (".c", ".h")}
        program = "\n".join(text for path, text in sources.items() if path.parts[1] != "test")
        self.identifiers = set(re.findall(r"[A-Za-z_]\w+", "\n".join(sources.values())))
        # A flag is a string of its own, here or in a script, or a row of the tables of `run`.
        scripts = "\n".join(read(path) for path in sorted(Path("e2e").rglob("*.py")) if path.parts[1] != "tests")
        self.flags = set(re.findall(r'"(--[a-z][a-z-]*)"', program + scripts))
        self.flags |= {f"--{name}" for name in re.findall(r'X\(\w+, \w+,\s*"([a-z][a-z-]+)"', program)}
        self.metrics = set(re.findall(r'"((?:rayscaler|autoscaler)_\w+)"', program))
        self.commands = set(re.findall(r"\bcli_(\w+)\(int argc", program)) | {"help"}
        make = "\n".join(read(path) for path in [Path("Makefile"), *Path("mk").glob("*.mk")] if path.exists())
        lists = " ".join(re.findall(r"^(?:LINTS|TEST_STAGES) \+?:?= (.*(?:\\\n.*)*)", make, re.MULTILINE))
        self.targets = set(re.findall(r"^## ([\w-]+):", make, re.MULTILINE)) | set(re.findall(r"^([\w-]+):", make, re.MULTILINE))
        self.targets |= {f"{kind}-{name}" for name in lists.split() for kind in ("lint", "test")}
        self.targets |= {name for line in re.findall(r"^\.PHONY: (.*)", make, re.MULTILINE) for name in line.split()}

    def has_file(self, name: str) -> bool:
        name = name.removeprefix("src/")
        return name in OTHERS or (name in self.files if "/" in name else name in self.names)

    def has_module(self, name: str) -> bool:
        return name in self.files | OTHERS or f"{name}.h" in self.files or f"{name}.c" in self.files or Path(name).exists()


def wrong_file(tree: Tree, text: str) -> Iterator[str]:
    """`file.h`, `layer/file.c`, `layer/folder/`, `layer/module`, and files of the other folders of the tree."""
    for name in re.findall(r"(?<![\w/.<>*{}-])([\w/]+\.[ch])(?![\w*-])", text):
        if not tree.has_file(name):
            yield f"src/ has no {name.removeprefix('src/')}"
    layers = "|".join(sorted(tree.layers))
    for name in re.findall(rf"(?<![\w/.-])(?:src/)?((?:{layers})/[\w/]*\w)(?![\w.*<{{-])", text):
        if not tree.has_module(name):
            yield f"src/ has no {name}"
    for name in re.findall(r"(?<![\w/.-])((?:e2e|mk|charts|crd|examples|docs)/[\w./-]*\w)(?![\w*{<])", text):
        if not Path(name).exists():
            yield f"there is no {name}"


def wrong_command(tree: Tree, text: str) -> Iterator[str]:
    for name in re.findall(r"(?:^|[`;&|$] *)make ([a-z][\w-]*)", text):
        parts = name.split("-", 1)
        if name not in tree.targets and parts[0] not in ("unit",):
            yield f"no make target {name}"
    for name in re.findall(rf"^(?:\$ )?{PROGRAMS} ([a-z]+)(?= -| [A-Z]{{2}}|$)", text):
        if name not in tree.commands:
            yield f"rayscaler has no command {name}"


def wrong_flag(tree: Tree, text: str) -> Iterator[str]:
    """Flags of this program: alone in a span, or of one of its commands."""
    words = re.sub(r"^\$ ", "", text).split()
    if words and (words[0].startswith("--") or re.match(rf"{PROGRAMS}\b", text)):
        for name in re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*[a-z0-9])", text):
            if name not in tree.flags | OTHERS:
                yield f"rayscaler has no flag {name}"


def wrong_flag_of_message(tree: Tree, text: str) -> Iterator[str]:
    for name in re.findall(r"(?<![\w(-])(--[a-z][a-z-]*[a-z])(?![\w:-])", text):
        if name not in tree.flags | OTHERS:
            yield f"rayscaler has no flag {name}"


def wrong_metric(tree: Tree, text: str) -> Iterator[str]:
    for name in re.findall(r"\brayscaler_[a-z0-9_]+[a-z0-9]\b", text):
        if re.sub(r"_(bucket|sum|count)$", "", name) not in tree.metrics and name not in tree.metrics | OTHERS:
            yield f"no metric {name}"


def wrong_function(tree: Tree, text: str) -> Iterator[str]:
    for name in re.findall(r"(?<![\w.])([a-z]\w*_\w+)\(\)", text):
        if name not in tree.identifiers | OTHERS:
            yield f"no function {name}()"


def calls(path: str, function: str) -> List[str]:
    """Functions of other files that `function` calls, in their order; the memory and the invariants are no step."""
    file = Path("src") / path
    text = without_comments(read(file)) if file.exists() else ""
    body = re.search(rf"^(?:[a-z][\w *]*\b)?{function}\([^;{{]*\)\n{{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    if not body:
        return []
    local = set(re.findall(r"^static [\w *]*?\b(\w+)\(", text, re.MULTILINE)) | WORDS_OF_C
    named = [name for name in CALL.findall(body.group(1)) if name not in local]
    return list(dict.fromkeys(name for name in named if not re.match(r"arena_|invariants_|strn?cmp|assert", name)))


STEPS: Dict[str, Tuple[str, str]] = {
    "facts": ("core/decide.c", "facts_make"),
    "health": ("core/decide.c", "health_make"),
    "offer": ("core/decide.c", "offer_make"),
    "packing": ("core/decide.c", "packing_make"),
    "choice": ("core/decide.c", "choice_make"),
    "plan": ("core/decide.c", "write_plan"),
}


def wrong_steps() -> Iterator[str]:
    """The table of the values of a decision names the steps that the source calls, in its order."""
    page = Path("docs/internals/architecture.md")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", read(page), re.MULTILINE))
    for value, (path, function) in STEPS.items():
        shown, real = re.findall(r"`(\w+)`", rows.get(value, "")), calls(path, function)
        if not real:
            yield f"STEPS of src/test/lint/names.py: {path} has no {function} with steps"
        elif shown != real:
            yield f"{page}: {value}: the steps are {', '.join(f'`{name}`' for name in real)}"


def folders_of_makefile() -> Dict[str, List[str]]:
    """By folder, what USES_<folder> names."""
    rule = 'print-uses: ; @:$(foreach l,$(LAYERS),$(info $(l): $(USES_$(l))))'
    done = subprocess.run(["make", "-s", "--eval", rule, "print-uses"], stdout=subprocess.PIPE, text=True, check=True)
    rows = (line.split(":") for line in done.stdout.splitlines())
    return {name: uses.split() for name, uses in rows if not name.startswith("feature/")}


def wrong_folders() -> Iterator[str]:
    """Each folder with boundaries of its own has its row, with the folders of its layer that it may include."""
    page = Path("docs/internals/architecture.md")
    rows = dict(re.findall(r"^\| `([\w/]+)/` \|.*\| ([^|]*?) ?\|$", read(page), re.MULTILINE))
    for folder, uses in folders_of_makefile().items():
        layer = folder.split("/")[0]
        real = ", ".join(name.split("/")[1] for name in uses if name.startswith(f"{layer}/"))
        if "/" in folder and folder not in rows:
            yield f"{page}: no row for {folder}/"
        elif "/" in folder and rows[folder] != real:
            yield f"{page}: {folder}: the folders are {real or 'none'}"


def wrong_checks() -> Iterator[str]:
    """Each check of `make lint` has its row."""
    page = Path("docs/CONTRIBUTING.md")
    for name in re.search(r"^LINTS := (.*)", read(Path("mk/lint.mk")), re.MULTILINE).group(1).split():
        if f"| `lint-{name}` |" not in read(page):
            yield f"{page}: no row for lint-{name}"


def wrong_figures() -> Iterator[str]:
    """Rows of tables that differ from docs/figures.json, which the bench writes (e2e/rayscaler_e2e/figures.py)."""
    made = json.loads(read(Path("docs/figures.json")))
    shown: Set[str] = set()
    for path in [Path("README.md"), *sorted(Path("docs").rglob("*.md"))]:
        for number, line in enumerate(read(path).splitlines(), 1):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| ") and cells[0] in made["rows"]:
                shown.add(cells[0])
                if cells[1:] != made["rows"][cells[0]]:
                    yield f"{path}:{number}: {cells[0]} is {made['rows'][cells[0]]} in docs/figures.json"
    yield from (f"docs/figures.json: no page shows {name}" for name in made["rows"] if name not in shown)
    block = "".join(f"    {line}".rstrip() + "\n" for line in made["report"])
    if block not in read(Path("docs/internals/performance.md")):
        yield "docs/internals/performance.md: has not the report of docs/figures.json"


def main() -> int:
    tree = Tree()
    wrong: Set[str] = set()
    for path, number, text in code_of_documents():
        for check in (wrong_file, wrong_command, wrong_flag, wrong_metric, wrong_function):
            wrong.update(f"{path}:{number}: {said}" for said in check(tree, text))
    for path, number, text in comments():
        for check in (wrong_file, wrong_metric, wrong_function):
            wrong.update(f"{path}:{number}: {said}" for said in check(tree, text))
    for path, number, text in strings():
        wrong.update(f"{path}:{number}: {said}" for said in wrong_flag_of_message(tree, text))
    wrong.update(wrong_anchors())
    wrong.update(wrong_steps())
    wrong.update(wrong_folders())
    wrong.update(wrong_checks())
    wrong.update(wrong_figures())
    print("".join(f"{line}\n" for line in sorted(wrong)), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
