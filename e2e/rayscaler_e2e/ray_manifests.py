"""RayClusters that run on the kubelet stand-in: light Ray processes, a GCS port for each head.

The manifests are those of a user of KubeRay; GPUs are the Pod's `nvidia.com/gpu` limits.
"""

import copy
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import quick_raylet, rayclusters
from .ports import free_port

Object = Dict[str, Any]

OBJECT_STORE_BYTES = "80000000"
PARK_RESOURCES = {"requests": {"cpu": "1m", "memory": "4Mi"}, "limits": {"cpu": "50m", "memory": "16Mi"}}
# All Pods share one network, and the agent of Ray's dashboard, where it is installed, ends when its port is taken.
# No driver here shows what its workers print; the monitor of logs is half a second of a core for each raylet.
LIGHT_PARAMS = {"metrics-export-port": "0", "include-log-monitor": "false"}
# A raylet must not keep idle Python workers: each is 80 MB and a second of a core.
LIGHT_ENV = {
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_num_prestart_python_workers": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
# Workers by `ray start`, with its agents, also after start_quickly().
RAY_START_ENV = {quick_raylet.VARIABLE: ""}
# Ray's workers have a niceness of 15: beside other work of the machine they need a minute for the imports of a library.
LIBRARY_ENV = {**RAY_START_ENV, "RAY_worker_niceness": "0"}
# The packages that Ray Serve imports (setup-python.sh); with KUBERAY=real there is no such folder, and Python finds it by itself.
SERVE_ENV = {**LIBRARY_ENV, "PYTHONPATH": str(Path(sys.prefix) / "serve")}


def start_quickly() -> None:
    """From now on workers of all groups made here are raylets without the Python around them (quick_raylet.py)."""
    LIGHT_ENV[quick_raylet.VARIABLE] = "1"


def group(
    name: str,
    gpus: int = 0,
    cpus: int = 1,
    *,
    annotations: Optional[Dict[str, str]] = None,
    params: Optional[Dict[str, str]] = None,
    env: Optional[Dict[str, str]] = None,
    **fields: Any,
) -> Object:
    """A worker group; ``fields`` are its members (minReplicas, maxReplicas, ...)."""
    limits: Object = {"cpu": str(cpus), "memory": "1Gi"}
    if gpus:
        limits["nvidia.com/gpu"] = str(gpus)
    made = rayclusters.group(name, limits, **{"replicas": 0, "minReplicas": 0, "maxReplicas": 5, **fields})
    made["rayStartParams"] = {"object-store-memory": OBJECT_STORE_BYTES, **LIGHT_PARAMS, **(params or {})}
    made["template"]["metadata"] = {"annotations": dict(annotations or {})}
    made["template"]["spec"]["containers"][0]["env"] = _env({**LIGHT_ENV, **(env or {})})
    return made


def gpu_group(name: str = "gpu-group", **fields: Any) -> Object:
    """One GPU, one CPU per worker."""
    return group(name, gpus=1, **fields)


def cluster(
    name: str,
    groups: List[Object],
    *,
    head_cpus: int = 1,
    head_gpus: int = 0,
    idle_seconds: Optional[int] = 5,
    annotations: Optional[Dict[str, str]] = None,
    autoscaler: Optional[Object] = None,
    **spec: Any,
) -> Object:
    """Autoscaling on; KubeRay's sidecar runs ``rayscaler park`` unless ``autoscaler`` sets more.

    ``idle_seconds`` None leaves autoscalerOptions.idleTimeoutSeconds out.
    """
    made = rayclusters.minimal(name, *groups, **spec)
    made["metadata"]["annotations"] = dict(annotations or {})
    made["spec"]["workerGroupSpecs"] = copy.deepcopy(groups)
    parked = {"image": "rayscaler:0.1.0", "command": ["rayscaler"], "args": ["park"], "resources": PARK_RESOURCES}
    made["spec"]["autoscalerOptions"] = {"version": "v2", **copy.deepcopy(parked), **(autoscaler or {})}
    if idle_seconds is not None:
        made["spec"]["autoscalerOptions"]["idleTimeoutSeconds"] = idle_seconds
    port = free_port()
    head = made["spec"]["headGroupSpec"]
    head["rayStartParams"] = {
        "port": str(port),
        "num-cpus": str(head_cpus),
        "include-dashboard": "false",
        "object-store-memory": OBJECT_STORE_BYTES,
        **LIGHT_PARAMS,
    }
    if head_gpus:
        head["rayStartParams"]["num-gpus"] = str(head_gpus)
    container = head["template"]["spec"]["containers"][0]
    container["ports"] = [{"name": "gcs-server", "containerPort": port}]
    container["env"] = _env(LIGHT_ENV)
    return made


def with_env(made: Object, env: Dict[str, str]) -> Object:
    """``made`` with these variables on its head and in its groups; with SERVE_ENV its programs have them too (Scenario)."""
    spec = made["spec"]
    for one in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]:
        container = one["template"]["spec"]["containers"][0]
        container["env"] = [each for each in container["env"] if each["name"] not in env] + _env(env)
    return made


def is_serving(made: Object) -> bool:
    env = made["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0].get("env") or []
    return all(each in env for each in _env(SERVE_ENV))


def sidecar_options(*flags: str) -> Object:
    """autoscalerOptions with which the head Pod's `autoscaler` container is rayscaler itself."""
    args = ["run", "--cluster-name", "$(RAY_CLUSTER_NAME)", "--cluster-namespace", "$(RAY_CLUSTER_NAMESPACE)"]
    # Only on the stand-in: the container has no file system of its own.
    args += ["--service-account-dir", "$(RAYSCALER_BENCH_SERVICE_ACCOUNT)"]
    # Its default, but every Pod of the bench shares one network.
    args += [] if "--metrics-bind-address" in flags else ["--metrics-bind-address", "127.0.0.1:0"]
    return {"command": ["rayscaler"], "args": args + list(flags)}


def _env(values: Dict[str, str]) -> List[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]
