"""Objects with one hostile value in one field that the program decodes, on a real API server.

Fields, values and the program's result for a stored object are from build/tools/kube_hostile_fields, which
records them from the decoders (src/test/support/hostile_fields.h); nothing is listed here.
"""

import collections
import re
import subprocess
import threading
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .. import paths
from ..apiserver import ApiServer
from ..kubeclient import MERGE_PATCH, RESOURCES, KubeClient
from .bench import Bench
from .honest import Honest

DOCUMENT = paths.ROOT / "src/test/data/hostile-fields.md"
BEGIN = "<!-- API server: made by e2e/hostile_fields.py -->\n"
END = "<!-- end of API server -->\n"
REFUSED = "refused"
STORED = "read"
"""Of a kind that is not watched."""
BATCH = 40
TRIES = 5
"""While the API server is too busy."""
PLURALS = {kind: plural for plural, (_, kind, _) in RESOURCES.items()}
Key = Tuple[str, str, str]
"""Kind, field, value."""
Results = Dict[Key, str]


SECOND_NAME = "other"
"""The second value of the key ``metadata.name`` in the cases "duplicate key"."""


class Case(NamedTuple):
    kind: str
    api_version: str
    field: str
    value: str
    name: str
    body: str
    status: str
    """A merge patch; "": the value is not in the status."""

    def key(self) -> Key:
        return (self.kind, self.field, self.value)

    def path(self, namespace: str) -> str:
        group = "apis" if "/" in self.api_version else "api"
        where = f"namespaces/{namespace}/" if RESOURCES[PLURALS[self.kind]][2] else ""
        return f"/{group}/{self.api_version}/{where}{PLURALS[self.kind]}"


def _tool(*words: str, text: Optional[bytes] = None) -> str:
    program = paths.build_dir() / "tools/kube_hostile_fields"
    return subprocess.run([program, *words], input=text, stdout=subprocess.PIPE, check=True, cwd=paths.ROOT).stdout.decode()


def cases(namespace: str, part: int, parts: int) -> Iterator[Case]:
    program = paths.build_dir() / "tools/kube_hostile_fields"
    words = [program, "cases", namespace, str(part), str(parts)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=paths.ROOT, text=True) as process:
        for line in process.stdout:
            yield Case(*line.rstrip("\n").split("\t"))


class FieldAttack:
    """A thread that creates the objects in batches, gets the program's results for them, and deletes them."""

    def __init__(self, server: ApiServer, namespace: str, part: int, parts: int, only: str):
        """``only``: a regular expression of kind and field, "Pod status.phase"."""
        self._client: KubeClient = server.admin
        self._namespace = namespace
        self._cases = (case for case in cases(namespace, part, parts) if re.match(only, f"{case.kind} {case.field}"))
        self._ended = False
        self.results: Results = {}
        self.error: Optional[Exception] = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """After the batch under way."""
        self._ended = True
        self._thread.join(300)
        if self.error:
            raise self.error
        assert not self.running()

    def _run(self) -> None:
        try:
            batch: List[Case] = []
            for case in self._cases:
                batch.append(case)
                if len(batch) == BATCH:
                    self._batch(batch)
                    if self._ended:
                        return
                    batch = []
            self._batch(batch)
        except Exception as error:  # raised by stop
            self.error = error

    def _send(self, method: str, path: str, body: str, content_type: str = "application/json") -> int:
        for _ in range(TRIES):
            status = self._client.raw(method, path, body.encode(), content_type)[0]
            if status not in (429, 503, 504):
                break
        return status

    def _create(self, case: Case) -> str:
        path = case.path(self._namespace)
        status = self._send("POST", path, case.body)
        if case.status:
            assert status == 201, f"{case.key()}: the sample is not accepted: {status}"
            status = self._send("PATCH", f"{path}/{case.name}/status", case.status, MERGE_PATCH)
        return STORED if status < 300 else REFUSED

    def _batch(self, batch: List[Case]) -> None:
        found = {case.name: self._create(case) for case in batch}
        for kind in {case.kind for case in batch if found[case.name] == STORED}:
            if kind not in ("Lease", "Secret"):
                found.update({name: result for name, result in self._listed(kind).items() if found.get(name) == STORED})
        for case in batch:
            self.results[case.key()] = found[case.name]
        for case in batch:
            if found[case.name] != REFUSED or case.status:
                self._delete(case, case.name)
                if case.field == "metadata.name":  # the API server keeps the second of two equal keys
                    self._delete(case, SECOND_NAME)

    def _delete(self, case: Case, name: str) -> None:
        self._send("DELETE", f"{case.path(self._namespace)}/{name}", '{"gracePeriodSeconds":0}')
        if case.kind == "RayCluster":  # the controller has made one of the same name
            self._client.of("rayclusterautoscalers", self._namespace).delete(name, missing_ok=True)

    def _listed(self, kind: str) -> Dict[str, str]:
        version, _, namespaced = RESOURCES[PLURALS[kind]]
        where = f"namespaces/{self._namespace}/" if namespaced else ""
        status, text = self._client.raw("GET", f"/{version}/{where}{PLURALS[kind]}")
        assert status == 200, text[:500]
        return dict(line.split("\t") for line in _tool("list", kind, text=text).splitlines())


