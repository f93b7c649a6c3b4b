"""rayscaler's packing and Ray's scheduler on the same problem, for compare.py."""

import collections
import itertools
import json
import subprocess

from google.protobuf.json_format import ParseDict
from ray.core.generated import autoscaler_pb2

import canonical
import corrections
import generate
import oracle
import snapshot


class Scheduling:
    """Shared by both ways to run rayscaler; a problem's rayState is in canonical order."""

    wanted = generate.WANTED

    def problem(self, seed):
        problem = self.prepare(generate.problem(seed))
        return dict(problem, rayState=canonical.canonical(problem["rayState"]))

    @staticmethod
    def features(problem):
        return generate.features(problem)

    @staticmethod
    def sizes(answer):
        if any(answer.launches):
            yield "launch"
        if answer.terminate:
            yield "terminate"
        if answer.requests or answer.gangs:
            yield "leave something over"

    @staticmethod
    def explain(problem, answer):
        """The smallest set of corrections with which Ray gives this answer, None if none."""
        names = corrections.possible(problem, problem["rayState"])
        for size in range(len(names) + 1):
            for chosen in itertools.combinations(names, size):
                try:
                    if oracle.schedule(problem, problem["rayState"], chosen) == answer:
                        return chosen
                except (AssertionError, KeyError):  # T17: Ray gives no answer
                    continue
        return None

    @staticmethod
    def spoiled(_, answer, random):
        """One place is wrong."""
        launches = list(answer.launches)
        places = ["launch", "terminate", "request", "constraint"]
        if any(launches):
            places += ["no launch", "other group"]
        place = random.choice(places)
        at = random.randrange(1, len(launches))
        launched = [i for i, n in enumerate(launches) if n]
        if place == "launch":
            launches[at] += 1
        elif place == "no launch":
            launches[random.choice(launched)] -= 1
        elif place == "other group":
            launches[random.choice(launched)] -= 1
            launches[at - 1 if launches[at] < answer.launches[at] else at] += 1
        elif place == "terminate":
            gone = answer.terminate[1:] if answer.terminate else (1,)
            return answer._replace(terminate=gone)
        elif place == "request":
            requests = collections.Counter(answer.requests)
            requests[next(iter(requests), "any")] += 1
            return answer._replace(requests=requests)
        else:
            return answer._replace(constraints=not answer.constraints)
        return answer._replace(launches=tuple(launches))

    def close(self):
        pass


class Tool(Scheduling):
    """schedule() itself, many problems in one process."""

    kind, title = "tool", "packing"
    wanted = [n for n in generate.WANTED if n not in generate.DECIDED and n not in ("node draining", "node dead", "node deleting",
                                                      "node named", "head draining")]

    GONE = ("draining", "dead", "deleting", "named")

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @staticmethod
    def prepare(problem):
        """Which Pods are capacity is not the packing's business."""
        nodes = [n for n in problem["nodes"] if n["state"] not in Tool.GONE]
        return dict(problem, nodes=nodes)

    def answer(self, problem):
        state = problem["rayState"]
        nodes = [
            dict(
                n,
                running=n["state"] == "running",
                joined=n["state"] == "running",
                labels=dict(n["labels"], **n["dynamic"]),
            )
            for n in problem["nodes"]
        ]
        given = dict(
            problem, nodes=nodes, accelerators=sorted(corrections.ACCELERATORS)
        )
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        self.milliseconds = reply.get("milliseconds", [])
        message = ParseDict(state, autoscaler_pb2.ClusterResourceState())
        requests, gangs = collections.Counter(), collections.Counter()
        for left, counted in zip(reply["demands"], message.pending_resource_requests):
            requests[oracle.shape_text(counted.request, 1)] += left
        for left, gang in zip(reply["gangs"], message.pending_gang_resource_requests):
            gangs[oracle.gang_text(gang, 1)] += left
        given = reply["nodes"][: len(nodes)]
        return oracle.Answer(
            launches=tuple(reply["launches"]),
            terminate=tuple(
                i
                for i, n in enumerate(given)
                if n["status"] == 2 and nodes[i]["state"] in oracle.COMPARED
            ),
            requests=+requests,
            gangs=+gangs,
            constraints=any(any(c) for c in reply["constraints"]),
            resizes=tuple(i for i, n in enumerate(given) if n["resized"] and nodes[i]["joined"]),
        )

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Program(Scheduling):
    """`rayscaler plan` on a whole snapshot, one process per problem."""

    kind, title = "program", "plan"
    wanted = [name for name in generate.WANTED if name != "maximum of the cluster"]

    def __init__(self, path):
        self.path = path

    @staticmethod
    def prepare(problem):
        """Without the members that a snapshot does not have: other maxima of the cluster and all-or-nothing
        constraints."""
        gone = sum(n["type"] < 0 for n in problem["nodes"])
        maximum = sum(t["max"] for t in problem["types"]) + gone
        return dict(problem, atomic=False, maxNodes=maximum, groupMaxima=True, remembers=True)

    def answer(self, problem):
        return snapshot.answer(self.path, problem, problem["rayState"])
