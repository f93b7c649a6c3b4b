"""A random problem as a Snapshot file, and the Plan as an answer that compares with Ray's."""

import base64
import collections
import datetime
import json
import subprocess

from google.protobuf.json_format import ParseDict
from ray.core.generated import autoscaler_pb2

import generate
import oracle

NOW = "2026-11-20T10:00:00Z"
BEFORE = "2026-11-20T09:59:50Z"
STARTED = "2026-11-20T09:00:00Z"
SESSION = "session_1"


def quantities(resources):
    return {name: str(value) for name, value in resources.items()}


def container(type_):
    resources = type_["resources"]
    limits = {"cpu": str(resources.get("CPU", 0))}
    if type_.get("fromLimits"):
        limits = {generate.LIMITS[name]: str(value) for name, value in resources.items()}
    return {"name": "ray", "resources": {"limits": limits}}


def template(type_):
    return {"spec": {"containers": [container(type_)]}}


def group(problem, index):
    type_ = problem["types"][index]
    mine = [i for i, n in enumerate(problem["nodes"]) if n["type"] == index]
    pods = sum(problem["nodes"][i]["state"] not in ("deleting", "named") for i in mine)
    named = [pod_name(i) for i in mine if problem["nodes"][i]["state"] == "named"]
    hosts = type_["hosts"]
    resources = {} if type_["fromLimits"] else {"resources": quantities(type_["resources"])}
    return {
        **resources,
        "groupName": type_["name"],
        "replicas": pods // hosts,
        "minReplicas": type_["min"] // hosts,
        "maxReplicas": type_["max"] // hosts,
        "numOfHosts": hosts,
        "priority": type_["priority"],
        "idleTimeoutSeconds": type_["idleTimeoutMs"] // 1000,
        "labels": type_["labels"],
        "template": template(type_),
        "scaleStrategy": {"workersToDelete": named},
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
                "labels": head["labels"],
                "template": template(head),
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
        "creationTimestamp": BEFORE if node["state"] == "starting" else STARTED,
    }
    spec, status = {"containers": [{"name": "ray"}]}, {"phase": "Pending"}
    if problem["learns"] and node["type"] >= 0:
        spec["containers"] = [container(problem["types"][node["type"]])]
    start = node["start"] if node["state"] == "starting" else "running"
    if start == "unschedulable":
        status["conditions"] = [scheduled("False", "Unschedulable")]
    elif start != "pending":
        spec["nodeName"] = "node-1"
        status["conditions"] = [scheduled("True", "")]
        status["containerStatuses"] = [{"name": "ray", "state": {"waiting": {"reason": "Pulling"}}}]
    if start == "running":
        began = ago(node["unregisteredS"]) if node["state"] == "starting" else STARTED
        state = {"running": {"startedAt": began}}
        status.update(phase="Running", containerStatuses=[{"name": "ray", "state": state}])
    if node["state"] == "deleting":
        metadata["deletionTimestamp"] = NOW
    return {"metadata": metadata, "spec": spec, "status": status}


def scheduled(status, reason):
    condition = {"type": "PodScheduled", "status": status, "reason": reason}
    return dict(condition, lastTransitionTime=BEFORE)


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
        "dynamicLabels": node["dynamic"],
    }
    if node["state"] == "draining":
        state["status"] = "DRAINING"
    elif node["state"] == "dead":
        return dead_state(problem, number, number)
    elif node["idleMs"]:
        state["idleDurationMs"] = str(node["idleMs"])
    return state


def dead_state(problem, number, node_id):
    return {
        "nodeId": base64.b64encode(node_id.to_bytes(28, "big")).decode(),
        "instanceId": pod_name(number),
        "rayNodeTypeName": group_name(problem, problem["nodes"][number]),
        "status": "DEAD",
    }


def ago(seconds):
    then = datetime.datetime.fromisoformat(NOW) - datetime.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def memory(problem):
    """The memory that rayscaler's last plan would have left."""
    backoffs, launches = [], []
    for index, type_ in enumerate(problem["types"]):
        if "failed" in type_:
            failed = type_["failed"]
            backoffs.append(
                {
                    "group": type_["name"],
                    "until": ago(failed["elapsedS"] - failed["seconds"]),
                    "seconds": failed["seconds"],
                    "cause": "NodeProvisionTimeout",
                    "message": "no node came",
                }
            )
        if "launches" in type_:
            ours = type_["launches"]
            launches.append(
                {
                    "group": type_["name"],
                    "replicas": ours["ours"],
                    "baseReplicas": group(problem, index)["replicas"],
                    "unjoined": ours["unjoined"],
                    "unneeded": ours["unneeded"],
                    "unneededSince": ago(ours["sinceS"]),
                }
            )
    unjoined = [
        {"key": pod_name(i), "since": ago(node["unregisteredS"])}
        for i, node in enumerate(problem["nodes"])
        if node["state"] == "starting" and node["start"] == "running"
    ]
    return {
        "backoffs": backoffs,
        "launches": launches,
        "unjoined": unjoined,
        "raySessions": [{"key": SESSION, "since": STARTED}],
    }


def snapshot(problem, state):
    nodes = problem["nodes"]
    states = [
        node_state(problem, i)
        for i, n in enumerate(nodes)
        if n["state"] in ("running", "draining", "dead", "named")
    ]
    for number, node in enumerate(nodes):
        if node["state"] == "running" and node.get("deadBefore"):
            states.insert(number % (len(states) + 1), dead_state(problem, number, number + 1000))
    return {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": NOW,
        "rayCluster": ray_cluster(problem),
        "pods": [pod(problem, i) for i, n in enumerate(nodes) if n["state"] != "asked"],
        "rayState": dict(state, nodeStates=states, clusterSessionName=SESSION),
        "settings": {} if problem["whenIdle"] else {"enforce-max": "now"},
        "memory": memory(problem),
    }


def decided_patch(problem, plan):
    """The patch that follows from the plan's own groups: replicas and names to delete, by path."""
    wanted = {}
    for index, planned in enumerate(plan["groups"]):
        type_, path = problem["types"][index + 1], f"/spec/workerGroupSpecs/{index}"
        given = group(problem, index + 1)
        drained = sum(t["action"] == "drain" for t in planned["toTerminate"]) // type_["hosts"]
        replicas = min(planned["targetReplicas"] + drained, type_["max"] // type_["hosts"])
        if replicas != given["replicas"]:
            wanted[f"{path}/replicas"] = replicas
        names = given["scaleStrategy"]["workersToDelete"]
        new = [t["pod"] for t in planned["toTerminate"] if t["action"] != "drain"]
        if new:
            wanted[f"{path}/scaleStrategy/workersToDelete"] = sorted(names + new)
    return wanted


def patch_is_right(problem, plan):
    cluster, found = ray_cluster(problem), {}
    for op in plan["patch"]:
        value = cluster
        if op["op"] == "test":
            for key in op["path"].split("/")[1:]:
                value = value[int(key) if key.isdigit() else key]
            if value != op["value"]:
                return False
        else:
            found[op["path"]] = op["value"]
    for path, value in found.items():
        found[path] = sorted(value) if isinstance(value, list) else value
    return found == decided_patch(problem, plan)


def plan_of(program, given, *flags):
    done = subprocess.run(
        [program, "plan", "-f", "-", "-o", "json", *flags],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def answer(program, problem, state):
    return answer_of(problem, plan_of(program, snapshot(problem, state)))


def answer_of(problem, plan):
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
        targets=tuple(g["targetReplicas"] for g in plan["groups"])
        if patch_is_right(problem, plan)
        else "the patch is not that of the groups",
    )
