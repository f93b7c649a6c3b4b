"""``rayscaler run`` as a controller against a test server, with the controller's rights and no others."""

import os
import signal
from pathlib import Path
from typing import Optional, Sequence

from . import paths
from .apiserver import ApiServer
from .processes import Process

HOME = "rayscaler-system"
"""The namespace of the controller's ServiceAccount."""


class Controller:
    """A running controller; ``kill`` and ``start`` again as often as a test likes."""

    def __init__(
        self,
        server: ApiServer,
        work_dir: Path,
        flags: Sequence[str] = (),
        namespace: str = "",
        program: Optional[Path] = None,
    ):
        """``namespace`` limits it, rights and ``--namespace``, to one; else it sees all."""
        work_dir.mkdir(parents=True, exist_ok=True)
        home = namespace or HOME
        if not namespace and server.admin.of("namespaces").find(HOME) is None:
            server.create_namespace(HOME)
        token = server.namespaced_controller_token(home) if namespace else server.controller_token(home)
        self.kubeconfig = server.write_kubeconfig(work_dir / "controller.kubeconfig", token=token)
        self.log = work_dir / "controller.log"
        self._command = [str(program or paths.program()), "run", "--kubeconfig", str(self.kubeconfig)]
        self._command += ["--namespace", namespace] if namespace else []
        self._command += list(flags)
        self.start()

    def start(self) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "RAY_"))}
        self.process = Process("rayscaler", self._command, self.log, env=env)

    def kill(self) -> None:
        """SIGKILL: a supported way to stop."""
        self.process.signal(signal.SIGKILL)
        self.process.popen.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        return self.process.stop()

    def __enter__(self) -> "Controller":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
