"""Object metadata: decoding, values that the server sets, and refused values."""

import random
import re
import uuid
from datetime import datetime, timezone
from typing import Any, Dict, List

from .errors import FieldError, bad_request, forbidden_field, invalid_value, required

Object = Dict[str, Any]

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
QUALIFIED_NAME_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
ANNOTATIONS_BYTES = 256 * 1024

STRINGS = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
STRING_MAPS = ("labels", "annotations")
OTHERS = ("generation", "deletionGracePeriodSeconds", "finalizers", "ownerReferences")
SET_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_subdomain(text: str) -> bool:
    return len(text) <= 253 and SUBDOMAIN.fullmatch(text) is not None


def is_dns_label(text: str) -> bool:
    return len(text) <= 63 and DNS_LABEL.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    return len(text) <= 63 and (text == "" or _NAME_PART.fullmatch(text) is not None)


def is_qualified_name(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= 63 and _NAME_PART.fullmatch(name) is not None


def decode(obj: Object, kind: str) -> Object:
    """A copy of the metadata with known fields only; wrong types are a bad request."""
    metadata = obj.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise _unmarshal(kind, "metadata", metadata, "v1.ObjectMeta")
    decoded: Object = {}
    for key, value in metadata.items():
        if value is None or key not in STRINGS + STRING_MAPS + OTHERS:
            continue
        _check_type(kind, key, value)
        if value != "" and value != {} and value != []:
            decoded[key] = value
    return decoded


def _check_type(kind: str, key: str, value: Any) -> None:
    path = f"metadata.{key}"
    if key in STRINGS and not isinstance(value, str):
        raise _unmarshal(kind, path, value, "string")
    if key in STRING_MAPS:
        if not isinstance(value, dict):
            raise _unmarshal(kind, path, value, "map[string]string")
        for one in value.values():
            if not isinstance(one, str):
                raise _unmarshal(kind, path, one, "string")
    if key in ("finalizers", "ownerReferences") and not isinstance(value, list):
        raise _unmarshal(kind, path, value, "[]")


def _unmarshal(kind: str, path: str, value: Any, wanted: str) -> Exception:
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    found = names.get(type(value), "null")
    return bad_request(f"{kind} cannot be handled: json: cannot unmarshal {found} into Go struct field {kind}.{path} of type {wanted}")


def prepare_create(metadata: Object, namespaced: bool, namespace: str) -> None:
    """The metadata that the server sets on a new object."""
    for key in (*SET_BY_SERVER, "resourceVersion", "selfLink"):
        metadata.pop(key, None)
    if not metadata.get("name") and metadata.get("generateName"):
        suffix = "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
        metadata["name"] = metadata["generateName"][:58] + suffix
    if namespaced:
        metadata["namespace"] = namespace
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = now()


def prepare_update(metadata: Object, old: Object) -> None:
    """Keep the members that a client cannot change."""
    for key in (*SET_BY_SERVER, "namespace"):
        if key in old:
            metadata[key] = old[key]
        else:
            metadata.pop(key, None)


def validate(metadata: Object, name_rule: Any) -> List[FieldError]:
    """``name_rule``: (test, text of the rule)."""
    errors: List[FieldError] = []
    name = metadata.get("name", "")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    elif len(name) > 253:
        errors.append(invalid_value("metadata.name", name, "must be no more than 253 characters"))
    elif not name_rule[0](name):
        errors.append(invalid_value("metadata.name", name, name_rule[1]))
    for key, value in (metadata.get("labels") or {}).items():
        if not is_qualified_name(key):
            errors.append(invalid_value("metadata.labels", key, QUALIFIED_NAME_RULE))
        if not is_label_value(value):
            errors.append(invalid_value("metadata.labels", value, LABEL_VALUE_RULE))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not is_qualified_name(key.lower()):
            errors.append(invalid_value("metadata.annotations", key, QUALIFIED_NAME_RULE))
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATIONS_BYTES:
        text = f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes"
        errors.append(FieldError("metadata.annotations", "FieldValueTooLong", text))
    for finalizer in metadata.get("finalizers") or []:
        if not isinstance(finalizer, str) or "/" not in finalizer or not is_qualified_name(finalizer):
            errors.append(invalid_value("metadata.finalizers", finalizer, QUALIFIED_NAME_RULE))
    errors.extend(_validate_owners(metadata.get("ownerReferences") or []))
    return errors


def _validate_owners(owners: List[Any]) -> List[FieldError]:
    errors: List[FieldError] = []
    for owner in owners:
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                errors.append(invalid_value(f"metadata.ownerReferences.{key}", "", "must not be empty"))
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        text = "Only one reference can have Controller set to true"
        errors.append(invalid_value("metadata.ownerReferences", "...", text))
    return errors


def validate_update(metadata: Object, old: Object) -> List[FieldError]:
    added = set(metadata.get("finalizers") or []) - set(old.get("finalizers") or [])
    if old.get("deletionTimestamp") and added:
        text = "no new finalizers can be added if the object is being deleted, found new finalizers "
        shown = "[]string{" + ", ".join(f'"{one}"' for one in sorted(added)) + "}"
        return [forbidden_field("metadata.finalizers", text + shown)]
    return []


def finished(metadata: Object) -> bool:
    """Is this an object whose deletion has nothing left to wait for?"""
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def without(obj: Object, *keys: str) -> Object:
    return {key: value for key, value in obj.items() if key not in keys}


