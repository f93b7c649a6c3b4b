"""Random scheduling problems, as members of the snapshot and of src/test/tools/codec_schedule.c.

A problem is plain JSON. Amounts are those that a Ray user can write; some problems draw from decimal
fractions on purpose (0.1, 0.3), which doubles cannot hold.
"""

import random

GIB = 1 << 30
ZONES = ["a", "b", "c"]
TIERS = ["gold", "iron"]
MODELS = ["A100", "H100", "T4"]
NODE_GROUP, ACCELERATOR_TYPE = "ray.io/node-group", "ray.io/accelerator-type"
# Resources that a container's limits can have by themselves.
LIMITS = {"CPU": "cpu", "GPU": "nvidia.com/gpu", "memory": "memory"}
WHOLE_CPUS = [1, 1, 1, 2, 2, 4]
BINARY_PARTS = [0.25, 0.5, 0.75]
STARTS = ["pending", "unschedulable", "pulling", "running"]
NOW_S = 1795168800  # 2026-11-20T10:00:00Z
DECIMAL_PARTS = [0.1, 0.2, 0.3, 0.33, 0.4, 0.6, 0.7, 0.8, 0.9]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.waiting = random.Random(f"waiting {seed}")
        chance = self.random.random
        self.multi_host = chance() < 0.1
        self.all_states = chance() < 0.3 and not self.multi_host
        self.large = chance() < 0.02
        self.decimals = chance() < 0.15
        self.gpu_parts = chance() < 0.25
        self.labels = chance() < 0.4
        self.customs = chance() < 0.4
        self.memory = chance() < 0.5
        self.accelerators = chance() < 0.12
        self.ray_labels = self.labels and chance() < 0.4
        self.limits = chance() < 0.3
        self.learns = chance() < 0.4
        self.edited = not self.learns and chance() < 0.3  # templates, since their workers started
        self.extras = self.learns and chance() < 0.3
        self.store = chance() < 0.1
        self.many_groups = chance() < 0.03
        self.many_nodes = chance() < 0.01
        self.when_idle = chance() < 0.5 and not self.multi_host

    def part(self):
        return self.random.choice(DECIMAL_PARTS if self.decimals else BINARY_PARTS)

    # ---- groups ----

    def group_labels(self):
        labels = {}
        if self.labels and self.random.random() < 0.7:
            labels["zone"] = self.random.choice(ZONES)
        if self.labels and self.random.random() < 0.4:
            labels["tier"] = self.random.choice(TIERS)
        return labels

    def type(self, index):
        pick = self.random
        resources = {"CPU": pick.choice([1, 2, 4, 4, 8, 8, 16])}
        if pick.random() < 0.45:
            resources["GPU"] = pick.choice([1, 1, 2, 4, 8])
            if pick.random() < 0.3:
                resources["accelerator_type:" + pick.choice(["A100", "H100"])] = 1
        elif self.accelerators and pick.random() < 0.5:
            resources.update(pick.choice([{"TPU": 4, "TPU-v4-16-head": 1}, {"neuron_cores": 2}]))
        if self.memory and pick.random() < 0.9:
            resources["memory"] = pick.choice([4, 8, 16, 64]) * GIB
        if self.customs and pick.random() < 0.5:
            resources[pick.choice(["disk", "license"])] = pick.choice([1, 2, 5])
        from_limits = self.limits and set(resources) <= set(LIMITS) and pick.random() < 0.7
        maximum = pick.choice([0, 1, 2, 3, 5, 10, 40])
        minimum = 0 if pick.random() < 0.75 else pick.randint(0, min(maximum, 4))
        hosts = pick.choice([1, 1, 2, 4]) if self.multi_host else 1
        return {
            "name": f"group-{index}",
            "resources": resources,
            "labels": self.group_labels(),
            "fromLimits": from_limits,
            "real": self.real(resources),
            "min": minimum * hosts,
            "max": maximum * hosts,
            "hosts": hosts,
            "priority": pick.choice([0, 0, 0, 0, 1, 10, -3]),
            "idleTimeoutMs": pick.choice([60000, 60000, 60000, 10000, 0, 300000]),
        }

    def real(self, promised):
        """The resources of workers that differ from their template."""
        pick, real = self.random, {}
        if (self.learns or self.edited) and pick.random() < (0.7 if self.edited else 0.3):
            name = pick.choice(sorted(promised))
            real[name] = promised[name] // 2 or promised[name]
        if self.extras and pick.random() < 0.6:
            real["ssd"] = pick.choice([1, 2])
        if self.ray_labels and "GPU" in promised and pick.random() < 0.3:
            real["accelerator_type:T4"] = 1
        return real

    def types(self):
        head = {
            "name": "headgroup",
            "resources": {"CPU": self.random.choice([0, 1, 2, 4, 8])},
            "labels": self.group_labels() if self.random.random() < 0.3 else {},
            "min": 0,
            "max": 1,
            "hosts": 1,
            "priority": 0,
            "idleTimeoutMs": 60000,
        }
        if self.random.random() < 0.15:
            head["resources"]["GPU"] = self.random.choice([1, 2])
        if self.memory:
            head["resources"]["memory"] = 8 * GIB
        count = self.random.randint(9, 14) if self.many_groups else self.random.randint(1, 8)
        types = [head] + [self.type(i) for i in range(1, 1 + count)]
        if self.random.random() < 0.15 and len(types) > 2:  # ties are decided by the order
            types[-1] = dict(types[1], name=types[-1]["name"])
        return types

    # ---- nodes ----

    def used(self, name, total):
        pick = self.random
        state = pick.random()
        if state < 0.4:
            return 0
        if state < 0.6:
            return total
        if name == "memory":
            return total // pick.choice([2, 4, 8])
        if name == "CPU" and pick.random() < 0.15:
            return min(total, pick.randint(0, int(total)) + self.part())
        if name == "GPU" and self.gpu_parts and pick.random() < 0.5:
            return min(total, pick.randint(0, int(total)) + self.part())
        return pick.randint(0, int(total))

    def running(self, node, type_, number):
        pick = self.random
        total = dict(type_["resources"])
        if pick.random() < 0.8:
            total.update(type_.get("real", {}))
        total[f"node:10.0.0.{number}"] = 1
        total["object_store_memory"] = pick.choice([1, 2]) * GIB
        idle = pick.random() < 0.4
        available = dict(total)
        if not idle:
            for name in list(type_["resources"]):
                left = round(total[name] - self.used(name, total[name]), 4)
                available[name] = left
                if not left and pick.random() < 0.3:
                    del available[name]
            if pick.random() < 0.3:
                available["object_store_memory"] -= pick.randint(1, GIB)
        node["labels"] = dict(type_["labels"], **{"ray.io/node-id": f"n{number}"})
        node["labels"][NODE_GROUP] = type_["name"] if node["type"] >= 0 else "gone"
        for name in total:
            if name.startswith("accelerator_type:"):
                node["labels"][ACCELERATOR_TYPE] = name.split(":")[1]
        node["total"], node["available"] = total, available
        node["deadBefore"] = pick.random() < 0.05  # its raylet was started again in its Pod
        if idle and node["state"] == "running":
            node["idleMs"] = pick.choice([1000, 9999, 10000, 10001, 60000, 60001, 61000, 400000])

    def state(self):
        states = ["running"] * 15 + ["starting"] * 4
        if self.all_states:
            states += ["asked", "draining", "dead", "deleting", "named"]
        return self.random.choice(states)

    def node(self, types, index, number):
        type_ = types[index]
        node = {
            "type": index,
            "head": index == 0,
            "replica": -1,
            "mayTerminate": index != 0,
            "idleMs": 0,
            "idleTimeoutMs": type_["idleTimeoutMs"],
            "labels": type_["labels"],
            "dynamic": {},
            "total": type_["resources"],
            "available": type_["resources"],
            "state": "running" if index == 0 else self.state(),
            "start": self.random.choice(STARTS),
            "unregisteredS": self.random.choice([0, 29, 30, 600]),
        }
        if index == 0:
            node["total"] = dict(type_["resources"], **{"node:__internal_head__": 1})
            node["available"] = node["total"]
            self.running(node, dict(type_, resources=node["total"]), number)
            if self.all_states and self.random.random() < 0.05:
                node["state"], node["idleMs"] = "draining", 0
        elif node["state"] in ("running", "draining", "named"):
            self.running(node, type_, number)
        return node

    def nodes(self, types):
        nodes = [self.node(types, 0, 1)]
        wanted = self.random.choice([0, 0, 1, 2, 3, 5, 8, 15, 30, 60])
        most = 150 if self.many_nodes else 60
        wanted = 2 * most if self.many_nodes else wanted
        for index in range(1, len(types)):
            share = self.random.randint(0, max(1, 2 * wanted // (len(types) - 1)))
            limit = types[index]["max"]
            hosts = types[index]["hosts"]
            if self.random.random() < 0.1 and hosts == 1:
                limit += 2  # maxReplicas was lowered
            share = min(share, limit, most - len(nodes) + 1)
            for i in range(share // hosts * hosts):
                node = self.node(types, index, len(nodes) + 1)
                if hosts > 1:
                    node["replica"] = i // hosts
                if share > types[index]["max"] and node["state"] == "asked":
                    node["state"] = "starting"  # the operator starts no more than maxReplicas
                nodes.append(node)
        if self.all_states and self.random.random() < 0.1:
            number = len(nodes) + 1
            node = dict(self.node(types, 1, number), type=-1, state="running", unregisteredS=0)
            node["mayTerminate"] = False  # there is no replicas to lower
            self.running(node, types[1], number)
            nodes.append(node)
        # Workers without a Pod are the last of their group, as in a snapshot.
        return sorted(nodes, key=lambda n: (n["type"] % 99, n["state"] == "asked"))

    # ---- requests ----

    def bundle(self):
        pick = self.random
        bundle = {"CPU": pick.choice(WHOLE_CPUS)}
        if pick.random() < 0.2:
            bundle["CPU"] = self.part()
        if pick.random() < 0.35:
            bundle["GPU"] = pick.choice([1, 1, 1, 2, 4])
            if self.gpu_parts and pick.random() < 0.6:
                bundle["GPU"] = self.part()
            if pick.random() < 0.3:
                del bundle["CPU"]
            if pick.random() < 0.15:
                bundle["accelerator_type:" + pick.choice(["A100", "H100"])] = 0.001
        elif pick.random() < 0.05:
            bundle["GPU"] = 0
        elif self.accelerators and pick.random() < 0.4:
            asked = [{"TPU": 4}, {"TPU": 1, "TPU-v4-16-head": 1}, {"neuron_cores": 1}]
            bundle.update(pick.choice(asked))
        if self.memory and pick.random() < 0.3:
            bundle["memory"] = pick.choice([1, 2, 6]) * GIB
        if self.customs and pick.random() < 0.3:
            bundle[pick.choice(["disk", "license"])] = pick.choice([1, 1, 2])
        if self.extras and pick.random() < 0.2:
            bundle["ssd"] = pick.choice([1, 2])
        if self.store and pick.random() < 0.3:
            bundle["object_store_memory"] = pick.choice([GIB // 2, GIB, 2 * GIB])
        if pick.random() < 0.03:
            bundle["node:__internal_implicit_resource_x"] = pick.choice([1, 0.5])
        if pick.random() < 0.02:
            bundle = {}
        if pick.random() < 0.03:
            bundle[f"node:10.0.0.{pick.randint(1, 9)}"] = 0.001
        return bundle

    def selector(self):
        pick = self.random
        constraints = []
        keys = [("zone", ZONES), ("tier", TIERS)]
        if self.ray_labels:
            keys = [keys[0], (NODE_GROUP, ["group-1", "group-2"]), (ACCELERATOR_TYPE, MODELS)]
        for key, values in keys:
            if pick.random() < (0.4 if self.ray_labels else 0.6):
                constraints.append(
                    {
                        "labelKey": key,
                        "operator": pick.choice(["LABEL_OPERATOR_IN", "LABEL_OPERATOR_NOT_IN"]),
                        "labelValues": pick.sample(values, pick.choice([0] + 10 * [1, 2])),
                    }
                )
        return {"labelConstraints": constraints}

    def request(self):
        request = {"resourcesBundle": self.bundle()}
        if self.labels and self.random.random() < 0.4:
            request["labelSelectors"] = [
                self.selector() for _ in range(self.random.choice([1, 1, 2, 3]))
            ]
        return request

    def counted(self, most):
        counts = [1, 1, 2, 3, 5, 10, 20] * 3 + [50]
        found = [
            {"request": self.request(), "count": self.random.choice(counts)}
            for _ in range(self.random.randint(0, most))
        ]
        if found and self.random.random() < 0.03:  # tasks that keep apart
            apart = {"antiAffinity": {"labelName": "apart", "labelValue": "x"}}
            found[0]["request"]["placementConstraints"] = [apart]
        return found

    def gang(self, number, nodes, strategy=None, size=None):
        pick = self.random
        if not strategy and pick.random() < 0.1:
            return {}
        strategy = strategy or pick.choice(STRATEGIES)
        name = f"_PG_{number:02x}"
        kinds = [self.request() for _ in range(pick.choice([1, 1, 2]))]
        if strategy == "STRICT_PACK":
            for kind in kinds[1:]:
                kind["labelSelectors"] = kinds[0].get("labelSelectors", [])
        count = size or pick.choice([1, 2, 3, 4, 5, 6] * 3 + [8, 12])
        bundles = [dict(pick.choice(kinds)) for _ in range(count)]
        if strategy == "STRICT_SPREAD":
            constraint = [{"antiAffinity": {"labelName": name, "labelValue": ""}}]
            if pick.random() < 0.3:  # it is being rescheduled: bundles are on nodes already
                for node in nodes:
                    if node["state"] == "running" and pick.random() < 0.2:
                        node["dynamic"][name] = ""
        else:
            constraint = [{"affinity": {"labelName": name, "labelValue": ""}}]
        for bundle in bundles:
            if strategy.startswith("STRICT"):
                bundle["placementConstraints"] = constraint
        legacy = [{k: v for k, v in b.items() if k != "labelSelectors"} for b in bundles]
        gang = {"requests": legacy, "details": f"{name}:{strategy}|PENDING"}
        if pick.random() < 0.9:
            gang["bundleSelectors"] = [{"resourceRequests": bundles}]
            if pick.random() < 0.1:  # a fallback: other bundles, as many of them or fewer
                others = [self.request() for _ in range(pick.choice([1, len(bundles)]))]
                for other in others if strategy.startswith("STRICT") else []:
                    other["placementConstraints"] = constraint
                    if strategy == "STRICT_PACK":
                        other["labelSelectors"] = others[0].get("labelSelectors", [])
                gang["bundleSelectors"].append({"resourceRequests": others})
        return gang

    def gangs(self, nodes):
        pick = self.random
        if pick.random() < 0.2:  # that tie in Ray's order
            strategy = pick.choice(STRATEGIES)
            return [self.gang(i, nodes, strategy, 4) for i in range(pick.randint(2, 8))]
        return [self.gang(i, nodes) for i in range(pick.choice([0, 0, 1, 2, 4]))]

    def waits(self, types, nodes, gangs):
        """A placement group for which some workers of a group are idle, and others are in use."""
        pick = self.waiting
        for index, type_ in enumerate(types):
            mine = [n for n in nodes if n["type"] == index and n["state"] == "running" and not n["head"]]
            cpus = min((n["total"].get("CPU", 0) for n in mine), default=0)
            if len(mine) < 2 or not cpus or pick.random() < 0.2:
                continue
            for number, node in enumerate(pick.sample(mine, len(mine))):
                idle = number == 0 or (number > 1 and pick.random() < 0.5)
                free = node["total"] if idle else dict.fromkeys(node["total"], 0)
                node.update(available=dict(free), idleMs=400000 if idle else 0)
            pods = sum(n["type"] == index for n in nodes) + pick.choice([0, 0, type_["hosts"]])
            type_.update(min=0, max=-(-pods // type_["hosts"]) * type_["hosts"], idleTimeoutMs=60000)
            for node in nodes:
                if node["type"] == index:
                    node["idleTimeoutMs"] = 60000
            bundle = {"resourcesBundle": {"CPU": cpus}}
            count = max(1, len(mine) + pick.choice([0, 0, 0, 1]))
            gangs.append({"requests": [bundle] * count, "details": "_PG_ff:SPREAD|PENDING"})
            return

    # ---- earlier decisions ----

    def failures(self, problem):
        """Groups that brought no capacity: since when, and how long rayscaler holds them for it."""
        pick = self.random
        for failed in pick.sample(problem["types"][1:], min(2, len(problem["types"]) - 1)):
            failed["failed"] = {
                "elapsedS": pick.choice([5, 30, 200, 700]),
                "seconds": pick.choice([10, 40, 160, 600]),
            }
            failed["min"] = 0
            if pick.random() < 0.6:
                break
        newest = min(t["failed"]["elapsedS"] for t in problem["types"] if "failed" in t)
        for index, type_ in enumerate(problem["types"]):
            if "failed" not in type_:
                continue
            elapsed = type_["failed"]["elapsedS"]
            type_["recoverable"] = 0.0 if elapsed < 10 else min(1.0, elapsed / 600)
            type_["recency"] = 1 - (NOW_S - elapsed) / (NOW_S - newest)
            for node in problem["nodes"]:  # a Pod that is on its way stays capacity
                if node["type"] == index:
                    node["state"] = "starting" if node["state"] == "asked" else node["state"]
                    node["start"] = pick.choice(["pulling", "running"])

    def launches(self, problem):
        """Replicas that rayscaler remembers as launched by itself and as needed by nothing."""
        for index, type_ in enumerate(problem["types"]):
            states = [n["state"] for n in problem["nodes"] if n["type"] == index]
            unjoined = sum(state in ("starting", "asked") for state in states)
            others = set(states) & {"draining", "dead", "named"}
            if not unjoined or others or type_["hosts"] > 1 or "failed" in type_:
                continue
            ours = self.random.randint(1, unjoined)
            type_["launches"] = {
                "ours": ours,
                "unjoined": unjoined,
                "unneeded": self.random.randint(0, ours),
                "sinceS": self.random.choice([10, 61, 61, 600]),
            }

    def outgrown(self, problem):
        """An idle worker of an older template that minReplicas holds, and demand for more than it has."""
        for index, type_ in enumerate(problem["types"]):
            mine = [n for n in problem["nodes"] if n["type"] == index]
            idle = [n for n in mine if n["state"] == "running" and not n["head"]]
            cpus = type_["resources"]["CPU"]
            if not idle or cpus < 2 or len(mine) >= type_["max"] or type_["hosts"] > 1:
                continue
            total = dict(idle[0]["total"], CPU=cpus // 2)
            idle[0].update(total=total, available=dict(total), idleMs=400000)
            type_.update(min=len(mine), idleTimeoutMs=60000)
            for node in mine:  # the timeout is one of the group
                node["idleTimeoutMs"] = 60000
            request = {"resourcesBundle": {"CPU": cpus}}
            problem["rayState"]["pendingResourceRequests"].append({"request": request, "count": 1})
            return

    def problem(self):
        pick = self.random
        types = self.types()
        nodes = self.nodes(types)
        most = 60 if self.large else pick.choice([0, 2, 4, 8])
        state = {"pendingResourceRequests": self.counted(most)}
        state["pendingGangResourceRequests"] = self.gangs(nodes)
        if self.waiting.random() < 0.05:
            self.waits(types, nodes, state["pendingGangResourceRequests"])
        if pick.random() < 0.3:
            state["clusterResourceConstraints"] = [{"resourceRequests": self.counted(4)}]
        problem = {
            "types": types,
            "nodes": nodes,
            "rayState": state,
            "atomic": pick.random() < 0.5,
            "conserveAccelerators": True,
            "terminateOverMax": True,
            "learns": self.learns,
            "whenIdle": self.when_idle,
            "maxNodes": sum(t["max"] for t in types) + sum(n["type"] < 0 for n in nodes),
        }
        # Decisions know only the maxima of groups. With whole replicas Ray's own choice does not
        # tell anything, and of workers without a group it would stop some.
        gone = any(n["type"] < 0 for n in nodes)
        if pick.random() < 0.05 and not self.multi_host and not gone:
            problem["maxNodes"] = pick.randint(0, problem["maxNodes"])
        if not self.learns and pick.random() < 0.1:
            self.outgrown(problem)
        if pick.random() < 0.15:
            self.failures(problem)
        if pick.random() < 0.2:
            self.launches(problem)
        return problem


def problem(seed):
    return Maker(seed).problem()


# ---- the properties of a problem: read from the problem itself, not from how it was made ----

STRATEGIES = ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
STATES = ["running", "starting", "asked", "draining", "dead", "deleting", "named"]


def request_features(request):
    bundle = request["resourcesBundle"]
    for name, value in bundle.items():
        kind = name.split(":")[0] if ":" in name else name
        kind = "implicit resource" if name.startswith("node:__") else kind
        yield f"request {kind}"
        if value % 1 and name in ("CPU", "GPU"):
            yield f"request part of {name}"
        if not value:
            yield "request 0"
    if not bundle:
        yield "request empty"
    if "placementConstraints" in request:
        yield "request anti-affinity"
    selectors = request.get("labelSelectors", [])
    if len(selectors) > 1:
        yield "selector fallback"
    for selector in selectors:
        for constraint in selector["labelConstraints"]:
            yield "selector " + constraint["operator"][15:]
            if constraint["labelKey"].startswith("ray.io/"):
                yield "selector " + constraint["labelKey"]
            if not constraint["labelValues"]:
                yield "selector without values"
        if not selector["labelConstraints"]:
            yield "selector empty"


def gang_key(gang):
    """Ray's sort key of placement groups."""
    requests = gang["requests"]
    return sum(len(r.get("placementConstraints", [])) for r in requests), len(requests)


def gang_features(gang):
    if not gang:
        yield "gang empty"
        return
    yield "gang " + gang["details"].split(":")[1].split("|")[0]
    selectors = gang.get("bundleSelectors", [])
    yield f"gang with {len(selectors)} bundle_selectors"
    if len(gang["requests"]) > 6:
        yield "gang of 7 and more"
    if any("labelSelectors" in r for s in selectors for r in s["resourceRequests"]):
        yield "gang with label selectors"


def node_features(problem, node):
    yield f"node {node['state']}"
    if node["state"] == "starting":
        yield f"node starting, {node['start']}"
    if node["idleMs"]:
        yield "node idle"
    if node["dynamic"]:
        yield "node with placed bundles"
    if node["type"] < 0:
        yield "node of no group"
    if node["head"] and node["state"] == "draining":
        yield "head draining"
    if node["state"] == "starting" and node["start"] == "running" and node["unregisteredS"] >= 30:
        yield "node not registered for long"
    if node["head"] and set(node["labels"]) & {"zone", "tier"}:
        yield "head with labels"
    if node["head"] and node["total"].get("GPU"):
        yield "head with GPU"
    if node["state"] == "running" and node.get("deadBefore"):
        yield "node restarted"
    if node["state"] == "running" and not node["head"] and node["available"] == node["total"]:
        yield "node unused"
    if set(node["available"]) != set(node["total"]):
        yield "node with a missing resource"


def features(problem):
    """A list of names; a name may come several times."""
    types, nodes, state = problem["types"], problem["nodes"], problem["rayState"]
    found = [f"groups {len(types) - 1}" if len(types) < 10 else "groups 9 and more"]
    workers = sum(not n["head"] for n in nodes)
    found.append("nodes " + ("0" if not workers else "1 to 9" if workers < 10 else "10 to 49"
                             if workers < 50 else "50 to 60" if workers <= 60 else "61 and more"))
    found.append("setting enforce-max now" if not problem["whenIdle"] else "default settings")
    if problem["learns"]:
        found.append("Pods with the resources of their template")
    for index, type_ in enumerate(types[1:], 1):
        found += [f"group {name.split(':')[0]}" for name in type_["resources"]]
        for name, there in (
            ("minReplicas", type_["min"]),
            ("maxReplicas 0", not type_["max"]),
            ("priority", type_["priority"]),
            ("labels", type_["labels"]),
            ("several hosts", type_["hosts"] > 1),
            ("idle timeout 0", not type_["idleTimeoutMs"]),
            ("idle timeout of its own", type_["idleTimeoutMs"] != 60000),
            ("from limits", type_.get("fromLimits")),
            ("whose workers have less", any(
                a < type_["resources"].get(n, 0) for n, a in type_.get("real", {}).items())),
            ("failed", "failed" in type_),
            ("launched by us", "launches" in type_),
            ("above its maximum", sum(n["type"] == index for n in nodes) > type_["max"]),
        ):
            if there:
                found.append(f"group {name}")
    if "failed" in types[-1] and "failed" in types[1] and len(types) > 2:
        found.append("two failed groups")
    if len(types) > 2 and all(types[1][k] == types[-1][k] for k in ("resources", "labels", "max")):
        found.append("equal groups")
    for node in nodes:
        found += node_features(problem, node)
    for counted in state["pendingResourceRequests"]:
        if counted["count"] > 20:
            found.append("entry of more than 20")
        found += request_features(counted["request"])
    for gang in state["pendingGangResourceRequests"]:
        found += gang_features(gang)
    if any(g.get("details", "").startswith("_PG_ff") for g in state["pendingGangResourceRequests"]):
        found.append("gang beside idle workers")
    keys = [gang_key(g) for g in state["pendingGangResourceRequests"] if g]
    if len(set(keys)) < len(keys):
        found.append("gangs that tie")
    if "clusterResourceConstraints" in state:
        found.append("constraint")
    if problem["maxNodes"] < sum(t["max"] for t in types):
        found.append("maximum of the cluster")
    return found


WANTED = [f"groups {n}" for n in range(1, 9)] + ["groups 9 and more"]
WANTED += [f"nodes {n}" for n in ("0", "1 to 9", "10 to 49", "50 to 60", "61 and more")]
WANTED += [f"node {state}" for state in STATES] + [f"node starting, {s}" for s in STARTS]
WANTED += ["node idle", "node with placed bundles", "node of no group", "node restarted"]
WANTED += ["node unused", "node with a missing resource", "head draining", "head with GPU"]
WANTED += [
    f"group {n}"
    for n in ("CPU", "GPU", "memory", "disk", "license", "TPU", "neuron_cores", "accelerator_type")
]
WANTED += ["group minReplicas", "group maxReplicas 0", "group priority", "group labels"]
WANTED += ["group several hosts", "group idle timeout 0", "group idle timeout of its own"]
WANTED += ["group failed", "two failed groups", "group launched by us", "group above its maximum"]
WANTED += ["equal groups", "constraint", "maximum of the cluster", "selector IN", "selector NOT_IN"]
WANTED += ["selector fallback", "selector empty", "gang empty", "gang with label selectors"]
WANTED += ["gangs that tie", "gang beside idle workers"]
WANTED += [f"gang {s}" for s in STRATEGIES] + [f"gang with {n} bundle_selectors" for n in range(3)]
WANTED += [
    f"request {n}"
    for n in ("CPU", "GPU", "memory", "disk", "license", "TPU", "neuron_cores", "accelerator_type")
]
WANTED += ["request part of CPU", "request part of GPU", "request 0", "request empty"]
WANTED += ["request anti-affinity", "request implicit resource", "request node"]
WANTED += ["request object_store_memory", "request ssd", "entry of more than 20"]
WANTED += [f"selector {n}" for n in (NODE_GROUP, ACCELERATOR_TYPE, "without values")]
WANTED += ["gang of 7 and more", "head with labels", "group from limits"]
# Of decisions alone: the packing is given the workers' resources and which of them may be terminated.
DECIDED = ["default settings", "setting enforce-max now", "node not registered for long"]
DECIDED += ["Pods with the resources of their template", "group whose workers have less"]
WANTED += DECIDED
