"""Common mistakes of users, each with the answer that it gets: the exit status and a sentence that names the fix.

The first table has command lines, the second one changes of examples/gpu.yaml that `rayscaler lint` reads.
"""

import subprocess

import pytest

from rayscaler_e2e import paths

COMMANDS = [
    ("statsu", 2, '"statsu" is not a command; did you mean status?'),
    ("status --outptu json", 2, "unknown flag --outptu; did you mean --output?"),
    ("status -o xml", 2, "-o takes table, json or yaml, not xml"),
    ("status", 1, "no kubeconfig: name one with --kubeconfig or $KUBECONFIG, as for kubectl"),
    ("status --kubeconfig /nope", 1, "cannot read /nope: No such file or directory"),
    ("status demo extra", 2, "one CLUSTER is taken, extra is one more"),
    ("status --gpus -n a", 2, "it cannot be combined with -A, -n or CLUSTER"),
    ("explain", 2, "CLUSTER is required: the name of a RayCluster"),
    ("plan", 2, "-f FILE is required"),
    ("plan -f /nope", 1, "/nope: cannot be opened: No such file or directory"),
    ("plan -f EXAMPLE", 1, 'is a RayCluster and not a Snapshot; write that of a running RayCluster with "rayscaler snapshot'),
    ('request demo --bundles [{"gpu":1}]', 1, "gpu: did you mean GPU? Names of resources in Ray are case-sensitive"),
    ('request demo --bundles [{"GPU":1.5}]', 1, "GPU: 1.5: Ray accepts fractions below 1 and whole numbers"),
    ('request demo --bundles {"GPU":1}', 1, 'it must be a JSON list of bundles like [{"GPU": 1}]'),
    ('request demo --bundles [{"GPU":-1}]', 1, "GPU is negative"),
    ('request demo --bundles [{"GPU":"1"}]', 1, "[0].GPU: must be a number, is a string"),
    ("request demo", 2, "one of --bundles LIST and --clear is required"),
    ("request demo --bundles [] --clear", 2, "one of --bundles LIST and --clear is required"),
    ("simulate", 2, "-f FILE with a RayCluster is required"),
    ("simulate -f EXAMPLE", 2, "-w FILE with a workload is required"),
    ("simulate -f EXAMPLE -w EXAMPLE", 1, "there is no Workload; write one with items"),
    ("record demo", 2, "-o FILE is required"),
    ("lint", 2, "-f FILE or --from-cluster is required"),
    ("lint -f /nope", 1, "cannot be opened: No such file or directory"),
    ("run --idle-timeout-seconds 1m", 2, '"1m" is not a whole number from 0 to 31536000'),
    ("run --idle-timeout-secs 5", 2, "no such flag; did you mean --idle-timeout-seconds?"),
    ("run --leader-elect-lease-duration 5s", 2, "--leader-elect-renew-deadline must be below --leader-elect-lease-duration"),
    ("run --max-gpus-total -3", 2, '"-3" is not a whole number from 0 to 1000000'),
    ("devices --device-table EXAMPLE", 1, ".yaml: "),
    ("park now", 2, "usage: rayscaler park"),
]

# old text of the example, new text, exit status, answer
CHANGES = [
    ("enableInTreeAutoscaling", "enableInTreeAutoscalling", 0, "did you mean enableInTreeAutoscaling?"),
    ("nvidia.com/gpu: ", "nvdia.com/gpu: ", 0, "did you mean nvidia.com/gpu?"),
    ("nvidia.com/gpu: ", "nvidia.com/gpus: ", 0, "did you mean nvidia.com/gpu?"),
    ('nvidia.com/gpu: "1"', "nvidia.com/gpu: 0.5", 1, "whole number"),
    ("maxReplicas: 5", "maxReplicas: -2", 1, "maxReplicas: must be 0 to 2147483647, is -2"),
    ("minReplicas: 0", "minReplicas: 9", 1, "has minReplicas 9 above maxReplicas 5"),
    ("minReplicas: 0", "minReplica: 0", 0, "did you mean minReplicas?"),
    ("minReplicas: 0", 'minReplicas: "0"', 1, "minReplicas must be an integer, is a string"),
    ("autoscalerOptions:", "autoscalerOptions:\n    upscalingMode: Fast", 1, "must be one of Default, Aggressive, Conservative"),
    ("autoscalerOptions:", "autoscalerOptions:\n    idleTimeoutSeconds: -5", 1, "write the value that you mean, or remove the line"),
    ("autoscalerOptions:", "autoscalerOptions:\n    idleTimeout: 5", 0, "did you mean idleTimeoutSeconds?"),
    ("metadata:", "metadata:\n  annotations: {rayscaler.dev/managed: 'no'}", 1, 'rayscaler.dev/managed must be "true" or "false", is "no"'),
    ("metadata:", "metadata:\n  annotations: {rayscaler.dev/request-resource: '[]'}", 0, "did you mean rayscaler.dev/request-resources?"),
    ("metadata:", "metadata:\n  annotations: {rayscaler.dev/request-resources: GPU 1}", 1, "it must be a JSON list of bundles"),
    ("rayStartParams: {}", "rayStartParams: {num-gpus: 2}", 1, "num-gpus must be a string, is a number"),
    ("rayStartParams: {}", "rayStartParams: {num-gpus: two}", 1, 'num-gpus "two" is not a whole number'),
    ("kind: RayCluster", "kind: RayClutser", 0, "did you mean RayCluster?"),
    ("resources:", "resource:", 1, "did you mean resources?"),
    ("containers:", "container:", 1, "has no container; KubeRay refuses the RayCluster"),
    ("limits:", "limit:", 1, "did you mean limits?"),
    ("memory: 50Gi", "memory: 50GB", 1, 'write a number such as "2", "500m" or "16Gi"'),
    ("groupName: gpu-group", "groupName: gpu_group", 1, "groupName: must be 1 to 63 letters, digits"),
    ("  workerGroupSpecs:", " workerGroupSpecs:", 1, "error: "),
]


def run(words):
    done = subprocess.run([str(paths.program()), *words], capture_output=True, text=True, timeout=30, env={"HOME": "/nonexistent"})
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("line, status, answer", COMMANDS, ids=[line for line, _, _ in COMMANDS])
def test_a_wrong_command_line(line, status, answer):
    words = [str(paths.ROOT / "examples/gpu.yaml") if word == "EXAMPLE" else word for word in line.split(" ")]
    ended, text = run(words)
    assert (ended, answer in text) == (status, True), text


@pytest.mark.parametrize("old, new, status, answer", CHANGES, ids=[new for _, new, _, _ in CHANGES])
def test_a_wrong_manifest(tmp_path, old, new, status, answer):
    example = (paths.ROOT / "examples/gpu.yaml").read_text()
    assert old in example
    (tmp_path / "demo.yaml").write_text(example.replace(old, new))
    ended, text = run(["lint", "-f", str(tmp_path / "demo.yaml")])
    assert (ended, answer in text) == (status, True), text
