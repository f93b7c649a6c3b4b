"""`rayscaler plan` on malformed input: refused or reported with the path, in bounded memory.

The limits are for the whole process, its parse tree included; a decision alone has 64 MiB.
"""

import json
import subprocess
import sys

import pytest

from rayscaler_e2e import paths

MIB = 1 << 20
HEAD = {"node:__internal_head__": 1}


def group(name="a", **fields):
    template = {"spec": {"containers": [{"name": "w", "resources": {"limits": {"cpu": "4"}}}]}}
    return {"groupName": name, "maxReplicas": 10, "template": template, **fields}


def snapshot(requests=(), groups=None, annotation=None, **members):
    metadata = {"name": "demo", "namespace": "default"}
    if annotation is not None:
        metadata["annotations"] = {"rayscaler.dev/request-resources": annotation}
    spec = {"enableInTreeAutoscaling": True, "workerGroupSpecs": groups or [group()]}
    node = {"nodeId": "AQ==", "status": "RUNNING", "totalResources": HEAD, "availableResources": HEAD}
    state = {"nodeStates": [node], "pendingResourceRequests": list(requests), **members.pop("state", {})}
    return {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": "2026-11-20T10:00:00Z",
        "rayCluster": {"metadata": metadata, "spec": spec},
        "rayState": state,
        **members,
    }


def request(bundle, count=1, **fields):
    return {"request": {"resourcesBundle": bundle, **fields}, "count": count}


def selector(key, value):
    return {"labelConstraints": [{"labelKey": key, "operator": "LABEL_OPERATOR_IN", "labelValues": [value]}]}


# Memory that a process held before exec counts as the program's, so a small one starts it.
MEASURED = """
import os, resource, sys
status = os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], {}), 0)[1])
sys.stderr.write(f"\\n{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}")
sys.exit(status)
"""


def plan(text, tmp_path):
    """Exit status, plan or None, standard error, and the most memory it held in MiB."""
    source = tmp_path / "snapshot"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    command = [str(paths.program()), "plan", "-o", "json", "-f", str(source)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", MEASURED, *command], capture_output=True, timeout=60, check=False
    )
    errors, kib = done.stderr.decode().rsplit("\n", 1)
    made = json.loads(done.stdout) if done.returncode == 0 else None
    return done.returncode, made, errors, int(kib) / 1024


