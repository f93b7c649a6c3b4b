"""Label and field selectors as in the query parameters of list and watch."""

import re
from typing import Any, Callable, Dict, List, Tuple

from . import meta
from .errors import bad_request

Match = Callable[[Dict[str, Any]], bool]

_REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<absent_key>[^\s,=!()]+)"
    r"|(?P<key>[^\s,=!()]+)\s*(?:(?P<op>==|=|!=)\s*(?P<value>[^\s,()]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)


def labels(text: str) -> Match:
    """A test on the labels of an object."""
    requirements = [_label_requirement(part) for part in _split(text)]
    return lambda obj: all(test(obj["metadata"].get("labels") or {}) for test in requirements)


def _split(text: str) -> List["re.Match[str]"]:
    parts, position = [], 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if not found:
            raise _unparsable(text, f"found '{text[position:]}', expected: identifier")
        parts.append(found)
        position = found.end()
    return parts


def _label_requirement(part: "re.Match[str]") -> Callable[[Dict[str, str]], bool]:
    key = part["key"] or part["absent_key"]
    if not meta.is_qualified_name(key):
        raise _unparsable(part.string, f'key: Invalid value: "{key}": {meta.QUALIFIED_NAME_RULE}')
    if part["absent"]:
        return lambda have: key not in have
    if part["set"]:
        values = {value.strip() for value in part["values"].split(",")}
        wanted = part["set"] == "in"
        _check_values(part.string, key, values)
        return lambda have: (have.get(key) in values) == wanted if wanted else have.get(key) not in values
    if part["op"]:
        value, equal = part["value"], part["op"] != "!="
        _check_values(part.string, key, {value})
        return lambda have: (have.get(key) == value) == equal
    return lambda have: key in have


def _check_values(text: str, key: str, values: Any) -> None:
    for value in values:
        if not meta.is_label_value(value):
            raise _unparsable(text, f'values[0][{key}]: Invalid value: "{value}": {meta.LABEL_VALUE_RULE}')


def _unparsable(text: str, why: str) -> Exception:
    return bad_request(f"unable to parse requirement: {why}" if "Invalid" in why else f"couldn't parse the selector string \"{text}\": {why}")


def fields(text: str, resource: Any) -> Tuple[Match, str]:
    """A test on the fields that ``resource`` allows, and the value that metadata.name must have
    ("" when it is not asked for): authorization looks at that."""
    tests: List[Match] = []
    name = ""
    for part in filter(None, text.split(",")):
        found = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
        if not found:
            raise bad_request(f'invalid selector: \'{text}\'; can\'t understand \'{part}\'')
        path, operator, value = found.groups()
        if path not in resource.field_selectors:
            raise bad_request(f"field label not supported: {path}")
        if path == "metadata.name" and operator != "!=":
            name = value
        tests.append(_field_test(path, operator != "!=", value))
    return (lambda obj: all(test(obj) for test in tests)), name


def _field_test(path: str, equal: bool, value: str) -> Match:
    def test(obj: Dict[str, Any]) -> bool:
        found: Any = obj
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return (str("" if found is None else found) == value) == equal

    return test
