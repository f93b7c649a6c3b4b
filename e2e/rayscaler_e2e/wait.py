"""Waiting for something to become true, always with a deadline. Tests wait in no other way.

A test's deadline counts seconds of a machine that is not busy: while n processes want each core, one of its seconds
takes n, but a deadline at most BUSY_SECONDS_MOST more. So a test fails for what it waits for, and not for the other
work of the machine, and ends. Benches measure: outside of tests a second is a second.
"""

import os
import time
from pathlib import Path
from typing import Any, Callable

POLL_SECONDS = 0.05
BUSY_MOST = 10.0
BUSY_SECONDS_MOST = 120.0
LOAD = Path("/proc/loadavg")


class WaitTimeout(AssertionError):
    """The predicate did not become true in time; the message names the awaited condition."""


def processes_per_core() -> float:
    """Of those that want to run, now or in the last minute; 1 to BUSY_MOST, and 1 outside of tests."""
    if "PYTEST_CURRENT_TEST" not in os.environ:
        return 1.0
    try:
        fields = LOAD.read_text().split()
        runnable = max(float(fields[0]), float(fields[3].split("/")[0]))
    except (OSError, IndexError, ValueError):
        return 1.0
    return min(BUSY_MOST, max(1.0, runnable / (os.cpu_count() or 1)))


def allowed(seconds: float) -> float:
    """So many seconds of a machine that is not busy, as seconds of this one now: bounds of measured times."""
    return seconds * processes_per_core()


def wait_until(
    predicate: Callable[[], Any], deadline_seconds: float, what: str, poll_seconds: float = POLL_SECONDS
) -> Any:
    """Call ``predicate`` until it returns something true, and return that.

    ``what`` completes "waited N s for ...". The last value (or the last AssertionError of the
    predicate, which counts as "not yet") is part of the failure message; other exceptions pass.
    """
    start = counted = time.monotonic()
    left = deadline_seconds
    while True:
        try:
            last = predicate()
            if last:
                return last
        except AssertionError as error:
            last = error
        now = time.monotonic()
        left -= (now - counted) / processes_per_core()
        counted = now
        if left <= 0 or now - start > deadline_seconds + BUSY_SECONDS_MOST:
            raise WaitTimeout(f"waited {now - start:.1f} s for {what}; last seen: {last!r}")
        time.sleep(min(poll_seconds, left))
