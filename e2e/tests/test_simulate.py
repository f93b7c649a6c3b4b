"""docs/SIMULATE.md: its example gives the output that it shows, its CSV commands read the traces that they name."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import List

import pytest
import yaml

import plot_report
from rayscaler_e2e import paths, terminal

DOCUMENT = paths.ROOT / "docs" / "SIMULATE.md"
# The columns of the published files, with some rows.
TRACES = {
    "openb_pod_list_default.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "openb-pod-0001,1000,1024,1,460,,LS,Running,427061,427661,427061\nopenb-pod-0002,1000,1024,1,1000,,LS,Running,427161,427261,427171\n"
    "openb-pod-0061,11908,47104,1,1000,,BE,Pending,427278,427403,\n",
    "cluster_log.csv": "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1,u1,vc1,1,2,1,COMPLETED,2020-04-06 21:10:31,2020-04-06 21:10:32,2020-04-06 21:20:32,600,1\n",
}


def figures(text: str) -> List[float]:
    """Numbers; a time such as 9m25s in seconds."""
    spans = {"h": 3600, "m": 60, "s": 1, "": 1}
    return [sum(float(number) * spans[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)([hms]?)", word))
            for word in re.findall(r"(?:\d+(?:\.\d+)?[hms]?)+", text)]  # fmt: skip


def simulate(words: List[str], directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run([str(paths.program()), *words], capture_output=True, text=True, cwd=directory, timeout=60, check=False)


CLUSTER_SPEC = """headGroupSpec:
  rayStartParams: {}
  template: {spec: {containers: [{name: h, image: rayproject/ray:2.60.0, resources: {limits: {cpu: "2", memory: 4Gi}}}]}}
enableInTreeAutoscaling: true
workerGroupSpecs:
- groupName: g
  minReplicas: 0
  maxReplicas: 4
  rayStartParams: {}
  template: {spec: {CLAIMcontainers: [{name: w, image: rayproject/ray:2.60.0, resources: {limits: {cpu: "4", memory: 8Gi, nvidia.com/gpu: "1"}}}]}}
"""


def test_two_teams_have_a_cluster_of_one_name(work_dir):
    """Named with their namespaces, in work and rows, beside a GPUPool that limits one of them."""
    text = (paths.ROOT / "examples" / "gpu.yaml").read_text()
    for team in ("a", "b"):
        (work_dir / f"{team}.yaml").write_text(re.sub(r"^  name: .*", f"  name: train\\n  namespace: team-{team}", text, count=1, flags=re.MULTILINE))
    queue = "{name: %s, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-%s}}, guaranteed: 1}"
    (work_dir / "pool.yaml").write_text(
        "apiVersion: rayscaler.dev/v1alpha1\nkind: GPUPool\nmetadata: {name: shared}\nspec:\n  gpus: 2\n"
        f"  queues: [{queue % ('a', 'a')}, {queue % ('b', 'b')}]\n"
    )
    (work_dir / "w.yaml").write_text(
        "apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n"
        "- {submit: 0s, cluster: team-a/train, count: 2, resources: {GPU: 1}, duration: 5m}\n"
        "- {submit: 60s, cluster: team-b/train, count: 1, resources: {GPU: 1}, duration: 5m}\n"
    )
    words = [str(paths.program()), "simulate", "-w", "w.yaml", "-o", "json"]
    for name in ("a.yaml", "b.yaml", "pool.yaml"):
        words += ["-f", name]
    done = subprocess.run(words, cwd=work_dir, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (variant,) = json.loads(done.stdout)["variants"]
    assert {group["cluster"] for group in variant["groups"]} == {"team-a/train", "team-b/train"}
    # Each Namespace has the label of its name, also without an object in the files.
    assert [(queue["name"], queue["started"]) for queue in variant["gpuPools"][0]["queues"]] == [("a", 2), ("b", 1), ("", 0)]
    twice = subprocess.run([*words, "-f", "a.yaml"], cwd=work_dir, capture_output=True, text=True, timeout=60, check=False)
    assert twice.returncode == 1 and "RayCluster train is there twice; rename or remove one" in twice.stderr


RECORDED = """apiVersion: rayscaler.dev/v1alpha1
kind: GPUPool
metadata: {name: shared}
spec:
  gpus: 2
  queues: [{name: all, namespaceSelector: {}}]
