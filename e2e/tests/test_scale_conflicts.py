"""Another writer that reverts replicas."""

import threading
import time

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import CONTROLLER_ACCOUNT
from rayscaler_e2e.kubeclient import JSON_PATCH
from rayscaler_e2e.wait import wait_until

FIGHTER = "argocd-controller"
# For the processes that Ray starts, on a machine with other work.
LONG = 150


class Fighter:
    """Sets ``replicas`` of the first group every second, as a GitOps tool that heals itself does."""

    def __init__(self, one, replicas):
        self._one, self._replicas = one, replicas
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        path = f"/apis/ray.io/v1/namespaces/{self._one.namespace}/rayclusters/{self._one.name}"
        patch = [{"op": "add", "path": "/spec/workerGroupSpecs/0/replicas", "value": self._replicas}]
        agent = {"User-Agent": f"{FIGHTER}/3.0"}
        while not self._stop.wait(1):
            self._one.server.admin.call("PATCH", path, patch, content_type=JSON_PATCH, headers=agent)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._stop.set()
        self._thread.join()


def patches_of_ours(server, namespace):
    return [w for w in server.writes(namespace) if w.account == CONTROLLER_ACCOUNT and w.plural == "rayclusters"]


def told(one):
    events = one.server.admin.of("events", one.namespace).items()
    uid = one.get()["metadata"]["uid"]
    ours = [e for e in events if e["reason"] == "ReplicasReverted" and e["involvedObject"]["uid"] == uid]
    return ours[0]["message"] if ours else ""


def test_somebody_sets_replicas_back_every_second(shared, controller, api_server):
    one = shared([rm.gpu_group()])
    before = len(patches_of_ours(api_server, one.namespace))
    control = controller(one.namespace, "--backoff-initial-seconds", "4")
    with one.program() as program:
        with Fighter(one, 0):
            began = time.time()
            program.actors(1, num_gpus=1)
            message = wait_until(lambda: told(one), 60, "the Event")
            noticed = time.time()
            # A hold of 4 s, one patch, a hold of 8 s: without them there would be one patch a second.
            wait_until(lambda: time.time() > noticed + 10, 15, "the fight to go on")
            patches = len(patches_of_ours(api_server, one.namespace)) - before
        assert message.startswith(f"{FIGHTER} set replicas of group gpu-group back 3 times"), message
        assert patches <= 6, patches
        control.wait_for('"condition"', "ReplicasReverted", FIGHTER)
        (busy,) = program.ready("actors", LONG)
        over = time.time()
        wait_until(lambda: one.replicas() == 1, 40, "replicas to be ours again")
        print(f"noticed after {noticed - began:.1f} s, {patches} patches in {over - began:.1f} s, ")
        print(f"replicas right again {time.time() - over:.1f} s after the fight")
        assert one.workers() == [busy]
        program.end()
    one.wait_empty(90)
