"""The chart on the real API server: its objects are accepted, its rights are enough and no more, upgrade
and uninstall keep the user's objects.

kube-controller-manager makes Pods of the Deployment, and the kubelet stand-in runs the program in them, as the
chart's ServiceAccount. Nothing here runs probes (a test asks their paths itself), mounts volumes or
holds a NetworkPolicy.
"""

import re
import shlex
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import pytest
import urllib3
import yaml

from rayscaler_e2e import chart, paths, rayclusters
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.apiserver import load_yaml
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
Right = Tuple[str, str, str]

# Set by the kubelet in a real Pod and by this bench here: an address of its own, the account's files.
BENCH_ARGS = [
    "--metrics-bind-address=$(RAYSCALER_BENCH_POD_IP):8080",
    "--health-probe-bind-address=$(RAYSCALER_BENCH_POD_IP):8081",
    "--service-account-dir=$(RAYSCALER_BENCH_SERVICE_ACCOUNT)",
]
EARLIER = paths.MANIFESTS / "chart-0.1.0-first.yaml"

CLAIMS = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices", "devicetaintrules")

# Rights that the scenario of this file need not use, and who uses them.
OTHER_USES: Dict[Right, str] = {
    ("get", "rayscaler.dev", "gpupools"): "a GPUPool: test_pools.py",
    ("patch", "rayscaler.dev", "gpupools/status"): "a GPUPool: test_pools.py",
    ("list", "", "namespaces"): "a GPUPool: test_pools.py",
    ("watch", "", "namespaces"): "a GPUPool: test_pools.py",
    **{(verb, "resource.k8s.io", plural): "a claim: test_dra.py" for verb in ("list", "watch") for plural in CLAIMS},
    ("get", "ray.io", "rayclusters"): "read again after a patch that met a conflict (test_scale_faults.py)",
    ("patch", "", "events"): "an Event that is sent again is counted (test_events.py)",
}


VARIANTS: Dict[str, Object] = {
    "defaults": {},
    "everything": {
        "commonLabels": {"team": "ml"},
        "config": {"idleTimeoutSeconds": 30, "accelerators": ["a.com/x"]},
        "rbac": {
            "readSecrets": {"namespaces": ["chart-variants"]},
            "statusReaders": [{"kind": "Group", "name": "users", "apiGroup": "rbac.authorization.k8s.io"}],
            "statusReadersOfAll": [{"kind": "Group", "name": "admins", "apiGroup": "rbac.authorization.k8s.io"}],
            "metricsReaders": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": "monitoring"}],
        },
        "metrics": {
            "serviceMonitor": {
                "enabled": True,
                "interval": "15s",
                "scrapeTimeout": "5s",
                "relabelings": [{"targetLabel": "cluster", "replacement": "a"}],
            },
            "prometheusRule": {"enabled": True},
            "dashboard": {"enabled": True, "annotations": {"grafana_folder": "Ray"}},
        },
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": [{"namespaceSelector": {}}],
            "rayClusters": [{"namespace": "chart-variants", "name": "demo"}],
        },
        "podDisruptionBudget": {"maxUnavailable": "50%"},
        "priorityClassName": "",
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "x", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "imagePullSecrets": [{"name": "registry"}],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
    },
    "namespaced": {
        "watchNamespace": "chart-variants",
        "rbac": {"readNodes": True},
        "metrics": {"podMonitor": {"enabled": True, "authorization": {"credentials": {"name": "prometheus", "key": "token"}}}},
        "networkPolicy": {"enabled": True},
    },
    "alone": {
        "replicaCount": 1,
        "leaderElection": {"enabled": False},
        "metrics": {"enabled": False},
        "strategy": {"type": "Recreate", "rollingUpdate": None},
        "image": {"digest": "sha256:" + "0" * 64},
    },
}


