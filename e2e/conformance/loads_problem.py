"""Snapshots of loads that grow: the rows of bench_decide.py with an aim.

A load is a function of its size. Workers have 64 CPUs, 8 GPUs and 256 GiB, with any part of them free.
"""

from __future__ import annotations

import base64
import random
from typing import NamedTuple

GIB = 1 << 30
CPUS, GPUS, MEMORY = 64, 8, 256 * GIB
NOW, STARTED, GATED = "2026-11-21T10:00:00Z", "2026-11-21T09:00:00Z", "2026-11-21T09:59:00Z"
GANGS = 1000
CHOICES = 32


class Load(NamedTuple):
    make: object
    sizes: tuple[int, ...]


# ---- workers ----


def container(name, cpu, memory, gpu=0):
    limits = {"cpu": str(cpu), "memory": str(memory)}
    if gpu:
        limits["nvidia.com/gpu"] = str(gpu)
    return {"name": name, "image": "rayproject/ray:2.60.0", "resources": {"limits": limits, "requests": limits}}


def group(name, *, replicas=0, hosts=1, cpu=CPUS, gpu=GPUS, resources=None, labels=None, params=None, spec=None):
    return {
        "groupName": name,
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 100000,
        "numOfHosts": hosts,
        "rayStartParams": params or {},
        "labels": labels or {},
        **({"resources": resources} if resources else {}),
        "template": {"spec": {"containers": [container("ray-worker", cpu, MEMORY, gpu)], **(spec or {})}},
    }


def pod(name, group_name, kind="worker", replica=None):
    labels = {"ray.io/cluster": "demo", "ray.io/node-type": kind, "ray.io/group": group_name}
    if replica:
        labels["ray.io/worker-group-replica-name"] = replica
    return {
        "metadata": {"namespace": "default", "name": name, "labels": labels, "creationTimestamp": STARTED},
        "spec": {"containers": [container(f"ray-{kind}", CPUS, MEMORY, GPUS)], "nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": STARTED}],
            "containerStatuses": [{"name": f"ray-{kind}", "state": {"running": {"startedAt": STARTED}}}],
        },
    }


def ray_node(number, name, group_name, total, available, labels=None, idle_s=0):
    return {
        "nodeId": base64.b64encode(number.to_bytes(28, "big")).decode(),
        "instanceId": name,
        "rayNodeTypeName": group_name,
        "status": "IDLE" if idle_s else "RUNNING",
        **({"idleDurationMs": str(1000 * idle_s)} if idle_s else {}),
        "totalResources": total,
        "availableResources": available,
        "labels": labels or {},
    }


class Cluster:
    def __init__(self):
        self.pick = random.Random(1)
        self.groups, self.pods, self.nodes = [], [pod("demo-head", "headgroup", "head")], []
        self.ray, self.annotations, self.rest = {}, {}, {"settings": {}}
        head = {"CPU": 0, "node:__internal_head__": 1}
        self.nodes.append(ray_node(0, "demo-head", "headgroup", head, head))

    def worker(self, group_name, *, labels=None, idle_s=0, replica=None, cpu=CPUS, gpu=GPUS, more=None):
        number = len(self.nodes)
        name = f"w-{number:06}"
        total = {"CPU": cpu, "GPU": gpu, "memory": MEMORY, "object_store_memory": 8 * GIB, f"node:{name}": 1, **(more or {})}
        free = dict(total)
        if not idle_s:
            free.update(CPU=self.pick.randrange(cpu + 1), GPU=self.pick.randrange(gpu + 1),
                        memory=MEMORY // 8 * self.pick.randrange(9), object_store_memory=8 * GIB - self.pick.randrange(GIB))
        labels = {"ray.io/node-id": name, **(labels or {})}
        self.nodes.append(ray_node(number, name, group_name, total, free, labels, idle_s))
        self.pods.append(pod(name, group_name, replica=replica))

    def workers(self, count, group_name="g", **settings):
        self.groups.append(group(group_name, replicas=count))
        for number in range(count):
            own = {key: value(number) if callable(value) else value for key, value in settings.items()}
            self.worker(group_name, **own)

    def snapshot(self):
        head = {"containers": [container("ray-head", 1, GIB)]}
        return {
            "apiVersion": "rayscaler.dev/v1alpha1",
            "kind": "Snapshot",
            "now": NOW,
            "rayState": {"clusterSessionName": "session", "nodeStates": self.nodes, **self.ray},
            "pods": self.pods,
            "rayCluster": {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": {"namespace": "default", "name": "demo", "annotations": self.annotations},
                "spec": {
                    "rayVersion": "2.60.0",
                    "enableInTreeAutoscaling": True,
                    "autoscalerOptions": {"idleTimeoutSeconds": 60},
                    "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": {"spec": head}},
                    "workerGroupSpecs": self.groups,
                },
            },
            **self.rest,
        }


