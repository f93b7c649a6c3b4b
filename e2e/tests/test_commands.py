"""The commands that need no cluster: park, version, help, and the parent process of a sidecar."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e.kubeclient import KubeClient
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
    assert process.wait(20) == 0


KUBERAY = "ray kuberay-autoscaler --cluster-name demo --cluster-namespace ray"


def as_in_image(*words, **variables):
    """The program under another name, as the links of the image start it."""
    environment = {**os.environ, "KUBECONFIG": "/absent/config", **variables}
    return subprocess.Popen(words, executable=str(paths.controller()), env=environment,
                            stderr=subprocess.PIPE, text=True)  # fmt: skip


@pytest.mark.parametrize("words", [
    ["/bin/bash", "-c", "--", KUBERAY], ["/bin/bash", "-lc", "--", KUBERAY], ["/bin/bash", "-cl", "--", KUBERAY],
    ["bash", "-c", KUBERAY], KUBERAY.split(),
])  # fmt: skip
def test_the_image_answers_kuberays_command(words):
    sidecar = as_in_image(*words)
    try:
        # Its worker process ends at once, because there is no API server; its parent restarts it.
        assert any("/absent/config" in line for line in itertools.islice(sidecar.stderr, 20))
    finally:
        sidecar.terminate()
        sidecar.communicate(timeout=20)
    parked = as_in_image(*words, RAYSCALER_MODE="park")
    try:
        wait_until(lambda: waits_for_signal(parked.pid), 10, "park waits for its signal")
    finally:
        parked.terminate()
    assert parked.wait(10) == 0
    other = as_in_image(*words, RAYSCALER_MODE="parked")
    assert "RAYSCALER_MODE must be park or sidecar" in other.communicate(timeout=20)[1] and other.returncode == 2


@pytest.mark.parametrize("words", [
    ["/bin/bash"], ["bash", "-c", "sleep infinity"], ["bash", "-c", KUBERAY + "; id"], ["bash", "-c", KUBERAY, "x"],
    ["bash", "-x", KUBERAY], ["bash", "-c", "--"], ["ray", "start", "--head"], ["ray"], ["bash", "-c", "ray kuberay-autoscaler"],
])  # fmt: skip
def test_the_image_refuses_other_commands(words):
    done = as_in_image(*words, RAYSCALER_MODE="park")
    errors = done.communicate(timeout=20)[1]
    assert done.returncode == 2 and "this image has no shell and no Ray" in errors


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
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(10)


def test_version_and_help():
    made = json.loads(run("version", "-o", "json").stdout)
    assert list(made) == ["version", "commit"]
    assert run("version").stdout == "rayscaler {version} (commit {commit})\n".format(**made)
    assert run("--version").stdout == run("version").stdout
    # It is one of this repository; a build outside of one says so.
    commit = made["commit"].split("-")[0]
    kind = subprocess.run(["git", "cat-file", "-t", commit], cwd=paths.ROOT, capture_output=True, text=True, check=False)
    assert kind.stdout.strip() == "commit" or commit == "unknown", kind.stderr
    answer = run("--help")
    assert answer.returncode == 0
    for command in ("status", "explain", "request", "resume", "adopt", "release", "snapshot", "plan", "record", "simulate", "run", "park", "version"):
        assert f"  {command} " in answer.stdout
    answer = run("run", "--help")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and {"RayClusters:", "Scaling:", "Leader election:"} <= set(lines)
    assert any("--scan-interval-seconds 1" in line and "[seconds]" in line for line in lines)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["fly"], '"fly" is not a command; see '),
        (["stauts"], '"stauts" is not a command; did you mean status?; see '),
        (["status", "--contxt", "x"], "unknown flag --contxt; did you mean --context?; see "),
        (["run", "--idle-timeout", "5"], "did you mean --idle-timeout-seconds?; see "),
        (["run", "--nonsense"], "--nonsense: no such flag"),
        (["run", "--log-level", "loud"], "--log-level"),
        (["run", "--cluster-name", "demo"], "go together; add --cluster-namespace"),
        (["run", "--idle-timeout-seconds", "soon"], "--idle-timeout-seconds"),
    ],
)
def test_wrong_usage(arguments, says):
    answer = run(*arguments)
    assert answer.returncode == 2
    assert says in answer.stderr
    assert answer.stderr.count("--help") <= 1
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


def test_dev_cluster_names_the_controller(tmp_path):
    """The printed command reaches the controller, and the ServiceAccount of the chart is not taken."""
    log = tmp_path / "dev-cluster.log"
    words = [sys.executable, "-m", "rayscaler_e2e.dev_cluster", "--empty"]
    with open(log, "w") as out:
        process = subprocess.Popen(words, cwd=paths.ROOT / "e2e", stdout=out, stderr=out)
    try:
        wait_until(lambda: "Ctrl-C ends everything" in log.read_text(), 120, "the dev-cluster to be up")
        text = log.read_text()
        kubeconfig = re.search(r"export KUBECONFIG=(\S+)", text).group(1)
        url = re.search(r"status --controller-url (\S+)", text).group(1)

        def reached():
            return run("status", "--kubeconfig", kubeconfig, "--controller-url", url).returncode == 0

        wait_until(reached, 60, "the controller to answer")
        config = yaml.safe_load(Path(kubeconfig).read_text())
        server, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        admin = KubeClient(server["server"], Path(server["certificate-authority"]), token=user["token"])
        names = [one["metadata"]["name"] for one in admin.of("serviceaccounts", "rayscaler-system").items()]
        admin.close()
        assert "dev-cluster" in names and "rayscaler" not in names
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
