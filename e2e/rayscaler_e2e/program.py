"""The program under test as a child process: ``rayscaler run`` as a controller."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import paths
from .apiserver import CONTROLLER_ACCOUNT, ApiServer
from .kubeconfig import write_kubeconfig
from .memory_limit import MemoryLimit
from .processes import Process
from .wait import wait_until

STOP_SECONDS = 5.0


class Controller:
    """One namespace unless ``everywhere``, its own ServiceAccount, a log of JSON lines. ``kill`` and ``start`` as often as
    a test likes; the log continues."""

    def __init__(
        self,
        server: ApiServer,
        namespace: str,
        work_dir: Path,
        *flags: str,
        without: str = "",
        account: str = CONTROLLER_ACCOUNT,
        env: Optional[Mapping[str, str]] = None,
        url: str = "",
        limit: Optional[MemoryLimit] = None,
        everywhere: bool = False,
    ):
        """``everywhere``: in all namespaces, with its ServiceAccount in ``namespace``. ``without``: a resource that it has no rights on, "events". ``env``: added to the environment.
        ``url``: of a proxy in front of ``server``, with a certificate of the same CA. ``limit``: on its memory."""
        work_dir.mkdir(parents=True, exist_ok=True)
        if everywhere:
            token = server.controller_token(namespace, account)
        elif without:
            token = server.controller_token_without(namespace, without)
        else:
            token = server.namespaced_controller_token(namespace, account)
        kubeconfig = work_dir / "controller.kubeconfig"
        self._kubeconfig = write_kubeconfig(kubeconfig, url or server.url, server.ca_file, token=token)
        self._words = [str(paths.controller()), "run", "--kubeconfig", str(self._kubeconfig)]
        self._words += [] if everywhere else ["--namespace", namespace]
        # Every Pod and program of the bench shares one network: free ports, which the log has.
        for flag in ("--metrics-bind-address", "--health-probe-bind-address"):
            if flag not in flags:
                self._words += [flag, "127.0.0.1:0"]
        self._words += list(flags)
        if limit:
            self._words = limit.command(self._words)
        self._env = {**os.environ, **env} if env else None
        self.log = work_dir / "controller.log"
        self.process: Optional[Process] = None
        self.start()

    def start(self) -> None:
        self.process = Process("controller", self._words, self.log, env=self._env)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def stop(self) -> int:
        """SIGTERM; its exit status, which must be 0."""
        return self.process.stop(STOP_SECONDS)

    def lines(self) -> List[Dict[str, Any]]:
        """The log; every line must be JSON and have no key twice."""
        if not self.log.exists():
            return []
        text = self.log.read_text()
        # The last line may be half written, and a killed program leaves one so.
        return [_parse(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]

    def find(self, *words: str) -> List[Dict[str, Any]]:
        """Lines in which every one of ``words`` occurs somewhere."""
        return [line for line in self.lines() if all(word in json.dumps(line, ensure_ascii=False) for word in words)]

    def wait_for(self, *words: str, seconds: float = 10.0) -> Dict[str, Any]:
        return wait_until(lambda: self.find(*words), seconds, f"a log line with {words} in {self.log}")[0]

    def address(self, what: str) -> str:
        """Where the running program listens for "metrics" or "probes": "127.0.0.1:43210"."""
        return self.wait_for('"serving"', f'"{what}"')["address"]

    def get(self, path: str, what: str = "metrics", seconds: float = 10.0) -> Tuple[int, str]:
        """Status and body of one GET."""
        try:
            with urllib.request.urlopen(f"http://{self.address(what)}{path}", timeout=seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def __enter__(self) -> "Controller":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def _parse(line: str) -> Dict[str, Any]:
    return json.loads(line, object_pairs_hook=_unique)


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    assert len(found) == len(pairs), f"a key occurs twice in a log line: {pairs}"
    return found
