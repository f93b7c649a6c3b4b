"""The HTTP endpoints of the running program: probes, metrics, status and snapshots."""

import json
import os
import re
import socket
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.relay import HoldingRelay
from rayscaler_e2e.wait import allowed, wait_until

IDLE = 5


class Unreachable(Controller):
    """A controller with a kubeconfig of the test's own."""

    def __init__(self, kubeconfig: Path, namespace: str, work_dir: Path):
        self._words = [str(paths.controller()), "run", "--kubeconfig", str(kubeconfig), "--namespace", namespace]
        self._words += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]
        self._env = None
        self.log = work_dir / "controller.log"
        self.start()


def headless(name: str, *groups: Dict[str, Any]) -> Dict[str, Any]:
    """A RayCluster that the operator refuses, so that no Ray is started for it when the session has one."""
    made = rayclusters.minimal(name, *groups)
    made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "refused=true"
    return made


def samples(program: Controller) -> Dict[str, float]:
    """name{labels} -> value of one scrape."""
    status, text = program.get("/metrics")
    assert status == 200
    found = [re.fullmatch(r"(\S+?(?:\{.*\})?) (\S+)", line) for line in text.splitlines() if not line.startswith("#")]
    return {one.group(1): float(one.group(2)) for one in found}


def test_probes_and_metrics_answer(controller, namespace):
    program = controller(namespace)
    program.wait_for("caches are filled")
    assert program.get("/healthz", "probes") == (200, "ok\n")
    assert program.get("/readyz", "probes") == (200, "ok\n")
    wait_until(lambda: "\nrayscaler_leader 1\n" in program.get("/metrics")[1], 10, "the metrics of a program that leads")


@pytest.mark.parametrize("flag", ["--metrics-bind-address", "--health-probe-bind-address"])
def test_a_taken_port_is_named_with_its_flag(flag, api_server, namespace, work_dir):
    token = api_server.namespaced_controller_token(namespace)
    kubeconfig = api_server.write_kubeconfig(work_dir / "kubeconfig", token=token)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [str(paths.controller()), "run", "--kubeconfig", str(kubeconfig), "--namespace", namespace]
        words += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0", flag, address]
        process = Process("program", words, work_dir / "log")
        wait_until(lambda: not process.running(), 10, "the program to end")
    assert process.returncode() == 1
    wanted = f"{flag}: cannot listen on {address}: Address already in use; choose another address"
    assert wanted in (work_dir / "log").read_text()  # ended


