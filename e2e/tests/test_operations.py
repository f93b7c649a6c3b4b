"""docs/OPERATIONS.md: its commands for each alert give the documented answers."""

import re

import yaml

from rayscaler_e2e import dashboard, paths, rayclusters
from rayscaler_e2e.cli import Cli

TEXT = (paths.ROOT / "docs" / "OPERATIONS.md").read_text()


def test_commands_of_the_alerts(api_server, namespace, kubectl):
    """Pods, Lease and RayClusterAutoscaler by the names that the chart and the controller give them."""
    admin = api_server.admin
    pod = {"metadata": {"name": "rayscaler-0"}, "spec": {"containers": [{"name": "rayscaler", "image": "rayscaler"}]}}
    admin.of("pods", namespace).create({"apiVersion": "v1", "kind": "Pod", **pod})
    lease = {"metadata": {"name": "rayscaler"}, "spec": {"holderIdentity": "rayscaler-0_1"}}
    admin.of("leases", namespace).create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease})
    admin.of("rayclusterautoscalers", namespace).create(
        {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo"}}
    )
    shows = {
        "-n rayscaler-system get pods": "rayscaler-0",
        "describe pod": "Image:",
        "-n rayscaler-system get lease rayscaler -o yaml": "holderIdentity: rayscaler-0_1",
        "describe rca CLUSTER": "RayClusterAutoscaler",
    }
    for command, answer in shows.items():
        assert re.search(rf"`kubectl {re.escape(command)}`", TEXT), command
        words = command.replace("-n rayscaler-system ", "").replace("CLUSTER", "demo").split()
        assert answer in kubectl.run("-n", namespace, *words).stdout, command


def test_each_alert_has_its_severity_and_time():
    rules = [rule for group in yaml.safe_load(dashboard.ALERTS.read_text())["groups"] for rule in group["rules"] if "alert" in rule]
    assert [rule["alert"] for rule in rules if f"### {rule['alert']}\n" not in TEXT] == [] and len(rules) > 10
    for rule in rules:
        said = re.search(rf"^### {rule['alert']}\n\n(\w+)(?:, after (\w+) (minute|hour))?", TEXT, re.M)
        time = said[2] and f"{said[2].replace('one', '1')}{said[3][0]}"
        assert (said[1], time) == (rule["labels"]["severity"], rule.get("for")), rule["alert"]


def test_roll_back(api_server, namespace, kubectl, work_dir):
    """The commands for one cluster and for all, in their order; test_chart_install.py runs those of helm."""
    clusters, pods = api_server.admin.of("rayclusters", namespace), api_server.admin.of("pods", namespace)
    cli = Cli(api_server, namespace, work_dir)
    held = {"bench.rayscaler.dev/operator-lag-seconds": "600"}
    before = {}
    for name in ("demo", "other"):
        made = rayclusters.minimal(name, autoscalerOptions={"idleTimeoutSeconds": 60})
        made["metadata"]["annotations"] = held
        before[name] = clusters.create(made)["spec"]
        labels = {"ray.io/cluster": name, "ray.io/node-type": "head"}
        pod = {"metadata": {"name": f"{name}-head", "labels": labels}, "spec": {"containers": [{"name": "ray-head", "image": "ray"}]}}
        pods.create({"apiVersion": "v1", "kind": "Pod", **pod})
    cli.run("adopt", "--all", "--yes")
    adopted = {name: clusters.get(name)["spec"] for name in before}
    for spec in before.values():  # adopt adds it, and release keeps it
        spec["autoscalerOptions"]["version"] = "v2"
    blocks = re.findall(r"^```sh\n(.*?)^```$", re.search(r"^## Roll back\n(.*?)(?=^## )", TEXT, re.M | re.S).group(1), re.M | re.S)
    assert len(blocks) == 2
    for block, changed in zip(blocks, (["demo"], ["demo", "other"])):
        for line in block.replace("team-a", namespace).splitlines():
            program, *words = line.split()
            if words[0] == "rayscaler":
                said = cli.run(*words[1:]).stdout
                assert all(f"RayCluster {namespace}/{name}\n" in said for name in changed)
            elif program == "kubectl":
                assert "demo" in kubectl.run(*words).stdout, line
        assert pods.find("demo-head") is None or pods.get("demo-head")["metadata"].get("deletionTimestamp")
        assert pods.get("other-head")["metadata"].get("deletionTimestamp") is None
        assert {name: clusters.get(name)["spec"] for name in before} == {**adopted, **{name: before[name] for name in changed}}
        if changed == ["demo"]:
            cli.run("adopt", "demo", "--yes")
            pods.delete("demo-head", missing_ok=True)
            pods.create({"apiVersion": "v1", "kind": "Pod", **{**pod, "metadata": {"name": "demo-head", "labels": {**labels, "ray.io/cluster": "demo"}}}})
