"""The RayClusterAutoscaler: made for each managed RayCluster, its spec obeyed, its status true."""

import re
import shlex
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import pytest
import yaml

from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer, load_yaml
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.program import Controller
from rayscaler_e2e.scenario import hold, wait_at_rest
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
CRD_FILE = paths.CRD_DIR / "rayclusterautoscalers.rayscaler.dev.yaml"
DOCUMENT = paths.CRD_DIR.parent / "docs" / "AUTOSCALER_OBJECT.md"
RCA = "rayclusterautoscalers"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
REST = 5.0


def wanted(name: str = "demo", **spec: Any) -> Object:
    """As a user writes it beforehand."""
    metadata = {"name": name}
    return {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": metadata, "spec": spec}


def headless(name: str, *groups: Object, **spec: Any) -> Object:
    """A RayCluster of which the operator, should it run, makes nothing: it takes its spec for invalid."""
    obj = rayclusters.minimal(name, *groups, **spec)
    obj["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
    return obj


def condition(obj: Object, kind: str) -> Optional[Object]:
    found = [c for c in (obj.get("status") or {}).get("conditions") or [] if c["type"] == kind]
    return found[0] if found else None


def wait_status(get: Callable[[], Optional[Object]], true: Callable[[Object], Any], what: str, seconds: float = 20.0) -> Object:
    """The object, once ``true`` holds of its status."""

    def look() -> Optional[Object]:
        obj = get()
        return obj if obj and obj.get("status") and true(obj["status"]) else None

    return wait_until(look, seconds, f"status of the RayClusterAutoscaler: {what}")


def hold_version(get: Callable[[], Object], seconds: float) -> None:
    """Nothing is written while nothing changes: after at most as long, in which what was there before is written."""
    wait_at_rest(lambda: get()["metadata"]["resourceVersion"], seconds, f"the object at rest: {get()}")


def managers(obj: Object) -> Set[Tuple[str, str]]:
    """(manager, subresource) of the writers of fields."""
    return {(f["manager"], f.get("subresource", "")) for f in obj["metadata"].get("managedFields", [])}


@pytest.fixture
def server(api_server: ApiServer, namespace: str) -> Any:
    """Clients of the namespace as admin: ``server("rayclusters")``."""
    return lambda plural: api_server.admin.of(plural, namespace)


def put_in_place(autoscalers: Any) -> bool:
    """A user's object instead of the controller's, which makes a new one as soon as it sees that its own was deleted."""
    autoscalers.delete("demo")
    try:
        autoscalers.create(wanted(paused=True))
    except ApiError as error:
        assert error.status == 409, error
        return False
    return True


def test_object_of_each_managed_cluster(api_server, server, namespace, controller):
    clusters, autoscalers = server("rayclusters"), server(RCA)
    owner = clusters.create(headless("demo"))
    clusters.create(headless("by-hand", enableInTreeAutoscaling=False))
    log = controller(namespace)
    made = wait_status(lambda: autoscalers.find("demo"), lambda s: "head Pod" in s["message"], "written")
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "demo", "uid": owner["metadata"]["uid"]}
    ]
    assert made.get("spec", {}) == {}
    # Without Ray the status has the facts of the Pods, and that nothing else is known.
    status = made["status"]
    assert status["reason"] == "DemandUnavailable" and condition(made, "ScalingActive")["status"] == "False"
    assert status["observedGeneration"] == 1 and status["observedClusterGeneration"] == 1
    assert [g["name"] for g in status["groups"]] == ["workers"] and "running" not in status["gpus"]
    assert ("rayscaler", "status") in managers(made)
    hold_version(lambda: autoscalers.get("demo"), REST)
    assert autoscalers.find("by-hand") is None, "a cluster that is not managed gets no object"
    # A deleted one is made again; one made by a user is used as it is.
    wait_until(lambda: put_in_place(autoscalers), 10, "ours to be there before the controller's")
    paused = wait_status(lambda: autoscalers.find("demo"), lambda s: s["reason"] == "Paused", "paused")
    assert paused["spec"] == {"paused": True} and "ownerReferences" not in paused["metadata"]
    hold_version(lambda: autoscalers.get("demo"), 2)
    assert not log.find("cannot write")


def scheduled(**members):
    return wanted(schedules=[{"name": "office", "start": "0 8 * * *", "duration": "9h", **members}])


