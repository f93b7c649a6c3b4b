"""Ray's own ResourceDemandScheduler, from the installed wheel, on our problems.

`schedule(problem, corrections)` gives Ray's answer. A correction repairs one known defect or
replaces one known rule of Ray for the time of the call; a difference between Ray and rayscaler is
explained by a set of corrections only when Ray with them gives rayscaler's answer exactly.
"""

import collections
import contextlib
import logging
from types import SimpleNamespace

from google.protobuf.json_format import ParseDict
from ray._raylet import IMPLICIT_RESOURCE_PREFIX
from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2 import utils as ray_utils
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.schema import AutoscalerInstance
from ray.core.generated import autoscaler_pb2
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind

import canonical

logging.disable(logging.CRITICAL)

Scheduler = ray_scheduler.ResourceDemandScheduler
Node = ray_scheduler.SchedulingNode
Status = ray_scheduler.SchedulingNodeStatus
Source = ray_scheduler.ResourceRequestSource

Answer = collections.namedtuple("Answer", "launches terminate requests gangs constraints")


# ---- a problem as Ray's scheduling request ----


def scaled(amounts, scale):
    if scale == 1:
        return {name: float(value) for name, value in sorted(amounts.items())}
    return {name: float(canonical.amount(value)) for name, value in sorted(amounts.items())}


def instance(problem, number, scale):
    node = problem["nodes"][number]
    status = Instance.RAY_RUNNING if node["running"] else Instance.ALLOCATED
    type_ = problem["types"][node["type"]]
    im_instance = Instance(
        instance_id=str(number),
        status=status,
        instance_type=type_["name"],
        node_kind=NodeKind.HEAD if node["head"] else NodeKind.WORKER,
        node_id=f"{number:04x}" if node["joined"] else "",
    )
    ray_node = None
    if node["running"]:
        ray_node = SimpleNamespace(
            total_resources=scaled(node["total"], scale),
            available_resources=scaled(node["available"], scale),
            labels=node["labels"],
            dynamic_labels={},
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


def scheduling_request(problem, state, scale):
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
            instance(problem, i, scale) for i in range(len(problem["nodes"]))
        ],
        cloud_resource_availabilities={t["name"]: t.get("recency", 1.0) for t in types},
        recoverable_resource_availabilities={
            t["name"]: t.get("recoverable", 1.0) for t in types
        },
    )


# ---- corrections ----


def independent_minimum():
    """T1: every node for minReplicas is an object of its own."""

    def enforce(ctx):
        shape = ctx.get_cluster_shape()
        new = []
        for name, config in ctx.get_node_type_configs().items():
            for _ in range(config.min_worker_nodes - shape.get(name, 0)):
                new.append(Node.from_node_config(config, Status.TO_LAUNCH, NodeKind.WORKER))
        ctx.update(new + ctx.get_nodes())

    return [(Scheduler, "_enforce_min_workers_per_type", staticmethod(enforce))]


def partial_constraint():
    """T13: what fits of an infeasible constraint is kept and protected."""

    def enforce(ctx, constraints):
        for constraint in constraints:
            requests = ray_utils.ResourceRequestUtil.ungroup_by_count(
                constraint.resource_requests
            )
            nodes, left = Scheduler._try_schedule(
                ctx, requests, Source.CLUSTER_RESOURCE_CONSTRAINT
            )
            ctx.update(nodes)
            if left:
                return [constraint]
        return []

    return [(Scheduler, "_enforce_resource_constraints", staticmethod(enforce))]


def cancelled_launches():
    """A launch that a maximum takes back in the same run is no capacity any more."""
    original = Scheduler._enforce_max_workers_global

    def enforce(ctx):
        original(ctx)
        ctx.update(
            [
                n
                for n in ctx.get_nodes()
                if n.im_instance_id or n.status != Status.TO_TERMINATE
            ]
        )

    return [(Scheduler, "_enforce_max_workers_global", staticmethod(enforce))]


def fixed_point():
    """Amounts are whole numbers of 1/10000, as in Ray's raylet; the score is in units."""
    unit = 10000.0
    score = Node._compute_score

    def default(name):
        return unit if name.startswith(IMPLICIT_RESOURCE_PREFIX) else 0.0

    def fits(node, resources):
        return all(v <= node.get(k, default(k)) for k, v in resources.items())

    def subtract(node, resources):
        for name, value in resources.items():
            if value:
                node[name] = node.get(name, default(name)) - value
                assert node[name] >= 0

    def can_fit_any(available, shapes):
        return not shapes or any(fits(available, shape) for shape in shapes)

    def compute_score(self, source):
        first = score(self, source)[:3]
        available = self.get_available_resources(source)
        terms = [
            total / unit * ((total - available[name]) / total) ** 3
            for name, total in self.total_resources.items()
            if total and name in available
        ]
        mean = float(sum(terms)) / len(terms) if terms else 0
        return first + (min(terms) if terms else 0, mean)

    return [
        (ray_scheduler, "_fits", fits),
        (ray_scheduler, "_inplace_subtract", subtract),
        (ray_scheduler, "_can_fit_any_request", can_fit_any),
        (Node, "_compute_score", compute_score),
    ]


