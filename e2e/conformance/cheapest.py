"""Plans with --packing fewest-gpus (odd seeds) and cheapest (even ones), for compare.py.

Such a plan is not Ray's on purpose, so Ray with corrections cannot give it. It is explained where the
plan with --packing ray is, Ray's own answer, and the other one
* is the same, or launches what costs less, in GPUs or in the price of a random table (is_better: or as much);
* leaves no more over of any request, or launches for minReplicas alone and leaves no more over in all;
* places every request that it does not leave over, on no more new workers than it launches.
"""

import collections
import random

from google.protobuf.json_format import ParseDict
from ray.core.generated import autoscaler_pb2

import oracle
import packing
import snapshot

PRICES = (0.5, 1, 2, 3, 8)
PRICE_LABEL = "price-of"

# Of one problem: the answers under both packings, and the placements of the second one.
Both = collections.namedtuple("Both", "ray chosen workers placed")


def with_packing(problem):
    given = snapshot.snapshot(problem, problem["rayState"])
    for group in given["rayCluster"]["spec"]["workerGroupSpecs"]:
        group["template"]["metadata"] = {"labels": {PRICE_LABEL: group["groupName"]}}
    rows = [{"groupLabels": {PRICE_LABEL: name}, "perGPUHour": price} for name, price in problem["prices"].items()]
    given["priceTable"] = {"currency": "EUR", "prices": rows}
    given["settings"] = dict(given["settings"], packing=problem["packing"])
    return given


def placements(problem, plan):
    """New workers by group, and placed requests by shape."""
    message = ParseDict(problem["rayState"], autoscaler_pb2.ClusterResourceState())
    new = {(p["group"], p["worker"]) for p in plan["placements"] if p["worker"].startswith("new-")}
    workers, placed = collections.Counter(group for group, _ in new), collections.Counter()
    for placement in plan["placements"]:
        for entry in placement["requests"]:
            if entry["kind"] == "request" and entry["source"] == "ray":
                request = message.pending_resource_requests[entry["index"]].request
                placed[oracle.shape_text(request, 1)] += entry["count"]
    return workers, placed


def gpus(problem, index):
    """Of a new worker: as declared to Ray, or as its group's living workers have them, the least."""
    found = [problem["types"][index]["resources"].get("GPU", 0)]
    if problem["learns"]:
        found += [n["total"].get("GPU", 0) for n in problem["nodes"] if n["type"] == index and n["state"] == "running"]
    return min(found)


def cost(problem, answer):
    """GPUs, or their price."""
    cheapest = problem["packing"] == "cheapest"
    return sum(
        count * gpus(problem, i) * (problem["prices"].get(problem["types"][i]["name"], 0) if cheapest else 1)
        for i, count in enumerate(answer.launches)
    )


def missing(problem, index):
    """Workers that minReplicas requires beyond those that there are, at most."""
    type_ = problem["types"][index]
    alive = sum(n["type"] == index and n["state"] in ("running", "starting", "asked") for n in problem["nodes"])
    return max(0, type_["min"] - alive) // type_["hosts"] * type_["hosts"]


def asked(problem, index):
    """Replicas without a Pod: a plan places on them as on new workers."""
    return sum(n["type"] == index and n["state"] == "asked" for n in problem["nodes"])


def serves_each(left, limit):
    return all(count <= limit[name] for name, count in left.items())


def only_minimum(problem, answer):
    return all(n <= missing(problem, i) for i, n in enumerate(answer.launches))


def serves_enough(problem, ray, chosen):
    if isinstance(chosen.targets, str):  # the patch is wrong
        return False
    if not serves_each(chosen.gangs, ray.gangs) or (chosen.constraints and not ray.constraints):
        return False
    return serves_each(chosen.requests, ray.requests) or (
        only_minimum(problem, chosen) and sum(chosen.requests.values()) <= sum(ray.requests.values())
    )


def is_placed(problem, both):
    wanted = collections.Counter()
    message = ParseDict(problem["rayState"], autoscaler_pb2.ClusterResourceState())
    for counted in message.pending_resource_requests:
        wanted[oracle.shape_text(counted.request, 1)] += counted.count
    if +wanted != both.placed + both.chosen.requests:
        return False
    return all(
        both.workers[t["name"]] - asked(problem, i) <= both.chosen.launches[i]
        for i, t in enumerate(problem["types"])
    )


def left_over(answer):
    return sum(answer.requests.values()) + sum(answer.gangs.values()) + answer.constraints


def is_better(problem, both):
    """Where no cost is saved, the choice of Ray is kept, unless another one serves more, needs fewer workers, or has
    other workers without GPUs: Ray's choice does not count if the next decision would not find it again."""
    ray, chosen = both.ray, both.chosen
    saved = cost(problem, ray) - cost(problem, chosen)
    same = all(a == b for i, (a, b) in enumerate(zip(ray.launches, chosen.launches)) if gpus(problem, i) > 0)
    other = same or left_over(chosen) < left_over(ray) or sum(chosen.targets) < sum(ray.targets)
    return saved > 0 or (saved == 0 and other)


class Cheapest(packing.Program):
    kind, title = "cheapest", "plan with packing fewest-gpus or cheapest"

    def problem(self, seed):
        problem = super().problem(seed)
        pick = random.Random(seed)
        prices = {t["name"]: pick.choice(PRICES) for t in problem["types"][1:]}
        return dict(problem, packing=("cheapest", "fewest-gpus")[seed % 2], prices=prices)

    @staticmethod
    def sizes(both):
        return packing.Program.sizes(both.chosen)

    def answer(self, problem):
        plan = snapshot.plan_of(self.path, with_packing(problem), "--debug")
        return Both(super().answer(problem), snapshot.answer_of(problem, plan), *placements(problem, plan))

    @staticmethod
    def explain(problem, both):
        if not is_placed(problem, both) or not serves_enough(problem, both.ray, both.chosen):
            return None
        if both.chosen == both.ray:
            return ()
        names = packing.Program.explain(problem, both.ray)
        return (problem["packing"],) if names is not None and is_better(problem, both) else None

    @staticmethod
    def spoiled(problem, both, pick):
        """A launch too few, a launch too many where that costs something, or a request left over."""
        launches = list(both.chosen.launches)
        tight = [
            i for i, n in enumerate(launches)
            if n and n == both.workers[problem["types"][i]["name"]] - asked(problem, i)
        ]  # fmt: skip
        if tight and pick.random() < 0.5:
            launches[pick.choice(tight)] -= 1
            return both._replace(chosen=both.chosen._replace(launches=tuple(launches)))
        dear = [i for i in range(1, len(launches)) if gpus(problem, i) > 0]
        if both.chosen == both.ray and dear and pick.random() < 0.5:
            launches[pick.choice(dear)] += 1
            return both._replace(chosen=both.chosen._replace(launches=tuple(launches)))
        left = collections.Counter(both.chosen.requests)
        left[next(iter(left), "any")] += 1
        return both._replace(chosen=both.chosen._replace(requests=left))
