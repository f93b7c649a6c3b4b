"""Known differences between Ray's scheduler and rayscaler's packing, as corrections of Ray's.

A correction repairs one defect of Ray, or replaces one rule, for the time of a call. A difference
is explained by a set of corrections only when Ray with them gives rayscaler's answer exactly, so
every class of differences is a tested statement. docs/internals/conformance.md explains
each difference.
"""

import builtins
import collections
import contextlib
import sys

from ray._raylet import IMPLICIT_RESOURCE_PREFIX
from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2 import utils as ray_utils
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind, TerminationRequest

import canonical
import decisions
import replicas
import waiting

Scheduler = ray_scheduler.ResourceDemandScheduler
Context = Scheduler.ScheduleContext
Node = ray_scheduler.SchedulingNode
Status = ray_scheduler.SchedulingNodeStatus
Source = ray_scheduler.ResourceRequestSource
Requests = ray_utils.ResourceRequestUtil

# Ray's own, src/core/capacity/capacity.c.
OTHER_ACCELERATORS = {"TPU", "neuron_cores", "NPU", "HPU", "RBLN", "FPGA"}
ACCELERATORS = OTHER_ACCELERATORS | {"GPU"}


def independent_minimum(problem, _):
    """T1: every node for minReplicas is an object of its own."""
    hosts = {t["name"]: t["hosts"] for t in problem["types"]}

    def enforce(ctx):
        shape = ctx.get_cluster_shape()
        new = []
        for name, config in ctx.get_node_type_configs().items():
            missing = max(0, config.min_worker_nodes - shape.get(name, 0))
            for _ in range(-(-missing // hosts.get(name, 1)) * hosts.get(name, 1)):
                new.append(Node.from_node_config(config, Status.TO_LAUNCH, NodeKind.WORKER))
        ctx.update(new + ctx.get_nodes())

    return [(Scheduler, "_enforce_min_workers_per_type", staticmethod(enforce))]


def partial_constraint(*_):
    """T13: the part of an infeasible constraint that fits is kept and protected."""

    def enforce(ctx, constraints):
        for constraint in constraints:
            requests = Requests.ungroup_by_count(
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


def cancelled_launches(*_):
    """A launch that a maximum cancels in the same run is not capacity any more."""
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


def fixed_point(*_):
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


def exact_sum(_, scale):
    """Requests are ranked by the exact sum of their amounts: a double loses 0.001 beside 16 TiB."""

    def add(values):
        if sys._getframe(1).f_code.co_name != "_sort_resource_request":
            return builtins.sum(values)
        return builtins.sum(canonical.amount(v) if scale == 1 else int(v) for v in values)

    return [(ray_scheduler, "sum", add)]


def gpu_parts(_, scale):
    """Parts of GPUs are laid out GPU by GPU on nodes whose GPUs are all free."""
    unit = 10000 if scale == 1 else 1
    try_one, combine = Node._try_schedule_one, Requests.combine_requests_with_affinity
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
        for piece in pieces:
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
            selectors = Requests._label_selector_key(request.label_selectors)
            key = (constraint.affinity.label_name, selectors)
            if request.resources_bundle.get("GPU", 0):
                groups[key].append(whole(request.resources_bundle["GPU"]))
        for request in combined:
            constraint = (list(request.placement_constraints) or [None])[0]
            if constraint is not None and constraint.HasField("affinity"):
                selectors = Requests._label_selector_key(
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
        # States differ by their slots as well: one cache for each.
        caches = self.__dict__.setdefault("caches", {})
        cache = caches.setdefault(
            tuple(sorted(slots)), ray_scheduler.NodeStateCache(self.source)
        )
        return seen(cache, node)

    return [
        (Node, "_try_schedule_one", try_schedule_one),
        (
            Requests,
            "combine_requests_with_affinity",
            staticmethod(combine_requests),
        ),
        (ray_scheduler.NodeStateCache, "was_seen_or_mark", was_seen_or_mark),
    ]


def unknown_group(problem, _):
    """T17: a worker of a removed group does not stop everything; it is capacity and is kept."""
    count = sum(n["type"] < 0 for n in problem["nodes"])
    original = Context.__init__

    def init(self, **named):
        gone = NodeTypeConfig(
            name="gone",
            min_worker_nodes=count,
            max_worker_nodes=count,
            launch_config_hash="",
        )
        named["node_type_configs"] = dict(named["node_type_configs"], gone=gone)
        original(self, **named)

    return [(Context, "__init__", init)]


def draining_workers(problem, _):
    """A worker that drains and is in use keeps its place below maxReplicas until its Pod is deleted: the
    operator would not start another one before."""
    held = collections.Counter(
        problem["types"][n["type"]]["name"]
        for n in problem["nodes"]
        if n["state"] == "draining" and n["available"] != n["total"]
    )
    original = Context.__init__

    def init(self, **named):
        if waiting.Waiting.work_has_ended:
            return original(self, **named)
        lowered = {}
        for name, config in named["node_type_configs"].items():
            maximum = max(0, config.max_worker_nodes - held[name])
            lowered[name] = NodeTypeConfig(
                **dict(
                    vars(config),
                    max_worker_nodes=maximum,
                    min_worker_nodes=min(config.min_worker_nodes, maximum),
                )
            )
        original(self, **dict(named, node_type_configs=lowered))

    return [(Context, "__init__", init)]


def terminated_workers(*_):
    """T6: a worker that is terminated because of a maximum accepts nothing; it still holds its place."""
    best_node = Scheduler._sched_best_node

    def choose(requests, nodes, *rest):
        terminated = [n for n in nodes if n.status == Status.TO_TERMINATE]
        staying = [n for n in nodes if n.status != Status.TO_TERMINATE]
        best, left, others = best_node(requests, staying, *rest)
        return best, left, others + terminated

    return [(Scheduler, "_sched_best_node", staticmethod(choose))]


def dead_raylets(*_):
    """A Pod whose raylet died a moment ago is a worker that starts: the container comes back, or
    the Pod is replaced. Changes the states that Ray is given (oracle.instance)."""
    return []


def group_maxima(*_):
    """The maximum of the cluster is the sum of the groups' maxima; Ray holds it against workers
    above the maximum of their group as well, and then refuses launches to other groups."""
    original = Context.__init__

    def init(self, **named):
        original(self, **dict(named, max_num_nodes=None))

    return [(Context, "__init__", init)]


def gang_fallbacks(*_):
    """The bundle selectors of a gang are tried in their order; Ray looks at the first."""
    original = Scheduler._sched_gang_resource_requests

    def place(ctx, gangs):
        left = []
        for gang in sorted(
            gangs,
            key=lambda g: (sum(len(r.placement_constraints) for r in g.requests), len(g.requests)),
            reverse=True,
        ):
            choices = [type(gang)() for _ in gang.bundle_selectors] or [gang]
            for choice, selector in zip(choices, gang.bundle_selectors):
                choice.requests.extend(gang.requests)
                choice.bundle_selectors.append(selector)
            if all(original(ctx, [choice]) for choice in choices):
                left.append(gang)
        return left

    return [(Scheduler, "_sched_gang_resource_requests", staticmethod(place))]


def accelerators(*_):
    """Ray's rule for GPUs applies to every accelerator: demand without the accelerator avoids its nodes."""
    score = Node._compute_score

    def compute_score(self, source):
        found = score(self, source)
        has = any(self.total_resources.get(name, 0) > 0 for name in ACCELERATORS)
        asks = any(
            name in request.resources_bundle
            for request in self.get_sched_requests(source)
            for name in ACCELERATORS
        )
        return (found[0], asks or not has) + found[2:]

    return [(Node, "_compute_score", compute_score)]


def no_launches(names):
    original = Context._compute_available_node_types

    def available(nodes, configs):
        found = original(nodes, configs)
        for name in names:
            found[name] = min(found[name], 0)
        return found

    return [(Context, "_compute_available_node_types", staticmethod(available))]


def held_launches(problem, _):
    """A group in back-off launches nothing while it lasts."""
    return no_launches([t["name"] for t in problem["types"] if in_back_off(t)])


def head_launches(problem, _):
    """While the head drains there is none for Ray's scheduler, which launches one; that is impossible."""
    return no_launches([problem["types"][0]["name"]])


def in_back_off(type_):
    return "failed" in type_ and type_["failed"]["elapsedS"] < type_["failed"]["seconds"]


def probes(problem, _):
    """The end of a back-off is the probe: the group is as good as before."""
    past = {t["name"] for t in problem["types"] if "failed" in t and not in_back_off(t)}
    original = Context.__init__

    def init(self, **named):
        for name in ("cloud_resource_availabilities", "recoverable_resource_availabilities"):
            values = named[name]
            named[name] = {t: 1.0 if t in past else value for t, value in values.items()}
        original(self, **named)

    return [(Context, "__init__", init)]


def unneeded_launches(problem, _):
    """Our launches that nothing has needed for a minute are cancelled, those farthest from running
    first; workers without a Pod are no longer requested."""
    original = Scheduler._enforce_idle_termination

    def distance(node):
        given = problem["nodes"][int(node.im_instance_id)]
        if given["state"] == "asked":
            return (0, 0)
        stage = {"pulling": 2, "running": 3}.get(given["start"], 1)
        return (stage, -int(node.im_instance_id))

    def may_go(node):
        given = problem["nodes"][int(node.im_instance_id)]
        waits = given["state"] == "starting" and decisions.is_unregistered(given)
        return (waits or given["state"] == "asked") and not any(node.sched_requests.values())

    def enforce(ctx):
        original(ctx)
        nodes = ctx.get_nodes()
        for type_ in problem["types"]:
            launches = type_.get("launches")
            if not launches or launches["sinceS"] < 60:
                continue
            mine = [
                n
                for n in nodes
                if n.node_type == type_["name"]
                and n.im_instance_id
                and n.status == Status.SCHEDULABLE
            ]
            spare = max(0, len(mine) - type_["min"])
            for node in sorted(filter(may_go, mine), key=distance)[
                : min(launches["unneeded"], spare)
            ]:
                node.status = Status.TO_TERMINATE
                node.termination_request = TerminationRequest(instance_id=node.im_instance_id)
        ctx.update(nodes)

    return [(Scheduler, "_enforce_idle_termination", staticmethod(enforce))]


def whole_replicas(problem, scale):
    return independent_minimum(problem, scale) + replicas.Replicas(problem).replacements()


# In the order in which they are applied: gpu-parts wraps what fixed-point sets, unneeded-launch
# the idle termination of multi-host.
ALL = {
    "fixed-point": fixed_point,
    "exact-sum": exact_sum,
    "gpu-parts": gpu_parts,
    "accelerators": accelerators,
    "gang-fallback": gang_fallbacks,
    "min-workers": independent_minimum,
    "partial-constraint": partial_constraint,
    "cancelled-launch": cancelled_launches,
    "unknown-group": unknown_group,
    "draining-worker": draining_workers,
    "terminated-worker": terminated_workers,
    "dead-raylet": dead_raylets,
    "group-maxima": group_maxima,
    "head-launch": head_launches,
    "back-off": held_launches,
    "probe": probes,
    "multi-host": whole_replicas,
    **decisions.ALL,
    "unneeded-launch": unneeded_launches,
}


def is_rounded(request):
    """Whether a double cannot hold the sum of the amounts in 1/10000."""
    return sum(map(canonical.amount, request["resourcesBundle"].values())) > 2**53


def possible(problem, state):
    """Corrections that could make a difference in this problem."""
    counts = collections.Counter(n["type"] for n in problem["nodes"])
    states = {n["state"] for n in problem["nodes"]}
    missing = [t["min"] - counts[i] for i, t in enumerate(problem["types"])]
    conditions = {
        "fixed-point": True,
        "exact-sum": any(map(is_rounded, canonical.Order.all_requests(state))),
        "gpu-parts": True,
        "accelerators": any(set(t["resources"]) & OTHER_ACCELERATORS for t in problem["types"]),
        "gang-fallback": any(
            len(g.get("bundleSelectors", [])) > 1 for g in state["pendingGangResourceRequests"]
        ),
        "min-workers": max(missing) > 1,
        "partial-constraint": not problem["atomic"] and state["clusterResourceConstraints"],
        "cancelled-launch": max(missing) > 0 and problem["maxNodes"] < sum(
            t["max"] for t in problem["types"]
        ),
        "unknown-group": counts[-1] > 0,
        "draining-worker": "draining" in states,
        "terminated-worker": problem.get("groupMaxima")
        and any(counts[i] > t["max"] for i, t in enumerate(problem["types"])),
        "dead-raylet": "dead" in states,
        "group-maxima": problem.get("groupMaxima")
        and any(counts[i] > t["max"] for i, t in enumerate(problem["types"])),
        "head-launch": not any(n["head"] and n["state"] == "running" for n in problem["nodes"]),
        "back-off": problem.get("remembers") and any(map(in_back_off, problem["types"])),
        "probe": problem.get("remembers")
        and any("failed" in t and not in_back_off(t) for t in problem["types"]),
        "unneeded-launch": problem.get("remembers")
        and any("launches" in t for t in problem["types"]),
        "multi-host": any(t["hosts"] > 1 for t in problem["types"]),
    }
    conditions.update(decisions.possible(problem, state))
    return [name for name in ALL if conditions[name]]


MISSING = object()


@contextlib.contextmanager
def applied(names, problem, scale):
    saved = []
    try:
        for name in [n for n in ALL if n in names]:
            for owner, attribute, value in ALL[name](problem, scale):
                # A builtin is not there until a correction sets it.
                saved.append((owner, attribute, owner.__dict__.get(attribute, MISSING)))
                setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in reversed(saved):
            if value is MISSING:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, value)
