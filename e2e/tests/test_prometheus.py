"""Metrics as a real Prometheus sees them: /metrics itself, the chart's dashboard and alerts, Ray's own board.

Prometheus and promtool are Debian's package, unpacked. Where it cannot be had these tests are skipped, and
the count has them.
"""

import importlib
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import pytest
import yaml

from rayscaler_e2e import dashboard, paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.program import Controller
from rayscaler_e2e.prometheus import RAY_CLUSTER_LABEL, NotAvailable, Prometheus, Series, find_programs, promtool
from rayscaler_e2e.scenario import Scenario
from rayscaler_e2e.wait import wait_until

IDLE = 5
RULE_TESTS = paths.E2E / "prometheus" / "alerts_test.yaml"
COST_TEST = paths.E2E / "prometheus" / "cost_test.yaml"
METRICS_DOC = paths.ROOT / "docs" / "METRICS.md"
MONITORING_DOC = paths.ROOT / "docs" / "MONITORING.md"
RATE_INTERVAL = "5s"
PRICES = '{"apiVersion": "rayscaler.dev/v1alpha1", "kind": "PriceTable", "currency": "EUR", "prices": [{"perGPUHour": 3600}]}'
# Series that a healthy cluster does not have.
MAY_BE_EMPTY = {
    ("Nodes as Ray counts them", "{{NodeType}} failed"),
    ("Skipped: what was not done", "{{direction}} {{reason}}"),
    ("Back-off by group", "{{namespace}}/{{raycluster}} {{group}}: {{cause}}"),
    ("Demand that cannot be served", "{{reason}}"),
    ("Errors of calls to Ray", "{{kind}}"),
}
RAY_BOARDS = ("default", "serve")
NODES = ("monitored-0", "monitored-1")  # with one GPU each
SIGN = {"type": "SysLogsXIDError", "status": "True", "reason": "R", "message": "Xid 79", "lastTransitionTime": "2026-01-01T00:00:00Z"}
# It has no groups: a pool on the session's API server is seen by the controllers of all tests.
POOL = {
    "apiVersion": "rayscaler.dev/v1alpha1",
    "kind": "GPUPool",
    "metadata": {"name": "monitored"},
    "spec": {
        "groups": {"nodeSelector": {"pool": "monitored"}},
        "gpus": 8,
        "queues": [{"name": "research", "guaranteed": 2, "namespaceSelector": {}}],
    },
}


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest) -> Dict[str, Path]:
    # The first time something is downloaded; that shows.
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        try:
            return find_programs()
        except NotAvailable as error:
            pytest.skip(str(error))


@dataclass
class Story:
    """A RayCluster whose GPU group went 0 -> 2 -> 0 while Prometheus scraped the controller; one Node had a sign."""

    prometheus: Prometheus
    controller: Controller
    scenario: Scenario
    start: float
    busy: float  # two workers were in use then
    end: float

    def over_time(self, expression: str) -> List[Series]:
        return self.prometheus.query_range(expression, self.start, self.end, 1.0)

    def values(self, expression: str) -> List[float]:
        """The values of its one series, without repetitions."""
        (one,) = self.over_time(expression)
        values = [value for _, value in one.points]
        return [value for index, value in enumerate(values) if index == 0 or value != values[index - 1]]


