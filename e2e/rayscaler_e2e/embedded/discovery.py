"""Discovery, the first requests of clients: versions, groups, resources, health."""

from typing import Any, Dict, List, Optional

from .registry import VERBS, Registry

VERSION = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.4+embedded",
    "platform": "linux/amd64",
    "goVersion": "",
    "compiler": "",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "",
}
CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
SUBRESOURCE_VERBS = {
    "status": ["get", "patch", "update"],
    "finalize": ["update"],
    "token": ["create"],
    "binding": ["create"],
    "proxy": ["create", "delete", "get", "patch", "update"],
}
SUBRESOURCE_KINDS = {"token": "TokenRequest", "binding": "Binding", "proxy": "PodProxyOptions"}
REVIEWS = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "authorization.k8s.io/v1",
    "resources": [
        {
            "name": "selfsubjectaccessreviews",
            "singularName": "selfsubjectaccessreview",
            "namespaced": False,
            "kind": "SelfSubjectAccessReview",
            "verbs": ["create"],
        }
    ],
}


def answer(registry: Registry, path: str) -> Optional[Any]:
    """The body for a discovery or health path, text or JSON; None when it is neither."""
    path = path.rstrip("/")
    if path in ("/healthz", "/livez", "/readyz"):
        return "ok"
    if path == "/version":
        return VERSION
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        groups = [_group(name, versions) for name, versions in _groups(registry).items()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    parts = path.split("/")
    if path.startswith("/openapi/v3"):
        return _openapi(registry, path[len("/openapi/v3") :].lstrip("/"))
    if path == "/api/v1":
        return _resources(registry, "", "v1")
    if len(parts) == 3 and parts[1] == "apis" and parts[2] in _groups(registry):
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(parts[2], _groups(registry)[parts[2]])}
    if path == "/apis/authorization.k8s.io/v1":
        return REVIEWS
    if len(parts) == 4 and parts[1] == "apis" and parts[3] in _groups(registry).get(parts[2], []):
        return _resources(registry, parts[2], parts[3])
    return None


def _openapi(registry: Registry, group_version: str) -> Optional[Any]:
    """As much of OpenAPI v3 as kubectl reads to learn that this server validates fields itself."""
    paths: Dict[str, Dict[str, Any]] = {}
    for resource in registry.all():
        prefix = f"{'apis' if resource.group else 'api'}/{resource.api_version}"
        where = "/namespaces/{namespace}" if resource.namespaced else ""
        operation = {
            "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
            "x-kubernetes-group-version-kind": {
                "group": resource.group,
                "version": resource.version,
                "kind": resource.kind,
            },
        }
        paths.setdefault(prefix, {})[f"/{prefix}{where}/{resource.plural}/{{name}}"] = {"patch": operation}
    if not group_version:
        return {"paths": {prefix: {"serverRelativeURL": f"/openapi/v3/{prefix}"} for prefix in paths}}
    if group_version not in paths:
        return None
    info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths[group_version], "components": {"schemas": {}}}


def _groups(registry: Registry) -> Dict[str, List[str]]:
    groups: Dict[str, List[str]] = {"authorization.k8s.io": ["v1"]}
    for resource in registry.all():
        if resource.group:
            versions = groups.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
    return groups


def _group(name: str, versions: List[str]) -> Dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(registry: Registry, group: str, version: str) -> Dict[str, Any]:
    listed: List[Dict[str, Any]] = []
    for resource in registry.all():
        if (resource.group, resource.version) != (group, version):
            continue
        entry: Dict[str, Any] = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(VERBS if resource.rules.typed else CUSTOM_VERBS),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        listed.append(entry)
        for name in sorted(resource.subresources):
            listed.append(
                {
                    "name": f"{resource.plural}/{name}",
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    "kind": SUBRESOURCE_KINDS.get(name, resource.kind),
                    "verbs": SUBRESOURCE_VERBS[name],
                }
            )
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}