# ---- demand ----


def own_amounts(number):
    pick = random.Random(number)
    return {"CPU": 1 + pick.randrange(70000) / 10000, "memory": (1 + pick.randrange(31)) * GIB + number}


def at(key, *values):
    return {"labelConstraints": [{"labelKey": key, "operator": "LABEL_OPERATOR_IN", "labelValues": list(values)}]}


def own_or_zone(number):
    return [at("ray.io/node-id", f"w-{number + 1:06}"), at("zone", "a")]


def zone(number):
    return {"zone": "a" if number % 4 else "b"}


def bundle(amounts, number, strategy, selectors=()):
    made = {"resourcesBundle": amounts}
    if strategy == "STRICT_SPREAD":
        made["placementConstraints"] = [{"antiAffinity": {"labelName": f"_PG_{number:032x}", "labelValue": ""}}]
    if selectors:
        made["labelSelectors"] = list(selectors)
    return made


def gang(number, amounts, count, strategy="PACK", choices=((),), locality=None):
    """`choices`: the label selectors of a bundle, for each bundle selector."""
    return {
        "details": f"{number:032x}:{strategy}|PENDING",
        "requests": [bundle(amounts, number, strategy, choices[0])] * count,
        "bundleSelectors": [
            {"resourceRequests": [bundle(amounts, number, strategy, selectors)] * count,
             **({"localityRequirement": locality} if locality else {})}
            for selectors in choices
        ],
    }


def tasks(cluster, requests):
    cluster.ray["pendingResourceRequests"] = [{"count": 1, "request": each} for each in requests]


def gangs(cluster, made):
    cluster.ray["pendingGangResourceRequests"] = list(made)


# ---- the loads ----


def base(_):
    cluster = Cluster()
    cluster.workers(1000)
    cluster.ray["pendingResourceRequests"] = [
        {"count": 500, "request": {"resourcesBundle": {"CPU": 1 + i % 4, "memory": (1 + i) * GIB / 4}}} for i in range(20)
    ]
    return cluster