def test_rendered_objects_are_accepted(api_server, helm, kubectl):
    """By kube-apiserver, every field known; the kinds of Prometheus' operator by definitions of the bench."""
    kubectl.run("apply", "--server-side", "-f", paths.MANIFESTS / "prometheus-operator-crds.yaml")
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "prometheusrules.monitoring.coreos.com")
    api_server.create_namespace("chart-variants")
    for name, values in VARIANTS.items():
        text = chart.template(helm, values, "chart-variants")
        said = kubectl.run("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
        made = [obj for obj in yaml.safe_load_all(text) if obj]
        assert said.stdout.count("serverside-applied") == len(made) > 5, f"{name}: {said.stdout}"
        assert "Warning" not in said.stderr, f"{name}: {said.stderr}"


# Sections of docs/INSTALL.md: their commands run as they are written, in this order, and then the commands
# that remove the objects again.
KINDS = "-n rayscaler-system deployment,service,serviceaccount,role,rolebinding,poddisruptionbudget"
KINDS += ",clusterrole,clusterrolebinding"
SECTIONS = [
    ("With Helm", ""),
    ("Upgrade", ""),
    ("Rights, and why", "kubectl -n team-a delete rolebinding rayscaler-secrets"),
    ("Uninstall", ""),
    ("Without Helm", "kubectl delete -l app.kubernetes.io/name=rayscaler " + KINDS),
    ("One namespace only", "helm uninstall rayscaler -n team-a"),
]


def test_commands_of_install_md(api_server, helm, kubectl):
    """Only the objects: without kube-controller-manager no Pod is made of them."""
    text = (paths.ROOT / "docs" / "INSTALL.md").read_text()
    api_server.create_namespace("team-a")
    ran = 0
    for section, undo in SECTIONS:
        body = re.search(rf"^## {section}\n(.*?)(?=^## )", text, re.M | re.S).group(1)
        blocks = re.findall(r"^```sh\n(.*?)^```$", body, re.M | re.S)
        for line in "".join(blocks).replace("\\\n", " ").splitlines() + ([undo] if undo else []):
            program, *words = shlex.split(line)
            said = {"helm": helm, "kubectl": kubectl}[program].run(*words)
            assert "Warning" not in said.stderr or line == undo, f"{line}: {said.stderr}"
            ran += 1
        if section == "Upgrade":
            (line,) = re.findall(r"`helm (rollback .*)`", (paths.ROOT / "docs" / "OPERATIONS.md").read_text())
            assert "Rollback was a success" in helm.run(*line.split()).stdout
            assert "rayscaler-0.1.0" in helm.run("list", "-n", chart.NAMESPACE).stdout
        if section == "Without Helm":
            kubectl.run("get", "namespace", chart.NAMESPACE)
        if section == "Uninstall":
            api_server.install_bench()  # the definition of RayClusterAutoscaler
    assert text.count("```sh") == 7 and ran == 13


@pytest.fixture
def installed(api_server, helm, kubectl, standins, controllers, artefacts):
    """The installation in rayscaler-system; removed after the test, however it ends."""
    artefacts.namespace(chart.NAMESPACE, api_server)
    yield Installed(api_server, kubectl, standins)
    helm.run("uninstall", chart.RELEASE, "-n", chart.NAMESPACE, "--ignore-not-found")
    kubectl.run("delete", "--ignore-not-found", "-n", chart.NAMESPACE, "deployment,lease", "rayscaler")
    wait_until(lambda: not api_server.admin.of("pods", chart.NAMESPACE).items(), 60, "the controller's Pods to be gone")


class Installed:
    """The Deployment's Pods and their objects."""

    def __init__(self, server: Any, kubectl: Any, standins: Any):
        self._server, self._kubectl, self._standins = server, kubectl, standins
        self._earlier_logs = set(self._log_files())
        self._earlier_requests = len(server.requests_of("rayscaler"))

    def wait_rolled_out(self) -> List[str]:
        """Until all Pods are of the present template and ready; their names."""
        self._kubectl.run("rollout", "status", "-n", chart.NAMESPACE, "deployment/rayscaler", "--timeout=90s")
        wait_until(lambda: len(self.pods()) == 2, 60, "the Pods of the old template to be gone")
        return self.pods()

    def pods(self) -> List[str]:
        return [pod["metadata"]["name"] for pod in self._server.admin.of("pods", chart.NAMESPACE).items()]

    def wait_leader(self) -> str:
        """A Pod that is there and holds the Lease."""
        return wait_until(lambda: self._holder() in self.pods() and self._holder(), 60, "a Pod to hold the Lease")

    def leader_url(self, scheme: str = "https") -> str:
        """Where the leader serves /status. The API server does not proxy to loopback addresses."""
        pod = self._server.admin.of("pods", chart.NAMESPACE).get(self.wait_leader())
        return f"{scheme}://{pod['status']['podIP']}:8080"

    def probe(self, path: str) -> List[int]:
        """The answers that the Pods' probes would get."""
        pods = self._server.admin.of("pods", chart.NAMESPACE).items()
        urls = [f"http://{pod['status']['podIP']}:8081{path}" for pod in pods]
        return [urllib3.request("GET", url, timeout=10, retries=False).status for url in urls]

    def _holder(self) -> str:
        return (self.lease().get("spec") or {}).get("holderIdentity", "")

    def lease(self) -> Object:
        return self._server.admin.of("leases", chart.NAMESPACE).find("rayscaler") or {}

    def logs(self) -> str:
        """Of all Pods that ran in this test."""
        return "\n".join(file.read_text(errors="replace") for file in self._log_files() if file not in self._earlier_logs)

    def requests(self) -> List[Tuple[str, str, str, str, int]]:
        """The requests of the ServiceAccount in this test. Helm deletes Pods and rights at the same time, so
        at an uninstall the leader may not be able to release the Lease: that is a 403."""
        return self._server.requests_of("rayscaler")[self._earlier_requests :]

    def _log_files(self) -> List[Path]:
        return sorted((self._standins.pods_dir / chart.NAMESPACE).glob("*/rayscaler.log"))


def test_namespaced(api_server, installed, helm, kubectl, namespace):
    """watchNamespace: with a Role there it scales there, asks for nothing elsewhere, and leaves others alone."""
    other = f"{namespace}-other"
    api_server.create_namespace(other)
    workers = rayclusters.group("workers", replicas=0, maxReplicas=5)
    for where in (namespace, other):
        # minReplicas is honoured without Ray, so there is no head: the operator takes its time.
        cluster = rayclusters.minimal("demo", {**workers, "minReplicas": 1})
        cluster["metadata"]["annotations"] = {"bench.rayscaler.dev/operator-lag-seconds": "600"}
        api_server.admin.of("rayclusters", where).create(cluster)
    readers = [{"kind": "Group", "name": "readers", "apiGroup": "rbac.authorization.k8s.io"}]
    values = {"watchNamespace": namespace, "extraArgs": BENCH_ARGS, "rbac": {"statusReaders": readers}}
    helm.run(
        *("install", chart.RELEASE, chart.CHART, "-n", chart.NAMESPACE, "--create-namespace", "--values", "-"),
        stdin=yaml.safe_dump(values),
    )
    bindings = kubectl.run("get", "clusterrolebinding", "-o", "name", "-l", _ours()).stdout.split()
    assert bindings == ["clusterrolebinding.rbac.authorization.k8s.io/rayscaler-reviews"]
    installed.wait_rolled_out()
    installed.wait_leader()
    for path in ("/healthz", "/readyz"):  # a Pod that waits for the Lease is ready as well, or no rollout would end
        wait_until(lambda path=path: installed.probe(path) == [200, 200], 30, f"both Pods to answer {path}")
    proxy = "--subresource=proxy"
    for what, allowed in (
        (["get", "services/https:rayscaler:metrics", proxy], True),
        (["get", "leases/rayscaler"], True),
        (["get", "services/https:another:metrics", proxy], False),
        (["get", "pods/http:some:8080", proxy], False),
        (["list", "pods"], False),
    ):
        for group, status in (("readers", 0 if allowed else 1), ("others", 1)):
            who = ["--as=somebody", f"--as-group={group}", "-n", chart.NAMESPACE]
            kubectl.run("auth", "can-i", *what, *who, status=status)
    clusters = api_server.admin.of("rayclusters", namespace)
    wait_until(lambda: clusters.get("demo")["spec"]["workerGroupSpecs"][0]["replicas"] == 1, 30, "minReplicas to hold")
    settings = api_server.admin.of("rayclusterautoscalers", namespace)
    wait_until(lambda: (settings.find("demo") or {}).get("status"), 30, "the RayClusterAutoscaler's status")
    assert api_server.admin.of("rayclusters", other).get("demo")["spec"]["workerGroupSpecs"][0]["replicas"] == 0
    # Nodes are of no namespace: it may not read them here, and does without.
    asked = [one for one in installed.requests() if one[:3] != ("list", "", "nodes")]
    assert {where for _, _, _, where, _ in asked} == {namespace, chart.NAMESPACE}
    assert not [one for one in asked if one[-1] == 403]
    api_server.empty_namespace(other)


def test_upgrade_scale_uninstall(api_server, installed, helm, kubectl, shared, work_dir):
    """An earlier rendering runs, is upgraded by helm in the midst of a job, and is uninstalled: 0 -> 2 -> 0
    with nothing but the rights of the chart, and nothing of the user's is lost."""
    one = shared([rm.gpu_group(maxReplicas=5)])
    settings = api_server.admin.of("rayclusterautoscalers", one.namespace)
    settings.delete(one.name, missing_ok=True)  # of a test before
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    api_server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.NAMESPACE, "labels": restricted}})
    kubectl.run("apply", "--server-side", "-f", "-", stdin=_for_bench(load_yaml(EARLIER)))
    installed.wait_rolled_out()
    installed.wait_leader()

    with one.program() as program:
        program.actors(2, num_gpus=1)
        joined = program.ready("actors", 240)
        assert one.replicas() == 2
        wait_until(lambda: _settled(settings, one.name, 2), 30, "the RayClusterAutoscaler to say 2 workers")
        before, lease = settings.get(one.name), installed.lease()
        seen = _seen(kubectl, one, installed.leader_url("http"), work_dir)

        said = helm.run(
            *("install", chart.RELEASE, chart.CHART, "-n", chart.NAMESPACE, "--take-ownership", "--values", "-"),
            stdin=yaml.safe_dump({"extraArgs": BENCH_ARGS}),
        ).stdout
        for word in ("enableInTreeAutoscaling: true", "args: [infinity, sleep, infinity]", f"-n {chart.NAMESPACE} get pods", "get rca -A"):
            assert word in said, said
        installed.wait_rolled_out()
        installed.wait_leader()
        wait_until(lambda: _settled(settings, one.name, 2), 30, "the RayClusterAutoscaler to say 2 workers")
        after = settings.get(one.name)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["status"].get("lastScaleTime") == before["status"].get("lastScaleTime")
        assert installed.lease()["metadata"]["uid"] == lease["metadata"]["uid"]
        hold(lambda: one.replicas() == 2 and program.call("alive", name="actors") == joined, 1, "the job goes on")
        program.end()
    one.wait_empty()
    wait_until(lambda: _settled(settings, one.name, 0), 30, "the RayClusterAutoscaler to say 0 workers")
    seen += _seen(kubectl, one, installed.leader_url(), work_dir)
    _check_walkthrough(seen)
    _check_rights(installed.requests(), kubectl)
    lines = [line for line in installed.logs().splitlines() if "GPUPools cannot be read" not in line]  # the earlier one
    assert not re.search(r"\b403\b|[Ff]orbidden", "\n".join(lines))
    wait_until(lambda: _view_reads(api_server), 30, "the role view to have the rights of the chart's")

    wait_until(lambda: not one.workers_to_delete(), 10, "the names of the Pods that are gone to be cleared")
    cluster = one.get()["spec"]
    helm.run("uninstall", chart.RELEASE, "-n", chart.NAMESPACE)
    wait_until(lambda: not installed.pods(), 60, "the controller's Pods to be gone")
    assert one.get()["spec"] == cluster
    assert settings.get(one.name)["metadata"]["uid"] == before["metadata"]["uid"]
    assert kubectl.run("get", "all,sa,role,rolebinding,pdb", "-n", chart.NAMESPACE, "-o", "name").stdout == ""
    assert "rayscaler" not in kubectl.run("get", "clusterrole,clusterrolebinding", "-o", "name", "-l", _ours()).stdout
    settings.delete(one.name)


