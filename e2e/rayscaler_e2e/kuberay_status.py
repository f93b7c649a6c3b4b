"""The status that KubeRay's operator writes on a RayCluster."""

import copy
import time
from typing import Any, Dict, List, Optional

from . import kuberay_pod as kp
from . import quantity

Object = Dict[str, Any]


def calculate_status(cluster: Object, pods: List[Object], failure: Optional[Exception]) -> Optional[Object]:
    """The new status, or None when nothing but the time would change, or when there are too many head Pods."""
    heads = [p for p in pods if p["metadata"]["labels"].get(kp.NODE_TYPE_LABEL) == "head"]
    if len(heads) > 1 + kp.active_passive(cluster):
        return None
    if kp.active_passive(cluster):
        heads = [head for head in heads if kp.is_ready(head)]
        pods = [pod for pod in pods if pod["metadata"]["labels"].get(kp.NODE_TYPE_LABEL) == "worker"] + heads
    before = cluster.get("status") or {}
    status = copy.deepcopy(before)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    workers = [pod for pod in pods if pod["metadata"]["labels"].get(kp.NODE_TYPE_LABEL) == "worker"]
    status["readyWorkerReplicas"] = sum(kp.is_ready(pod) for pod in workers)
    status["availableWorkerReplicas"] = sum(_phase(pod) == "Running" for pod in workers)
    status["observedGeneration"] = cluster["metadata"].get("generation", 0)
    _count_replicas(cluster, status)
    if failure is None and len(pods) == status["desiredWorkerReplicas"] + 1 and _all_running(pods):
        status["state"] = "ready"
    _set_conditions(cluster, status, pods, now, failure)
    if cluster["spec"].get("suspend") is True and not pods:
        status["state"] = "suspended"
    if len(heads) == 1 or not kp.active_passive(cluster):
        head = heads[0] if heads else None
        status["head"] = {
            "podIP": (head.get("status") or {}).get("podIP", "") if head else "",
            "podName": head["metadata"]["name"] if head else "",
            "serviceName": kp.head_service_name(cluster),
        }
    if status == before:
        return None
    if status.get("state") != before.get("state"):
        status.setdefault("stateTransitionTimes", {})[status["state"]] = now
    status["lastUpdateTime"] = now
    return status


def _count_replicas(cluster: Object, status: Object) -> None:
    from .kuberay_operator import desired_replicas

    desired = least = most = gpus = 0
    cpu = quantity.parse(0)
    for group in cluster["spec"].get("workerGroupSpecs") or []:
        hosts = group.get("numOfHosts", 1)
        desired += desired_replicas(group) * hosts
        least += (group.get("minReplicas") or 0) * hosts
        most += group.get("maxReplicas", 2**31 - 1) * hosts
        pods = (group.get("replicas") or 0) * hosts
        for container in group["template"]["spec"]["containers"]:
            limits = (container.get("resources") or {}).get("limits") or {}
            cpu += quantity.parse(limits.get("cpu", 0)) * pods
            gpus += sum(quantity.ceil(limits[name]) for name in limits if kp.is_gpu(name)) * pods
    status["desiredWorkerReplicas"] = desired
    status["minWorkerReplicas"] = least
    status["maxWorkerReplicas"] = min(most, 2**31 - 1)
    status["desiredCPU"] = f"{int(cpu * 1000)}m"
    status["desiredGPU"] = str(gpus)


def _set_conditions(
    cluster: Object, status: Object, pods: List[Object], now: str, failure: Optional[Exception]
) -> None:
    conditions = {condition["type"]: condition for condition in status.get("conditions") or []}

    def put(kind: str, value: bool, reason: str, message: str = "") -> None:
        old = conditions.get(kind)
        word = "True" if value else "False"
        since = old["lastTransitionTime"] if old and old["status"] == word else now
        conditions[kind] = {
            "type": kind,
            "status": word,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        }

    def is_true(kind: str) -> bool:
        return conditions.get(kind, {}).get("status") == "True"

    reason = getattr(failure, "reason", "")
    if reason.startswith("FailedCreate"):
        put("ReplicaFailure", True, reason, str(failure))
    elif failure is None:
        conditions.pop("ReplicaFailure", None)
    heads = [pod for pod in pods if pod["metadata"]["labels"].get(kp.NODE_TYPE_LABEL) == "head"]
    ready = any(kp.is_ready(pod) for pod in heads)
    put("HeadPodReady", ready, "HeadPodRunningAndReady" if ready else "HeadPodNotReady" if heads else "HeadPodNotFound")
    if not is_true("RayClusterProvisioned") and not is_true("RayClusterSuspended"):
        if pods and _all_running(pods):
            put("RayClusterProvisioned", True, "AllPodRunningAndReadyFirstTime")
        else:
            put("RayClusterProvisioned", False, "RayClusterPodsProvisioning")
    suspend = cluster["spec"].get("suspend") is True
    if is_true("RayClusterSuspending"):
        if not pods:
            put("RayClusterProvisioned", False, "RayClusterPodsProvisioning", "RayCluster has been suspended")
            put("RayClusterSuspending", False, "RayClusterSuspending")
            put("RayClusterSuspended", True, "RayClusterSuspended")
    elif is_true("RayClusterSuspended"):
        if not suspend:
            put("RayClusterSuspended", False, "RayClusterSuspended")
    else:
        put("RayClusterSuspended", False, "RayClusterSuspended")
        put("RayClusterSuspending", suspend, "RayClusterSuspending")
    status["conditions"] = [conditions[kind] for kind in sorted(conditions)]


def _phase(pod: Object) -> str:
    return (pod.get("status") or {}).get("phase", "Pending")


def _all_running(pods: List[Object]) -> bool:
    return all(kp.is_ready(pod) for pod in pods)
