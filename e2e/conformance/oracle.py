"""Ray's own ResourceDemandScheduler, from the installed wheel, on our problems.

`schedule(problem, state, corrections)` gives Ray's answer; corrections.py explains corrections.
"""

import collections
import dataclasses
import logging
from types import SimpleNamespace

from google.protobuf.json_format import ParseDict
from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.schema import AutoscalerInstance, IPPRGroupSpec, IPPRSpecs, IPPRStatus
from ray.core.generated import autoscaler_pb2
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind

import canonical
import corrections as ray_corrections

logging.disable(logging.CRITICAL)



def copy_node(node, _):
    """The same as copy.deepcopy of a node, in less time: it is half of all. Requests are never changed
    once they are placed, so copies share them."""
    copy = object.__new__(type(node))
    copy.__dict__.update(node.__dict__)
    copy.total_resources = dict(node.total_resources)
    copy.labels = dict(node.labels)
    copy.sched_requests = {k: list(v) for k, v in node.sched_requests.items()}
    copy.available_resources_for_sched = {
        k: dict(v) for k, v in node.available_resources_for_sched.items()
    }
    if getattr(node, "ippr_status", None):
        copy.ippr_status = dataclasses.replace(node.ippr_status)
    if hasattr(node, "gpu_slots"):  # of the correction gpu-parts
        copy.gpu_slots = dict(node.gpu_slots)
    return copy


ray_scheduler.SchedulingNode.__deepcopy__ = copy_node

Answer = collections.namedtuple(
    "Answer", "launches terminate requests gangs constraints targets resizes", defaults=[None, ()]
)

# The states of a worker in a problem, as Ray's instance manager has them. Those that are None or
# not on the way to RAY_RUNNING are no capacity for Ray's scheduler.
STATUSES = {
    "running": Instance.RAY_RUNNING,
    "starting": Instance.ALLOCATED,
    "asked": Instance.REQUESTED,  # counted in replicas, no Pod yet
    "draining": Instance.RAY_STOPPING,
    "dead": Instance.RAY_STOPPED,  # the raylet is dead, the Pod is there
    "deleting": Instance.TERMINATED,
    "named": Instance.TERMINATING,  # in workersToDelete, the Pod still runs
}

# Terminations are compared for these: the others go by rules of their own, of which Ray's scheduler
# knows nothing, and a worker without a Pod cannot be named.
COMPARED = ("running", "starting")


# ---- a problem as Ray's scheduling request ----


def scaled(amounts, scale):
    if scale == 1:
        return {name: float(value) for name, value in sorted(amounts.items())}
    return {name: float(canonical.amount(value)) for name, value in sorted(amounts.items())}


def instance(problem, number, scale, corrections):
    node = problem["nodes"][number]
    name = problem["types"][node["type"]]["name"] if node["type"] >= 0 else "gone"
    status = STATUSES[node["state"]]
    if node["state"] == "dead" and "dead-raylet" in corrections:
        status = Instance.ALLOCATED
    im_instance = Instance(
        instance_id=str(number),
        status=status,
        instance_type=name,
        node_kind=NodeKind.HEAD if node["head"] else NodeKind.WORKER,
        node_id=f"{number:04x}" if node["state"] == "running" else "",
    )
    ray_node = None
    if node["state"] == "running":
        ray_node = SimpleNamespace(
            total_resources=scaled(node["total"], scale),
            available_resources=scaled(node["available"], scale),
            labels=node["labels"],
            dynamic_labels=node["dynamic"],
            idle_duration_ms=node["idleMs"],
        )
    return AutoscalerInstance(
        ray_node=ray_node, im_instance=im_instance, cloud_instance_id=f"pod-{number}"
    )


def scale_state(state, scale):
    if scale == 1:
        return state

    def visit(value):
        if isinstance(value, dict):
            return {
                k: scaled(v, scale) if k == "resourcesBundle" else visit(v)
                for k, v in value.items()
            }
        return [visit(v) for v in value] if isinstance(value, list) else value

    return visit(state)


def resizing(problem, scale):
    """The limits of groups and the state of each Pod, of Ray's in-place resize."""
    if "provider" in problem:  # Ray's own reading of the annotation and the Pods
        provider = problem["provider"](problem)
        return {
            "ippr_specs": provider.get_ippr_specs(),
            "ippr_statuses": provider.get_ippr_statuses(),
        }

    def size(value):
        return [float(amount * scale) for amount in (value["cpu"], value["memory"])]

    specs, statuses = {}, {}
    for type_ in problem["types"]:
        if "resizable" in type_:
            cpu, memory = size(type_["resizable"])
            specs[type_["name"]] = IPPRGroupSpec(0, cpu, 0, memory, 600)
    for number, node in enumerate(problem["nodes"]):
        if "resize" not in node:
            continue
        name = problem["types"][node["type"]]["name"]
        current, desired = size(node["resize"]["current"]), size(node["resize"]["desired"])
        statuses[f"pod-{number}"] = IPPRStatus(
            f"pod-{number}", specs[name], *current, *desired, resizing_at=node["resize"]["at"]
        )
    return {"ippr_specs": IPPRSpecs(groups=specs), "ippr_statuses": statuses}


