"""Lint refuses the Pods that kube-apiserver refuses, and says so of no other: each value of pod_forms.yaml is changed."""

import copy
import json
import subprocess
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e.kubeclient import ApiError

Object = Dict[str, Any]
FORMS: Dict[str, Object] = yaml.safe_load((paths.E2E / "tests" / "pod_forms.yaml").read_text())
AMOUNTS = {"cpu": "3", "memory": "50Gi"}
TEXTS = ["", "Bad Value!", "UPPER", "a/b", "/abs", "../up", "a" * 64, "a" * 254, "-1", "1", "a:b", "Unknown"]
NUMBERS = [-1, 0, 1, 512, 70_000, 3_000_000_000]
NAMES = ["Bad Value!", "", "a/b/c", "UPPER.com/x", "a" * 64]
MAPS = {"labels", "annotations", "nodeSelector", "matchLabels", "limits", "requests"}
# The server's words about what lint does not judge: the value of another field decides, or admission adds it.
NOT_JUDGED = [
    "container not found",  # an annotation of AppArmor
    "Total length of <volume name>:<iscsi.targetPortal>",
    "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
    "for block mode",
    "must not be specified when serviceAccountName is not set",
]


class Mutant(NamedTuple):
    path: Tuple[Any, ...]
    change: str
    template: Object


def template(form: Object) -> Object:
    ray = {"name": "ray-worker", "image": "rayproject/ray:2.60.0", "resources": {"limits": AMOUNTS, "requests": AMOUNTS}}
    more = form.get("spec", {})
    spec = {**more, "containers": [{**ray, **form.get("ray", {})}, *more.get("containers", [])[1:]]}
    return {"metadata": form.get("metadata", {}), "spec": spec}


def values(value: Any, path: Tuple[Any, ...] = ()) -> Iterator[Tuple[Tuple[Any, ...], Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*path, name), member
        yield from values(member, (*path, name))


def others(name: Any, value: Any) -> List[Any]:
    """Other values of its type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, str):
        return [text for text in TEXTS if text != value]
    if isinstance(value, int):
        return [number for number in NUMBERS if number != value]
    if isinstance(value, list):
        return [[], [*value, *copy.deepcopy(value[:1])]]
    return [{}, *({**value, other: "1"} for other in NAMES if name in MAPS)]


def mutants(right: Object) -> Iterator[Mutant]:
    yield Mutant((), "nothing", right)
    for path, value in values(right):
        if len(path) < 2 or path[1] == "containers" and path[-1] in ("containers", 0, "image", "resources"):
            continue
        for other in [None, *others(path[-1], value)]:
            changed = copy.deepcopy(right)
            at: Any = changed
            for name in path[:-1]:
                at = at[name]
            if other is None:
                del at[path[-1]]
            else:
                at[path[-1]] = other
            yield Mutant(path, "removed" if other is None else repr(other), changed)


def lint(all_of_them: List[Mutant], directory: Any) -> List[List[Object]]:
    """The errors of each."""
    example = yaml.safe_load((paths.ROOT / "examples" / "gpu.yaml").read_text())
    file, items = directory / "clusters.json", []
    for number, mutant in enumerate(all_of_them):
        cluster = copy.deepcopy(example)
        cluster["metadata"]["name"] = f"m{number}"
        cluster["spec"]["workerGroupSpecs"][0]["template"] = mutant.template
        items.append(cluster)
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = subprocess.run([str(paths.program()), "lint", "-o", "json", "-f", str(file)], capture_output=True, text=True, timeout=300)
    assert done.stderr == "", done.stderr
    found: Dict[str, List[Object]] = {}
    for one in json.loads(done.stdout):
        retired = "Kubernetes has no volumes" in one["message"]
        if one["severity"] == "error" or retired:
            found.setdefault(one["object"], []).append(one)
    return [found.get(f"RayCluster m{number}", []) for number in range(len(items))]


def refused(api_server: Any, namespace: str, right: Object) -> str:
    """The server's words; "": it takes the Pod."""
    pod = {"apiVersion": "v1", "kind": "Pod", **right, "metadata": {**right.get("metadata", {}), "generateName": "p-"}}
    try:
        api_server.admin.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod, params={"dryRun": "All"})
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.rotates
@pytest.mark.parametrize("form", FORMS)
def test_lint_and_the_server_agree(api_server, namespace, tmp_path, form):
    all_of_them = list(mutants(template(FORMS[form])))
    wrong = []
    for mutant, errors in zip(all_of_them, lint(all_of_them, tmp_path)):
        words = refused(api_server, namespace, mutant.template)
        # A server that does not know the other words of an init container's restartPolicy drops them.
        dropped = mutant.path[1:2] == ("initContainers",) and mutant.path[-1] == "restartPolicy"
        claims = [one["message"] for one in errors if "the API server refuses each Pod" in one["message"] and not dropped]
        where = f"{'.'.join(map(str, mutant.path))}: {mutant.change[:40]}"
        if words and not errors and not any(one in words for one in NOT_JUDGED):
            wrong.append(f"{where}: no error, and the server has {words[-200:]}")
        if claims and not words:
            wrong.append(f"{where}: the server takes it, and lint has {claims[0]}")
        if mutant.path == () and (words or any(one["severity"] == "error" for one in errors)):
            wrong.append(f"the form itself: {words} {errors}")
    assert not wrong, "\n".join(wrong)
