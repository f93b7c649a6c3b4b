"""Schedulers of others that count the Pods of a queue, from checkouts: their CRDs, and the programs in their ``bin``. Each has
a queue ``research``: ``quota`` sets its GPUs, ``join`` puts a RayCluster into it."""

from pathlib import Path
from typing import Any, Dict, List

from .apiserver import ADMIN_USER, ApiServer, load_yaml
from .kubeclient import ApiError
from .ports import free_port
from .processes import Process
from .ray_manifests import PARK_RESOURCES
from .wait import wait_until

Object = Dict[str, Any]
QUEUE = "research"
MANY: Object = {"cpu": 100, "memory": "100Gi"}


def templates(cluster: Object) -> List[Object]:
    spec = cluster["spec"]
    return [group["template"] for group in [spec["headGroupSpec"], *spec["workerGroupSpecs"]]]


class QueueScheduler:
    name = ""
    crds = ""
    """Where their files are in the checkout."""

    def __init__(self, server: ApiServer, checkout: Path, work_dir: Path):
        self.server, self.checkout = server, checkout
        for file in sorted((checkout / self.crds).glob("*.yaml")):
            server.install_crd(file)
        self.quota(0)
        self.kubeconfig = server.write_kubeconfig(work_dir / "kubeconfig", token=server.tokens[ADMIN_USER])
        env = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(work_dir), "PATH": "/usr/bin:/bin"}
        self.processes = [
            Process(f"{self.name} {program}", [str(checkout / "bin" / program), *flags], work_dir / f"{program}.log", env)
            for program, flags in self.programs().items()
        ]

    def programs(self) -> Dict[str, List[str]]:
        raise NotImplementedError

    def quota(self, gpus: int) -> None:
        raise NotImplementedError

    def join(self, cluster: Object) -> None:
        """Also what KubeRay does with its option for this scheduler."""
        for template in templates(cluster):
            template["spec"]["schedulerName"] = self.name
            for key in ("labels", "annotations"):
                template.setdefault("metadata", {}).setdefault(key, {})

    def close(self) -> None:
        for process in self.processes:
            process.check_running()
            process.stop()


class Volcano(QueueScheduler):
    name = "volcano"
    crds = "installer/helm/chart/volcano/crd/bases"
    gate = "scheduling.volcano.sh/queue-allocation-gate"
    api = "scheduling.volcano.sh/v1beta1"

    def programs(self) -> Dict[str, List[str]]:
        config = self.checkout / "installer/helm/chart/volcano/config/volcano-scheduler.conf"
        scheduler = [f"--scheduler-conf={config}", "--feature-gates=SchedulingGatesQueueAdmission=true", "--cache-dumper=false"]
        own = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false"]
        return {"scheduler": [*own, *scheduler], "controller-manager": [*own, "--controllers=queue-controller"]}

    def quota(self, gpus: int) -> None:
        spec = {"weight": 1, "capability": {**MANY, "nvidia.com/gpu": gpus}}
        self.server.apply({"apiVersion": self.api, "kind": "Queue", "metadata": {"name": QUEUE}, "spec": spec})

    def join(self, cluster: Object) -> None:
        """KubeRay's PodGroup counts the head and ``minReplicas``."""
        super().join(cluster)
        group = {"name": f"ray-{cluster['metadata']['name']}-pg", "namespace": cluster["metadata"]["namespace"]}
        least = sum(each["minReplicas"] for each in cluster["spec"]["workerGroupSpecs"])
        spec = {"minMember": 1 + least, "queue": QUEUE}
        self.server.apply({"apiVersion": self.api, "kind": "PodGroup", "metadata": group, "spec": spec})
        for template in templates(cluster):
            template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = group["name"]
            template["metadata"]["labels"]["volcano.sh/queue-name"] = QUEUE


class GatedVolcano(Volcano):
    """Its webhook adds the gate to Pods with the annotation."""

    def join(self, cluster: Object) -> None:
        super().join(cluster)
        for template in templates(cluster)[1:]:
            template["metadata"]["annotations"][self.gate] = "true"
            template["spec"]["schedulingGates"] = [{"name": self.gate}]


class Kai(QueueScheduler):
    """``limit``: the queue's limit is what is reached, else its quota, which binds Pods that are not preemptible."""

    name = "kai-scheduler"
    crds = "deployments/kai-scheduler/crds"
    preemptibility = "preemptible"

    def programs(self) -> Dict[str, List[str]]:
        quiet = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
        own = ["--default-staleness-grace-period=20s"]  # of 60 s
        own += [f"--listen-address=127.0.0.1:{free_port()}", f"--plugin-server-port={free_port()}"]
        return {"scheduler": own, "binder": quiet, "podgrouper": [*quiet, "--generic-karta-fallback=false"]}

    def _queue(self, name: str, quota: int, limit: int, **spec: Any) -> None:
        amounts = {each: {"quota": -1, "limit": -1, "overQuotaWeight": 1} for each in ("cpu", "memory")}
        amounts["gpu"] = {"quota": quota, "limit": limit, "overQuotaWeight": 1}
        made = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}}
        self.server.apply({**made, "spec": {**spec, "resources": amounts}})

    def quota(self, gpus: int) -> None:
        self._queue("all", -1, -1)
        self._queue(QUEUE, gpus, gpus, parentQueue="all")

    def join(self, cluster: Object) -> None:
        super().join(cluster)
        for template in templates(cluster):
            labels = {"kai.scheduler/queue": QUEUE, "kai.scheduler/preemptibility": self.preemptibility}
            template["metadata"]["labels"].update(labels)
        cluster["metadata"]["annotations"]["kai.scheduler/staleness-grace-period"] = "-1s"


class FixedKai(Kai):
    """Pods that are not preemptible are within the quota, which has no limit above it."""

    preemptibility = "non-preemptible"

    def quota(self, gpus: int) -> None:
        self._queue("all", -1, -1)
        self._queue(QUEUE, gpus, -1, parentQueue="all")
