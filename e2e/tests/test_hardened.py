"""The controller confined to the system calls that it has a use for, through one scale-up and scale-down with real
Ray (docs/internals/reliability.md, Hardening)."""

import re

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.wait import wait_until

CONFINE = paths.ROOT / "src/test/support/confine.h"


def test_the_controller_writes_no_file_and_keeps_to_its_system_calls(shared, controller, monkeypatch):
    monkeypatch.setenv("RAYSCALER_PROGRAM", str(paths.program()))
    monkeypatch.setenv("RAYSCALER", str(paths.ROOT / "src/test/under_confinement.sh"))
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    wait_until(lambda: "Seccomp:\t2" in status_of(control), 10, "the filter to be there")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.workers()
        program.end()
    one.wait_empty()
    assert control.get("/metrics")[0] == 200 and control.get("/healthz", "probes")[0] == 200
    assert control.find("scaled", "ScaleUpDemand") and control.find("scaled", "ScaleDownDrained")
    assert control.stop() == 0


def status_of(control) -> str:
    with open(f"/proc/{control.process.pid}/status") as file:
        return file.read()


def test_the_list_of_system_calls_is_the_one_in_the_docs():
    text = (paths.ROOT / "docs/internals/reliability.md").read_text()
    table = text[text.index("<!-- system calls -->") : text.index("<!-- end of system calls -->")]
    body = re.search(r"confine_allowed\[\] = \{(.*?)\n\};", CONFINE.read_text(), re.S).group(1)
    listed = set(re.findall(r"`(\w+)`", table))
    assert listed == set(re.findall(r"\bSYS_(\w+)", body)) | {"openat", "mmap", "mprotect", "execve"}
