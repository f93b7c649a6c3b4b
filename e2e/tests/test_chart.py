"""The chart without a cluster: lint, the rendered objects, values that the schema refuses, equal copies."""

import json
import re
import subprocess

import pytest
import yaml

from rayscaler_e2e import chart, chart_docs, paths
from rayscaler_e2e.apiserver import load_yaml
from rayscaler_e2e.chart import container, of_kind, refused, render

# Flags that the chart sets by other values, and those that mean nothing in a Pod.
CHART_FLAGS = {
    "--namespace",
    "--leader-elect",
    "--leader-elect-lease-duration",
    "--leader-elect-renew-deadline",
    "--leader-elect-retry-period",
    "--leader-elect-resource-name",
    "--metrics-bind-address",
    "--metrics-secure",
    "--metrics-cert-dir",
    "--health-probe-bind-address",
    "--log-level",
    "--device-table",
    "--price-table",
}
OTHER_FLAGS = {
    "--kubeconfig",
    "--context",
    "--service-account-dir",
    "--cluster-name",
    "--cluster-namespace",
    "--leader-elect-resource-namespace",
    "--mode",
}

# Values, and words of helm's error for them.
BAD_VALUES = [
    ({"replicas": 3}, ["additional properties 'replicas' not allowed"]),
    ({"replicaCount": "two"}, ["/replicaCount", "got string, want integer"]),
    ({"replicaCount": -1}, ["/replicaCount", "minimum"]),
    ({"replicaCount": 2, "leaderElection": {"enabled": False}}, ["two controllers", "Set replicaCount to 1"]),
    ({"image": {"pullPolicy": "never"}}, ["/image/pullPolicy", "'IfNotPresent'"]),
    ({"image": {"digest": "sha256:12"}}, ["/image/digest", "does not match"]),
    ({"image": {"name": "x"}}, ["/image", "'name' not allowed"]),
    ({"imagePullSecrets": ["x"]}, ["/imagePullSecrets/0", "got string, want object"]),
    ({"watchNamespace": ["a", "b"]}, ["/watchNamespace", "got array, want string"]),
    ({"watchNamespace": "Team_A"}, ["/watchNamespace", "does not match"]),
    ({"admissionPolicy": True}, ["/admissionPolicy", "got boolean, want object"]),
    ({"admissionPolicy": {"enabled": "yes"}}, ["/admissionPolicy/enabled", "want boolean"]),
    ({"admissionPolicy": {"enabled": True}}, ["serves no MutatingAdmissionPolicy", "feature gate", "rayscaler adopt"]),
    ({"idleTermination": {"allowDelete": "yes"}}, ["/idleTermination/allowDelete", "want boolean"]),
    ({"logLevel": "trace"}, ["/logLevel", "'debug', 'info'"]),
    ({"config": {"packing": "dearest"}}, ["/config/packing", "'fewest-gpus'"]),
    ({"config": {"idleTimeoutSeconds": "60s"}}, ["/config/idleTimeoutSeconds", "got string"]),
    ({"config": {"idleTimeoutSeconds": -1}}, ["/config/idleTimeoutSeconds", "minimum: got -1, want 0"]),
    ({"config": {"idle-timeout-seconds": 60}}, ["/config", "'idle-timeout-seconds' not allowed"]),
    ({"config": {"accelerators": "a,b"}}, ["/config/accelerators", "want null or array"]),
    ({"deviceTable": {"devices": []}}, ["/deviceTable", "got object, want array"]),
    ({"deviceTable": [{"resource": "example.com/npu"}]}, ["/deviceTable/0", "missing property 'kind'"]),
    ({"deviceTable": [{"resource": "npu", "kind": "NPU"}]}, ["/deviceTable/0/resource", "does not match"]),
    ({"deviceTable": [{"resource": "a.b/c", "kind": "npu"}]}, ["/deviceTable/0/kind", "'NPU'"]),
    ({"priceTable": []}, ["/priceTable", "got array, want object"]),
    ({"priceTable": {"prices": [{"gpuModel": "T4"}]}}, ["/priceTable/prices/0", "missing property 'perGPUHour'"]),
    ({"priceTable": {"prices": [{"perGPUHour": "1"}]}}, ["/priceTable/prices/0/perGPUHour", "got string"]),
    ({"priceTable": {"prices": [{"perGPUHour": 1}]}}, ["no currency", "such as EUR"]),
    ({"leaderElection": {"leaseDuration": "1h"}}, ["/leaderElection/leaseDuration", "does not match"]),
    ({"extraArgs": ["idle"]}, ["/extraArgs/0", "does not match"]),
    ({"extraEnv": [{"value": "1"}]}, ["/extraEnv/0", "missing property 'name'"]),
    ({"metrics": {"port": 70000}}, ["/metrics/port", "maximum"]),
    ({"metrics": {"port": 8081}}, ["both 8081", "different ports"]),
    ({"leaderElection": {"leaseDuration": "5s"}}, ["renewDeadline is 10s and leaderElection.leaseDuration 5s", "below"]),
    ({"leaderElection": {"retryPeriod": "1m"}}, ["retryPeriod is 1m and leaderElection.renewDeadline 10s", "below"]),
    ({"metrics": {"serviceMonitor": {"interval": "often"}}}, ["/metrics/serviceMonitor/interval"]),
    (
        {"metrics": {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}}},
        ["scraped twice", "Choose one"],
    ),
    ({"metrics": {"serviceMonitor": {"enabled": True}, "service": {"enabled": False}}}, ["needs the Service"]),
    ({"metrics": {"enabled": False, "podMonitor": {"enabled": True}}}, ["nothing to scrape"]),
    ({"rbac": {"readSecrets": "no"}}, ["/rbac/readSecrets", "want boolean or object"]),
    ({"rbac": {"readSecrets": {"namespaces": "team-a"}}}, ["/rbac/readSecrets/namespaces", "want array"]),
    ({"rbac": {"readSecrets": {"everywhere": True}}}, ["/rbac/readSecrets", "'everywhere' not allowed"]),
    ({"watchNamespace": "a", "rbac": {"readSecrets": {"namespaces": ["a", "b"]}}}, ["than watchNamespace, which is a"]),
    ({"metrics": {"podMonitor": {"enabled": True}}}, ["cannot name the token file", "podMonitor.authorization"]),
    ({"metrics": {"secure": False, "certSecret": "tls"}}, ["metrics.certSecret is set", "set both to true"]),
    ({"rbac": {"metricsReaders": [{"kind": "Group"}]}}, ["/rbac/metricsReaders/0", "name"]),
    ({"rbac": {"statusReaders": [{"kind": "Team", "name": "x"}]}}, ["/rbac/statusReaders/0/kind", "'Group'"]),
    ({"podDisruptionBudget": {"maxUnavailable": "half"}}, ["/podDisruptionBudget/maxUnavailable"]),
    ({"resources": {"memory": "1Gi"}}, ["/resources", "'memory' not allowed"]),
    ({"networkPolicy": {"rayClusters": [{"name": "demo"}]}}, ["/networkPolicy/rayClusters/0", "missing property 'namespace'"]),
    ({"networkPolicy": {"apiServerPorts": []}}, ["/networkPolicy/apiServerPorts", "minItems"]),
]

