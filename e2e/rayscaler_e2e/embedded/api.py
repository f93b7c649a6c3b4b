"""From a request to an answer: the user, the rights, the resource, the verb."""

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qsl, unquote

from . import discovery, proxy, rbac, selectors, table
from .auth import Authenticator
from .errors import StatusError, bad_request, forbidden, not_found
from .rbac import Attributes, User
from .registry import Registry, Resource
from .store import Store
from .verbs import Verbs
from .watch import Watch

ACCESS_REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PATCH_VERBS = {"PUT": "update", "PATCH": "patch"}


@dataclass
class Request:
    method: str
    path: str
    query: str
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    authorization: Optional[str] = None
    certificate: Optional[Dict[str, Any]] = None


@dataclass
class Answer:
    """``body`` is JSON, text when it is a str, or bytes; with ``watch`` it is a stream instead."""

    code: int = 200
    body: Any = None
    watch: Optional[Watch] = None
    as_table: Optional[Callable[[Any, bool], Any]] = None  # for the events of the watch
    content_type: str = ""  # of a body that is bytes: the answer of another server
    user: str = ""


@dataclass
class Target:
    """A path taken apart."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str
    params: Dict[str, str] = field(default_factory=dict)
    rest: str = ""  # of a proxy: the path beyond it, as it came


class Api:
    def __init__(self, store: Store, registry: Registry, verbs: Verbs, authenticator: Authenticator):
        self._store = store
        self._registry = registry
        self._verbs = verbs
        self._authenticator = authenticator

    def answer(self, request: Request) -> Answer:
        """Never raises for a cause that a client controls."""
        user = ""
        try:
            who = self._authenticator.user(request.authorization, request.certificate)
            user = who.name
            answer = self._answer(request, who)
        except StatusError as error:
            answer = Answer(error.code, error.body())
        answer.user = user
        return answer

    def _answer(self, request: Request, user: User) -> Answer:
        target = _parse(request)
        if target is None:
            return self._answer_path(request, user)
        if request.path == ACCESS_REVIEW:
            return self._review(request, user)
        resource = self._registry.find(target.group, target.version, target.plural)
        wanted = _attributes(request, target, resource)
        if not rbac.allowed(self._store, user, wanted):
            refused = resource or Resource(target.group, target.version, target.plural, "", True, None)  # type: ignore
            raise forbidden(refused, target.name, rbac.refusal(user, wanted))
        if resource is None or (target.subresource and target.subresource not in resource.subresources):
            if target.group and resource is None:
                return Answer(404, "404 page not found\n")
            details: Any = None if resource and not resource.rules.typed else {}
            raise StatusError(404, "the server could not find the requested resource", details=details)
        if resource.namespaced != bool(target.namespace) and (target.name or request.method != "GET"):
            raise StatusError(405, "the server does not allow this method on the requested resource", details={})
        return self._dispatch(request, target, resource, wanted.verb)

    def _answer_path(self, request: Request, user: User) -> Answer:
        wanted = Attributes(verb=request.method.lower(), path=request.path)
        if not rbac.allowed(self._store, user, wanted):
            raise StatusError(403, f"forbidden: {rbac.refusal(user, wanted)}", details={})
        body = discovery.answer(self._registry, request.path)
        if body is None:
            return Answer(404, "404 page not found\n")
        return Answer(200, body)

    def _dispatch(self, request: Request, target: Target, resource: Resource, verb: str) -> Answer:
        key = (target.namespace, target.name)
        params = target.params
        initializing = self._registry.is_initializing(resource)
        if target.subresource == "proxy":
            return self._proxy(request, target, resource)
        if target.subresource in ("binding", "token"):
            return self._post_subresource(request, target, resource)
        include = params.get("includeObject", "Metadata")
        as_table = table.wanted(request.accept)
        if verb == "get":
            obj = self._verbs.get(resource, key)
            return Answer(200, table.table(resource, obj, include) if as_table else obj)
        if verb == "watch":
            match = self._verbs.selector(resource, params)
            if initializing:
                text = "storage is (re)initializing"
                raise StatusError(429, text, "TooManyRequests", {"retryAfterSeconds": 1})
            answer = Answer(200, watch=Watch(self._store, resource, target.namespace, match, params))
            if as_table:
                answer.as_table = lambda obj, first: table.table(resource, obj, include, first)
            return answer
        if verb == "list":
            found = self._verbs.list(resource, target.namespace, params)
            return Answer(200, table.table(resource, found, include) if as_table else found)
        if verb == "create" and not target.name:
            return Answer(201, self._verbs.create(resource, target.namespace, _json(request), params))
        if verb == "update" and target.name:
            obj, created = self._verbs.update(resource, key, _json(request), params, target.subresource)
            return Answer(201 if created else 200, obj)
        if verb == "patch" and target.name and target.subresource != "finalize":
            kind = request.content_type.partition(";")[0].strip()
            obj = self._verbs.patch(resource, key, _json(request), kind, params, target.subresource)
            return Answer(200, obj)
        if verb in ("delete", "deletecollection") and not target.subresource:
            return self._delete(request, target, resource, verb)
        raise StatusError(405, "the server does not allow this method on the requested resource", details={})

    def _delete(self, request: Request, target: Target, resource: Resource, verb: str) -> Answer:
        options = _json(request) if request.body.strip() else {}
        if not isinstance(options, dict) or options.get("kind", "DeleteOptions") != "DeleteOptions":
            raise bad_request("the body of a DELETE must be DeleteOptions")
        if "gracePeriodSeconds" in target.params:
            try:
                options["gracePeriodSeconds"] = int(target.params["gracePeriodSeconds"])
            except ValueError:
                text = target.params["gracePeriodSeconds"]
                raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
        if "propagationPolicy" in target.params:
            options["propagationPolicy"] = target.params["propagationPolicy"]
        if verb == "deletecollection":
            return Answer(200, self._verbs.delete_collection(resource, target.namespace, options, target.params))
        key = (target.namespace, target.name)
        return Answer(200, self._verbs.delete(resource, key, options, target.params))

    def _proxy(self, request: Request, target: Target, resource: Resource) -> Answer:
        _, name, _ = proxy.split_name(target.name)
        pod = self._store.get(resource.id, (target.namespace, name))
        if pod is None:
            raise not_found(resource, name)
        path = f"/{target.rest}" + (f"?{request.query}" if request.query else "")
        code, kind, body = proxy.forward(pod, target.name, request.method, path, request.body, request.accept)
        return Answer(code, body, content_type=kind)

    def _post_subresource(self, request: Request, target: Target, resource: Resource) -> Answer:
        if request.method != "POST":
            raise StatusError(405, "the server does not allow this method on the requested resource", details={})
        key = (target.namespace, target.name)
        if target.subresource == "binding":
            return Answer(201, self._verbs.bind(resource, key, _json(request), target.params))
        account = self._store.get(resource.id, key)
        if account is None:
            raise not_found(resource, target.name)
        return Answer(201, self._authenticator.create_token(TOKEN_REQUEST, account, _json(request)))

    def _review(self, request: Request, user: User) -> Answer:
        review = _json(request)
        spec = review.get("spec") or {}
        asked = spec.get("resourceAttributes")
        if asked:
            wanted = Attributes(
                verb=asked.get("verb", ""),
                group=asked.get("group", ""),
                resource=asked.get("resource", ""),
                subresource=asked.get("subresource", ""),
                namespace=asked.get("namespace", ""),
                name=asked.get("name", ""),
            )
        else:
            path = spec.get("nonResourceAttributes") or {}
            wanted = Attributes(verb=path.get("verb", ""), path=path.get("path", ""))
        review.setdefault("metadata", {})
        review["status"] = {"allowed": rbac.allowed(self._store, user, wanted)}
        return Answer(201, review)


TOKEN_REQUEST = Resource(
    "authentication.k8s.io", "v1", "tokenrequests", "TokenRequest", True, None  # type: ignore[arg-type]
)


def _parse(request: Request) -> Optional[Target]:
    """None for a path that names no resource."""
    parts = [unquote(part) for part in request.path.strip("/").split("/")]
    if parts[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if not rest or not rest[0]:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    beyond = ""
    if len(rest) > 3:
        if rest[0] != "pods" or rest[2] != "proxy":
            return None
        beyond = request.path.split("/proxy/", 1)[1]
        rest = rest[:3]
    rest += [""] * (3 - len(rest))
    params = dict(parse_qsl(request.query, keep_blank_values=True))
    return Target(group, version, namespace, rest[0], rest[1], rest[2], params, beyond)


def _attributes(request: Request, target: Target, resource: Optional[Resource]) -> Attributes:
    name = target.name
    if request.method == "GET" and not name:
        watching = target.params.get("watch") in ("true", "1")
        verb = "watch" if watching else "list"
    elif request.method == "DELETE":
        verb = "delete" if name else "deletecollection"
    else:
        verbs = {"GET": "get", "POST": "create", **PATCH_VERBS}
        verb = verbs.get(request.method, request.method.lower())
    if not name and target.params.get("fieldSelector") and resource is not None:
        name = _selected_name(target.params["fieldSelector"], resource)
    namespace = target.namespace
    if target.plural == "namespaces" and not target.group:
        namespace = target.name
    return Attributes(
        verb=verb,
        group=target.group,
        resource=target.plural,
        subresource=target.subresource,
        namespace=namespace,
        name=name,
    )


def _selected_name(text: str, resource: Resource) -> str:
    try:
        return selectors.fields(text, resource)[1]
    except StatusError:
        return ""  # refused again, and answered, when the list is made


def _json(request: Request) -> Any:
    kind = request.content_type.partition(";")[0].strip()
    if kind not in ("", "application/json") and not kind.endswith("+json"):
        known: List[str] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
        text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
        raise StatusError(415, text)
    try:
        return json.loads(request.body)
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