---
apiVersion: v1
kind: Namespace
metadata: {name: research}
---
apiVersion: rayscaler.dev/v1alpha1
kind: Workload
cluster: research/NAME
items:
- {submit: "2026-11-20T10:MINUTES:00Z", duration: 200, resources: {GPU: 1}, count: 2}
"""


def test_recordings_of_one_pool_are_replayed_together(tmp_path):
    """One behind the other in a file: the work of the second waits for that of the first, as it did."""
    text = (paths.ROOT / "examples" / "gpu.yaml").read_text()
    whole = []
    for name, minutes in (("first", "00"), ("second", "01")):
        cluster = re.sub(r"^  name: .*", f"  name: {name}\n  namespace: research", text, count=1, flags=re.MULTILINE)
        whole += [cluster, RECORDED.replace("NAME", name).replace("MINUTES", minutes)]
    waits = {}
    for kind, files in (("alone", whole[2:]), ("together", whole)):
        (tmp_path / f"{kind}.yaml").write_text("---\n".join(files))
        done = simulate(["simulate", "-f", f"{kind}.yaml", "-w", f"{kind}.yaml", "-o", "json"], tmp_path)
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["variants"]
        assert row["neverRan"] == 0 and row["peakGPUs"] == 2, row
        waits[kind] = row["waitingSeconds"]["max"]
    assert waits["alone"] < 60 and 140 < waits["together"] - waits["alone"] < 240, waits
    # Of the work alone, with another RayCluster instead of the recorded one.
    (tmp_path / "work.yaml").write_text(RECORDED.replace("NAME", "first").replace("MINUTES", "00"))
    done = simulate(["simulate", "-f", str(paths.ROOT / "examples" / "gpu.yaml"), "-w", "work.yaml"], tmp_path)
    assert done.returncode == 0, done.stderr


REPAIRED = """apiVersion: rayscaler.dev/v1alpha1
kind: NodePools
pools:
- name: gpus
  allocatable: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 1}
  maxNodes: 2
  repairs: [{from: 0s, until: 2h}]
