"""get, list, create, update, patch and delete on the store, as kube-apiserver does them."""

import copy
import itertools
import uuid
from collections import OrderedDict
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import errors, kinds, meta, patch, pods, registry, schema, selectors
from .errors import StatusError, bad_request
from .registry import Resource
from .store import Key, Store

Object = Dict[str, Any]
Params = Dict[str, str]

CONTINUATIONS = 100
TOO_LARGE_SECONDS = 3.0
PATCHES: Dict[str, Callable[[Any, Any], Any]] = {
    "application/json-patch+json": patch.apply_json_patch,
    "application/merge-patch+json": patch.apply_merge_patch,
    "application/strategic-merge-patch+json": patch.apply_strategic_merge_patch,
}
NAMESPACES_FROM_THE_START = ("default", "kube-node-lease", "kube-public", "kube-system")


class Verbs:
    """The verbs on any resource; callers have authorized the request."""

    def __init__(self, store: Store, served: registry.Registry):
        self._store = store
        self._registry = served
        self._continuations: "OrderedDict[str, Tuple[List[Object], int]]" = OrderedDict()
        self._numbers = itertools.count()
        self._replay_definitions()

    # -- reading --------------------------------------------------------------------------------

    def get(self, resource: Resource, key: Key) -> Object:
        obj = self._store.get(resource.id, key)
        if obj is None:
            raise errors.not_found(resource, key[1])
        return _as_version(obj, resource)

    def list(self, resource: Resource, namespace: str, params: Params) -> Object:
        match = self.selector(resource, params)
        if params.get("continue"):
            items, version = self._continued(params["continue"])
        else:
            self._wait_for_version(params.get("resourceVersion", ""))
            items, version = self._store.list(resource.id, namespace)
            items = [obj for obj in items if match(obj)]
        metadata: Object = {"resourceVersion": str(version)}
        if not resource.rules.typed:
            metadata["continue"] = ""
        limit = _number(params.get("limit") or "0")
        if limit and len(items) > limit:
            metadata["continue"] = self._continue_later(items[limit:], version)
            if not params.get("labelSelector") and not params.get("fieldSelector"):
                metadata["remainingItemCount"] = len(items) - limit
            items = items[:limit]
        shown = [_as_version(obj, resource) for obj in items]
        if resource.rules.typed:
            shown = [meta.without(obj, "apiVersion", "kind") for obj in shown]
        return {
            "kind": resource.list_kind,
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": shown,
        }

    @staticmethod
    def selector(resource: Resource, params: Params) -> selectors.Match:
        by_label = selectors.labels(params.get("labelSelector", ""))
        by_field, _ = selectors.fields(params.get("fieldSelector", ""), resource)
        return lambda obj: by_label(obj) and by_field(obj)

    def _wait_for_version(self, text: str) -> None:
        """A list "not older than" a version that is not there yet waits a little, as the real
        server does, and then fails with that reason."""
        if not text:
            return
        wanted = _version(text)
        with self._store.lock:
            reached = self._store.changed.wait_for(lambda: self._store.version >= wanted, TOO_LARGE_SECONDS)
            current = self._store.version
        if not reached:
            cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            text = f"Timeout: Too large resource version: {wanted}, current: {current}"
            raise StatusError(504, text, "Timeout", {"causes": [cause], "retryAfterSeconds": 1})

    def _continue_later(self, items: List[Object], version: int) -> str:
        token = f"rest-{next(self._numbers)}-{uuid.uuid4().hex}"
        with self._store.lock:
            self._continuations[token] = (items, version)
            while len(self._continuations) > CONTINUATIONS:
                self._continuations.popitem(last=False)
        return token

    def _continued(self, token: str) -> Tuple[List[Object], int]:
        with self._store.lock:
            if token in self._continuations:
                return self._continuations[token]
        if not token.startswith("rest-"):
            raise bad_request("continue key is not valid: encoding is unknown")
        raise errors.expired(
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter."
        )

    # -- writing --------------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, body: Any, params: Params) -> Object:
        obj = self._decode(resource, body)
        _check_unknown(resource, body, params)
        with self._store.lock:
            self._check_namespace(resource, namespace, obj)
            if obj["metadata"].get("resourceVersion"):
                raise StatusError(500, "resourceVersion should not be set on objects to be created", "")
            meta.prepare_create(obj["metadata"], resource.namespaced, namespace)
            if resource.rules.has_generation:
                obj["metadata"]["generation"] = 1
            name = obj["metadata"].get("name", "")
            faults = meta.validate(obj["metadata"], resource.rules.name_rule)
            if not faults:
                resource.rules.prepare_create(obj)
            faults += resource.rules.validate(obj)
            if faults:
                raise errors.invalid(resource, name, faults)
            key = (namespace, name)
            if self._store.get(resource.id, key) is not None:
                raise errors.already_exists(resource, name)
            return self._write(resource, key, obj, params)

    def update(self, resource: Resource, key: Key, body: Any, params: Params, subresource: str = "") -> Tuple[Object, bool]:
        """PUT; the second value says whether the object was created."""
        obj = self._decode(resource, body)
        _check_unknown(resource, body, params)
        with self._store.lock:
            self._check_identity(resource, key, obj)
            old = self._store.get(resource.id, key)
            if old is None:
                if not resource.create_on_update or subresource:
                    raise errors.not_found(resource, key[1])
                return self.create(resource, key[0], body, params), True
            return self._replace(resource, key, obj, old, params, subresource), False

    def patch(
        self, resource: Resource, key: Key, body: Any, content_type: str, params: Params, subresource: str = ""
    ) -> Object:
        apply = PATCHES.get(content_type)
        if apply is None or (apply is patch.apply_strategic_merge_patch and not resource.rules.typed):
            known = [name for name in PATCHES if resource.rules.typed or "strategic" not in name]
            text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
            raise StatusError(415, text)
        with self._store.lock:
            old = self._store.get(resource.id, key)
            if old is None:
                raise errors.not_found(resource, key[1])
            patched = apply(_as_version(old, resource), body)
            obj = self._decode_patched(resource, key, patched)
            try:
                _check_unknown(resource, patched, params)
            except StatusError as error:
                raise errors.patched_undecodable(error.message) from None
            self._check_identity(resource, key, obj)
            uid = obj["metadata"].get("uid", "")
            if uid != old["metadata"]["uid"]:
                fault = errors.invalid_value("metadata.uid", uid, "field is immutable")
                raise errors.invalid(resource, key[1], [fault, fault])
            return self._replace(resource, key, obj, old, params, subresource)

    def _replace(
        self, resource: Resource, key: Key, obj: Object, old: Object, params: Params, subresource: str
    ) -> Object:
        metadata = obj["metadata"]
        version = metadata.get("resourceVersion", "")
        if not version and not resource.unconditional_update:
            fault = errors.invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.invalid(replace(resource, kind=resource.plural), key[1], [fault])
        uid = metadata.get("uid") or old["metadata"]["uid"]
        if uid != old["metadata"]["uid"]:
            text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise errors.conflict(resource, key[1], text)
        if version and version != old["metadata"]["resourceVersion"]:
            raise errors.modified(resource, key[1])
        resource.rules.prepare_update(obj, old, subresource)
        metadata = obj["metadata"]
        meta.prepare_update(metadata, old["metadata"])
        if resource.rules.has_generation and _is_new_generation(obj, old):
            metadata["generation"] = old["metadata"].get("generation", 0) + 1
        faults = meta.validate(metadata, (lambda name: True, ""))
        faults += meta.validate_update(metadata, old["metadata"])
        faults += resource.rules.validate_update(obj, old, subresource)
        if faults:
            raise errors.invalid(resource, key[1], faults)
        if meta.finished(metadata) and not _namespace_in_use(resource, obj):
            return self._remove(resource, key, params, obj)
        metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
        if obj == old:
            return _as_version(old, resource)
        return self._write(resource, key, obj, params)

    # -- deleting -------------------------------------------------------------------------------

    def delete(self, resource: Resource, key: Key, options: Object, params: Params) -> Object:
        """The object, or the Status that kube-apiserver sends for one that is deleted at once."""
        with self._store.lock:
            old = self._store.get(resource.id, key)
            if old is None:
                raise errors.not_found(resource, key[1])
            self._check_preconditions(resource, key, old, options.get("preconditions") or {})
            asked = options.get("gracePeriodSeconds")
            obj = copy.deepcopy(old)
            self._mark(resource, obj, asked)
            self._add_propagation(obj["metadata"], options.get("propagationPolicy"))
            graceful = resource.rules.grace_seconds(obj, asked) is not None
            if meta.finished(obj["metadata"]) and not _namespace_in_use(resource, obj):
                if graceful:  # seen by watches as a change, then as a deletion
                    obj = self._write(resource, key, obj, params)
                gone = self._remove(resource, key, params, obj if graceful else old)
                return gone if resource.returns_deleted else _deleted(resource, gone)
            if obj == old:
                return _as_version(old, resource)
            return self._write(resource, key, obj, params)

    @staticmethod
    def _mark(resource: Resource, obj: Object, asked: Optional[int]) -> None:
        """Set deletionTimestamp, or shorten the rest of an earlier deletion."""
        metadata = obj["metadata"]
        left = metadata.get("deletionGracePeriodSeconds")
        if metadata.get("deletionTimestamp"):
            if asked is not None and left is not None and asked < left:
                metadata["deletionTimestamp"] = _shift(metadata["deletionTimestamp"], asked - left)
                metadata["deletionGracePeriodSeconds"] = asked
            return
        grace = resource.rules.grace_seconds(obj, asked)
        if resource.kind == "Namespace":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = grace or 0
        metadata["deletionTimestamp"] = _shift(meta.now(), grace or 0)
        if resource.rules.has_generation:
            metadata["generation"] = metadata.get("generation", 0) + 1

    @staticmethod
    def _add_propagation(metadata: Object, policy: Optional[str]) -> None:
        """Foreground and Orphan wait for the garbage collector, which does not run here either."""
        finalizer = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(policy or "")
        if finalizer and finalizer not in metadata.get("finalizers", []):
            metadata["finalizers"] = [*metadata.get("finalizers", []), finalizer]

    def delete_collection(self, resource: Resource, namespace: str, options: Object, params: Params) -> Object:
        with self._store.lock:
            found = self.list(resource, namespace, params)
            for obj in found["items"]:
                key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
                self.delete(resource, key, options, params)
            return found

    def _check_preconditions(self, resource: Resource, key: Key, old: Object, wanted: Object) -> None:
        if wanted.get("uid") not in (None, old["metadata"]["uid"]):
            text = (
                f"the UID in the precondition ({wanted['uid']}) does not match the UID in record "
                f"({old['metadata']['uid']}). The object might have been deleted and then recreated"
            )
            raise errors.precondition_failed(resource, key[1], text)
        version = old["metadata"]["resourceVersion"]
        if wanted.get("resourceVersion") not in (None, version):
            text = (
                f"the ResourceVersion in the precondition ({wanted['resourceVersion']}) does not match the "
                f"ResourceVersion in record ({version}). The object might have been modified"
            )
            raise errors.precondition_failed(resource, key[1], text)

    # -- subresources of their own --------------------------------------------------------------

    def bind(self, resource: Resource, key: Key, body: Any, params: Params) -> Object:
        """POST pods/NAME/binding."""
        target = ((body or {}).get("target") or {}).get("name", "")
        with self._store.lock:
            pod = self._store.get(resource.id, key)
            if pod is None:
                raise errors.not_found(resource, key[1])
            if not target:
                binding = Resource("", "v1", "pods", "Binding", True, resource.rules)
                raise errors.invalid(binding, key[1], [errors.required("target.name")])
            if pod["metadata"].get("deletionTimestamp"):
                raise errors.conflict(_BINDINGS, key[1], f"pod {key[1]} is being deleted, cannot be assigned to a host")
            if pod["spec"].get("nodeName"):
                text = f'pod {key[1]} is already assigned to node "{pod["spec"]["nodeName"]}"'
                raise errors.conflict(_BINDINGS, key[1], text)
            if pod["spec"].get("schedulingGates"):
                text = f"pod {key[1]} has non-empty .spec.schedulingGates"
                raise errors.conflict(_BINDINGS, key[1], text)
            self._write(resource, key, pods.bind(pod, target), params)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    # -- helpers --------------------------------------------------------------------------------

    def _decode(self, resource: Resource, body: Any) -> Object:
        if not isinstance(body, dict):
            raise bad_request("couldn't get version/kind; json parse error")
        for key, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
            found = body.get(key)
            if not found and not resource.rules.typed:
                raise bad_request(f"the object provided is unrecognized: Object '{key}' is missing")
            if found and found != wanted:
                raise bad_request(
                    f"{key} in the data ({found}) does not match the expected {key} ({wanted})"
                )
        decoded = resource.rules.decode(body, resource.kind, resource.api_version)
        decoded["apiVersion"], decoded["kind"] = resource.api_version, resource.kind
        return {key: decoded[key] for key in ("apiVersion", "kind", *meta.without(decoded, "apiVersion", "kind"))}

    def _decode_patched(self, resource: Resource, key: Key, patched: Any) -> Object:
        if not resource.rules.typed and isinstance(patched, dict):
            for member, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
                found = patched.get(member)
                if found != wanted:
                    fault = errors.invalid_value(member, found, f"must be {wanted}")
                    kind = patched.get("kind") or ""
                    raise errors.invalid(replace(resource, kind=kind), key[1], [fault])
        try:
            return self._decode(resource, patched)
        except StatusError as error:
            raise errors.patched_undecodable(error.message) from None

    def _check_namespace(self, resource: Resource, namespace: str, obj: Object) -> None:
        given = obj["metadata"].get("namespace", "")
        if not resource.namespaced:
            obj["metadata"].pop("namespace", None)
            return
        if given and given != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        home = self._store.get("namespaces", ("", namespace))
        if home is None:
            raise errors.not_found(_NAMESPACES, namespace)
        if home["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            error = errors.forbidden(resource, obj["metadata"].get("name", ""), why)
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated", "field": "metadata.namespace"}
            error.details["causes"] = [cause]
            raise error

    @staticmethod
    def _check_identity(resource: Resource, key: Key, obj: Object) -> None:
        metadata = obj["metadata"]
        name = metadata.get("name", "")
        if not name:
            metadata["name"] = key[1]
        elif name != key[1]:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({key[1]})")
        if resource.namespaced and metadata.get("namespace", key[0]) != key[0]:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")

    def _write(self, resource: Resource, key: Key, obj: Object, params: Params) -> Object:
        if params.get("dryRun") == "All":
            return obj
        stored = self._store.put(resource.id, key, obj)
        if resource.id == registry.DEFINITIONS:
            self._registry.define(stored)
        return stored

    def _remove(self, resource: Resource, key: Key, params: Params, last: Object) -> Object:
        if params.get("dryRun") == "All":
            return last
        gone = self._store.remove(resource.id, key)
        if resource.id == registry.DEFINITIONS:
            self._registry.undefine(key[1])
        version = gone["metadata"]["resourceVersion"]
        return {**last, "metadata": {**last["metadata"], "resourceVersion": version}}

    def _replay_definitions(self) -> None:
        for definition in self._store.list(registry.DEFINITIONS, "")[0]:
            self._registry.define(definition)

    def create_initial(self, objects: List[Object]) -> None:
        """The objects of a server from the start, unless a journal restored them."""
        namespaces = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in NAMESPACES_FROM_THE_START
        ]
        for obj in [*namespaces, *objects]:
            for resource in self._registry.all():
                if (resource.kind, resource.api_version) == (obj["kind"], obj["apiVersion"]):
                    if self._store.get(resource.id, ("", obj["metadata"]["name"])) is None:
                        self.create(resource, "", obj, {})


