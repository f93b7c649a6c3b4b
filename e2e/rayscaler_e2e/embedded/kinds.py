"""The rules of each kind: its fields, the values that the server fills in, and refused values.

``Kind`` is the base; ``registry`` has the rules of each kind. Pods have a file of their own.
"""

import base64
import copy
from typing import Any, Dict, List, Optional

from . import meta, schema
from .errors import FieldError, bad_request, invalid_value, required

Object = Dict[str, Any]

KEPT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
KEPT_LIST = {"type": "array", "items": KEPT}
STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}
INTEGER = {"type": "integer"}
STRINGS = {"type": "object", "additionalProperties": STRING}
STRING_LIST = {"type": "array", "items": STRING}

SUBDOMAIN_NAME = (meta.is_subdomain, meta.SUBDOMAIN_RULE)
DNS_LABEL_NAME = (meta.is_dns_label, meta.DNS_LABEL_RULE)
ANY_NAME = (lambda name: "/" not in name and name not in (".", ".."), "may not contain '/'")


def fields(**properties: Any) -> schema.Schema:
    return {"type": "object", "properties": properties}


class Kind:
    """A built-in kind: unknown fields are dropped, wrong types are a bad request (400)."""

    typed = True  # the items of a list carry no apiVersion and kind
    has_status = False
    has_generation = False
    name_rule: Any = SUBDOMAIN_NAME

    def __init__(self, fields_: schema.Schema, name_rule: Any = None, has_status: bool = False):
        self.schema = fields_
        self.has_status = has_status
        if name_rule is not None:
            self.name_rule = name_rule

    def decode(self, obj: Object, kind: str, version: str) -> Object:
        """The object as the server understands it; a copy."""
        decoded = schema.prune(copy.deepcopy(obj), self.schema)
        decoded["metadata"] = meta.decode(obj, kind)
        errors = self.decoding_errors(decoded)
        if errors:
            short = version.rsplit("/", 1)[-1]
            raise bad_request(
                f'{kind} in version "{short}" cannot be handled as a {kind}: json: cannot unmarshal '
                f"into Go struct field {kind}.{errors[0].path}: {errors[0].text}"
            )
        return decoded

    def decoding_errors(self, decoded: Object) -> List[FieldError]:
        return schema.validate(decoded, self.schema)

    def prepare_create(self, obj: Object) -> None:
        if self.has_status:
            obj.pop("status", None)

    def prepare_update(self, obj: Object, old: Object, subresource: str) -> None:
        """Keep the parts that this request may not change: the status, or all but the status."""
        if subresource == "status":
            metadata, status = obj["metadata"], obj.get("status")
            obj.clear()
            obj.update(copy.deepcopy(old))
            obj["metadata"] = self.status_metadata(metadata, old["metadata"])
            _put(obj, "status", status)
        elif self.has_status:
            _put(obj, "status", old.get("status"))

    def status_metadata(self, new: Object, old: Object) -> Object:
        """Built-in kinds take labels, annotations and finalizers from a status update too."""
        return new

    def validate(self, obj: Object) -> List[FieldError]:
        return []

    def validate_update(self, obj: Object, old: Object, subresource: str) -> List[FieldError]:
        return self.validate(obj)

    def grace_seconds(self, obj: Object, asked: Optional[int]) -> Optional[int]:
        """Seconds until a deletion is final; None where deletion is never graceful."""
        return None


class CustomKind(Kind):
    """A kind of a CustomResourceDefinition: wrong types are faults of the object (422)."""

    typed = False
    has_generation = True

    def __init__(self, version: Dict[str, Any]):
        root = version["schema"]["openAPIV3Schema"]
        schema.check_supported(root)
        super().__init__(root, has_status="status" in (version.get("subresources") or {}))

    def decode(self, obj: Object, kind: str, version: str) -> Object:
        decoded = schema.prune(copy.deepcopy(obj), self.schema)
        decoded["metadata"] = meta.decode(obj, kind)
        schema.set_defaults(decoded, self.schema)
        return decoded

    def status_metadata(self, new: Object, old: Object) -> Object:
        kept = copy.deepcopy(old)
        _put(kept, "resourceVersion", new.get("resourceVersion"))
        _put(kept, "uid", new.get("uid") or old.get("uid"))
        return kept

    def validate(self, obj: Object) -> List[FieldError]:
        return schema.validate(obj, self.schema)