def _seen(kubectl: Any, one: Any, url: str, work_dir: Any) -> str:
    """The output for a user, with the names of docs/WALKTHROUGH.md."""
    plugin = work_dir / "bin" / "kubectl-rayscaler"
    if not plugin.exists():
        plugin.parent.mkdir()
        plugin.symlink_to(paths.program())
        kubectl.env["PATH"] = f"{plugin.parent}:{kubectl.env['PATH']}"
    text = ""
    for words in (
        ["get", "rca"],
        ["describe", "raycluster", one.name],
        ["rayscaler", "status", "--controller-url", url, "--controller-ca", "none"],
        ["rayscaler", "explain", one.name, "--controller-url", url, "--controller-ca", "none"],
    ):
        text += kubectl.run(*words, "-n", one.namespace).stdout
    text = text.replace(f"{one.namespace}/{one.name}", "team-a/demo").replace(one.name, "demo")
    (work_dir / "seen.txt").open("a").write(text)
    return text


def _check_walkthrough(seen: str) -> None:
    """Every line of the samples in docs/WALKTHROUGH.md was seen, but for times and the ends of Pods' names."""
    blocks = re.findall(r"^```text\n(.*?)^```$", (paths.ROOT / "docs" / "WALKTHROUGH.md").read_text(), re.M | re.S)
    lines = [line for line in "".join(blocks).splitlines() if line and not line.startswith("$ ")]
    assert len(lines) > 10
    there = {_shape(line) for line in seen.splitlines()}
    missing = [line for line in lines if _shape(line) not in there]
    assert not missing, "docs/WALKTHROUGH.md shows what was not seen:\n" + "\n".join(missing)


