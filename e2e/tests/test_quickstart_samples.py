"""The outputs in docs/QUICKSTART.md are what the commands print, on a real Ray, with kubectl."""

import os
import re
from pathlib import Path
from typing import Dict, List

import pytest

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.wait import wait_until

DOCUMENT = paths.ROOT / "docs" / "QUICKSTART.md"
SAMPLE = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def samples() -> Dict[str, List[str]]:
    """Command to the lines that it printed."""
    found = {}
    for command, output in SAMPLE.findall(DOCUMENT.read_text()):
        found[command] = [normal(line) for line in output.splitlines() if line.strip() and line.strip() != "..."]
    return found


def normal(line: str) -> str:
    """Without what differs from run to run: ends of Pod names, ages and times, the width of columns."""
    line = re.sub(r"-worker-[a-z0-9]{5}\b", "-worker-NAME", line)
    line = re.sub(r"\b(\d+d)?(\d+h)?(\d+m)?\d+(\.\d+)?m?s\b", "TIME", line)
    line = re.sub(r"\b\d+(\.\d+)? s\b", "TIME", line)
    # Ray gives what runs on a node in any order.
    line = re.sub(r"(; (Resource: \w+ currently in use|Busy workers on node)\.)+", "; ACTIVITY", line)
    return re.sub(r"[ \t]+", " ", line).strip()


@pytest.fixture
def run(kubectl, work_dir: Path):
    """One command of the document; the plugin is found as kubectl finds it, in PATH."""
    plugins = work_dir / "plugins"
    plugins.mkdir()
    (plugins / "kubectl-rayscaler").symlink_to(paths.program())
    kubectl.env["PATH"] = f"{plugins}:{os.environ['PATH']}"

    def call(command: str, namespace: str, url: str) -> str:
        words = command.replace("-n ml", f"-n {namespace}").split(" ")
        assert words[0] == "kubectl"
        if words[1] == "rayscaler":
            words += ["--controller-url", url]
        said = kubectl.run(*words[1:]).stdout
        return said.replace(namespace, "ml")

    return call


def check(run, command: str, namespace: str, url: str, wanted: List[str]) -> None:
    def differs() -> str:
        printed = run(command, namespace, url)
        lines = [normal(line) for line in printed.splitlines()]
        missing = [line for line in wanted if line not in lines]
        return f"{command} prints\n{printed}\nand lacks\n" + "\n".join(missing) if missing else ""

    last = ""
    try:
        wait_until(lambda: not differs(), 20, command)
    except AssertionError:
        last = differs()
    assert not last, last


def test_outputs_of_the_quickstart(scenario, controller, namespace, run):
    group = rm.gpu_group(maxReplicas=4)
    one = scenario(rm.cluster("train", [group], idle_seconds=8))
    program = controller(namespace, "--idle-timeout-seconds", "8")
    url = f"http://{program.address('metrics')}"
    wanted = samples()
    assert len(wanted) >= 5
    with one.program() as ray:
        ray.actors(2, num_gpus=1)
        ray.ready("actors")
        one.wait_joined(2)
        for command in [c for c in wanted if "events" not in c]:
            check(run, command, namespace, url, wanted[command])
    one.wait_empty()
    for command in [c for c in wanted if "events" in c]:
        check(run, command, namespace, url, wanted[command])
