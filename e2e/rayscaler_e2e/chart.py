"""The Helm chart as objects: the output of ``helm template`` for values."""

from typing import Any, Dict, List, Optional, Sequence

import yaml

from . import paths
from .tools import Tool

Object = Dict[str, Any]
CHART = paths.ROOT / "charts" / "rayscaler"
MANIFESTS = paths.ROOT / "charts" / "manifests"
NAMESPACE = "rayscaler-system"
RELEASE = "rayscaler"


def template(helm: Tool, values: Optional[Object] = None, namespace: str = NAMESPACE, more: Sequence[str] = ()) -> str:
    """The YAML text, of a chart that the values' schema accepts; ``more`` are arguments of helm."""
    words = ["template", RELEASE, CHART, "--namespace", namespace, "--values", "-", *more]
    return helm.run(*words, stdin=yaml.safe_dump(values or {})).stdout


def render(helm: Tool, values: Optional[Object] = None, namespace: str = NAMESPACE, more: Sequence[str] = ()) -> List[Object]:
    return [obj for obj in yaml.safe_load_all(template(helm, values, namespace, more)) if obj]


def refused(helm: Tool, values: Object) -> str:
    """The error of helm for values that it must refuse."""
    words = ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-"]
    return helm.run(*words, stdin=yaml.safe_dump(values), status=1).stderr


def of_kind(objects: List[Object], kind: str, name: str = "rayscaler") -> Optional[Object]:
    """The object of this kind and name, None when there is none."""
    found = [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    assert len(found) <= 1, f"{kind} {name} is rendered {len(found)} times"
    return found[0] if found else None


def container(objects: List[Object]) -> Object:
    deployment = of_kind(objects, "Deployment")
    assert deployment is not None
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only
