"""Output for users: status, explain, snapshot and request, with a controller and without one, also as a
plugin of a real kubectl; and docs/COMMANDS.md, whose samples come from here.

kube-apiserver refuses to proxy to loopback addresses, where all of this bench lives: here the way through the proxy
ends in a message, and --controller-url connects directly. test_secure.py and the tests in node/ have the whole way.
"""

import concurrent.futures
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from gcs_fixtures import RayHead, write_certificates
from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.cli import Cli, controller_pod, user_config
from rayscaler_e2e.kubeclient import STRATEGIC_MERGE_PATCH
from rayscaler_e2e.pod_schedule import VIRTUAL_NODE
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.relay import HoldingRelay
from rayscaler_e2e.scenario import hold, wait_at_rest
from rayscaler_e2e.tools import find_tool
from rayscaler_e2e.wait import allowed, wait_until

UNUSED_SECONDS = 2
IDLE = 5
UNTOUCHED = {"bench.rayscaler.dev/operator-lag-seconds": "3600"}
COMMANDS = ("status", "explain", "request", "resume", "adopt", "release", "unprotect", "snapshot", "plan", "record", "simulate", "lint", "devices", "park", "version")
DOCUMENT = (paths.ROOT / "docs" / "COMMANDS.md").read_text()


def rows(text):
    """The rows of the table of ``status`` as dictionaries."""
    lines = text[re.search(r"^(NAMESPACE|CLUSTER) ", text, re.MULTILINE).start() :].splitlines()
    titles = re.split(r"  +", lines[0])
    found = []
    for line in lines[1:]:
        cells = re.split(r"  +", line.strip())
        if len(cells) != len(titles):
            break
        found.append(dict(zip(titles, cells)))
    return found


# ---- without a controller ----


@pytest.fixture
def alone(api_server, namespace, work_dir):
    """A RayCluster without a controller and without an operator, and a user who may see it."""
    if os.environ.get("KUBERAY") == "real":
        pytest.skip("KubeRay's own operator would make Pods")
    made = rm.cluster("demo", [rm.gpu_group(minReplicas=1, maxReplicas=4)])
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["env"].append({"name": "KEY", "value": "hunter2"})
    made["metadata"]["annotations"].update({"note": "hunter2", **UNTOUCHED})
    api_server.admin.of("rayclusters", namespace).create(made)
    return Cli(api_server, namespace, work_dir, system=namespace)


