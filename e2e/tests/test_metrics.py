"""The HTTP endpoints of the running program: probes and metrics."""

import socket

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until


def test_probes_and_metrics_answer(controller, namespace):
    program = controller(namespace)
    program.wait_for("caches are filled")
    assert program.get("/healthz", "probes") == (200, "ok\n")
    assert program.get("/readyz", "probes") == (200, "ok\n")
    status, text = program.get("/metrics")
    assert status == 200
    assert "\nrayscaler_leader 1\n" in text


@pytest.mark.parametrize("flag", ["--metrics-bind-address", "--health-probe-bind-address"])
def test_a_taken_port_is_named_with_its_flag(flag, api_server, namespace, work_dir):
    token = api_server.namespaced_controller_token(namespace)
    kubeconfig = api_server.write_kubeconfig(work_dir / "kubeconfig", token=token)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [str(paths.program()), "run", "--kubeconfig", str(kubeconfig), "--namespace", namespace]
        words += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0", flag, address]
        process = Process("program", words, work_dir / "log")
        wait_until(lambda: not process.running(), 10, "the program to end")
    assert process.returncode() == 1
    wanted = f"{flag}: cannot listen on {address}: Address already in use; choose another address"
    assert wanted in (work_dir / "log").read_text()
