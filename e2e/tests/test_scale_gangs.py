"""Parts of gangs whose rest does not come: gangHoldSeconds with real placement groups."""

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.wait import wait_until

HELD = {"bench.rayscaler.dev/unschedulable": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}


def test_half_a_gang_goes_back_and_another_group_is_tried(shared, controller):
    """STRICT_SPREAD over two groups, one without Nodes; the third may have a worker later."""
    first, second = rm.gpu_group("first", maxReplicas=1), rm.gpu_group("second", annotations=HELD)
    one = shared([first, second, rm.gpu_group("third", maxReplicas=0)])
    control = controller(one.namespace, "--gang-hold-seconds", "3")
    with one.program() as program:
        program.call("group", name="gang", strategy="STRICT_SPREAD", bundles=[{"GPU": 1}] * 2)
        program.begin("ready", name="gang")
        (part,), (rest,) = one.wait_joined(1, "first"), one.wait_workers(1, "second")
        wait_until(lambda: not one.worker_pods(), 15, "the part and the rest to be gone")
        assert [one.replicas(name) for name in ("first", "second")] == [0, 0]
        assert {event.subject for event in one.recorder.of("created")} == {part, rest}, "a part is not launched again"
        control.wait_for("scaled", "first", "ScaleDownDrained")
        control.wait_for("scaled", "second", "ScaleDownBackOff", "gangHoldSeconds")
        one.configure(gangHoldSeconds=0)
        one.edit_group("third", maxReplicas=1)
        assert program.answer(30) == []
        assert [one.replicas(name) for name in ("first", "second", "third")] == [1, 0, 1]
        program.end()
