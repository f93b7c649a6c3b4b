"""`make bench`: how fast and how heavy the program is, beside Ray's own autoscaler, in one run.

A real kube-apiserver, a real Ray head. The demand of each round is an actor that needs a resource which
only one group has, so that every round is a scale-up of its own and no Pod has to start: the clock stops
at "patch accepted". Both autoscalers meet the same demand on the same head, one after the other.

    asked    the program is told to call .remote(); until `seen` it is Ray's own time
    seen     first reply of the GCS that has the demand (asked for every 10 ms)
    patched  the watch of RayClusters shows the group with replicas 1

rayscaler is measured twice: with one RayCluster, and with FLEET of them at rest beside it. On the way down the
clock runs from the end of the idle timeout, by the idle time of a real raylet in the GCS, to the patch that names
its Pod.
"""

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from rayscaler_e2e import figures, instructions, paths, rayclusters
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.fleet import cpu_seconds
from rayscaler_e2e.kuberay_pod import owner_reference
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_manifests import LIGHT_ENV, OBJECT_STORE_BYTES
from rayscaler_e2e.ray_program import RayProgram, ray_environment
from rayscaler_e2e.wait import wait_until

ROUNDS = 20
IDLE_WORKERS = 6
IDLE_SECONDS = 6
FLEET = 50
SAMPLE_SECONDS = 20.0
HEAD_ADDRESS = "127.99.0.1"
REST_ADDRESS = "127.99.0.2"
RAY_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def say(text: str) -> None:
    print(text, flush=True)


# -- the measurements ------------------------------------------------------------------------------


def rss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"no VmRSS of process {pid}")


def sample(pid: int, seconds: float) -> Tuple[float, float]:
    """(RSS in MiB at the end, CPU in per cent of one core) over a time in which nothing changes."""
    start, before = time.monotonic(), cpu_seconds(pid)
    threading.Event().wait(seconds)
    used = cpu_seconds(pid) - before
    return rss_kib(pid) / 1024, 100 * used / (time.monotonic() - start)


class StateWatch:
    """Reads Ray's state from the GCS again and again, from construction until ``stop``. A call that fails is followed by the
    next one: a head on a busy machine answers late."""

    def __init__(self, address: str, seconds: float):
        from ray._raylet import GcsClient
        from ray.core.generated import autoscaler_pb2

        self._client = GcsClient(address=address)
        self._reply = autoscaler_pb2.GetClusterResourceStateReply
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                text = self._client.get_cluster_resource_state(timeout_s=5)
            except Exception as error:  # RpcError, and in some versions a plain RuntimeError
                say(f"Ray's state cannot be read: {error}")
                continue
            reply = self._reply()
            reply.ParseFromString(text)
            self._note(reply.cluster_resource_state, time.monotonic())

    def _note(self, state: Any, now: float) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(10)


class DemandWatch(StateWatch):
    """When each resource name first stood in the pending demand of the GCS."""

    def __init__(self, address: str, prefix: str):
        self._prefix = prefix
        self.seen: Dict[str, float] = {}
        super().__init__(address, 0.01)

    def _note(self, state: Any, now: float) -> None:
        for pending in state.pending_resource_requests:
            for name in pending.request.resources_bundle:
                if name.startswith(self._prefix):
                    self.seen.setdefault(name, now)


class IdleWatch(StateWatch):
    """Since when each node is idle, by the last reading before its Pod is in ``patched``: the most exact one."""

    def __init__(self, address: str, patched: Dict[str, float]):
        self._patched = patched
        self.since: Dict[str, float] = {}
        super().__init__(address, 0.02)

    def _note(self, state: Any, now: float) -> None:
        for node in state.node_states:
            if node.idle_duration_ms > 0 and node.instance_id not in self._patched:
                self.since[node.instance_id] = now - node.idle_duration_ms / 1000


class PatchWatch:
    """When each group of one RayCluster was first seen with replicas above 0, and each Pod as one to delete."""

    def __init__(self, server: ApiServer, namespace: str, name: str):
        self._clusters = server.client(server.tokens["bench-admin"]).of("rayclusters", namespace)
        self._name = name
        self.patched: Dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            version = self._clusters.list()["metadata"]["resourceVersion"]
            for event in self._clusters.watch(resource_version=version, timeout_seconds=20):
                now = time.monotonic()
                self._note(event["object"], now)
                if self._stop.is_set():
                    return

    def _note(self, obj: Dict[str, Any], now: float) -> None:
        if obj.get("metadata", {}).get("name") != self._name:
            return
        for group in obj["spec"]["workerGroupSpecs"]:
            if group["replicas"] > 0:
                self.patched.setdefault(group["groupName"], now)
            for pod in group.get("scaleStrategy", {}).get("workersToDelete", []):
                self.patched.setdefault(pod, now)

    def stop(self) -> None:
        self._stop.set()