def test_wishes_that_the_schema_refuses(api_server, server):
    autoscalers = server(RCA)
    refused = {
        "spec.idleTimeoutSeconds": wanted(idleTimeoutSeconds=-1),
        "spec.upscalingMode": wanted(upscalingMode="Fast"),
        "spec.maxGPUs": wanted(maxGPUs="many"),
        "spec.paused": wanted(paused="true"),
        "spec.groups[0].name": wanted(groups=[{"idleTimeoutSeconds": 1}]),
        "spec.groups[1]": wanted(groups=[{"name": "a", "idleTimeoutSeconds": 1}] * 2),
        "a group without a setting": wanted(groups=[{"name": "a"}]),
        "set one of count and percentOfBusy": wanted(warmWorkers=[{"group": "a", "count": 1, "percentOfBusy": 1}]),
        "spec.warmWorkers[0].count": wanted(warmWorkers=[{"group": "a", "count": 0}]),
        "a schedule without a request": scheduled(),
        "spec.schedules[0].groups[0].minReplicas": scheduled(groups=[{"name": "a", "minReplicas": -1}]),
        "spec.schedules[0].groups[1]": scheduled(groups=[{"name": "a", "minReplicas": 1}] * 2),
        "spec.schedules[0].bundles": scheduled(bundles={"GPU": 1}),
        "spec.schedules[0].bundles[1]": scheduled(bundles=[{"GPU": 1}, {}]),
        "spec.schedules[0].bundles[0]": scheduled(bundles=["GPU"]),
        "spec.schedules[0].bundles: Too many": scheduled(bundles=[{"GPU": 1}] * 1001),
        "spec.schedules[0].warmWorkers[0].percentOfBusy": scheduled(warmWorkers=[{"group": "a", "percentOfBusy": 1001}]),
        "spec.schedules[0].warmWorkers[0]: Invalid value": scheduled(warmWorkers=[{"group": "a"}]),
    }
    for field, body in refused.items():
        with pytest.raises(ApiError) as error:
            autoscalers.create(body)
        assert error.value.status == 422 and field in error.value.message, (field, error.value.message)
    # As kubectl asks for it.
    answer = api_server.admin.request("POST", autoscalers.path(), wanted(puased=True), params={"fieldValidation": "Strict"})
    assert answer.status == 400 and 'unknown field "spec.puased"' in answer.body["message"]


