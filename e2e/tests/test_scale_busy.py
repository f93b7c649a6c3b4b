"""No busy worker is ever removed: lowered replicas, rejected drains. A controller that is killed: test_kill.py."""

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.relay import HoldingRelay
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

IDLE = 5


def test_a_worker_with_a_task_stays_also_when_replicas_is_lowered_by_hand(shared, controller):
    one = shared([rm.gpu_group()])
    controller(one.namespace)
    with one.program() as program:
        program.tasks(1, name="long", num_gpus=1)
        program.tasks(1, name="short", num_gpus=1)
        (busy,) = program.ready("long")
        (free,) = program.ready("short")
        program.call("release", name="short")
        one.edit_group(replicas=0)
        wait_until(lambda: one.replicas() >= 1, 5, "replicas to be repaired")
        wait_until(lambda: one.workers() == [busy] and one.replicas() == 1, 25, "only the idle worker to go")
        hold(lambda: one.workers() == [busy], IDLE + 2, "the busy worker stays")
        assert free not in one.workers()
        assert program.call("release", name="long") == [busy]
        program.end()
    one.wait_empty()


def test_a_worker_whose_drain_ray_rejects_is_kept(scenario, namespace, controller):
    # The controller reaches the GCS through a relay that holds the drain back until a task has
    # begun on the worker: Ray must refuse it then.
    manifest = rm.cluster("reject", [rm.gpu_group()])
    relay_port = free_port()
    port = manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"][0]
    gcs_port, port["containerPort"] = port["containerPort"], relay_port
    one = scenario(manifest)
    with HoldingRelay(relay_port, (one.head_ip(), gcs_port)) as relay, one.program() as program:
        control = controller(namespace, "--gcs-timeout-seconds", "30", "--state-max-age-seconds", "60")
        one.request('[{"GPU": 1}]')
        (worker,) = one.wait_joined(1)
        relay.hold(bytes.fromhex(one.witness.node(worker)["id"]))
        one.request(None)
        relay.wait_held(IDLE + 15)
        program.tasks(1, num_gpus=1)
        wait_until(lambda: one.witness.node(worker)["status"] == "RUNNING", 10, "the task to begin")
        relay.release()
        control.wait_for("drain rejected", worker)
        hold(lambda: one.workers() == [worker] and one.replicas() == 1, IDLE + 3, "the worker stays")
        assert program.ready("tasks") == [worker]
        assert program.call("release", name="tasks") == [worker]
        program.end()
        one.wait_empty()
