"""Waiting for something to become true, always with a deadline. Tests wait in no other way."""

import time
from typing import Any, Callable

POLL_SECONDS = 0.05


class WaitTimeout(AssertionError):
    """The predicate did not become true in time; the message names the awaited condition."""


def wait_until(
    predicate: Callable[[], Any], deadline_seconds: float, what: str, poll_seconds: float = POLL_SECONDS
) -> Any:
    """Call ``predicate`` until it returns something true, and return that.

    ``what`` completes "waited N s for ...". The last value (or the last AssertionError of the
    predicate, which counts as "not yet") is part of the failure message; other exceptions pass.
    """
    start = time.monotonic()
    while True:
        try:
            last = predicate()
            if last:
                return last
        except AssertionError as error:
            last = error
        waited = time.monotonic() - start
        if waited >= deadline_seconds:
            raise WaitTimeout(f"waited {waited:.1f} s for {what}; last seen: {last!r}")
        time.sleep(min(poll_seconds, max(0.0, deadline_seconds - waited)))