def _shape(line: str) -> str:
    """Without times, ends of Pods' names, the order of what keeps a worker busy, how many nodes ever were,
    and what an Event says in detail (a loaded machine may take several steps)."""
    line = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME", line)
    line = re.sub(r"(worker|head)-[a-z0-9]{5}\b", r"\1-xxxxx", line)
    line = re.sub(r"Busy: .*", "Busy", re.sub(r"\d+ nodes", "N nodes", line))
    line = re.sub(r"\b(\d+(\.\d+)?(ms|[smh]))+\b", "AGO", line)
    event = re.match(r" +(Normal|Warning) +(\w+) .* (rayscaler|raycluster-controller) ", line)
    return " ".join(event.groups() if event else line.replace("-", " ").split())


def _ours() -> str:
    return "app.kubernetes.io/name=rayscaler"


def _for_bench(objects: List[Object]) -> str:
    for obj in objects:
        if obj["kind"] == "Deployment":
            obj["spec"]["template"]["spec"]["containers"][0]["args"] += BENCH_ARGS
    return yaml.safe_dump_all(objects)


def _settled(settings: Any, name: str, replicas: int) -> bool:
    """Does the status have so many replicas of one GPU each, and nothing to do? Ray may still call work pending
    that runs already."""
    status = (settings.find(name) or {}).get("status") or {}
    if not status or sum(group["replicas"] for group in status["groups"]) != replicas:
        return False
    gpus = status["gpus"]
    return (gpus["running"], gpus["pending"]) == (str(replicas), "0") and status["reason"] == "ReadyForNewScale"