"""


def test_a_pool_grants_no_place_on_a_node_under_repair(work_dir):
    """A gang for both Nodes waits for the repair, and one GPU is not granted to it meanwhile."""
    (work_dir / "nodes.yaml").write_text(REPAIRED)
    (work_dir / "pool.yaml").write_text(
        "apiVersion: rayscaler.dev/v1alpha1\nkind: GPUPool\nmetadata: {name: shared}\nspec:\n"
        "  groups: {resourceName: nvidia.com/gpu}\n  queues: [{name: all, namespaceSelector: {}}]\n"
    )
    items = [
        {"submit": "0s", "duration": "10m", "kind": "placement_group", "strategy": "STRICT_SPREAD", "bundles": [{"GPU": 1}] * 2, "job": "gang"},
        {"submit": "10s", "duration": "10m", "resources": {"GPU": 1}, "job": "single"},
    ]
    workload = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload", "items": items}
    (work_dir / "w.yaml").write_text(yaml.safe_dump(workload))
    words = ["simulate", "-f", str(paths.ROOT / "examples" / "gpu.yaml"), "-f", "pool.yaml", "-w", "w.yaml",
             "--node-pools", "nodes.yaml", "--by", "job", "-o", "json"]  # fmt: skip
    done = simulate(words, work_dir)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["variants"]
    waits = {job["job"]: job["waitingSeconds"]["max"] for job in row["jobs"]}
    assert waits["single"] < 600 and waits["gang"] > 6600 and row["scaleUps"] <= 3, row


# Kinds with a RayCluster in them, and where.
KINDS = [
    ("RayCluster", []),
    ("RayJob", ["rayClusterSpec"]),
    ("RayService", ["rayClusterConfig"]),
    ("RayCronJob", ["jobTemplate", "rayClusterSpec"]),
]


@pytest.mark.parametrize("kind, path", KINDS)
def test_correct_objects_are_simulated(tmp_path, kind, path):
    """A name that the API server makes, and a claim template of another file, which is a note beside the result."""
    for name, claim, note in (
        ({"generateName": "train-"}, "", ""),
        ({"name": "nic"}, "resourceClaims: [{name: nic, resourceClaimTemplateName: dranet}], ", "dranet is not known"),
    ):
        spec = yaml.safe_load(CLUSTER_SPEC.replace("CLAIM", claim))
        for part in reversed(path):
            spec = {part: spec}
        document = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": name, "spec": spec}
        (tmp_path / "object.yaml").write_text(yaml.safe_dump(document))
        items = [{"submit": "0s", "duration": "5m", "count": 2, "resources": {"GPU": 1}}]
        workload = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload", "items": items}
        (tmp_path / "workload.yaml").write_text(yaml.safe_dump(workload))
        done = simulate(["simulate", "-f", "object.yaml", "-w", "workload.yaml", "-o", "json"], tmp_path)
        assert done.returncode == 0, done.stderr
        (row,) = json.loads(done.stdout)["variants"]
        assert row["neverRan"] == 0 and row["peakGPUs"] == 2, row
        text = simulate(["simulate", "-f", "object.yaml", "-w", "workload.yaml"], tmp_path)
        assert note in text.stdout + text.stderr, text


@pytest.fixture
def directory(tmp_path):
    """With the files that the commands of the document name."""
    text = DOCUMENT.read_text()
    workload, pools = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (tmp_path / "workload.yaml").write_text(workload)
    (tmp_path / "pools.yaml").write_text(pools)
    (tmp_path / "examples").symlink_to(paths.ROOT / "examples")
    (tmp_path / "cluster.yaml").write_text((paths.ROOT / "examples" / "gpu.yaml").read_text())
    for name, rows in TRACES.items():
        (tmp_path / name).write_text(rows)
    return tmp_path


def test_the_example_gives_what_the_document_shows(directory):
    text = DOCUMENT.read_text()
    command, shown = re.search(r"```console\n\$ (rayscaler simulate .*?)\n(.*?)```", text, re.DOTALL).groups()
    made = simulate(shlex.split(command)[1:], directory)
    assert made.returncode == 0, made.stderr
    if os.environ.get("UPDATE") == "1":
        DOCUMENT.write_text(text.replace(f"{command}\n{shown}```", f"{command}\n{made.stdout}```"))
    else:
        # A refined model may move a figure in its last digit: the text is the same, and figures are within 2 %.
        assert re.sub(r"[\d.]+", "#", made.stdout).split() == re.sub(r"[\d.]+", "#", shown).split()
        for text, value in zip(figures(made.stdout), figures(shown)):
            assert text == pytest.approx(value, rel=0.02, abs=0.02)
    rows = json.loads(simulate([*shlex.split(command)[1:], "--set", "process-start=0s", "-o", "json"], directory).stdout)["variants"]
    assert len(rows) == 5 and rows[-1]["policy"] == "ray"
    for row in rows:
        hours = row["gpuHours"]
        assert hours["provisioned"] == pytest.approx(sum(value for name, value in hours.items() if name != "provisioned"))
        # 2 x 30 min, 40 x 90 s and 2 x 20 min of one GPU
        assert hours["used"] == pytest.approx(1 + 1 + 40 / 60) and row["neverRan"] == 0


def test_the_page_is_whole_and_loads_nothing(directory):
    words = ["simulate", "-f", "cluster.yaml", "-w", "workload.yaml", "--vary", "idleTimeoutSeconds=60,600", "--baseline", "ray"]
    made = simulate([*words, "--report", "page.html"], directory)
    assert made.returncode == 0, made.stderr
    text = (directory / "page.html").read_text()
    before, data, behind = re.fullmatch(r"(.*id=\"data\">)(.*?)(</script>.*)", text, re.DOTALL).groups()
    assert text.startswith("<!DOCTYPE html>\n") and "://" not in before + behind
    assert not re.search(r"<(link|img|iframe|script src)", before + behind)
    shown, variants = json.loads(data), json.loads(simulate([*words, "-o", "json"], directory).stdout)["variants"]
    for row, one, cells in zip(variants, shown["result"]["variants"], shown["table"]["rows"]):
        assert sum(span["units"] for span in one.pop("waits")) == one["started"]
        assert all(group.pop("points") for group in one["groups"])
        assert one == row and cells["cells"][:2] == [row["name"], f"{row['gpuHours']['provisioned']:.2f}"]
    assert len(variants) == len(shown["table"]["rows"]) == 3


def test_raycluster_files_share_the_nodes_of_pools(directory):
    """Two files, one pool: the second RayCluster waits until the first has released its Nodes."""
    cluster = yaml.safe_load((directory / "cluster.yaml").read_text())
    for name in ("train", "serve"):
        cluster["metadata"]["name"] = name
        cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["nodeSelector"] = {"market": "spot"}
        (directory / f"{name}.yaml").write_text(yaml.safe_dump(cluster))
    items = [{"submit": 0, "duration": "20m", "resources": {"GPU": 1}, "count": 4, "cluster": "train", "job": "train"},
             {"submit": 60, "duration": "5m", "resources": {"GPU": 1}, "count": 4, "cluster": "serve", "job": "serve"}]  # fmt: skip
    (directory / "both.yaml").write_text(yaml.safe_dump({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload", "items": items}))
    words = ["simulate", "-f", "train.yaml", "-f", "serve.yaml", "-w", "both.yaml", "-o", "json"]
    changes = ["--set", "pools[spot].allocatable={\"cpu\": 96, \"memory\": \"1Ti\", \"nvidia.com/gpu\": 4}",
               "--set", "pools[0].refusals=[]", "--set", "pools[0].interruptionsPerHour=0", "--set", "pools[0].repairs=[]", "--vary", "pools[spot].maxNodes=1,2"]  # fmt: skip
    made = simulate([*words, "--node-pools", "pools.yaml", *changes], directory)
    assert made.returncode == 0, made.stderr
    one, two = json.loads(made.stdout)["variants"]
    waits = [{job["job"]: job["waitingSeconds"]["max"] for job in row["jobs"]} for row in (one, two)]
    # train's 20 minutes and its idle timeout of a minute; then only the delay of a Node
    assert waits[0]["train"] < 30 and 1200 < waits[0]["serve"] < 1300 and one["peakGPUs"] == 4
    assert waits[1]["train"] < 30 and 200 < waits[1]["serve"] < 220 and two["peakGPUs"] == 8
    (free,) = json.loads(simulate(words, directory).stdout)["variants"]
    assert max(job["waitingSeconds"]["max"] for job in free["jobs"]) < 30


OBJECT = """
apiVersion: rayscaler.dev/v1alpha1
kind: RayClusterAutoscaler
metadata: {name: gpu}
spec:
  schedules: [{name: office, start: 0 1 * * *, duration: 2h, groups: [{name: gpu-group, minReplicas: 1}]}]