def test_status_and_snapshot_of_a_cluster(api_server, controller, namespace, tmp_path):
    program = controller(namespace)
    program.wait_for("caches are filled")
    assert program.get(f"/status/{namespace}/demo")[0] == 404
    manifest = headless("demo")
    manifest["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
    container = manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    container.update(env=[{"name": "PASSWORD", "value": "hunter2"}], args=["--token=hunter2"])
    api_server.admin.of("rayclusters", namespace).create(manifest)
    wait_until(lambda: program.get(f"/status/{namespace}/demo")[0] == 200, 10, "the cluster to be seen")
    status, text = program.get(f"/status/{namespace}/demo")
    answer = json.loads(text)
    assert (answer["kind"], answer["rayReachable"], answer["plan"]["kind"]) == ("ClusterStatus", False, "Plan")
    (seen,) = json.loads(program.get("/status")[1])["clusters"]
    assert (seen["namespace"], seen["name"]) == (namespace, "demo")
    file = tmp_path / "snapshot.json"
    words = [str(paths.program()), "plan", "-f", str(file), "-o", "json", "--debug"]

    def replayed_the_same() -> bool:
        """Both of one pass: another one may be between them."""
        made = json.loads(program.get(f"/status/{namespace}/demo")[1])["plan"]
        status, text = program.get(f"/snapshot/{namespace}/demo")
        assert status == 200 and "PASSWORD" in text and "hunter2" not in text
        file.write_text(text)
        replayed = json.loads(subprocess.run(words, check=True, capture_output=True, timeout=30).stdout)
        # Why Ray is unreachable is in the message, and not in a snapshot.
        for one in (replayed, made):
            one["conditions"] = [{**condition, "message": ""} for condition in one["conditions"]]
        assert {**replayed, "memory": 0} == {**made, "memory": 0}
        return True

    wait_until(replayed_the_same, 20, "the plan of the snapshot to be that of the page")


def test_a_standby_says_who_leads(api_server, controller, namespace):
    api_server.ensure_service_account(namespace, CONTROLLER_ACCOUNT)
    api_server.allow_leader_election(namespace, CONTROLLER_ACCOUNT)
    flags = ["--leader-elect", "--leader-elect-resource-namespace", namespace]
    leader = controller(namespace, *flags)
    leader.wait_for("deciding starts")
    standby = controller(namespace, *flags)
    standby.wait_for("waiting to lead")
    assert standby.get("/readyz", "probes")[0] == 200
    wait_until(lambda: "\nrayscaler_leader 0\n" in standby.get("/metrics")[1], 10, "the standby's metric")
    wait_until(lambda: "\nrayscaler_leader 1\n" in leader.get("/metrics")[1], 10, "the leader's metric")
    holder = json.loads(leader.get("/status")[1])["holder"]
    wait_until(lambda: json.loads(standby.get("/status")[1])["holder"] == holder, 10, "the holder to be seen")
    status, text = standby.get(f"/status/{namespace}/demo")
    assert status == 421 and holder in text


def test_readyz_waits_for_the_api_server(api_server, namespace, work_dir):
    """First nothing is at the server's address: alive, and not ready. Then the server is there."""
    token = api_server.namespaced_controller_token(namespace)
    kubeconfig = work_dir / "kubeconfig"
    api_server.write_kubeconfig(kubeconfig, token=token)
    document = json.loads(kubeconfig.read_text())
    server = document["clusters"][0]["cluster"]["server"]
    host, port = server.removeprefix("https://").split(":")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        free = silent.getsockname()[1]
    document["clusters"][0]["cluster"].update({"server": f"https://127.0.0.1:{free}", "tls-server-name": "127.0.0.1"})
    kubeconfig.write_text(json.dumps(document))
    program = Unreachable(kubeconfig, namespace, work_dir)
    try:
        program.wait_for("cannot read from the API server")
        assert program.get("/healthz", "probes") == (200, "ok\n")
        assert program.get("/readyz", "probes")[0] == 503
        assert program.get(f"/status/{namespace}/demo")[0] == 503
        with HoldingRelay(free, (host, int(port))):
            wait_until(lambda: program.get("/readyz", "probes")[0] == 200, 40, "the program to be ready")
    finally:
        program.stop()


def test_a_sidecar_goes_on_without_its_port(work_dir):
    """Heads may share one machine's network: scaling matters more than metrics."""
    (work_dir / "token").write_text("token")
    (work_dir / "ca.crt").write_text(certificate(work_dir))
    env = dict(os.environ, KUBERNETES_SERVICE_HOST="127.0.0.1", KUBERNETES_SERVICE_PORT="9")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [str(paths.controller()), "run", "--cluster-name", "demo", "--cluster-namespace", "ray"]
        words += ["--service-account-dir", str(work_dir), "--metrics-bind-address", address]
        with Process("sidecar", words, work_dir / "log", env=env) as process:
            log = wait_until(lambda: "cannot read from the API server" in process.log_text() and process.log_text(), 15, "it to go on")
            assert f"--metrics-bind-address: cannot listen on {address}" in log
            assert process.running()


def certificate(directory: Path) -> str:
    key, made = directory / "key.pem", directory / "cert.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-days", "1"]
    subprocess.run([*words, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True, timeout=30)
    return made.read_text()


# -- a scaling scenario on real Ray ---------------------------------------------------------------


def test_the_figures_of_every_phase(shared, controller):
    one = shared([rm.gpu_group(maxReplicas=2)])
    program = controller(one.namespace)
    cluster = f'namespace="{one.namespace}",raycluster="shared"'
    group = f'{{{cluster},group="gpu-group"}}'

    def ray(name: str, **labels: str) -> float:
        """The one series of a name of Ray's, whatever its SessionName is."""
        wanted = "".join(f',{key}="{value}"' for key, value in labels.items())
        found = [v for k, v in samples(program).items() if k.startswith(f'{name}{{{cluster}{wanted},SessionName="session_')]
        assert len(found) == 1, (name, found)
        return found[0]

    wait_until(lambda: f"rayscaler_gpus_wanted{group}" in samples(program), 20, "the first decision")
    calm = wait_until(lambda: (s := samples(program)).get(f"rayscaler_safe_to_scale_down{{{cluster}}}") == 1 and s, 20, "Ray to be read")
    assert (calm[f"rayscaler_gpus_wanted{group}"], calm[f"rayscaler_gpus_running{group}"]) == (0, 0)
    assert calm[f"rayscaler_gpus_pending{{{cluster}}}"] == 0
    assert calm[f"rayscaler_group_max_replicas{group}"] == 2
    wait_until(lambda: ray("autoscaler_active_nodes", NodeType="headgroup") == 1, 20, "Ray's name for the head")

    with one.program() as driver:
        driver.actors(3, num_gpus=1)
        # Demand for three, room for two.
        wait_until(lambda: samples(program)[f"rayscaler_gpus_wanted{group}"] == 2, 20, "two GPUs to be wanted")
        unserved = f'rayscaler_unfulfillable_demand{{{cluster},reason="MaxReplicas"}}'
        wait_until(lambda: samples(program).get(unserved) == 1, 20, "the third to be unserved")
        one.wait_joined(2)
        running = wait_until(
            lambda: (s := samples(program))[f"rayscaler_gpus_running{group}"] == 2
            and s[f"rayscaler_gpus_wasted{group}"] == 0
            and s[f"rayscaler_gpus_pending{{{cluster}}}"] == 1
            and s, 60, "two GPUs to run and be in use")
        assert running[f"rayscaler_gpus_idle{group}"] == 0
        assert running[f"rayscaler_group_replicas{group}"] == running[f"rayscaler_group_target_replicas{group}"] == 2
        assert running['rayscaler_decisions_total{direction="up",reason="ScaleUpDemand"}'] >= 1
        assert running['rayscaler_skipped_scale_events_total{direction="up",reason="MaxReplicas"}'] >= 1
        assert running["rayscaler_demand_to_patch_seconds_count"] >= 1
        assert running["rayscaler_patch_to_pod_seconds_count"] >= 1
        assert 0 <= running["rayscaler_demand_to_patch_seconds_sum"] < allowed(10)
        wait_until(lambda: ray("autoscaler_active_nodes", NodeType="gpu-group") == 2, 20, "both workers by Ray's name")
        wait_until(lambda: ray("autoscaler_pending_nodes", NodeType="gpu-group") == 0, 20, "no pending one")
        wait_until(lambda: ray("autoscaler_cluster_resources", resource="GPU") == 2, 20, "both GPUs by Ray's name")
        assert ray("autoscaler_started_nodes_total") == 2
        driver.end()
    # Idle, and not yet for long enough.
    wait_until(lambda: samples(program)[f"rayscaler_gpus_wasted{group}"] == 2, 20, "two GPUs to be wasted")
    one.wait_empty()
    wait_until(lambda: samples(program)[f"rayscaler_gpus_running{group}"] == 0, 20, "no GPU to run")
    after = samples(program)
    assert after[f"rayscaler_gpus_wanted{group}"] == 0
    assert sum(v for k, v in after.items() if k.startswith('rayscaler_decisions_total{direction="down"')) >= 1
    wait_until(lambda: ray("autoscaler_stopped_nodes_total") == 2, 20, "both workers to be counted as stopped")
    for phase in ("reading", "deciding", "draining", "patching", "total"):
        assert after[f'rayscaler_reconcile_duration_seconds_count{{phase="{phase}"}}'] >= 1, phase
    assert after['rayscaler_api_requests_total{code="200",verb="patch"}'] >= 2


# -- clients that do not behave -------------------------------------------------------------------


def resident(program: Controller) -> float:
    return samples(program)["process_resident_memory_bytes"]


def test_slow_clients_do_not_hurt(controller, namespace):
    """Three hundred connections that never finish a request, on both ports."""
    program = controller(namespace)
    program.wait_for("caches are filled")
    slow: List[socket.socket] = []
    try:
        for what in ("metrics", "probes"):
            host, port = program.address(what).split(":")
            for _ in range(150):
                slow.append(socket.create_connection((host, int(port)), timeout=10))
                slow[-1].sendall(b"GET /metr")
        assert program.get("/healthz", "probes")[0] == 200
        assert samples(program)["process_open_fds"] < 200
    finally:
        for one in slow:
            one.close()
    assert program.stop() == 0


def test_a_thousand_scrapes_leave_nothing_behind(api_server, controller, namespace):
    program = controller(namespace)
    program.wait_for("caches are filled")
    api_server.admin.of("rayclusters", namespace).create(headless("demo"))
    wait_until(lambda: any("demo" in key for key in samples(program)), 20, "the cluster's series")
    for _ in range(100):
        samples(program)
    before, fds = resident(program), samples(program)["process_open_fds"]
    for _ in range(1000):
        samples(program)
    assert resident(program) - before < 512 * 1024
    assert samples(program)["process_open_fds"] <= fds + 2
    api_server.admin.of("rayclusters", namespace).delete("demo")
    wait_until(lambda: not any("demo" in key for key in samples(program)), 20, "the series to end with the cluster")


def test_a_large_exposition_is_whole(api_server, controller, namespace):
    """Written in pieces, between which the loop turns."""
    program = controller(namespace)
    groups = [rayclusters.group(f"group-{number}") for number in range(200)]
    for number in range(8):
        api_server.admin.of("rayclusters", namespace).create(headless(f"demo-{number}", *groups))

    def replicas() -> List[str]:
        return [key for key in samples(program) if key.startswith("rayscaler_group_replicas{")]

    wait_until(lambda: len(replicas()) == 1600, 40, "the series of all groups")
    assert program.get("/healthz", "probes")[0] == 200
