"""The correction for groups with several hosts, the largest of corrections.py."""

import collections

from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.core.generated.instance_manager_pb2 import NodeKind, TerminationRequest

Scheduler = ray_scheduler.ResourceDemandScheduler
Node = ray_scheduler.SchedulingNode
Status = ray_scheduler.SchedulingNodeStatus


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
        self.count, self.most = len(ctx.get_nodes()), ctx.get_max_num_nodes()
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
            hosts = self.hosts.get(node.node_type, 1)
            fits = self.most is None or self.count + hosts <= self.most
            if node.node_type not in names and self.room[node.node_type] > 0 and fits:
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
        self.count += self.hosts.get(best.node_type, 1)
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

    def replacements(self):
        return [
            (Node, "from_node_config", staticmethod(self.make_template)),
            (Scheduler, "_try_schedule", staticmethod(self.try_list)),
            (Scheduler, "_sched_best_node", staticmethod(self.choose)),
            (Scheduler, "_enforce_idle_termination", staticmethod(self.terminate_idle)),
        ]