_RULES = kinds.Kind({})
_NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False, _RULES)
_BINDINGS = Resource("", "v1", "pods/binding", "Binding", True, _RULES)


def _check_unknown(resource: Resource, body: Object, params: Params) -> None:
    """fieldValidation=Strict: unknown fields are refused instead of dropped."""
    if params.get("fieldValidation") != "Strict":
        return
    unknown = schema.unknown_fields(body, resource.rules.schema)
    if unknown:
        kind, listed = resource.kind, ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a {kind}: strict decoding error: {listed}'
        )


def _as_version(obj: Object, resource: Resource) -> Object:
    """The object in the version that was asked for (conversion strategy None)."""
    return obj if obj["apiVersion"] == resource.api_version else {**obj, "apiVersion": resource.api_version}


def _is_new_generation(obj: Object, old: Object) -> bool:
    ignored = ("metadata", "status", "apiVersion")
    return meta.without(obj, *ignored) != meta.without(old, *ignored)


def _namespace_in_use(resource: Resource, obj: Object) -> bool:
    return resource.kind == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))


def _deleted(resource: Resource, obj: Object) -> Object:
    details = {"name": obj["metadata"]["name"], "group": resource.group, "kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def _shift(stamp: str, seconds: int) -> str:
    moment = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return (moment + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _version(text: str) -> int:
    if not text.isdigit():
        why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: {why}")
    return int(text)


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
