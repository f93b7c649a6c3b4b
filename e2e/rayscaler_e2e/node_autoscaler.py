"""The real cluster autoscaler with its kwok provider, and the machines that it orders.

    with NodeAutoscaler(server, namespace, work_dir, [NodePool("small", gpus=1, most=1)]) as nodes:
        ...

The kwok provider orders a machine by creating its Node object; ``NodeAutoscaler`` then takes the part of the machine:
after ``BOOT_SECONDS`` the Node is Ready. A kube-scheduler must run.
"""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple

from . import paths
from .apiserver import ADMIN_USER, ApiServer
from .kubeclient import ApiError
from .ports import free_port
from .processes import Process
from .scenario import Scenario

Object = Dict[str, Any]
POOL_LABEL = "bench.rayscaler.dev/pool"
BOOT_SECONDS = 8.0
ROOM = {"cpu": "8", "memory": "64Gi", "pods": "20", "ephemeral-storage": "100Gi"}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}


class NodePool(NamedTuple):
    name: str
    gpus: int
    most: int


class NodeAutoscaler:
    def __init__(self, server: ApiServer, namespace: str, work_dir: Path, pools: List[NodePool]):
        self._nodes = server.admin.of("nodes")
        maps = server.admin.of("configmaps", namespace)
        maps.create(_config_map("kwok-provider-config", "config", _configuration()))
        templates = "\n---\n".join(json.dumps(_template(pool)) for pool in pools)
        if len(pools) == 1:  # one document has to be a List
            templates = json.dumps({"apiVersion": "v1", "kind": "List", "items": [_template(pools[0])]})
        maps.create(_config_map("kwok-provider-templates", "templates", templates))
        kubeconfig = server.write_kubeconfig(work_dir / "cluster-autoscaler.kubeconfig", token=server.tokens[ADMIN_USER])
        words = [str(paths.cluster_autoscaler()), "--cloud-provider=kwok", f"--kubeconfig={kubeconfig}", f"--namespace={namespace}"]
        words += [f"--address=127.0.0.1:{free_port()}", "--leader-elect=false", "--scan-interval=2s", "--v=2"]
        words += ["--scale-down-unneeded-time=4s", "--scale-down-delay-after-add=4s", "--scale-down-delay-after-delete=1s"]
        env = dict(os.environ, POD_NAMESPACE=namespace, KWOK_PROVIDER_MODE="local", KUBECONFIG=str(kubeconfig))
        self.process = Process("cluster-autoscaler", words, work_dir / "cluster-autoscaler.log", env)
        self._ordered: Dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._boot, daemon=True)
        self._thread.start()

    def names(self, pool: str) -> List[str]:
        return [one["metadata"]["name"] for one in self._nodes.items(f"{POOL_LABEL}={pool}")]

    def said(self, one: Scenario, pod: str) -> Dict[str, str]:
        """Its messages on a Pod, by their reasons."""
        self.process.check_running()
        events = one.server.admin.of("events", one.namespace).items()
        events = [event for event in events if event["involvedObject"]["name"] == pod]
        return {event["reason"]: event["message"] for event in events if event["source"].get("component") == "cluster-autoscaler"}

    def _boot(self) -> None:
        """The machines: Ready BOOT_SECONDS after the order."""
        while not self._stop.wait(0.2):
            for node in self._nodes.items(POOL_LABEL):
                name = node["metadata"]["name"]
                since = self._ordered.setdefault(name, time.monotonic())
                ready = any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"].get("conditions") or [])
                if not ready and time.monotonic() - since >= BOOT_SECONDS:
                    self._become_ready(name)

    def _become_ready(self, name: str) -> None:
        try:
            self._nodes.patch_merge(name, {"spec": {"taints": None}})
            self._nodes.patch_merge(name, {"status": {"conditions": [READY]}}, "status")
        except ApiError as error:
            if error.status != 404:  # the autoscaler has taken it back
                raise

    def __enter__(self) -> "NodeAutoscaler":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop()
        self._stop.set()
        self._thread.join(10)
        for node in self._nodes.items(POOL_LABEL):
            self._nodes.delete(node["metadata"]["name"], missing_ok=True)


def _config_map(name: str, key: str, text: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}


def _configuration() -> str:
    return json.dumps(
        {
            "apiVersion": "v1alpha1",
            "readNodesFrom": "configmap",
            "nodegroups": {"fromNodeLabelKey": POOL_LABEL},
            "nodes": {"skipTaint": True},
            "configmap": {"name": "kwok-provider-templates"},
        }
    )


def _template(pool: NodePool) -> Object:
    room = {**ROOM, "nvidia.com/gpu": str(pool.gpus)}
    counts = {"min-count": "0", "max-count": str(pool.most), "desired-count": "0"}
    annotations = {f"cluster-autoscaler.kwok.nodegroup/{name}": value for name, value in counts.items()}
    meta = {"name": pool.name, "labels": {POOL_LABEL: pool.name}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": room, "capacity": room}}
