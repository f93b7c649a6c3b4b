"""A stand-in for scheduler and kubelet: runs every Pod's containers as processes of this machine.

A Pod gets an address of 127.0.0.0/8 of its own and, for Ray, a directory of its own; `ray start`
runs as it is in the Pod, with two flags that replace a Pod's network and file system
(--node-ip-address, --temp-dir). Images are ignored. Differences from a real node:

* no probes: a container that runs `ray start` is ready when Ray prints "Ray runtime started", others
  at once; the init container wait-gcs-ready waits for the head's GCS port instead of running Ray's
  health check over and over;
* no preStop hooks (`ray stop` would end every Ray on this machine), no image pulls, no volumes but
  the service account;
* after a container's end with restartPolicy Always: 1 s, then doubling up to 300 s (a real kubelet
  begins with 10 s).

The container of a Pod with ResourceClaims sees the GPUs that they have (``pod_devices``). With --no-scheduler
a kube-scheduler binds the Pods.

With Node objects in the API server a Pod needs a Node without cordon, with room (all resources that it
requests), matching nodeSelector and tolerated NoSchedule taints; without any, it fits. Annotations of a Pod
(of a group's template, to have them on every Pod of it):

    bench.rayscaler.dev/unschedulable   any text: PodScheduled False with this message, until it is
                                        removed
    bench.rayscaler.dev/rejected        any text: the kubelet does not admit the Pod, it is Failed
    bench.rayscaler.dev/pull-seconds    how long "the image is pulled" before containers start

    python -m rayscaler_e2e.kubelet --kubeconfig FILE --work-dir DIR --ray PROGRAM [--program PROGRAM]

It ends its Pods' processes when it ends, and they die with it when it is killed.
"""

import argparse
import logging
import threading
import time
from pathlib import Path
from typing import Any, Dict

from .kubeclient import ApiError, KubeClient
from .pod_process import Host
from .pod_runner import PodRunner
from .pod_schedule import Scheduler
from .standin import client_from_kubeconfig, log_to_stderr, on_signals
from .watchcache import WatchCache

Object = Dict[str, Any]
TICK_SECONDS = 0.05
STOP_SECONDS = 8.0

log = logging.getLogger("kubelet")


class Kubelet:
    """One thread does everything, the main thread: a child dies with the thread that started it."""

    def __init__(self, client: KubeClient, ca_file: Path, work_dir: Path, schedules: bool = True):
        self._client = client
        self._wake = threading.Event()
        self._stopping = False
        self._pods = WatchCache(client, "pods", changed=self._wake.set)
        self._nodes = WatchCache(client, "nodes", changed=self._wake.set)
        self._scheduler = Scheduler(client) if schedules else None
        self.host = Host(client, ca_file, work_dir, self._pods)
        self._runners: Dict[str, PodRunner] = {}
        self._retry: Dict[str, float] = {}

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        self._pods.wait_synced(60)
        self._nodes.wait_synced(60)
        try:
            while not self._stopping:
                self._wake.wait(TICK_SECONDS)
                self._wake.clear()
                self._turn()
        finally:
            self._end_all()
            self.host.close()
            self._pods.stop()
            self._nodes.stop()

    def _turn(self) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in self._pods.objects()}
        for uid in list(self._runners):
            if uid not in pods:
                self._runners.pop(uid).kill()
        for uid, pod in pods.items():
            if self._retry.get(uid, 0) > time.monotonic():
                continue
            try:
                self._step(uid, pod, list(pods.values()))
                self._retry.pop(uid, None)
            except Exception as error:  # the loop outlives every error; the API server may be away
                expected = isinstance(error, ApiError) and error.status in (404, 409)
                log.log(logging.INFO if expected else logging.WARNING, "%s: %s", pod["metadata"]["name"], error)
                self._retry[uid] = time.monotonic() + 0.5
        for uid in self._retry.keys() - pods.keys():
            del self._retry[uid]

    def _step(self, uid: str, pod: Object, pods: Any) -> None:
        if not pod["spec"].get("nodeName"):
            if self._scheduler and not pod["metadata"].get("deletionTimestamp"):
                self._scheduler.schedule(pod, pods, self._nodes.objects())
            return
        runner = self._runners.get(uid)
        if runner is None:
            runner = self._runners[uid] = PodRunner(self.host, pod)
        runner.step(pod)

    def _end_all(self) -> None:
        runners = list(self._runners.values())
        for runner in runners:
            runner.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline and any(runner.running() for runner in runners):
            time.sleep(TICK_SECONDS)
        for runner in runners:
            runner.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description="stand-in for scheduler and kubelet")
    parser.add_argument("--kubeconfig", required=True, type=Path)
    parser.add_argument("--work-dir", required=True, type=Path, help="logs of the Pods")
    parser.add_argument("--ray", required=True, type=Path, help="the ray program")
    parser.add_argument("--program", type=Path, help="every container finds it as rayscaler, as in the image")
    parser.add_argument("--no-scheduler", action="store_true", help="Pods are bound by another program")
    arguments = parser.parse_args()
    log_to_stderr()
    client, ca_file = client_from_kubeconfig(arguments.kubeconfig)
    kubelet = Kubelet(client, ca_file, arguments.work_dir, not arguments.no_scheduler)
    kubelet.host.add_ray(arguments.ray)
    if arguments.program:
        kubelet.host.add_program("rayscaler", arguments.program.resolve())
    on_signals(kubelet.stop)
    kubelet.run()


if __name__ == "__main__":
    main()