@pytest.fixture(scope="module")
def story(api_server: ApiServer, shared_head: Scenario, programs: Dict[str, Path]) -> Iterator[Story]:
    one = shared_head
    one.reset([rm.gpu_group(maxReplicas=3, env=rm.RAY_START_ENV)], IDLE)  # pending for as long as a scrape takes
    work_dir = paths.work_root() / "prometheus"
    shutil.rmtree(work_dir, ignore_errors=True)
    work_dir.mkdir(parents=True)
    table = work_dir / "prices.json"
    table.write_text(PRICES)
    pools = api_server.admin.of("gpupools")
    pools.delete(POOL["metadata"]["name"], missing_ok=True)
    pools.create(POOL)
    nodes = api_server.admin.of("nodes")
    for name in NODES:
        room = {"cpu": "8", "memory": "64Gi", "pods": "20", "nvidia.com/gpu": "1"}
        nodes.create({"metadata": {"name": name}})
        nodes.patch_merge(name, {"status": {"capacity": room, "allocatable": room}}, "status")
        nodes.patch_merge(name, {"spec": {"taints": []}})
    arguments = (api_server, one.namespace, work_dir / "controller", "--price-table", str(table))
    with Controller(*arguments, everywhere=True) as controller:  # with a namespace it reads no pools
        jobs = {"rayscaler": [controller.address("metrics")]}
        with Prometheus(programs, work_dir / "prometheus", jobs, [dashboard.ALERTS]) as prometheus:
            start = time.time()
            prometheus.wait_for('rayscaler_condition{type="ScalingActive"} == 1', 30)
            with one.program() as program:
                program.actors(2, num_gpus=1)
                program.ready("actors")
                prometheus.wait_for("sum(rayscaler_gpus_running - rayscaler_gpus_wasted) == 2", 20)
                busy = time.time()
                nodes.patch_merge(NODES[0], {"status": {"conditions": [SIGN]}}, "status")
                prometheus.wait_for('sum(rayscaler_workers_on_nodes_to_repair{state="Reported", use="busy"}) == 1', 20)
                nodes.patch_merge(NODES[0], {"status": {"conditions": []}}, "status")
                program.end()
            one.wait_empty()
            prometheus.wait_for("sum(rayscaler_group_replicas) == 0 and sum(rayscaler_gpus_running) == 0", 20)
            # The steps of a range end up to one second before its end.
            yield Story(prometheus, controller, one, start, busy, time.time() + 1)
            one.end_programs()
    pools.delete(POOL["metadata"]["name"])
    for name in NODES:
        nodes.delete(name)
    one.check_no_busy_deleted()


# -- without a scenario ---------------------------------------------------------------------------


def test_alert_rules_are_valid_and_fire_when_they_should(programs):
    status, said = promtool(programs, "check", "rules", str(dashboard.ALERTS))
    assert status == 0, said
    status, said = promtool(programs, "test", "rules", str(RULE_TESTS))
    assert status == 0, said


def test_the_query_for_finance_counts_each_euro_once(programs):
    (shown,) = re.findall(r"```promql\n(.*?)```", (paths.ROOT / "docs" / "COST.md").read_text(), re.DOTALL)
    (case,) = yaml.safe_load(COST_TEST.read_text())["tests"]
    (tested,) = case["promql_expr_test"]
    assert " ".join(shown.split()) in " ".join(tested["expr"].split())
    status, said = promtool(programs, "test", "rules", str(COST_TEST))
    assert status == 0, said


def test_alerts_say_what_to_do():
    pages: Dict[str, Set[str]] = {}
    for rule in alert_rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        notes = rule["annotations"]
        assert set(notes) == {"summary", "description", "docs"}, rule["alert"]
        page, anchor = notes["docs"].split("#")
        assert anchor == rule["alert"].lower()
        pages.setdefault(page, anchors(paths.ROOT / page))
        assert anchor in pages[page], f"{page} has no heading {rule['alert']}"


def test_the_scrape_jobs_of_docs_and_chart_are_what_is_tested(programs, tmp_path):
    (block,) = re.findall(r"```yaml\n(scrape_configs:.*?)```", MONITORING_DOC.read_text(), re.DOTALL)
    (job,) = yaml.safe_load(block)["scrape_configs"]
    assert job.pop("kubernetes_sd_configs")  # left out of Debian's build
    assert job["authorization"]["credentials_file"].startswith("/var/run/secrets/kubernetes.io/serviceaccount/")
    job["authorization"]["credentials_file"] = str(tmp_path / "token")  # promtool looks whether it is there
    (tmp_path / "token").write_text("a token")
    config = tmp_path / "prometheus.yml"
    config.write_text(yaml.safe_dump({"scrape_configs": [job]}))
    status, said = promtool(programs, "check", "config", str(config))
    assert status == 0, said
    assert job["honor_labels"] is True and job["metric_relabel_configs"] == [RAY_CLUSTER_LABEL]
    camel = {re.sub(r"_(\w)", lambda m: m.group(1).upper(), key): value for key, value in RAY_CLUSTER_LABEL.items()}
    metrics = yaml.safe_load((paths.ROOT / "charts" / "rayscaler" / "values.yaml").read_text())["metrics"]
    for monitor in ("serviceMonitor", "podMonitor"):
        assert metrics[monitor]["metricRelabelings"] == [camel], monitor