class NamespaceKind(Kind):
    def __init__(self) -> None:
        super().__init__(fields(spec=KEPT, status=KEPT), DNS_LABEL_NAME, has_status=True)

    def prepare_create(self, obj: Object) -> None:
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]

    def prepare_update(self, obj: Object, old: Object, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        if subresource == "finalize":
            finalizers = (obj.get("spec") or {}).get("finalizers") or []
            status = obj.get("status")
            metadata = obj["metadata"]
            obj.clear()
            obj.update(copy.deepcopy(old))
            obj["metadata"] = metadata
            obj["spec"] = {"finalizers": finalizers} if finalizers else {}
            _put(obj, "status", status or old.get("status"))
        else:
            _put(obj, "spec", old.get("spec"))


class SecretKind(Kind):
    def __init__(self) -> None:
        super().__init__(fields(data=STRINGS, stringData=STRINGS, type=STRING, immutable=BOOLEAN))

    def decode(self, obj: Object, kind: str, version: str) -> Object:
        decoded = super().decode(obj, kind, version)
        plain = decoded.pop("stringData", None)
        if plain:
            data = decoded.setdefault("data", {})
            data.update({key: base64.b64encode(text.encode()).decode() for key, text in plain.items()})
        decoded.setdefault("type", "Opaque")
        return decoded

    def decoding_errors(self, decoded: Object) -> List[FieldError]:
        errors = super().decoding_errors(decoded)
        for key, text in (decoded.get("data") or {}).items():
            try:
                base64.b64decode(text, validate=True)
            except (ValueError, TypeError):
                errors.append(FieldError(f"data.{key}", "", "illegal base64 data"))
        return errors


class EventKind(Kind):
    def __init__(self) -> None:
        super().__init__(
            fields(
                involvedObject=KEPT, related=KEPT, source=KEPT, series=KEPT, reason=STRING, message=STRING,
                type=STRING, count=INTEGER, action=STRING, firstTimestamp=STRING, lastTimestamp=STRING,
                eventTime=STRING, reportingComponent=STRING, reportingInstance=STRING,
            )
        )  # fmt: skip

    def decode(self, obj: Object, kind: str, version: str) -> Object:
        decoded = super().decode(obj, kind, version)
        for key in ("reportingComponent", "reportingInstance"):
            decoded.setdefault(key, "")
        return decoded

    def validate(self, obj: Object) -> List[FieldError]:
        wanted = (obj.get("involvedObject") or {}).get("namespace", "")
        if wanted != obj["metadata"].get("namespace", ""):
            if wanted or obj["metadata"].get("namespace") != "default":
                text = "does not match event.namespace"
                return [invalid_value("involvedObject.namespace", wanted, text)]
        return []


class LeaseKind(Kind):
    def __init__(self) -> None:
        spec = fields(
            holderIdentity=STRING, leaseDurationSeconds=INTEGER, acquireTime=STRING, renewTime=STRING,
            leaseTransitions=INTEGER, strategy=STRING, preferredHolder=STRING,
        )  # fmt: skip
        super().__init__(fields(spec=spec))

    def validate(self, obj: Object) -> List[FieldError]:
        errors = []
        spec = obj.get("spec") or {}
        if spec.get("leaseDurationSeconds", 1) <= 0:
            value = spec["leaseDurationSeconds"]
            errors.append(invalid_value("spec.leaseDurationSeconds", value, "must be greater than 0"))
        if spec.get("leaseTransitions", 0) < 0:
            value = spec["leaseTransitions"]
            errors.append(invalid_value("spec.leaseTransitions", value, "must be greater than or equal to 0"))
        return errors


class RoleKind(Kind):
    def __init__(self) -> None:
        rule = fields(
            verbs=STRING_LIST, apiGroups=STRING_LIST, resources=STRING_LIST, resourceNames=STRING_LIST,
            nonResourceURLs=STRING_LIST,
        )  # fmt: skip
        super().__init__(fields(rules={"type": "array", "items": rule}, aggregationRule=KEPT), ANY_NAME)

    def validate(self, obj: Object) -> List[FieldError]:
        errors = []
        for index, rule in enumerate(obj.get("rules") or []):
            path = f"rules[{index}]"
            if not rule.get("verbs"):
                errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
            if rule.get("nonResourceURLs"):
                continue
            if not rule.get("apiGroups"):
                errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
            if not rule.get("resources"):
                errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
        return errors


class BindingKind(Kind):
    def __init__(self) -> None:
        subject = fields(kind=STRING, apiGroup=STRING, name=STRING, namespace=STRING)
        role = fields(apiGroup=STRING, kind=STRING, name=STRING)
        super().__init__(fields(subjects={"type": "array", "items": subject}, roleRef=role), ANY_NAME)

    def validate(self, obj: Object) -> List[FieldError]:
        errors = []
        if not (obj.get("roleRef") or {}).get("name"):
            errors.append(required("roleRef.name"))
        for index, subject in enumerate(obj.get("subjects") or []):
            if subject.get("kind") == "ServiceAccount" and not subject.get("namespace"):
                errors.append(required(f"subjects[{index}].namespace"))
        return errors

    def validate_update(self, obj: Object, old: Object, subresource: str) -> List[FieldError]:
        errors = self.validate(obj)
        if obj.get("roleRef") != old.get("roleRef"):
            errors.append(invalid_value("roleRef", "...", "cannot change roleRef"))
        return errors


class DefinitionKind(Kind):
    """CustomResourceDefinition; ``registry`` serves the resource that it defines."""

    has_generation = True

    def __init__(self) -> None:
        super().__init__(fields(spec=KEPT, status=KEPT), has_status=True)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        self._establish(obj)

    def prepare_update(self, obj: Object, old: Object, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        self._establish(obj)

    @staticmethod
    def _establish(obj: Object) -> None:
        spec = obj.get("spec") or {}
        names = spec.get("names") or {}
        if names.get("kind"):
            names.setdefault("listKind", names["kind"] + "List")
            names.setdefault("singular", names["kind"].lower())
        spec.setdefault("conversion", {"strategy": "None"})
        if "conditions" in (obj.get("status") or {}):
            return
        conditions = [("NamesAccepted", "NoConflicts", "no conflicts found")]
        conditions.append(("Established", "InitialNamesAccepted", "the initial names have been accepted"))
        obj["status"] = {
            "acceptedNames": copy.deepcopy(names),
            "storedVersions": [v["name"] for v in spec.get("versions") or [] if v.get("storage")],
            "conditions": [
                {"type": kind, "status": "True", "reason": reason, "message": text, "lastTransitionTime": meta.now()}
                for kind, reason, text in conditions
            ],
        }

    def validate(self, obj: Object) -> List[FieldError]:
        spec = obj.get("spec") or {}
        errors = []
        for key in ("group", "scope", "names", "versions"):
            if not spec.get(key):
                errors.append(required(f"spec.{key}"))
        if errors:
            return errors
        wanted = f"{spec['names'].get('plural')}.{spec['group']}"
        if obj["metadata"]["name"] != wanted:
            text = 'must be spec.names.plural+"."+spec.group'
            errors.append(invalid_value("metadata.name", obj["metadata"]["name"], text))
        if sum(1 for version in spec["versions"] if version.get("storage")) != 1:
            text = "must have exactly one version marked as storage version"
            errors.append(invalid_value("spec.versions", "...", text))
        for index, version in enumerate(spec["versions"]):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            try:
                schema.check_supported(version["schema"]["openAPIV3Schema"])
            except KeyError:
                errors.append(required(path, "schemas are required"))
            except ValueError as error:
                errors.append(invalid_value(path, "...", str(error)))
        return errors


def _put(obj: Object, key: str, value: Any) -> None:
    if value is None:
        obj.pop(key, None)
    else:
        obj[key] = copy.deepcopy(value)
