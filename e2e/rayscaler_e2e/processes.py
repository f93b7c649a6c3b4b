"""Child processes of the bench: started with a log file, ended by their own process group.

Each ``Process`` leads a session of its own, so that a Ctrl-C in the terminal reaches only the
bench, which then ends its children in order, and so that ending one also ends its children.
"""

import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Mapping, Optional, Sequence

from .wait import allowed, wait_until

STOP_SECONDS = 10.0


class Process:
    """A running child. ``stop`` is safe to call twice; use as a context manager where possible."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[Path] = None,
    ):
        """Start ``command``; standard output and error are appended to ``log``.

        ``env`` replaces the environment when given. Started from the main thread, the child also
        ends (SIGKILL) when the bench itself is killed; from another thread it does not, because
        Linux ties that to the thread.
        """
        self.name = name
        self.log = log
        self.command = [str(word) for word in command]
        log.parent.mkdir(parents=True, exist_ok=True)
        words = self.command
        setpriv = shutil.which("setpriv")
        if setpriv and threading.current_thread() is threading.main_thread():
            words = [setpriv, "--pdeathsig", "KILL", "--", *words]
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(env) if env is not None else None,
                cwd=cwd,
                start_new_session=True,
            )
        self.pid = self.popen.pid
        self._group_ended = False

    def running(self) -> bool:
        return self.popen.poll() is None

    def returncode(self) -> Optional[int]:
        return self.popen.poll()

    def check_running(self) -> None:
        """Raise with the end of the log when the process has ended."""
        code = self.popen.poll()
        if code is not None:
            raise RuntimeError(f"{self.name} ended with status {code}; end of {self.log}:\n{self.log_tail()}")

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log_text().splitlines()[-lines:])

    def signal(self, number: int) -> None:
        """Send a signal to this process alone, not to its children."""
        self.popen.send_signal(number)

    def freeze(self) -> None:
        """SIGSTOP; when it returns, none of its threads runs. A signal SIGCONT ends it."""
        self.signal(signal.SIGSTOP)
        stats = list(Path(f"/proc/{self.pid}/task").glob("*/stat"))
        wait_until(lambda: all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in stats), 10, f"{self.name} to stop")

    def kill(self) -> None:
        """SIGKILL for the whole group, then reap."""
        self._end_group()

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """SIGTERM, then SIGKILL for the group after ``seconds`` of a machine that is not busy; returns the exit status."""
        if self.popen.poll() is None:
            self._signal_group(signal.SIGCONT)
            self.popen.terminate()
            try:
                self.popen.wait(allowed(seconds))
            except subprocess.TimeoutExpired:
                pass
        return self._end_group()

    def _end_group(self) -> int:
        if not self._group_ended:
            self._signal_group(signal.SIGKILL)
            self._group_ended = True  # the number may soon belong to another process
        return self.popen.wait()

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_exc) -> None:
        self.stop()
