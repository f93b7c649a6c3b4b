#!/usr/bin/env python3
"""Replaces the program as under_confinement.sh does: the program runs under the chart's seccomp profile
(charts/rayscaler/files/seccomp.json), loaded by the library that container runtimes use. A call outside of it
ends the process (SIGSYS) instead of failing, so that a program that ignores the failure is found as well.

RAYSCALER_PROGRAM: the program. RAYSCALER_SECCOMP_PROFILE: another profile. Exit status 2: it cannot be loaded."""

import ctypes
import json
import os
import sys
from pathlib import Path

CHARTS_OWN = Path(__file__).resolve().parents[2] / "charts/rayscaler/files/seccomp.json"
ACTIONS = {"SCMP_ACT_ALLOW": 0x7FFF0000}
KILL_PROCESS = 0x80000000
COMPARISONS = {"SCMP_CMP_MASKED_EQ": 7}


class Comparison(ctypes.Structure):
    _fields_ = [("index", ctypes.c_uint), ("op", ctypes.c_int), ("value", ctypes.c_uint64), ("value_two", ctypes.c_uint64)]


def load(profile: dict) -> None:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    made = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(KILL_PROCESS)))
    for rule in profile["syscalls"]:
        args = [Comparison(a["index"], COMPARISONS[a["op"]], a["value"], a.get("valueTwo", 0)) for a in rule.get("args", [])]
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == -1:
                raise OSError(f"no machine has a system call {name}")
            action = ctypes.c_uint32(ACTIONS[rule["action"]])
            check(library.seccomp_rule_add_array(made, action, number, len(args), (Comparison * len(args))(*args)), name)
    check(library.seccomp_load(made), "seccomp_load")


def check(answer: int, what: str) -> None:
    if answer:
        raise OSError(-answer, f"{what}: {os.strerror(-answer)}")


if __name__ == "__main__":
    program = os.environ["RAYSCALER_PROGRAM"]
    try:
        load(json.loads(Path(os.environ.get("RAYSCALER_SECCOMP_PROFILE", CHARTS_OWN)).read_text()))
    except (OSError, KeyError, ValueError) as error:
        print(f"under_profile: {error!r}", file=sys.stderr)
        sys.exit(2)
    os.execv(program, [program, *sys.argv[1:]])
