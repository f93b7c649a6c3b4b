"""kubectl and helm of the bench are the pinned ones and reach the API server."""

import re

from rayscaler_e2e import paths


def test_kubectl_is_of_the_servers_version(api_server, kubectl):
    """Other versions of kubectl print other things."""
    wanted = re.search(r"k8s.io/kubernetes (v\S+)", (paths.E2E / "apiserver" / "go.mod").read_text()).group(1)
    version = kubectl.run("version", "-o", "json").stdout
    assert f'"gitVersion": "{wanted}"' in version
    namespaces = kubectl.get("namespaces")["items"]
    assert "default" in [one["metadata"]["name"] for one in namespaces]
    assert "NotFound" in kubectl.run("get", "-n", "default", "configmap", "no-such", status=1).stderr


def test_helm_is_the_pinned_one(api_server, helm):
    wanted = re.search(r"^helm_version=(\S+)$", (paths.E2E / "setup-apiserver.sh").read_text(), re.M).group(1)
    assert f'Version:"{wanted}"' in helm.run("version").stdout
    assert "release: not found" in helm.run("status", "-n", "default", "no-such", status=1).stderr
