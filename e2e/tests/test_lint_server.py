"""`rayscaler lint --server` asks a real kube-apiserver by dry-run: what it refuses is a finding, and nothing is created."""

import json
import subprocess
from typing import Any, Dict, List

import pytest
import yaml

from rayscaler_e2e import paths, rayclusters, wrong_inputs
from rayscaler_e2e.apiserver import ADMIN_USER, NO_RIGHTS_USER
from rayscaler_e2e.wait import wait_until

Object = Dict[str, Any]
RULE = "server-refuses"


class Lint:
    def __init__(self, server, namespace, work_dir):
        self.server, self.namespace, self.work_dir = server, namespace, work_dir

    def run(self, *documents: Object, user: str = ADMIN_USER) -> subprocess.CompletedProcess:
        file = self.work_dir / "objects.yaml"
        file.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        config = self.server.write_kubeconfig(self.work_dir / f"{user}.kubeconfig", token=self.server.tokens[user])
        words = [paths.program(), "lint", "--server", "-n", self.namespace, "--kubeconfig", config, "-o", "json", "-f", file]
        return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60)

    def found(self, *documents: Object, user: str = ADMIN_USER) -> List[Object]:
        done = self.run(*documents, user=user)
        found = [one for one in json.loads(done.stdout) if one["rule"] == RULE]
        errors = [one for one in json.loads(done.stdout) if one["severity"] == "error"]
        assert done.returncode == (1 if errors else 0), done.stderr
        return found

    def create(self, resource: str, obj: Object) -> Object:
        return self.server.admin.of(resource, self.namespace).create(obj)

    def names(self, resource: str) -> List[str]:
        return [one["metadata"]["name"] for one in self.server.admin.of(resource, self.namespace).list()["items"]]


@pytest.fixture
def lint(api_server, namespace, work_dir):
    return Lint(api_server, namespace, work_dir)


def small(name: str = "demo", **spec: Any) -> Object:
    options = {"version": "v2", "command": ["sleep"], "args": ["infinity"], "resources": {"limits": {"cpu": "50m", "memory": "16Mi"}}}
    group = rayclusters.group("gpu", {"cpu": "4", "memory": "8Gi"}, maxReplicas=4)
    return rayclusters.minimal(name, group, **{"autoscalerOptions": options, **spec})


def test_nothing_is_created(lint):
    generated = {**small(), "metadata": {"generateName": "train-"}}
    settings = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo"}, "spec": {"maxGPUs": 1}}
    assert lint.found(small(), settings, generated) == []
    assert lint.names("rayclusters") == lint.names("pods") == []


def test_a_quota_refuses_the_pods_of_a_group(lint):
    hard = {"limits.cpu": "3", "limits.memory": "100Gi"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}, "spec": {"hard": hard}}
    lint.create("resourcequotas", quota)
    used = {name: "0" for name in hard}
    lint.server.admin.request(
        "PATCH",
        f"/api/v1/namespaces/{lint.namespace}/resourcequotas/team/status",
        {"status": {"hard": hard, "used": used}},
        content_type="application/merge-patch+json",
    )
    wait_until(lambda: lint.found(small()) != [], 30, "the quota to count")
    (one,) = lint.found(small())
    assert one["severity"] == "error" and one["path"] == "spec.workerGroupSpecs[0]" and one["line"] > 20, one
    assert one["message"].startswith("the API server refuses a Pod of group gpu: "), one
    assert "exceeded quota: team, requested: limits.cpu=4, used: limits.cpu=0, limited: limits.cpu=3" in one["message"]
    assert "grant" not in one["message"]


