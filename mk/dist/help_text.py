"""Reads what `rayscaler --help` and `rayscaler COMMAND --help` print, for the man pages and completion:
the flags and their texts are written once, in the program."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Union

OPTION = re.compile(r"  (?:(?P<letter>-\w), )?(?P<name>--[\w-]+)(?: (?P<value>[^\s]+))?(?:\s+(?P<text>\S.*))?")
FILES = ("FILE", "<file>", "directory", "DIRECTORY")


@dataclass
class Option:
    name: str
    letter: str = ""
    value: str = ""  # "" for a switch
    text: List[str] = field(default_factory=list)
    words: List[str] = field(default_factory=list)  # the accepted values, where they are listed

    @property
    def flags(self) -> List[str]:
        return [self.letter, self.name] if self.letter else [self.name]

    @property
    def takes_file(self) -> bool:
        return self.value in FILES or (bool(self.text) and self.text[-1].endswith(("[directory]", "[file]")))

    @property
    def summary(self) -> str:
        return " ".join(self.text)


@dataclass
class Command:
    name: str  # "" for the program itself
    summary: str = ""
    usage: List[str] = field(default_factory=list)
    body: List[Union[str, Option]] = field(default_factory=list)  # lines of text, and options between them
    exit_status: str = ""

    @property
    def takes_cluster(self) -> bool:
        return any("CLUSTER" in re.sub(r"--[\w-]+ \S+", "", line) for line in self.usage)

    @property
    def options(self) -> List[Option]:
        return [one for one in self.body if isinstance(one, Option)]


def words_of(option: Option, usage: List[str]) -> List[str]:
    """From "[a|b]" at the end of the text, or "-o a|b" in the usage."""
    listed = re.search(r"\[([\w-]+(?:\|[\w-]+)+)\]$", option.summary)
    if listed:
        return listed.group(1).split("|")
    for flag in option.flags:
        shown = re.search(rf"(?<![\w-]){flag} ([\w-]+(?:\|[\w-]+)+)", " ".join(usage))
        if shown and option.value:
            return shown.group(1).split("|")
    return []


def parse(name: str, text: str) -> Command:
    command = Command(name)
    lines = text.rstrip("\n").split("\n")
    while lines and (lines[0].startswith("usage: ") or re.match(r" {7}\S", lines[0])):
        command.usage.append(lines.pop(0)[7:])
    status = [i for i, line in enumerate(lines) if line.startswith("exit status: ")]
    if status:
        command.exit_status = " ".join(lines[status[-1] :])[len("exit status: ") :]
        lines = lines[: status[-1]]
    for line in lines:
        found = OPTION.fullmatch(line)
        last = command.body[-1] if command.body else ""
        if found:
            option = Option(found["name"], found["letter"] or "", found["value"] or "")
            option.text = [found["text"]] if found["text"] else []
            command.body.append(option)
        elif isinstance(last, Option) and line.startswith("     "):
            last.text.append(line.strip())
        else:
            command.body.append(line)
    for option in command.options:
        option.words = words_of(option, command.usage)
    return command


def read(program: Path) -> List[Command]:
    """The program itself first."""

    def help_of(*words: str) -> str:
        return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True, timeout=300).stdout

    whole = parse("", help_of())
    commands = [whole]
    for line in whole.body:
        found = re.fullmatch(r"  ([a-z]\w*) +(\S.*)", line) if isinstance(line, str) else None
        if found:
            command = parse(found[1], help_of(found[1]))
            command.summary = found[2]
            commands.append(command)
    if len(commands) < 5:
        raise SystemExit("release: the output of --help has no list of commands: adapt mk/dist/help_text.py")
    return commands
