"""The embedded API server answers as kube-apiserver does: the same requests to both, compared."""

import copy
import itertools

import pytest

from conftest import server_of_session
from rayscaler_e2e import rayclusters
from rayscaler_e2e.kubeclient import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, KubeClient
from rayscaler_e2e.parity import Case, Step, differences, run
from rayscaler_e2e.real import ServerMissing

NS = "/api/v1/namespaces/{ns}"
PODS = NS + "/pods"
RC = "/apis/ray.io/v1/namespaces/{ns}/rayclusters"
MESSAGE = ("message", "details.causes.message")
_numbers = itertools.count(1)


def pod(name="p", **spec):
    body = {"containers": [{"name": "c", "image": "i:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def on_node(name="p", **spec):
    return pod(name, nodeName="n1", **spec)


def cluster(name="a", *groups, **spec):
    return rayclusters.minimal(name, *groups, **spec)


def group(**fields):
    return cluster("a", rayclusters.group("g", **fields))


def create(obj, **more):
    return Step("POST", PODS if obj["kind"] == "Pod" else RC, obj, **more)


def patch(path, operations, **more):
    return Step("PATCH", path, operations, content_type=JSON_PATCH, **more)


def merge(path, body, **more):
    return Step("PATCH", path, body, content_type=MERGE_PATCH, **more)


def changed(index, change):
    """The body of an earlier answer, changed by ``change``."""

    def make(bodies):
        obj = copy.deepcopy(bodies[index])
        change(obj)
        return obj

    return make


def from_list(bodies):
    """Watch parameters that continue from the list that was the first answer."""
    return {"resourceVersion": bodies[0]["metadata"]["resourceVersion"]}


def rc_case(name, *steps):
    return Case(name, [create(cluster()), *steps, Step("GET", RC + "/a")])


def pod_case(name, *steps, obj=None):
    return Case(name, [create(obj or on_node()), *steps, Step("GET", PODS + "/p")])


def refused_cluster(name, obj, **more):
    return Case(f"raycluster refused: {name}", [create(obj, **more)])


REPLICAS = "/spec/workerGroupSpecs/0/replicas"
STRATEGY = "/spec/workerGroupSpecs/0/scaleStrategy"

CREATE_AND_GET = [
    Case("raycluster create, get, list", [create(cluster()), Step("GET", RC + "/a"), Step("GET", RC)]),
    Case("raycluster v1alpha1", [
        Step("POST", RC.replace("v1", "v1alpha1", 1), {**cluster(), "apiVersion": "ray.io/v1alpha1"}),
        Step("GET", RC + "/a"), Step("GET", RC.replace("v1", "v1alpha1", 1)),
    ]),
    Case("create twice", [create(cluster()), create(cluster())]),
    Case("create pod twice", [create(pod()), create(pod())]),
    Case("get nothing", [Step("GET", RC + "/none"), Step("GET", PODS + "/none"), Step("GET", NS + "/secrets/none")]),
    Case("no such namespace", [
        Step("POST", "/api/v1/namespaces/none/pods", pod()), Step("GET", "/api/v1/namespaces/none/pods"),
        Step("POST", "/apis/ray.io/v1/namespaces/none/rayclusters", cluster()),
    ]),
    Case("no such resource", [
        Step("GET", "/apis/ray.io/v1/namespaces/{ns}/nothings", ignore=("message",)),
        Step("GET", "/apis/nothing.io/v1/things"), Step("GET", "/apis/ray.io/v9/rayclusters"), Step("GET", "/nothing"), Step("GET", NS + "/nothings"),
    ]),
    Case("discovery", [
        Step("GET", "/apis/ray.io/v1", ignore=("resources.storageVersionHash",)), Step("GET", "/apis/ray.io"),
        Step("GET", "/api", ignore=("serverAddressByClientCIDRs",)), Step("GET", "/readyz"),
    ]),
    Case("generateName", [create({**pod(), "metadata": {"generateName": "x-"}}, ignore=("metadata.name",))]),
    Case("no name", [
        create({**pod(), "metadata": {}}), create({**cluster(), "metadata": {}}),
    ]),
    Case("bad names", [create(cluster("A_b")), create(pod("A_b")), create(pod("x" * 254))]),
    Case("bad labels", [
        create({**cluster(), "metadata": {"name": "a", "labels": {"a b": "c"}}}, ignore=MESSAGE),
        create({**cluster(), "metadata": {"name": "a", "labels": {"a": "c d"}}}, ignore=MESSAGE),
    ]),
    Case("labels of a wrong type", [
        create({**cluster(), "metadata": {"name": "a", "labels": {"a": 1}}}, ignore=("message",)),
        create({**pod(), "metadata": {"name": "a", "labels": {"a": 1}}}, ignore=("message",)),
    ]),
    Case("namespace in the body", [
        create({**pod(), "metadata": {"name": "p", "namespace": "other"}}),
        create({**cluster(), "metadata": {"name": "p", "namespace": "other"}}),
    ]),
    Case("wrong kind", [
        Step("POST", PODS, cluster(), ignore=("message",)), Step("POST", RC, pod(), ignore=("message",)),
        Step("POST", RC, {"metadata": {"name": "a"}}, ignore=("message",)),
    ]),
    Case("bad bodies", [
        Step("POST", RC, b"{", ignore=("message",)), Step("POST", PODS, b"[]", ignore=("message",)),
        Step("POST", PODS, b"{}", content_type="text/html", ignore=("message",)),
    ]),
    Case("resourceVersion on create", [
        create({**pod(), "metadata": {"name": "p", "resourceVersion": "1"}}),
        create({**cluster(), "metadata": {"name": "p", "resourceVersion": "1"}}),
    ]),
    Case("methods that a path does not have", [
        Step("PUT", PODS, pod(), ignore=("message",)), Step("POST", PODS + "/p", pod(), ignore=("message",)),
        Step("PATCH", PODS, [], content_type=JSON_PATCH, ignore=("message",)),
    ]),
    Case("strict field validation", [
        create(cluster(unknown=1), params={"fieldValidation": "Strict"}),
        create(pod(unknown=1), params={"fieldValidation": "Strict"}),
        create({**pod(), "extra": 1}, params={"fieldValidation": "Strict"}),
        create(cluster(unknown=1), params={"fieldValidation": "Ignore"}),
        patch(RC + "/a", [{"op": "add", "path": "/spec/unknown", "value": 1}], params={"fieldValidation": "Strict"}, ignore=MESSAGE),
    ]),
    Case("dry run", [create(cluster(), params={"dryRun": "All"}), Step("GET", RC + "/a")]),
]  # fmt: skip

SCHEMA = [
    refused_cluster("replicas is a string", group(replicas="1")),
    refused_cluster("replicas is a fraction", group(replicas=1.5)),
    refused_cluster("replicas is a boolean", group(replicas=True)),
    refused_cluster("rayStartParams with a number", group(rayStartParams={"num-cpus": 1})),
    refused_cluster("workersToDelete is a string", group(scaleStrategy={"workersToDelete": "a"})),
    refused_cluster("workersToDelete with a number", group(scaleStrategy={"workersToDelete": ["a", 1]})),
    refused_cluster("resources with a number", group(resources={"CPU": 1})),
    refused_cluster("quantity", group(limits={"cpu": "3x"})),
    refused_cluster("quantity of a wrong type", group(limits={"cpu": [1]}), ignore=("message", "details.causes")),
    refused_cluster("no containers", group(template={"spec": {}})),
    refused_cluster("no groupName", cluster("a", {"template": {"spec": {"containers": [{"name": "c"}]}}})),
    refused_cluster("groups are an object", cluster(workerGroupSpecs={})),
    refused_cluster("no head", {**cluster(), "spec": {}}),
    refused_cluster("no spec", {key: value for key, value in cluster().items() if key != "spec"}),
    refused_cluster("spec is a string", {**cluster(), "spec": "x"}, ignore=MESSAGE),
    refused_cluster("upscalingMode", cluster(autoscalerOptions={"upscalingMode": "Fast"})),
    refused_cluster("managedBy", cluster(managedBy="me")),
    refused_cluster("enableInTreeAutoscaling is a string", cluster(enableInTreeAutoscaling="true")),
    refused_cluster("idleTimeoutSeconds is a string", cluster(autoscalerOptions={"idleTimeoutSeconds": "60"})),
    refused_cluster("two gates of one name", group(scaleStrategy={"scaleGate": [{"name": "x"}, {"name": "x"}]})),
    refused_cluster("two containers of one name", group(template={"spec": {"containers": [{"name": "c"}, {"name": "c"}]}})),
    refused_cluster("two ports of one number", group(template={"spec": {"containers": [
        {"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1}]}]}})),
    refused_cluster("two faults", group(replicas="1", minReplicas="2"), ignore=("message", "details.causes")),
    Case("raycluster accepted: odd but allowed", [
        create(group(replicas=None, maxReplicas=None, rayStartParams=None, scaleStrategy=None, unknown=1)),
        Step("DELETE", RC + "/a"),
        create(group(replicas=3000000000, minReplicas=-1, numOfHosts=0)),
        Step("DELETE", RC + "/a"),
        create(group(replicas=2.0)),
        Step("DELETE", RC + "/a"),
        create({**cluster(unknown={"a": 1}), "status": {"state": "ready"}, "extra": 1}),
        Step("DELETE", RC + "/a"),
        create(group(scaleStrategy={"scaleGate": [{"name": "x", "y": [1]}], "unknown": 1})),
    ]),
    Case("pod templates are kept", [
        create(group(template={
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {
                "containers": [{
                    "name": "w", "image": "i", "ports": [{"containerPort": 6379, "name": "gcs-server"}],
                    "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "500m"}, "claims": [{"name": "x"}]},
                    "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}, "env": [{"name": "A", "value": "b"}],
                }],
                "affinity": {"nodeAffinity": {}}, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "nodeSelector": {"x": "y"}, "someFutureField": {"a": [1, 2.5, None, True]},
            },
        })),
    ]),
]  # fmt: skip

PATCHES = [
    rc_case("patch replicas with guards", patch(RC + "/a", [
        {"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "workers"},
        {"op": "test", "path": REPLICAS, "value": 0},
        {"op": "add", "path": REPLICAS, "value": 2},
    ])),
    rc_case("a failed test refuses the whole patch", patch(RC + "/a", [
        {"op": "add", "path": REPLICAS, "value": 2},
        {"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "other"},
    ])),
    rc_case("a test of a number as a fraction", patch(RC + "/a", [{"op": "test", "path": REPLICAS, "value": 0.0}])),
    rc_case("a test of a number as text", patch(RC + "/a", [{"op": "test", "path": REPLICAS, "value": "0"}])),
    rc_case("a test of a number as false", patch(RC + "/a", [{"op": "test", "path": REPLICAS, "value": False}])),
    rc_case("a test of what is missing", patch(RC + "/a", [{"op": "test", "path": STRATEGY, "value": {}}])),
    rc_case("a test of what is missing against null", patch(RC + "/a", [{"op": "test", "path": STRATEGY, "value": None}])),
    rc_case("a test without value of what is there", patch(RC + "/a", [{"op": "test", "path": REPLICAS}])),
    rc_case("a test below what is missing", patch(RC + "/a", [{"op": "test", "path": STRATEGY + "/workersToDelete", "value": []}])),
    rc_case("a test of an index out of range", patch(RC + "/a", [{"op": "test", "path": "/spec/workerGroupSpecs/7", "value": 1}])),
    rc_case("a test of an object, in another order", patch(RC + "/a", [
        {"op": "test", "path": "/spec/workerGroupSpecs/0/template/spec/containers/0/resources",
         "value": {"limits": {"memory": "1Gi", "cpu": "1"}}},
    ])),
    rc_case("add below a missing parent", patch(RC + "/a", [
        {"op": "add", "path": STRATEGY + "/workersToDelete", "value": ["p"]},
    ])),
    rc_case("add the parent first", patch(RC + "/a", [
        {"op": "add", "path": STRATEGY, "value": {}},
        {"op": "add", "path": STRATEGY + "/workersToDelete", "value": ["p"]},
    ])),
    rc_case("replace what is missing", patch(RC + "/a", [{"op": "replace", "path": STRATEGY, "value": {"workersToDelete": ["p"]}}])),
    rc_case("replace below what is missing", patch(RC + "/a", [{"op": "replace", "path": STRATEGY + "/workersToDelete", "value": []}])),
    rc_case("replace an index out of range", patch(RC + "/a", [{"op": "replace", "path": "/spec/workerGroupSpecs/7/replicas", "value": 1}])),
    rc_case("add an index out of range", patch(RC + "/a", [{"op": "add", "path": "/spec/workerGroupSpecs/7", "value": {}}])),
    rc_case("add to what is no index", patch(RC + "/a", [{"op": "add", "path": "/spec/workerGroupSpecs/x", "value": {}}])),
    rc_case("remove what is missing", patch(RC + "/a", [{"op": "remove", "path": STRATEGY}])),
    rc_case("remove an index out of range", patch(RC + "/a", [{"op": "remove", "path": "/spec/workerGroupSpecs/7"}])),
    rc_case("remove a default", patch(RC + "/a", [{"op": "remove", "path": REPLICAS}])),
    rc_case("null for a default", patch(RC + "/a", [{"op": "add", "path": REPLICAS, "value": None}])),
    rc_case("append, move, copy", patch(RC + "/a", [
        {"op": "copy", "from": "/spec/workerGroupSpecs/0", "path": "/spec/workerGroupSpecs/-"},
        {"op": "replace", "path": "/spec/workerGroupSpecs/1/groupName", "value": "second"},
        {"op": "move", "from": "/spec/workerGroupSpecs/1", "path": "/spec/workerGroupSpecs/0"},
    ])),
    rc_case("copy from nowhere", patch(RC + "/a", [{"op": "copy", "from": "/x/y", "path": "/spec/z"}])),
    rc_case("move from nowhere", patch(RC + "/a", [{"op": "move", "from": "/x/y", "path": "/spec/z"}])),
    rc_case("keys with ~1 and ~0", patch(RC + "/a", [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/rayscaler.dev~1a", "value": "1"},
        {"op": "test", "path": "/metadata/annotations/rayscaler.dev~1a", "value": "1"},
        {"op": "add", "path": "/spec/headGroupSpec/rayStartParams/b~0c", "value": "1"},
    ])),
    rc_case("unknown operation", patch(RC + "/a", [{"op": "jump", "path": "/spec"}])),
    rc_case("operation without path", patch(RC + "/a", [{"op": "add", "value": 1}])),
    rc_case("a path without slash", patch(RC + "/a", [{"op": "add", "path": "spec", "value": 1}])),
    rc_case("a patch that is no list", patch(RC + "/a", {"op": "add"}, ignore=("message",))),
    rc_case("a patch that is no JSON", patch(RC + "/a", b"[", ignore=("message",))),
    rc_case("an empty patch changes nothing", patch(RC + "/a", [])),
    rc_case("a patch to the value that is there", patch(RC + "/a", [{"op": "add", "path": REPLICAS, "value": 0}])),
    rc_case("a patch to a wrong type", patch(RC + "/a", [{"op": "add", "path": REPLICAS, "value": "2"}])),
    rc_case("a patch of an unknown field", patch(RC + "/a", [{"op": "add", "path": "/spec/unknown", "value": "2"}])),
    rc_case("a patch of the name", patch(RC + "/a", [{"op": "replace", "path": "/metadata/name", "value": "b"}], ignore=("message",))),
    rc_case("a patch of the uid", patch(RC + "/a", [{"op": "replace", "path": "/metadata/uid", "value": "b"}], ignore=MESSAGE)),
    rc_case("a patch of an old resourceVersion", patch(RC + "/a", [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}])),
    rc_case("a test of the resourceVersion", patch(RC + "/a", lambda bodies: [
        {"op": "test", "path": "/metadata/resourceVersion", "value": bodies[0]["metadata"]["resourceVersion"]},
        {"op": "add", "path": REPLICAS, "value": 2},
    ])),
    rc_case("a patch of status is dropped", patch(RC + "/a", [{"op": "add", "path": "/status", "value": {"state": "ready"}}])),
    rc_case("merge patch", merge(RC + "/a", {"spec": {"suspend": True, "rayVersion": None}, "metadata": {"annotations": {"a": "b"}}})),
    rc_case("merge patch with an old resourceVersion", merge(RC + "/a", {"metadata": {"resourceVersion": "1"}, "spec": {"suspend": True}})),
    rc_case("merge patch replaces lists", merge(RC + "/a", {"spec": {"workerGroupSpecs": []}})),
    rc_case("merge patch that is a list", merge(RC + "/a", [], ignore=("message",))),
    rc_case("strategic merge of a custom resource", Step("PATCH", RC + "/a", {}, content_type=STRATEGIC_MERGE_PATCH, ignore=("message",))),
    rc_case("merge patch of kind", merge(RC + "/a", {"kind": "Pod"})),
    rc_case("merge patch of a label to a number", merge(RC + "/a", {"metadata": {"labels": {"a": 1}}}, ignore=MESSAGE)),
    pod_case("merge patch of a pod's label to a number", merge(PODS + "/p", {"metadata": {"labels": {"a": 1}}}, ignore=MESSAGE)),
    pod_case("merge patch of a pod's kind", merge(PODS + "/p", {"kind": "Secret"}, ignore=MESSAGE)),
    rc_case("patch of no known type", Step("PATCH", RC + "/a", {}, content_type="application/json", ignore=("message",))),
    Case("patch nothing", [patch(RC + "/a", []), patch(PODS + "/p", [])]),
    rc_case("status subresource", merge(RC + "/a/status", {"status": {"state": "ready"}, "spec": {"suspend": True}, "metadata": {"labels": {"a": "b"}}})),
    rc_case("status of a wrong type", merge(RC + "/a/status", {"status": {"state": 1}}, ignore=MESSAGE)),
    rc_case("status by PUT", Step("PUT", RC + "/a/status", changed(0, lambda obj: obj.update(status={"state": "ready", "desiredWorkerReplicas": 2})))),
    rc_case("no such subresource", Step("GET", RC + "/a/scale", ignore=("message", "details"))),
    pod_case("strategic merge of a pod", Step("PATCH", PODS + "/p/status", {
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]},
    }, content_type=STRATEGIC_MERGE_PATCH), Step("PATCH", PODS + "/p/status", {
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "X"}]},
    }, content_type=STRATEGIC_MERGE_PATCH)),
]  # fmt: skip

RCA = "/apis/rayscaler.dev/v1alpha1/namespaces/{ns}/rayclusterautoscalers"


def autoscaler(**spec):
    api_version = "rayscaler.dev/v1alpha1"
    return {"apiVersion": api_version, "kind": "RayClusterAutoscaler", "metadata": {"name": "a"}, "spec": spec}


def settings(name, **spec):
    return Case(f"rayclusterautoscaler: {name}", [Step("POST", RCA, autoscaler(**spec)), Step("GET", RCA + "/a")])


AUTOSCALERS = [
    settings("nothing wanted"),
    settings("all wanted", paused=False, idleTimeoutSeconds=0, upscalingMode="Conservative", maxGPUs=8,
         groups=[{"name": "a", "idleTimeoutSeconds": 5}, {"name": "b", "idleTimeoutSeconds": 0}]),
    settings("unknown field", puased=True, groups=[{"name": "a", "idleTimeoutSeconds": 1, "x": 1}]),
    settings("a group without a setting", groups=[{"name": "a", "x": 1}]),
    settings("a group without a setting and a negative timeout", idleTimeoutSeconds=-1, groups=[{"name": "a"}]),
    settings("a group without a setting and no such mode", upscalingMode="Fast", groups=[{"name": "a"}]),
    settings("negative timeout", idleTimeoutSeconds=-1),
    settings("timeout is a string", idleTimeoutSeconds="60"),
    settings("no such mode", upscalingMode="Fast"),
    settings("maxGPUs is a fraction", maxGPUs=1.5),
    settings("maxGPUs is a string", maxGPUs="8"),
    settings("negative maxGPUs", maxGPUs=-1),
    settings("paused is a string", paused="true"),
    settings("a group without name", groups=[{"idleTimeoutSeconds": 5}]),
    settings("a group of an empty name", groups=[{"name": ""}]),
    settings("a schedule without a request", schedules=[{"name": "a", "start": "0 8 * * *", "duration": "1h"}]),
    settings("a schedule with one of each", schedules=[{
        "name": "a", "start": "0 8 * * *", "duration": "1h", "bundles": [{"GPU": 1}],
        "warmWorkers": [{"group": "g", "count": 1}]}]),
    settings("a schedule with an empty bundle", schedules=[{
        "name": "a", "start": "0 8 * * *", "duration": "1h", "bundles": [{}]}]),
    settings("an unknown action of idle termination", idleTermination={"action": "Stop"}),
    settings("two groups of one name", groups=[{"name": "a", "idleTimeoutSeconds": 1}] * 2),
    Case("rayclusterautoscaler: a name that is no name", [
        Step("POST", RCA, {**autoscaler(), "metadata": {"name": "A_b"}}),
    ]),
    Case("rayclusterautoscaler: status", [
        Step("POST", RCA, {**autoscaler(paused=True), "status": {"reason": "x"}}),
        merge(RCA + "/a/status", {"spec": {"paused": False}, "status": {
            "reason": "Paused", "gpus": {"running": "1", "max": "4"}, "unknown": 1,
            "groups": [{"name": "g", "pods": {"running": 1, "unknown": 2}}],
            "conditions": [{"type": "ScalingActive", "status": "False", "lastTransitionTime": "2026-11-20T10:00:00Z"}]}}),
        merge(RCA + "/a/status", {"status": {"gpus": {"max": None}}}),
        merge(RCA + "/a/status", {"metadata": {"resourceVersion": "1"}, "status": {"reason": "x"}}),
        merge(RCA + "/a/status", lambda bodies: {
            "metadata": {"resourceVersion": bodies[2]["metadata"]["resourceVersion"]}, "status": {"reason": "y"}}),
        merge(RCA + "/a/status", {"status": {"conditions": [
            {"type": "ScalingActive", "status": "Maybe"}, {"type": "ScalingActive", "status": "True"}]}}, ignore=MESSAGE),
        merge(RCA + "/a/status", {"status": {"observedGeneration": "1"}}, ignore=MESSAGE),
        merge(RCA + "/a", {"status": {"reason": "z"}}),
        Step("GET", RCA + "/a"),
    ]),
    Case("rayclusterautoscaler: of a definition", [Step("GET", "/apis/rayscaler.dev/v1alpha1", ignore=("resources.storageVersionHash",))]),
]  # fmt: skip

UPDATES = [
    rc_case("update", Step("PUT", RC + "/a", changed(0, lambda obj: obj["spec"].update(suspend=True)))),
    rc_case("update with an old resourceVersion", patch(RC + "/a", [{"op": "add", "path": REPLICAS, "value": 1}]),
            Step("PUT", RC + "/a", changed(0, lambda obj: obj["spec"].update(suspend=True)))),
    rc_case("update without resourceVersion", Step("PUT", RC + "/a", cluster())),
    rc_case("update without change", Step("PUT", RC + "/a", changed(0, lambda obj: None))),
    rc_case("update of another name", Step("PUT", RC + "/b", changed(0, lambda obj: None), ignore=("message",))),
    rc_case("update of another uid", Step("PUT", RC + "/a", changed(0, lambda obj: obj["metadata"].update(uid="x")), ignore=("message",))),
    Case("update nothing", [Step("PUT", RC + "/a", cluster(), ignore=("message",)), Step("PUT", PODS + "/p", pod())]),
    pod_case("pod update without resourceVersion", merge(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})),
    pod_case("pod spec may not change", merge(PODS + "/p", {"spec": {"nodeName": "n2"}}, ignore=MESSAGE)),
    pod_case("pod image may change", patch(PODS + "/p", [{"op": "replace", "path": "/spec/containers/0/image", "value": "j:1"}])),
    pod_case("pod status by the main resource is dropped", merge(PODS + "/p", {"status": {"phase": "Running"}})),
    Case("secrets", [
        Step("POST", NS + "/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"auth_token": "x"}}),
        Step("GET", NS + "/secrets/s"),
        merge(NS + "/secrets/s", {"stringData": {"auth_token": "y"}}),
        merge(NS + "/secrets/s", {"data": {"auth_token": "%"}}, ignore=MESSAGE),
    ]),
    Case("pods/proxy", [
        Step("GET", PODS + "/http:none:8080/proxy/status"), Step("GET", PODS + "/a:b:c:d/proxy/"),
        create(pod()), Step("GET", PODS + "/http:p:8080/proxy/status", ignore=("message",)),
    ]),
    Case("leases", [
        Step("PUT", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l", {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
            "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
        Step("PUT", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l",
             changed(0, lambda obj: obj["spec"].update(holderIdentity="b"))),
        Step("PUT", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/l",
             changed(0, lambda obj: obj["spec"].update(holderIdentity="c"))),
        Step("POST", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "m"},
            "spec": {"leaseDurationSeconds": 0}}),
    ]),
    Case("events", [
        Step("POST", NS + "/events", lambda bodies: {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "ScaleDown", "message": "m", "type": "Normal",
            "involvedObject": {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "a"}}, ignore=("message",)),
        Step("GET", NS + "/events", params={"fieldSelector": "reason=ScaleDown"}),
    ]),
]  # fmt: skip

DELETES = [
    Case("delete raycluster", [create(cluster()), Step("DELETE", RC + "/a"), Step("GET", RC + "/a"), Step("DELETE", RC + "/a")]),
    Case("delete with a finalizer", [
        create({**cluster(), "metadata": {"name": "a", "finalizers": ["ray.io/x"]}}),
        Step("DELETE", RC + "/a"), Step("GET", RC + "/a"), Step("DELETE", RC + "/a"),
        merge(RC + "/a", {"metadata": {"finalizers": ["ray.io/x", "ray.io/y"]}}, ignore=("details.causes",)),
        merge(RC + "/a", {"metadata": {"finalizers": None}}), Step("GET", RC + "/a"),
    ]),
    Case("bad finalizer", [create({**cluster(), "metadata": {"name": "a", "finalizers": ["x y"]}}, ignore=MESSAGE)]),
    Case("delete with preconditions", [
        create(pod()),
        Step("DELETE", PODS + "/p", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "x"}}),
        Step("DELETE", PODS + "/p", lambda b: {"kind": "DeleteOptions", "apiVersion": "v1",
             "preconditions": {"uid": b[0]["metadata"]["uid"]}}),
        Step("GET", PODS + "/p"),
    ]),
    Case("delete raycluster with preconditions", [
        create(cluster()),
        Step("DELETE", RC + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "x"}}),
        Step("DELETE", RC + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": "1"}}, ignore=("message",)),
    ]),
    Case("delete a pod without node: gone at once", [create(pod()), Step("DELETE", PODS + "/p"), Step("GET", PODS + "/p")]),
    Case("delete a pod on a node: graceful", [
        create(on_node()), Step("DELETE", PODS + "/p"), Step("GET", PODS + "/p"), Step("DELETE", PODS + "/p"),
        Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 50}),
        Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 5}),
        Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 0}), Step("GET", PODS + "/p"),
    ]),
    Case("delete a pod on a node at once", [
        create(on_node()), Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 0}), Step("GET", PODS + "/p"),
    ]),
    Case("delete a failed pod: gone at once", [
        create(on_node()), merge(PODS + "/p/status", {"status": {"phase": "Failed"}}),
        Step("DELETE", PODS + "/p"), Step("GET", PODS + "/p"),
    ]),
    Case("pod with finalizer", [
        create({**on_node(), "metadata": {"name": "p", "finalizers": ["a.b/c"]}}),
        Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 0}),
        merge(PODS + "/p", {"metadata": {"finalizers": []}}), Step("GET", PODS + "/p"),
    ]),
    Case("delete in the foreground waits for a collector", [
        create(cluster()), Step("DELETE", RC + "/a", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}),
        Step("GET", RC + "/a"),
    ]),
    Case("delete a collection", [
        create(pod("p")), create({**pod("q"), "metadata": {"name": "q", "labels": {"a": "b"}}}),
        Step("DELETE", PODS, params={"labelSelector": "a=b"}), Step("GET", PODS),
    ]),
    Case("delete config map and service account", [
        Step("POST", NS + "/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b"}}),
        Step("DELETE", NS + "/configmaps/m"),
        Step("POST", NS + "/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}}),
        Step("DELETE", NS + "/serviceaccounts/s"),
    ]),
    Case("a namespace that ends", [
        Step("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ends"}}),
        Step("DELETE", "/api/v1/namespaces/ends"),
        Step("POST", "/api/v1/namespaces/ends/pods", pod()),
        Step("PUT", "/api/v1/namespaces/ends/finalize", changed(1, lambda obj: obj["spec"].update(finalizers=[]))),
        Step("GET", "/api/v1/namespaces/ends"),
    ]),
]  # fmt: skip

