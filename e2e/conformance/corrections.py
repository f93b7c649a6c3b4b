"""Known differences between Ray's scheduler and rayscaler's packing, as corrections of Ray's.

A correction repairs one defect of Ray, or replaces one rule, for the time of a call. A difference
is explained by a set of corrections only when Ray with them gives rayscaler's answer exactly, so
every class of differences is a statement that is tried, not an excuse. docs/CONFORMANCE.md says
why rayscaler differs in each.
"""

import collections
import contextlib

from ray._raylet import IMPLICIT_RESOURCE_PREFIX
from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2 import utils as ray_utils
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.core.generated.instance_manager_pb2 import Instance, NodeKind, TerminationRequest

Scheduler = ray_scheduler.ResourceDemandScheduler
Context = Scheduler.ScheduleContext
Node = ray_scheduler.SchedulingNode
Status = ray_scheduler.SchedulingNodeStatus
Source = ray_scheduler.ResourceRequestSource
Requests = ray_utils.ResourceRequestUtil


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
    """T13: what fits of an infeasible constraint is kept and protected."""

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
        # The state is told apart by its slots as well: one cache for each.
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
    """T17: a worker of a group that is gone does not stop everything; it is capacity and stays."""
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


def held_places(problem, _):
    """A worker that drains and is in use keeps its place below maxReplicas until its Pod is gone: the operator
    would not start another one before."""
    held = collections.Counter(
        problem["types"][n["type"]]["name"]
        for n in problem["nodes"]
        if n["state"] == "draining" and n["available"] != n["total"]
    )
    original = Context.__init__

    def init(self, **named):
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


def leaving_workers(*_):
    """T6: a worker that goes because of a maximum takes nothing; it still holds its place."""
    best_node = Scheduler._sched_best_node

    def choose(requests, nodes, *rest):
        going = [n for n in nodes if n.status == Status.TO_TERMINATE]
        staying = [n for n in nodes if n.status != Status.TO_TERMINATE]
        best, left, others = best_node(requests, staying, *rest)
        return best, left, others + going

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


class Replicas:
    """T39: nodes of a group with several hosts come, stay and go as whole replicas."""

    def __init__(self, problem):
        self.nodes = problem["nodes"]
        self.hosts = {t["name"]: t["hosts"] for t in problem["types"]}
        self.siblings, self.launches, self.trying = [], None, False
        self.try_schedule = Scheduler._try_schedule
        self.best_node = Scheduler._sched_best_node
        self.from_config = Node.from_node_config

    def make_template(self, *args, **named):
        node = self.from_config(*args, **named)
        node.is_template = self.trying
        return node

    def try_list(self, ctx, *rest, **named):
        self.siblings, self.trying, self.ctx = [], True, ctx
        self.room = {
            name: count // self.hosts.get(name, 1)
            for name, count in ctx.get_node_type_available().items()
        }
        try:
            nodes, left = self.try_schedule(ctx, *rest, **named)
        finally:
            self.trying = False
        nodes = nodes + self.siblings
        for node in nodes:
            node.is_template = False
        return nodes, left

    def choose(self, requests, nodes, *rest):
        if not any(getattr(n, "is_template", False) for n in nodes):
            return self.best_node(requests, nodes, *rest)
        pool, names = [], set()
        for node in nodes:  # one template of each type that may be launched as a whole
            if node.node_type not in names and self.room[node.node_type] > 0:
                pool.append(node)
            names.add(node.node_type)
        best, left, siblings = self.best_node(requests, list(self.siblings), *rest)
        if best is not None:
            self.siblings = siblings
            return best, left, nodes
        best, left, pool = self.best_node(requests, pool, *rest)
        if best is None:
            return None, requests, nodes
        self.room[best.node_type] -= 1
        config = self.ctx.get_node_type_configs()[best.node_type]
        for _ in range(self.hosts.get(best.node_type, 1) - 1):
            node = self.from_config(config, Status.TO_LAUNCH, NodeKind.WORKER)
            self.siblings.append(node)
        return best, left, pool

    def replica(self, node):
        given = self.nodes[int(node.im_instance_id)]
        return (node.node_type, given["replica"] if given["replica"] >= 0 else node.im_instance_id)

    def idle(self, node, ctx):
        timeout = ctx.get_node_type_configs()[node.node_type].idle_timeout_s
        return (
            node.status == Status.SCHEDULABLE
            and node.node_kind != NodeKind.HEAD
            and node.idle_duration_ms > timeout * 1000
            and not any(node.sched_requests.values())
        )

    def terminate_idle(self, ctx):
        counts = ctx.get_cluster_shape()
        nodes = ctx.get_nodes()
        members = collections.defaultdict(list)
        for node in nodes:
            if node.im_instance_id:
                members[self.replica(node)].append(node)
        for node in sorted(nodes, key=Scheduler._sort_nodes_for_termination):
            if not node.im_instance_id or node.status != Status.SCHEDULABLE:
                continue
            replica = members[self.replica(node)]
            config = ctx.get_node_type_configs()[node.node_type]
            if not all(self.idle(n, ctx) for n in replica):
                continue
            if counts[node.node_type] - len(replica) < config.min_worker_nodes:
                continue
            counts[node.node_type] -= len(replica)
            for member in replica:
                member.status = Status.TO_TERMINATE
                member.termination_request = TerminationRequest(
                    instance_id=member.im_instance_id
                )
        ctx.update(nodes)


