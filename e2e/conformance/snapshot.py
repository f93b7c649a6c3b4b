"""A random problem as a Snapshot file, and the Plan as an answer that compares with Ray's."""

import base64
import collections
import json
import subprocess

from google.protobuf.json_format import ParseDict
from ray.core.generated import autoscaler_pb2

import oracle

NOW = "2026-11-20T10:00:00Z"
BEFORE = "2026-11-20T09:59:50Z"


def quantities(resources):
    return {name: str(value) for name, value in resources.items()}


def template(resources):
    limits = {"cpu": str(resources.get("CPU", 0))}
    return {"spec": {"containers": [{"name": "ray", "resources": {"limits": limits}}]}}


def group(problem, index):
    type_ = problem["types"][index]
    pods = sum(n["type"] == index and n["state"] != "deleting" for n in problem["nodes"])
    hosts = type_["hosts"]
    return {
        "groupName": type_["name"],
        "replicas": pods // hosts,
        "minReplicas": type_["min"] // hosts,
        "maxReplicas": type_["max"] // hosts,
        "numOfHosts": hosts,
        "priority": type_["priority"],
        "idleTimeoutSeconds": type_["idleTimeoutMs"] // 1000,
        "resources": quantities(type_["resources"]),
        "labels": type_["labels"],
        "template": template(type_["resources"]),
    }


def ray_cluster(problem):
    head = problem["types"][0]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"namespace": "default", "name": "random"},
        "spec": {
            "enableInTreeAutoscaling": True,
            "autoscalerOptions": {"idleTimeoutSeconds": 60},
            "headGroupSpec": {
                "resources": quantities(head["resources"]),
                "template": template(head["resources"]),
            },
            "workerGroupSpecs": [group(problem, i) for i in range(1, len(problem["types"]))],
        },
    }


def pod_name(number):
    return f"pod-{number:04}"


def group_name(problem, node):
    return problem["types"][node["type"]]["name"] if node["type"] >= 0 else "gone"


def pod(problem, number):
    node = problem["nodes"][number]
    name = group_name(problem, node)
    labels = {
        "ray.io/cluster": "random",
        "ray.io/node-type": "head" if node["head"] else "worker",
        "ray.io/group": name,
    }
    if node["replica"] >= 0:
        labels["ray.io/worker-group-replica-name"] = f"{name}-{node['replica']}"
    metadata = {
        "namespace": "default",
        "name": pod_name(number),
        "labels": labels,
        "creationTimestamp": BEFORE,
    }
    status = {"phase": "Pending"}
    if node["state"] != "starting":
        running = {"running": {"startedAt": BEFORE}}
        status = {"phase": "Running", "containerStatuses": [{"name": "ray", "state": running}]}
    if node["state"] == "deleting":
        metadata["deletionTimestamp"] = NOW
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "ray"}]},
        "status": status,
    }


def node_state(problem, number):
    node = problem["nodes"][number]
    state = {
        "nodeId": base64.b64encode(number.to_bytes(28, "big")).decode(),
        "instanceId": pod_name(number),
        "rayNodeTypeName": group_name(problem, node),
        "status": "IDLE" if node["idleMs"] else "RUNNING",
        "totalResources": node["total"],
        "availableResources": node["available"],
        "labels": node["labels"],
    }
    if node["state"] == "draining":
        state["status"] = "DRAINING"
    elif node["state"] == "dead":
        return dict(state, status="DEAD", totalResources={}, availableResources={}, labels={})
    elif node["idleMs"]:
        state["idleDurationMs"] = str(node["idleMs"])
    return state


def snapshot(problem, state):
    nodes = problem["nodes"]
    states = [
        node_state(problem, i)
        for i, n in enumerate(nodes)
        if n["state"] in ("running", "draining", "dead")
    ]
    return {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": NOW,
        "rayCluster": ray_cluster(problem),
        "pods": [pod(problem, i) for i, n in enumerate(nodes) if n["state"] != "asked"],
        "rayState": dict(state, nodeStates=states),
        "settings": {"enforce-max": "now"},
    }


def answer(program, problem, state):
    done = subprocess.run(
        [program, "plan", "-f", "-", "-o", "json"],
        input=json.dumps(snapshot(problem, state)),
        capture_output=True,
        text=True,
        check=True,
    )
    plan = json.loads(done.stdout)
    requests, gangs, constraints = collections.Counter(), collections.Counter(), False
    for entry in plan["infeasible"] + plan["unserved"]:
        if entry["kind"] == "constraint":
            constraints = True
        elif entry["kind"] == "gang":
            message = ParseDict(entry["request"], autoscaler_pb2.GangResourceRequest())
            gangs[oracle.gang_text(message, 1)] += entry["count"]
        else:
            message = ParseDict(entry["request"], autoscaler_pb2.ResourceRequest())
            requests[oracle.shape_text(message, 1)] += entry["count"]
    terminated = [
        int(t["pod"][4:])
        for g in plan["groups"]
        for t in g["toTerminate"]
        if problem["nodes"][int(t["pod"][4:])]["state"] in oracle.COMPARED
    ]
    return oracle.Answer(
        launches=(0,) + tuple(g["toLaunch"] for g in plan["groups"]),
        terminate=tuple(sorted(terminated)),
        requests=requests,
        gangs=gangs,
        constraints=constraints,
    )