def test_dashboard_and_alerts_use_metrics_that_exist():
    documented = set(re.findall(r"`(\w+)`", METRICS_DOC.read_text()))
    expressions = [expr for panel in dashboard.panels() for expr, _ in panel.targets]
    expressions += [rule["expr"] for rule in alert_rules()]
    expressions += [variable["definition"] for variable in variables()]
    used = {name for expression in expressions for name in dashboard.metric_names(expression)}
    assert len(used) > 20 and used <= documented, used - documented


def test_every_panel_can_be_understood_and_no_two_overlap():
    board = dashboard.load()
    assert board["schemaVersion"] == 39
    assert [one["name"] for one in board["templating"]["list"]] == ["datasource", "namespace", "raycluster", "group"]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    titles = [panel.title for panel in dashboard.panels()]
    assert len(set(titles)) == len(titles)
    for panel in dashboard.panels():
        assert panel.raw["description"].endswith("."), panel.title
        assert panel.defaults["unit"] and panel.raw["datasource"]["uid"] == "${datasource}", panel.title
    taken: Set[Tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells


def test_bars_are_whole_numbers_quantiles_have_their_names_and_green_is_good():
    shown = {panel.title: panel for panel in dashboard.panels()}
    bars = [panel for panel in shown.values() if panel.defaults.get("custom", {}).get("drawStyle") == "bars"]
    assert len(bars) == 3
    for panel in bars:  # increase() extrapolates: one decision is 1.2 of them
        assert all(expr.startswith("round(") for expr, _ in panel.targets) and panel.defaults["decimals"] == 0, panel.title
    quantiles = [(expr, panel.title, name) for panel in shown.values() for expr, name in panel.targets if "histogram_quantile" in expr]
    assert len(quantiles) == 5
    for expr, title, name in quantiles:
        quantile = float(re.search(r"histogram_quantile\(([0-9.]+)", expr)[1])
        assert f"p{quantile * 100:g}" in f"{title} {name}", (title, name)
    conditions = shown["Conditions"]
    (mapping,) = conditions.defaults["mappings"]
    meaning = {value: (one["text"], one["color"]) for value, one in mapping["options"].items()}
    assert meaning == {"0": ("False", "red"), "1": ("True", "green"), "2": ("False", "green"), "3": ("True", "orange")}
    ((expr, _),) = conditions.targets  # 2 is added to the types that should be False
    good, other = expr.split(" or 2 + ")
    assert 'type=~"ScalingActive|AbleToScale"' in good and 'type!~"ScalingActive|AbleToScale"' in other


# -- 0 -> 2 -> 0 ----------------------------------------------------------------------------------


def test_promtool_finds_no_fault_in_the_exposition(story, programs):
    status, text = story.controller.get("/metrics")
    assert status == 200
    ours = [line for line in text.splitlines(keepends=True) if not re.match(r"(# \w+ )?autoscaler_", line)]
    assert promtool(programs, "check", "metrics", stdin="".join(ours)) == (0, "")
    # Ray's own names come with Ray's own labels, NodeType and SessionName. They may have no other labels.
    _, said = promtool(programs, "check", "metrics", stdin=text)
    camel = r"autoscaler_\w+ label names should be written in 'snake_case' not 'camelCase'"
    assert said and [line for line in said.splitlines() if not re.fullmatch(camel, line)] == []


def test_prometheus_scrapes_it_and_sees_the_scenario(story):
    # On a machine that is busy otherwise a scrape may miss its second.
    assert story.values("up")[-1] == 1
    (scraped,) = story.prometheus.query("avg_over_time(up[30s])")
    assert scraped.value > 0.8
    replicas = story.values('sum(rayscaler_group_replicas{group="gpu-group"})')
    assert (replicas[0], max(replicas), replicas[-1]) == (0, 2, 0)
    assert max(story.values("sum(rayscaler_gpus_running)")) == 2
    (done,) = story.prometheus.query('rayscaler_decisions_total{direction="up",reason="ScaleUpDemand"}')
    assert done.value >= 1
    (done,) = story.prometheus.query("rayscaler_demand_to_patch_seconds_count")
    assert done.value >= 1


def test_every_query_of_the_dashboard_has_data(story):
    empty = []
    for panel in dashboard.panels():
        for expression, legend in panel.targets:
            found = story.over_time(dashboard.fill_in(expression, RATE_INTERVAL))
            if not found and (panel.title, legend) not in MAY_BE_EMPTY:
                empty.append(f"{panel.title} ({legend}): {expression}")
    assert not empty, "no data for:\n" + "\n".join(empty)


def test_the_variables_of_the_dashboard_find_the_group(story):
    for variable in variables():
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"]).groups()
        found = story.prometheus.query(dashboard.fill_in(selector, RATE_INTERVAL))
        assert all(one.labels.get(label) for one in found) and found, variable["name"]


def test_the_dashboard_says_what_was_there(story):
    def shown(title: str, at: float) -> float:
        (panel,) = [panel for panel in dashboard.panels() if panel.title == title]
        (one,) = story.prometheus.query(dashboard.fill_in(panel.targets[0][0], RATE_INTERVAL), at)
        return one.value

    assert [shown(f"GPUs {what}", story.busy) for what in ("wanted", "running", "wasted", "pending")] == [2, 2, 0, 0]
    assert [shown(f"GPUs {what}", story.end) for what in ("wanted", "running", "wasted", "pending")] == [0, 0, 0, 0]
    assert shown("RayClusters managed", story.busy) == 1 and shown("Groups in back-off", story.busy) == 0


def test_alerts_are_evaluated_and_silent(story):
    (group,) = story.prometheus.get("/api/v1/rules")["groups"]
    rules = wait_until(lambda: [rule for rule in group["rules"] if rule["health"] == "ok"], 10, "rules")
    assert len(rules) == len(alert_rules()), group["rules"]
    assert story.over_time('ALERTS{alertstate="firing"}') == []


def test_rays_own_board_has_data(story):
    empty, count = [], 0
    for expression in ray_board_queries():
        count += 1
        if not story.over_time(expression):
            empty.append(expression)
    assert count >= 10 and not empty, "no data for:\n" + "\n".join(empty)
    (gpus,) = story.prometheus.query('sum(autoscaler_cluster_resources{resource="GPU"})', story.busy)
    assert gpus.value == 2


def test_the_picture_is_made(story, tmp_path):
    from PIL import Image

    from plot_dashboard import LAYOUT
    from rayscaler_e2e.picture import Window, draw

    out = tmp_path / "dashboard.png"
    draw(story.prometheus, Window(story.start, story.end), LAYOUT, ["gpu-group"], out)
    with Image.open(out) as picture:
        assert picture.width > 1200 and len(picture.convert("RGB").getcolors(1 << 16)) > 20
    assert out.stat().st_size < 150_000


# -- helpers --------------------------------------------------------------------------------------


def alert_rules() -> List[dict]:
    return [rule for group in yaml.safe_load(dashboard.ALERTS.read_text())["groups"] for rule in group["rules"]]


def variables() -> List[dict]:
    return [one for one in dashboard.load()["templating"]["list"] if one["type"] == "query"]


def anchors(page: Path) -> Set[str]:
    """Of the headings of a Markdown file, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def ray_board_queries() -> List[str]:
    """The queries of the boards in the ray wheel for the autoscaler, with their filters for All."""
    found = []
    for name in RAY_BOARDS:
        module = importlib.import_module(f"ray.dashboard.modules.metrics.dashboards.{name}_dashboard_panels")
        config = getattr(module, f"{name}_dashboard_config")
        filters = ",".join(config.standard_global_filters)
        filters = filters.replace("$SessionName", ".+").replace("$Cluster", ".+")
        panels = [*config.panels, *(panel for row in config.rows for panel in row.panels)]
        for expression in [target.expr for panel in panels for target in panel.targets]:
            # The other half of an expression is of the raylets, which are not scraped here.
            for part in re.findall(r"sum\(autoscaler_[^()]+\)(?: by \(\w+\))?", expression):
                found.append(part.format(global_filters=filters))
    return found