def gpu_parts(scale):
    """Parts of GPUs are laid out GPU by GPU on nodes whose GPUs are all free."""
    unit = 10000 if scale == 1 else 1
    try_one, combine = Node._try_schedule_one, ray_utils.ResourceRequestUtil.combine_requests_with_affinity
    seen = ray_scheduler.NodeStateCache.was_seen_or_mark
    pieces_of = {}

    def whole(value):
        return int(value * unit + 0.5)

    def gpus(node, source):
        slots = getattr(node, "gpu_slots", None)
        if slots is None:
            slots = node.gpu_slots = {}
        if source not in slots:
            total = whole(node.total_resources.get("GPU", 0))
            free = whole(node.get_available_resources(source).get("GPU", 0))
            slots[source] = None
            if total and total == free:
                slots[source] = [10000] * (total // 10000) + [total % 10000] * (total % 10000 > 0)
        return slots[source]

    def place(slots, piece):
        """The slots after it, None when it does not fit."""
        slots = sorted(slots)
        need = piece // 10000
        if need:
            if slots.count(10000) < need:
                return None
            slots = slots[: len(slots) - need]
        if piece % 10000:
            for i, free in enumerate(slots):
                if free >= piece % 10000:
                    slots[i] -= piece % 10000
                    break
            else:
                return None
        return slots

    def try_schedule_one(self, request, source):
        slots = gpus(self, source)
        amount = whole(request.resources_bundle.get("GPU", 0))
        if slots is None or not amount:
            return try_one(self, request, source)
        pieces = pieces_of.get(request.SerializeToString(deterministic=True), [amount])
        for piece in sorted(pieces, reverse=True):
            slots = place(slots, piece)
            if slots is None:
                return False
        if not try_one(self, request, source):
            return False
        self.gpu_slots[source] = slots
        return True

    def combine_requests(requests):
        combined = combine(requests)
        groups = collections.defaultdict(list)
        for request in requests:
            constraint = (list(request.placement_constraints) or [None])[0]
            if constraint is None or not constraint.HasField("affinity"):
                continue
            selectors = ray_utils.ResourceRequestUtil._label_selector_key(request.label_selectors)
            key = (constraint.affinity.label_name, selectors)
            if request.resources_bundle.get("GPU", 0):
                groups[key].append(whole(request.resources_bundle["GPU"]))
        for request in combined:
            constraint = (list(request.placement_constraints) or [None])[0]
            if constraint is not None and constraint.HasField("affinity"):
                selectors = ray_utils.ResourceRequestUtil._label_selector_key(
                    request.label_selectors
                )
                pieces_of[request.SerializeToString(deterministic=True)] = groups[
                    (constraint.affinity.label_name, selectors)
                ]
        return combined

    def was_seen_or_mark(self, node):
        slots = gpus(node, self.source)
        if node.im_instance_status == Instance.RAY_RUNNING or slots is None:
            return seen(self, node)
        # The state is told apart by its slots as well: one cache for each.
        caches = self.__dict__.setdefault("caches", {})
        cache = caches.setdefault(
            tuple(sorted(slots)), ray_scheduler.NodeStateCache(self.source)
        )
        return seen(cache, node)

    return [
        (Node, "_try_schedule_one", try_schedule_one),
        (
            ray_utils.ResourceRequestUtil,
            "combine_requests_with_affinity",
            staticmethod(combine_requests),
        ),
        (ray_scheduler.NodeStateCache, "was_seen_or_mark", was_seen_or_mark),
    ]


@contextlib.contextmanager
def corrected(corrections, scale):
    makers = {
        "min-workers": independent_minimum,
        "partial-constraint": partial_constraint,
        "cancelled-launch": cancelled_launches,
        "fixed-point": fixed_point,
        "gpu-parts": lambda: gpu_parts(scale),
    }
    saved = []
    try:
        # fixed-point goes first: gpu-parts wraps what it sets.
        for name in sorted(corrections):
            for owner, attribute, value in makers[name]():
                saved.append((owner, attribute, owner.__dict__[attribute]))
                setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in reversed(saved):
            setattr(owner, attribute, value)


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
    with corrected(corrections, scale):
        reply = Scheduler().schedule(scheduling_request(problem, state, scale))
    launches = {r.instance_type: r.count for r in reply.to_launch}
    return Answer(
        launches=tuple(launches.get(t["name"], 0) for t in problem["types"]),
        terminate=tuple(sorted(int(r.instance_id) for r in reply.to_terminate if r.instance_id)),
        requests=collections.Counter(
            shape_text(r, scale) for r in reply.infeasible_resource_requests
        ),
        gangs=collections.Counter(
            gang_text(g, scale) for g in reply.infeasible_gang_resource_requests
        ),
        constraints=bool(reply.infeasible_cluster_resource_constraints),
    )