# -- the parts ------------------------------------------------------------------------------------


class Head:
    """A real Ray head without a monitor of its own."""

    def __init__(self, work_dir: Path, pod: str, ip: str = HEAD_ADDRESS):
        self.pod = pod
        self.ip = ip
        self.port = free_port()
        self.address = f"{ip}:{self.port}"
        self.home = work_dir / "home"
        self.temp = Path(tempfile.mkdtemp(prefix="rsb"))  # short: unix sockets live there
        env = ray_environment(self.home, None)
        env.update(LIGHT_ENV, RAY_enable_autoscaler_v2="1", RAY_CLOUD_INSTANCE_ID=pod, RAY_NODE_TYPE_NAME="headgroup")
        words = [Path(sys.executable).parent / "ray", "start", "--head", "--block", "--no-monitor"]
        words += [f"--port={self.port}", f"--node-ip-address={ip}", "--num-cpus=1"]
        words += ["--include-dashboard=false", f"--object-store-memory={OBJECT_STORE_BYTES}", f"--temp-dir={self.temp}"]
        self.process = Process("head", words, work_dir / "head.log", env)
        wait_until(self._listens, 60, f"the GCS at {self.address}")

    def _listens(self) -> bool:
        self.process.check_running()
        with socket.socket() as one:
            return one.connect_ex((self.ip, self.port)) == 0

    def start_worker(self, work_dir: Path, pod: str, group: str, ip: str) -> Process:
        env = ray_environment(self.home, None)
        env.update(LIGHT_ENV, RAY_CLOUD_INSTANCE_ID=pod, RAY_NODE_TYPE_NAME=group)
        words = [Path(sys.executable).parent / "ray", "start", "--block", f"--address={self.address}"]
        words += [f"--node-ip-address={ip}", "--num-cpus=1", f"--object-store-memory={OBJECT_STORE_BYTES}"]
        # Two that start in one directory within a moment take the same name of a socket.
        words += [f"--temp-dir={self.temp / pod}"]
        return Process(pod, words, work_dir / f"{pod}.log", env)

    def program(self, work_dir: Path) -> RayProgram:
        return RayProgram(work_dir, self.address, self.ip, ray_environment(self.home, None))

    def stop(self) -> None:
        self.process.stop(10)
        shutil.rmtree(self.temp, ignore_errors=True)


def bench_cluster(name: str, prefix: str, rounds: int) -> Dict[str, Any]:
    groups = []
    for number in range(rounds):
        group = rayclusters.group(f"group-{number}", replicas=0, minReplicas=0, maxReplicas=1)
        resources = json.dumps(json.dumps({f"{prefix}{number}": 1}))
        group["rayStartParams"] = {"resources": f"'{resources[1:-1]}'"}
        groups.append(group)
    options = {"version": "v2", "command": ["rayscaler"], "args": ["park"]}
    return rayclusters.minimal(name, *groups, autoscalerOptions=options)


def create_pod(
    server: ApiServer, namespace: str, cluster: Dict[str, Any], kind: Tuple[str, str, str], container: Dict[str, Any], ip: str
) -> None:
    """A running Pod; kind: name, node type, group."""
    pod, node_type, group = kind
    pods = server.admin.of("pods", namespace)
    labels = {"ray.io/cluster": cluster["metadata"]["name"], "ray.io/node-type": node_type, "ray.io/group": group}
    meta = {"name": pod, "labels": labels, "ownerReferences": [owner_reference(cluster)]}
    pods.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}})
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
    pods.patch_merge(pod, {"status": status}, subresource="status")


def create_cluster(server: ApiServer, namespace: str, cluster: Dict[str, Any], head: Head) -> Dict[str, Any]:
    """The RayCluster and its head Pod as the operator and a kubelet would leave them."""
    created = server.admin.of("rayclusters", namespace).create(cluster)
    container = rayclusters.container("ray-head", {"cpu": "1"})
    container["ports"] = [{"name": "gcs-server", "containerPort": head.port}]
    create_pod(server, namespace, created, (f"{cluster['metadata']['name']}-head", "head", "headgroup"), container, head.ip)
    return created