def test_without_a_controller_it_says_what_it_does_not_know(alone, api_server, namespace):
    text = alone.run("status", status=3).stdout
    (row,) = rows(text)
    assert (row["CLUSTER"], row["MIN"], row["READY"], row["MAX"], row["GPUS"]) == ("demo", "1", "?/0", "4", "?/0")
    assert text.startswith("nothing scales now: no controller was found") and row["REASON"] == "no controller"
    assert "no controller was reached" in text and "\033" not in text
    assert max(map(len, text.splitlines())) <= 100
    document = json.loads(alone.run("status", "demo", "-o", "json", status=3).stdout)
    (cluster,) = document["clusters"]
    assert cluster["source"] == "objects" and cluster["gpus"]["running"] is None and not document["controller"]["reached"]
    assert yaml.safe_load(alone.run("status", "-o", "yaml", status=3).stdout)["clusters"][0]["groups"] == cluster["groups"]
    text = alone.run("explain", "demo", status=3).stdout
    assert "without bundles and workers" in text and "neither a controller" in text
    assert "no plan: " in alone.run("explain", "demo", "-o", "json", status=1).stderr
    assert alone.run("explain", "absent", status=1).stderr.count("\n") == 1
    # All namespaces are not this user's: one line names the right that is missing.
    refused = alone.run("status", "-A", status=1)
    assert re.match(r"rayscaler status: list (rayclusters.ray.io|pods): 403 Forbidden: ", refused.stderr)
    assert "fix: grant" in refused.stderr and "by a ClusterRole to the user of kubeconfig" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_old_figures_are_marked(alone, api_server, namespace):
    """The last decision was 12 minutes ago: that comes first, also in the table of kubectl get rca."""
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 12 * 60))
    meta = {"name": "demo", "namespace": namespace}
    api_server.admin.of("rayclusterautoscalers", namespace).create({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": meta})
    demand = {"pendingBundles": 4, "demand": [{"name": "GPU", "amount": "32"}], "gpus": {"running": "0"}}
    status = {"reason": "ReadyForNewScale", "message": "nothing limits scaling", "lastDecisionTime": then, **demand}
    api_server.admin.of("rayclusterautoscalers", namespace).patch_merge("demo", {"status": status}, subresource="status")
    text = alone.run("status", status=3).stdout
    assert re.match(r"nothing scales now: the last decision is 12m\d+s old", text)
    (row,) = rows(text)
    assert re.fullmatch(r"12m\d+s ago", row["REASON"])
    assert re.search(rf"^{namespace}/demo 12m\d+s ago: pending in Ray: 4 bundles: 32 GPU$", text, re.MULTILINE)
    assert not [line for line in text.splitlines() if "32 GPU" in line and " ago: " not in line]
    assert "nothing scales now" in alone.run("explain", "demo", status=3).stdout
    (cluster,) = json.loads(alone.run("status", "-o", "json", status=3).stdout)["clusters"]
    assert cluster["unscaled"] and cluster["decidedAt"] == then
    words = [str(find_tool("kubectl")), "get", "rca", "demo"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True, env=alone.env)
    title, line = done.stdout.splitlines()
    assert title.split()[:2] == ["NAME", "DECIDED"] and re.match(r"demo +12m", line), done.stdout


def test_an_exec_plugin_gives_the_token(alone, work_dir):
    """As EKS, GKE and AKS write kubeconfigs: the user is a program beside the file."""
    config = yaml.safe_load(alone.kubeconfig.read_text())
    user = config["users"][0]["user"]
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": user.pop("token")}}
    script = work_dir / "print-token"
    script.write_text(f"#!/bin/sh\ntest \"$1\" = get-token && cat <<'END'\n{json.dumps(answer)}\nEND\n")
    user["exec"] = {
        "apiVersion": answer["apiVersion"],
        "command": "./print-token",
        "args": ["get-token"],
        "env": None,
        "interactiveMode": "IfAvailable",
        "installHint": "Write print-token.",
    }
    alone.kubeconfig.write_text(yaml.safe_dump(config))
    refused = alone.run("status", status=1).stderr
    assert str(script.parent) in refused and answer["status"]["token"] not in refused
    script.chmod(0o755)
    (row,) = rows(alone.run("status", status=3).stdout)
    assert (row["CLUSTER"], row["READY"]) == ("demo", "?/0")
    script.write_text("#!/bin/sh\necho 'log in first' >&2\nexit 1\n")
    refused = alone.run("status", status=1).stderr
    assert "log in first" in refused and "exit status 1" in refused


def test_snapshot_and_request_without_a_controller(alone, api_server, namespace, work_dir):
    done = alone.run("snapshot", "demo", "-o", str(work_dir / "demo.json"))
    assert "made from the API objects" in done.stderr and done.stdout == ""
    text = (work_dir / "demo.json").read_text()
    assert "hunter2" not in text and json.loads(text)["rayState"] is None
    plan = _plan(work_dir / "demo.json")
    assert plan["groups"][0]["targetReplicas"] == 1

    key = "rayscaler.dev/request-resources"
    clusters = api_server.admin.of("rayclusters", namespace)
    text = alone.run("request", "demo", "--bundles", '[{"GPU": 1}, {"GPU": 1}]').stdout
    assert "before: nothing is requested" in text and "group gpu-group: replicas 0 -> 2, ScaleUp" in text
    assert clusters.get("demo")["metadata"]["annotations"][key] == '[{"GPU": 1}, {"GPU": 1}]'
    refused = alone.run("request", "demo", "--bundles", '[{"GPU": "1"}]', status=1)
    assert "[0].GPU: must be a number, is a string" in refused.stderr
    assert 'before: [{"GPU": 1}, {"GPU": 1}]' in alone.run("request", "demo", "--clear").stdout
    assert key not in clusters.get("demo")["metadata"]["annotations"]
    plain = rayclusters.minimal("plain", enableInTreeAutoscaling=False)
    plain["metadata"]["annotations"] = dict(UNTOUCHED)
    clusters.create(plain)
    warned = alone.run("request", "plain", "--bundles", "[]")
    assert "warning: this RayCluster is not scaled by rayscaler (AutoscalingDisabled" in warned.stderr
    assert clusters.get("plain")["metadata"]["annotations"][key] == "[]"


def test_adopt_and_release(alone, api_server, namespace):
    """The API server accepts the patches, and the release leaves what was there before, and the version."""
    clusters = api_server.admin.of("rayclusters", namespace)
    own = rayclusters.minimal("own", autoscalerOptions={"version": "v2", "idleTimeoutSeconds": 60})
    for made in (own, rayclusters.minimal("plain")):
        made["metadata"]["annotations"] = dict(UNTOUCHED)
        clusters.create(made)
    before = {name: clusters.get(name)["spec"] for name in ("own", "plain")}
    shown = alone.run("adopt", "plain").stdout
    assert '+ command: ["timeout"]' in shown and '+ version: "v2"' in shown and "--yes writes it" in shown
    assert clusters.get("plain")["spec"] == before["plain"]
    assert alone.run("adopt", "--all", "--yes").stdout.count("\nwritten\n") == 2
    for name in before:
        options = clusters.get(name)["spec"]["autoscalerOptions"]
        assert (options["command"], options["args"]) == (["timeout"], ["infinity", "sleep", "infinity"])
        assert options["resources"]["limits"] == {"cpu": "50m", "memory": "16Mi"}
        assert "is parked already" in alone.run("adopt", name).stdout
        alone.run("release", name, "--yes")
        after = clusters.get(name)["spec"]
        assert after["autoscalerOptions"].get("version") == "v2"
        if name == "plain":
            assert after.pop("autoscalerOptions") == {"version": "v2"}
        assert after == before[name]


def test_resume(alone, api_server, namespace):
    """Of clusters that idle termination suspended, and of no others."""
    clusters = api_server.admin.of("rayclusters", namespace)
    key = "rayscaler.dev/suspended-by-idle-termination"
    for name, notes in (("asleep", {key: "2026-11-23T09:00:00Z", "a/b": "c"}), ("foreign", {"a/b": "c"})):
        made = rayclusters.minimal(name, suspend=True)
        made["metadata"]["annotations"] = {**UNTOUCHED, **notes}
        clusters.create(made)
    before = {name: clusters.get(name) for name in ("asleep", "foreign", "demo")}
    assert "RayCluster " + namespace + "/asleep is resumed" in alone.run("resume", "asleep").stdout
    now = clusters.get("asleep")
    assert now["spec"] == {**before["asleep"]["spec"], "suspend": False}
    assert now["metadata"]["annotations"] == {**UNTOUCHED, "a/b": "c"}
    assert "is not suspended" in alone.run("resume", "asleep").stdout
    assert "is not suspended" in alone.run("resume", "demo").stdout
    refused = alone.run("resume", "foreign", status=1).stderr
    assert f"kubectl patch raycluster -n {namespace} foreign --type merge" in refused
    for name in ("foreign", "demo"):
        assert clusters.get(name)["metadata"]["resourceVersion"] == before[name]["metadata"]["resourceVersion"]
    assert f"RayCluster {namespace}/nobody does not exist; namespace {namespace} has " in alone.run("resume", "nobody", status=1).stderr


def _plan(path):
    words = [str(paths.program()), "plan", "-f", str(path), "-o", "json"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout)


def test_watch_goes_on_when_the_api_server_does_not_answer(api_server, namespace, work_dir, alone):
    port = free_port()
    target = ("127.0.0.1", api_server.port)
    cli = Cli(api_server, namespace, work_dir, system=namespace, url=f"https://127.0.0.1:{port}")
    log = work_dir / "watch.log"
    with open(log, "w") as out:
        process = None
        try:
            with HoldingRelay(port, target):
                process = subprocess.Popen(cli.words("status", "--watch"), stdout=out, stderr=out, env=cli.env)
                wait_until(lambda: log.read_text().count("demo  ") >= 2, 20, "two tables")
            wait_until(lambda: "not the newest state" in log.read_text(), 20, "the watch to say that it is cut off")
            with HoldingRelay(port, target):
                api_server.admin.of("rayclusters", namespace).patch_json(
                    "demo", [{"op": "add", "path": "/spec/workerGroupSpecs/0/maxReplicas", "value": 77}]
                )
                wait_until(lambda: " 77 " in log.read_text(), 40, "the watch to show a change again")
                process.send_signal(signal.SIGINT)
                assert process.wait(10) == 0
        finally:
            if process and process.poll() is None:
                process.kill()
                process.wait(10)


def test_watch_on_a_terminal_keeps_the_last_changes(api_server, namespace, alone):
    """The table is redrawn from the top, never cleared; a change stays below it."""
    master, slave = pty.openpty()
    process = subprocess.Popen(alone.words("status", "-w"), stdin=slave, stdout=slave, stderr=slave, env=alone.env)
    os.close(slave)
    shown = b""

    def shows(*words):
        nonlocal shown
        while select.select([master], [], [], 0.1)[0]:
            shown += os.read(master, 65536)
        return all(word in shown for word in words)

    try:
        wait_until(lambda: shows(b"GROUP"), 30, "the table")
        assert b"LAST CHANGES" not in shown
        group = [{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": 2}]
        api_server.admin.of("rayclusters", namespace).patch_json("demo", group)
        wait_until(lambda: shows(b"LAST CHANGES", b" -> ?/2 "), 30, f"the change in {shown!r}")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
        os.close(master)
    assert shown.startswith(b"\033[H") and b"\033[K\r\n" in shown and b"\033[J" in shown and b"\033[2J" not in shown


def test_as_a_plugin_of_kubectl(alone, work_dir):
    directory = work_dir / "bin"
    directory.mkdir()
    (directory / "kubectl-rayscaler").symlink_to(Path(paths.program()).resolve())
    env = {**alone.env, "PATH": f"{directory}:{alone.env['PATH']}"}

    def run(*words):
        return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60, check=False, env=env)

    direct = run(directory / "kubectl-rayscaler", "explain")
    assert direct.returncode == 2 and direct.stderr.startswith("kubectl rayscaler explain: CLUSTER is required")
    kubectl = find_tool("kubectl")
    done = run(kubectl, "rayscaler", "status", "demo", "-o", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["clusters"][0]["name"] == "demo"
    assert run(kubectl, "rayscaler", "status", "--help").stdout.startswith("usage: kubectl rayscaler status ")
    assert run(kubectl, "rayscaler", "status", "--nonsense").returncode == 2


# ---- with a controller and a real Ray ----


@pytest.fixture
def scaled(shared, api_server, work_dir, artefacts):
    """The shared head, a controller with a Lease, its Pod, and a user."""
    one = shared([rm.gpu_group(maxReplicas=2)], idle_seconds=IDLE)
    account = "cli-leader"
    api_server.ensure_service_account(one.namespace, account)
    api_server.allow_leader_election(one.namespace, account)
    flags = ["--leader-elect", "--leader-elect-resource-namespace", one.namespace]
    control = Controller(
        api_server, one.namespace, work_dir / "controller", *flags, account=account, env={"POD_NAME": "rayscaler-0"}
    )
    artefacts.log("controller", control.log)
    with control:
        control.wait_for("deciding starts", seconds=20)
        controller_pod(api_server, one.namespace, "rayscaler-0", control.address("metrics"))
        cli = Cli(api_server, one.namespace, work_dir, system=one.namespace)
        artefacts.log("cli", cli.log)
        yield one, control, cli
    api_server.admin.of("pods", one.namespace).delete("rayscaler-0", grace_seconds=0, missing_ok=True)


def test_status_explain_snapshot_and_request_with_a_controller(scaled, api_server, work_dir):
    one, control, cli = scaled
    way = ["--controller-url", control.address("metrics")]

    # The way through the API server's proxy, with the rights that the docs name.
    text = cli.run("status", "shared").stdout
    assert "pods/proxy" in text and "address not allowed" in " ".join(text.split())
    assert "controller: http://127.0.0.1:" in cli.run("status", "shared", *way).stdout

    with one.program() as program:
        program.actors(2, num_gpus=1)
        program.tasks(1, num_gpus=16)
        pods = program.ready("actors")
        _busy(cli, way, pods)
        _replay(control, cli, way, one, work_dir)
        program.end()
    one.wait_empty()

    text = cli.run("request", "shared", "--bundles", '[{"GPU": 1}, {"GPU": 8}]', *way).stdout
    assert "group gpu-group: replicas 0 -> 1, ScaleUpRequest" in text
    assert "not served: 1 x {GPU: 8}: NoGroupFits" in text
    wait_until(lambda: one.replicas() == 1, 20, "the requested worker")
    wait_until(lambda: rows(cli.run("status", *way).stdout)[0]["GPUS"] == "0/1", 60, "the worker to join")
    wait_until(lambda: "NeededByRequest" in cli.run("explain", "shared", *way).stdout, 20, "the worker to be kept")
    assert "kept while it holds: shared-gpu-group-" in cli.run("request", "shared", "--bundles", '[{"GPU": 1}]', *way).stdout
    cli.run("request", "shared", "--clear", *way)
    one.wait_empty()


def test_the_holders_of_gpus(scaled, api_server, work_dir):
    """An actor class and a function of a real program, with their job, their GPUs and an age."""
    one, control, cli = scaled
    way = ["--controller-url", control.address("metrics")]
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (actor,) = program.ready("actors")
        program.tasks(1, num_gpus=1)
        (task,) = program.ready("tasks", 120)
        assert actor != task
        # Raylets send the events of tasks once a second.
        held = wait_until(lambda: _held(cli, way, actor, task), 30, "explain to name the actor and the task")
        for pod, kind, name in ((actor, "actor", "Worker"), (task, "task", "work")):
            (job, rest) = held[pod]
            assert re.fullmatch(r"[0-9a-f]{8} \(.+\)", job), job
            assert re.fullmatch(rf"{kind} (\S+\.)?{name} x1, 1 GPU, \d+(s|m\d+s)", rest), rest
        document = json.loads(cli.run("explain", "shared", "-o", "json", *way).stdout)
        workers = {worker["pod"]: worker for worker in document["gpuHolders"]["workers"]}
        assert set(workers) == {actor, task}
        for pod, kind in ((actor, "actor"), (task, "task")):
            (holder,) = workers[pod]["holders"]
            assert (holder["kind"], holder["count"], holder["gpus"]) == (kind, 1, 1)
            assert holder["job"] in held[pod][0] and holder["entrypoint"] in held[pod][0]
            assert workers[pod]["unnamed"] == 0 and workers[pod]["inUse"] == 1
        _in_the_inventory(one, control, api_server, work_dir, actor, task)
        program.end()
    one.wait_empty()


def _gpu_seconds(control):
    """Of all groups and states."""
    return sum(float(value) for value in re.findall(r"^rayscaler_gpu_seconds_total{.*} (\S+)$", control.get("/metrics")[1], re.MULTILINE))


def _recorded(path):
    """How many pieces of work the recording has, when all of them have ended."""
    text = path.read_text() if path.exists() else "have not ended"
    (workload,) = (d for d in yaml.safe_load_all(text) if isinstance(d, dict) and d["kind"] == "Workload") if "items:" in text else ({},)
    return 0 if "have not ended" in text else sum(item.get("count", 1) for item in workload.get("items") or [])


def test_a_recording_is_replayed(scaled, work_dir):
    """The simulation of a recording provides the GPU-seconds that the metric has counted."""
    one, control, cli = scaled
    gpu, half = {"CPU": 0, "GPU": 1}, {"CPU": 0, "GPU": 0.5}
    items = [
        {"submit": 0, "duration": 30, "count": 2, "resources": gpu},
        {"submit": 10, "duration": 40, "kind": "actor", "resources": gpu},
        {"submit": 15, "duration": 12, "count": 3, "resources": half},
    ]
    workload, waits, recording, followed = (work_dir / name for name in ("work.jsonl", "waits.json", "recording.yaml", "followed.yaml"))
    workload.write_text("".join(json.dumps(item) + "\n" for item in items))
    way = ["--controller-url", control.address("metrics")]
    before, begun = _gpu_seconds(control), time.time()
    words = cli.words("record", "shared", "--follow", "--since", "1s", "-o", str(followed), *way)
    follower = Process("record", words, work_dir / "record.log", cli.env)
    script = paths.ROOT / "e2e" / "rayscaler_e2e" / "workload_player.py"
    words = [sys.executable, str(script), str(workload), one.address(), one.head_ip(), str(waits)]
    player = Process("player", words, work_dir / "player.log", one._environment())
    wait_until(lambda: not player.running(), 240, "the workload to end")
    assert waits.exists(), player.log_tail()
    one.wait_empty()
    wait_until(lambda: _recorded(followed) == 6, 30, "the whole recording")
    assert follower.stop(10) == 0, follower.log_tail()
    since = f"{int(1000 * (time.time() - begun))}ms"  # others use the head too
    made = cli.run("record", "shared", "-o", str(recording), "--since", since, *way).stdout
    for text in (made, follower.log_tail()):
        assert "5 tasks, 1 actors and 0 placement groups from " in text
    assert recording.stat().st_mode & 0o777 == 0o600
    # The same work, and the same starts of Pods: the controller has seen those that were deleted.
    assert recording.read_text().split("items:")[1] == followed.read_text().split("items:")[1]
    wait_at_rest(lambda: _gpu_seconds(control), 2, "the counters without a worker")
    counted = _gpu_seconds(control) - before
    for path in (followed, recording):
        # Pods of this bench end at once.
        words = ["simulate", "-f", str(path), "-w", str(path), "--set", "pod-terminate=300ms", "-o", "json"]
        (variant,) = json.loads(_output(*words))["variants"]
        simulated = 3600 * variant["gpuHours"]["provisioned"]
        print(f"{path.stem}: GPU-seconds: {counted:.1f} counted, {simulated:.1f} simulated")
        assert variant["neverRan"] == 0 and simulated == pytest.approx(counted, rel=allowed(0.05)), (path, simulated, counted)


def _items(path):
    """Kind and resources of each item of a recording, in order."""
    documents = [d for d in yaml.safe_load_all(path.read_text()) if d["kind"] == "Workload"]
    return [(item.get("kind", "task"), item["resources"]) for item in documents[0]["items"] or []]


def test_a_recording_from_ray_itself(scaled, work_dir):
    """With --gcs the controller is not asked; both files have the same items, with the resources that the program requests."""
    one, control, cli = scaled
    path, begun = work_dir / "recording.yaml", time.time()
    ways = [["--controller-url", control.address("metrics")], ["--gcs", "head"], ["--gcs", one.address()]]

    def recorded(way):
        cli.run("record", "shared", "-o", str(path), "--since", f"{int(1000 * (time.time() - begun))}ms", *way)
        return _items(path)

    wanted = [("actor", {"GPU": 1}), ("request_resources", {"GPU": 1})]
    with one.program() as program:
        program.actors(1, num_cpus=0, num_gpus=1)
        program.ready("actors")
        program.call("request", bundles=[{"GPU": 1}])
        for way in ways:
            wait_until(lambda: recorded(way) == wanted, 30, f"actor and request by {way[0]}")
            assert "bundles were requested at an unknown time" in path.read_text()
        assert _output("simulate", "-f", str(path), "-w", str(path))
        program.call("release", name="actors")
        hold(lambda: one.replicas() == 1, UNUSED_SECONDS + 2 * IDLE, "the request keeps its worker")
        recorded(ways[1])
        kept, ended = _gpu_hours_with(path, "requests.unusedAfterSeconds", 0, UNUSED_SECONDS)
        assert ended < kept, "the replay ends the worker that the request kept unused"
        program.call("request", bundles=[])
        wait_until(lambda: recorded(ways[1]) == wanted[:1], 30, "the request to be gone")
        program.end()
    one.wait_empty()
    failed = cli.run("record", "shared", "-o", str(work_dir / "none"), "--gcs", "127.0.0.1:1", status=1).stderr
    assert "127.0.0.1:1" in failed and not (work_dir / "none").exists()


def _gpu_hours_with(recording, setting, *values):
    words = ["--vary", f"{setting}={','.join(map(str, values))}", "-o", "json"]
    variants = json.loads(_output("simulate", "-f", str(recording), "-w", str(recording), *words))["variants"]
    return [variant["gpuHours"]["provisioned"] for variant in variants]


def test_a_recording_over_tls(alone, work_dir, tmp_path):
    """Ray's own variables give --gcs the certificates of a GCS with TLS; without them it names the variable."""
    variables = write_certificates(tmp_path, ["127.0.0.89"])
    path, begun = work_dir / "recording.yaml", time.time()
    head = RayHead("127.0.0.89", variables, cpus=1)
    try:
        head.start()
        driver = head.driver("""
            @ray.remote(num_cpus=1)
            def work():
                time.sleep(1)

            ray.get(work.remote())
            time.sleep(300)
        """)  # fmt: skip
        words = ["record", "demo", "-o", str(path), "--gcs", f"{head.ip}:{head.port}"]
        refused = alone.run(*words, status=1).stderr
        assert f"{head.ip}:{head.port}" in refused and "RAY_USE_TLS" in refused and not path.exists()
        alone.env.update(variables)

        def recorded():
            driver.check_running()
            alone.run(*words, "--since", f"{int(time.time() - begun)}s")
            return _items(path)

        wait_until(lambda: recorded() == [("task", {"CPU": 1})], 60, "the task in the recording")
        alone.env["RAY_TLS_CA_CERT"] = str(tmp_path / "missing.crt")
        assert "missing.crt" in alone.run(*words, status=1).stderr
    finally:
        head.remove()


def _in_the_inventory(one, control, api_server, work_dir, actor, task):
    """One row per GPU worker. The bench binds Pods to a Node that does not exist: it is made for a moment."""
    nodes = api_server.admin.of("nodes")
    nodes.create({"metadata": {"name": VIRTUAL_NODE}})
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    try:
        path = nodes.path(VIRTUAL_NODE, "status")
        api_server.admin.call("PATCH", path, {"status": status}, content_type=STRATEGIC_MERGE_PATCH)
        config = user_config(api_server, one.namespace, ["nodes", "pods"], work_dir)
        words = ["status", "--gpus", "--kubeconfig", config, "--controller-url", control.address("metrics")]
        text = _output(*words)
        for pod, held in ((actor, r"actor (\S+\.)?Worker"), (task, r"task (\S+\.)?work")):
            row = rf" 1  {one.namespace} +{pod} +shared +gpu-group +{held} x1 \(1 GPU, \w+, job [0-9a-f]{{8}}\)$"
            assert len(re.findall(row, text, re.MULTILINE)) == 1, text
        document = json.loads(_output(*words, "-o", "json"))
        users = [user for node in document["nodes"] for each in node["resources"] for user in each["users"]]
        held = {user["pod"]: user["heldBy"] for user in users}
        assert [held[pod][0]["kind"] for pod in (actor, task)] == ["actor", "task"]
    finally:
        nodes.delete(VIRTUAL_NODE)


def _output(*words):
    done = subprocess.run([str(paths.program()), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _held(cli, way, *pods):
    """The job and the work of each Pod; None until each has exactly one holder."""
    text = cli.run("explain", "shared", *way).stdout
    found = {
        pod: re.search(rf"^  worker {pod}: 1 of 1 GPU held\n    job (.+): (\w+ \S+ x\d.*)\n(?!    )", text + "\n", re.MULTILINE)
        for pod in pods
    }
    return {pod: match.groups() for pod, match in found.items()} if all(found.values()) else None


def _busy(cli, way, pods):
    """Two busy workers at the maximum, and a task that nothing can serve."""
    wanted = {"READY": "2/2", "MAX": "2", "GPUS": "2/2", "STARTING": "0"}

    def shown():
        text = cli.run("status", "shared", *way).stdout
        return text if rows(text) and wanted.items() <= rows(text)[0].items() and "infeasible" in text else None

    text = wait_until(shown, 30, "status to show two busy workers and what is infeasible")
    assert "/shared: pending in Ray: 1 bundle: 16 GPU" in text
    assert "infeasible: 1 x NoGroupFits" in text
    assert max(map(len, text.splitlines())) <= 100
    text = cli.run("explain", "shared", *way).stdout
    assert "as the controller sees it" in text and "1 without a place" in text
    for pod in pods:
        assert re.search(rf"^{pod}  +gpu-group  +Running  +Busy: ", text, re.MULTILINE), text
    document = json.loads(cli.run("status", "-o", "json", *way).stdout)
    assert document["clusters"][0]["groups"][0]["gpus"]["inUse"] == 2
    assert document["clusters"][0]["source"] == "controller"


def _replay(control, cli, way, one, work_dir):
    """The plan of the snapshot is the plan of the controller, to the byte, when both are of one pass."""
    path = f"{one.namespace}/shared"

    def both():
        with concurrent.futures.ThreadPoolExecutor() as pool:
            status, snapshot = pool.map(control.get, (f"/status/{path}", f"/snapshot/{path}"))
        assert status[0] == 200 and snapshot[0] == 200, (status, snapshot)
        made, taken = json.loads(status[1]), json.loads(snapshot[1])
        return (made, snapshot[1]) if made["decidedAt"] == taken["now"] else None

    made, text = wait_until(both, 30, "a status and a snapshot of the same pass")
    (work_dir / "same.json").write_text(text)
    plan = _plan(work_dir / "same.json")
    for name in ("groups", "workers", "infeasible", "unserved", "patch", "conditions"):
        assert json.dumps(plan[name]) == json.dumps(made["plan"][name]), name
    cli.run("snapshot", "shared", "-o", str(work_dir / "taken.json"), *way)
    plan = _plan(work_dir / "taken.json")
    assert json.dumps(plan["patch"]) == json.dumps(made["plan"]["patch"])
    assert [group["targetReplicas"] for group in plan["groups"]] == [2]
    assert plan["infeasible"] == made["plan"]["infeasible"]


# ---- the document ----


def help_of(*words, program=None):
    done = subprocess.run([str(program or paths.program()), *words], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, words
    return done.stdout


# The document has these lines once.
API_FLAGS = """  -n, --namespace NS            default: that of the context
  --kubeconfig FILE             default: $KUBECONFIG, else ~/.kube/config,
                                else the Pod's ServiceAccount
  --context NAME                default: that of the kubeconfig
"""
CONTROLLER_FLAGS = """  --controller-namespace NS     where rayscaler runs; default rayscaler-system
  --controller-service NAME     its Service there; default rayscaler
  --controller-url URL          where it is; 127.0.0.1:8080 with port-forward
  --controller-ca FILE          of an https URL; "none": it is not verified
"""


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)], ids=" ".join)
def test_the_help_is_in_the_document(words):
    text = help_of(*words)
    assert max(map(len, text.splitlines())) <= 80
    assert "exit status: 0 " in text
    short = text.replace(API_FLAGS + CONTROLLER_FLAGS, API_FLAGS).replace(
        API_FLAGS, "  ...                           flags to reach the cluster\n"
    )
    assert f"```\n{short}```" in DOCUMENT, f"docs/COMMANDS.md does not hold this:\n{short}"
    assert f"```\n{API_FLAGS}{CONTROLLER_FLAGS}```" in DOCUMENT


def test_help_finds_its_command():
    assert help_of("help", "status") == help_of("status", "--help")
    assert help_of("help") == help_of("--help")


def test_the_samples_have_the_form_of_the_program(alone):
    """Column titles and section titles of the samples are those that the program prints now."""
    samples = re.findall(r"```console\n\$ (.*?)\n(.*?)```", DOCUMENT, re.DOTALL)
    by_command = {}
    for command, text in samples:
        by_command.setdefault(command.split()[1 if command.startswith("rayscaler") else 2], []).append(text)
    assert set(by_command) >= {"status", "explain", "snapshot", "request"}
    (titles,) = (line.split() for line in alone.run("status", status=3).stdout.splitlines() if line.startswith("CLUSTER"))
    for text in by_command["status"]:
        if text.startswith(("CLUSTER", "nothing scales")):
            assert titles in [line.split() for line in text.splitlines()]
            assert rows(text), "rows are aligned"
    source = "".join(path.read_text() for path in (paths.ROOT / "src" / "codec" / "objects").glob("*_text.c"))
    for text in by_command["explain"]:
        for title in re.findall(r"^([A-Z]{4,})(?:  |$)", text, re.MULTILINE):
            assert title in source, title
    for text in by_command["request"]:
        assert text.splitlines()[1].startswith("before: ") and text.splitlines()[2].startswith("now:    ")
