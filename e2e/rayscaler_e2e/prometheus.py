"""A real Prometheus, and promtool: Debian's package, unpacked (``e2e/setup-prometheus.sh``).

    with Prometheus(programs, work_dir, {"rayscaler": ["127.0.0.1:8080"]}, [RULES]) as prometheus:
        prometheus.query("up")                          [Series]
        prometheus.query_range("up", start, end, 1.0)   [Series]
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import urllib3
import yaml

from . import paths
from .ports import free_port
from .processes import Process
from .wait import wait_until

SETUP_SECONDS = 900
START_SECONDS = 30.0
CANNOT_BE_HAD = 3
SCRAPE_SECONDS = 1
# An address that nothing else here uses: its free ports stay free.
ADDRESS = "127.0.9.90"
# Ray's own board selects by this label; KubeRay's PodMonitor sets it, docs/MONITORING.md for ours.
RAY_CLUSTER_LABEL = {
    "source_labels": ["__name__", "raycluster"],
    "regex": "autoscaler_.+;(.+)",
    "target_label": "ray_io_cluster",
}


class NotAvailable(Exception):
    """Prometheus cannot be had on this machine; the message has the reason."""


class QueryError(AssertionError):
    """Prometheus refuses the expression."""


@dataclass(frozen=True)
class Series:
    """``points``: (seconds since 1970, value), one for an instant query."""

    labels: Mapping[str, str]
    points: Sequence[Tuple[float, float]]

    @property
    def value(self) -> float:
        return self.points[-1][1]


def find_programs() -> Dict[str, Path]:
    """{"prometheus": path, "promtool": path}; unpacks Debian's package the first time."""
    done = subprocess.run(
        [str(paths.E2E / "setup-prometheus.sh")], stdout=subprocess.PIPE, text=True, timeout=SETUP_SECONDS
    )
    if done.returncode == CANNOT_BE_HAD:
        raise NotAvailable("Prometheus cannot be had on this machine, see the message of e2e/setup-prometheus.sh")
    done.check_returncode()
    return {name: Path(path) for name, path in (line.split() for line in done.stdout.splitlines())}


def promtool(programs: Mapping[str, Path], *words: str, stdin: str = "") -> Tuple[int, str]:
    """Exit status and all output."""
    command = [str(programs["promtool"]), *words]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


class Prometheus:
    """Scrapes every second; its data is in ``work_dir``. Ready when the constructor returns."""

    def __init__(
        self,
        programs: Mapping[str, Path],
        work_dir: Path,
        jobs: Mapping[str, Sequence[str]],
        rule_files: Sequence[Path] = (),
    ):
        """``jobs``: name -> addresses whose /metrics is scraped. They need not answer yet."""
        work_dir.mkdir(parents=True, exist_ok=True)
        self.log = work_dir / "prometheus.log"
        self._port = free_port()
        config = work_dir / "prometheus.yml"
        config.write_text(yaml.safe_dump(_config(jobs, rule_files)))
        words = [str(programs["prometheus"]), f"--config.file={config}", f"--storage.tsdb.path={work_dir / 'tsdb'}"]
        words += [f"--web.listen-address={ADDRESS}:{self._port}", "--log.level=warn"]
        self._http = urllib3.PoolManager(timeout=10.0, retries=False)
        self._process = Process("prometheus", words, self.log, {**os.environ, "GOMAXPROCS": "1"})
        try:
            wait_until(self._ready, START_SECONDS, "Prometheus to be ready", 0.1)
        except BaseException:
            self.stop()
            raise

    def _ready(self) -> bool:
        self._process.check_running()
        try:
            return self._http.request("GET", self._url("/-/ready")).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def _url(self, path: str) -> str:
        return f"http://{ADDRESS}:{self._port}{path}"

    def get(self, path: str, **fields: Any) -> Any:
        """``data`` of an answer of its API."""
        answer = self._http.request("POST" if "query" in fields else "GET", self._url(path), fields=fields)
        body = json.loads(answer.data)
        if body["status"] != "success":
            raise QueryError(f"{fields or path}: {body.get('error')}")
        return body["data"]

    def query(self, expression: str, at: Optional[float] = None) -> List[Series]:
        """An instant vector, now or at a time; a scalar is one Series without labels."""
        fields: Dict[str, Any] = {"query": expression}
        if at is not None:
            fields["time"] = repr(at)
        data = self.get("/api/v1/query", **fields)
        if data["resultType"] == "scalar":
            return [Series({}, [_point(data["result"])])]
        return [Series(one["metric"], [_point(one["value"])]) for one in data["result"]]

    def query_range(self, expression: str, start: float, end: float, step: float) -> List[Series]:
        fields = {"query": expression, "start": repr(start), "end": repr(end), "step": repr(step)}
        data = self.get("/api/v1/query_range", **fields)
        return [Series(one["metric"], [_point(pair) for pair in one["values"]]) for one in data["result"]]

    def wait_for(self, expression: str, seconds: float = 15.0) -> List[Series]:
        """Until the expression has a result that is not empty."""
        return wait_until(lambda: self.query(expression), seconds, f"Prometheus to have {expression}", 0.2)

    def stop(self) -> None:
        self._process.stop()

    def __enter__(self) -> "Prometheus":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()


def _point(pair: Sequence[Any]) -> Tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _config(jobs: Mapping[str, Sequence[str]], rule_files: Sequence[Path]) -> Dict[str, Any]:
    seconds = f"{SCRAPE_SECONDS}s"
    return {
        "global": {"scrape_interval": seconds, "scrape_timeout": seconds, "evaluation_interval": seconds},
        "rule_files": [str(path) for path in rule_files],
        "scrape_configs": [
            {
                "job_name": name,
                "honor_labels": True,
                "metric_relabel_configs": [RAY_CLUSTER_LABEL],
                "static_configs": [{"targets": list(addresses)}],
            }
            for name, addresses in jobs.items()
        ],
    }