RUNNING = {"phase": "Running", "podIP": "127.0.0.9", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
    {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}  # fmt: skip
ENDED = {"containerStatuses": [{**RUNNING["containerStatuses"][0], "ready": False, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}
LIMITS = {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": 1}

PODS_OF_KINDS = [
    Case("pod create", [
        create(pod(restartPolicy="Never", containers=[{"name": "c", "image": "i:1", "resources": {"limits": LIMITS},
                   "ports": [{"containerPort": 6379, "name": "gcs-server"}], "env": [{"name": "A", "value": ""}]}])),
        Step("GET", PODS + "/p"), Step("GET", PODS),
    ]),
    Case("pod of a service account, with unknown fields", [
        create(pod(serviceAccountName="s", unknown=1, containers=[{"name": "c", "image": "i:1", "unknown": 1,
                   "resources": {"limits": {}, "unknown": 1}, "env": [{"name": "A", "value": "b", "unknown": 1}]}])),
    ]),
    Case("pod with requests only", [create(pod(containers=[
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}, {"name": "d", "image": "i:latest"}]))]),
    Case("pods refused", [
        create(pod(containers=[])),
        create(pod(containers=[{"name": "c"}])),
        create(pod(containers=[{"image": "i"}])),
        create(pod(containers=[{"name": "C", "image": "i"}])),
        create(pod(containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "i"}])),
        create(pod(restartPolicy="Sometimes")),
        create(pod(containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 0}]}])),
        create(pod(containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 70000}]}])),
        create(pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "500m"}}}]), ignore=MESSAGE),
        create(pod(containers=[{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": 1}}}]), ignore=MESSAGE),
        create(pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "-1"}}}]), ignore=MESSAGE),
        create(pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"cpu": "x"}}}]), ignore=("message",)),
        create(pod(containers=[{"name": "c", "image": "i", "resources": {"limits": {"gpu": "1"}}}]), ignore=("message", "details.causes")),
        create({**pod(), "spec": {"containers": "c"}}, ignore=("message",)),
        create(pod(nodeName="n", schedulingGates=[{"name": "a/b"}]), ignore=MESSAGE),
        create({**pod(), "metadata": {"name": "p", "ownerReferences": [{"kind": "RayCluster"}]}}, ignore=MESSAGE),
    ]),
    Case("pod with an owner", [create({**pod(), "metadata": {"name": "p", "ownerReferences": [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "a", "uid": "u", "controller": True, "blockOwnerDeletion": True}]}})]),
    pod_case("kubelet's status", merge(PODS + "/p/status", {"status": RUNNING}),
             merge(PODS + "/p/status", {"status": ENDED}), obj=on_node(restartPolicy="Never")),
    pod_case("an ended container does not run again (Never)", merge(PODS + "/p/status", {"status": ENDED}),
             merge(PODS + "/p/status", {"status": RUNNING}, ignore=MESSAGE), obj=on_node(restartPolicy="Never")),
    pod_case("an ended container runs again (Always)", merge(PODS + "/p/status", {"status": ENDED}),
             merge(PODS + "/p/status", {"status": RUNNING}), obj=on_node()),
    pod_case("status with a wrong address", merge(PODS + "/p/status", {"status": {"podIP": "x", "podIPs": [{"ip": "x"}]}}, ignore=MESSAGE)),
    pod_case("status leaves spec and owners", merge(PODS + "/p/status", {"spec": {"nodeName": "n2"}, "metadata": {"labels": {"x": "y"}}})),
    pod_case("binding", Step("POST", PODS + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
             "target": {"kind": "Node", "name": "n1"}}),
             Step("POST", PODS + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
             "target": {"kind": "Node", "name": "n2"}}), obj=pod()),
    pod_case("gates", Step("POST", PODS + "/p/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"},
             "target": {"kind": "Node", "name": "n1"}}, ignore=("message", "code", "details", "reason")),
             merge(PODS + "/p", {"spec": {"schedulingGates": [{"name": "a/b"}, {"name": "c/d"}]}}, ignore=MESSAGE),
             merge(PODS + "/p", {"spec": {"schedulingGates": None}}), obj=pod(schedulingGates=[{"name": "a/b"}])),
    Case("nodes", [
        Step("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "parity"}}, ignore=("spec", "status", "metadata")),
        merge("/api/v1/nodes/parity/status", {"status": {"capacity": {"cpu": "4"}}}, ignore=("spec", "status.allocatable", "status.daemonEndpoints", "status.nodeInfo", "metadata")),
        Step("DELETE", "/api/v1/nodes/parity"),
    ]),
]  # fmt: skip

