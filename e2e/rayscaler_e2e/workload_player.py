"""Plays a workload file on a real Ray cluster: `python workload_player.py FILE ADDRESS NODE_IP OUT [--pass]`.

FILE has JSON lines as docs/SIMULATE.md describes them, with numbers of seconds as times. OUT is written
at the end: when the first item was submitted, the waiting time in seconds of every task, actor and
placement group, and of each task and actor its Pod with the times of its submission, start, end and end as
the driver saw it. --pass: the first item comes shortly before a pass of Ray's autoscaler, as in a simulation.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, Tuple


PASS_SECONDS = 5.0  # AUTOSCALER_UPDATE_INTERVAL_S
# As in src/sim/controller.c: 0.5 s until the demand is in the GCS, and then half of the interval.
BEFORE_PASS_SECONDS = 3.0
# Start, end, Pod.
Run = Tuple[float, float, str]


def wait_before_pass(address: str) -> None:
    """Until BEFORE_PASS_SECONDS before the next pass: each pass reports the state that it has seen."""
    from ray._raylet import GcsClient
    from ray.core.generated import autoscaler_pb2

    client = GcsClient(address=address)

    def seen() -> int:
        reply = autoscaler_pb2.GetClusterStatusReply()
        reply.ParseFromString(client.get_cluster_status(timeout_s=5))
        return reply.autoscaling_state.last_seen_cluster_resource_state_version

    first = seen()
    while seen() == first:
        time.sleep(0.05)
    time.sleep(PASS_SECONDS - BEFORE_PASS_SECONDS)


def main() -> None:
    path, address, node_ip, out = sys.argv[1:5]
    import ray

    items = [json.loads(line) for line in Path(path).read_text().splitlines()]
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=False, logging_level="warning")
    player = Player(ray)
    if "--pass" in sys.argv[5:]:
        wait_before_pass(address)
    start, began = time.monotonic(), time.time()
    for item in sorted(items, key=lambda each: each["submit"]):
        time.sleep(max(0.0, start + item["submit"] - time.monotonic()))
        player.submit(item)
    waits = player.waits()
    played = {"began": began, "waits": waits, "work": player.work}
    Path(out).write_text(json.dumps(played))
    ray.shutdown()


class Player:
    def __init__(self, ray: Any):
        self._ray = ray
        self._threads: List[threading.Thread] = []
        self._waits: List[float] = []
        self.work: List[Dict[str, Any]] = []

        def run(seconds: float) -> Run:
            started = time.time()
            time.sleep(seconds)
            return started, time.time(), os.environ.get("RAY_CLOUD_INSTANCE_ID", "")

        @ray.remote
        def work(seconds: float) -> Run:
            return run(seconds)

        @ray.remote
        class Worker:
            def work(self, seconds: float) -> Run:
                return run(seconds)

        self._task, self._actor = work, Worker

    def submit(self, item: Dict[str, Any]) -> None:
        kind = item.get("kind", "task")
        for _ in range(item.get("count", 1)):
            thread = threading.Thread(target=getattr(self, kind), args=(item, time.time()), daemon=True)
            thread.start()
            self._threads.append(thread)

    def waits(self) -> List[float]:
        for thread in self._threads:
            thread.join()
        return sorted(self._waits)

    def _note(self, run: Run, submitted: float) -> None:
        started, ended, pod = run
        self._waits.append(started - submitted)
        times = {"submitted": submitted, "started": started, "ended": ended, "seen": time.time()}
        self.work.append({"pod": pod, **times})

    def task(self, item: Dict[str, Any], submitted: float) -> None:
        work = self._task.options(max_retries=0, **options(item))
        self._note(self._ray.get(work.remote(item["duration"])), submitted)

    def actor(self, item: Dict[str, Any], submitted: float) -> None:
        actor = self._actor.options(**options(item)).remote()
        self._note(self._ray.get(actor.work.remote(item["duration"])), submitted)
        self._ray.kill(actor)

    def placement_group(self, item: Dict[str, Any], submitted: float) -> None:
        from ray.util.placement_group import placement_group, remove_placement_group

        group = placement_group(item["bundles"], strategy=item.get("strategy", "PACK"))
        while not group.wait(60):
            pass
        self._waits.append(time.time() - submitted)
        time.sleep(item["duration"])
        remove_placement_group(group)


def options(item: Dict[str, Any]) -> Dict[str, Any]:
    resources = dict(item["resources"])
    made = {"num_cpus": resources.pop("CPU", 0), "num_gpus": resources.pop("GPU", 0), "resources": resources}
    if "labelSelector" in item:
        made["label_selector"] = item["labelSelector"]
    return made


if __name__ == "__main__":
    main()