def test_pod_security_refuses_what_kuberay_adds(lint):
    """The containers of the template are restricted as the standard asks, that of the autoscaler is not."""
    lint.server.admin.request(
        "PATCH",
        f"/api/v1/namespaces/{lint.namespace}",
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        content_type="application/merge-patch+json",
    )
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    cluster = small()
    for part in (cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"][0]):
        part["template"]["spec"]["containers"][0]["securityContext"] = restricted
    wait_until(lambda: lint.found(cluster) != [], 30, "the label to count")
    (one,) = lint.found(cluster)
    assert one["path"] == "spec.headGroupSpec" and 'container "autoscaler" must set' in one["message"], one
    cluster["spec"]["autoscalerOptions"]["securityContext"] = restricted
    assert lint.found(cluster) == []


def test_a_policy_answers_with_its_own_words(lint):
    name = f"registry-{lint.namespace}"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": lint.namespace}},
            },
            "validations": [
                {"expression": "object.spec.containers.all(c, c.image.startsWith('registry.example/'))", "message": "use our registry"}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    path = "/apis/admissionregistration.k8s.io/v1/"
    lint.server.admin.request("POST", f"{path}validatingadmissionpolicies", policy)
    lint.server.admin.request("POST", f"{path}validatingadmissionpolicybindings", binding)
    try:
        wait_until(lambda: len(lint.found(small())) == 2, 60, "the policy to take effect")
        assert all("use our registry" in one["message"] for one in lint.found(small()))
    finally:
        lint.server.admin.request("DELETE", f"{path}validatingadmissionpolicybindings/{name}")
        lint.server.admin.request("DELETE", f"{path}validatingadmissionpolicies/{name}")


def test_the_object_is_asked_about_also_if_it_exists(lint):
    cluster = small()
    lint.create("rayclusters", small())
    assert lint.found(cluster) == []
    cluster["spec"]["workerGroupSpecs"][0]["minReplicas"] = "two"
    (one,) = lint.found(cluster)
    assert one["path"] == "" and "the API server refuses the RayCluster: " in one["message"] and "minReplicas" in one["message"], one
    cluster["metadata"]["name"] = "other"
    assert "minReplicas" in lint.found(cluster)[0]["message"]
    (kept,) = lint.server.admin.of("rayclusters", lint.namespace).list()["items"]
    assert "minReplicas" not in kept["spec"]["workerGroupSpecs"][0] or kept["spec"]["workerGroupSpecs"][0]["minReplicas"] == 0


def test_a_pod_that_is_not_valid_is_refused_in_the_words_of_the_server(lint):
    cluster = small()
    cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["dnsPolicy"] = "Nearby"
    (one,) = lint.found(cluster)
    assert "spec.dnsPolicy" in one["message"] and one["path"] == "spec.workerGroupSpecs[0]", one


def test_a_user_without_rights_reads_what_to_grant(lint):
    found = lint.found(small(), user=NO_RIGHTS_USER)
    assert [one["severity"] for one in found] == ["warning"] * 3, found
    assert all("could not be asked about" in one["message"] and "fix: grant {apiGroups" in one["message"] for one in found)


def test_a_server_that_does_not_answer_is_an_error(lint):
    file = lint.work_dir / "c.yaml"
    file.write_text(yaml.safe_dump(small()))
    config = lint.server.write_kubeconfig(lint.work_dir / "gone.kubeconfig", token=lint.server.tokens[ADMIN_USER])
    config.write_text(config.read_text().replace(lint.server.url, "https://127.0.0.1:1"))
    words = [paths.program(), "lint", "--server", "--kubeconfig", config, "-f", file]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "check that the API server of" in done.stderr, done.stderr


REFUSED = [row for row in wrong_inputs.rows("manifests") if row.get("server")]


@pytest.mark.parametrize("row", REFUSED, ids=wrong_inputs.name)
def test_the_server_refuses_the_wrong_inputs_that_lint_refuses(lint, row):
    """So the rules without a server are those of one."""
    assert [one for one in lint.found(wrong_inputs.changed(row)) if one["severity"] == "error"], row


def test_a_template_in_another_namespace_is_asked_in_that_of_the_raycluster(lint):
    """As KubeRay makes its Pods."""
    elsewhere = small()
    elsewhere["spec"]["workerGroupSpecs"][0]["template"]["metadata"] = {"name": "mine", "namespace": "other"}
    assert lint.found(elsewhere) == []


def test_shared_memory_of_the_template_is_mounted_once(lint):
    """KubeRay adds none beside a mount at /dev/shm, whatever its volume is named."""
    own = small()
    pod = own["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    pod["volumes"] = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    pod["containers"][0]["volumeMounts"] = [{"name": "dshm", "mountPath": "/dev/shm"}]
    assert lint.found(own) == []


def test_a_kind_without_a_definition_names_the_one_to_install(lint):
    """The bench has no RayCronJobs: the answer of a real server to their address."""
    job = wrong_inputs.changed({"of": "RayCronJob", "set": {}})
    [one] = [one for one in lint.found(job) if "does not know" in one["message"]]
    assert one["message"].startswith("the API server does not know the kind of the RayCronJob: install"), one
