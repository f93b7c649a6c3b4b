"""The structural schemas of CustomResourceDefinitions: prune, default, validate.

The subset of OpenAPI v3 that this project's definitions use; ``check_supported`` refuses a schema
that has more, so that a definition is never served more kindly than it is written.
"""

import re
from datetime import datetime
from typing import Any, Callable, Dict, List

from .errors import FieldError, duplicate, invalid_value, required, unsupported

Schema = Dict[str, Any]

SUPPORTED = {
    "type", "properties", "required", "items", "additionalProperties", "description", "default", "enum",
    "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "nullable",
    "anyOf", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations",
}  # fmt: skip
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
KEPT_AT_ROOT = ("apiVersion", "kind", "metadata")
STOPS_RULES = (
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid",
)  # fmt: skip
RULES_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
# Of the Common Expression Language: that one member is there, one of two, or any of several.
HAS = r"has\(self\.(\w+)\)"
HAS_RULE = re.compile(rf"{HAS}(?: != {HAS}|(?: \|\| {HAS})+)?")
# And these rules of the GPUPool, word for word.
OTHER_RULES: Dict[str, Callable[[Dict[str, Any]], bool]] = {
    "!has(self.maximum) || !has(self.guaranteed) || self.guaranteed <= self.maximum": lambda self: "maximum" not in self
    or self.get("guaranteed", 0) <= self["maximum"],
    "!has(self.lendable) || (has(self.guaranteed) && self.lendable <= self.guaranteed)": lambda self: "lendable" not in self
    or ("guaranteed" in self and self["lendable"] <= self["guaranteed"]),
    "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)": lambda self: (self["operator"] in ("In", "NotIn"))
    == bool(self.get("values")),
}


def check_supported(schema: Schema, path: str = "openAPIV3Schema") -> None:
    """Raise ValueError for a value that this server cannot hold."""
    unknown = set(schema) - SUPPORTED
    if unknown:
        raise ValueError(f"{path}: the embedded API server does not know {sorted(unknown)}")
    if "anyOf" in schema and not (schema["anyOf"] == INT_OR_STRING and schema.get("x-kubernetes-int-or-string")):
        raise ValueError(f"{path}: the embedded API server knows anyOf for integer or string only")
    for one in schema.get("x-kubernetes-validations") or []:
        if set(one) != {"rule", "message"} or not (HAS_RULE.fullmatch(one["rule"]) or one["rule"] in OTHER_RULES):
            raise ValueError(f"{path}: of x-kubernetes-validations the embedded API server knows has(self.x), != of two of them and || of them, with a message only")
    for name, child in (schema.get("properties") or {}).items():
        check_supported(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            check_supported(schema[key], f"{path}.{key}")


def prune(obj: Dict[str, Any], schema: Schema) -> Dict[str, Any]:
    """A copy without the fields that the schema does not know, nor nulls that it does not allow."""
    pruned = {key: obj[key] for key in KEPT_AT_ROOT if key in obj}
    rest = {key: value for key, value in obj.items() if key not in KEPT_AT_ROOT}
    pruned.update(_prune(rest, schema))
    return pruned


def _prune(value: Any, schema: Schema) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_prune(item, items) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)  # as it would be written back
    if not isinstance(value, dict):
        return value
    pruned = {}
    for key, child in value.items():
        known = _child(schema, key)
        if known is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
            continue
        if child is None and known is not None and not known.get("nullable"):
            continue
        pruned[key] = child if known is None else _prune(child, known)
    return pruned


def _child(schema: Schema, key: str) -> Any:
    """The schema of a member, or None when the schema does not know it."""
    properties = schema.get("properties") or {}
    if key in properties:
        return properties[key]
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return additional
    return {"x-kubernetes-preserve-unknown-fields": True} if additional is True else None