def whole_replicas(problem, scale):
    replicas = Replicas(problem)
    return independent_minimum(problem, scale) + [
        (Node, "from_node_config", staticmethod(replicas.make_template)),
        (Scheduler, "_try_schedule", staticmethod(replicas.try_list)),
        (Scheduler, "_sched_best_node", staticmethod(replicas.choose)),
        (Scheduler, "_enforce_idle_termination", staticmethod(replicas.terminate_idle)),
    ]


# In the order in which they are applied: gpu-parts wraps what fixed-point sets.
ALL = {
    "fixed-point": fixed_point,
    "gpu-parts": gpu_parts,
    "min-workers": independent_minimum,
    "partial-constraint": partial_constraint,
    "cancelled-launch": cancelled_launches,
    "unknown-group": unknown_group,
    "held-place": held_places,
    "leaving-worker": leaving_workers,
    "dead-raylet": dead_raylets,
    "group-maxima": group_maxima,
    "multi-host": whole_replicas,
}


def possible(problem, state):
    """Corrections that could make a difference in this problem."""
    counts = collections.Counter(n["type"] for n in problem["nodes"])
    states = {n["state"] for n in problem["nodes"]}
    missing = [t["min"] - counts[i] for i, t in enumerate(problem["types"])]
    conditions = {
        "fixed-point": True,
        "gpu-parts": True,
        "min-workers": max(missing) > 1,
        "partial-constraint": not problem["atomic"] and state["clusterResourceConstraints"],
        "cancelled-launch": max(missing) > 0 and problem["maxNodes"] < sum(
            t["max"] for t in problem["types"]
        ),
        "unknown-group": counts[-1] > 0,
        "held-place": "draining" in states,
        "leaving-worker": problem.get("groupMaxima")
        and any(counts[i] > t["max"] for i, t in enumerate(problem["types"])),
        "dead-raylet": "dead" in states,
        "group-maxima": problem.get("groupMaxima")
        and any(counts[i] > t["max"] for i, t in enumerate(problem["types"])),
        "multi-host": any(t["hosts"] > 1 for t in problem["types"]),
    }
    return [name for name in ALL if conditions[name]]


@contextlib.contextmanager
def applied(names, problem, scale):
    saved = []
    try:
        for name in [n for n in ALL if n in names]:
            for owner, attribute, value in ALL[name](problem, scale):
                saved.append((owner, attribute, owner.__dict__[attribute]))
                setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in reversed(saved):
            setattr(owner, attribute, value)
