"""Fixtures of the test bench.

``api_server``  the session's server with the CRDs and ClusterRoles of the bench installed
``namespace``   a fresh namespace for one test, emptied afterwards
``work_dir``    a fresh directory for one test under $(BUILD)/e2e, kept after the run
``artefacts``   output when the test fails: ``artefacts.log(name, path)``,
                ``artefacts.namespace(name)``; ``namespace`` adds itself

A failed test leaves the objects of its namespaces in ``work_dir``/objects and shows the ends of its
logs. At the end $(BUILD)/test-results/<name>.count has one line: name passed failed skipped; the
name is RAYSCALER_RESULT_NAME, default e2e.
"""

import collections
import itertools
import os
import re
import shutil
from pathlib import Path
from typing import Iterator, List, Set, Tuple

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.tools import ToolMissing

pytest_plugins = ["ray_fixtures", "tool_fixtures"]

LOG_LINES = 60
_namespace_numbers = itertools.count(1)
_artefacts_key = pytest.StashKey["Artefacts"]()
_servers: Set[str] = set()
"""Described, also those of other processes of pytest-xdist."""


class Artefacts:
    """The data for a failure report of one test."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.logs: List[Tuple[str, Path]] = []
        self.namespaces: List[Tuple[ApiServer, str]] = []

    def log(self, name: str, path: Path) -> None:
        self.logs.append((name, path))

    def namespace(self, name: str, server: ApiServer) -> None:
        self.namespaces.append((server, name))

    def collect(self) -> List[Tuple[str, str]]:
        """Write the objects to disk; return (title, text) for the report."""
        shown = []
        for server, name in self.namespaces:
            try:
                server.dump(self.directory / "objects", [name])
                shown.append(("objects", f"namespace {name} is in {self.directory / 'objects'}"))
            except Exception as error:  # the server may have failed
                shown.append(("objects", f"namespace {name} cannot be read: {error}"))
        for name, path in self.logs:
            lines = path.read_text(errors="replace").splitlines() if path.exists() else ["(no log)"]
            shown.append((f"{name} log, last lines of {path}", "\n".join(lines[-LOG_LINES:])))
        return shown


@pytest.fixture(scope="session")
def api_server() -> Iterator[ApiServer]:
    directory = paths.work_root() / "apiserver"
    shutil.rmtree(directory, ignore_errors=True)
    with ApiServer(directory) as server:
        _servers.add(server.describe())
        server.install_bench()
        yield server


@pytest.fixture
def work_dir(request: pytest.FixtureRequest) -> Path:
    directory = paths.work_root() / "tests" / _slug(request.node.nodeid, 120)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def artefacts(request: pytest.FixtureRequest, work_dir: Path) -> Artefacts:
    request.node.stash[_artefacts_key] = Artefacts(work_dir)
    return request.node.stash[_artefacts_key]


@pytest.fixture
def namespace(request: pytest.FixtureRequest, api_server: ApiServer, artefacts: Artefacts):
    name = f"t{next(_namespace_numbers)}-{_slug(request.node.name.replace('test_', ''), 40)}"
    api_server.create_namespace(name)
    artefacts.namespace(name, api_server)
    yield name
    api_server.empty_namespace(name)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    """Tests without the stand-ins come first: once the operator runs, it makes Pods of every RayCluster,
    also of those that a test means to have to itself. Of both, the files with tests of minutes come first and
    then those with most tests, so that several processes end at about the same time."""
    units = [("standins" in getattr(item, "fixturenames", ()), item.path.stem) for item in items]
    sizes = collections.Counter(units)
    minutes = {unit for item, unit in zip(items, units) if item.get_closest_marker("minutes")}
    order = {id(item): (unit[0], unit not in minutes, -sizes[unit], unit[1]) for item, unit in zip(items, units)}
    items.sort(key=lambda item: order[id(item)])
    _choose_part(config, items)


def _choose_part(config: pytest.Config, items: List[pytest.Item]) -> None:
    """E2E_PART=2/3: of the tests marked ``rotates`` every third, from the second on."""
    part, _, parts = os.environ.get("E2E_PART", "").partition("/")
    if parts:
        rotating = [item for item in items if item.get_closest_marker("rotates")]
        left = {id(item) for number, item in enumerate(rotating) if number % int(parts) != int(part) - 1}
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left])
        items[:] = [item for item in items if id(item) not in left]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """With several processes, the tests of a file that follow each other run in one of them, because they
    share fixtures."""
    from xdist.scheduler import LoadScopeScheduling

    class FileScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if not hasattr(self, "units"):
                ids = next(iter(self.registered_collections.values()))
                files = itertools.groupby(ids, lambda each: each.partition("::")[0])
                self.units = {each: f"{number} {file}" for number, (file, those) in enumerate(files) for each in those}
            return self.units[nodeid]

    config.option.loadscopereorder = False
    return FileScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item):
    return (yield from _skipped_without_its_programs())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    return (yield from _skipped_without_its_programs())


def _skipped_without_its_programs():
    """A test is skipped where a program of Kubernetes that it needs cannot be had."""
    try:
        return (yield)
    except ToolMissing as missing:
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.failed and _artefacts_key in item.stash:
        report.sections.extend(item.stash[_artefacts_key].collect())
    return report


def pytest_report_header() -> List[str]:
    return [f"work directories: {paths.work_root()}"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist reports its API server to the first process."""
    described = getattr(session.config, "workeroutput", None)
    if described is not None:
        described["servers"] = list(_servers)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    _servers.update(getattr(node, "workeroutput", {}).get("servers", []))


def pytest_terminal_summary(terminalreporter) -> None:
    for line in sorted(_servers):
        terminalreporter.write_line(f"API server: {line}")
    stats = terminalreporter.stats
    counts = [
        len(stats.get("passed", [])),
        len(stats.get("failed", [])) + len(stats.get("error", [])),
        len(stats.get("skipped", [])),
    ]
    name = os.environ.get("RAYSCALER_RESULT_NAME", "e2e")
    paths.results_dir().mkdir(parents=True, exist_ok=True)
    line = " ".join([name, *map(str, counts)])
    (paths.results_dir() / f"{name}.count").write_text(line + "\n")


def _slug(text: str, longest: int) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:longest].strip("-")
