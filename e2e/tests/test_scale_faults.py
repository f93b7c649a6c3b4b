"""Servers that are down or send nonsense: nothing is scaled down because of it, the others continue."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pod_reaper import gcs_server
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

IDLE = 5
# Of Ray's processes, on a machine that has other work.
LONG = 150
ONE_GPU = '[{"GPU": 1}]'
# Sends nonsense to each client, and keeps the connection.
GARBAGE = """
import socketserver
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(bytes(range(256)) * 64)
        while self.request.recv(65536):
            self.request.sendall(b"\\0" * 9)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("0.0.0.0", %d), Handler).serve_forever()
"""
# Accepts every connection, and never sends a byte.
SILENCE = """
import socket
server = socket.create_server(("0.0.0.0", %d), backlog=64)
taken = []
while True:
    taken.append(server.accept())
"""


def with_head(name, program):
    """A RayCluster with one worker whose head is this Python program. Without a head `ray start` alone tries again."""
    made = rm.cluster(name, [rm.gpu_group(replicas=1, env=rm.RAY_START_ENV)])
    head = made["spec"]["headGroupSpec"]["template"]
    head["metadata"] = {"annotations": {"ray.io/overwrite-container-cmd": "true"}}
    port = head["spec"]["containers"][0]["ports"][0]["containerPort"]
    head["spec"]["containers"][0]["command"] = [sys.executable, "-c", program % port]
    return made


def test_heads_that_answer_garbage_or_nothing_at_all(scenario, namespace, controller):
    bad = scenario(with_head("garbage", GARBAGE), wait=False)
    silent = scenario(with_head("silent", SILENCE), wait=False)
    good = scenario(rm.cluster("good", [rm.gpu_group()]))
    (worker,) = bad.wait_workers(1)
    control = controller(namespace)
    control.wait_for("DemandUnavailable", f"{namespace}/garbage", seconds=15)
    control.wait_for("DemandUnavailable", f"{namespace}/silent", seconds=15)
    # The silent one is read less often, and no other cluster waits for it.
    line = control.wait_for("scan interval is longer than asked for", f"{namespace}/silent", seconds=30)
    assert "its replies are slow" in line["why"], line
    key = f'rayscaler_scan_interval_seconds{{namespace="{namespace}",raycluster='
    interval = lambda name: float(control.get("/metrics")[1].split(f'{key}"{name}"}} ')[1].split()[0])
    wait_until(lambda: interval("good") <= 1, 10, "the interval of the good one")
    wait_until(lambda: interval("silent") >= 4, 20, "the interval of the silent one")
    with good.program() as program:
        asked = time.time()
        program.actors(1, num_gpus=1)
        wait_until(lambda: good.replicas() == 1, 5, "the good one to be patched", 0.02)
        print(f"patched {time.time() - asked:.2f} s after the demand, beside two heads that do not answer")
        program.ready("actors")
        program.end()
    good.wait_empty()
    assert len(silent.workers()) == 1 and silent.replicas() == 1
    assert bad.workers() == [worker] and bad.replicas() == 1
    # Work that does not need Ray continues here as well.
    bad.edit_group(minReplicas=2)
    wait_until(lambda: bad.replicas() == 2, 10, "minReplicas to be honoured without Ray")


def test_a_gcs_that_does_not_answer_for_a_while(scenario, namespace, controller):
    one = scenario(rm.cluster("mute", [rm.gpu_group()]))
    control = controller(namespace)
    one.request(ONE_GPU)
    (worker,) = one.wait_joined(1)
    gcs = gcs_server(one.head())
    one.recorder.may_be_blind()
    os.kill(gcs, signal.SIGSTOP)
    try:
        line = control.wait_for("DemandUnavailable", f"{namespace}/mute", seconds=15)
        one.request(None)
        hold(lambda: one.workers() == [worker] and one.replicas() == 1, IDLE + 5, "nothing is removed unseen")
        events = one.server.admin.of("events", namespace)
        reasons = lambda: [e["reason"] for e in events.items() if e.get("source", {}).get("component") == "rayscaler"]
        wait_until(lambda: "DemandUnavailable" in reasons(), 30, "an Event that says so")
    finally:
        os.kill(gcs, signal.SIGCONT)
    assert line
    control.wait_for("scan interval is as asked for again", f"{namespace}/mute", seconds=20)
    one.wait_empty()


def test_a_gcs_that_is_gone_costs_no_worker(scenario, namespace, controller):
    one = scenario(rm.cluster("gone", [rm.gpu_group()]))
    control = controller(namespace)
    one.request(ONE_GPU)
    (worker,) = one.wait_joined(1, seconds=LONG)
    with one.program() as program:
        # A raylet whose agent does not run yet ends without the GCS as if it had been stopped, and `ray start` stays.
        program.actors(1, num_gpus=1)
        program.ready("actors")
        program.end()
    # No new head is created: the operator does nothing for an invalid spec.
    one.edit({"spec": {"headGroupSpec": {"rayStartParams": {"labels": "held=by-the-test"}}}})
    head = one.head()["metadata"]["name"]
    since = len(control.lines())
    one.recorder.may_be_blind()
    os.kill(gcs_server(one.head()), signal.SIGKILL)
    wait_until(lambda: any("DemandUnavailable" in str(line) for line in control.lines()[since:]), 60, "the message")
    one.request(None)
    hold(lambda: one.workers() == [worker] and one.replicas() == 1, IDLE + 3, "nothing is removed unseen")
    assert one.head()["metadata"]["name"] == head
    # With a new head (a new cluster id) it continues.
    one.recorder.excuse(worker)
    one.edit({"spec": {"headGroupSpec": {"rayStartParams": {"labels": None}}}})
    wait_until(lambda: (one.head() or {"metadata": {"name": head}})["metadata"]["name"] != head, LONG, "a new head Pod")
    wait_until(one._head_ready, LONG, "the new head to be ready")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        program.ready("actors", 2 * LONG)  # the raylet of the old head may end its Pod first, which is a back-off


def test_an_api_server_that_is_gone_for_a_while(shared, controller, api_server):
    one = shared([rm.gpu_group()])
    control = controller(one.namespace)
    with one.program() as program:
        program.tasks(1, name="long", num_gpus=1)
        (busy,) = program.ready("long")
        api_server.interrupt(kill=True)
        try:
            control.wait_for("cannot read from the API server", seconds=15)
            safe = f'rayscaler_safe_to_scale_down{{namespace="{one.namespace}",raycluster="{one.name}"}}'
            wait_until(lambda: f"{safe} 0\n" in control.get("/metrics")[1], 5, "the metrics to say that nothing is removed")
            unready = lambda: control.get("/readyz", "probes")  # noqa: E731
            wait_until(lambda: unready()[0] == 503 and "cannot read the API server's " in unready()[1], 10, "/readyz to say so")
            program.actors(1, num_gpus=1)
            program.begin("ready", name="actors")
            time.sleep(3)
            assert control.process.running()
        finally:
            api_server.resume()
        assert busy not in program.answer(60)
        assert one.replicas() == 2
        wait_until(lambda: f"{safe} 1\n" in control.get("/metrics")[1], 30, "the metrics to say that workers may go")
        wait_until(lambda: control.get("/readyz", "probes")[0] == 200, 10, "/readyz")
        program.call("release", name="actors")
        wait_until(lambda: one.workers() == [busy] and one.replicas() == 1, 30, "the idle worker to go, not the busy one")
        assert program.call("release", name="long") == [busy]
        program.end()
    one.wait_empty()
