"""Submitted jobs and Serve applications keep a RayCluster from idle termination: Ray's dashboard and Serve are needed."""

import sys
import time

import requests

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

AFTER_SECONDS = 60
SECONDS = 240.0  # Ray's dashboard alone needs a minute on two busy cores
SERVE = """
from ray import serve

@serve.deployment(ray_actor_options={"num_cpus": 0})
class App:
    def __call__(self, request):
        return "here"

serve.start(proxy_location="Disabled")
serve.run(App.bind(), name="app")
"""
JOB = "import time; time.sleep(600)"


def cluster(name):
    """With a dashboard; returns its port as well."""
    made, port = rm.cluster(name, [rm.gpu_group()]), free_port()
    params = made["spec"]["headGroupSpec"]["rayStartParams"]
    params.update({"include-dashboard": "true", "dashboard-port": str(port), "dashboard-agent-listen-port": str(free_port())})
    return made, port


def submit(port, code):
    """As `ray job submit`."""
    body = {"entrypoint": f"{sys.executable} -c '{code}'"}

    def sent():
        try:
            answer = requests.post(f"http://127.0.0.1:{port}/api/jobs/", json=body, timeout=20)
        except requests.ConnectionError:
            return None
        return answer.json().get("submission_id") if answer.status_code == 200 else None

    return wait_until(sent, SECONDS, "the job to be accepted")


def status(port, job):
    return requests.get(f"http://127.0.0.1:{port}/api/jobs/{job}", timeout=20).json()["status"]


def test_a_job_and_an_application_keep_their_cluster(api_server, scenario, namespace, controller):
    objects = api_server.admin.of("rayclusterautoscalers", namespace)
    kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler"}
    found, ports = {}, {}
    for name in ("job", "application", "finished"):
        objects.create({**kind, "metadata": {"name": name}, "spec": {"idleTermination": {"afterSeconds": AFTER_SECONDS}}})
        made, ports[name] = cluster(name)
        found[name] = scenario(made, wait=False)
    for one in found.values():
        one.wait_head(SECONDS)
    jobs = {"job": submit(ports["job"], JOB), "finished": submit(ports["finished"], "1")}
    jobs["application"] = submit(ports["application"], SERVE.replace("'", '"'))
    wait_until(lambda: status(ports["job"], jobs["job"]) == "RUNNING", SECONDS, "the job to run")
    for name in ("application", "finished"):
        wait_until(lambda name=name: status(ports[name], jobs[name]) == "SUCCEEDED", SECONDS, f"{name} to end")
    controller(namespace)
    begun = time.monotonic()
    wait_until(lambda: found["finished"].get()["spec"].get("suspend"), AFTER_SECONDS + 120, "the cluster of the finished job")
    wait_until(lambda: not found["finished"].pods(), 60, "its Pods to be gone")
    print(f"suspended without a Pod {time.monotonic() - begun:.0f} s after the controller started")
    others = [found["job"], found["application"]]
    hold(lambda: not any(one.get()["spec"].get("suspend") for one in others), 20, "a job and an application keep theirs")
    assert status(ports["job"], jobs["job"]) == "RUNNING"
