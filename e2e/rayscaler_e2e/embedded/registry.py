"""The resources that are served: the built-in ones, and those of CustomResourceDefinitions."""

import time
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from . import kinds
from .kinds import BOOLEAN, DNS_LABEL_NAME, KEPT, KEPT_LIST, STRINGS, Kind, fields
from .pods import PodKind

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
BASE_FIELDS = ("metadata.name", "metadata.namespace")
INITIALIZING_SECONDS = 0.1
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Resource:
    """One resource in one version. ``rules`` has the rules of its kind."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    rules: Kind
    list_kind: str = ""
    singular: str = ""
    short_names: Tuple[str, ...] = ()
    categories: Tuple[str, ...] = ()
    subresources: FrozenSet[str] = frozenset()
    field_selectors: Tuple[str, ...] = BASE_FIELDS
    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    columns: Tuple[Tuple[str, str, str, int], ...] = ()
    empty_bookmark: Dict[str, Any] = field(default_factory=dict, hash=False, compare=False)

    @property
    def id(self) -> str:
        """The name of its objects in the store, the same for all versions."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified(self) -> str:
        """As messages name it."""
        return self.id

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def _core(plural: str, kind: str, rules: Kind, namespaced: bool = True, **more: Any) -> Resource:
    return _named(Resource("", "v1", plural, kind, namespaced, rules, **more))


def _named(resource: Resource) -> Resource:
    values = {**resource.__dict__}
    values["list_kind"] = resource.list_kind or resource.kind + "List"
    values["singular"] = resource.singular or resource.kind.lower()
    return Resource(**values)


def _built_in() -> List[Resource]:
    status = frozenset(("status",))
    rbac = "rbac.authorization.k8s.io"
    cluster_role, binding = kinds.RoleKind(), kinds.BindingKind()
    service_account = Kind(fields(secrets=KEPT_LIST, imagePullSecrets=KEPT_LIST, automountServiceAccountToken=BOOLEAN))
    config_map = Kind(fields(data=STRINGS, binaryData=STRINGS, immutable=BOOLEAN))
    with_status = fields(spec=KEPT, status=KEPT)
    return [
        _core(
            "namespaces", "Namespace", kinds.NamespaceKind(), False, short_names=("ns",),
            subresources=frozenset(("status", "finalize")), field_selectors=(*BASE_FIELDS, "status.phase", "name"),
        ),
        _core(
            "nodes", "Node", Kind(with_status, has_status=True), False, short_names=("no",), subresources=status,
            field_selectors=(*BASE_FIELDS, "spec.unschedulable"),
        ),
        _core(
            "pods", "Pod", PodKind(), short_names=("po",), categories=("all",),
            subresources=frozenset(("status", "binding", "proxy")), returns_deleted=True,
            field_selectors=(
                *BASE_FIELDS, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP",
                "status.podIPs", "status.nominatedNodeName",
            ),
            empty_bookmark={"spec": {"containers": None}, "status": {}},
        ),
        _core("secrets", "Secret", kinds.SecretKind(), field_selectors=(*BASE_FIELDS, "type")),
        _core("configmaps", "ConfigMap", config_map, short_names=("cm",)),
        _core(
            "services", "Service", Kind(with_status, DNS_LABEL_NAME, has_status=True), short_names=("svc",),
            categories=("all",), subresources=status, returns_deleted=True,
        ),
        _core(
            "serviceaccounts", "ServiceAccount", service_account, short_names=("sa",),
            subresources=frozenset(("token",)), returns_deleted=True,
        ),
        _core(
            "events", "Event", kinds.EventKind(), short_names=("ev",), create_on_update=True,
            field_selectors=(
                *BASE_FIELDS, "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
                "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
            ),
        ),
        _core(
            "resourcequotas", "ResourceQuota", Kind(with_status, has_status=True), short_names=("quota",),
            subresources=status, returns_deleted=True,
        ),
        _named(
            Resource("coordination.k8s.io", "v1", "leases", "Lease", True, kinds.LeaseKind(), create_on_update=True,
                     unconditional_update=False)
        ),
        _named(Resource(rbac, "v1", "roles", "Role", True, cluster_role, create_on_update=True)),
        _named(Resource(rbac, "v1", "rolebindings", "RoleBinding", True, binding, create_on_update=True)),
        _named(Resource(rbac, "v1", "clusterroles", "ClusterRole", False, cluster_role, create_on_update=True)),
        _named(Resource(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", False, binding, create_on_update=True)),
        _named(
            Resource(
                "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False,
                kinds.DefinitionKind(), short_names=("crd", "crds"), subresources=status, unconditional_update=False,
            )
        ),
    ]  # fmt: skip


def _custom(definition: Dict[str, Any]) -> List[Resource]:
    spec = definition["spec"]
    names = spec["names"]
    served = []
    for version in spec["versions"]:
        if version.get("served"):
            rules = kinds.CustomKind(version)
            served.append(
                Resource(
                    group=spec["group"],
                    version=version["name"],
                    plural=names["plural"],
                    kind=names["kind"],
                    namespaced=spec["scope"] == "Namespaced",
                    rules=rules,
                    list_kind=names.get("listKind") or names["kind"] + "List",
                    singular=names.get("singular") or names["kind"].lower(),
                    short_names=tuple(names.get("shortNames") or ()),
                    categories=tuple(names.get("categories") or ()),
                    subresources=frozenset(("status",)) if rules.has_status else frozenset(),
                    unconditional_update=False,
                    columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
                )
            )
    return served


def _column(column: Dict[str, Any]) -> Tuple[str, str, str, int]:
    return column["name"], column["type"], column["jsonPath"].lstrip("."), column.get("priority", 0)


class Registry:
    def __init__(self) -> None:
        self._built_in = _built_in()
        self._custom: Dict[str, List[Resource]] = {}
        self._first_use: Dict[str, float] = {}

    def define(self, definition: Dict[str, Any]) -> None:
        """Serve the resource of a CustomResourceDefinition, in place of its earlier version."""
        self._custom[definition["metadata"]["name"]] = _custom(definition)

    def undefine(self, name: str) -> None:
        self._custom.pop(name, None)

    def is_initializing(self, resource: Resource) -> bool:
        """Custom resources cannot be watched for a moment after their first use since the start of
        the server, as behind a real one."""
        if resource.rules.typed:
            return False
        now = time.monotonic()
        return now - self._first_use.setdefault(resource.id, now) < INITIALIZING_SECONDS

    def all(self) -> List[Resource]:
        return self._built_in + [one for served in list(self._custom.values()) for one in served]

    def find(self, group: str, version: str, plural: str) -> Optional[Resource]:
        for resource in self.all():
            if (resource.group, resource.version, resource.plural) == (group, version, plural):
                return resource
        return None
