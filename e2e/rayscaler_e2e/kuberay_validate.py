"""The checks of a RayCluster by KubeRay's operator; for an invalid one it records an event and does nothing."""

from typing import Any, Dict

Object = Dict[str, Any]

_RESOURCE_PARAMS = ("num-cpus", "num-gpus", "memory", "resources")


def invalid(cluster: Object) -> str:
    """The reason, or "" for a valid RayCluster."""
    spec = cluster["spec"]
    autoscaling = spec.get("enableInTreeAutoscaling") is True
    options = spec.get("autoscalerOptions") or {}
    groups = spec.get("workerGroupSpecs") or []
    reason = _group_reason("Head", spec["headGroupSpec"])
    for group in groups:
        reason = reason or _worker_reason(group, autoscaling, options)
    if not reason and autoscaling and options.get("version") == "v2":
        templates = [("head Pod", spec["headGroupSpec"]["template"])]
        templates += [(f"worker group {group['groupName']}", group["template"]) for group in groups]
        for name, template in templates:
            if template["spec"].get("restartPolicy", "Never") != "Never":
                reason = f"restartPolicy for {name} should be Never or unset when using autoscaler V2"
    auth = spec.get("authOptions") or {}
    if not reason and auth.get("mode") == "token" and not spec.get("rayVersion"):
        reason = "authOptions.mode is 'token' but RayVersion was not specified"
    return reason


def _group_reason(name: str, group: Object) -> str:
    params = group.get("rayStartParams") or {}
    if not group["template"]["spec"].get("containers"):
        return f"{name} group should have at least one container"
    if group.get("resources") and any(params.get(key) for key in _RESOURCE_PARAMS):
        return f"resource fields should not be set in both rayStartParams and Resources for {name} group"
    if "labels" in params:
        return f"rayStartParams['labels'] is not supported for {name} group"
    return ""


def _worker_reason(group: Object, autoscaling: bool, options: Object) -> str:
    name = group["groupName"]
    least, most = group.get("minReplicas"), group.get("maxReplicas")
    if not autoscaling and (least is None or most is None):
        return f"worker group {name} must set both minReplicas and maxReplicas when autoscaling is disabled"
    if least is not None and most is not None and least > most:
        return f"worker group {name} has minReplicas {least} greater than maxReplicas {most}"
    if min(least or 0, most or 0) < 0:
        return f"worker group {name} has a negative minReplicas or maxReplicas"
    if autoscaling and group.get("suspend"):
        return f"worker group {name} cannot be suspended with Autoscaler enabled"
    if group.get("idleTimeoutSeconds") is not None and options.get("version") != "v2":
        return f"worker group {name} has idleTimeoutSeconds set, but autoscaler version is not v2"
    return _group_reason(name, group)
