"""The examples of RayJob and RayService: KubeRay's real operator makes and submits them, real Ray runs them.

`make test-e2e KUBERAY=real` runs this folder: the stand-in knows RayClusters alone. The operator submits jobs and
applications through Ray's dashboard, so that run installs requirements-kuberay.txt too.
"""

import sys
from typing import Any, Dict, List

import yaml

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import load_yaml
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
SECONDS = 240.0  # Ray's dashboard alone needs a minute on two busy cores


def light(spec: Object, python_path: str = "") -> int:
    """The cluster as it is, with Ray processes and ports that this machine can carry; returns Serve's port."""
    gcs, dashboard, serve = free_port(), free_port(), free_port()
    head, groups = spec["headGroupSpec"], spec["workerGroupSpecs"]
    # A head of another test has the agent's usual port, and jobs are submitted through the agent.
    agent = {"dashboard-agent-listen-port": str(free_port())}
    head["rayStartParams"].update({"port": str(gcs), "dashboard-port": str(dashboard), **agent})
    ports = {"gcs-server": gcs, "dashboard": dashboard, "serve": serve}
    head["template"]["spec"]["containers"][0]["ports"] = [
        {"name": name, "containerPort": port} for name, port in ports.items()
    ]
    for group in (head, *groups):
        group["rayStartParams"].update({"object-store-memory": rm.OBJECT_STORE_BYTES, **rm.LIGHT_PARAMS})
        env = group["template"]["spec"]["containers"][0].setdefault("env", [])
        env[:] = [one for one in env if one["name"] != "PYTHONPATH"]
        more = {**rm.LIGHT_ENV, **({"PYTHONPATH": python_path} if python_path else {})}
        env += [{"name": name, "value": value} for name, value in more.items()]
    return serve


class Owned:
    """A RayJob or RayService, and the RayCluster that KubeRay made of it."""

    def __init__(self, server: Any, namespace: str, obj: Object):
        self.admin, self.namespace = server.admin, namespace
        self.path = f"/apis/ray.io/v1/namespaces/{namespace}/{obj['kind'].lower()}s"
        self.name = obj["metadata"]["name"]
        self.admin.call("POST", self.path, obj)

    def status(self) -> Object:
        return self.admin.call("GET", f"{self.path}/{self.name}").get("status") or {}

    def clusters(self) -> List[Object]:
        return self.admin.of("rayclusters", self.namespace).items()

    def replicas(self) -> List[int]:
        return [cluster["spec"]["workerGroupSpecs"][0]["replicas"] for cluster in self.clusters()]

    def pods(self, node_type: str) -> List[Object]:
        return self.admin.of("pods", self.namespace).items(f"{kp.NODE_TYPE_LABEL}={node_type}")

    def delete(self) -> None:
        self.admin.call("DELETE", f"{self.path}/{self.name}")
        wait_until(lambda: not self.clusters(), SECONDS, "the RayCluster to be deleted with its owner")

    def check_parked(self) -> None:
        (head,) = self.pods("head")
        (container,) = [one for one in head["spec"]["containers"] if one["name"] == "autoscaler"]
        assert (container["command"], container["args"]) == (["timeout"], ["infinity", "sleep", "infinity"])
        assert container["resources"]["requests"] == {"cpu": "1m", "memory": "4Mi"}


def test_rayjob(api_server, standins, namespace, controller):
    (job,) = load_yaml(paths.ROOT / "examples" / "rayjob.yaml")
    job["spec"]["entrypoint"] = job["spec"]["entrypoint"].replace("python", sys.executable, 1)
    job["spec"]["submissionMode"] = "HTTPMode"  # no controller runs that would make Pods of a Job
    light(job["spec"]["rayClusterSpec"])
    controller(namespace)
    one = Owned(api_server, namespace, job)
    wait_until(lambda: one.replicas() == [2], SECONDS, "two workers for two tasks")
    one.check_parked()
    wait_until(lambda: one.status().get("jobStatus") == "SUCCEEDED", SECONDS, f"the job to end: {one.status()}")
    wait_until(lambda: not one.clusters(), SECONDS, "the RayCluster to be deleted after the job")
    one.delete()


def test_rayservice(api_server, standins, namespace, controller, work_dir):
    code, service = load_yaml(paths.ROOT / "examples" / "rayservice.yaml")
    for name, text in code["data"].items():
        (work_dir / name).write_text(text)
    port = light(service["spec"]["rayClusterConfig"], str(work_dir))
    serve = yaml.safe_load(service["spec"]["serveConfigV2"])
    serve.update(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
    service["spec"]["serveConfigV2"] = yaml.safe_dump(serve)  # all Pods share one network
    controller(namespace)
    one = Owned(api_server, namespace, service)

    def running() -> bool:
        status = one.status()
        found = [status.get(part) or {} for part in ("activeServiceStatus", "pendingServiceStatus")]
        apps = [(part.get("applicationStatuses") or {}).get("app") or {} for part in found]
        return any(app.get("status") == "RUNNING" for app in apps)

    wait_until(lambda: one.replicas() == [1], SECONDS, "a worker for the first replica")
    one.check_parked()
    wait_until(running, SECONDS, "the application to run")
    assert len(one.pods("worker")) == 1
    one.delete()