def unknown_fields(value: Any, schema: Schema, path: str = "") -> List[str]:
    """The paths of the members that ``prune`` drops because the schema does not know them."""
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [one for i, item in enumerate(value) for one in unknown_fields(item, items, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return []
    found = []
    for key, child in value.items():
        if not path and key in KEPT_AT_ROOT:
            continue
        here = f"{path}.{key}" if path else key
        known = _child(schema, key)
        if known is not None:
            found += unknown_fields(child, known, here)
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            found.append(here)
    return found


def set_defaults(value: Any, schema: Schema) -> None:
    """Fill in defaults, in place."""
    if isinstance(value, list):
        for item in value:
            set_defaults(item, schema.get("items") or {})
    if not isinstance(value, dict):
        return
    for key, child in (schema.get("properties") or {}).items():
        if key not in value and "default" in child:
            value[key] = child["default"]
    for key, item in value.items():
        known = _child(schema, key)
        if known is not None:
            set_defaults(item, known)


def validate(obj: Dict[str, Any], schema: Schema) -> List[FieldError]:
    """All faults of an object that was pruned and has its defaults."""
    errors: List[FieldError] = []
    rest = {key: value for key, value in obj.items() if key not in KEPT_AT_ROOT}
    _validate(rest, schema, "", errors)
    errors += _rules(rest, schema, errors)
    return errors


def _rules(obj: Any, schema: Schema, errors: List[FieldError]) -> List[FieldError]:
    """Rules are looked at only where the object has the form that they were written for."""
    if not _has_rules(schema):
        return []
    if any(error.reason in STOPS_RULES for error in errors):
        return [FieldError("<nil>", "FieldValueInvalid", f"Invalid value: null: {RULES_NOT_CHECKED}")]
    return _broken_rules(obj, schema, "")


def _has_rules(schema: Schema) -> bool:
    children = list((schema.get("properties") or {}).values())
    children += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return "x-kubernetes-validations" in schema or any(_has_rules(child) for child in children)


def _holds(rule: str, value: Dict[str, Any]) -> bool:
    if rule in OTHER_RULES:
        return OTHER_RULES[rule](value)
    present = sum(name in value for name in re.findall(HAS, rule))
    return present == 1 or (present > 1 and "!=" not in rule)


def _broken_rules(value: Any, schema: Schema, path: str) -> List[FieldError]:
    found = []
    for one in schema.get("x-kubernetes-validations") or []:
        if not _holds(one["rule"], value):
            found.append(FieldError(path, "FieldValueInvalid", f'Invalid value: "object": {one["message"]}'))
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += _broken_rules(item, schema.get("items") or {}, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            found += _broken_rules(item, _child(schema, key) or {}, f"{path}.{key}" if path else key)
    return found


def _validate(value: Any, schema: Schema, path: str, errors: List[FieldError]) -> None:
    if value is None and schema.get("nullable"):
        return
    if not _has_type(value, schema):
        wanted = "integer,string" if schema.get("x-kubernetes-int-or-string") else schema["type"]
        text = f'{path} in body must be of type {wanted}: "{_type_name(value)}"'
        error = invalid_value(path, _type_name(value), text)
        errors.append(FieldError(path, "FieldValueTypeInvalid", error.text))
        return
    if "enum" in schema and value not in schema["enum"]:
        errors.append(unsupported(path, value, schema["enum"]))
    if isinstance(value, str):
        _validate_string(value, schema, path, errors)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        _validate_number(value, schema, path, errors)
    elif isinstance(value, list):
        _validate_list(value, schema, path, errors)
    elif isinstance(value, dict):
        _validate_object(value, schema, path, errors)


def _has_type(value: Any, schema: Schema) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
    wanted = schema.get("type")
    if wanted is None:
        return True
    found = _type_name(value)
    return found == wanted or (wanted == "number" and found == "integer")


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _validate_string(value: str, schema: Schema, path: str, errors: List[FieldError]) -> None:
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        text = f"Too long: may not be more than {schema['maxLength']} bytes"
        errors.append(FieldError(path, "FieldValueTooLong", text))
    if "minLength" in schema and len(value) < schema["minLength"]:
        text = f"{path} in body should be at least {schema['minLength']} chars long"
        errors.append(invalid_value(path, value, text))
    if "pattern" in schema and not re.search(schema["pattern"], value):
        errors.append(invalid_value(path, value, f"{path} in body should match '{schema['pattern']}'"))
    if schema.get("format") == "date-time" and not _is_time(value):
        errors.append(invalid_value(path, value, f'{path} in body must be of type date-time: "{value}"'))


def _is_time(text: str) -> bool:
    try:
        return "T" in text and datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None
    except ValueError:
        return False


def _validate_number(value: Any, schema: Schema, path: str, errors: List[FieldError]) -> None:
    if "minimum" in schema and value < schema["minimum"]:
        text = f"{path} in body should be greater than or equal to {schema['minimum']}"
        errors.append(invalid_value(path, value, text))
    if "maximum" in schema and value > schema["maximum"]:
        text = f"{path} in body should be less than or equal to {schema['maximum']}"
        errors.append(invalid_value(path, value, text))


def _validate_list(value: List[Any], schema: Schema, path: str, errors: List[FieldError]) -> None:
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        text = f"Too many: {len(value)}: must have at most {schema['maxItems']} items"
        errors.append(FieldError(path, "FieldValueTooMany", text))
    if "minItems" in schema and len(value) < schema["minItems"]:
        text = f"{path} in body should have at least {schema['minItems']} items"
        errors.append(invalid_value(path, len(value), text))
    for index, item in enumerate(value):
        _validate(item, schema.get("items") or {}, f"{path}[{index}]", errors)
    if schema.get("x-kubernetes-list-type") == "map":
        _validate_keys(value, schema["x-kubernetes-list-map-keys"], path, errors)


def _validate_keys(value: List[Any], keys: List[str], path: str, errors: List[FieldError]) -> None:
    seen = []
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            continue
        key = {name: item.get(name) for name in keys}
        if key in seen:
            errors.append(duplicate(f"{path}[{index}]", key))
        seen.append(key)


def _validate_object(value: Dict[str, Any], schema: Schema, path: str, errors: List[FieldError]) -> None:
    if len(value) < schema.get("minProperties", 0):
        text = f"{path} in body should have at least {schema['minProperties']} properties"
        errors.append(invalid_value(path, len(value), text))
    if len(value) > schema.get("maxProperties", len(value)):
        text = f"Too many: {len(value)}: must have at most {schema['maxProperties']} items"
        errors.append(FieldError(path, "FieldValueTooMany", text))
    for name in schema.get("required") or []:
        if name not in value:
            errors.append(required(f"{path}.{name}" if path else name))
    for key, item in value.items():
        known = _child(schema, key)
        if known is not None:
            _validate(item, known, f"{path}.{key}" if path else key, errors)
