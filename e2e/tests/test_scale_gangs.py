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


def test_a_gang_that_ray_is_placing_keeps_its_idle_workers(shared, controller):
    """Its first worker is idle for longer than the timeout when the last one comes. Then the gang is in no reply of the
    GCS, and both nodes are still reported as idle: nobody asks Ray to drain one."""
    one = shared([rm.gpu_group("first", minReplicas=1, maxReplicas=1), rm.gpu_group("second", maxReplicas=1)], idle_seconds=1)
    control = controller(one.namespace)
    one.wait_joined(1, "first")
    with one.program() as program:
        for _ in range(2):
            one.edit_group("first", minReplicas=1)
            (early,) = one.wait_joined(1, "first")
            wait_until(lambda: one.witness.node(early)["idle_ms"] > 1500, 20, "the first worker to be idle")
            program.call("group", name="gang", strategy="STRICT_SPREAD", bundles=[{"GPU": 1}] * 2)
            program.begin("ready", name="gang")
            one.wait_workers(1, "second")
            one.edit_group("first", minReplicas=0)
            assert program.answer(60) == []
            assert one.workers("first") == [early]
            program.call("release", name="gang")
            for group in ("first", "second"):
                one.wait_empty(group=group)
        program.end()
    assert not control.find("drain rejected")