def bomb():
    lines = ["a0: &a0 lol"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    return "\n".join(lines)


LONG = "x" * MIB

REFUSED = {
    "alias bomb": (bomb, "line 5, column", 16),
    "alias of itself": (lambda: "a: &a [*a]", "no anchor before this alias", 16),
    "deep JSON": (lambda: "[" * 1000000, "line 1, column 101: too deeply nested", 16),
    "deep YAML": (lambda: "\n".join(" " * i + "a:" for i in range(2000)), "too deeply nested", 16),
    "deep flow YAML": (lambda: "now: " + "[" * 100000, "too deeply nested", 16),
    "no text": (lambda: "", "is empty; it must have a Snapshot", 16),
    "bytes": (lambda: bytes(range(128, 256)) * 1000, "byte 0", 16),
    "too large": (lambda: " " * (65 * MIB), "has more than 67108864 bytes", 80),
    "two documents": (lambda: "a: 1\n---\nb: 2\n", "a second document", 16),
    "a member twice": (lambda: '{"now": "x", "now": "y"}', "now: is there twice", 16),
    "group name": (lambda: json.dumps(snapshot(groups=[group(LONG)])), "workerGroupSpecs[0].groupName: has 1048576 bytes", 24),
    "Pod name": (lambda: json.dumps(snapshot(pods=[{"metadata": {"name": LONG}}])), "pods[0].metadata.name: has 1048576 bytes", 24),
    "Pod twice": (lambda: json.dumps(snapshot(pods=[{"metadata": {"name": "p"}}] * 2)), "pods[1]: Pod p is in the list twice", 16),
    "groups": (lambda: json.dumps(snapshot(groups=[group(f"g{i}") for i in range(1001)])), "workerGroupSpecs: must not have more than 1000", 24),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name, tmp_path):
    text, says, mib = REFUSED[name]
    status, _, errors, held = plan(text(), tmp_path)
    assert status == 1
    assert says in errors and errors.count("\n") == 1
    assert held < mib


def amount(value):
    return lambda: json.dumps(snapshot([request({"CPU": value})]))


BUNDLE = "rayState.pendingResourceRequests[0].request.resourcesBundle.CPU: "
REPORTED = {
    "negative": (amount(-1), BUNDLE + "is negative"),
    "NaN": (amount("NaN"), BUNDLE + "is NaN"),
    "infinite": (amount("Infinity"), BUNDLE + "is infinite"),
    "1e300": (amount(1e300), BUNDLE + "is too large"),
    "quantity": (
        lambda: json.dumps(snapshot(groups=[group(resources={"CPU": "1e300"})])),
        "spec.workerGroupSpecs[0].resources.CPU",
    ),
    "replicas": (lambda: json.dumps(snapshot(groups=[group(replicas=-1)])), "workerGroupSpecs[0].replicas: must be 0"),
    "annotation": (lambda: json.dumps(snapshot(annotation="[" * 100000)), "annotation rayscaler.dev/request-resources"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_is_reported(name, tmp_path):
    text, says = REPORTED[name]
    status, made, errors, held = plan(text(), tmp_path)
    assert (status, errors) == (0, "")
    messages = [c["message"] for c in made["conditions"] if c["type"] == "InvalidRequest" and c["status"] == "True"]
    assert len(messages) == 1 and says in messages[0]
    assert made["patch"] == []
    assert held < 16


def test_launches_of_one_decision_are_bounded(tmp_path):
    given = snapshot([request({"CPU": 4}, str(2**62))], [group(maxReplicas=2147483647)])
    _, made, _, _ = plan(json.dumps(given), tmp_path)
    assert made["groups"][0]["targetReplicas"] == 100000
    assert [(entry["reason"], entry["count"]) for entry in made["unserved"]] == [("LaunchLimit", 2**62 - 100000)]


def test_worker_with_a_bad_amount_stays(tmp_path):
    worker = {"name": "w", "labels": {"ray.io/node-type": "worker", "ray.io/group": "a", "ray.io/cluster": "demo"}}
    idle = {"nodeId": "Ag==", "instanceId": "w", "status": "IDLE", "idleDurationMs": 600000, "totalResources": {"CPU": -4}}
    given = snapshot(groups=[group(replicas=1)], pods=[{"metadata": worker, "status": {"phase": "Running"}}])
    given["rayState"]["nodeStates"].append(idle)
    _, made, _, _ = plan(json.dumps(given), tmp_path)
    assert made["groups"][0]["toTerminate"] == []
    assert made["workers"][0]["reason"] == "StateUnknown"
    assert "nodeStates[1].totalResources.CPU: is negative" in made["workers"][0]["message"]


def many_shapes():
    return [request({"CPU": 1 + i % 7, f"r{i}": 1}) for i in range(100000)]


def cyclic_labels():
    """Selectors that ask for each other's labels, and for themselves."""
    return [
        request({"CPU": 1}, labelSelectors=[selector("a", "b"), selector("b", "a"), selector("a", "b")]),
        request({"CPU": 1}, labelSelectors=[selector("", "")], placementConstraints=[{"antiAffinity": {}}]),
        request({"CPU": 1}, placementConstraints=[{"affinity": {"labelName": "a", "labelValue": "a"}}] * 50),
    ]


LARGE = {
    "100,000 shapes": (lambda: snapshot(many_shapes()), 100000, 192),
    "empty bundles": (lambda: snapshot([request({}, 5)] * 1000), 0, 24),
    "no requests in 200,000 gangs": (lambda: snapshot(state={"pendingGangResourceRequests": [{}] * 200000}), 0, 64),
    "1 MiB resource name": (lambda: snapshot([request({LONG: 1})]), 1, 32),
    "1 MiB label": (lambda: snapshot([request({"CPU": 1}, labelSelectors=[selector(LONG, LONG)])]), 1, 32),
    "100,000 selectors": (
        lambda: snapshot([request({"CPU": 1}, labelSelectors=[selector(f"k{i}", "v") for i in range(100000)])]),
        1,
        192,
    ),
    "100,000 resources": (lambda: snapshot([request({f"r{i}": 1 for i in range(100000)})]), 1, 64),
    "huge count": (lambda: snapshot([request({"CPU": 4}, str(2**62))], [group(maxReplicas=2147483647)]), 0, 80),
    "1,000 groups": (lambda: snapshot([request({"CPU": 1}, 10**6)], [group(f"g{i}") for i in range(1000)]), 0, 32),
    "cyclic labels": (lambda: snapshot(cyclic_labels()), 2, 16),
    "memory of others": (
        lambda: snapshot(
            [request({"CPU": 1, f"m{i}": 0}) for i in range(20000)],
            memory={"backoffs": [{"group": "a", "until": "2026-11-20T10:00:05Z", "seconds": 10, "cause": "x", "message": LONG}]},
        ),
        0,
        96,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_is_planned_in_bounds(name, tmp_path):
    made, infeasible, mib = LARGE[name]
    status, made, errors, held = plan(json.dumps(made()), tmp_path)
    assert (status, errors) == (0, "")
    assert sum(entry["count"] for entry in made["infeasible"]) == infeasible
    assert all(len(entry["message"]) < 1000 for entry in made["infeasible"] + made["unserved"])
    assert all(len(item["message"]) < 2000 for item in made["groups"])
    assert held < mib
