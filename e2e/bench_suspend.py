"""`make bench-suspend`: drivers that connect around the moment at which idle termination suspends their cluster.

Real Ray, an API server, operator and kubelet as in the tests (KUBERAY=real: KubeRay's operator). Each of some
RayClusters is idle until shortly before its end; then a driver calls ray.init() and runs a task of three seconds.
The calls are spread evenly around the expected suspension. What becomes of a driver:

    kept     its task ended: the cluster was not suspended, or resumed in time
    resumed  the head ended under it, and the cluster runs again by itself
    lost     ray.init() succeeded, the head ended, and the cluster stays suspended
    refused  ray.init() failed, and the cluster stays suspended
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, List, Optional

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.ray_program import ray_environment
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

AFTER_SECONDS = 60
# A driver imports Ray before its moment.
IMPORT_SECONDS = 15.0
TASK_SECONDS = 10.0
# The status has whole seconds, and then the cluster is read once more.
STATUS_SECONDS = 0.5
WAIT_SECONDS = 240.0
# A driver whose head has ended may wait long for another one.
DRIVER_SECONDS = 40.0
DRIVER_ENV = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
SUSPENDED = "rayscaler.dev/suspended-by-idle-termination"


def say(text: str) -> None:
    print(text, flush=True)


def drive(address: str, node_ip: str, at: float, out: Path) -> None:
    """The driver: a process of its own, which Ray ends with its head."""
    import ray

    found: Dict[str, float] = {}

    def note(name: str) -> None:
        found[name] = time.time()
        out.with_suffix(".new").write_text(json.dumps(found))
        out.with_suffix(".new").rename(out)

    @ray.remote(num_cpus=0, max_retries=0)
    def work() -> None:
        time.sleep(TASK_SECONDS)

    time.sleep(max(at - time.time(), 0))
    note("called")
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=False, logging_level="error")
    note("connected")
    ray.get(work.remote(), timeout=60)
    note("done")


class Cluster:
    def __init__(self, api: ApiServer, namespace: str, name: str, work_dir: Path):
        self.name, self._work_dir = name, work_dir / name
        self._clusters = api.admin.of("rayclusters", namespace)
        self._pods = api.admin.of("pods", namespace)
        self._autoscalers = api.admin.of("rayclusterautoscalers", namespace)
        spec = {"idleTermination": {"afterSeconds": AFTER_SECONDS}}
        kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": name}}
        self._autoscalers.create({**kind, "spec": spec})
        manifest = rm.cluster(name, [rm.gpu_group()])
        self._port = kp.head_port(manifest)
        self._clusters.create(manifest)

    def suspended(self) -> bool:
        return bool(self._clusters.get(self.name)["spec"].get("suspend"))

    def _head(self) -> Optional[Dict[str, Any]]:
        selector = f"{kp.CLUSTER_LABEL}={self.name},{kp.NODE_TYPE_LABEL}=head"
        heads = [pod for pod in self._pods.items(selector) if not pod["metadata"].get("deletionTimestamp")]
        ready = {c["type"]: c["status"] for pod in heads for c in (pod.get("status") or {}).get("conditions") or []}
        return heads[0] if ready.get("Ready") == "True" else None

    def wait_head(self) -> Dict[str, Any]:
        return wait_until(self._head, WAIT_SECONDS, f"the head of {self.name}")

    def _expected(self) -> float:
        """When it will be suspended, by its status; 0: unknown."""
        text = json.dumps(self._autoscalers.get(self.name).get("status") or {})
        found = re.search(r"suspended at (\S+Z) if it stays idle", text)
        at = datetime.fromisoformat(found.group(1).replace("Z", "+00:00")).timestamp() if found else 0
        return at if at > time.time() + IMPORT_SECONDS else 0

    def arrive(self, number: int, offset: float) -> Dict[str, Any]:
        if self.suspended():
            self._clusters.patch_merge(self.name, {"spec": {"suspend": False}})
        head = self.wait_head()
        expected = wait_until(self._expected, WAIT_SECONDS, f"{self.name} to be idle") + STATUS_SECONDS
        time.sleep(max(expected - IMPORT_SECONDS - time.time(), 0))
        out = self._work_dir / f"{number}.json"
        address = f"{head['status']['podIP']}:{self._port}"
        words = [sys.executable, __file__, "--drive", address, head["status"]["podIP"], str(expected + offset), str(out)]
        env = {**ray_environment(self._work_dir / "home", None), **DRIVER_ENV, "PYTHONPATH": str(paths.E2E)}
        driver = Process("driver", words, self._work_dir / f"{number}.log", env)
        while driver.running() and time.time() < expected + offset + DRIVER_SECONDS:
            time.sleep(0.2)
        driver.stop(1)
        seen = json.loads(out.read_text())
        if "done" in seen:
            return {**seen, "end": "kept"}
        time.sleep(5)
        if not self.suspended():
            self.wait_head()
            return {**seen, "end": "resumed"}
        return {**seen, "end": "lost" if "connected" in seen else "refused"}


def suspensions(controller: Controller, namespace: str, name: str) -> List[float]:
    lines = controller.find('"idle termination"', f'"{namespace}/{name}"', '"Suspend"')
    return [datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp() for line in lines]


def run(api: ApiServer, options: argparse.Namespace, work_dir: Path) -> List[Dict[str, Any]]:
    namespace = api.create_namespace("suspend")
    step = 2 * options.around / options.arrivals
    offsets = [-options.around + step * (i + 0.5) for i in range(options.arrivals)]
    random.Random(options.seed).shuffle(offsets)
    with Controller(api, namespace, work_dir / "controller") as controller:
        clusters = [Cluster(api, namespace, f"demo-{i}", work_dir) for i in range(options.clusters)]

        def visit(index: int) -> List[Dict[str, Any]]:
            found = []
            for number in range(index, len(offsets), len(clusters)):
                one = clusters[index].arrive(number, offsets[number])
                times = suspensions(controller, namespace, clusters[index].name)
                near = [at for at in times if abs(at - one["called"]) < 30]
                one["after"] = one["called"] - near[0] if near else None
                when = f"{one['after']:+.2f} s from the suspension" if near else "not suspended"
                took = f"took {one['connected'] - one['called']:.2f} s" if "connected" in one else "failed"
                say(f"  {clusters[index].name} {offsets[number]:+.2f} s: {one['end']}, ray.init() {took}, called {when}")
                found.append(one)
            return found

        with concurrent.futures.ThreadPoolExecutor(len(clusters)) as pool:
            return [one for found in pool.map(visit, range(len(clusters))) for one in found]


def main() -> int:
    if sys.argv[1:2] == ["--drive"]:
        drive(sys.argv[2], sys.argv[3], float(sys.argv[4]), Path(sys.argv[5]))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--arrivals", type=int, default=40)
    parser.add_argument("--around", type=float, default=1.5, help="seconds before and after the expected suspension")
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    work_dir = paths.work_root() / "bench-suspend"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    # A build meanwhile must not take the program away.
    os.environ["RAYSCALER"] = str(shutil.copy2(paths.controller(), work_dir / "rayscaler"))
    with ApiServer(work_dir / "apiserver") as api:
        api.install_bench()
        say(f"{api.describe()}, operator {'of KubeRay' if paths.kuberay_operator() else 'stand-in'}, load {os.getloadavg()[0]:.1f}")
        with StandIns(api, work_dir / "nodes"):
            found = run(api, options, work_dir)
    ends = Counter(one["end"] for one in found)
    say(f"{len(found)} drivers: " + ", ".join(f"{ends[end]} {end}" for end in ("kept", "resumed", "lost", "refused")))
    return 1 if ends["lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
