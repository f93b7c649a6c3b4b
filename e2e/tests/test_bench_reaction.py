"""The readers of `make bench-reaction`."""

import threading

from bench_reaction import StateWatch


def test_a_read_that_fails_is_followed_by_the_next(monkeypatch):
    answers = iter([RuntimeError("too late"), b""])
    read = threading.Event()

    class Client:
        def __init__(self, address):
            pass

        def get_cluster_resource_state(self, timeout_s):
            answer = next(answers, b"")
            if isinstance(answer, Exception):
                raise answer
            return answer

    class Watch(StateWatch):
        def _note(self, state, now):
            read.set()

    monkeypatch.setattr("ray._raylet.GcsClient", Client)
    watch = Watch("127.0.0.1:1", 0.01)
    assert read.wait(20)
    watch.stop()
