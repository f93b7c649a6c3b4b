"""Man pages from the help texts: rayscaler(1) and one page for each command."""

import re
from datetime import datetime, timezone
from typing import Dict, List

from help_text import Command, Option


def escape(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def option_lines(option: Option) -> List[str]:
    flags = ", ".join(f"\\fB{escape(flag)}\\fR" for flag in option.flags)
    value = f" \\fI{escape(option.value)}\\fR" if option.value else ""
    return [".TP", flags + value, *(escape(line) for line in option.text)]


def body_lines(command: Command) -> List[str]:
    """Text as paragraphs; lines that are indented (a table) as they are."""
    lines: List[str] = []
    verbatim = options = False
    for one in command.body:
        indented = isinstance(one, str) and one.startswith("  ")
        if verbatim and not indented:
            lines.append(".fi")
        if indented and not verbatim:
            lines += [".PP", ".nf"]
        verbatim = indented
        if isinstance(one, Option):
            lines += ([] if options else [".SH OPTIONS"]) + option_lines(one)
            options = True
        elif one.strip():
            if options and not indented and one.endswith(":"):
                lines += [f".SS {escape(one.rstrip(':'))}"]
            else:
                lines += ([".PP"] if one.endswith(":") and lines else []) + [escape(one)]
        elif lines and not options:
            lines.append(".PP")
    while lines and lines[-1] == ".PP":
        lines.pop()
    text = "\n".join(lines + ([".fi"] if verbatim else []))
    return re.sub(r"(\.PP\n)+(?=\.(PP|SH))", "", text).split("\n")


def page(command: Command, commands: List[Command], version: str, time: int) -> str:
    name = f"rayscaler-{command.name}" if command.name else "rayscaler"
    date = datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d")
    summary = command.summary or "autoscaler of Ray clusters on Kubernetes"
    lines = [f'.TH {name.upper()} 1 {date} "rayscaler {version}" "User Commands"', ".SH NAME"]
    lines += [f"{escape(name)} \\- {escape(summary)}", ".SH SYNOPSIS", ".nf"]
    lines += [escape(line) for line in command.usage] + [".fi", ".SH DESCRIPTION", *body_lines(command)]
    if command.exit_status:
        lines += [".SH EXIT STATUS", escape(command.exit_status)]
    others = [one for one in commands if one is not command and (not one.name or not command.name)]
    lines.append(".SH SEE ALSO")
    for i, one in enumerate(others):
        shown = escape(f"rayscaler-{one.name}" if one.name else "rayscaler")
        lines.append(f".BR {shown} (1){',' if i + 1 < len(others) else ''}")
    return "\n".join(lines) + "\n"


def pages(commands: List[Command], version: str, time: int) -> Dict[str, str]:
    """By file name."""
    made = {}
    for command in commands:
        made[f"rayscaler-{command.name}.1" if command.name else "rayscaler.1"] = page(command, commands, version, time)
    return made
