"""The GPUs of a Pod with ResourceClaims, as NVIDIA's driver shows them to a container of it.

Ray asks NVML for the number of GPUs and the name of the first one. In a container NVML sees the physical GPUs
whose devices its claims have: two MIG devices of one GPU are one. ``nvml.c`` answers in its place here.
"""

import subprocess
from pathlib import Path
from typing import Any, Dict, List

from .kubeclient import KubeClient

Object = Dict[str, Any]
DRIVER = "gpu.nvidia.com"
SOURCE = Path(__file__).parent / "nvml.c"


def claim_names(pod: Object) -> Dict[str, str]:
    """The ResourceClaims of the Pod by their names in its spec; those of templates are in its status."""
    names = {one["name"]: one.get("resourceClaimName", "") for one in pod["spec"].get("resourceClaims") or []}
    for made in (pod.get("status") or {}).get("resourceClaimStatuses") or []:
        names[made["name"]] = made.get("resourceClaimName", "")
    return names


def gpus(client: KubeClient, pod: Object, container: Object) -> List[str]:
    """The product names of the physical GPUs in the container."""
    found: Dict[str, str] = {}
    names = claim_names(pod)
    for wanted in (container.get("resources") or {}).get("claims") or []:
        claim = client.of("resourceclaims", pod["metadata"]["namespace"]).get(names[wanted["name"]])
        for result in claim["status"]["allocation"]["devices"]["results"]:
            # A device of a request with alternatives has "request/alternative".
            if result["driver"] == DRIVER and wanted.get("request") in (None, result["request"].split("/")[0]):
                attributes = _device(client, result)["attributes"]
                gpu = attributes.get("parentUUID") or attributes["uuid"]
                found[gpu["string"]] = attributes["productName"]["string"]
    return list(found.values())


def _device(client: KubeClient, result: Object) -> Object:
    for one in client.of("resourceslices").items():
        spec = one["spec"]
        if (spec["driver"], spec["pool"]["name"]) == (result["driver"], result["pool"]):
            for device in spec.get("devices") or []:
                if device["name"] == result["device"]:
                    return device
    raise ValueError(f"no ResourceSlice has the device {result['pool']}/{result['device']}")


def environment(names: List[str], directory: Path) -> Dict[str, str]:
    """With which NVML shows these GPUs; the library is made in ``directory`` once."""
    library = directory / "libnvidia-ml.so.1"
    if not library.exists():
        directory.mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)], check=True, timeout=60)
    name = names[0] if names else ""
    return {"LD_LIBRARY_PATH": str(directory), "RAYSCALER_BENCH_GPUS": str(len(names)), "RAYSCALER_BENCH_GPU_NAME": name}
