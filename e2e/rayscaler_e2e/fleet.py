"""One controller and a fleet: N RayClusters with P Pods each, each with a Ray head of its own.

API server and heads are one C program (src/test/tools/gcs_fleet.c): kube-apiserver takes minutes to create 100,000
Pods. It speaks plain HTTP/1.1; the heads speak gRPC as Ray's do, with a recorded reply.
"""

import http.client
import json
import os
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import paths
from .hostile.objects import Object, now, uid_of
from .kubeconfig import write_kubeconfig
from .memory_limit import MemoryLimit
from .ports import free_port
from .processes import Process
from .wait import wait_until

SYNC_SECONDS = 300.0
GPUS_MAX = 2 * 63  # of a cluster of src/test/fleet/fleet_objects.h
DRAIN_SECONDS = 60.0
PULSE_SECONDS = 0.02
PLURALS = ("rayclusters", "pods", "rayclusterautoscalers", "nodes", "events", "gpupools", "namespaces")
PLURALS += ("resourceslices", "deviceclasses", "resourceclaimtemplates", "resourceclaims")
Figures = Dict[str, Any]

def status_mib(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no {name} of process {pid}")


def cpu_seconds(pid: int) -> float:
    """Of all its threads, in nanoseconds: `stat` counts ticks of 10 ms, the tenth of what is measured."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def reads(figures: Figures) -> int:
    """Lists and watches, each of a whole kind."""
    return sum(value for key, value in figures.items() if key.startswith("list_")) + figures["watches"]


def writes(figures: Figures) -> int:
    return sum(value for key, value in figures.items() if key.startswith("write_"))


class Pulse:
    """How long the controller's loop was held: /healthz is answered by each turn of it."""

    def __init__(self, port: int, seconds: float = PULSE_SECONDS):
        self._port = port
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.longest_ms = 0.0
        self._thread.start()

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._ended.wait(self._seconds):
            start = time.monotonic()
            try:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                connection.close()
                continue
            self.longest_ms = max(self.longest_ms, 1000 * (time.monotonic() - start))
        connection.close()

    def stop(self) -> float:
        self._ended.set()
        self._thread.join()
        return self.longest_ms


class Fleet:
    """API server and heads, and one controller on them."""

    def __init__(self, clusters: int, pods: int, work_dir: Path, flags: List[str], limit: Optional[MemoryLimit] = None, health: int = 0):
        """``limit``: on the controller's memory; ``health``: its port, 0: any."""
        self.clusters = clusters
        work_dir.mkdir(parents=True, exist_ok=True)
        recorded = paths.ROOT / "src/test/data/gcs/workers.bin"
        words = [paths.build_dir() / "tools/gcs_fleet", str(clusters), str(pods), recorded]
        self.server = Process("fleet", words, work_dir / "fleet.log")
        wait_until(self._ready, 30, "the fleet's API server")
        self._port = int(self.server.log_text().split()[1])
        self._health = health or free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.kubeconfig = work_dir / "kubeconfig"
        write_kubeconfig(self.kubeconfig, f"http://127.0.0.1:{self._port}")
        self._words = [paths.controller(), "run", "--kubeconfig", self.kubeconfig, "--log-level", "warning"]
        self._words += ["--metrics-bind-address", "127.0.0.1:0"]
        self._words += ["--health-probe-bind-address", f"127.0.0.1:{self._health}", *flags]
        if limit:
            self._words = limit.command(self._words)
        self.log = work_dir / "controller.log"

    def health_address(self) -> str:
        return f"127.0.0.1:{self._health}"

    def _ready(self) -> bool:
        self.server.check_running()
        return self.server.log_text().startswith("ready ")

    def start(self) -> Figures:
        """Start the controller; how it was until every cluster's head has been asked."""
        started = time.monotonic()
        self.run()
        pulse = Pulse(self._health)
        try:
            wait_until(self._all_asked, SYNC_SECONDS, "all clusters to be read")
        finally:
            held_ms = pulse.stop()
        synced = self.ask("figures")["all_asked_us"] / 1e6 - started
        return {"synced": synced, "held_ms": held_ms, "cpu_seconds": cpu_seconds(self.controller.pid)}

    def run(self) -> None:
        """Start the controller; again, when it has ended."""
        self.controller = Process("controller", self._words, self.log)

    def _all_asked(self) -> bool:
        self.controller.check_running()
        return self.ask("figures")["asked"] == self.clusters

    def pulse(self, seconds: float) -> Pulse:
        return Pulse(self._health, seconds)

    def put(self, plural: str, obj: Object) -> Object:
        """An object beside the fleet, as in ``hostile.objects.Api``."""
        metadata = {"uid": uid_of(plural, obj), "creationTimestamp": now(), "generation": 1, **obj["metadata"]}
        made = {**obj, "metadata": {**metadata, "resourceVersion": "0" * 16}}
        # kube-apiserver writes these three so.
        text = json.dumps(made, separators=(",", ":"))
        for sign in "<>&":
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        self._send("PUT", plural, obj, text.encode())
        return made

    def remove(self, plural: str, obj: Object) -> None:
        self._send("DELETE", plural, obj)

    def _send(self, method: str, plural: str, obj: Object, body: Optional[bytes] = None) -> None:
        path = f"{PLURALS.index(plural)}/{obj['metadata'].get('namespace', 'cluster')}/{obj['metadata']['name']}"
        url = f"http://127.0.0.1:{self._port}/fleet/object/{path}"
        with urllib.request.urlopen(urllib.request.Request(url, body, method=method), timeout=60) as answer:
            answer.read()

    def add_pool(self) -> None:
        """Before the controller starts: all GPUs that the clusters may have are guaranteed to them and not lent, and
        other namespaces have none."""
        self.ask("pools")
        guaranteed = self.clusters * GPUS_MAX
        queue = {"name": "fleet", "namespaceSelector": {"matchLabels": {"team": "fleet"}}, "guaranteed": guaranteed, "lendable": 0}
        spec = {"gpus": guaranteed, "groups": {"resourceName": "nvidia.com/gpu"}, "queues": [queue]}
        self.put("gpupools", {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "GPUPool", "metadata": {"name": "all"}, "spec": spec})
        labels = {"team": "fleet"}
        self.put("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet", "labels": labels}})

    def ask(self, what: str) -> Figures:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/fleet/{what}", timeout=60) as answer:
            return json.load(answer)

    def sample(self, seconds: float, pulses: bool = True) -> Figures:
        """Measurements over so many seconds: the server's counts, CPU of both processes, memory of the controller.

        Without pulses its loop is not asked 50 times a second how long it was held, which costs more than one cluster."""
        self.ask("reset")
        pulse = Pulse(self._health) if pulses else None
        start = time.monotonic()
        before = {one.name: cpu_seconds(one.pid) for one in (self.controller, self.server)}
        threading.Event().wait(seconds)
        took = time.monotonic() - start
        figures = self.ask("figures")
        for one in (self.controller, self.server):
            one.check_running()
            figures[f"cpu_{one.name}"] = 100 * (cpu_seconds(one.pid) - before[one.name]) / took
        if pulse:
            figures["held_ms"] = pulse.stop()
        for key, name in (("rss", "VmRSS"), ("anonymous", "RssAnon"), ("peak", "VmHWM")):
            figures[key] = status_mib(self.controller.pid, name)
        return figures

    def settle(self, quiet_seconds: float, deadline_seconds: float) -> None:
        """Until nothing is written any more, and every RayClusterAutoscaler is made where they are served."""

        def quiet() -> bool:
            self.ask("reset")
            threading.Event().wait(quiet_seconds)
            figures = self.ask("figures")
            return figures["made"] in (0, self.clusters) and writes(figures) == 0

        wait_until(quiet, deadline_seconds, "the controller to write nothing")

    def change(self, per_second: float) -> None:
        """From now on so many clusters a second have demand for one more worker."""
        self.ask(f"change?rate={per_second}")

    def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """No more changes; until those under way have ended."""
        self.change(0)
        wait_until(lambda: self.ask("figures")["waiting"] == 0, seconds, "the last patches")

    def stop(self) -> None:
        for name in ("controller", "server"):
            if hasattr(self, name):
                getattr(self, name).stop(20)
