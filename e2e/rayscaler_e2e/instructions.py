"""Instructions of the program for one read of a Ray that does not change: by callgrind, so other work of the
machine does not matter. All threads and all that goes on beside the reads count: reports, status, the Lease."""

import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import List, Optional

from .program import Controller

READS = re.compile(r'^rayscaler_reconcile_duration_seconds_count\{phase="reading"\} (\d+)', re.M)
READS_PER_SECOND = 5  # at least, where nothing else runs
TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.M)


def under_callgrind(program: Path, directory: Path) -> Optional[Path]:
    """A program that runs the other one under callgrind; None: there is no valgrind."""
    if not shutil.which("valgrind") or not shutil.which("callgrind_control"):
        return None
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "under_callgrind.sh"
    script.write_text(f'#!/bin/sh\nexec valgrind -q --tool=callgrind --callgrind-out-file={directory}/out "{program}" "$@"\n')
    script.chmod(0o755)
    return script


def reads_of(control: Controller) -> int:
    found = READS.search(control.get("/metrics", seconds=60)[1])
    return int(found.group(1)) if found else 0


def _callgrind(pid: int, *words: str) -> None:
    subprocess.run(["callgrind_control", *words, str(pid)], check=True, capture_output=True, timeout=120)


def per_read(control: Controller, directory: Path, seconds: float) -> float:
    """Of a controller that runs so and rests. What goes on beside the reads goes by the clock, so on a machine that is
    busy, with fewer reads, each would have more of it: they count as on one that is not."""
    before = reads_of(control)
    _callgrind(control.process.pid, "-z")
    threading.Event().wait(seconds)
    _callgrind(control.process.pid, "-d")
    reads = reads_of(control) - before
    dumps: List[str] = [path.read_text() for path in sorted(directory.glob("out.*"))]
    totals = sum(int(found) for dump in dumps for found in TOTALS.findall(dump)[:1])
    assert reads > 0 and totals > 0, (reads, totals)
    return totals / max(reads, READS_PER_SECOND * seconds)
