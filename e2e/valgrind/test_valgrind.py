"""The controller under valgrind, through one scale-up and scale-down with real Ray (make valgrind-e2e). A stage of
make test of its own: beside other tests it is too slow to keep the deadlines of its API server."""

import threading

import pytest

from rayscaler_e2e import instructions, paths
from rayscaler_e2e import ray_manifests as rm

# Valgrind looks through the whole memory at the end.
STOP_SECONDS = 60.0
UP_SECONDS = 180.0
# Of one read of a Ray that does not change, with all that goes on beside the reads (docs/internals/performance.md).
INSTRUCTIONS_MOST = 125000


def test_valgrind_finds_nothing_in_the_controller(shared, controller, monkeypatch, work_dir):
    findings = work_dir / "findings"
    findings.mkdir()
    monkeypatch.setenv("RAYSCALER_PROGRAM", str(paths.program()))
    monkeypatch.setenv("RAYSCALER_VALGRIND_LOGS", str(findings))
    monkeypatch.setenv("RAYSCALER", str(paths.ROOT / "src/test/under_valgrind.sh"))
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        one.wait_joined(1, seconds=UP_SECONDS)
        program.ready("actors")
        program.end()
    one.wait_empty(UP_SECONDS)
    assert control.get("/metrics", seconds=60)[0] == 200
    status = control.process.stop(STOP_SECONDS)
    (log,) = findings.iterdir()
    assert log.read_text() == ""
    assert status == 0


def test_a_read_at_rest_takes_few_instructions(shared, controller, monkeypatch, work_dir):
    script = instructions.under_callgrind(paths.program(), work_dir / "callgrind")
    if not script:
        pytest.skip("there is no callgrind")
    monkeypatch.setenv("RAYSCALER", str(script))
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    control.wait_for("deciding starts", seconds=60)
    threading.Event().wait(10)
    found = instructions.per_read(control, work_dir / "callgrind", 10)
    print(f"instructions of a read at rest: {found:,.0f}")
    assert found < INSTRUCTIONS_MOST