"""


def test_schedules_and_warm_workers_vary(directory):
    """Simulations begin at midnight UTC: the window begins as the work ends."""
    (directory / "object.yaml").write_text(OBJECT)
    words = ["simulate", "-f", "cluster.yaml", "-f", "object.yaml", "-w", "workload.yaml", "--end", "3h", "-o", "json", "--vary"]

    def hours(path: str) -> List[float]:
        made = simulate([*words, path], directory)
        assert made.returncode == 0, made.stderr
        return [row["gpuHours"]["provisioned"] for row in json.loads(made.stdout)["variants"]]

    none, two, four = hours("schedules[office].groups[gpu-group].minReplicas=0,2,4")
    assert two - none == pytest.approx(2 * 2, abs=0.3) and four - none == pytest.approx(4 * 2, abs=0.3)
    hour, all_night = hours("schedules[office].duration=1h,2h")
    assert all_night - hour == pytest.approx(1, abs=0.1)
    without, warm = hours("schedules[office].warmWorkers[gpu-group].count=0,3")
    assert warm - without == pytest.approx((3 - 1) * 2, abs=0.3)
    cold, one, more = hours("warmWorkers[gpu-group].count=0,1,2")
    assert cold < one < more
    for path, error in (
        ("schedules[night].duration=1h", "schedules[night].duration: schedules has no element night; it has office"),
        ("warmWorkers[tpu].count=1", 'warmWorkers[tpu].count: no RayCluster has a worker group "tpu"; they have gpu-group'),
        ("warmWorkers[gpu-group].cout=1", "warmWorkers[gpu-group].cout: cout is not a member that a decision reads; "
         "did you mean count?"),
    ):  # fmt: skip
        made = simulate([*words, path], directory)
        assert made.returncode == 1 and made.stderr == f"rayscaler simulate: --vary: {error}\n"


def test_settings_of_requests_vary(tmp_path):
    """Of four GPUs that request_resources asks for, work uses one: the setting of the others shows in the hours, and the
    work waits no longer."""
    items = [{"submit": 0, "kind": kind, "resources": {"CPU": 1, "GPU": 1}, "count": count, "duration": "2h"} for kind, count in (("request_resources", 4), ("actor", 1))]
    document = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload", "items": items}
    (tmp_path / "workload.yaml").write_text(json.dumps(document))

    def rows(*paths_: str) -> List[List[float]]:
        vary = [word for path in paths_ for word in ("--vary", path)]
        made = simulate(["simulate", "-f", str(paths.ROOT / "examples" / "gpu.yaml"), "-w", "workload.yaml", "-o", "json", *vary], tmp_path)
        assert made.returncode == 0, made.stderr
        found = json.loads(made.stdout)["variants"]
        assert {row["started"] for row in found} == {1} and {row["neverRan"] for row in found} == {0}
        return [[row["gpuHours"]["provisioned"], row["gpuHours"]["used"]] for row in found]

    for paths_ in (["requests.unusedAfterSeconds=0,120"], ["requests-unused-after-seconds=0,120"]):
        (off, used), (on, same) = rows(*paths_)
        assert off == pytest.approx(4 * 2, abs=0.1) and on == pytest.approx(2, abs=0.3) and used == same == pytest.approx(2, abs=0.01)
    (two, _), (four, _) = rows("requests.aheadOfUse=1,3")
    assert two == pytest.approx(2 * 2, abs=0.1) and four == pytest.approx(4 * 2, abs=0.1)


def test_a_head_costs_its_gpus(directory):
    """Suspended after an hour of work and 10 minutes, the head of 2 GPUs saves the rest of 10 hours."""
    (directory / "prices.yaml").write_text("apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\nprices: [{perGPUHour: 3}]\n")
    words = ["simulate", "-f", "cluster.yaml", "-w", "workload.yaml", "--price-table", "prices.yaml", "--end", "10h", "-o", "json"]
    gpus = "headGroupSpec.template.spec.containers[0].resources.limits[nvidia.com/gpu]=2"
    ends = ["--set", "idleTermination.action=Suspend", "--vary", "idleTermination.afterSeconds=600,36000"]

    def head(row):
        return [(group["gpuHours"], group["cost"]) for group in row["groups"] if group["name"] == "headgroup"]

    made = simulate([*words, "--set", gpus, *ends], directory)
    assert made.returncode == 0, made.stderr
    ((hours, cost),), ((all_hours, all_cost),) = map(head, json.loads(made.stdout)["variants"])
    assert hours == pytest.approx(2 * (1 + 1 / 6), abs=0.1) and all_hours == pytest.approx(2 * 10)
    assert cost == pytest.approx(3 * hours, rel=0.01) and all_cost == pytest.approx(3 * 2 * 10)
    without, _ = json.loads(simulate([*words, *ends], directory).stdout)["variants"]
    assert not head(without) and without["headHours"] == pytest.approx(hours / 2, abs=0.1)


def test_spot_nodes_are_interrupted_and_bad_pools_name_their_place(directory):
    words = ["simulate", "-f", "cluster.yaml", "-w", "workload.yaml", "--node-pools", "pools.yaml", "-o", "json"]
    made = simulate([*words, "--set", "pools[spot].nodeLabels={}", "--vary", "pools[spot].interruptionsPerHour=0,2"], directory)
    assert made.returncode == 0, made.stderr
    calm, spot = json.loads(made.stdout)["variants"]
    assert calm["restarted"] == 0 and spot["restarted"] > 0
    assert spot["groups"][0]["interruptions"] >= spot["restarted"] and spot["gpuHours"]["used"] > calm["gpuHours"]["used"]
    (directory / "pools.yaml").write_text((directory / "pools.yaml").read_text().replace("maxNodes: 4", "maxNodes: 0"))
    made = simulate(words, directory)
    assert made.returncode == 1
    assert made.stderr == "rayscaler simulate: pools.yaml: line 8, column 3: pools[0].maxNodes: must be at least minNodes (1), is 0\n"


def test_the_quickstart_makes_a_report(tmp_path):
    page = plot_report.make_page(tmp_path).read_text()
    for name in ("idleTimeoutSeconds=60", "idleTimeoutSeconds=600", "Cost and waiting", '"name": "gpu-group"'):
        assert name in page


def test_the_picture_of_the_report_shows_this_page(tmp_path):
    """Its figures may differ, its parts and its style may not."""
    made = plot_report.parts(plot_report.make_page(tmp_path).read_text())
    assert plot_report.picture_parts() == made, "docs/pictures/report.png is stale; fix: make report-picture"


def test_the_page_is_readable_as_the_umask_says(directory):
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        path = directory / f"page-{umask:o}.html"
        made = subprocess.run([str(paths.program()), "simulate", "-f", "cluster.yaml", "-w", "workload.yaml", "--report", str(path)],
                              capture_output=True, cwd=directory, timeout=60, check=True, umask=umask)  # fmt: skip
        assert made.stderr == b"" and path.stat().st_mode & 0o777 == mode


def test_commands_with_csv_read_the_traces(directory):
    commands = re.findall(r"^    (rayscaler simulate .* --columns .*)$", DOCUMENT.read_text(), re.M)
    assert len(commands) == len(TRACES)
    for command in commands:
        made = simulate([*shlex.split(command)[1:], "-o", "json"], directory)
        assert made.returncode == 0, made.stderr
        result = json.loads(made.stdout)
        (row,) = result["variants"]
        assert row["neverRan"] == 0 and row["gpuHours"]["used"] > 0.09, row
        pending = "openb_pod_list_default.csv: 1 row without a time left out, the first in line 4 (no begin in scheduled_time)"
        assert result["warnings"] == ([pending] if "openb" in command else [])


def test_a_file_that_is_too_large_is_refused_by_its_size(directory):
    with open(directory / "large.jsonl", "wb") as file:
        file.truncate(10 << 30)
    made = simulate(["simulate", "-f", "cluster.yaml", "-w", "large.jsonl"], directory)
    assert made.returncode == 1
    assert made.stderr == "rayscaler simulate: large.jsonl: has more than 536870912 bytes; name a file with a Workload (docs/SIMULATE.md)\n"


WORK = """apiVersion: rayscaler.dev/v1alpha1
kind: Workload
items:
- {submit: 0s, duration: 60s, resources: {GPU: 1}, count: 20}
- {submit: 30s, duration: 600s, resources: {GPU: 1}, count: 3}
"""


@pytest.mark.parametrize("columns", [80, 100])
def test_a_terminal_breaks_no_word(tmp_path, columns):
    """Columns without room are a second table below the first, with the names of the rows again."""
    (tmp_path / "w.yaml").write_text(WORK)
    words = ["simulate", "-f", str(paths.ROOT / "examples/gpu.yaml"), "-w", "w.yaml", "--by", "job",
             "--vary", "idleTimeoutSeconds=60,300", "--vary", "workerGroupSpecs[gpu-group].maxReplicas=5,20"]  # fmt: skip
    shown = terminal.lines(words, tmp_path, columns)
    assert not terminal.too_long(shown, columns), shown
    whole = terminal.lines(words, tmp_path, 400)
    titles = [line.split() for line in shown if line.startswith("  VARIANT")]
    assert len(titles) > 1 and sum((line[1:] for line in titles), []) == whole[0].split()[1:], titles
    assert all(len([line for line in shown if line[2:].startswith(row)]) == len(titles) for row in ("idleTimeoutSeconds=300, [gpu-group].maxReplicas=5 ",))


@pytest.mark.parametrize("words", [["plan", "-f", "EXAMPLES/gpu.snapshot.yaml"], ["devices"]], ids=" ".join)
def test_other_reports_break_no_word(tmp_path, words):
    shown = terminal.lines([word.replace("EXAMPLES", str(paths.ROOT / "examples")) for word in words], tmp_path, 80)
    assert len(shown) > 5 and not terminal.too_long(shown, 80), shown
