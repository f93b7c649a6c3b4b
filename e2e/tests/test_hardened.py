"""The program confined to the system calls that it has a use for, through one scale-up and scale-down with real Ray,
and how it is compiled (docs/internals/reliability.md, Hardening)."""

import json
import os
import platform
import re
import signal
import subprocess

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pod_reaper import pids_of
from rayscaler_e2e.wait import wait_until

CONFINE = paths.ROOT / "src/test/support/confine.h"
PROFILE = paths.ROOT / "charts/rayscaler/files/seccomp.json"
UNDER_PROFILE = paths.ROOT / "src/test/under_profile.py"
# Of the profile alone: the parent of a sidecar, and a container's runtime between the filter and the program.
SIDECAR = {"getppid", "kill", "prctl", "rt_sigtimedwait", "wait4"}
RUNTIME = {"close_range", "execve", "fstatfs", "nanosleep", "openat2"}


@pytest.mark.parametrize("runner", ["under_confinement.sh", "under_profile.py"])
def test_the_controller_keeps_to_its_system_calls(shared, controller, monkeypatch, runner):
    monkeypatch.setenv("RAYSCALER_PROGRAM", str(paths.program()))
    monkeypatch.setenv("RAYSCALER", str(paths.ROOT / "src/test" / runner))
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    wait_until(lambda: confined(control.process.pid), 10, "the filter to be there")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.workers()
        program.end()
    one.wait_empty()
    assert all(control.get(*page)[0] == 200 for page in (("/metrics", "metrics"), ("/healthz", "probes")))
    control.wait_for("scaled", "ScaleUpDemand")
    control.wait_for("scaled", "ScaleDownDrained")
    assert control.stop() == 0


def test_a_sidecar_keeps_to_the_profile(scenario, tmp_path):
    # The gate knows a sidecar by the name of its program.
    (tmp_path / "rayscaler").symlink_to(UNDER_PROFILE)
    sidecar = {**rm.sidecar_options(), "command": [str(tmp_path / "rayscaler")]}
    sidecar["env"] = [{"name": "RAYSCALER_PROGRAM", "value": str(paths.program())}]
    one = scenario(rm.cluster("side", [rm.gpu_group()], autoscaler=sidecar))
    uid = one.head()["metadata"]["uid"]

    def processes():
        return sorted(pid for pid in pids_of(uid, kp.AUTOSCALER_CONTAINER) if confined(pid))

    parent, child = wait_until(lambda: len(found := processes()) == 2 and found, 20, "the worker process and its parent")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.workers()
        program.end()
    one.wait_empty()
    os.kill(child, signal.SIGKILL)
    again = wait_until(lambda: len(found := processes()) == 2 and child not in found and found, 20, "another worker process")
    assert parent in again


def confined(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/status") as status, open(f"/proc/{pid}/exe") as program:
            return "Seccomp:\t2" in status.read() and os.path.samefile(program.name, paths.build_dir() / "rayscaler")
    except OSError:
        return False


def under_profile(*words: str, **env: str) -> int:
    program, *arguments = words
    environment = {**os.environ, "RAYSCALER_PROGRAM": program, **env}
    return subprocess.run([UNDER_PROFILE, *arguments], env=environment, capture_output=True, timeout=60, check=False).returncode


def test_a_call_outside_of_the_profile_ends_the_process(tmp_path):
    assert under_profile(str(paths.program()), "devices") == 0
    assert under_profile("/bin/mkdir", str(tmp_path / "made")) == -signal.SIGSYS and not (tmp_path / "made").exists()
    # A profile without one of the calls that the program makes.
    profile = json.loads(PROFILE.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name != "read"]
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    assert under_profile(str(paths.program()), "devices", RAYSCALER_SECCOMP_PROFILE=str(tmp_path / "profile.json")) == -signal.SIGSYS


def test_the_profile_has_the_form_that_runtimes_read():
    profile = json.loads(PROFILE.read_text())
    assert set(profile) == {"defaultAction", "defaultErrnoRet", "architectures", "syscalls"}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO" and profile["defaultErrnoRet"] == 38
    assert profile["architectures"] == ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]
    # Never writable and executable at once: neither or one of PROT_WRITE (2) and PROT_EXEC (4).
    limited = [rule for rule in profile["syscalls"] if "args" in rule]
    assert [rule["args"] for rule in limited] == [[{"index": 2, "value": 6, "valueTwo": v, "op": "SCMP_CMP_MASKED_EQ"}] for v in (0, 2, 4)]
    for rule in profile["syscalls"]:
        assert set(rule) <= {"action", "names", "args"} and rule["action"] == "SCMP_ACT_ALLOW"
        assert (set(rule["names"]) & {"mmap", "mprotect"} != set()) == ("args" in rule)


def test_the_lists_of_system_calls_agree():
    """Those of the filter of the tests, of the docs and of the profile."""
    text = (paths.ROOT / "docs/internals/reliability.md").read_text()
    table = text[text.index("<!-- system calls -->") : text.index("<!-- end of system calls -->")]
    body = re.search(r"confine_allowed\[\] = \{(.*?)\n\};", CONFINE.read_text(), re.S).group(1)
    filtered = set(re.findall(r"\bSYS_(\w+)", body)) | {"openat", "mmap", "mprotect", "execve"}
    assert set(re.findall(r"`(\w+)`", table)) == filtered | SIDECAR | RUNTIME
    profile = {name for rule in json.loads(PROFILE.read_text())["syscalls"] for name in rule["names"]}
    assert profile == filtered | SIDECAR | RUNTIME


def test_the_compiler_protects_the_program():
    """Each source file; the probes are in mk/rules.mk. The compilers that `make setup` installs have all of these."""
    words = ["readelf", "--debug-dump=info", "--dwarf-depth=1", "--wide", str(paths.build_dir() / "rayscaler")]
    info = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    producers = set(re.findall(r"DW_AT_producer +: (?:\(.*?\): )?(GNU C.*)", info))
    assert producers
    branches = {"x86_64": "-fcf-protection", "aarch64": "-mbranch-protection=standard"}[platform.machine()]
    for flag in ("-fstack-protector-strong", "-fstack-clash-protection", branches):
        assert all(flag in producer for producer in producers), flag
    names = subprocess.run(["nm", "-D", words[-1]], capture_output=True, text=True, timeout=60, check=True).stdout
    # Copies of a size that only level 3 knows.
    assert "__memcpy_chk" in names