ALL_ON = {
    "commonLabels": {"team": "ml"},
    "config": {"idleTimeoutSeconds": 30, "accelerators": ["a.com/x", "b.com/y"], "kubeApiQps": 100000},
    "rbac": {"statusReaders": [{"kind": "Group", "name": "users", "apiGroup": "rbac.authorization.k8s.io"}]},
    "metrics": {
        "serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "p"}},
        "prometheusRule": {"enabled": True, "namespace": "monitoring"},
        "dashboard": {"enabled": True},
    },
    "networkPolicy": {"enabled": True},
}


def test_helm_lint(helm):
    """No warning, with the defaults and with everything on."""
    for values in ({}, ALL_ON, {"watchNamespace": "team-a"}):
        said = helm.run("lint", "--strict", chart.CHART, "--values", "-", stdin=yaml.safe_dump(values)).stdout
        assert "0 chart(s) failed" in said and "[WARNING]" not in said and "[ERROR]" not in said, said


@pytest.mark.parametrize("values, words", BAD_VALUES, ids=[str(number) for number in range(len(BAD_VALUES))])
def test_bad_value_is_refused(helm, values, words):
    said = refused(helm, values)
    assert all(word in said for word in words), said


def test_defaults(helm):
    objects = render(helm)
    kinds = sorted((obj["kind"], obj["metadata"]["name"]) for obj in objects)
    assert kinds == [
        ("ClusterRole", "rayscaler"),
        ("ClusterRole", "rayscaler-edit"),
        ("ClusterRole", "rayscaler-pages"),
        ("ClusterRole", "rayscaler-pools"),
        ("ClusterRole", "rayscaler-reviews"),
        ("ClusterRole", "rayscaler-secrets"),
        ("ClusterRole", "rayscaler-view"),
        ("ClusterRoleBinding", "rayscaler"),
        ("ClusterRoleBinding", "rayscaler-pages"),
        ("ClusterRoleBinding", "rayscaler-reviews"),
        ("Deployment", "rayscaler"),
        ("PodDisruptionBudget", "rayscaler"),
        ("Role", "rayscaler-leader-election"),
        ("RoleBinding", "rayscaler-leader-election"),
        ("Service", "rayscaler"),
        ("ServiceAccount", "rayscaler"),
        ("ServiceAccount", "rayscaler-status-reader"),
    ]
    for obj in objects:
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == labels["app.kubernetes.io/instance"] == "rayscaler"
        cluster_wide = obj["kind"].startswith("ClusterRole")
        assert obj["metadata"].get("namespace") == (None if cluster_wide else "rayscaler-system"), obj["kind"]
    assert of_kind(objects, "Deployment")["spec"]["replicas"] == 2
    args = container(objects)["args"]
    assert args[0] == "run" and "--leader-elect=true" in args and "--metrics-secure=true" in args and "--metrics-bind-address=:8080" in args