LISTS = [
    Case("list with selectors", [
        create({**pod("a"), "metadata": {"name": "a", "labels": {"x": "1", "ray.io/cluster": "demo"}}}),
        create({**pod("b"), "metadata": {"name": "b", "labels": {"x": "2"}}}),
        create(pod("c")),
        *[Step("GET", PODS, params={"labelSelector": text}) for text in
          ("x=1", "x!=1", "x in (1,2)", "x notin (1)", "x", "!x", "x,x!=2", "ray.io/cluster=demo", "x==1")],
        *[Step("GET", PODS, params={"labelSelector": text}, ignore=("message",)) for text in ("x=", "=x", "a b", "x in", "x=a b", "(x)")],
        Step("GET", PODS, params={"fieldSelector": "metadata.name=b"}),
        Step("GET", PODS, params={"fieldSelector": "metadata.name!=b,status.phase=Pending"}),
        Step("GET", PODS, params={"fieldSelector": "spec.nothing=b"}),
        Step("GET", RC, params={"fieldSelector": "spec.suspend=true"}, ignore=("message",)),
        Step("GET", PODS, params={"fieldSelector": "x"}, ignore=("message",)),
    ]),
    Case("paging", [
        *[create(cluster(name)) for name in ("a", "b", "c", "d", "e")],
        Step("GET", RC, params={"limit": 2}),
        Step("GET", RC, lambda b: None, params={"limit": 2, "labelSelector": "!none"}),
        Step("DELETE", RC + "/e"),
    ]),
    Case("bad continue", [
        Step("GET", RC, params={"continue": "x", "limit": 2}, ignore=("message",)),
        Step("GET", PODS, params={"limit": "x"}, ignore=("message",)),
        Step("GET", PODS, params={"resourceVersion": "x"}, ignore=MESSAGE + ("details",)),
    ]),
    Case("a list not older than the future", [
        Step("GET", PODS, params={"resourceVersion": "999999999", "resourceVersionMatch": "NotOlderThan"}, ignore=MESSAGE + ("details.causes",)),
    ]),
    Case("list of all namespaces", [Step("GET", "/apis/ray.io/v1/rayclusters", params={"fieldSelector": "metadata.name=none"})]),
]  # fmt: skip

