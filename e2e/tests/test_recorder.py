"""The recorder's verdict on a deletion, from a witness's readings: pure, no server."""

from typing import Any, Dict, List

from rayscaler_e2e.recorder import busy_when_deleted

Object = Dict[str, Any]
DELETED_AT = 10.34


def reply(at: float, status: str, gpus: float = 0, death: str = "", node: str = "n1") -> Object:
    in_use = {"GPU": gpus} if gpus else {}
    return {"at": at, "nodes": [{"id": node, "pod": "p", "status": status, "in_use": in_use, "death": death}]}


def verdict(*replies: Object, ended: bool = False) -> str:
    lines: List[Object] = list(replies)
    return busy_when_deleted(lines, "p", DELETED_AT, ended)


def test_a_worker_that_was_busy_and_died_of_its_deletion_was_busy():
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1))
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), reply(10.4, "RUNNING", 1))
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), reply(10.4, "DEAD"))
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), reply(10.4, "DEAD", death="EXPECTED_TERMINATION"))
    assert "DRAINING" in verdict(reply(10.2, "DRAINING", 1), reply(10.4, "DEAD", death="AUTOSCALER_DRAIN_PREEMPTED"))


def test_a_worker_that_seems_idle_afterwards_was_busy():
    """Its work ended with it."""
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), reply(10.4, "IDLE"), reply(10.6, "DEAD"))


def test_a_worker_that_went_idle_between_two_replies_was_not_busy_if_its_raylet_says_so():
    drained = reply(10.5, "DEAD", death="AUTOSCALER_DRAIN_IDLE")
    assert verdict(reply(10.2, "RUNNING", 1), drained) == ""
    assert verdict(reply(10.2, "RUNNING", 1), reply(10.4, "DRAINING"), drained) == ""


def test_the_end_of_another_raylet_in_the_same_pod_says_nothing():
    other = reply(10.5, "DEAD", death="AUTOSCALER_DRAIN_IDLE", node="n2")
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), other)


def test_an_idle_worker_was_not_busy():
    assert verdict(reply(10.2, "IDLE")) == ""
    assert verdict(reply(10.2, "DRAINING")) == ""


def test_what_the_witness_could_not_see_is_no_proof():
    assert "unseen" in verdict()
    assert "unseen" in verdict(reply(9.2, "IDLE"))
    assert "unseen" in verdict(reply(10.4, "IDLE"))


def test_unseen_the_raylet_says_that_it_had_nothing_to_do():
    drained = reply(10.5, "DEAD", death="AUTOSCALER_DRAIN_IDLE")
    assert verdict(reply(9.2, "RUNNING", 1), drained) == ""
    assert "unseen" in verdict(reply(9.2, "RUNNING", 1), reply(10.5, "DEAD", death="EXPECTED_TERMINATION"))


def test_unseen_a_pod_that_had_ended_was_not_busy():
    assert verdict(ended=True) == verdict(reply(9.2, "RUNNING", 1), ended=True) == ""
    assert "RUNNING" in verdict(reply(10.2, "RUNNING", 1), ended=True)