# -- the two autoscalers --------------------------------------------------------------------------


def start_rayscaler(server: ApiServer, namespace: str, work_dir: Path) -> Process:
    token = server.namespaced_controller_token(namespace)
    kubeconfig = server.write_kubeconfig(work_dir / "controller.kubeconfig", token=token)
    words = [paths.controller(), "run", "--kubeconfig", kubeconfig, "--namespace", namespace]
    words += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]
    return Process("rayscaler", words, work_dir / "rayscaler.log")


def start_ray_autoscaler(server: ApiServer, namespace: str, name: str, head: Head, work_dir: Path) -> Process:
    """Ray's own process wants token and CA at a fixed path: a mount namespace gives it them."""
    files = server.in_cluster_files(work_dir / "serviceaccount", server.sidecar_token(namespace, name), namespace)
    env = ray_environment(head.home, None)
    env.update(files.env, KUBERAY_CRD_VER="v1", RAY_CLUSTER_NAME=name, RAY_CLUSTER_NAMESPACE=namespace)
    env["RAY_HEAD_POD_NAME"] = head.pod
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
    # Without Pods its default of 10 launches at a time would stop it half way.
    env["AUTOSCALER_MAX_CONCURRENT_LAUNCHES"] = "100"
    run = (
        "from ray.autoscaler._private.kuberay.run_autoscaler import run_kuberay_autoscaler as run; "
        f"run({name!r}, {namespace!r}, {head.address!r})"
    )
    # A tmpfs over /run keeps the directory that is made there out of the machine's.
    mount = f'mount -t tmpfs tmpfs /run && mkdir -p {RAY_PATH} && mount --bind "$1" {RAY_PATH} && exec "$2" -c "$3"'
    words = ["unshare", "--mount", "sh", "-c", mount, "sh", files.directory, sys.executable, run]
    return Process("ray-autoscaler", words, work_dir / "ray-autoscaler.log", env)


class Times(NamedTuple):
    seen: List[float]
    asked: List[float]


def react(
    server: ApiServer, namespace: str, name: str, prefix: str, head: Head, work_dir: Path, rounds: int,
    alive: Callable[[], None], limit: float,
) -> Times:
    """Milliseconds to patched, one per round."""
    demand, patch = DemandWatch(head.address, prefix), PatchWatch(server, namespace, name)
    times = Times([], [])
    with head.program(work_dir / f"program-{name}") as program:
        for number in range(rounds):
            # Not in step with any interval.
            threading.Event().wait(random.uniform(0.2, 1.7))
            resource, group = f"{prefix}{number}", f"group-{number}"
            asked = time.monotonic()
            program.actors(1, name=resource, num_cpus=0, resources={resource: 1})

            def done() -> bool:
                alive()
                return group in patch.patched and resource in demand.seen

            wait_until(done, limit, f"{group} of {name} to be patched", 0.005)
            times.seen.append(1000 * (patch.patched[group] - demand.seen[resource]))
            times.asked.append(1000 * (patch.patched[group] - asked))
        program.end()
    demand.stop()
    patch.stop()
    return times


def go_down(
    server: ApiServer, namespace: str, head: Head, work_dir: Path, alive: Callable[[], None]
) -> List[float]:
    """Milliseconds from the end of the idle timeout to the patch, one per worker."""
    group = rayclusters.group("idle", replicas=IDLE_WORKERS, minReplicas=0, maxReplicas=IDLE_WORKERS)
    options = {"version": "v2", "command": ["rayscaler"], "args": ["park"], "idleTimeoutSeconds": IDLE_SECONDS}
    created = create_cluster(server, namespace, rayclusters.minimal("down", group, autoscalerOptions=options), head)
    patch = PatchWatch(server, namespace, "down")
    # From the start: the first worker may be terminated before the last one is started.
    idle = IdleWatch(head.address, patch.patched)
    pods = server.admin.of("pods", namespace)
    deleted: List[str] = []
    raylets: List[Process] = []
    try:
        container = rayclusters.container("ray-worker", {"cpu": "1"})
        workers = [(f"down-{number}", f"127.99.1.{number + 1}") for number in range(IDLE_WORKERS)]
        for pod, ip in workers:
            create_pod(server, namespace, created, (pod, "worker", "idle"), container, ip)

        def done() -> bool:
            alive()
            for pod in [name for name in patch.patched if name.startswith("down-") and name not in deleted]:
                pods.delete(pod)  # as the operator does
                deleted.append(pod)
            return len(deleted) == IDLE_WORKERS

        for pod, ip in workers:
            raylets.append(head.start_worker(work_dir, pod, "idle", ip))
            # The first may be idle for its timeout before the last has started.
            until = time.monotonic() + random.uniform(0.2, 1.7)
            while time.monotonic() < until:
                done()
                threading.Event().wait(0.02)
        wait_until(done, 120, "all idle workers to be terminated", 0.02)
    finally:
        for raylet in raylets:
            raylet.stop(10)
        patch.stop()
        idle.stop()
    busy = [pod for pod in deleted if pod not in idle.since]
    if busy:
        raise RuntimeError(f"terminated without being idle, perhaps as their raylets were not registered in time: {busy}")
    return [1000 * (patch.patched[pod] - idle.since[pod] - IDLE_SECONDS) for pod in deleted]


