"""docs/OPERATIONS.md: its commands for each alert give the documented answers."""

import re

from rayscaler_e2e import paths

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
        "-n rayscaler-system get lease rayscaler": "rayscaler-0_1",
        "describe rca CLUSTER": "RayClusterAutoscaler",
    }
    for command, answer in shows.items():
        assert re.search(rf"`kubectl {re.escape(command)}`", TEXT), command
        words = command.replace("-n rayscaler-system ", "").replace("CLUSTER", "demo").split()
        assert answer in kubectl.run("-n", namespace, *words).stdout, command