WATCHES = [
    Case("watch from a version", [
        Step("GET", RC), create(cluster()), patch(RC + "/a", [{"op": "add", "path": REPLICAS, "value": 1}]),
        merge(RC + "/a/status", {"status": {"state": "ready"}}), Step("DELETE", RC + "/a"),
        Step("GET", RC, watch=4, params=from_list),
    ]),
    Case("watch pods by label", [
        Step("GET", PODS), create(pod()), merge(PODS + "/p", {"metadata": {"labels": {"a": "b"}}}),
        merge(PODS + "/p", {"metadata": {"labels": {"c": "d"}}}), merge(PODS + "/p", {"metadata": {"labels": {"a": None}}}),
        Step("GET", PODS, watch=3, params=lambda bodies: {"labelSelector": "a=b", **from_list(bodies)}),
    ]),
    Case("watch from nothing shows what is there", [
        create(cluster("b")), create(cluster("a")), Step("GET", RC, watch=2), Step("GET", RC, watch=2, params={"resourceVersion": "0"}),
    ]),
    Case("watch pods come and go", [
        Step("GET", PODS), create(on_node()), Step("DELETE", PODS + "/p"), Step("DELETE", PODS + "/p", params={"gracePeriodSeconds": 0}),
        create(on_node("q")), Step("DELETE", PODS + "/q", params={"gracePeriodSeconds": 0}),
        create({**on_node("r"), "metadata": {"name": "r", "finalizers": ["a.b/c"]}}),
        Step("DELETE", PODS + "/r", params={"gracePeriodSeconds": 0}), merge(PODS + "/r", {"metadata": {"finalizers": []}}),
        create(pod("s")), Step("DELETE", PODS + "/s"), Step("GET", PODS, watch=13, params=from_list),
    ]),
    Case("watch one name", [
        create(cluster("b")), create(cluster("a")), Step("GET", RC, watch=1, params={"fieldSelector": "metadata.name=a"}),
    ]),
    Case("watch that ends by time", [Step("GET", RC, watch=9, params={"timeoutSeconds": 1, "resourceVersion": "0"})]),
    Case("bad watches", [
        Step("GET", RC, params={"watch": True, "resourceVersion": "x"}, ignore=MESSAGE + ("details",)),
        Step("GET", RC, params={"watch": True, "timeoutSeconds": "x"}, ignore=("message",)),
        Step("GET", RC, params={"watch": True, "labelSelector": "(x)"}, ignore=("message",)),
    ]),
]  # fmt: skip

