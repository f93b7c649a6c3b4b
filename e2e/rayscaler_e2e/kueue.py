"""Kueue itself, for RayClusters as elastic jobs: its CRDs, its webhooks and its manager, from a checkout.

The manager makes its own certificates. The API server finds it as in a cluster, by a Service, which names 127.0.0.1.
"""

import base64
import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import yaml

from .apiserver import ADMIN_USER, ApiServer, load_yaml
from .kubeclient import ApiError
from .ports import free_port
from .processes import Process
from .wait import wait_until

Object = Dict[str, Any]
NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"
GROUPS = ("ray.io", "kueue.x-k8s.io")
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


class Kueue:
    """One ClusterQueue for all namespaces; ``quota`` changes what it has."""

    def __init__(self, server: ApiServer, checkout: Path, work_dir: Path):
        self._server, self._work_dir = server, work_dir
        self._components = checkout / "config" / "components"
        self._port = free_port()
        self._webhooks: List[Object] = []
        work_dir.mkdir(parents=True, exist_ok=True)
        self._install()
        words = [str(checkout / "bin" / "manager"), f"--config={self._config()}"]
        words += ["--feature-gates=VisibilityOnDemand=false,ElasticJobsViaWorkloadSlicesWithTAS=true", "--zap-log-level=2"]
        kubeconfig = server.write_kubeconfig(work_dir / "kubeconfig", token=server.tokens[ADMIN_USER])
        env = {"KUBECONFIG": str(kubeconfig), "PATH": "/usr/bin:/bin"}
        self.process = Process("kueue", words, work_dir / "kueue.log", env)
        self._mount_certificate()
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}}
        wait_until(lambda: self._made(flavor), 60, "the webhooks of Kueue")

    def _made(self, obj: Object) -> bool:
        self.process.check_running()
        try:
            self._server.apply(obj)
            return True
        except ApiError as error:
            if error.status != 500:  # its webhook does not answer yet
                raise
            return False

    def _service(self, path: str) -> Object:
        return {"service": {"name": SERVICE, "namespace": NAMESPACE, "port": self._port, "path": path}}

    def _install(self) -> None:
        self._server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        metadata = {"name": SERVICE, "namespace": NAMESPACE}
        spec = {"type": "ExternalName", "externalName": "127.0.0.1"}
        self._server.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        metadata = {"name": SECRET, "namespace": NAMESPACE}
        self._server.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        for file in sorted((self._components / "crd" / "bases").glob("*.yaml")):
            for crd in load_yaml(file):
                if len(crd["spec"]["versions"]) > 1:
                    webhook = {"clientConfig": self._service("/convert"), "conversionReviewVersions": ["v1"]}
                    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
                self._server.apply(crd)
        for made in load_yaml(self._components / "webhook" / "manifests.yaml"):
            made["metadata"]["name"] = f"kueue-{made['metadata']['name']}"
            made["webhooks"] = [one for one in made["webhooks"] if one["rules"][0]["apiGroups"][0] in GROUPS]
            for one in made["webhooks"]:
                one["clientConfig"] = self._service(one["clientConfig"]["service"]["path"])
            self._webhooks.append(made)
            self._server.apply(made)

    def _config(self) -> Path:
        file = self._work_dir / "config.yaml"
        body = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {"host": "127.0.0.1", "port": self._port, "certDir": str(self._work_dir / "certificates")},
            "leaderElection": {"leaderElect": False},
            "integrations": {"frameworks": ["ray.io/raycluster"]},
        }
        file.write_text(yaml.safe_dump(body))
        return file

    def _mount_certificate(self) -> None:
        """As the kubelet does it for the Pod of Kueue."""
        secrets = self._server.admin.of("secrets", NAMESPACE)

        def made() -> Dict[str, str]:
            self.process.check_running()
            return secrets.get(SECRET).get("data") or {}

        directory = self._work_dir / "certificates"
        directory.mkdir(exist_ok=True)
        for name, value in wait_until(made, 60, "the certificate of Kueue").items():
            (directory / name).write_bytes(base64.b64decode(value))

    def topology(self, label: str) -> str:
        """A flavor of the Nodes with this label, of which Kueue chooses one for each Pod."""
        api, metadata = {"apiVersion": "kueue.x-k8s.io/v1beta2"}, {"name": label.replace("/", "-")}
        levels = [{"nodeLabel": "kubernetes.io/hostname"}]
        self._server.apply({**api, "kind": "Topology", "metadata": metadata, "spec": {"levels": levels}})
        spec = {"nodeLabels": {label: "true"}, "topologyName": metadata["name"]}
        self._server.apply({**api, "kind": "ResourceFlavor", "metadata": metadata, "spec": spec})
        return metadata["name"]

    def quota(self, flavor: str = "any", **resources: Any) -> None:
        """Nominal quotas; "gpu" is nvidia.com/gpu. Higher priorities preempt lower ones."""
        amounts = {"cpu": 100, "memory": "100Gi", **resources}
        listed = [
            {"name": "nvidia.com/gpu" if name == "gpu" else name, "nominalQuota": amount} for name, amount in amounts.items()
        ]
        covered = [one["name"] for one in listed]
        flavors = [{"name": flavor, "resources": listed}]
        spec: Object = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": covered, "flavors": flavors}]}
        spec["preemption"] = {"withinClusterQueue": "LowerPriority"}
        self._server.apply(
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "all"}, "spec": spec}
        )

    def local_queue(self, namespace: str) -> str:
        metadata = {"name": "research", "namespace": namespace}
        made = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": metadata}
        self._server.apply({**made, "spec": {"clusterQueue": "all"}})
        return metadata["name"]

    def let_read(self, namespace: str, account: str) -> None:
        """As the chart's kueue.readWorkloads."""
        rbac, metadata = "rbac.authorization.k8s.io", {"name": "read-workloads", "namespace": namespace}
        rules = [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]}]
        self._server.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
        binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
        role = {"apiGroup": rbac, "kind": "Role", "name": metadata["name"]}
        self._server.apply({**binding, "roleRef": role, "subjects": [subject]})

    def preempt(self, namespace: str, gpus: int) -> Callable[[], None]:
        """A Workload of high priority takes GPUs; the answer ends it."""
        api = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
        priority = {**api, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 1000}
        self._server.apply(priority)
        limits = {"nvidia.com/gpu": str(gpus)}
        container = {"name": "main", "image": "main", "resources": {"requests": limits, "limits": limits}}
        pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
        ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
        spec = {"queueName": "research", "priorityClassRef": ref, "priority": 1000, "podSets": [pods]}
        metadata = {"name": "urgent", "namespace": namespace}
        self._server.apply({**api, "kind": "Workload", "metadata": metadata, "spec": spec})

        def end() -> None:
            self._server.admin.of("workloads", namespace).delete("urgent")
            self._server.admin.for_object(priority).delete("high")

        return end

    def workloads(self, namespace: str) -> List[Object]:
        """Those that have not finished."""
        made = self._server.admin.of("workloads", namespace).items()
        return [one for one in made if not _is(one, "Finished")]

    def admitted(self, namespace: str) -> Dict[str, int]:
        """Pods of each PodSet."""
        found = [one for one in self.workloads(namespace) if _is(one, "Admitted")]
        return {pods["name"]: pods["count"] for one in found for pods in one["spec"]["podSets"]}

    def waiting(self, namespace: str) -> List[str]:
        """What the Workloads say that wait for quota."""
        return [json.dumps(one.get("status", {}).get("conditions", [])) for one in self._without_quota(namespace)]

    def names_waiting(self, namespace: str) -> List[str]:
        return sorted(one["metadata"]["name"] for one in self._without_quota(namespace))

    def _without_quota(self, namespace: str) -> List[Object]:
        return [one for one in self.workloads(namespace) if not _is(one, "QuotaReserved")]

    def close(self) -> None:
        for made in self._webhooks:
            self._server.admin.for_object(made).delete(made["metadata"]["name"], missing_ok=True)
        self.process.stop()


def _is(workload: Object, condition: str) -> bool:
    found = workload.get("status", {}).get("conditions", [])
    return any(one["type"] == condition and one["status"] == "True" for one in found)
