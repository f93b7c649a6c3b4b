"""What a tenant can put before the program: each watched kind, each annotation and label that it reads and each page
of its HTTP server, with the attacks of ``kinds`` that use it. src/test/lint/hostile.py compares the names with the source,
so that a new kind, annotation, label or page needs a row here.

A row is a list of names of attacks, or a text: why no tenant has a way to it."""

from typing import Dict, List, Union

Row = Union[List[str], str]
ADMINISTRATORS = "written by administrators"

KINDS: Dict[str, Row] = {
    "RayCluster": ["RayCluster-large", "RayCluster-many", "RayCluster-fast", "groups-1k"],
    "Pod": ["Pod-large", "Pod-many", "Pod-fast", "pods-unregistered"],
    "Event": ["Event-large", "Event-many", "Event-fast"],
    "RayClusterAutoscaler": ["RayClusterAutoscaler-large", "RayClusterAutoscaler-many", "RayClusterAutoscaler-fast"],
    "ResourceClaim": ["ResourceClaim-large", "ResourceClaim-many", "ResourceClaim-fast"],
    "ResourceClaimTemplate": ["ResourceClaimTemplate-large", "ResourceClaimTemplate-many", "ResourceClaimTemplate-fast", "claim-texts", "claim-groups"],
    "ResourceSlice": ["dra-slices", "dra-counters"],
    "DeviceClass": ADMINISTRATORS,
    "DeviceTaintRule": ADMINISTRATORS,
    "GPUPool": ADMINISTRATORS,
    "DrainRequest": ADMINISTRATORS,
    "Namespace": ADMINISTRATORS,
    "Workload": "Kueue makes one of a RayCluster, which RayCluster-large and RayCluster-many have; the watch keeps its names,"
    " and a thread decodes a page of them",
    "Node": ADMINISTRATORS,
}

PART = "one number of a Pod, as a limit of its container, which Pod-many has"

ANNOTATIONS: Dict[str, Row] = {
    "rayscaler.dev/request-resources": ["request-resources"],
    "ray.io/ippr": ["resize-limits"],
    "ray.io/ippr-status": ["resize-status"],
    "scheduler.framework.gpushare.allocation": ["gpushare"],
    "ALIYUN_COM_GPU_MEM_IDX": ["gpushare"],
    "rayscaler.dev/managed": ["long-annotations"],
    "rayscaler.dev/do-not-disrupt": ["long-annotations"],
    "rayscaler.dev/suspended-by-idle-termination": ["long-annotations"],
    "rayscaler.dev/protected": ["long-annotations"],
    "karpenter.sh/do-not-disrupt": ["long-annotations"],
    "cluster-autoscaler.kubernetes.io/safe-to-evict": ["long-annotations"],
    "kueue.x-k8s.io/elastic-job": ["long-annotations"],
    "gpu-fraction": PART,
    "gpu-memory": PART,
    "gpu-fraction-num-devices": PART,
    "ray.io/ft-enabled": "read by `rayscaler adopt` alone",
    "scheduler.alpha.kubernetes.io/affinity": "read by `rayscaler lint` alone",
}

LABELS: Dict[str, Row] = {
    "ray.io/cluster": ["Pod-many", "forged-pods"],
    "ray.io/node-type": ["Pod-many", "forged-pods"],
    "ray.io/group": ["Pod-many"],
    "ray.io/worker-group-replica-name": ["Pod-many"],
    "ray.io/replica-host-index": ["Pod-many"],
    "ray.io/worker-group-replica-index": ["Pod-many"],
    "ray.io/node-group": ["RayCluster-many"],
    "ray.io/originated-from-crd": ["RayCluster-many"],
    "ray.io/accelerator-type": ["RayCluster-many"],
    "ray.io/node-id": "of a request in the reply of a GCS: text of a message, compared with the ids of the same reply",
    "kueue.x-k8s.io/queue-name": ["RayCluster-many"],
    "kai.scheduler/queue": "whether it is there: lint alone",
    "kueue.x-k8s.io/job-uid": "of a Workload, which Kueue writes",
    "nvidia.com/gpu.clique": ["topology-pinned"],
    "kubernetes.io/metadata.name": ADMINISTRATORS,
    "ray.io/tpu-slice-name": ADMINISTRATORS,
    "gpushare": ADMINISTRATORS,
    "nvidia.com/gpu.memory": ADMINISTRATORS,
    "nvidia.com/gpu.product": "read by `rayscaler lint` alone",
    "alpha.kubernetes.io/nvidia-gpu-name": "read by `rayscaler lint` alone",
}

PAGES: Dict[str, Row] = {
    "status": ["unread-status", "unread-cluster"],
    "snapshot": ["unread-snapshot"],
    "metrics": ["unread-metrics"],
    "healthz": ["unread-healthz"],
    "readyz": ["unread-healthz"],
    "gpu-holders": ["unread-gpu-holders"],
    "work": ["unread-work"],
}
