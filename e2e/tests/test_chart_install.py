"""The chart on the real API server: what it renders is accepted."""

from typing import Any, Dict

import pytest
import yaml

from rayscaler_e2e import chart, paths

Object = Dict[str, Any]

@pytest.fixture
def real(api_server):
    if api_server.kind != "real":
        pytest.skip("the embedded API server has no server-side apply, Deployments or admission")
    return api_server


VARIANTS: Dict[str, Object] = {
    "defaults": {},
    "everything": {
        "commonLabels": {"team": "ml"},
        "config": {"idleTimeoutSeconds": 30, "accelerators": ["a.com/x"]},
        "rbac": {"statusReaders": [{"kind": "Group", "name": "users", "apiGroup": "rbac.authorization.k8s.io"}]},
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
        "networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}]},
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
        "metrics": {"podMonitor": {"enabled": True}},
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


def test_rendered_objects_are_accepted(real, helm, kubectl):
    """By kube-apiserver, every field known; the kinds of Prometheus' operator by definitions of the bench."""
    kubectl.run("apply", "--server-side", "-f", paths.MANIFESTS / "prometheus-operator-crds.yaml")
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "crd", "prometheusrules.monitoring.coreos.com")
    real.create_namespace("chart-variants")
    for name, values in VARIANTS.items():
        text = chart.template(helm, values, "chart-variants")
        said = kubectl.run("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
        made = [obj for obj in yaml.safe_load_all(text) if obj]
        assert said.stdout.count("serverside-applied") == len(made) > 5, f"{name}: {said.stdout}"
        assert "Warning" not in said.stderr, f"{name}: {said.stderr}"
