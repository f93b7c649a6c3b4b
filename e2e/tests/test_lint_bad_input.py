"""`rayscaler lint` on malformed files: a finding with line and column, in bounded memory and time.

The limits are for the whole process, its parse tree included.
"""

import json
import subprocess
import sys

import pytest

from rayscaler_e2e import paths

MIB = 1 << 20
HEAD = "kind: RayCluster\nmetadata: {name: a}\nspec:\n"
GROUP = "groupName: %s, maxReplicas: 1, template: {spec: {containers: [{name: w, resources: {limits: {cpu: %s}}}]}}"

# Memory that a process held before exec counts as the program's, so a small one starts it.
MEASURED = """
import os, resource, sys
status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], {}), 0)[1])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stderr.write(f"\\n{usage.ru_maxrss} {usage.ru_utime + usage.ru_stime}")
sys.exit(status)
"""


def lint(text, tmp_path):
    """Exit status, findings, the most memory it held in MiB, seconds of CPU."""
    source = tmp_path / "input.yaml"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    command = [sys.executable, "-I", "-S", "-c", MEASURED, str(paths.program()), "lint", "-o", "json", "-f", str(source)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    kib, seconds = done.stderr.decode().rsplit("\n", 1)[1].split()
    return done.returncode, json.loads(done.stdout), int(kib) / 1024, float(seconds)


def bomb():
    lines = [HEAD + "  a0: &a0 lol"]
    lines += [f"  a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(lines)


def groups(count, cpu="1"):
    lines = [f"  - {{{GROUP % (f'g{i}', cpu)}}}" for i in range(count)]
    return HEAD + "  workerGroupSpecs:\n" + "\n".join(lines)


# name: the text, (line, column), part of the message, MiB
UNREADABLE = {
    "alias bomb": (bomb, (8, 47), "aliases repeat too much", 24),
    "alias of itself": (lambda: "a: &a [*a]", (1, 8), "no anchor before this alias", 16),
    "deep JSON": (lambda: "[" * 1000000, (1, 101), "too deeply nested", 24),
    "deep YAML": (lambda: "\n".join(" " * i + "a:" for i in range(2000)), (101, 101), "too deeply nested", 24),
    "a member twice": (lambda: HEAD + "  suspend: true\n  suspend: false\n", (5, 3), "this member is there twice; remove one: suspend", 16),
    "a member twice in JSON": (lambda: '{"kind": "RayCluster",\n "kind": "Pod"}', (2, 2), "there twice: kind", 16),
    "bytes": (lambda: bytes(range(128, 256)) * 1000, (1, 1), "", 16),
    "too many values": (lambda: HEAD + "  x: [" + "1," * 1100000 + "]", (4, 1999995), "too many values", 260),
    "too large": (lambda: " " * (33 * MIB), (0, 0), "has more than 33554432 bytes", 72),
    "10,000 groups": (lambda: groups(10000), (4, 3), "must not have more than 1000 groups", 160),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_is_refused_with_its_place(name, tmp_path):
    text, place, says, mib = UNREADABLE[name]
    status, found, held, seconds = lint(text(), tmp_path)
    (one,) = [one for one in found if one["rule"] == "cannot-be-read"]
    assert status == 1 and one["severity"] == "error"
    assert ((one["line"], one["column"]), says in one["message"]) == (place, True), one
    assert (held < mib, seconds < 20) == (True, True), (held, seconds)


def test_unknown_units_are_told_of_each_group(tmp_path):
    text = groups(1000, "1Gx")
    wanted = [(i + 1, line.index("cpu: ") + 1) for i, line in enumerate(text.splitlines()) if "cpu: " in line]
    status, found, held, seconds = lint(text, tmp_path)
    found = [(one["line"], one["column"]) for one in found if one["rule"] == "quantity-invalid"]
    assert status == 1 and found == wanted
    assert (held < 48, seconds < 10) == (True, True), (held, seconds)


def test_findings_are_bounded(tmp_path):
    """More of them than are kept are counted, and the output has the count."""
    text = HEAD + "  headGroupSpec:\n    rayStartParams:\n" + "\n".join(f"      p{i}: {i}" for i in range(110000))
    source = tmp_path / "many.yaml"
    source.write_text(text)
    command = [str(paths.program()), "lint", "-o", "json", "-f", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and len(json.loads(done.stdout)) == 100000
    assert "of them are not shown" in done.stderr