def scheduling_request(problem, state, scale, corrections):
    message = ParseDict(scale_state(state, scale), autoscaler_pb2.ClusterResourceState())
    types = problem["types"]
    return ray_scheduler.SchedulingRequest(
        disable_launch_config_check=True,
        node_type_configs={
            t["name"]: NodeTypeConfig(
                name=t["name"],
                min_worker_nodes=t["min"],
                max_worker_nodes=t["max"],
                resources=scaled(t["resources"], scale),
                labels=dict(t["labels"]),
                idle_timeout_s=t["idleTimeoutMs"] / 1000,
                launch_config_hash="",
                priority=t["priority"],
            )
            for t in types
        },
        max_num_nodes=problem.get("maxNodes"),
        idle_timeout_s=60.0,
        resource_requests=list(message.pending_resource_requests),
        gang_resource_requests=list(message.pending_gang_resource_requests),
        cluster_resource_constraints=list(message.cluster_resource_constraints),
        current_instances=[
            instance(problem, i, scale, corrections) for i in range(len(problem["nodes"]))
        ],
        cloud_resource_availabilities={t["name"]: t.get("recency", 1.0) for t in types},
        recoverable_resource_availabilities={
            t["name"]: t.get("recoverable", 1.0) for t in types
        },
        **(resizing(problem, scale) if problem.get("resizes") else {}),
    )


# ---- the answer ----


def unscaled(bundle, scale):
    return {
        name: (canonical.amount(value) if scale == 1 else int(value))
        for name, value in bundle.items()
    }


def shape_text(request, scale):
    """A request of Ray as text that does not depend on the order of its map."""
    copy = type(request)()
    copy.CopyFrom(request)
    copy.ClearField("resources_bundle")
    bundle = sorted(unscaled(request.resources_bundle, scale).items())
    return f"{bundle} {copy.SerializeToString(deterministic=True).hex()}"


def gang_text(gang, scale):
    requests = list(gang.requests) + [r for s in gang.bundle_selectors for r in s.resource_requests]
    return gang.details + " " + " ".join(sorted(shape_text(r, scale) for r in requests))


def schedule(problem, state, corrections=()):
    scale = 10000 if "fixed-point" in corrections else 1
    with ray_corrections.applied(corrections, problem, scale):
        request = scheduling_request(problem, state, scale, corrections)
        reply = ray_scheduler.ResourceDemandScheduler().schedule(request)
    return answer_of(problem, reply, scale)


def answer_of(problem, reply, scale=1):
    launches = collections.Counter({r.instance_type: r.count for r in reply.to_launch})
    return Answer(
        launches=tuple(launches[t["name"]] for t in problem["types"]),
        terminate=tuple(
            sorted(
                int(r.instance_id)
                for r in reply.to_terminate
                if r.instance_id and problem["nodes"][int(r.instance_id)]["state"] in COMPARED
            )
        ),
        requests=collections.Counter(
            shape_text(r, scale) for r in reply.infeasible_resource_requests
        ),
        gangs=collections.Counter(
            gang_text(g, scale) for g in reply.infeasible_gang_resource_requests
        ),
        constraints=bool(reply.infeasible_cluster_resource_constraints),
        targets=targets_of(problem, reply, launches) if problem.get("groupMaxima") else None,
        resizes=tuple(sorted(int(s.cloud_instance_id[4:]) for s in reply.to_ippr)),
    )


def targets_of(problem, reply, launches):
    """replicas of every group when all is done. A draining worker with nothing in use is deleted."""
    gone = {int(r.instance_id) for r in reply.to_terminate if r.instance_id}
    targets = []
    for index, type_ in enumerate(problem["types"][1:], 1):
        stay = sum(
            node["type"] == index
            and number not in gone
            and node["state"] in ("running", "starting", "asked", "dead", "draining")
            and not (node["state"] == "draining" and node["available"] == node["total"])
            for number, node in enumerate(problem["nodes"])
        )
        wanted = -(-(stay + launches[type_["name"]]) // type_["hosts"])
        least, most = type_["min"] // type_["hosts"], type_["max"] // type_["hosts"]
        targets.append(min(max(wanted, least), most))
    return tuple(targets)
