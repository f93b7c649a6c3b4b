"""Failures as the Status objects that kube-apiserver sends."""

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

REASON_OF_CODE = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    500: "InternalError",
}


class StatusError(Exception):
    """Ends a request with a Status object."""

    def __init__(self, code: int, message: str, reason: Optional[str] = None, details: Any = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = REASON_OF_CODE.get(code, "") if reason is None else reason
        self.details = details

    def body(self) -> Dict[str, Any]:
        body: Dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


@dataclass
class FieldError:
    """One fault of an object. ``text`` follows "field: " in the message."""

    path: str
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(path, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid_value(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}")


def unsupported(path: str, value: Any, supported: Sequence[str]) -> FieldError:
    choice = ", ".join(f'"{one}"' for one in supported)
    return FieldError(path, "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choice}")


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(path, "FieldValueDuplicate", f"Duplicate value: {shown(value)}")


def forbidden_field(path: str, detail: str) -> FieldError:
    return FieldError(path, "FieldValueForbidden", f"Forbidden: {detail}")


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return f'"{value}"' if isinstance(value, str) else str(value)


def bad_request(message: str) -> StatusError:
    return StatusError(400, message)


def not_found(resource: Any, name: str) -> StatusError:
    return StatusError(404, f'{resource.qualified} "{name}" not found', details=_details(resource, name))


def already_exists(resource: Any, name: str) -> StatusError:
    message = f'{resource.qualified} "{name}" already exists'
    return StatusError(409, message, "AlreadyExists", _details(resource, name))


def precondition_failed(resource: Any, name: str, why: str) -> StatusError:
    """A conflict that names the kind where others name the resource."""
    error = conflict(resource, name, why)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    error.message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    error.details["kind"] = resource.kind
    return error


def conflict(resource: Any, name: str, why: str) -> StatusError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return StatusError(409, message, details=_details(resource, name))


def modified(resource: Any, name: str) -> StatusError:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def forbidden(resource: Any, name: str, why: str) -> StatusError:
    named = f' "{name}"' if name else ""
    return StatusError(403, f"{resource.qualified}{named} is forbidden: {why}", details=_details(resource, name))


def invalid(resource: Any, name: str, errors: List[FieldError]) -> StatusError:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: Dict[str, Any] = _details(resource, name)
    details["kind"] = resource.kind
    details["causes"] = [{"reason": e.reason, "message": e.text, "field": e.path} for e in errors]
    return StatusError(422, f'{kind} "{name}" is invalid: {listed}', details=details)


def patched_undecodable(why: str) -> StatusError:
    """The result of a patch cannot be read as an object of its kind."""
    text = f"Invalid value: (the patched object): {why}"
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "patch"}
    return StatusError(422, f' "" is invalid: patch: {text}', details={"causes": [cause]})


def patch_refused() -> StatusError:
    """kube-apiserver does not name the operation that did not apply, nor the reason."""
    return StatusError(422, "the server rejected our request due to an error in our request", details={})


def expired(message: str) -> StatusError:
    return StatusError(410, message)


def _details(resource: Any, name: str) -> Dict[str, Any]:
    details: Dict[str, Any] = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details
