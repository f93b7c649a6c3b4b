"""RayClusters for a real node: e2e/manifests/node-raycluster.yaml with other groups."""

import copy
from typing import Any, Dict, List, Optional

import yaml

from .. import paths
from ..ray_manifests import LIGHT_ENV
from .images import RAY

Object = Dict[str, Any]
MANIFEST = paths.MANIFESTS / "node-raycluster.yaml"
# Where the programs of a test are in all Pods, and on the Node.
PROGRAMS = "/programs"


def group(name: str, gpus: int = 0, *, resource: str = "", image: str = RAY, pod: Optional[Object] = None, container: Optional[Object] = None, **fields: Any) -> Object:
    """``resource``: a resource of Ray, 1 of each worker, by which a test chooses the group. ``pod`` and ``container``:
    members of the Pod's spec and of its container; ``fields``: of the group."""
    made = copy.deepcopy(_manifest()["spec"]["workerGroupSpecs"][0])
    made.update({"groupName": name, **fields})
    if resource:
        made["rayStartParams"]["resources"] = f"'{{\"{resource}\": 1}}'"
    spec = made["template"]["spec"]
    spec.update(pod or {})
    ray = spec["containers"][0]
    ray["image"] = image
    if gpus:
        ray["resources"]["limits"]["nvidia.com/gpu"] = str(gpus)
    else:
        del ray["resources"]["limits"]["nvidia.com/gpu"]
    ray["env"] = _env()
    ray.update(container or {})
    return made


def cluster(name: str, groups: List[Object], *, sidecar: bool = False, v2: bool = True, idle_seconds: int = 15, head_memory: str = "512Mi", **autoscaler: Any) -> Object:
    """``sidecar``: the product's image answers KubeRay's own command line. Without ``v2`` a worker that fails is started
    again in its Pod."""
    made = _manifest()
    made["metadata"]["name"] = name
    made["spec"]["workerGroupSpecs"] = groups
    options = made["spec"]["autoscalerOptions"]
    if not v2:
        del options["version"]
    if sidecar:
        del options["command"], options["args"]
        options["resources"] = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}}
    options.update(idleTimeoutSeconds=idle_seconds, **autoscaler)
    head = made["spec"]["headGroupSpec"]["template"]["spec"]
    for pod in (head, *(group["template"]["spec"] for group in groups)):
        pod["volumes"] = [{"name": "programs", "hostPath": {"path": f"/etc/kubernetes{PROGRAMS}"}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "programs", "mountPath": PROGRAMS}]
    head["containers"][0]["env"] = _env()
    head["containers"][0]["resources"]["requests"]["memory"] = head_memory
    return made


def _manifest() -> Object:
    return yaml.safe_load(MANIFEST.read_text())


def _env() -> List[Object]:
    return [{"name": name, "value": value} for name, value in LIGHT_ENV.items()]
