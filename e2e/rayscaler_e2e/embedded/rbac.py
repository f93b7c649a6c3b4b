"""Authorization by Role, ClusterRole and their bindings, and the policy that is there from the start."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List

from .store import Store

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
VERSION = f"{GROUP}/v1"


@dataclass
class User:
    name: str
    groups: List[str]


@dataclass
class Attributes:
    """The requested access. Without ``resource`` it is a path such as /version."""

    verb: str
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def allowed(store: Store, user: User, wanted: Attributes) -> bool:
    if MASTERS in user.groups:
        return True
    with store.lock:
        return any(_rule_allows(rule, wanted) for rule in _rules_of(store, user, wanted.namespace))


def refusal(user: User, wanted: Attributes) -> str:
    """The text of kube-apiserver for a forbidden request."""
    if not wanted.resource:
        return f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
    resource = wanted.resource + (f"/{wanted.subresource}" if wanted.subresource else "")
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    return (
        f'User "{user.name}" cannot {wanted.verb} resource "{resource}" '
        f'in API group "{wanted.group}" {where}'
    )


def _rules_of(store: Store, user: User, namespace: str) -> Iterator[Dict[str, Any]]:
    for binding in store.list(f"clusterrolebindings.{GROUP}", "")[0]:
        if _is_subject(binding, user, ""):
            yield from _role_rules(store, binding["roleRef"], "")
    if namespace:
        for binding in store.list(f"rolebindings.{GROUP}", namespace)[0]:
            if _is_subject(binding, user, namespace):
                yield from _role_rules(store, binding["roleRef"], namespace)


def _is_subject(binding: Dict[str, Any], user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or []:
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        where = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"system:serviceaccount:{where}:{name}":
            return True
    return False


def _role_rules(store: Store, ref: Dict[str, str], namespace: str) -> List[Dict[str, Any]]:
    if ref["kind"] == "ClusterRole":
        role = store.get(f"clusterroles.{GROUP}", ("", ref["name"]))
    else:
        role = store.get(f"roles.{GROUP}", (namespace, ref["name"]))
    return (role or {}).get("rules") or []


def _rule_allows(rule: Dict[str, Any], wanted: Attributes) -> bool:
    if not _has(rule.get("verbs"), wanted.verb):
        return False
    if not wanted.resource:
        return any(_path_matches(url, wanted.path) for url in rule.get("nonResourceURLs") or [])
    if not _has(rule.get("apiGroups"), wanted.group):
        return False
    resources = rule.get("resources") or []
    full = wanted.resource + (f"/{wanted.subresource}" if wanted.subresource else "")
    any_sub = f"*/{wanted.subresource}" if wanted.subresource else ""
    if not ("*" in resources or full in resources or (any_sub and any_sub in resources)):
        return False
    names = rule.get("resourceNames") or []
    return not names or wanted.name in names


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)


def _path_matches(url: str, path: str) -> bool:
    return url == path or (url.endswith("*") and path.startswith(url[:-1]))


def initial_objects() -> List[Dict[str, Any]]:
    """The default roles that clients rely on: discovery, health, and the ones for people."""
    open_paths = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    discovery = ["/api", "/api/*", "/apis", "/apis/*", *open_paths, "/openapi", "/openapi/*"]
    own_review = {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        "verbs": ["create"],
    }
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    return [
        *_role_for_groups("cluster-admin", everything, [MASTERS]),
        *_role_for_groups(
            "system:discovery", [{"nonResourceURLs": discovery, "verbs": ["get"]}], ["system:authenticated"]
        ),
        *_role_for_groups("system:basic-user", [own_review], ["system:authenticated"]),
        *_role_for_groups(
            "system:public-info-viewer",
            [{"nonResourceURLs": open_paths, "verbs": ["get"]}],
            ["system:authenticated", "system:unauthenticated"],
        ),
    ]


def _role_for_groups(name: str, rules: List[Dict[str, Any]], groups: List[str]) -> List[Dict[str, Any]]:
    subjects = [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups]
    return [
        {"apiVersion": VERSION, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": VERSION,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": subjects,
        },
    ]
