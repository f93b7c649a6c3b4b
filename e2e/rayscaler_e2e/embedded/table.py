"""The tables that kubectl asks for instead of objects."""

from datetime import datetime, timezone
from typing import Any, Dict, List, Tuple

from .registry import Resource

Object = Dict[str, Any]
Column = Tuple[str, str, str, int]  # name, type, path or name of a function below, priority

NAME: Column = ("Name", "string", "metadata.name", 0)
AGE: Column = ("Age", "string", "age", 0)
COLUMNS: Dict[str, List[Column]] = {
    "pods": [
        NAME,
        ("Ready", "string", "ready", 0),
        ("Status", "string", "pod_status", 0),
        ("Restarts", "integer", "restarts", 0),
        AGE,
        ("IP", "string", "status.podIP", 1),
        ("Node", "string", "spec.nodeName", 1),
    ],
    "namespaces": [NAME, ("Status", "string", "status.phase", 0), AGE],
    "events": [
        ("Last Seen", "string", "last_seen", 0),
        ("Type", "string", "type", 0),
        ("Reason", "string", "reason", 0),
        ("Object", "string", "event_object", 0),
        ("Message", "string", "message", 0),
    ],
    "leases.coordination.k8s.io": [NAME, ("Holder", "string", "spec.holderIdentity", 0), AGE],
}


def wanted(accept: str) -> bool:
    """Does an Accept header ask for tables?"""
    return "as=Table" in accept.partition(",")[0]


def table(resource: Resource, body: Object, include: str, definitions: bool = True) -> Object:
    """The Table of an object or of a List."""
    columns = _columns(resource)
    items = body["items"] if "items" in body else [body]
    metadata = body["metadata"]
    kept = {key: metadata[key] for key in ("resourceVersion", "continue", "remainingItemCount") if key in metadata}
    made: Object = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": kept}
    shown = [
        {"name": name, "type": kind, "format": "name" if name == "Name" else "", "description": "", "priority": priority}
        for name, kind, _, priority in columns
    ]
    made["columnDefinitions"] = shown if definitions else []
    made["rows"] = [
        {"cells": [_cell(obj, column) for column in columns], "object": _included(resource, obj, include)}
        for obj in items
    ]
    return made


def _columns(resource: Resource) -> List[Column]:
    if resource.columns:
        return [NAME, *resource.columns]
    return COLUMNS.get(resource.id, [NAME, AGE])


def _included(resource: Resource, obj: Object, include: str) -> Any:
    if include == "None":
        return None
    if include == "Object":
        return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def _cell(obj: Object, column: Column) -> Any:
    name, kind, path, _ = column
    value = CELLS[path](obj) if path in CELLS else _at(obj, path)
    if value is None:
        return "<none>" if name in ("IP", "Node") else None
    if kind == "date":
        return _age(value)
    return value if kind in ("integer", "number", "boolean") else str(value)


def _at(obj: Any, path: str) -> Any:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def _age(stamp: Any) -> str:
    if not stamp:
        return "<unknown>"
    then = datetime.fromisoformat(str(stamp).replace("Z", "+00:00"))
    seconds = max(0, int((datetime.now(timezone.utc) - then).total_seconds()))
    for unit, size, most in (("s", 1, 120), ("m", 60, 120 * 60), ("h", 3600, 48 * 3600)):
        if seconds < most:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


def _statuses(pod: Object) -> List[Object]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def _ready(pod: Object) -> str:
    return f"{sum(1 for one in _statuses(pod) if one.get('ready'))}/{len(pod['spec'].get('containers') or [])}"


def _pod_status(pod: Object) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for one in _statuses(pod):
        state = one.get("state") or {}
        for part in ("waiting", "terminated"):
            if (state.get(part) or {}).get("reason"):
                return state[part]["reason"]
    status = pod.get("status") or {}
    if any(one.get("reason") == "SchedulingGated" for one in status.get("conditions") or []):
        return "SchedulingGated"
    return status.get("reason") or status.get("phase", "")


def _event_object(event: Object) -> str:
    about = event.get("involvedObject") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


CELLS = {
    "age": lambda obj: _age(obj["metadata"].get("creationTimestamp")),
    "ready": _ready,
    "restarts": lambda pod: sum(one.get("restartCount", 0) for one in _statuses(pod)),
    "pod_status": _pod_status,
    "last_seen": lambda event: _age(event.get("lastTimestamp") or event["metadata"].get("creationTimestamp")),
    "event_object": _event_object,
}
