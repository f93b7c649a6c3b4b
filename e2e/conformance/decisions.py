"""Corrections that concern decisions alone, not the packing: see corrections.py."""

import collections

from ray.autoscaler.v2 import scheduler as ray_scheduler
from ray.autoscaler.v2.instance_manager.config import NodeTypeConfig

import canonical
import generate
import waiting

Scheduler = ray_scheduler.ResourceDemandScheduler
Context = Scheduler.ScheduleContext
Status = ray_scheduler.SchedulingNodeStatus


def with_configs(change):
    """Ray's groups after change(name, config), which gives the members that are otherwise."""
    original = Context.from_schedule_request.__func__

    def make(cls, request):
        configs = {
            name: NodeTypeConfig(**dict(vars(config), **change(name, config)))
            for name, config in request.node_type_configs.items()
        }
        saved, request.node_type_configs = request.node_type_configs, configs
        try:
            return original(cls, request)
        finally:
            request.node_type_configs = saved

    return [(Context, "from_schedule_request", classmethod(make))]


def node_group_label(problem, _):
    """Ray's label with the name of the group is known from zero."""
    names = {t["name"] for t in problem["types"][1:]}

    def change(name, config):
        label = {generate.NODE_GROUP: name} if name in names else {}
        return {"labels": dict(config.labels, **label)}

    return with_configs(change)


# ---- resources of living workers against their template ----


def is_own(name):
    """Of one worker alone."""
    return name.startswith("node:") or name.endswith("-head")


def asked_names(state):
    return {n for r in canonical.Order.all_requests(state) for n in r["resourcesBundle"]}


def learned(problem, index):
    """Resources and labels of a new worker where they are other than the template's."""
    type_ = problem["types"][index]
    seen = [
        n for n in problem["nodes"] if n["type"] == index and n["state"] in ("running", "named")
    ]
    if not problem["learns"] or not seen:
        return {}, {}
    asked, resources = asked_names(problem["rayState"]), {}
    names = set(type_["resources"]) | (set(seen[0]["total"]) & asked)
    for name in filter(lambda n: not is_own(n), names):
        resources[name] = min(n["total"].get(name, 0) for n in seen)
    resources = {
        name: value
        for name, value in resources.items()
        if value != type_["resources"].get(name, 0)
    }
    models = {n["labels"].get(generate.ACCELERATOR_TYPE) for n in seen}
    model = models.pop() if len(models) == 1 else None
    return resources, {generate.ACCELERATOR_TYPE: model} if model else {}


def learned_template(problem, scale):
    """The resources of the living workers of a group count for its next ones."""
    found = {t["name"]: learned(problem, i) for i, t in enumerate(problem["types"]) if i}

    def change(name, config):
        resources, labels = found.get(name, ({}, {}))
        amounts = {
            n: float(value) if scale == 1 else float(canonical.amount(value))
            for n, value in resources.items()
        }
        return {
            "resources": dict(config.resources, **amounts),
            "labels": dict(config.labels, **labels),
        }

    return with_configs(change)


# ---- workers that may be terminated ----


def is_unregistered(node):
    return node["start"] != "running" or node["unregisteredS"] >= 30


def when_idle(problem, _):
    """Above a maximum only workers that cannot be busy are terminated: idle ones, and those not in Ray."""
    original = Scheduler._select_nodes_to_terminate

    def may_go(node):
        if not node.im_instance_id:
            return True
        given = problem["nodes"][int(node.im_instance_id)]
        if given["state"] == "running":
            return given["idleMs"] > 0
        return given["state"] == "asked" or (given["state"] == "starting" and is_unregistered(given))

    def select(nodes, count, *rest, **named):
        free = [n for n in nodes if may_go(n)]
        gone, kept = original(free, min(count, len(free)), *rest, **named)
        return gone, kept + [n for n in nodes if not may_go(n)]

    return [(Scheduler, "_select_nodes_to_terminate", staticmethod(select))]


def launches_come_first(problem, _):
    """An idle worker that minReplicas needs is kept until launched ones have registered. A worker
    that drains and is in use, and a Pod whose raylet died, count as registered."""
    original = Scheduler._enforce_idle_termination
    names = [t["name"] for t in problem["types"]]

    def enforce(ctx):
        shape = ctx.get_cluster_shape
        known = {n.im_instance_id for n in ctx.get_nodes()}
        launched = collections.Counter(
            n.node_type for n in ctx.get_nodes() if n.status == Status.TO_LAUNCH
        )
        held = collections.Counter(
            names[n["type"]]
            for i, n in enumerate(problem["nodes"])
            if n["type"] >= 0 and str(i) not in known
            and (n["state"] == "dead"
                 or (n["state"] == "draining" and n["available"] != n["total"]))
        )
        ctx.get_cluster_shape = lambda: {
            name: count - max(0, launched[name] - held[name]) for name, count in shape().items()
        }
        try:
            original(ctx)
        finally:
            del ctx.get_cluster_shape

    return [(Scheduler, "_enforce_idle_termination", staticmethod(enforce))]


def possible(problem, state):
    """As in corrections.possible: the causes of a difference that this problem has."""
    counts = collections.Counter(n["type"] for n in problem["nodes"])
    keys = {
        c["labelKey"]
        for r in canonical.Order.all_requests(state)
        for s in r.get("labelSelectors", [])
        for c in s["labelConstraints"]
    }
    decided = problem.get("remembers")
    return {
        "node-group-label": decided and generate.NODE_GROUP in keys,
        "learned-template": decided
        and any(any(learned(problem, i)) for i in range(1, len(problem["types"]))),
        "when-idle": decided
        and problem["whenIdle"]
        and any(counts[i] > t["max"] for i, t in enumerate(problem["types"])),
        "min-launch": decided and any(t["min"] for t in problem["types"][1:]),
        "waiting-gang": decided and waiting.possible(problem, state),
    }


ALL = {
    "node-group-label": node_group_label,
    "learned-template": learned_template,
    "when-idle": when_idle,
    "min-launch": launches_come_first,
    "waiting-gang": waiting.waiting_gangs,
}