def test_recreate_has_no_rolling_update(helm):
    """The API server refuses both together."""
    (deployment,) = [one for one in render(helm, {"strategy": {"type": "Recreate"}}) if one["kind"] == "Deployment"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_pod_is_restricted(helm):
    """Pod Security "restricted", and no more rights than that allows."""
    pod = of_kind(render(helm), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    context = pod["containers"][0]["securityContext"]
    assert context["readOnlyRootFilesystem"] is True and context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert "hostNetwork" not in pod and "volumes" not in pod
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "20m", "memory": "32Mi"}
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"]["app.kubernetes.io/instance"] == "rayscaler"


def test_the_seccomp_profile_can_be_one_of_the_node(helm):
    profile = {"type": "Localhost", "localhostProfile": "rayscaler.json"}
    pod = of_kind(render(helm, {"podSecurityContext": {"seccompProfile": profile}}), "Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["seccompProfile"] == profile and pod["securityContext"]["runAsNonRoot"] is True


def test_ports_hang_together(helm):
    """Probes, Service and NetworkPolicy name the ports that the program opens."""
    values = {"metrics": {"port": 9090}, "health": {"port": 9091}, "networkPolicy": {"enabled": True}}
    objects = render(helm, values)
    one = container(objects)
    assert {port["name"]: port["containerPort"] for port in one["ports"]} == {"metrics": 9090, "health": 9091}
    assert "--metrics-bind-address=:9090" in one["args"] and "--health-probe-bind-address=:9091" in one["args"]
    assert {one[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} == {"health"}
    (port,) = of_kind(objects, "Service")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (9090, "metrics")
    ingress = of_kind(objects, "NetworkPolicy")["spec"]["ingress"]
    assert [rule["ports"][0]["port"] for rule in ingress] == [9091, 9090]


def test_heads_with_a_network_policy_are_opened(helm):
    """One policy for each RayCluster of the value: to the controller's Pods, and never less than KubeRay's own."""
    clusters = [{"namespace": "team-a", "name": "demo"}, {"namespace": "team-b", "name": "big", "port": 6380}]
    made = [obj for obj in render(helm, {"networkPolicy": {"rayClusters": clusters}}) if obj["kind"] == "NetworkPolicy"]
    assert [(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in made] == [("team-a", "rayscaler-demo"), ("team-b", "rayscaler-big")]
    pods = of_kind(render(helm), "Deployment")["spec"]["template"]["metadata"]["labels"]
    for obj, name, port in zip(made, ("demo", "big"), (6379, 6380)):
        spec = obj["spec"]
        assert spec["podSelector"]["matchLabels"] == {"ray.io/cluster": name, "ray.io/node-type": "head"}
        assert spec["policyTypes"] == ["Ingress"]
        ours, workers = spec["ingress"]
        assert ours["ports"] == [{"port": port}]
        (peer,) = ours["from"]
        assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "rayscaler-system"}
        assert peer["podSelector"]["matchLabels"].items() <= pods.items()
        assert workers == {"from": [{"podSelector": {"matchLabels": {"ray.io/cluster": name}}}]}


def test_metrics_off(helm):
    objects = render(helm, {"metrics": {"enabled": False}})
    assert of_kind(objects, "Service") is None
    assert "--metrics-bind-address=0" in container(objects)["args"]
    assert [port["name"] for port in container(objects)["ports"]] == ["health"]


def test_values_become_flags(helm):
    """Whole numbers stay whole (helm reads them as floats), null is the program's default, extraArgs come last."""
    values = {**ALL_ON, "extraArgs": ["--idle-timeout-seconds=5"]}
    values["config"] = {**ALL_ON["config"], "packing": None, "conserveAccelerators": False}
    args = container(render(helm, values))["args"]
    assert "--kube-api-qps=100000" in args and "--idle-timeout-seconds=30" in args
    assert "--accelerators=a.com/x,b.com/y" in args and "--conserve-accelerators=false" in args
    assert args[-1] == "--idle-timeout-seconds=5" and not any("packing" in arg for arg in args)


def test_device_table(helm, tmp_path):
    """The file that the Pod gets is one that the program reads; another one makes new Pods."""
    rows = [
        {"resource": "example.com/npu", "kind": "NPU", "vendor": "Example: \"1\""},
        {"resource": "example.com/mem", "kind": "GPU", "share": "memory", "memoryUnit": "1Gi"},
    ]
    objects = render(helm, {"deviceTable": rows})
    (name, text), *more = of_kind(objects, "ConfigMap", "rayscaler-device-table")["data"].items()
    one, pod = container(objects), of_kind(objects, "Deployment")["spec"]["template"]
    assert not more and f"--device-table={one['volumeMounts'][0]['mountPath']}/{name}" in one["args"]
    (volume,) = pod["spec"]["volumes"]
    assert volume["configMap"]["name"] == "rayscaler-device-table"
    assert volume["name"] == one["volumeMounts"][0]["name"]
    (tmp_path / name).write_text(text)
    words = [str(paths.program()), "devices", "--device-table", str(tmp_path / name), "-o", "json"]
    shown = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout)
    own = [row for row in shown if not row["builtIn"]]
    assert [row["resource"] for row in own] == ["example.com/npu", "example.com/mem"]
    assert own[0]["vendor"] == 'Example: "1"' and own[1]["memoryUnitBytes"] == 1 << 30
    other = of_kind(render(helm, {"deviceTable": rows[:1]}), "Deployment")["spec"]["template"]
    assert other["metadata"]["annotations"] != pod["metadata"]["annotations"]


def test_price_table(helm, tmp_path):
    """The Pod gets the file beside the device table, and the program reads it; another one makes new Pods."""
    rows = [{"gpuModel": "A100", "nodeLabels": {"a.b/c": "true"}, "market": "spot", "perGPUHour": 1.25}, {"perGPUHour": 3}]
    values = {"priceTable": {"currency": "EUR", "prices": rows}, "deviceTable": [{"resource": "a.b/c", "kind": "NPU"}]}
    objects = render(helm, values)
    (name, text), *more = of_kind(objects, "ConfigMap", "rayscaler-price-table")["data"].items()
    one, pod = container(objects), of_kind(objects, "Deployment")["spec"]["template"]
    mounts = {mount["name"]: mount["mountPath"] for mount in one["volumeMounts"]}
    volumes = {volume["name"]: volume["configMap"]["name"] for volume in pod["spec"]["volumes"]}
    assert not more and f"--price-table={mounts['price-table']}/{name}" in one["args"]
    assert volumes == {name: f"rayscaler-{name}" for name in mounts} and len(mounts) == 2
    assert json.loads(text)["prices"] == rows
    (tmp_path / name).write_text(text)
    words = [str(paths.controller()), "run", "--price-table", str(tmp_path / name), "--kubeconfig", str(tmp_path / "none")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode and str(tmp_path / "none") in ended.stderr and name not in ended.stderr
    values["priceTable"]["currency"] = "USD"
    other = of_kind(render(helm, values), "Deployment")["spec"]["template"]
    assert other["metadata"]["annotations"] != pod["metadata"]["annotations"]


def test_namespaced(helm):
    """watchNamespace: Roles there, and of the cluster only reviews, which are of no namespace."""
    objects = render(helm, {"watchNamespace": "team-a"})
    assert "--namespace=team-a" in container(objects)["args"]
    role, binding = of_kind(objects, "Role", "rayscaler"), of_kind(objects, "RoleBinding", "rayscaler")
    assert role["metadata"]["namespace"] == binding["metadata"]["namespace"] == "team-a"
    assert binding["subjects"][0]["namespace"] == "rayscaler-system"
    assert "nodes" not in str(role["rules"])
    assert [obj["metadata"]["name"] for obj in objects if obj["kind"] == "ClusterRoleBinding"] == ["rayscaler-reviews"]
    insecure = render(helm, {"watchNamespace": "team-a", "metrics": {"secure": False}})
    assert not [obj for obj in insecure if obj["kind"] == "ClusterRoleBinding"]
    nodes = render(helm, {"watchNamespace": "team-a", "rbac": {"readNodes": True}})
    assert of_kind(nodes, "ClusterRole", "rayscaler-nodes")["rules"][0]["resources"] == ["nodes"]


def test_rights_by_values(helm):
    def resources(values):
        return [rule["resources"][0] for rule in of_kind(render(helm, values), "ClusterRole")["rules"]]

    assert "nodes" in resources({})
    assert "nodes" not in resources({"rbac": {"readNodes": False}})
    assert not [obj for obj in render(helm, {"rbac": {"create": False}}) if "Role" in obj["kind"]]
    assert of_kind(render(helm, {"rbac": {"aggregate": False}}), "ClusterRole", "rayscaler-view") is None
    alone = render(helm, {"replicaCount": 1, "leaderElection": {"enabled": False}})
    assert of_kind(alone, "Role", "rayscaler-leader-election") is None and "--leader-elect=false" in container(alone)["args"]


@pytest.mark.parametrize(
    "watched, value, wanted",
    [
        ("", None, set()),
        ("", {"namespaces": ["team-a", "team-b"]}, {"team-a", "team-b"}),
        ("", {"all": True}, {"*"}),
        ("", {"all": True, "namespaces": ["team-a"]}, {"*"}),
        ("", True, {"*"}),
        ("", False, set()),
        ("team-a", None, set()),
        ("team-a", {"namespaces": ["team-a"]}, {"team-a"}),
        ("team-a", {"all": True}, {"team-a"}),
        ("team-a", True, {"team-a"}),
    ],
)
def test_secrets_are_read_only_where_a_value_says_so(helm, watched, value, wanted):
    values = {"watchNamespace": watched, **({} if value is None else {"rbac": {"readSecrets": value}})}
    objects = render(helm, values)
    roles = {(one["kind"], one["metadata"]["name"]): one["rules"] for one in objects if one["kind"] in ("Role", "ClusterRole")}
    found = set()
    for binding in objects:
        if not binding["kind"].endswith("Binding"):
            continue
        if binding["metadata"]["name"] == "rayscaler-pages":  # of those who read the controller's pages
            continue
        assert binding["subjects"][0] == {"kind": "ServiceAccount", "name": "rayscaler", "namespace": "rayscaler-system"}
        rights = _rights(roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]])
        verbs = {verb for verb, _, resource in rights if resource in ("secrets", "*")}
        assert verbs <= {"get"}
        found |= {binding["metadata"].get("namespace", "*")} if verbs else set()
    assert found == wanted


def test_accounts_for_delegated_tokens(helm):
    """Off by default; as the commands of docs/KUBERAY.md make them."""
    assert "rayscaler-gcs" not in {one["metadata"]["name"] for one in render(helm, {})}
    objects = [one for one in render(helm, {"rbac": {"gcsAccounts": ["team-a", "team-b"]}}) if one["metadata"]["name"] == "rayscaler-gcs"]
    for namespace in ("team-a", "team-b"):
        account, role, binding = (one for one in objects if one["metadata"]["namespace"] == namespace)
        assert [account["kind"], role["kind"], binding["kind"]] == ["ServiceAccount", "Role", "RoleBinding"]
        assert _rights(role["rules"]) == {("ray:write", "ray.io", "rayclusters")}
        assert binding["roleRef"]["name"] == "rayscaler-gcs" and binding["roleRef"]["kind"] == "Role"
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "rayscaler-gcs", "namespace": namespace}]


