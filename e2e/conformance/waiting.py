"""The correction for placement groups that wait: they keep the idle workers that they would use."""

import dataclasses
from types import SimpleNamespace

from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig
from ray.autoscaler.v2.schema import AutoscalerInstance
from ray.core.generated.autoscaler_pb2 import GangResourceRequest, ResourceRequestByCount
from ray.core.generated.instance_manager_pb2 import Instance

Scheduler = ray_scheduler.ResourceDemandScheduler
Context = Scheduler.ScheduleContext
Status = ray_scheduler.SchedulingNodeStatus
Source = ray_scheduler.ResourceRequestSource

# TRIALS_MAX of src/core/decide/gang_hold.c.
TRIALS = 4


def freed(instance):
    """The same worker without work."""
    node = instance.ray_node
    if node is not None:
        node = SimpleNamespace(**dict(vars(node), available_resources=dict(node.total_resources)))
    return AutoscalerInstance(
        ray_node=node, im_instance=instance.im_instance, cloud_instance_id=instance.cloud_instance_id
    )


def choices(gang):
    if not gang.bundle_selectors:
        return [gang]
    return [GangResourceRequest(requests=gang.requests, bundle_selectors=[s]) for s in gang.bundle_selectors]


def bundles(gang):
    return gang.bundle_selectors[0].resource_requests if gang.bundle_selectors else gang.requests


class Waiting:
    """Wraps the parts of Ray's scheduler that see the request, the placement groups and the idle workers. A trial
    is another call of the scheduler, with all corrections."""

    # A trial in which all work has ended: a worker that drains makes room below maxReplicas (draining_workers).
    work_has_ended = False

    def __init__(self, problem):
        self.nodes = problem["nodes"]
        self.trial = self.launches = None
        self.start = Context.from_schedule_request.__func__
        self.place = Scheduler._sched_gang_resource_requests
        self.finish = Scheduler._enforce_idle_termination
        self.available = Context._compute_available_node_types

    def begin(self, cls, request):
        if not self.trial:
            self.request = request
        return self.start(cls, request)

    def place_gangs(self, ctx, gangs):
        left = self.place(ctx, gangs)
        if not self.trial:
            self.left = left
        return left

    def available_types(self, nodes, configs):
        found = self.available(nodes, configs)
        return {name: 0 for name in found} if self.trial == "free" else found

    def schedule(self, trial, **changes):
        self.trial, Waiting.work_has_ended = trial, trial == "ended"
        try:
            return Scheduler().schedule(dataclasses.replace(self.request, **changes))
        finally:
            self.trial, Waiting.work_has_ended = None, False

    def used(self):
        """The workers that the last trial placed demand on."""
        return {n.im_instance_id for n in self.ctx.get_nodes() if n.sched_requests[Source.PENDING_DEMAND]}

    def used_when_work_has_ended(self, gang, order):
        """None: the gang does not fit. Workers that are not capacity now count as well."""
        rest = [i for i in self.request.current_instances if i.im_instance.instance_id not in order]
        reply = self.schedule(
            "ended",
            resource_requests=[],
            gang_resource_requests=[gang],
            current_instances=[freed(self.instances[name]) for name in order]
            + [i for i in rest if i.im_instance.instance_id not in self.above],
        )
        return None if reply.infeasible_gang_resource_requests else self.used()

    def used_now(self, gang, order):
        """As many bundles as fit, without launches."""
        if any(c.HasField("affinity") for r in bundles(gang) for c in r.placement_constraints):
            return set()
        configs = {
            name: NodeTypeConfig(**dict(vars(config), min_worker_nodes=0))
            for name, config in self.request.node_type_configs.items()
        }
        self.schedule(
            "free",
            node_type_configs=configs,
            max_num_nodes=None,
            resource_requests=[ResourceRequestByCount(request=r, count=1) for r in bundles(gang)],
            gang_resource_requests=[],
            cluster_resource_constraints=[],
            current_instances=[self.instances[name] for name in order],
        )
        return self.used()

    def replica(self, name):
        node = self.nodes[int(name)]
        return (node["type"], node["replica"]) if node["replica"] >= 0 else name

    def rank(self, node, idle):
        """As in gang_hold.c."""
        if node.im_instance_id in idle:
            return 1
        if node.sched_requests[Source.PENDING_DEMAND]:
            return 4
        if node.im_instance_status != Instance.RAY_RUNNING:
            return 2
        given = self.instances[node.im_instance_id].ray_node
        return 0 if given.total_resources == given.available_resources else 3

    def kept(self, nodes, idle):
        """Replicas with workers that the first placement group uses that fits once all work has ended."""
        self.instances = {i.im_instance.instance_id: i for i in self.request.current_instances}
        ranks = [[], [], [], [], []]
        for node in sorted((n for n in nodes if n.im_instance_id), key=lambda n: int(n.im_instance_id)):
            if node.im_instance_id not in self.above:
                ranks[self.rank(node, idle)].append(node.im_instance_id)
        free = sum(ranks[:-1], [])
        for gang in [choice for gang in self.left for choice in choices(gang)][:TRIALS]:
            used = self.used_when_work_has_ended(gang, free + ranks[-1])
            if used is not None:
                return {self.replica(name) for name in (used | self.used_now(gang, free)) & idle}
        return set()

    def terminate_idle(self, ctx):
        above = {n.im_instance_id for n in ctx.get_nodes() if n.status == Status.TO_TERMINATE}
        self.finish(ctx)
        if self.trial:
            self.ctx = ctx
            return
        nodes, self.above = ctx.get_nodes(), above
        idle = {n.im_instance_id for n in nodes if n.status == Status.TO_TERMINATE} - above
        kept = self.kept(nodes, idle) if idle else set()
        for node in nodes:
            if node.im_instance_id in idle and self.replica(node.im_instance_id) in kept:
                node.status, node.termination_request = Status.SCHEDULABLE, None
        ctx.update(nodes)

    def replacements(self):
        return [
            (Context, "from_schedule_request", classmethod(lambda cls, request: self.begin(cls, request))),
            (Context, "_compute_available_node_types", staticmethod(self.available_types)),
            (Scheduler, "_sched_gang_resource_requests", staticmethod(self.place_gangs)),
            (Scheduler, "_enforce_idle_termination", staticmethod(self.terminate_idle)),
        ]


def waiting_gangs(problem, _):
    return Waiting(problem).replacements()


def possible(problem, state):
    timeouts = [t["idleTimeoutMs"] for t in problem["types"]]
    return any(state["pendingGangResourceRequests"]) and any(
        n["state"] == "running" and n["idleMs"] > timeouts[n["type"]] for n in problem["nodes"] if n["type"] >= 0
    )
