"""RayClusters for tests, as small as they can be; scenarios build theirs on these."""

from typing import Any, Dict, Optional


def container(name: str, limits: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    return {"name": name, "image": "rayproject/ray:2.60.0", "resources": {"limits": limits or {}}}


def group(name: str, limits: Optional[Dict[str, Any]] = None, **fields: Any) -> Dict[str, Any]:
    """A worker group; ``fields`` are members of the group (replicas, minReplicas, ...)."""
    template = {"spec": {"containers": [container("ray-worker", limits or {"cpu": "1", "memory": "1Gi"})]}}
    return {"groupName": name, "rayStartParams": {}, "template": template, **fields}


def minimal(name: str, *groups: Dict[str, Any], **spec: Any) -> Dict[str, Any]:
    """A RayCluster with autoscaling on; without ``groups`` it has one, "workers"."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "rayVersion": "2.60.0",
            "enableInTreeAutoscaling": True,
            "headGroupSpec": {
                "rayStartParams": {"num-cpus": "0"},
                "template": {"spec": {"containers": [container("ray-head", {"cpu": "1", "memory": "2Gi"})]}},
            },
            "workerGroupSpecs": list(groups) or [group("workers")],
            **spec,
        },
    }