def _view_reads(server: Any) -> bool:
    rules = server.admin.of("clusterroles").get("view").get("rules") or []
    return any("rayclusterautoscalers" in (rule.get("resources") or []) and "list" in rule["verbs"] for rule in rules)


def _check_rights(requests: List[Tuple[str, str, str, str, int]], kubectl: Any) -> None:
    """Each right that the chart gives was used, or another part uses it; nothing was refused."""
    granted: Set[Right] = set()
    for kind, name in (("clusterrole", "rayscaler"), ("clusterrole", "rayscaler-reviews"), ("role", "rayscaler-leader-election")):
        for rule in kubectl.get(kind, name, "-n", chart.NAMESPACE)["rules"]:
            granted |= {(v, g, r) for v in rule["verbs"] for g in rule["apiGroups"] for r in rule["resources"]}
    # The earlier rendering has no right on GPUPools, for which this program asks.
    refused = [request for request in requests if request[-1] == 403 and request[2] != "gpupools"]
    assert not refused, refused[:3]
    used = {request[:3] for request in requests}
    assert used <= granted, used - granted
    unused = granted - used - set(OTHER_USES)
    assert not unused, f"rights that nothing used: {sorted(unused)}"
    assert set(OTHER_USES) <= granted, f"not granted any more: {set(OTHER_USES) - granted}"
