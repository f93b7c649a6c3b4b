"""Packings with workers that may be resized in place, for compare.py.

The problems of packing.py, and for some groups the limits of the annotation `ray.io/ippr`.
"""

import random

import generate
import packing

RESIZING = ["group resizable", "head resizable", "node resizable", "node of full size",
            "node resizing", "node resizing down", "node resizable, starting", "node that failed"]


def sizes(pick, type_):
    """The largest size: some of it is below that of the template."""
    own = type_["resources"]
    return {
        "cpu": max(1, own.get("CPU", 0)) * pick.choice([1, 2, 2, 3, 4, 0.5]),
        "memory": own.get("memory", 4 * generate.GIB) * pick.choice([1, 1, 2, 4]),
    }


def status(pick, problem, node):
    """What the Pod has, what it is to have, and whether that is under way."""
    type_ = problem["types"][node["type"]]
    amounts = node["total"] if node["state"] == "running" else type_["resources"]
    most = type_["resizable"]
    current = {"cpu": amounts.get("CPU", 0), "memory": amounts.get("memory", 0)}
    kind = pick.choice(["free"] * 5 + ["full", "resizing", "resizing", "down"])
    if kind == "full":
        current = most
    desired, at = current, None
    if kind == "resizing":
        desired, at = most, generate.NOW_S
    elif kind == "down":
        desired, at = dict(most, cpu=max(0.5, current["cpu"] / 2)), generate.NOW_S
    return {"current": current, "desired": desired, "at": at}


def may_grow(node, most):
    now = node["resize"]
    return now["at"] is None and (
        now["current"]["cpu"] < most["cpu"] or now["current"]["memory"] < most["memory"]
    )


class Resize(packing.Tool):
    kind, title = "resize", "packing with in-place resize"
    wanted = packing.Tool.wanted + [n for n in RESIZING if n != "node that failed"]

    def prepare(self, problem):
        problem = super().prepare(problem)
        pick = random.Random(f"resize {problem['nodes']} {problem['types']}")
        problem["resizes"] = True
        for type_ in problem["types"]:
            if type_["hosts"] == 1 and pick.random() < 0.7:
                type_["resizable"] = sizes(pick, type_)
        for node in problem["nodes"]:
            most = node["type"] >= 0 and problem["types"][node["type"]].get("resizable")
            if not most or node["state"] == "asked":  # without a Pod
                continue
            node["resize"] = status(pick, problem, node)
            if node["resize"]["at"]:
                node["resizing"] = node["resize"]["desired"]
            elif may_grow(node, most):
                node["resizable"] = most
        return problem

    @staticmethod
    def features(problem):
        found = generate.features(problem)
        for type_ in problem["types"]:
            if "resizable" in type_:
                found.append("head resizable" if type_["name"] == "headgroup" else "group resizable")
        for node in problem["nodes"]:
            if "resizable" in node:
                found.append("node resizable")
                if node["state"] == "starting":
                    found.append("node resizable, starting")
            elif "resizing" in node:
                down = node["resizing"]["cpu"] < node["resize"]["current"]["cpu"]
                found.append("node resizing down" if down else "node resizing")
            elif "resize" in node:
                found.append("node of full size")
        return found

    @staticmethod
    def sizes(answer):
        yield from packing.Tool.sizes(answer)
        if answer.resizes:
            yield "resize"

    @staticmethod
    def spoiled(problem, answer, random):
        if random.random() < 0.3:
            resizes = answer.resizes[1:] if answer.resizes else (0,)
            return answer._replace(resizes=resizes)
        return packing.Tool.spoiled(problem, answer, random)