RIGHTS = [
    Case("no rights", [
        Step("GET", PODS, user="nobody"), Step("GET", PODS + "/p", user="nobody"), Step("GET", RC, user="nobody"),
        Step("GET", RC, user="nobody", params={"watch": True}), Step("POST", PODS, pod(), user="nobody"),
        Step("DELETE", RC + "/a", user="nobody"), Step("DELETE", RC, user="nobody"), Step("GET", "/api/v1/nodes", user="nobody"),
        Step("GET", "/api/v1/nodes/n", user="nobody"), patch(RC + "/a/status", [], user="nobody"),
        Step("GET", "/api/v1/namespaces/{ns}", user="nobody"), Step("GET", "/metrics", user="nobody"),
        Step("GET", "/version", user="nobody", ignore=("major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate",
             "goVersion", "compiler", "platform", "emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")),
        Step("GET", "/apis/ray.io/v1", user="nobody", ignore=("resources",)),
    ]),
    Case("no token and a wrong token", [
        Step("GET", PODS, user="none"), Step("GET", "/readyz", user="none"), Step("GET", "/apis", user="none"),
        Step("GET", PODS, user="wrong"), Step("GET", "/readyz", user="wrong"),
    ]),
    Case("rights by name", [
        Step("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"},
            "rules": [{"apiGroups": ["ray.io"], "resources": ["rayclusters"], "resourceNames": ["a"], "verbs": ["get", "watch", "list"]},
                      {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]}]}),
        Step("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "r"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "User", "name": "bench-nobody", "apiGroup": "rbac.authorization.k8s.io"}]}),
        create(cluster()), create(cluster("b")), create(pod()),
        Step("GET", RC + "/a", user="nobody"), Step("GET", RC + "/b", user="nobody"), Step("GET", RC, user="nobody"),
        Step("GET", RC, user="nobody", params={"fieldSelector": "metadata.name=a"}),
        merge(PODS + "/p/status", {"status": {"phase": "Running"}}, user="nobody"),
        merge(PODS + "/p", {"metadata": {"labels": {"a": "b"}}}, user="nobody"),
    ]),
    Case("roles refused", [
        Step("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}, "rules": [{"verbs": ["get"]}]}),
    ]),
    Case("tokens", [
        Step("POST", NS + "/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}}),
        Step("POST", NS + "/serviceaccounts/s/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": 600}}, ignore=("status.token", "spec.boundObjectRef")),
        Step("POST", NS + "/serviceaccounts/s/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": 60}}),
        Step("POST", NS + "/serviceaccounts/none/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    ]),
    Case("may I", [
        Step("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "list", "group": "ray.io", "resource": "rayclusters"}}},
            user="nobody", ignore=("status.reason",)),
    ]),
]  # fmt: skip

