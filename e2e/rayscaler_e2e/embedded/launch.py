"""The embedded API server as a child process."""

import os
import secrets
import signal
import sys
from pathlib import Path
from typing import List, Optional

from .. import paths
from ..apiserver import ApiServer, Write
from ..processes import Process


# As manifests/audit-policy.yaml.
AUDITED = ("rayclusters", "rayclusterautoscalers", "leases", "events")


class EmbeddedApiServer(ApiServer):
    kind = "embedded"

    def __init__(self, work_dir: Path):
        super().__init__(work_dir)
        self._cert, self._key = self.pki.server()
        self._secret = self.pki.directory / "service-account.secret"
        with open(os.open(self._secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(secrets.token_bytes(32))
        self._log = self.work_dir / "apiserver.log"
        self._process: Optional[Process] = None
        try:
            self.resume()
            self.version = self.admin.call("GET", "/version")["gitVersion"]
        except BaseException:
            self.stop()
            raise

    def describe(self) -> str:
        return f"embedded API server {self.version} (in memory, Python {sys.version.split()[0]})"

    def check_running(self) -> None:
        if self._process is not None:
            self._process.check_running()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    def interrupt(self, kill: bool = False) -> None:
        assert self._process is not None
        if kill:
            self._process.kill()
        else:
            self._process.stop()
        self._process = None

    def resume(self) -> None:
        command = [
            sys.executable,
            "-m",
            "rayscaler_e2e.embedded",
            f"--port={self.port}",
            f"--tls-cert-file={self._cert}",
            f"--tls-private-key-file={self._key}",
            f"--client-ca-file={self.ca_file}",
            f"--token-auth-file={self.token_file}",
            f"--service-account-key-file={self._secret}",
            f"--journal={self.work_dir / 'journal'}",
        ]
        env = {**os.environ, "PYTHONPATH": str(paths.E2E), "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = Process("embedded API server", command, self._log, env=env)
        self.wait_ready()

    def writes(self, namespace: str) -> List[Write]:
        """From lines like "PATCH /apis/... 200 1.5ms user=NAME"."""
        found = []
        for line in self._all_answered(self._log).splitlines():
            words = line.split()
            if len(words) == 5 and words[4].startswith("user=") and words[2].isdigit():
                user = words[4][len("user=") :]
                found.append(Write.of(namespace, user, words[0], words[1], int(words[2])))
        return [one for one in found if one and one.plural in AUDITED]

    def freeze(self) -> None:
        assert self._process is not None
        self._process.freeze()

    def thaw(self) -> None:
        assert self._process is not None
        self._process.signal(signal.SIGCONT)
