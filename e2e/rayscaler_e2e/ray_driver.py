"""A Ray program that runs commands of a test: `python ray_driver.py DIRECTORY ADDRESS NODE_IP [prints]`.

The test writes DIRECTORY/<n>.in (JSON), this program answers with DIRECTORY/<n>.out: {"ok": value}
or {"error": text}. Commands (``do``):

    actors    start ``count`` actors under ``name``, each with ``options`` (num_gpus, ...)
    tasks     start ``count`` tasks under ``name`` with ``options``, which run until released
    group     ask for a placement group ``name``: ``strategy``, ``bundles``
    ready     wait until all of ``name`` run; the answer is the Pods (instance ids) they run in
    alive     call every actor of ``name`` once more; the Pods again
    hold      every actor of ``name`` keeps ``mebibytes`` in the object store of its node
    devices   the ids of the ``resource`` (GPU, ...) that the raylet gave to each actor of ``name``
    release   end the tasks, actors or placement group of ``name``
    request   ray.autoscaler.sdk.request_resources(bundles=...)
    publish   ``line`` to all drivers, as a line of Ray's autoscaler
    status    what `ray status` prints
    draining  the nodes that Ray drains, with their deadlines as seconds since 1970, 0 without one
    key       the value of a key of the GCS's store, None without one; ``drop`` deletes it
    shape     what Ray's libraries read of the groups: ``groups`` by name, ``most`` by resource, whether Data ``scales``,
              ``seen`` by Ray Data as (CPU, GPU) with the number of nodes; None without a report
    data      run the pipeline of ray_data_run.py of so many ``blocks``; how many rows came out
    train     begin a run of Ray Train on ``fewest`` to ``most`` GPUs (ray_train_run.py) in the program's directory; it looks
              for more every ``looks`` seconds
    trained   end it; the metrics of its last report
    refused   wait for its end by itself; the type of its error, the error, and after how many seconds
    tune      run ``trials`` of Ray Tune, each a placement group of ``gpus`` bundles of one GPU, for ``takes`` seconds; how many ended
    deploy    an application ``name`` of Ray Serve with one deployment ``Model``, as ``options`` say; it is not waited for
    call      the Pods in which ``count`` requests to ``name`` at once are answered
    load      call ``name`` four times at once, again and again, until ``loaded``
    loaded    end it; the Pods that answered, the errors, and how many were answered
    running   how many replicas of ``name`` run
    undeploy  end all of Ray Serve
    end       end the program
"""

import json
import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, List, Optional

POLL_SECONDS = 0.05