def test_what_the_document_shows(api_server, server, namespace, kubectl):
    """docs/AUTOSCALER_OBJECT.md: its manifest and its commands; the words of a refusal."""
    text = DOCUMENT.read_text().replace("team-a", namespace)
    manifest = re.search(r"^```yaml\n(apiVersion.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
    kubectl.run("apply", "-f", "-", stdin=manifest)
    (patch,) = re.findall(r"^kubectl (patch rca .*)$", text, re.MULTILINE)
    kubectl.run(*shlex.split(patch))
    assert server(RCA).get("demo")["spec"] == {**yaml.safe_load(manifest)["spec"], "paused": True}
    fields = kubectl.run("explain", "rca.spec").stdout
    assert all(field in fields for field in ("groups", "idleTimeoutSeconds", "maxGPUs", "paused", "upscalingMode"))
    refusal = 'The RayClusterAutoscaler "demo" is invalid: spec.groups[0]: Invalid value: "object": a group without a setting; '
    refusal += "set one or remove the group"
    said = kubectl.run("patch", "rca", "demo", "-n", namespace, "--type", "merge", "-p", '{"spec": {"groups": [{"name": "a"}]}}', status=1)
    assert said.stderr.strip() == refusal
    misspelt = manifest.replace("maxGPUs", "maxGpus")
    said = kubectl.run("apply", "-f", "-", stdin=misspelt, status=1)
    assert 'unknown field "spec.maxGpus"' in said.stderr


def test_status_of_a_scaling(shared, controller, api_server, work_dir):
    one = shared([rm.gpu_group(maxReplicas=4), rm.group("cpu-group")], idle_seconds=2)
    log = controller(one.namespace)
    # The object of a test before may still be there, with its old status.
    summary = {"groups": "gpu-group 0/4, cpu-group 0/5", "gpus": "0/0/4"}
    rest = wait_status(one.autoscaler, lambda s: s["reason"] == "ReadyForNewScale" and s["summary"] == summary, "at rest")
    active = condition(rest, "ScalingActive")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        up = wait_status(one.autoscaler, lambda s: s["gpus"]["target"] == "1", "a target")
        group = up["status"]["groups"][0]
        assert group["targetReplicas"] == 1 and group["gpusPerWorker"] == "1"
        assert up["status"]["demand"][0] == {"name": "GPU", "amount": "1"} and up["status"]["gpus"]["pending"] == "1"
        program.ready("actors")
        up = wait_status(one.autoscaler, lambda s: s["summary"]["gpus"] == "1/1/4" and s.get("lastScaleTime"), "a GPU")
        group = up["status"]["groups"][0]
        assert group["replicas"] == 1 and group["pods"] == {"running": 1}
        assert group["lastScale"]["reason"] == "ScaleUpDemand" and group["lastScale"]["to"] == 1
        assert condition(up, "ScalingActive")["lastTransitionTime"] == active["lastTransitionTime"]
        # Demand that no worker can serve is reported.
        one.request('[{"GPU": 16}, {"GPU": 16}, {"GPU": 16}]')
        # The actor reports that it runs some 0.1 s before the GCS stops to report it as pending.
        told = "infeasible bundles, and no pending GPU"
        stuck = wait_status(one.autoscaler, lambda s: s["infeasible"] and s["gpus"]["pending"] == "0", told)["status"]
        assert stuck["reason"] == "NoGroupFits" and stuck["message"] == stuck["infeasible"][0]["message"]
        assert stuck["infeasible"][0]["count"] == 3 and stuck["infeasible"][0]["gpus"] == "48"
        assert stuck["requested"] == [{"source": "annotation", "count": 3, "bundle": {"GPU": "16"}}]
        (work_dir / "object.yaml").write_text(yaml.safe_dump(one.autoscaler(), sort_keys=False))
        assert print_table(api_server, one.namespace) <= 100
        cells = table_cells(api_server, one.namespace)
        assert cells["Groups"] == "gpu-group 1/4, cpu-group 0/5" and cells["GPUs"] == "1/1/4"
        assert cells["Pending"] == "0" and cells["Reason"] == "NoGroupFits" and cells["Age"]
        assert re.fullmatch(r"\d+s|\d+m.*", cells["Decided"])
        one.request(None)
        program.end()
    down = wait_status(one.autoscaler, lambda s: s["summary"]["gpus"] == "0/0/4", "back at 0", 60)
    assert down["status"]["groups"][0]["lastScale"]["to"] == 0
    one.wait_empty()
    wait_status(one.autoscaler, lambda s: s["reason"] == "ReadyForNewScale" and not s["groups"][0]["pods"], "at rest")
    hold_version(one.autoscaler, REST)
    # The RayCluster's status belongs to the operator: no right to it, and no trace.
    assert ("rayscaler", "status") not in managers(one.get())
    assert not log.find("cannot write")


def test_wishes_are_obeyed(shared, controller):
    one = shared([rm.gpu_group(maxReplicas=4)], idle_seconds=2)
    controller(one.namespace)
    wait_until(one.autoscaler, 20, "the RayClusterAutoscaler")
    one.configure(paused=True)
    wait_status(one.autoscaler, lambda s: s["reason"] == "Paused" and s["observedGeneration"] == 2, "paused")
    with one.program() as program:
        program.actors(2, num_gpus=1)
        hold(lambda: one.replicas() == 0, 3, "a paused cluster is left alone")
        one.configure(paused=False, maxGPUs=1)
        one.wait_joined(1)
        # Not at once: for a second and a half the actor that runs may be the one that Ray calls pending (core/decide/start_grace).
        limited = wait_status(one.autoscaler, lambda s: (s["summary"]["gpus"], s["reason"]) == ("1/1/1", "MaxGPUs"), "at it")
        assert condition(limited, "ScalingLimited")["status"] == "True"
        hold(lambda: one.replicas() == 1, 2, "maxGPUs holds")
        # The group's own timeout in the object wins over autoscalerOptions of the RayCluster (2 s).
        one.configure(maxGPUs=None, groups=[{"name": "gpu-group", "idleTimeoutSeconds": 600}])
        program.ready("actors")
        program.end()
    hold(lambda: one.replicas() == 2, 5, "idleTimeoutSeconds of the group counts")
    one.configure(groups=[{"name": "gpu-group", "idleTimeoutSeconds": 1}])
    one.wait_empty()


def test_warm_workers(shared, controller):
    """As docs/AUTOSCALER_OBJECT.md has it: work starts on the free worker, which is replaced, and one stays at the end."""
    text = DOCUMENT.read_text().split("## Warm workers")[1].split("```yaml\n")[1].split("```")[0]
    one = shared([rm.gpu_group(maxReplicas=3)], idle_seconds=2)
    controller(one.namespace)
    wait_until(one.autoscaler, 20, "the RayClusterAutoscaler")
    one.configure(**yaml.safe_load(text)["spec"])
    warm = one.wait_joined(1)
    group = wait_status(one.autoscaler, lambda s: s["groups"][0].get("lastScale"), "a scaling")["status"]["groups"][0]
    assert group["lastScale"]["reason"] == "ScaleUpWarmWorkers"
    with one.program() as program:
        started = time.monotonic()
        program.actors(1, num_gpus=1)
        program.ready("actors")
        print(f"the actor ran {time.monotonic() - started:.1f} s after it was submitted")
        hold(lambda: set(warm) <= set(one.wait_joined(2)), 3, "the warm worker is used, another one takes its place")
        program.end()
    one.wait_joined(1)
    hold(lambda: one.replicas() == 1, 5, "a free worker stays beyond its idle timeout")
    one.configure(warmWorkers=None)
    one.wait_empty()


def events_of(server: Any, reason: str) -> List[Object]:
    """Those on RayClusters: their RayClusterAutoscalers have the same (test_events.py)."""
    found = (e for e in server("events").items() if e["reason"] == reason)
    return [e for e in found if e["involvedObject"]["kind"] == "RayCluster"]


def lint_events(server: Any) -> List[Object]:
    return events_of(server, "LintFindings")


def test_a_cluster_that_cannot_be_read(api_server, server, namespace, controller, work_dir, artefacts):
    """Its user reads the reason and the field where its decisions are reported, and when it is corrected it is scaled."""
    clusters, autoscalers = server("rayclusters"), server(RCA)
    control = controller(namespace)
    clusters.create(headless("demo", rayclusters.group("cpu")))

    def reason(status: Object) -> str:
        found = [c for c in status.get("conditions", []) if c["type"] == "ScalingActive"]
        return found[0]["reason"] if found else ""

    def name_group(name: str) -> None:
        clusters.patch_merge("demo", {"spec": {"workerGroupSpecs": [rayclusters.group(name)]}})

    wait_status(lambda: autoscalers.find("demo"), lambda status: reason(status) == "DemandUnavailable", "a decision")
    for name in ("g\0", "h\0"):
        name_group(name)
    unreadable = wait_status(lambda: autoscalers.find("demo"), lambda status: reason(status) == "RayClusterUnreadable", "the reason")
    field = "spec.workerGroupSpecs[0].groupName: must be a string, is unreadable"
    assert field in condition(unreadable, "ScalingActive")["message"]

    def sent() -> List[Object]:
        return events_of(server, "RayClusterUnreadable")

    (event,) = wait_until(sent, 20, "an Event")
    assert event["type"] == "Warning" and field in event["message"]
    assert event["involvedObject"]["uid"] == clusters.get("demo")["metadata"]["uid"]
    cli = Cli(api_server, namespace, work_dir, system=namespace)
    artefacts.log("cli", cli.log)
    text = cli.run("status").stdout
    assert re.search(r"^demo +- .* RayClusterUnreadable$", text, re.MULTILINE), text
    control.wait_for("condition", "RayClusterUnreadable")
    assert len([line for line in control.find("condition") if "RayClusterUnreadable" in line.get("error", "")]) <= 1
    name_group("cpu")
    wait_status(lambda: autoscalers.find("demo"), lambda status: reason(status) == "DemandUnavailable", "the next decision")
    assert control.process.running()


def test_what_lint_finds(server, namespace, controller):
    """Rows C2, D4: one condition while there are findings, one Event for each set of them, also over a restart."""
    clusters, autoscalers = server("rayclusters"), server(RCA)
    shares = rayclusters.group("shares", {"cpu": "1", "aliyun.com/gpu-mem": 5}, maxReplicas=4)
    cluster = rayclusters.minimal("demo", shares)
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    clusters.create(cluster)
    log = controller(namespace)
    found = wait_status(lambda: autoscalers.find("demo"), lambda s: condition({"status": s}, "LintFindings"), "findings")
    said = condition(found, "LintFindings")
    assert said["status"] == "True" and said["reason"] == "LintWarnings"
    assert said["message"].startswith("1 warning (gpu-unknown-to-ray), first gpu-unknown-to-ray at spec.workerGroupSpecs[0]: ")
    # The head may land on a Node with GPUs and sees all of them: worth a note, and no Event.
    assert said["message"].endswith("; and 1 note")
    (event,) = wait_until(lambda: lint_events(server), 15, "an Event")
    assert event["type"] == "Warning" and event["involvedObject"]["name"] == "demo"
    assert said["message"].removesuffix("; and 1 note") in event["message"]
    hold_version(lambda: autoscalers.get("demo"), 3)
    # Mended in the line that lint names: nothing is left but the note.
    mend = [{"op": "add", "path": "/spec/workerGroupSpecs/0/rayStartParams", "value": {"num-gpus": "1"}}]
    clusters.patch_json("demo", mend)
    noted = wait_status(lambda: autoscalers.find("demo"), lambda s: s["observedClusterGeneration"] == 2, "mended")
    assert (condition(noted, "LintFindings")["reason"], condition(noted, "LintFindings")["status"]) == ("LintNotes", "False")
    # Another mistake is another Event.
    sidecar = {"name": "sidecar", "image": "example/tool", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    clusters.patch_json("demo", [{"op": "add", "path": "/spec/workerGroupSpecs/0/template/spec/containers/-", "value": sidecar}])
    wait_until(lambda: len(lint_events(server)) == 2, 15, "a second Event")
    latest = wait_status(lambda: autoscalers.find("demo"), lambda s: s["observedClusterGeneration"] == 3, "another finding")
    assert "gpu-in-second-container" in condition(latest, "LintFindings")["message"]
    # The next process finds in the object that the Event was sent.
    log.stop()
    controller(namespace).wait_for('"condition"', "Ray is unreachable", seconds=20)
    hold(lambda: [e["count"] for e in lint_events(server)] == [1, 1], 3, "no Event is repeated")


def test_without_the_definition(api_server, server, namespace, controller):
    crd = load_yaml(CRD_FILE)[0]
    definitions = api_server.admin.of("customresourcedefinitions")
    definitions.delete(crd["metadata"]["name"])
    try:
        path = "/apis/rayscaler.dev/v1alpha1"  # which GPUPools have too
        wait_until(lambda: api_server.admin.request("GET", f"{path}/{RCA}").status == 404, 30, "the definition to be gone")
        clusters = server("rayclusters")
        clusters.create(headless("demo", rayclusters.group("g", minReplicas=1)))
        log = controller(namespace)
        wait_until(lambda: clusters.get("demo")["spec"]["workerGroupSpecs"][0]["replicas"] == 1, 15, "scaling to go on")
        line = log.wait_for("RayClusterAutoscalers are not used")
        assert "crd/rayclusterautoscalers.rayscaler.dev.yaml" in line["error"]
    finally:
        definitions.create(crd)
        wait_until(lambda: api_server.admin.request("GET", f"{path}/{RCA}").status == 200, 30, "the definition")
    made = wait_status(lambda: server(RCA).find("demo"), lambda s: s["groups"], "after the definition came", 40)
    assert made["status"]["groups"][0]["replicas"] == 1
    log.wait_for("RayClusterAutoscalers are used now")
    assert len(log.find("RayClusterAutoscalers are not used")) <= 1


def test_without_the_right(server, namespace, controller):
    clusters = server("rayclusters")
    clusters.create(headless("demo", rayclusters.group("g", minReplicas=1)))
    log = controller(namespace, without=RCA)
    wait_until(lambda: clusters.get("demo")["spec"]["workerGroupSpecs"][0]["replicas"] == 1, 15, "scaling to go on")
    line = log.wait_for("RayClusterAutoscalers are not used")
    assert "list" in line["error"] and RCA in line["error"]
    assert server(RCA).find("demo") is None


def table_cells(api_server: ApiServer, namespace: str) -> Dict[str, Any]:
    """The first row of `kubectl get rca`."""
    table = get_table(api_server, namespace)
    return dict(zip((column["name"] for column in table["columnDefinitions"]), table["rows"][0]["cells"]))


def print_table(api_server: ApiServer, namespace: str) -> int:
    """`kubectl get rca`; returns its width."""
    table = get_table(api_server, namespace)
    shown = [i for i, column in enumerate(table["columnDefinitions"]) if column["priority"] == 0]
    lines = [[column["name"].upper() for column in table["columnDefinitions"]]]
    lines += [[str(cell) for cell in row["cells"]] for row in table["rows"]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = ["   ".join(line[i].ljust(widths[i]) for i in shown).rstrip() for line in lines]
    print("\n".join(texts))
    return max(len(text) for text in texts)


def get_table(api_server: ApiServer, namespace: str) -> Object:
    path = f"/apis/rayscaler.dev/v1alpha1/namespaces/{namespace}/{RCA}"
    answer = api_server.admin.request("GET", path, headers={"Accept": TABLE})
    assert answer.status == 200 and answer.body["kind"] == "Table", answer
    return answer.body