def selectors(n, amounts=lambda number: {"CPU": 1}):
    """Tasks that prefer a node of their own; many nodes serve the second choice of all."""
    cluster = Cluster()
    cluster.workers(n // 10, labels=zone)
    tasks(cluster, ({"resourcesBundle": amounts(i), "labelSelectors": own_or_zone(i)} for i in range(n)))
    return cluster


def own_selectors(n):
    return selectors(n, own_amounts)


def distinct(n):
    cluster = Cluster()
    cluster.workers(n // 10)
    tasks(cluster, ({"resourcesBundle": own_amounts(i)} for i in range(n)))
    return cluster


def spread(n):
    """STRICT_SPREAD groups with a selector of their own and a shared one."""
    cluster = Cluster()
    cluster.workers(2 * n, labels=zone)
    gangs(cluster, (gang(i, {"CPU": 4, "GPU": 1}, 2, "STRICT_SPREAD", [own_or_zone(i)]) for i in range(n)))
    return cluster


def bundles(n):
    """Tasks of placement groups, one bundle each, on 1,000 workers."""
    cluster = Cluster()
    cluster.workers(1000)
    for i in range(n):
        node = cluster.nodes[1 + i % 1000]
        for name in (f"CPU_group_0_{i:032x}", f"CPU_group_{i:032x}"):
            node["totalResources"][name] = node["availableResources"][name] = 1
        for name in (f"bundle_group_0_{i:032x}", f"bundle_group_{i:032x}"):
            node["totalResources"][name] = node["availableResources"][name] = 1000
    tasks(cluster, ({"resourcesBundle": {f"CPU_group_{i:032x}": 1, f"bundle_group_{i:032x}": 0.001}} for i in range(n)))
    return cluster


def equal_groups(n):
    cluster = Cluster()
    for i in range(n):
        cluster.workers(20, f"g{i}")
    gangs(cluster, (gang(i, {"CPU": 4, "GPU": 1}, 4) for i in range(GANGS)))
    return cluster


def resizable(n):
    cluster = Cluster()
    cluster.annotations["ray.io/ippr"] = f'{{"groups": {{"g": {{"max-cpu": "{2 * CPUS}", "max-memory": "512Gi", "resize-timeout": 300}}}}}}'
    cluster.rest["settings"]["in-place-resize"] = True
    cluster.workers(n // 4)
    tasks(cluster, ({"resourcesBundle": own_amounts(i)} for i in range(n)))
    return cluster


def choices(n):
    """Placement groups of which only the last of 32 selectors fits."""
    cluster = Cluster()
    cluster.workers(n, labels=zone)
    gangs(cluster, (
        gang(i, {"CPU": 4, "GPU": 1}, 2, choices=[(at("rack", f"r{i}-{j}"),) for j in range(CHOICES - 1)] + [(at("zone", "a"),)])
        for i in range(n)
    ))
    return cluster


def hosts(n):
    """Idle replicas of 4 hosts, kept for a placement group of n bundles that waits for running work."""
    cluster = Cluster()
    cluster.groups.append(group("g", replicas=n // 4, hosts=4))
    cluster.groups[0]["maxReplicas"] = n // 4 + 1
    for number in range(n):
        cluster.worker("g", idle_s=61, replica=f"g-{number // 4}")
    cluster.groups.append(group("busy", replicas=1))
    cluster.groups[1]["maxReplicas"] = 1
    cluster.worker("busy")
    cluster.nodes[-1]["availableResources"].update(CPU=0, GPU=0)
    # All places of the idle workers and of one more replica, and half of the busy worker.
    gangs(cluster, [gang(0, {"CPU": 8, "GPU": 1}, 8 * n + 36)])
    return cluster


def gated(n):
    """Pods that Kueue does not admit are cancelled."""
    cluster = Cluster()
    for name in ("g", "h"):
        cluster.groups.append(group(name, replicas=n if name == "g" else 0))
    for number in range(n):
        made = pod(f"w-{number:06}", "g")
        made["metadata"]["creationTimestamp"] = GATED
        del made["spec"]["nodeName"]
        made["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/elastic-job"}]
        made["status"] = {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastTransitionTime": GATED}]}
        cluster.pods.append(made)
    return cluster


def tied(label):
    return {"localityConstraint": {"labelName": label, "placementStrategy": "STRICT_PACK"}}


def topology(cluster, count, label):
    gangs(cluster, (gang(i, {"CPU": 4, "GPU": 1}, 4, locality=tied(label)) for i in range(count)))
    return cluster


def topo_hosts(n):
    """1,000 placement groups, each on one of n workers."""
    cluster = Cluster()
    cluster.workers(n, labels=lambda number: {"host": f"h{number}"})
    return topology(cluster, GANGS, "host")


def topo_racks(n):
    cluster = Cluster()
    cluster.workers(n, labels=lambda number: {"rack": f"r{number // 16}"})
    return topology(cluster, GANGS, "rack")


def pinned(cluster, workers):
    """20 groups of one clique each, whose Pods read their labels from a file."""
    for i in range(20):
        cluster.groups.append(group(
            f"g{i}", replicas=workers // 20, params={"labels-file": "/tmp/labels.yaml"},
            spec={"nodeSelector": {"nvidia.com/gpu.clique": f"a.{i}"}}))
    for number in range(workers):
        cluster.worker(f"g{number % 20}", labels={"ray.io/gpu-domain": f"a.{number % 20}"})


def topo_pinned(n):
    cluster = Cluster()
    pinned(cluster, n)
    return topology(cluster, GANGS, "ray.io/gpu-domain")


def topo_many(n):
    """n placement groups, 20 workers."""
    cluster = Cluster()
    pinned(cluster, 20)
    return topology(cluster, n, "ray.io/gpu-domain")


def requested(n):
    """request_resources of own bundles, met by n / 8 idle workers of 100 groups with a resource of their own."""
    cluster = Cluster()
    for i in range(100):
        cluster.groups.append(group(f"g{i}", replicas=n // 800, resources={"CPU": str(CPUS), f"r{i}": "1"}))
    for number in range(n // 8):
        cluster.worker(f"g{number % 100}", idle_s=61, more={f"r{number % 100}": 1})
    cluster.ray["clusterResourceConstraints"] = [
        {"resourceRequests": [{"count": 1, "request": {"resourcesBundle": own_amounts(i)}} for i in range(n)]}
    ]
    return cluster


LOADS = {
    "selectors": Load(selectors, (1000, 2000, 4000)),
    "own-selectors": Load(own_selectors, (1000, 2000, 4000)),
    "distinct": Load(distinct, (1000, 2000, 4000)),
    "spread": Load(spread, (250, 500, 1000)),
    "bundles": Load(bundles, (1000, 2000, 4000)),
    "equal-groups": Load(equal_groups, (50, 100, 200)),
    "resizable": Load(resizable, (1000, 2000, 4000)),
    "choices": Load(choices, (250, 500, 1000)),
    "hosts": Load(hosts, (2500, 5000, 10000)),
    "gated": Load(gated, (2500, 5000, 10000)),
    "topo-hosts": Load(topo_hosts, (250, 500, 1000)),
    "topo-racks": Load(topo_racks, (1000, 2000, 4000)),
    "topo-pinned": Load(topo_pinned, (120, 240, 480)),
    "topo-many": Load(topo_many, (1500, 3000, 6000)),
    "requested": Load(requested, (4000, 8000, 16000)),
}


def snapshot(name, size):
    return (base if name == "base" else LOADS[name].make)(size).snapshot()