def main() -> None:
    directory, address, node_ip = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    import ray

    prints = sys.argv[4:] == ["prints"]
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=prints, logging_level="warning")
    program = Program(ray, directory)
    number = 0
    parent = os.getppid()
    while os.getppid() == parent:
        order = directory / f"{number}.in"
        if not order.exists():
            time.sleep(POLL_SECONDS)
            continue
        command = json.loads(order.read_text())
        try:
            answer = {"ok": getattr(program, command.pop("do"))(**command)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        out = directory / f"{number}.out"
        out.with_suffix(".new").write_text(json.dumps(answer))
        out.with_suffix(".new").rename(out)
        if program.ended:
            break
        number += 1
    ray.shutdown()


class Program:
    def __init__(self, ray: Any, directory: Path):
        self._ray = ray
        self._directory = directory
        self._actors: Dict[str, List[Any]] = {}
        self._tasks: Dict[str, List[Any]] = {}
        self._groups: Dict[str, Any] = {}
        self._run: Optional[Future] = None
        self._load: Optional[Future] = None
        self._loads = True
        self.ended = False

    def actors(self, name: str, count: int, options: Dict[str, Any]) -> None:
        ray = self._ray

        @ray.remote
        class Worker:
            def pod(self) -> str:
                return os.environ.get("RAY_CLOUD_INSTANCE_ID", "")

            def hold(self, mebibytes: int) -> None:
                self.held = ray.put(bytes(mebibytes << 20))

            def devices(self, resource: str) -> List[str]:
                return ray.get_runtime_context().get_accelerator_ids()[resource]

        self._actors[name] = [Worker.options(**options).remote() for _ in range(count)]

    def tasks(self, name: str, count: int, options: Dict[str, Any]) -> None:
        directory = self._directory

        @self._ray.remote
        def work(number: int) -> str:
            pod = os.environ.get("RAY_CLOUD_INSTANCE_ID", "")
            (directory / f"{name}-{number}.pod").write_text(pod)
            while not (directory / f"{name}.released").exists():
                time.sleep(POLL_SECONDS)
            return pod

        work = work.options(max_retries=0, **options)
        self._tasks[name] = [work.remote(number) for number in range(count)]

    def group(self, name: str, strategy: str, bundles: List[Dict[str, float]], label: str = "") -> None:
        """``label``: all bundles on nodes with one value of it."""
        from ray.util.placement_group import placement_group

        if label:
            topology = {"ray.io/node-id": strategy, label: "STRICT_PACK"}
            self._groups[name] = placement_group(bundles, topology_strategy=topology)
        else:
            self._groups[name] = placement_group(bundles, strategy=strategy)

    def ready(self, name: str) -> List[str]:
        if name in self._groups:
            self._ray.get(self._groups[name].ready())
            return []
        if name in self._tasks:
            files = [self._directory / f"{name}-{number}.pod" for number in range(len(self._tasks[name]))]
            while not all(path.exists() and path.read_text() for path in files):
                time.sleep(POLL_SECONDS)
            return sorted(path.read_text() for path in files)
        return self.alive(name)

    def alive(self, name: str) -> List[str]:
        return sorted(self._ray.get([actor.pod.remote() for actor in self._actors[name]]))

    def hold(self, name: str, mebibytes: int) -> None:
        self._ray.get([actor.hold.remote(mebibytes) for actor in self._actors[name]])

    def devices(self, name: str, resource: str = "GPU") -> List[List[str]]:
        return self._ray.get([actor.devices.remote(resource) for actor in self._actors[name]])

    def release(self, name: str) -> List[str]:
        """For tasks: the Pods they ended in; an error if one of them was lost on the way."""
        if name in self._groups:
            from ray.util.placement_group import remove_placement_group

            remove_placement_group(self._groups.pop(name))
            return []
        if name in self._tasks:
            (self._directory / f"{name}.released").touch()
            return sorted(self._ray.get(self._tasks.pop(name)))
        for actor in self._actors.pop(name):
            self._ray.kill(actor)
        return []

    def request(self, bundles: List[Dict[str, float]]) -> None:
        from ray.autoscaler.sdk import request_resources

        request_resources(bundles=bundles)

    def publish(self, line: str) -> None:
        worker = self._ray._private.worker.global_worker
        event = json.dumps({"severity": "INFO", "message": line})
        batch = {"ip": worker.node_ip_address, "pid": "autoscaler", "job": "", "is_err": False}
        worker.gcs_client.publish_logs({**batch, "lines": [event], "actor_name": "", "task_name": ""})

    def status(self) -> str:
        """As the command prints it."""
        from ray.autoscaler.v2.sdk import get_cluster_status
        from ray.autoscaler.v2.utils import ClusterStatusFormatter

        return ClusterStatusFormatter.format(get_cluster_status(self._ray._private.worker.global_worker.gcs_client.address))

    def draining(self) -> Dict[str, float]:
        """As Ray Train's PreemptionWatcher reads them."""
        return {node: at / 1000 for node, at in self._ray._private.state.state.get_draining_nodes().items()}

    def key(self, name: str, drop: bool = False) -> Optional[str]:
        """As Ray's own list of scrape targets reads AutoscalerMetricsAddress: no namespace."""
        from ray.experimental import internal_kv

        value = internal_kv._internal_kv_get(name)
        if drop:
            internal_kv._internal_kv_del(name)
        return value.decode() if value is not None else None

    def shape(self) -> Optional[Dict[str, Any]]:
        from ray._private.state import state
        from ray.data._internal.cluster_autoscaler.default_cluster_autoscaler_v2 import (
            _get_node_resource_spec_and_count as seen_by_data,
        )
        from ray.data._internal.cluster_autoscaler.util import is_autoscaling_enabled

        config = state.get_cluster_config()
        if config is None:
            return None
        groups = {
            group.name: {"min": group.min_count, "max": group.max_count, "resources": dict(group.resources)}
            for group in config.node_group_configs
        }
        seen = [[spec.cpu, spec.gpu, count] for spec, count in seen_by_data().items()]
        most = state.get_max_resources_from_cluster_config()
        return {"groups": groups, "most": most, "scales": is_autoscaling_enabled(), "seen": seen}

    def data(self, blocks: int, dry_seconds: float, variables: Dict[str, str]) -> int:
        from ray_data_run import run  # beside this script

        return run(blocks, dry_seconds, variables)

    def train(self, fewest: int, most: int, looks: float = 60) -> None:
        from ray_train_run import fit  # beside this script

        self._run = ThreadPoolExecutor(1).submit(fit, self._directory, fewest, most, looks)
        self._run.add_done_callback(lambda run: print(repr(run.exception()), file=sys.stderr, flush=True))

    def refused(self) -> List[Any]:
        assert self._run
        error = self._run.exception()
        return [type(error).__name__, str(error), float((self._directory / "took").read_text())]

    def tune(self, trials: int, gpus: int, takes: float) -> int:
        from ray import tune

        def trial(config: Dict[str, Any]) -> None:
            time.sleep(takes)
            tune.report({"done": 1})

        asks = tune.PlacementGroupFactory([{"CPU": 0.1, "GPU": 1}, *[{"GPU": 1}] * (gpus - 1)], strategy="STRICT_SPREAD")
        config = tune.TuneConfig(num_samples=trials)
        run = tune.RunConfig(storage_path=str(self._directory), verbose=0)
        results = tune.Tuner(tune.with_resources(trial, asks), tune_config=config, run_config=run).fit()
        return sum(result.metrics.get("done", 0) for result in results)

    def trained(self) -> Dict[str, Any]:
        from ray_train_run import finish

        finish(self._directory)
        assert self._run
        return self._run.result()

    def deploy(self, name: str, options: Dict[str, Any]) -> None:
        from ray import serve

        @serve.deployment(name="Model", **options)
        class Model:
            def __call__(self) -> str:
                time.sleep(1)
                return os.environ.get("RAY_CLOUD_INSTANCE_ID", "")

        serve.start(proxy_location="Disabled")
        serve.run_many([serve.RunTarget(Model.bind(), name, None)], wait_for_applications_running=False)

    def call(self, name: str, count: int = 1) -> List[str]:
        from ray import serve

        handle = serve.get_app_handle(name)
        answers = [handle.remote() for _ in range(count)]
        return sorted(answer.result(timeout_s=150) for answer in answers)

    def load(self, name: str) -> None:
        self._load = ThreadPoolExecutor(1).submit(self._calls, name)

    def _calls(self, name: str) -> Dict[str, Any]:
        from ray import serve

        handle = serve.get_app_handle(name)
        pods, errors, answered = set(), [], 0
        while self._loads:
            for answer in [handle.remote() for _ in range(4)]:
                try:
                    pods.add(answer.result(timeout_s=60))
                    answered += 1
                except Exception as error:
                    errors.append(repr(error))
        return {"pods": sorted(pods), "errors": errors, "answered": answered}

    def loaded(self) -> Dict[str, Any]:
        self._loads = False
        assert self._load
        return self._load.result()

    def running(self, name: str) -> int:
        from ray import serve

        return serve.status().applications[name].deployments["Model"].replica_states.get("RUNNING", 0)

    def undeploy(self) -> None:
        from ray import serve

        serve.shutdown()

    def end(self) -> None:
        self.ended = True


if __name__ == "__main__":
    main()
