"""Pods: the defaults, checks and deletion rules that the stand-ins and the program meet."""

import copy
import ipaddress
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

import yaml

from . import meta
from .errors import FieldError, duplicate, forbidden_field, invalid_value, required, unsupported
from .kinds import Kind

Object = Dict[str, Any]

QUANTITY = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?"
)
QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
NOT_READY = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]
UPDATE_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
    "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)"
)


class PodKind(Kind):
    has_generation = True

    def __init__(self) -> None:
        fields = yaml.safe_load((Path(__file__).parent / "pod_schema.yaml").read_text())
        super().__init__(fields, has_status=True)

    def decode(self, obj: Object, kind: str, version: str) -> Object:
        decoded = super().decode(obj, kind, version)
        _set_defaults(decoded.setdefault("spec", {}))
        _complete_status(decoded.get("status") or {})
        return decoded

    def decoding_errors(self, decoded: Object) -> List[FieldError]:
        errors = super().decoding_errors(decoded)
        if errors:
            return errors
        for container in _containers(decoded.get("spec") or {}):
            for kind, values in (container.get("resources") or {}).items():
                for value in values.values() if kind in ("limits", "requests") else ():
                    if not QUANTITY.fullmatch(str(value)):
                        return [FieldError(f"spec.containers.resources.{kind}", "", QUANTITY_RULE)]
        return []

    def prepare_create(self, obj: Object) -> None:
        spec = obj["spec"]
        spec.setdefault("priority", 0)
        spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
        _add_tolerations(spec)
        obj["status"] = {"phase": "Pending", "qosClass": _qos_class(spec)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                    "lastProbeTime": None,
                    "lastTransitionTime": meta.now(),
                }
            ]

    def prepare_update(self, obj: Object, old: Object, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        if subresource == "status":
            _keep(obj["metadata"], old["metadata"], "ownerReferences")
            if isinstance(obj.get("status"), dict):
                obj["status"]["qosClass"] = old["status"].get("qosClass")

    def validate(self, obj: Object) -> List[FieldError]:
        spec = obj["spec"]
        errors = _validate_containers(spec.get("containers"), "spec.containers", True)
        errors += _validate_containers(spec.get("initContainers"), "spec.initContainers", False)
        if spec.get("restartPolicy") not in RESTART_POLICIES:
            errors.append(unsupported("spec.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            errors.append(forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
        return errors

    def validate_update(self, obj: Object, old: Object, subresource: str) -> List[FieldError]:
        if subresource == "status":
            return _validate_status(obj, old)
        errors = self.validate(obj)
        gates = {gate["name"] for gate in old["spec"].get("schedulingGates") or []}
        for index, gate in enumerate(obj["spec"].get("schedulingGates") or []):
            if gate["name"] not in gates:
                text = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
                errors.append(forbidden_field(f"spec.schedulingGates[{index}].name", text))
        if _fixed(obj["spec"], old["spec"]) != _fixed(old["spec"], old["spec"]):
            errors.append(forbidden_field("spec", UPDATE_RULE))
        return errors

    def grace_seconds(self, obj: Object, asked: Optional[int]) -> Optional[int]:
        spec, status = obj["spec"], obj.get("status") or {}
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            return 0
        seconds = spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked
        return 1 if seconds < 0 else seconds


def bind(pod: Object, target: str) -> Object:
    """The Pod after a Binding to the node ``target``."""
    bound = copy.deepcopy(pod)
    bound["spec"]["nodeName"] = target
    conditions = [one for one in bound["status"].get("conditions") or [] if one["type"] != "PodScheduled"]
    conditions.append(
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": meta.now()}
    )
    bound["status"]["conditions"] = conditions
    return bound


def _containers(spec: Object) -> List[Object]:
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _set_defaults(spec: Object) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    spec.setdefault("enableServiceLinks", True)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in _containers(spec):
        _set_container_defaults(container)


def _set_container_defaults(container: Object) -> None:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition(":")[2]
    container.setdefault("imagePullPolicy", "Always" if tag in ("", "latest") else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    for kind in ("limits", "requests"):
        quantities = resources.pop(kind, None)
        if quantities:
            resources[kind] = {name: str(value) for name, value in quantities.items()}
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")
    for env in container.get("env") or []:
        if env.get("value") == "":
            del env["value"]


def _add_tolerations(spec: Object) -> None:
    have = spec.setdefault("tolerations", [])
    for toleration in NOT_READY:
        if not any(one.get("key") in (None, "", toleration["key"]) for one in have):
            have.append(dict(toleration))


def _qos_class(spec: Object) -> str:
    resources = [container.get("resources") or {} for container in _containers(spec)]
    named = [one for one in resources if _native(one.get("requests")) or _native(one.get("limits"))]
    if not named:
        return "BestEffort"
    for one in resources:
        limits = _native(one.get("limits"))
        if set(limits) != {"cpu", "memory"} or limits != _native(one.get("requests")):
            return "Burstable"
    return "Guaranteed"


def _native(quantities: Optional[Object]) -> Object:
    return {name: value for name, value in (quantities or {}).items() if name in ("cpu", "memory")}


def _validate_containers(containers: Any, path: str, needed: bool) -> List[FieldError]:
    if not containers:
        return [required(path)] if needed else []
    errors: List[FieldError] = []
    seen: List[str] = []
    for index, container in enumerate(containers):
        here = f"{path}[{index}]"
        name = container.get("name", "")
        if not name:
            errors.append(required(f"{here}.name"))
        elif not meta.is_dns_label(name):
            errors.append(invalid_value(f"{here}.name", name, meta.DNS_LABEL_RULE))
        elif name in seen:
            errors.append(duplicate(f"{here}.name", name))
        seen.append(name)
        if not container.get("image"):
            errors.append(required(f"{here}.image"))
        errors += _validate_ports(container.get("ports") or [], f"{here}.ports")
        errors += _validate_resources(container.get("resources") or {}, f"{here}.resources")
        errors += [
            required(f"{here}.env[{i}].name") for i, env in enumerate(container.get("env") or []) if not env.get("name")
        ]
    return errors


def _validate_ports(ports: List[Object], path: str) -> List[FieldError]:
    errors = []
    for index, port in enumerate(ports):
        number = port.get("containerPort", 0)
        if number == 0:
            errors.append(required(f"{path}[{index}].containerPort"))
        elif not 0 < number < 65536:
            text = "must be between 1 and 65535, inclusive"
            errors.append(invalid_value(f"{path}[{index}].containerPort", number, text))
        name = port.get("name", "")
        if name and not re.fullmatch(r"(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", name):
            text = "must be no more than 15 characters" if len(name) > 15 else "must be a valid port name"
            errors.append(invalid_value(f"{path}[{index}].name", name, text))
    return errors


def _validate_resources(resources: Object, path: str) -> List[FieldError]:
    """Extended resources are whole, limited, and asked for exactly as limited."""
    errors = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for kind, values in (("limits", limits), ("requests", requests)):
        for name, value in values.items():
            here = f"{path}.{kind}[{name}]"
            if str(value).startswith("-"):
                errors.append(invalid_value(here, str(value), "must be greater than or equal to 0"))
            elif "/" in name and not re.fullmatch(r"\+?[0-9]+(k|[MGTPE]i?|Ki)?", str(value)):
                errors.append(invalid_value(here, str(value), "must be an integer"))
            elif "/" not in name and name not in NATIVE_RESOURCES and not name.startswith("hugepages-"):
                text = "must be a standard resource type or fully qualified"
                errors.append(invalid_value(f"{path}.{kind}[{name}]", name, text))
    for name, value in requests.items():
        if "/" in name and name not in limits:
            text = "Limit must be set for non overcommitable resources"
            errors.append(FieldError(f"{path}.limits", "FieldValueRequired", f"Required value: {text}"))
        elif "/" in name and limits[name] != value:
            text = f"must be equal to {name} limit of {limits[name]}"
            errors.append(invalid_value(f"{path}.requests", value, text))
    return errors


def _fixed(spec: Object, old: Object) -> Object:
    """The parts of a spec that an update may not change."""
    fixed = copy.deepcopy(spec)
    for key in ("activeDeadlineSeconds", "schedulingGates"):
        fixed.pop(key, None)
    for container in _containers(fixed):
        container.pop("image", None)
    tolerations = fixed.pop("tolerations", [])
    fixed["tolerations"] = [one for one in tolerations if one in (old.get("tolerations") or [])]
    if old.get("schedulingGates"):
        fixed.pop("nodeSelector", None)
        fixed.pop("affinity", None)
    return fixed


def _validate_status(obj: Object, old: Object) -> List[FieldError]:
    errors: List[FieldError] = []
    status = obj.get("status") or {}
    for index, address in enumerate(status.get("podIPs") or []):
        try:
            ipaddress.ip_address(address.get("ip", ""))
        except ValueError:
            text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            errors.append(invalid_value(f"status.podIPs[{index}]", address.get("ip", ""), text))
    if old["spec"].get("restartPolicy") != "Always":
        errors += _validate_states(status, old)
    return errors


def _validate_states(status: Object, old: Object) -> List[FieldError]:
    """A container that ended for good does not run again under restartPolicy Never or OnFailure."""
    errors = []
    before = {one["name"]: one for one in (old.get("status") or {}).get("containerStatuses") or []}
    never = old["spec"]["restartPolicy"] == "Never"
    for index, one in enumerate(status.get("containerStatuses") or []):
        ended = ((before.get(one.get("name", "")) or {}).get("state") or {}).get("terminated")
        if ended is None or (one.get("state") or {}).get("terminated") is not None:
            continue
        if never or ended.get("exitCode", 0) == 0:
            path = f"status.containerStatuses[{index}].state"
            errors.append(forbidden_field(path, "may not be transitioned to non-terminated state"))
    return errors


def _complete_status(status: Object) -> None:
    """Members that are present even when no client set them, and podIP and podIPs as one value."""
    for condition in status.get("conditions") or []:
        _fill(condition, lastProbeTime=None, lastTransitionTime=None)
    for container in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
        _fill(container, state={}, lastState={}, ready=False, restartCount=0, image="", imageID="")
        for state in (container["state"], container["lastState"]):
            if "running" in state:
                _fill(state["running"], startedAt=None)
            if "terminated" in state:
                _fill(state["terminated"], exitCode=0, startedAt=None, finishedAt=None)
    if status.get("podIP") and not status.get("podIPs"):
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif status.get("podIPs") and not status.get("podIP"):
        status["podIP"] = status["podIPs"][0].get("ip", "")


def _fill(obj: Object, **members: Any) -> None:
    for key, value in members.items():
        obj.setdefault(key, value)


def _keep(new: Object, old: Object, key: str) -> None:
    if key in old:
        new[key] = copy.deepcopy(old[key])
    else:
        new.pop(key, None)
