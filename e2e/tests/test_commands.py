"""The commands that need no cluster: park, version, help, and the parent process of a sidecar."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.wait import wait_until

PARK_LIMIT_KIB = 2048


@pytest.fixture
def started():
    """Starts programs and ends those that are left by process id."""
    processes = []

    def start(*arguments, **options):
        process = subprocess.Popen([str(paths.program()), *arguments], **options)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def run(*arguments):
    return subprocess.run(
        [str(paths.program()), *arguments], capture_output=True, text=True, timeout=20, check=False
    )


def waits_for_signal(pid: int) -> bool:
    """In rt_sigtimedwait: number 128 on x86-64, 137 on arm64."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[0] in ("128", "137")


def anonymous_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1])
    raise AssertionError("no Anonymous line")


def children(pid: int):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_park_ends_at_once(started, number):
    process = started("park")
    wait_until(lambda: waits_for_signal(process.pid), 10, "park waits for its signal")
    process.send_signal(number)
    assert process.wait(2) == 0


def test_park_is_small(started):
    process = started("park")
    wait_until(lambda: waits_for_signal(process.pid), 10, "park is up")
    kib = anonymous_kib(process.pid)
    print(f"park: {kib} KiB of anonymous memory")
    assert kib < PARK_LIMIT_KIB


def test_park_ends_as_process_1(started):
    """Process 1 of a PID namespace gets no signal that it has no handler for."""
    process = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", str(paths.program()), "park"])
    try:
        wait_until(lambda: children(process.pid), 10, "park has started")
        (inner,) = children(process.pid)
        wait_until(lambda: waits_for_signal(inner), 10, "park waits for its signal")
        os.kill(inner, signal.SIGTERM)
        assert process.wait(2) == 0
    finally:
        process.kill()
        process.wait(10)


def test_version_and_help():
    assert run("version").stdout.startswith("rayscaler ")
    answer = run("--help")
    assert answer.returncode == 0
    for command in ("status", "explain", "request", "snapshot", "plan", "run", "park", "version"):
        assert f"  {command} " in answer.stdout
    answer = run("run", "--help")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    assert len(lines) <= 48
    assert any("--scan-interval-seconds 1" in line and "[seconds]" in line for line in lines)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["fly"], '"fly" is not a command'),
        (["run", "--nonsense"], "--nonsense: no such flag"),
        (["run", "--log-level", "loud"], "--log-level"),
        (["run", "--cluster-name", "demo"], "--cluster-namespace is missing"),
        (["run", "--idle-timeout-seconds", "soon"], "--idle-timeout-seconds"),
    ],
)
def test_wrong_usage(arguments, says):
    answer = run(*arguments)
    assert answer.returncode == 2
    assert says in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_missing_kubeconfig_names_file(tmp_path):
    answer = run("run", "--kubeconfig", str(tmp_path / "absent"))
    assert answer.returncode != 0
    assert str(tmp_path / "absent") in answer.stderr


def test_sidecar_parent_brings_the_worker_back(started, tmp_path):
    """The head Pod's restartPolicy is Never: the parent must outlive its worker."""
    (tmp_path / "token").write_text("token")
    (tmp_path / "ca.crt").write_text(_certificate(tmp_path))
    environment = dict(os.environ, KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT="9")
    process = started(
        "run", "--cluster-name", "demo", "--cluster-namespace", "ray",
        "--service-account-dir", str(tmp_path), "--metrics-bind-address", "127.0.0.1:0", env=environment, stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: children(process.pid), 10, "the worker process is up")
    (first,) = children(process.pid)
    os.kill(first, signal.SIGKILL)
    wait_until(
        lambda: children(process.pid) and children(process.pid) != [first], 10, "a new worker process"
    )
    (second,) = children(process.pid)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not Path(f"/proc/{second}").exists()


def _certificate(directory: Path) -> str:
    key, certificate = directory / "key.pem", directory / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-days", "1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=30,
    )
    return certificate.read_text()
