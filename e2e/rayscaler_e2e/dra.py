"""Dynamic Resource Allocation on a real API server: the gates, the scheduler, the claims of Pods, and Nodes with devices.

    with Dra(server, work_dir) as dra:
        dra.node("n1", gpus=2)
        dra.template(namespace, "one-gpu", request("gpu"))
        pod_spec = with_claim(pod_spec, "one-gpu")

The API server of 1.34 drops fields in silence without ``GATES``: start it with ``SERVER_FLAGS``.
"""

import copy
from pathlib import Path
from typing import Any, Dict, List

from . import nvidia_devices as nvidia
from .apiserver import ApiServer
from .control_plane import ControllerManager, KubeScheduler
from .tools import find_tool
from .wait import wait_until

Object = Dict[str, Any]
GATES = "--feature-gates=" + ",".join(
    f"{name}=true" for name in ("DRAExtendedResource", "DRAPartitionableDevices", "DRAConsumableCapacity", "DRADeviceTaints")
)
SERVER_FLAGS = (GATES, "--runtime-config=resource.k8s.io/v1alpha3=true")
CONTROLLERS = ("resourceclaim-controller", *ControllerManager.GARBAGE_COLLECTOR)
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "100"}


def request(name: str, device_class: str = nvidia.GPU, cel: str = "", **exactly: Any) -> Object:
    """One request of a claim for ``count`` devices, by default 1."""
    selectors = [{"cel": {"expression": cel}}] if cel else []
    return {"name": name, "exactly": {"deviceClassName": device_class, "selectors": selectors, **exactly}}


def first_available(name: str, *alternatives: Object) -> Object:
    """One request with alternatives made by ``request``."""
    return {"name": name, "firstAvailable": [{"name": one["name"], **one["exactly"]} for one in alternatives]}


def with_claim(spec: Object, template: str, **claim: Any) -> Object:
    """A Pod's spec whose first container has a claim from ``template``, or one that ``claim`` describes."""
    made = copy.deepcopy(spec)
    claims = made.setdefault("resourceClaims", [])
    name = f"claim-{len(claims)}"
    claims.append({"name": name, **(claim or {"resourceClaimTemplateName": template})})
    made["containers"][0].setdefault("resources", {}).setdefault("claims", []).append({"name": name})
    return made


class Dra:
    """One Node, "cpu", has no device."""

    def __init__(self, server: ApiServer, work_dir: Path):
        self._server = server
        work_dir.mkdir(parents=True, exist_ok=True)
        self._nodes: List[str] = []
        self._slices = server.admin.of("resourceslices")
        for one in nvidia.classes():
            server.apply(one)
        program = find_tool("kube-controller-manager")
        self._scheduler = KubeScheduler(server, find_tool("kube-scheduler"), work_dir, GATES)
        self._controllers = ControllerManager(server, program, work_dir, CONTROLLERS, GATES)
        self.logs = [self._scheduler.process.log, self._controllers.process.log]
        self.add_node("cpu")

    def add_node(self, name: str, labels: Object = {}) -> None:
        nodes = self._server.admin.of("nodes")
        labels = {"kubernetes.io/hostname": name, **labels}
        nodes.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
        self._nodes.append(name)
        status = {"allocatable": ROOM, "capacity": ROOM, "conditions": [{"type": "Ready", "status": "True"}]}
        nodes.patch_merge(name, {"status": status}, "status")
        nodes.patch_merge(name, {"spec": {"taints": None}})  # admission has added not-ready

    def node(self, name: str, gpus: int = 1, clique: str = "", labels: Object = {}, **form: Any) -> None:
        """With GPUs (``nvidia_devices.slices``), and the channel of a compute domain in a ``clique``."""
        self.add_node(name, {**labels, nvidia.CLIQUE_LABEL: clique} if clique else labels)
        for one in nvidia.slices(name, gpus, **form):
            self._server.apply(one)
        if clique:
            self._server.apply(nvidia.domain_slice(name))

    def taint(self, node: str, device: str, key: str = "gpu.nvidia.com/xid", effect: str = "NoSchedule") -> None:
        """As the driver does for a device that is not healthy."""
        for one in self.slices(node):
            for found in one["spec"]["devices"]:
                if found["name"] == device:
                    found["taints"] = [{"key": key, "value": "79", "effect": effect}]
                    self._slices.update(one)

    def slices(self, node: str) -> List[Object]:
        found = self._slices.items()
        return [one for one in found if one["spec"]["nodeName"] == node]

    def template(self, namespace: str, name: str, *requests: Object, **devices: Any) -> None:
        """A ResourceClaimTemplate; ``devices``: constraints and config."""
        made = {"apiVersion": nvidia.API, "kind": "ResourceClaimTemplate", "metadata": {"name": name, "namespace": namespace}}
        self._server.apply({**made, "spec": {"spec": {"devices": {"requests": list(requests), **devices}}}})

    def channel(self, namespace: str, domain: str) -> None:
        """The ResourceClaimTemplate that NVIDIA's controller makes for a ComputeDomain."""
        parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomainChannelConfig"}
        parameters.update(domainID=domain, allocationMode="Single")
        opaque = {"driver": nvidia.COMPUTE_DOMAIN, "parameters": parameters}
        config = [{"requests": ["channel"], "opaque": opaque}]
        self.template(namespace, domain, request("channel", nvidia.CHANNEL_CLASS), config=config)

    def allocated(self, namespace: str) -> Dict[str, List[str]]:
        """Devices of the claims in the namespace, as POOL/DEVICE, by the name of the Pod that has them."""
        found: Dict[str, List[str]] = {}
        for claim in self._server.admin.of("resourceclaims", namespace).items():
            status = claim.get("status") or {}
            results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
            for pod in status.get("reservedFor") or []:
                found.setdefault(pod["name"], []).extend(f"{one['pool']}/{one['device']}" for one in results)
        return {pod: sorted(devices) for pod, devices in found.items()}

    def free(self, namespace: str) -> None:
        """Wait until no claim of the namespace is allocated: its Pods have been deleted."""
        wait_until(lambda: not self.allocated(namespace), 30, f"the claims of {namespace} to end")

    def remove_nodes(self) -> None:
        """All but "cpu", with what they publish."""
        for name in self._nodes[1:]:
            for one in self.slices(name):
                self._slices.delete(one["metadata"]["name"])
            self._server.admin.of("nodes").delete(name)
        del self._nodes[1:]

    def __enter__(self) -> "Dra":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._scheduler.process.stop()
        self._controllers.process.stop()