CASES = [*CREATE_AND_GET, *SCHEMA, *PATCHES, *AUTOSCALERS, *UPDATES, *DELETES, *PODS_OF_KINDS, *LISTS, *WATCHES, *RIGHTS]


@pytest.fixture(scope="module")
def pair():
    """(real, embedded), each with its clients by user."""
    try:
        servers = [server_of_session("real"), server_of_session("embedded")]
    except ServerMissing as missing:
        pytest.skip(str(missing))
    made = []
    for server in servers:
        clients = {
            "admin": server.admin,
            "nobody": server.client(server.tokens["bench-nobody"]),
            "none": KubeClient(server.url, server.ca_file),
            "wrong": server.client("wrong"),
        }
        made.append((server, clients))
    return made


# All other tests run on the real one; the demo (stage quickstart) on the embedded one.
@pytest.mark.test_all
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_answers(case: Case, pair):
    namespace = f"parity-{next(_numbers)}"
    traces = []
    for server, clients in pair:
        server.create_namespace(namespace)
        traces.append(run(case, namespace, clients))
    # Other tests share the servers: the kubelet stand-in would try to run objects that are left.
    for server, _ in pair:
        server.empty_namespace(namespace)
    lines = []
    for real, embedded in zip(*traces):
        lines += [f"{real[0]}: {line}" for line in differences(real[1:], embedded[1:])]
    assert not lines, "\n" + "\n".join(lines)
