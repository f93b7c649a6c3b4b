"""JSON patch, merge patch and strategic merge patch with the semantics of kube-apiserver.

Its JSON patch differs from RFC 6902 in one place, and so does this one: a member that is missing
in an object counts as null, so ``replace`` of it adds it and ``test`` of it against null succeeds.
A missing parent, an index out of range and a ``remove`` of nothing are errors.
"""

import copy
from typing import Any, Dict, List, Tuple

from .errors import StatusError, bad_request, patch_refused

MAX_OPERATIONS = 10000

# Lists of core kinds that strategic merge patch merges by a key; all others are replaced.
MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "imagePullSecrets": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "addresses": "type",
}
MERGED_PRIMITIVES = ("finalizers",)


class _Refused(Exception):
    """An operation that does not apply; the message is the real server's."""


def apply_json_patch(obj: Any, operations: Any) -> Any:
    """The patched copy of ``obj``."""
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise bad_request("error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp")
    if len(operations) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, text)
    document = copy.deepcopy(obj)
    try:
        for operation in operations:
            document = _apply(document, operation)
    except _Refused as refused:
        raise patch_refused() from refused
    return document


def _apply(document: Any, operation: Dict[str, Any]) -> Any:
    kind = operation.get("op")
    if kind not in ("add", "remove", "replace", "test", "move", "copy"):
        raise _Refused(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
    path = operation.get("path")
    if not isinstance(path, str):
        raise _Refused(f"{kind} operation failed to decode path: missing value")
    if kind == "test" and "value" not in operation:
        raise _Refused("test operation without value")  # kube-apiserver refuses or even panics
    value = copy.deepcopy(operation.get("value"))
    if path == "":
        return _apply_to_root(document, kind, value)
    if kind in ("move", "copy"):
        value = _take(document, kind, operation.get("from"))
    parent, key = _find(document, path)
    if parent is None:
        raise _Refused(_missing_path(kind, path))
    if kind == "test":
        if not _same(_get(parent, key, kind, path), value):
            raise _Refused(f"testing value {path} failed: test failed")
    elif kind == "remove":
        _remove(parent, key, path)
    elif kind == "replace":
        _get(parent, key, kind, path)
        parent[_index(parent, key) if isinstance(parent, list) else key] = value
    else:
        _add(parent, key, value, path)
    return document


def _apply_to_root(document: Any, kind: str, value: Any) -> Any:
    if kind == "test":
        if not _same(document, value):
            raise _Refused("testing value  failed: test failed")
        return document
    if kind == "replace":
        return value
    raise _Refused(_missing_path(kind, ""))


def _take(document: Any, kind: str, source: Any) -> Any:
    if not isinstance(source, str):
        raise _Refused(f"{kind} operation failed to decode from: missing value")
    parent, key = _find(document, source)
    if parent is None:
        raise _Refused(f"{kind} operation does not apply: doc is missing from path: {source}: missing value")
    value = copy.deepcopy(_get(parent, key, kind, source))
    if kind == "move":
        _remove(parent, key, source)
    return value


def _missing_path(kind: str, path: str) -> str:
    if kind == "test":
        return f"test operation does not apply: is missing path: {path}: missing value"
    if kind in ("add", "remove"):
        return f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
    if kind == "replace":
        return f"replace operation does not apply: doc is missing path: {path}: missing value"
    return f"{kind} operation does not apply: doc is missing destination path: {path}: missing value"


def _find(document: Any, path: str) -> Tuple[Any, str]:
    """The container that ``path`` points into, and the key there; (None, "") when a part is
    missing or is not a container."""
    parts = path.split("/")
    if len(parts) < 2:
        return None, ""
    keys = [part.replace("~1", "/").replace("~0", "~") for part in parts[1:]]
    for key in keys[:-1]:
        try:
            document = document[_index(document, key)] if isinstance(document, list) else document.get(key)
        except (_Refused, IndexError):
            return None, ""
        if not isinstance(document, (dict, list)):
            return None, ""
    return document, keys[-1]


def _index(parent: List[Any], key: str, longest: int = 0) -> int:
    """An existing index of ``parent`` (up to ``longest`` beyond its end); negative ones count
    from the end."""
    try:
        index = int(key)
    except ValueError:
        raise _Refused(f"value was not a proper array index: '{key}'") from None
    size = len(parent) + longest
    if index >= size or index < -size:
        raise _Refused(f"Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + size


def _get(parent: Any, key: str, kind: str, path: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(key)
    try:
        return parent[_index(parent, key)]
    except _Refused as refused:
        if kind == "replace":
            text = f"replace operation does not apply: doc is missing key: {path}: missing value"
            raise _Refused(text) from None
        raise _Refused(f"error in {kind} for path: '{path}': {refused}") from None


def _remove(parent: Any, key: str, path: str) -> None:
    if isinstance(parent, dict):
        if key not in parent:
            text = f"Unable to remove nonexistent key: {key}: missing value"
            raise _Refused(f"error in remove for path: '{path}': {text}")
        del parent[key]
        return
    try:
        del parent[_index(parent, key)]
    except _Refused as refused:
        raise _Refused(f"error in remove for path: '{path}': {refused}") from None


def _add(parent: Any, key: str, value: Any, path: str) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    elif key == "-":
        parent.append(value)
    else:
        try:
            parent.insert(_index(parent, key, 1), value)
        except _Refused as refused:
            raise _Refused(f"error in add for path: '{path}': {refused}") from None


def _same(one: Any, other: Any) -> bool:
    """Equality of JSON values as written: 1, 1.0 and true are three things."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


def apply_merge_patch(obj: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}")
    return _merge(obj, patch)


def _merge(obj: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(obj) if isinstance(obj, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def apply_strategic_merge_patch(obj: Any, patch: Any) -> Any:
    """Strategic merge for core kinds: lists of MERGE_KEYS are merged, all else as merge patch."""
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}")
    return _strategic(obj, patch)


def _strategic(obj: Any, patch: Dict[str, Any]) -> Any:
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(obj) if isinstance(obj, dict) else {}
    for key, value in patch.items():
        if key.startswith(("$setElementOrder/", "$retainKeys")):
            continue
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.split("/", 1)[1]
            merged[name] = [one for one in merged.get(name) or [] if one not in value]
        elif value is None:
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _strategic_list(key, merged.get(key) or [], value)
        elif isinstance(value, dict):
            merged[key] = _strategic(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def _strategic_list(name: str, old: List[Any], patch: List[Any]) -> List[Any]:
    if name in MERGED_PRIMITIVES:
        return old + [one for one in patch if one not in old]
    key = MERGE_KEYS.get(name)
    if key is None or not all(isinstance(one, dict) for one in patch):
        return copy.deepcopy(patch)
    if any(one == {"$patch": "replace"} for one in patch):
        return [copy.deepcopy(one) for one in patch if one != {"$patch": "replace"}]
    merged = list(old)
    for one in patch:
        places = [index for index, have in enumerate(merged) if have.get(key) == one.get(key)]
        if one.get("$patch") == "delete":
            merged = [have for have in merged if have.get(key) != one.get(key)]
        elif places:
            merged[places[0]] = _strategic(merged[places[0]], one)
        else:
            merged.append(_strategic({}, one))
    return merged
