"""`make judge`: KubeRay's own tests of autoscaling, unchanged, on the Kubernetes of `make node`.

Run by Ray's autoscaler and by rayscaler, in both modes; prints the results side by side, with the seconds that each test
took. The tests are a program that Go made of KubeRay's `test/e2eautoscaler`: of the published module, or, with
KUBERAY_SOURCE, of a checkout.

    ray          Ray's own autoscaler in the container `autoscaler`
    controller   the chart's admission policy parks it in each new RayCluster
    sidecar      a policy of this program names rayscaler's image for it

The results are kept in $(BUILD)/judge after each mode, and a run prints those of modes that it does not run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

from rayscaler_e2e import paths
from rayscaler_e2e.node import images
from rayscaler_e2e.node.images import RAY
from rayscaler_e2e.node.install import DIST, HOME
from rayscaler_e2e.node.machine import Entered
from rayscaler_e2e.tools import Tool
from rayscaler_e2e.wait import wait_until

RAY_VERSION = RAY.rpartition(":")[2]
PROGRAM = "ray-operator/e2eautoscaler.test"
CHART = "rayscaler"
POLICY = paths.MANIFESTS / "judge-sidecar.yaml"
MODES = ("ray", "controller", "sidecar")
HEADS = {"ray": "Ray's own", "controller": "controller", "sidecar": "sidecar"}
RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)", re.MULTILINE)
HOURS = 2.0

Results = Dict[str, Tuple[str, float]]


def say(text: str) -> None:
    print(f"judge: {text}", flush=True)


def results_of(log: str) -> Results:
    """Of the tests that have no parts, and of the parts of those that have."""
    found = {name: (word, float(seconds)) for word, name, seconds in RESULT.findall(log)}
    return {name: found[name] for name in found if not any(other.startswith(f"{name}/") for other in found)}


class Judge:
    def __init__(self, node: Path, suite: Path):
        self._suite = suite
        self._kubeconfig = node / "kubeconfig"
        self._directory = paths.build_dir() / "judge"
        self._directory.mkdir(parents=True, exist_ok=True)
        self._kubectl = Tool("kubectl", self._kubeconfig, self._directory / "home")
        self._helm = Tool("helm", self._kubeconfig, self._directory / "home")

    def prepare(self, mode: str) -> None:
        parks = "true" if mode == "controller" else "false"
        (chart,) = DIST.glob("rayscaler-*.tgz")
        words = ["upgrade", "--install", CHART, chart, "--namespace", HOME, "--reuse-values"]
        self._helm.run(*words, "--set", f"admissionPolicy.enabled={parks}", "--wait")
        if mode == "sidecar":
            (image,) = {each["image"] for each in self._containers()}
            self._kubectl.apply(POLICY.read_text().replace("IMAGE", image))
        else:
            self._kubectl.run("delete", "--ignore-not-found", "-f", POLICY)
        wait_until(lambda: self._parks() == (mode != "ray"), 60, f"new RayClusters to be as the mode {mode} wants them")

    def _containers(self) -> List[Dict[str, Any]]:
        deployment = self._kubectl.get("deployment", "rayscaler", "-n", HOME)
        return deployment["spec"]["template"]["spec"]["containers"]

    def _parks(self) -> bool:
        """Whether admission changes a new RayCluster; the API server takes a policy up after some seconds."""
        spec = {"enableInTreeAutoscaling": True, "rayVersion": RAY_VERSION, "headGroupSpec": _head(), "workerGroupSpecs": []}
        probe = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "judge-probe", "namespace": "default"}}
        text = self._kubectl.apply(json.dumps({**probe, "spec": spec}), "--dry-run=server", "-o", "json")
        return bool(json.loads(text)["spec"].get("autoscalerOptions"))

    def run(self, mode: str, tests: str) -> bool:
        self.prepare(mode)
        env = dict(os.environ, KUBECONFIG=str(self._kubeconfig), KUBERAY_TEST_RAY_IMAGE=RAY)
        env.update(KUBERAY_TEST_RAY_VERSION=RAY_VERSION, KUBERAY_TEST_OUTPUT_DIR=str(self._output(mode)))
        log = self._directory / f"{mode}.log"
        say(f"{HEADS[mode]}: {tests} (log: {log})")
        words = [str(self._suite), "-test.v", "-test.timeout", f"{HOURS:.0f}h", "-test.run", tests]
        with log.open("w") as output:
            done = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, env=env, timeout=HOURS * 3600 + 60, check=False)
        results = results_of(log.read_text(errors="replace"))
        if done.returncode not in (0, 1) or not results:
            raise SystemExit(f"judge: the tests ended with status {done.returncode}; see {log}")
        (self._directory / f"{mode}.json").write_text(json.dumps(results, indent=1))
        return done.returncode == 0

    def _output(self, mode: str) -> Path:
        directory = self._directory / f"{mode}-output"
        directory.mkdir(exist_ok=True)
        return directory

    def table(self) -> List[str]:
        files = {mode: self._directory / f"{mode}.json" for mode in MODES}
        columns = {mode: json.loads(path.read_text()) for mode, path in files.items() if path.exists()}
        lines = ["| test | " + " | ".join(HEADS[mode] for mode in columns) + " |", "| --- |" + " --- |" * len(columns)]
        for name in sorted({name for column in columns.values() for name in column}):
            cells = [_cell(column.get(name)) for column in columns.values()]
            lines.append(f"| {name.removeprefix('TestRayClusterAutoscaler')} | " + " | ".join(cells) + " |")
        return lines


def _cell(result: Any) -> str:
    if not result:
        return "-"
    word, seconds = result
    return f"{seconds:.0f} s" if word == "PASS" else f"{word}, {seconds:.0f} s"


def _head() -> Dict[str, Any]:
    containers = [{"name": "ray-head", "image": RAY}]
    return {"rayStartParams": {}, "template": {"spec": {"containers": containers}}}


def suite() -> Path:
    source = os.environ.get("KUBERAY_SOURCE")
    program = Path(source) / PROGRAM if source else paths.cache_dir() / "bin" / "e2eautoscaler.test"
    if not os.access(program, os.X_OK):
        raise SystemExit(f"judge: no program {program}; without KUBERAY_SOURCE it is made from the published module")
    return program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--redis", type=Path, required=True, help="the root file system of an image of Redis (e2e/setup-node.sh --redis)")
    parser.add_argument("--run", default=".", help="regular expression: the tests to run")
    options = parser.parse_args()
    node = paths.build_dir() / "node"
    if not (node / "ready").exists():
        raise SystemExit(f"judge: no node is ready in {node}; start `make node` in another terminal first")
    images.load_redis(Entered(node), options.redis)
    judge = Judge(node, suite())
    passed = [judge.run(mode, options.run) for mode in options.modes]
    print("\n".join(judge.table()))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