class Run(NamedTuple):
    results: Results
    rounds: List[Tuple[float, float]]
    """Seconds until the honest cluster was scaled up, and from its last work until it was scaled down."""

    def text(self) -> str:
        up = sorted(first for first, _ in self.rounds)
        down = sorted(second for _, second in self.rounds)
        return (
            f"{len(self.results)} objects: {counts(self.results)}; beside them an honest RayCluster {len(up)} times"
            f" scaled up after {up[len(up) // 2]:.2f} s (at most {up[-1]:.2f} s) and down after"
            f" {down[len(down) // 2]:.2f} s (at most {down[-1]:.2f} s, idle timeout 2 s)"
        )


def _timed(action: Callable[[], None]) -> float:
    start = time.monotonic()
    action()
    return time.monotonic() - start


def beside(bench: Bench, honest: Honest, part: int, parts: int, only: str = "") -> Run:
    """The honest cluster is scaled up and down until all objects were there."""
    bench.server.install_crd(paths.MANIFESTS / "drain-request-crd.yaml")
    attack = FieldAttack(bench.server, bench.namespace, part, parts, only)
    rounds = []
    try:
        while attack.running() or not rounds:
            rounds.append((_timed(honest.scale_up), _timed(honest.scale_down)))
            bench.check()
    finally:
        attack.stop()
    return Run(attack.results, rounds)


def tables(results: Results) -> str:
    lines = "".join("\t".join((*key, result)) + "\n" for key, result in results.items())
    return _tool("table", text=lines.encode())


def write_document(results: Results) -> None:
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + tables(results) + END + rest.split(END)[1])


def documented() -> Results:
    """The results that the document gives."""
    results: Results = {}
    rows: Dict[str, List[str]] = {}
    kind, number, values = "", "", []
    for line in DOCUMENT.read_text().split(BEGIN)[1].split(END)[0].splitlines():
        if line.startswith("### "):
            kind, number = line[4:].split(",")[0], ""
        elif line.startswith("| fields"):
            values = [cell.strip() for cell in line.split("|")[2:-1]]
        elif line.startswith("| ") and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            rows[cells[0]] = cells[1:]
        else:
            found = re.match(r"(\d+):", line)
            number = found.group(1) if found else number
            for field in re.findall(r"`([^`]+)`", line):
                results.update({(kind, field, value): cell for value, cell in zip(values, rows[number]) if cell != "-"})
    return results


def differences(results: Results) -> List[str]:
    """The results that differ from the document."""
    expected = documented()
    return [
        f"{' '.join(key)}: {result}, not {expected.get(key, 'in the document')}"
        for key, result in results.items()
        if expected.get(key) != result
    ]


def counts(results: Results) -> str:
    return ", ".join(f"{count} {result}" for result, count in sorted(collections.Counter(results.values()).items()))
