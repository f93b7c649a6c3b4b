"""docs/SIMULATE.md: its example gives the output that it shows, its CSV commands read the traces that they name."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import List
from xml.etree import ElementTree

import pytest

from rayscaler_e2e import paths

DOCUMENT = paths.ROOT / "docs" / "SIMULATE.md"
# The columns of the published files, with two rows.
TRACES = {
    "openb_pod_list.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "openb-pod-0001,1000,1024,1,460,,LS,Running,427061,427661,427061\nopenb-pod-0002,1000,1024,1,1000,,LS,Running,427161,427261,427171\n",
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


@pytest.fixture
def directory(tmp_path):
    """With the files that the commands of the document name."""
    text = DOCUMENT.read_text()
    (tmp_path / "workload.yaml").write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1))
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
    assert len(rows) == 7 and rows[-1]["policy"] == "ray"
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
    assert text.startswith("<!DOCTYPE html>\n") and "://" not in text
    page = ElementTree.fromstring(text.split("\n", 1)[1])
    names = [element.tag for element in page.iter()]
    assert not {"script", "link", "img", "iframe"} & set(names)
    # one of GPU-hours and waiting, and three of each row
    assert names.count("svg") == 1 + 3 * 3 and names.count("section") == 3
    cells = [cell.text for cell in page.iter("td")]
    for row in json.loads(simulate([*words, "-o", "json"], directory).stdout)["variants"]:
        assert row["name"] in cells and f"{row['gpuHours']['provisioned']:.2f}" in cells


def test_commands_with_csv_read_the_traces(directory):
    commands = re.findall(r"^    (rayscaler simulate .*)$", DOCUMENT.read_text(), re.M)
    assert len(commands) == len(TRACES)
    for command in commands:
        made = simulate([*shlex.split(command)[1:], "-o", "json"], directory)
        assert made.returncode == 0, made.stderr
        (row,) = json.loads(made.stdout)["variants"]
        assert row["neverRan"] == 0 and row["gpuHours"]["used"] > 0.09, row


def test_a_file_that_is_too_large_is_refused_by_its_size(directory):
    with open(directory / "large.jsonl", "wb") as file:
        file.truncate(10 << 30)
    made = simulate(["simulate", "-f", "cluster.yaml", "-w", "large.jsonl"], directory)
    assert made.returncode == 1
    assert made.stderr == "rayscaler simulate: large.jsonl: has more than 536870912 bytes\n"
