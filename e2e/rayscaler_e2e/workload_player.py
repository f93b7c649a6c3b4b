"""Plays a workload file on a real Ray cluster: `python workload_player.py FILE ADDRESS NODE_IP OUT`.

FILE has JSON lines as docs/SIMULATE.md describes them, with numbers of seconds as times. OUT is written
at the end: the waiting time in seconds of every task, actor and placement group, by item.
"""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, List


def main() -> None:
    path, address, node_ip, out = sys.argv[1:]
    import ray

    items = [json.loads(line) for line in Path(path).read_text().splitlines()]
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=False, logging_level="warning")
    player = Player(ray)
    start = time.monotonic()
    for item in sorted(items, key=lambda each: each["submit"]):
        time.sleep(max(0.0, start + item["submit"] - time.monotonic()))
        player.submit(item)
    Path(out).write_text(json.dumps(player.waits()))
    ray.shutdown()


class Player:
    def __init__(self, ray: Any):
        self._ray = ray
        self._threads: List[threading.Thread] = []
        self._waits: List[float] = []

        @ray.remote
        def work(seconds: float) -> float:
            started = time.time()
            time.sleep(seconds)
            return started

        @ray.remote
        class Worker:
            def work(self, seconds: float) -> float:
                started = time.time()
                time.sleep(seconds)
                return started

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

    def task(self, item: Dict[str, Any], submitted: float) -> None:
        work = self._task.options(max_retries=0, **options(item))
        self._waits.append(self._ray.get(work.remote(item["duration"])) - submitted)

    def actor(self, item: Dict[str, Any], submitted: float) -> None:
        actor = self._actor.options(**options(item)).remote()
        self._waits.append(self._ray.get(actor.work.remote(item["duration"])) - submitted)
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