def test_delete_is_a_right_of_its_own(helm):
    """Off by default, on nothing but RayClusters, and only where the other rights on them are."""

    def deletes(values):
        roles = [obj for obj in render(helm, values) if obj["kind"] in ("ClusterRole", "Role")]
        return {
            (obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace"), group, resource)
            for obj in roles
            if not obj["metadata"]["name"].endswith("-edit")  # of users, not of the controller
            for verb, group, resource in _rights(obj["rules"])
            if verb in ("delete", "deletecollection", "*")
        }

    assert deletes({}) == deletes({"watchNamespace": "team-a"}) == set()
    allowed = {"idleTermination": {"allowDelete": True}}
    assert deletes(allowed) == {("ClusterRole", "rayscaler", None, "ray.io", "rayclusters")}
    one = deletes({**allowed, "watchNamespace": "team-a"})
    assert one == {("Role", "rayscaler", "team-a", "ray.io", "rayclusters")}


def test_patch_of_pods_is_a_right_of_its_own(helm):
    """Off by default; on by the value, and by the flag for all RayClusters."""

    def patches(values):
        roles = [obj for obj in render(helm, values) if obj["kind"] in ("ClusterRole", "Role")]
        return {
            (obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace"))
            for obj in roles
            if ("patch", "", "pods") in _rights(obj["rules"])
        }

    assert patches({}) == patches({"watchNamespace": "team-a"}) == patches({"config": {"protectBusyPods": False}}) == set()
    for allowed in ({"protectBusyPods": {"allowPatch": True}}, {"config": {"protectBusyPods": True}}):
        assert patches(allowed) == {("ClusterRole", "rayscaler", None)}
        assert patches({**allowed, "watchNamespace": "team-a"}) == {("Role", "rayscaler", "team-a")}
    (container,) = of_kind(render(helm, {"config": {"protectBusyPods": True}}), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "--protect-busy-pods=true" in container["args"]


def test_resize_of_pods_is_a_right_of_its_own(helm):
    """Off by default; on by the flag, with the patch of Pods for the record on them."""

    def rights(values):
        of_role = _rights(of_kind(render(helm, values), "ClusterRole", "rayscaler")["rules"])
        return {right for right in of_role if right[2] in ("pods", "pods/resize") and right[0] not in ("list", "watch")}

    assert rights({}) == rights({"config": {"inPlaceResize": False}}) == set()
    assert rights({"config": {"inPlaceResize": True}}) == {("patch", "", "pods"), ("patch", "", "pods/resize")}
    (container,) = of_kind(render(helm, {"config": {"inPlaceResize": True}}), "Deployment")["spec"]["template"]["spec"]["containers"]
    assert "--in-place-resize=true" in container["args"]


def test_reading_workloads_is_a_right_of_its_own(helm):
    def rights(values):
        return {right for right in _rights(of_kind(render(helm, values), "ClusterRole", "rayscaler")["rules"]) if right[2] == "workloads"}

    assert not rights({})
    assert rights({"kueue": {"readWorkloads": True}}) == {(verb, "kueue.x-k8s.io", "workloads") for verb in ("list", "watch")}


def test_monitoring_objects(helm):
    objects = render(helm, ALL_ON)
    (endpoint,) = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True and endpoint["interval"] == "15s"
    rule = of_kind(objects, "PrometheusRule")
    assert rule["metadata"]["namespace"] == "monitoring"
    assert rule["spec"] == yaml.safe_load((chart.CHART / "files" / "alerts.yaml").read_text())
    dashboard = of_kind(objects, "ConfigMap", "rayscaler-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    wanted = json.loads((chart.CHART / "dashboards" / "rayscaler.json").read_text())
    assert json.loads(dashboard["data"]["rayscaler.json"]) == wanted
    assert all(obj["metadata"]["labels"]["team"] == "ml" for obj in objects)
    assert endpoint["scheme"] == "https" and endpoint["tlsConfig"] == {"insecureSkipVerify": True}
    assert endpoint["bearerTokenFile"].endswith("/serviceaccount/token")
    token = {"credentials": {"name": "prometheus", "key": "token"}}
    monitor = {"metrics": {"podMonitor": {"enabled": True, "authorization": token}}}
    (pods,) = of_kind(render(helm, monitor), "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert pods["port"] == "metrics" and pods["honorLabels"] is True
    assert pods["scheme"] == "https" and pods["authorization"] == token and "bearerTokenFile" not in pods
    monitor["metrics"]["secure"] = False
    (pods,) = of_kind(render(helm, monitor), "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert "scheme" not in pods and "authorization" not in pods


def test_who_may_read_the_endpoints(helm):
    """Readers reach one Service and no Pod; the token of the account that sees all is for those named so."""
    team, admins = {"kind": "Group", "name": "team"}, {"kind": "Group", "name": "admins"}
    scraper = {"kind": "ServiceAccount", "name": "prometheus", "namespace": "monitoring"}
    rbac = {"statusReaders": [team], "statusReadersOfAll": [admins], "metricsReaders": [scraper]}
    objects = render(helm, {"rbac": rbac})
    rules = of_kind(objects, "Role", "rayscaler-status-reader")["rules"]
    assert [(rule["resources"], rule["resourceNames"], rule["verbs"]) for rule in rules] == [
        (["leases"], ["rayscaler"], ["get"]),
        (["services/proxy"], ["https:rayscaler:metrics"], ["get"]),
    ]
    assert of_kind(objects, "RoleBinding", "rayscaler-status-reader")["subjects"] == [team, admins]
    (token,) = of_kind(objects, "Role", "rayscaler-status-reader-token")["rules"]
    assert token["resources"] == ["serviceaccounts/token"] and token["resourceNames"] == ["rayscaler-status-reader"]
    assert of_kind(objects, "RoleBinding", "rayscaler-status-reader-token")["subjects"] == [admins]
    assert of_kind(objects, "ClusterRole", "rayscaler-metrics-reader")["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert of_kind(objects, "ClusterRoleBinding", "rayscaler-metrics-reader")["subjects"] == [scraper]
    plain = render(helm, {"rbac": rbac, "metrics": {"secure": False}})
    assert of_kind(plain, "Role", "rayscaler-status-reader")["rules"][1]["resourceNames"] == ["http:rayscaler:metrics"]
    for name in ("rayscaler-reviews", "rayscaler-pages", "rayscaler-metrics-reader", "rayscaler-status-reader-token"):
        assert not [obj for obj in plain if obj["metadata"]["name"] == name], name


def test_certificate(helm):
    objects = render(helm, {"metrics": {"certSecret": "metrics-tls"}})
    pod = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    (volume,), (mount,) = pod["volumes"], pod["containers"][0]["volumeMounts"]
    assert volume["secret"]["secretName"] == "metrics-tls" and mount["name"] == volume["name"] and mount["readOnly"]
    assert f"--metrics-cert-dir={mount['mountPath']}" in container(objects)["args"]


@pytest.mark.parametrize("served, wanted", [(["v1beta1", "v1alpha1"], "v1beta1"), (["v1beta1", "v1"], "v1")])
def test_admission_policy(helm, served, wanted):
    """The newest version that the API server serves; test_admission_policy.py runs it."""
    group = "admissionregistration.k8s.io"
    versions = [word for one in served for word in ("--api-versions", f"{group}/{one}/MutatingAdmissionPolicy")]
    objects = render(helm, {"admissionPolicy": {"enabled": True}}, more=versions)
    policy, binding = (of_kind(objects, f"MutatingAdmissionPolicy{end}", "rayscaler-park") for end in ("", "Binding"))
    assert policy["apiVersion"] == binding["apiVersion"] == f"{group}/{wanted}"
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]


# -- equal copies ----------------------------------------------------------------------------------


def test_every_flag_is_a_value():
    """A new flag of `rayscaler run` is in the schema and in the comments of values.yaml, with its default."""
    rows = re.findall(r"^\| `(--[a-z-]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", _read("docs/OPTIONS.md"), re.M)
    config = _schema()["properties"]["config"]["properties"]
    lines = dict(re.findall(r"^  # ([a-zA-Z]+): +(\S+) +# .*$", _read("charts/rayscaler/values.yaml"), re.M))
    flags = {flag: default.strip() for flag, _, default, _ in rows if flag not in CHART_FLAGS | OTHER_FLAGS}
    assert CHART_FLAGS | OTHER_FLAGS <= {row[0] for row in rows}
    assert {_camel(flag) for flag in flags} == set(config) == set(lines)
    for flag, default in flags.items():
        assert lines[_camel(flag)] == (default or "[]"), flag


def test_schema_has_the_programs_bounds():
    """The program accepts each value that the schema accepts, and both refuse the next number."""
    for name, one in _schema()["properties"]["config"]["properties"].items():
        flag = "--" + re.sub(r"([A-Z])", lambda found: "-" + found.group(1).lower(), name)
        good = [one["minimum"], one["maximum"]] if "minimum" in one else [v for v in one.get("enum", []) if v]
        bad = [one["minimum"] - 1, one["maximum"] + 1] if "minimum" in one else ["x,"] if "enum" in one else []
        for value in good:
            assert "/no/such/file" in _run_says(f"{flag}={value}"), (flag, value)
        for value in bad:
            assert flag in _run_says(f"{flag}={value}"), (flag, value)


def test_schema_names_the_members_that_it_describes():
    def objects(part):
        if isinstance(part, dict):
            yield part
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
            yield from objects(inner)

    named = [one for one in objects(_schema()) if "enum" in one.get("propertyNames", {})]
    assert len(named) > 20
    assert not [one for one in named if set(one["propertyNames"]["enum"]) != set(one["properties"])]


def test_schema_has_every_member_of_a_device():
    """Each that the program reads."""
    (rows,) = re.findall(r"row_fields\[\] = \{(.*?)\n\};", _read("src/codec/objects/device_table_json.c"), re.S)
    members = re.findall(r'FIELD_[A-Z]+\(ROW, [^"]*"(\w+)"', rows)
    assert len(members) > 8
    assert set(members) == set(_schema()["properties"]["deviceTable"]["items"]["properties"])


def test_schema_and_values_list_the_same():
    """Each default has a place in the schema, and each place a default with a comment above it."""
    values = yaml.safe_load(_read("charts/rayscaler/values.yaml"))
    wanted = set(chart_docs.schema_paths(_schema())) - {("global",)}
    given = set(_value_paths(values))
    assert wanted <= given, f"no default: {wanted - given}"
    above = {path[:length] for path in wanted for length in range(len(path))}
    inside = {path for path in given if any(path[:length] in wanted for length in range(len(path)))}
    assert given <= wanted | above | inside, f"not in the schema: {given - wanted - above - inside}"
    comments = chart_docs.comments()
    assert not [".".join(path) for path in wanted if not comments[path]], "values without a comment"


def test_readme_has_every_value(helm):
    """And its meaning, as values.yaml has it; `helm show readme` prints it."""
    text = _read("charts/rayscaler/README.md")
    assert helm.run("show", "readme", chart.CHART).stdout.strip() == text.strip()
    assert text == chart_docs.with_table(text), "run make manifests"


def test_pools_are_read_where_a_value_says_so(helm):
    """By the controller of all namespaces, which writes their status alone; users of the cluster read them."""
    mine = {(verb, "rayscaler.dev", "gpupools") for verb in ("get", "list", "watch")}
    wanted = mine | {("patch", "rayscaler.dev", "gpupools/status"), ("list", "", "namespaces"), ("watch", "", "namespaces")}
    about = {"gpupools", "gpupools/status", "namespaces"}

    def rights(values):
        objects = render(helm, values)
        found = set()
        for obj in objects:
            if obj["kind"] in ("Role", "ClusterRole") and obj["metadata"]["name"] == "rayscaler":
                found |= {right for right in _rights(obj["rules"]) if right[2] in about}
        return found, of_kind(objects, "ClusterRole", "rayscaler-pools")

    found, users = rights({})
    assert found == wanted and _rights(users["rules"]) == mine
    assert users["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert rights({"gpuPools": False}) == (set(), None)
    assert rights({"watchNamespace": "team-a"})[0] == set()
    assert "gpuPools" in refused(helm, {"gpuPools": "yes"})


def test_claims_are_read_where_a_value_says_so(helm):
    def rights(values):
        roles = [obj for obj in render(helm, values) if obj["kind"] in ("Role", "ClusterRole") and obj["metadata"]["name"] == "rayscaler"]
        return {right for role in roles for right in _rights(role["rules"]) if right[1] == "resource.k8s.io"}

    namespaced = {(verb, "resource.k8s.io", plural) for verb in ("list", "watch") for plural in ("resourceclaims", "resourceclaimtemplates")}
    assert rights({"watchNamespace": "team-a"}) == namespaced
    assert rights({}) == namespaced | {(verb, "resource.k8s.io", plural) for verb in ("list", "watch") for plural in ("deviceclasses", "resourceslices", "devicetaintrules")}
    assert rights({"deviceClaims": False}) == set()
    assert "deviceClaims" in refused(helm, {"deviceClaims": "yes"})


def test_install_has_every_right(helm):
    rows = re.findall(r"^\| (`[a-z/`, ]+`) \| ([^|]+) \|", _read("docs/INSTALL.md"), re.M)
    documented = {(resource, verb) for names, verbs in rows for resource in re.findall(r"[a-z/]+", names) for verb in re.findall(r"\b(?:get|list|watch|create|patch|update|delete)\b", verbs)}
    granted = set()
    rights = {"idleTermination": {"allowDelete": True}, "config": {"inPlaceResize": True, "repairDrainRequests": True}, "kueue": {"readWorkloads": True}}
    objects = render(helm, {**rights, "rbac": {"readSecrets": {"all": True}}})
    for role in of_kind(objects, "ClusterRole"), of_kind(objects, "ClusterRole", "rayscaler-reviews"), of_kind(objects, "Role", "rayscaler-leader-election"):
        granted |= {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert documented == granted


def test_bench_has_the_charts_rights(helm):
    """The other tests run the program with manifests/controller-role.yaml and leader-role.yaml: the same rights."""
    objects = render(helm, {"rbac": {"readSecrets": {"all": True}}})
    for mine, file in (("ClusterRole", "controller-role"), ("Role", "leader-role")):
        name = "rayscaler" if mine == "ClusterRole" else "rayscaler-leader-election"
        (bench,) = [obj for obj in load_yaml(paths.MANIFESTS / f"{file}.yaml")]
        assert _rights(bench["rules"]) == _rights(of_kind(objects, mine, name)["rules"]), file


def _rights(rules):
    return {(v, g, r) for rule in rules for v in rule["verbs"] for g in rule["apiGroups"] for r in rule["resources"]}


def test_copies_are_equal(helm, work_dir):
    """charts/manifests, the chart's own definitions and its version are what they come from."""
    for own in paths.CRD_DIR.glob("*.rayscaler.dev.yaml"):
        assert (chart.CHART / "crds" / own.name).read_text() == own.read_text(), "run make manifests"
    script = paths.ROOT / "charts" / "make-manifests.sh"
    subprocess.run([str(script), str(helm.program), str(work_dir)], check=True, timeout=60)
    made = (work_dir / "install.yaml").read_text()
    assert (chart.MANIFESTS / "install.yaml").read_text() == made, "run make manifests"
    assert "helm" not in made.lower()
    version = re.search(r"^VERSION \?= (\S+)$", _read("Makefile"), re.M).group(1)
    assert yaml.safe_load(_read("charts/rayscaler/Chart.yaml"))["appVersion"] == version


def _read(name):
    return (paths.ROOT / name).read_text()


def _schema():
    return chart_docs.schema()


def _camel(flag):
    return re.sub(r"-([a-z])", lambda found: found.group(1).upper(), flag[2:])


def _run_says(flag):
    """With a kubeconfig that is not there: the program ends at the first thing that it refuses."""
    wide = ["--backoff-initial-seconds=1", "--backoff-max-seconds=86400", "--price-table=/no/such/file"]
    words = [str(paths.controller()), "run", "--kubeconfig=/no/such/file", *wide, flag]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode != 0
    return done.stdout + done.stderr


def _value_paths(values, path=()):
    for name, one in values.items():
        yield (*path, name)
        if isinstance(one, dict):
            yield from _value_paths(one, (*path, name))
