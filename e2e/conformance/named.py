"""Problems that show one class each, made by hand because random ones hardly ever do, for compare.py."""

import packing

TIB = 1 << 40


def node_type(name, most, **resources):
    return {
        "name": name, "resources": resources, "labels": {}, "min": 0, "max": most, "hosts": 1,
        "priority": 0, "idleTimeoutMs": 60000,
    }  # fmt: skip


def problem(types, bundles):
    requests = [{"request": {"resourcesBundle": b}, "count": 1} for b in bundles]
    return {
        "types": [node_type("headgroup", 1, CPU=1), *types],
        "nodes": [{
            "type": 0, "head": True, "replica": -1, "mayTerminate": False, "idleMs": 0, "idleTimeoutMs": 60000,
            "labels": {}, "dynamic": {}, "total": {"CPU": 1}, "available": {}, "state": "running",
        }],
        "rayState": {"pendingResourceRequests": requests},
        "atomic": False, "conserveAccelerators": True, "terminateOverMax": True, "learns": False,
        "whenIdle": False, "maxNodes": 10,
    }  # fmt: skip


# Two tasks that are pinned by small amounts, and one worker with memory for one of them. The double
# nearest to 16 TiB + 0.001 is 16 TiB.
EXACT_SUM = problem(
    [node_type("group", 1, memory=24 * TIB, disk=1, port=1)],
    [{"memory": 16 * TIB, "disk": 0.001}, {"memory": 16 * TIB, "port": 0.0005}],
)

CASES = [("exact-sum", EXACT_SUM)]


class Named(packing.Tool):
    """Each case is explained by its own class alone."""

    kind, title = "named", "problems of one class"
    wanted = [name for name, _ in CASES]

    def problem(self, seed):
        name, given = CASES[seed % len(CASES)]
        given = super().prepare(given)
        return dict(given, name=name, rayState=packing.canonical.canonical(given["rayState"]))

    @staticmethod
    def features(problem):
        return [problem["name"]]

    @staticmethod
    def explain(problem, answer):
        names = packing.Tool.explain(problem, answer)
        return names if names == (problem["name"],) else None
