"""GPU time and its cost: what the counters show while the controller is killed, and `status --cost`."""

import itertools
import json
import time
from datetime import datetime
from typing import Any, Dict

import pytest

from rayscaler_e2e import rayclusters
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.cli import Cli
from rayscaler_e2e.kuberay_pod import owner_reference
from rayscaler_e2e.program import Controller
from rayscaler_e2e.wait import wait_until

GPUS = 4
PRICE = 3600.0  # of a GPU-hour: one for each GPU-second
ROWS = [{"gpuModel": "A100", "market": "spot", "perGPUHour": PRICE}, {"perGPUHour": 1}]
STATES = ("used", "idle", "requested", "starting", "terminating")


def price_table(*rows: Dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "PriceTable", "currency": "EUR", "prices": rows})


def worker(cluster: Dict[str, Any], name: str, spec: Dict[str, Any], node: str) -> Dict[str, Any]:
    labels = {"ray.io/cluster": "demo", "ray.io/node-type": "worker", "ray.io/group": "gpus"}
    return {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner_reference(cluster)]},
        "spec": {**spec, "nodeName": node},
    }


class Metered:
    """A RayCluster whose one worker runs, without Ray; each change of it is a reason to write its status."""

    def __init__(self, server: ApiServer, namespace: str, node: str = "no-such-node"):
        self.namespace = namespace
        self.clusters = server.admin.of("rayclusters", namespace)
        self.objects = server.admin.of("rayclusterautoscalers", namespace)
        group = rayclusters.group("gpus", {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(GPUS)}, replicas=1, maxReplicas=5)
        group["template"]["spec"]["nodeSelector"] = {
            "cloud.google.com/gke-accelerator": "nvidia-tesla-a100",
            "cloud.google.com/gke-spot": "true",
        }
        obj = rayclusters.minimal("demo", group)
        obj["metadata"]["labels"] = {"owner": "ann"}
        obj["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "refused=true"  # by an operator of the session
        made = self.clusters.create(obj)
        pods = server.admin.of("pods", namespace)
        self.begin = time.time() - 1  # creation times are whole seconds
        pods.create(worker(made, "demo-worker", group["template"]["spec"], node))
        state = {"name": "ray-worker", "ready": True, "restartCount": 0, "image": "x", "imageID": "x"}
        started = {"running": {"startedAt": datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")}}
        pods.patch_merge("demo-worker", {"status": {"phase": "Running", "containerStatuses": [{**state, "state": started}]}}, "status")
        self._maximum = itertools.count(6)

    def write(self) -> Dict[str, Any]:
        """Has the status written with the sums of now, and returns its metering."""
        maximum = next(self._maximum)
        self.clusters.patch_json("demo", [{"op": "replace", "path": "/spec/workerGroupSpecs/0/maxReplicas", "value": maximum}])

        def written() -> Any:
            status = (self.objects.get("demo") or {}).get("status") or {}
            return status.get("groups", [{}])[0].get("maxReplicas") == maximum and status["metering"]

        return wait_until(written, 20, "the status to be written")

    def most(self) -> float:
        """GPU-seconds that the worker can have had until now."""
        return (time.time() - self.begin) * GPUS


def shown(program: Controller, namespace: str) -> Dict[str, float]:
    """The counters by state, and the cost."""
    labels = f'namespace="{namespace}",raycluster="demo",group="gpus"'
    names = {f'rayscaler_gpu_seconds_total{{{labels},state="{state}"}}': state for state in STATES}
    names[f'rayscaler_cost_total{{{labels},currency="EUR"}}'] = "cost"
    _, text = program.get("/metrics")
    pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {names[name]: float(value) for name, value in pairs if name in names}


@pytest.fixture
def metered(api_server: ApiServer, namespace: str) -> Metered:
    return Metered(api_server, namespace)


def test_counters_continue_after_kills_and_count_nothing_twice(metered, namespace, controller, tmp_path):
    table = tmp_path / "prices.json"
    table.write_text(price_table(*ROWS))
    program = controller(namespace, "--price-table", str(table))
    first = wait_until(lambda: shown(program, namespace), 20, "the series")
    assert set(first) == {*STATES, "cost"} and first["starting"] == 0
    last = 0.0
    for _ in range(3):
        time.sleep(1.1)  # GPU time; no result depends on its length
        stored = metered.write()["groups"][0]["usedGPUSeconds"]
        now = wait_until(lambda: (s := shown(program, namespace))["used"] >= stored and s, 20, "the counter to show what is stored")
        assert last < now["used"] <= metered.most()
        # Of each restart the sums of states lose a fraction of a GPU-second, and the cost does not.
        assert 0 <= now["cost"] - sum(now[state] for state in STATES) < 6
        last = now["used"]
        time.sleep(0.5)  # counted, not written
        program.kill()
        program = controller(namespace, "--price-table", str(table))
        again = wait_until(lambda: shown(program, namespace), 20, "the series after the restart")
        assert last <= again["used"] <= metered.most()
    # The time between the kills is counted from the Pod: only fractions are missing, at most 1 GPU-second a restart.
    metering = metered.write()
    (group,) = metering["groups"]
    until = datetime.strptime(metering["until"].split(".")[0].rstrip("Z") + " +0000", "%Y-%m-%dT%H:%M:%S %z").timestamp()
    since = datetime.strptime(metering["since"].split(".")[0].rstrip("Z") + " +0000", "%Y-%m-%dT%H:%M:%S %z").timestamp()
    total = sum(group[f"{state}GPUSeconds"] for state in STATES)
    assert (until - since - 1) * GPUS - 4 <= total <= (until - since + 1) * GPUS + 1
    assert metering["costPerHourMicros"] == GPUS * PRICE * 1e6 and metering["gpus"] == str(GPUS)


def test_status_shows_it_without_a_controller(api_server, metered, namespace, controller, work_dir, tmp_path):
    table = tmp_path / "prices.json"
    table.write_text(price_table(*ROWS))
    program = controller(namespace, "--price-table", str(table))
    wait_until(lambda: shown(program, namespace), 20, "the series")
    time.sleep(1.1)  # GPU time
    metered.write()
    program.kill()
    stored = metered.objects.get("demo")["status"]["metering"]
    cli = Cli(api_server, namespace, work_dir, system=namespace)
    (one,) = json.loads(cli.run("status", "--cost", "--by", "label=owner", "-o", "json").stdout)["sums"]
    assert (one["key"], one["currency"], one["gpus"], one["costPerHour"]) == ("ann", "EUR", GPUS, GPUS * PRICE)
    assert one["cost"] == pytest.approx(stored["groups"][0]["costMicros"] / 1e6) and one["cost"] > 0
    title, row, total = cli.run("status", "--cost").stdout.splitlines()
    assert title.split()[:3] == ["NAMESPACE", "CLUSTER", "GPUS"] and total.split()[0] == "all"
    assert row.split()[:5] == [namespace, "demo", str(GPUS), f"{GPUS * PRICE:.2f}", "EUR"]


def test_a_running_worker_has_the_price_of_its_node(api_server, namespace, controller, work_dir, tmp_path):
    """The template selects another price; the Node appears after the worker and then changes its labels."""
    nodes, name = api_server.admin.of("nodes"), f"{namespace}-node"
    api_server.let_read_nodes(namespace)
    metered = Metered(api_server, namespace, name)
    table = tmp_path / "prices.json"
    table.write_text(price_table({"nodeLabels": {"pool": "reserved"}, "perGPUHour": 50}, *ROWS))
    program = controller(namespace, "--price-table", str(table))
    wait_until(lambda: shown(program, namespace), 20, "the series")

    def per_hour() -> float:
        return metered.write()["costPerHourMicros"] / 1e6

    assert per_hour() == GPUS * PRICE
    try:
        nodes.create({"metadata": {"name": name, "labels": {"pool": "reserved"}}})
        wait_until(lambda: per_hour() == GPUS * 50, 20, "the price of the Node")
        cli = Cli(api_server, namespace, work_dir, system=namespace)
        _, row, _ = cli.run("status", "--cost").stdout.splitlines()
        assert row.split()[3:5] == [f"{GPUS * 50:.2f}", "EUR"]
        nodes.patch_merge(name, {"metadata": {"labels": {"pool": None}}})
        wait_until(lambda: per_hour() == GPUS, 20, "the price of any Node")
    finally:
        nodes.delete(name)
    wait_until(lambda: per_hour() == GPUS * PRICE, 20, "the price of the template")


def test_series_end_with_the_cluster(metered, namespace, controller):
    program = controller(namespace)
    counters = wait_until(lambda: shown(program, namespace), 20, "the series")
    assert set(counters) == set(STATES)  # no table, no cost
    metered.clusters.delete("demo")
    wait_until(lambda: not shown(program, namespace), 20, "the series to end")
