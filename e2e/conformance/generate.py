"""Random scheduling problems, as members of the snapshot and of src/test/tools/codec_schedule.c.

A problem is plain JSON. Amounts are what a Ray user can write; some problems draw from decimal
fractions on purpose (0.1, 0.3), which doubles cannot hold.
"""

import random

GIB = 1 << 30
ZONES = ["a", "b", "c"]
TIERS = ["gold", "iron"]
WHOLE_CPUS = [1, 1, 1, 2, 2, 4]
BINARY_PARTS = [0.25, 0.5, 0.75]
DECIMAL_PARTS = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        chance = self.random.random
        self.multi_host = chance() < 0.1
        self.all_states = chance() < 0.3 and not self.multi_host
        self.large = chance() < 0.02
        self.decimals = chance() < 0.15
        self.gpu_parts = chance() < 0.25
        self.labels = chance() < 0.4
        self.customs = chance() < 0.4
        self.memory = chance() < 0.5

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
        if self.memory and pick.random() < 0.9:
            resources["memory"] = pick.choice([4, 8, 16, 64]) * GIB
        if self.customs and pick.random() < 0.5:
            resources[pick.choice(["disk", "license"])] = pick.choice([1, 2, 5])
        maximum = pick.choice([0, 1, 2, 3, 5, 10, 40])
        minimum = 0 if pick.random() < 0.75 else pick.randint(0, min(maximum, 4))
        hosts = pick.choice([1, 1, 2, 4]) if self.multi_host else 1
        return {
            "name": f"group-{index}",
            "resources": resources,
            "labels": self.group_labels(),
            "min": minimum * hosts,
            "max": maximum * hosts,
            "hosts": hosts,
            "priority": pick.choice([0, 0, 0, 0, 1, 10, -3]),
            "idleTimeoutMs": pick.choice([60000, 60000, 60000, 10000, 0, 300000]),
        }

    def types(self):
        head = {
            "name": "headgroup",
            "resources": {"CPU": self.random.choice([0, 1, 2, 4, 8])},
            "labels": {},
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
        types = [head] + [self.type(i) for i in range(1, 1 + self.random.randint(1, 8))]
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
        node["total"], node["available"] = total, available
        if idle and node["state"] == "running":
            node["idleMs"] = pick.choice([1000, 9999, 10000, 10001, 60000, 60001, 61000, 400000])

    def state(self):
        states = ["running"] * 15 + ["starting"] * 4
        if self.all_states:
            states += ["asked", "draining", "dead", "deleting"]
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
            "total": type_["resources"],
            "available": type_["resources"],
            "state": "running" if index == 0 else self.state(),
        }
        if index == 0:
            node["total"] = dict(type_["resources"], **{"node:__internal_head__": 1})
            node["available"] = node["total"]
            self.running(node, dict(type_, resources=node["total"]), number)
        elif node["state"] in ("running", "draining"):
            self.running(node, type_, number)
        return node

    def nodes(self, types):
        nodes = [self.node(types, 0, 1)]
        wanted = self.random.choice([0, 0, 1, 2, 3, 5, 8, 15, 30, 60])
        for index in range(1, len(types)):
            share = self.random.randint(0, max(1, 2 * wanted // (len(types) - 1)))
            limit = types[index]["max"]
            hosts = types[index]["hosts"]
            if self.random.random() < 0.1 and hosts == 1:
                limit += 2  # maxReplicas was lowered
            share = min(share, limit, 60 - len(nodes) + 1)
            for i in range(share // hosts * hosts):
                node = self.node(types, index, len(nodes) + 1)
                if hosts > 1:
                    node["replica"] = i // hosts
                if share > types[index]["max"] and node["state"] == "asked":
                    node["state"] = "starting"  # the operator starts no more than maxReplicas
                nodes.append(node)
        if self.all_states and self.random.random() < 0.1:
            number = len(nodes) + 1
            node = dict(self.node(types, 1, number), type=-1, state="running")
            node["mayTerminate"] = False  # there is no replicas to lower
            self.running(node, types[1], number)
            nodes.append(node)
        # What has no Pod yet comes last in its group, as in a snapshot.
        return sorted(nodes, key=lambda n: (n["type"] if n["type"] >= 0 else 99, n["state"] == "asked"))

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
        if self.memory and pick.random() < 0.3:
            bundle["memory"] = pick.choice([1, 2, 6]) * GIB
        if self.customs and pick.random() < 0.3:
            bundle[pick.choice(["disk", "license"])] = pick.choice([1, 1, 2])
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
        for key, values in (("zone", ZONES), ("tier", TIERS)):
            if pick.random() < 0.6:
                constraints.append(
                    {
                        "labelKey": key,
                        "operator": pick.choice(["LABEL_OPERATOR_IN", "LABEL_OPERATOR_NOT_IN"]),
                        "labelValues": pick.sample(values, pick.randint(1, 2)),
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
        counts = [1, 1, 2, 3, 5, 10, 20]
        return [
            {"request": self.request(), "count": self.random.choice(counts)}
            for _ in range(self.random.randint(0, most))
        ]

    def gang(self, number, nodes):
        pick = self.random
        if pick.random() < 0.1:
            return {}
        strategy = pick.choice(["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"])
        name = f"_PG_{number:02x}"
        kinds = [self.request() for _ in range(pick.choice([1, 1, 2]))]
        if strategy == "STRICT_PACK":
            for kind in kinds[1:]:
                kind["labelSelectors"] = kinds[0].get("labelSelectors", [])
        bundles = [dict(pick.choice(kinds)) for _ in range(pick.randint(1, 6))]
        if strategy == "STRICT_SPREAD":
            constraint = [{"antiAffinity": {"labelName": name, "labelValue": ""}}]
            if pick.random() < 0.3:  # it is being rescheduled: bundles stand on nodes already
                for node in nodes:
                    if node["state"] == "running" and pick.random() < 0.2:
                        node["labels"][name] = ""
        else:
            constraint = [{"affinity": {"labelName": name, "labelValue": ""}}]
        for bundle in bundles:
            if strategy.startswith("STRICT"):
                bundle["placementConstraints"] = constraint
        legacy = [{k: v for k, v in b.items() if k != "labelSelectors"} for b in bundles]
        gang = {"requests": legacy, "details": f"{name}:{strategy}|PENDING"}
        if pick.random() < 0.9:
            gang["bundleSelectors"] = [{"resourceRequests": bundles}]
        return gang

    def problem(self):
        pick = self.random
        types = self.types()
        nodes = self.nodes(types)
        state = {"pendingResourceRequests": self.counted(60 if self.large else pick.choice([0, 2, 4, 8]))}
        state["pendingGangResourceRequests"] = [
            self.gang(i, nodes) for i in range(pick.choice([0, 0, 1, 2, 4]))
        ]
        if pick.random() < 0.3:
            state["clusterResourceConstraints"] = [{"resourceRequests": self.counted(4)}]
        problem = {
            "types": types,
            "nodes": nodes,
            "rayState": state,
            "atomic": pick.random() < 0.5,
            "conserveAccelerators": True,
            "terminateOverMax": True,
            "maxNodes": sum(t["max"] for t in types) + sum(n["type"] < 0 for n in nodes),
        }
        # Decisions know only the maxima of groups; with whole replicas Ray's own choice does not
        # tell anything.
        if pick.random() < 0.05 and not self.multi_host:
            problem["maxNodes"] = pick.randint(0, problem["maxNodes"])
        if pick.random() < 0.15:
            failed = pick.choice(types[1:])
            failed["recoverable"] = pick.choice([0.0, 0.25, 0.9])
            failed["recency"] = pick.choice([0.0, 0.5])
        return problem


def problem(seed):
    return Maker(seed).problem()