# -- the report -----------------------------------------------------------------------------------


def p99(values: List[float]) -> float:
    """The nearest rank: of 20 values the largest."""
    ordered = sorted(values)
    return ordered[max(0, -(-99 * len(ordered) // 100) - 1)]


def row(what: str, ours: Any, theirs: Any) -> str:
    return f"{what:<52} {ours:>14} {theirs:>18}"


def instructions_of_a_read(server: ApiServer, namespace: str, work_dir: Path) -> str:
    """Of another controller, at rest with the RayClusters that are there; "" without callgrind."""
    directory = work_dir / "callgrind"
    script = instructions.under_callgrind(paths.controller(), directory)
    if not script:
        return ""
    os.environ["RAYSCALER"] = str(script)
    try:
        control = Controller(server, namespace, directory / "controller")
        control.wait_for("deciding starts", seconds=60)
        threading.Event().wait(10)
        return f"{instructions.per_read(control, directory, 20):.0f}"
    finally:
        del os.environ["RAYSCALER"]
        control.stop()


def measure_rayscaler(
    server: ApiServer, namespace: str, head: Head, rest: Head, work_dir: Path, args: Any
) -> Dict[str, Any]:
    cluster = bench_cluster("ours", "ours_", args.rounds)
    create_cluster(server, namespace, cluster, head)
    process = start_rayscaler(server, namespace, work_dir)
    try:
        say(f"rayscaler: {args.rounds} scale-ups ...")
        times = react(
            server, namespace, "ours", "ours_", head, work_dir, args.rounds, process.check_running, 30
        )
        say(f"rayscaler: {IDLE_WORKERS} idle workers ...")
        down = go_down(server, namespace, head, work_dir, process.check_running)
        server.admin.of("rayclusters", namespace).delete("down")
        say(f"rayscaler: {args.sample_seconds:.0f} s of calm with 1 RayCluster ...")
        one = sample(process.pid, args.sample_seconds)
        for number in range(1, FLEET):
            create_cluster(server, namespace, bench_cluster(f"fleet-{number}", f"fleet{number}_", 3), rest)
        say(f"rayscaler: {args.sample_seconds:.0f} s of calm with {FLEET} RayClusters ...")
        threading.Event().wait(3)
        many = sample(process.pid, args.sample_seconds)
        create_cluster(server, namespace, bench_cluster("beside", "beside_", args.rounds), head)
        say(f"rayscaler: {args.rounds} scale-ups beside {FLEET} RayClusters ...")
        beside = react(
            server, namespace, "beside", "beside_", head, work_dir, args.rounds, process.check_running, 30
        )
        process.check_running()
    finally:
        process.stop(5)
    for number in range(1, FLEET):
        server.admin.of("rayclusters", namespace).delete(f"fleet-{number}")
    say("rayscaler: instructions of a read ...")
    read = instructions_of_a_read(server, namespace, work_dir)
    return {"times": times, "down": down, "one": one, "many": many, "beside": beside, "read": read}


def measure_ray(server: ApiServer, namespace: str, head: Head, work_dir: Path, args: Any) -> Optional[Dict[str, Any]]:
    cluster = bench_cluster("theirs", "theirs_", args.rounds)
    # Ours is stopped by now; the annotation is for a controller that is still running.
    cluster["metadata"]["annotations"] = {"rayscaler.dev/managed": "false"}
    create_cluster(server, namespace, cluster, head)
    process = start_ray_autoscaler(server, namespace, "theirs", head, work_dir)
    try:
        say(f"Ray's autoscaler: {args.rounds} scale-ups ...")
        times = react(
            server, namespace, "theirs", "theirs_", head, work_dir, args.rounds, process.check_running, 90
        )
        say(f"Ray's autoscaler: {args.sample_seconds:.0f} s of calm ...")
        one = sample(process.pid, args.sample_seconds)
    finally:
        process.stop(5)
    return {"times": times, "one": one}


def shown(ours: Dict[str, Any], theirs: Dict[str, Any]) -> Dict[str, List[str]]:
    """The figures of README.md and COMPARISON.md, by the first cell of their rows."""
    times = [(one["times"].seen, one["one"]) for one in (ours, theirs)]
    return {
        "pending demand to accepted patch, p50": [f"{statistics.median(seen):.0f} ms" for seen, _ in times],
        "pending demand to accepted patch, p99": [f"{p99(seen):.0f} ms" for seen, _ in times],
        "memory (RSS), one RayCluster": [f"{rss:.1f} MiB" for _, (rss, _) in times],
        f"memory (RSS), {FLEET} RayClusters": [f"{ours['many'][0]:.1f} MiB, one process", "one process in each head Pod"],
        "CPU at rest, one RayCluster": [f"{cpu:.2f} % of a core" for _, (_, cpu) in times],
    }


def report(ours: Dict[str, Any], theirs: Dict[str, Any], describe: str) -> List[str]:
    import ray

    lines = [f"{os.cpu_count()} cores, Ray {ray.__version__}, {describe}", row("", "rayscaler", "Ray's autoscaler")]
    for what, member in (("demand seen in the GCS", "seen"), (".remote()", "asked")):
        for which, pick in (("median", statistics.median), ("p99", p99)):
            one, beside, theirs_too = (f"{pick(getattr(times, member)):.0f}" for times in (ours["times"], ours["beside"], theirs["times"]))
            lines.append(row(f"{what} to patch accepted, {which} (ms)", one, theirs_too))
            lines.append(row(f"    the same beside {FLEET} RayClusters", beside, ""))
    for which, pick in (("median", statistics.median), ("most", max)):
        lines.append(row(f"end of the idle timeout to patch accepted, {which} (ms)", f"{pick(ours['down']):.0f}", ""))
    lines += [
        row("scale-ups measured", len(ours["times"].seen), len(theirs["times"].seen)),
        row("RSS, 1 RayCluster (MiB)", f"{ours['one'][0]:.1f}", f"{theirs['one'][0]:.1f}"),
        row("CPU, 1 RayCluster at rest (% of a core)", f"{ours['one'][1]:.2f}", f"{theirs['one'][1]:.2f}"),
        row(f"RSS, {FLEET} RayClusters (MiB)", f"{ours['many'][0]:.1f}", "one process each"),
        row(f"CPU, {FLEET} RayClusters at rest (% of a core)", f"{ours['many'][1]:.2f}", "one process each"),
        f"Of the {FLEET} RayClusters, all but the first have head Pods that lead to one more Ray head.",
        "Ray's autoscaler reads Ray every 5 s, rayscaler every 0.1 to 1 s: both with their defaults.",
    ]
    return [line.rstrip() for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sample-seconds", type=float, default=SAMPLE_SECONDS)
    parser.add_argument("--write", action="store_true", help="docs/figures.json and the pages that show it")
    args = parser.parse_args()
    work_dir = paths.work_root() / "bench"
    shutil.rmtree(work_dir, ignore_errors=True)
    with ApiServer(work_dir / "apiserver") as server:
        say(server.describe())
        server.install_bench()
        namespace = server.create_namespace("bench")
        head = Head(work_dir, "ours-head")
        rest = Head(work_dir / "rest", "rest-head", REST_ADDRESS)
        try:
            ours = measure_rayscaler(server, namespace, head, rest, work_dir, args)
        finally:
            head.stop()
            rest.stop()
        # A head of its own, so that it does not see the demand of the first one.
        head = Head(work_dir, "theirs-head")
        try:
            theirs = measure_ray(server, namespace, head, work_dir, args)
        finally:
            head.stop()
        lines = report(ours, theirs, server.describe())
        say("\n" + "\n".join(lines))
        if args.write:
            figures.record(shown(ours, theirs), lines)


if __name__ == "__main__":
    main()
