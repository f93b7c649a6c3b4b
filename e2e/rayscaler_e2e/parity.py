"""Sends the same requests to two API servers and compares the answers.

Answers are compared whole, after replacing the parts that differ between any two servers: uids,
resourceVersions, times, generated name suffixes; managedFields is left out. A case that cannot be
compared whole names the ignored parts of each answer in ``ignore``, by dotted path.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from .kubeclient import ApiError, KubeClient, Stream
from .wait import wait_until

Body = Union[Any, Callable[[List[Any]], Any]]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass
class Step:
    """One request. ``path``, ``body`` and ``params`` may be functions of the earlier answers'
    bodies; "{ns}" in a path is the case's namespace. ``user``: "admin", "nobody", "none" or "wrong"."""

    method: str
    path: Union[str, Callable[[List[Any]], str]]
    body: Body = None
    content_type: str = "application/json"
    params: Union[Dict[str, Any], Callable[[List[Any]], Dict[str, Any]]] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    user: str = "admin"
    watch: int = 0  # this many events of a watch are the answer


@dataclass
class Case:
    name: str
    steps: List[Step]


def run(case: Case, namespace: str, clients: Dict[str, KubeClient]) -> List[Tuple[str, int, Any]]:
    """(request, code, normal body) per step."""
    bodies: List[Any] = []
    trace = []
    for step in case.steps:
        path = step.path(bodies) if callable(step.path) else step.path
        path = path.replace("{ns}", namespace)
        body = step.body(bodies) if callable(step.body) else step.body
        params = step.params(bodies) if callable(step.params) else step.params
        code, answer = _send(clients[step.user], step, path, body, params)
        bodies.append(answer)
        trace.append((f"{step.method} {path}", code, without(normal(answer), step.ignore)))
    return trace


def _send(client: KubeClient, step: Step, path: str, body: Any, params: Any) -> Tuple[int, Any]:
    if not step.watch:
        answer = client.request(step.method, path, body, params=params, content_type=step.content_type)
        return answer.status, answer.body
    events = []
    query = {"watch": True, "timeoutSeconds": 10, **params}
    stream = wait_until(lambda: _open(client, path, query), 10, f"a watch of {path}")
    with stream:
        for event in stream:
            events.append(event)
            if len(events) == step.watch:
                break
        stream.abort()
    return stream.status, events


def _open(client: KubeClient, path: str, query: Any) -> Optional[Stream]:
    """None while the server answers 429, for a moment after a start."""
    try:
        return client.stream(path, query, 20)
    except ApiError as error:
        if error.status != 429:
            raise
        return None


def normal(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: normal(child, name) for name, child in value.items() if name != "managedFields"}
    if isinstance(value, list):
        return [normal(child) for child in value]
    if isinstance(value, str):
        if key in ("resourceVersion", "continue"):
            return key.upper() if value else ""
        return _UID.sub("UID", _TIME.sub("TIME", value))
    return value


def without(body: Any, paths: Sequence[str]) -> Any:
    """``body`` without the members at ``paths`` ("details.causes.message"; lists are entered)."""
    for path in paths:
        _drop(body, path.split("."))
    return body


def _drop(body: Any, parts: List[str]) -> None:
    if isinstance(body, list):
        for item in body:
            _drop(item, parts)
    elif isinstance(body, dict):
        if len(parts) == 1:
            body.pop(parts[0], None)
        else:
            _drop(body.get(parts[0]), parts[1:])


def differences(one: Any, other: Any, path: str = "") -> List[str]:
    """The differences, one line each."""
    if isinstance(one, dict) and isinstance(other, dict):
        lines = []
        for key in sorted(one.keys() | other.keys()):
            lines += differences(one.get(key, _ABSENT), other.get(key, _ABSENT), f"{path}.{key}")
        return lines
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return [line for i, pair in enumerate(zip(one, other)) for line in differences(*pair, f"{path}[{i}]")]
    same = type(one) is type(other) and one == other
    return [] if same else [f"{path or '.'}: real {one!r}, embedded {other!r}"]


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


_ABSENT: Optional[_Absent] = _Absent()
