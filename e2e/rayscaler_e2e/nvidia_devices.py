"""DeviceClasses, and ResourceSlices of one Node, in the form of NVIDIA's driver v0.4.1 (kubernetes-sigs/dra-driver-nvidia-gpu).

On Kubernetes 1.34 it publishes one slice for all GPUs of a Node, or, where GPUs can be partitioned, one slice for
each GPU with its counters; and one slice for the channel and the daemon of compute domains.
"""

from typing import Any, Dict, List, NamedTuple, Tuple

Object = Dict[str, Any]
API = "resource.k8s.io/v1"
GPU, COMPUTE_DOMAIN = "gpu.nvidia.com", "compute-domain.nvidia.com"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
CLIQUE_LABEL = "nvidia.com/gpu.clique"
MIG_SLICES = 8


class Product(NamedTuple):
    name: str
    architecture: str
    compute: str
    memory: str


H100 = Product("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi")
A100 = Product("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40960Mi")
# Of a whole H100, then of its MIG profiles: id, where an instance can begin, size in memory slices, capacity.
ENGINES = ("multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
WHOLE = dict(zip(ENGINES, (132, 8, 7, 0, 7, 1)))
PROFILES: Dict[str, Tuple[int, Tuple[int, ...], int, Tuple[int, ...], str]] = {
    "1g.10gb": (19, tuple(range(7)), 1, (16, 1, 1, 0, 1, 0), "9856Mi"),
    "3g.40gb": (9, (0, 4), 4, (60, 3, 3, 0, 3, 0), "40448Mi"),
}


def classes() -> List[Object]:
    """Those of the driver's chart."""
    gpu, domain = f"device.attributes['{GPU}']", f"device.attributes['{COMPUTE_DOMAIN}']"
    return [
        _class(GPU, GPU, f"{gpu}.type == 'gpu'", extendedResourceName="nvidia.com/gpu"),
        _class("mig.nvidia.com", GPU, f"{gpu}.type == 'mig'"),
        _class("vfio.gpu.nvidia.com", GPU, f"{gpu}.type == 'vfio'"),
        _class("compute-domain-daemon.nvidia.com", COMPUTE_DOMAIN, f"{domain}.type == 'daemon'"),
        _class(CHANNEL_CLASS, COMPUTE_DOMAIN, f"{domain}.type == 'channel' && {domain}.id == 0"),
    ]


def _class(name: str, driver: str, rest: str, **spec: Any) -> Object:
    selector = {"cel": {"expression": f"device.driver == '{driver}' && {rest}"}}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [selector], **spec}}


def slices(node: str, gpus: int, product: Product = H100, mig: bool = False, generation: int = 1) -> List[Object]:
    """Those of the GPUs of a Node. ``mig``: they are made into MIG devices as claims want it."""
    whole = [_whole(node, number, product, WHOLE if mig else {}) for number in range(gpus)]
    if not mig:
        return [_slice(node, GPU, 0, 1, generation, devices=whole)]
    found = []
    for number, gpu in enumerate(whole):
        counters = _counters(gpu["capacity"], range(MIG_SLICES))
        name = f"gpu-{number}-counter-set"
        gpu["consumesCounters"] = [{"counterSet": name, "counters": counters}]
        sets = [{"name": name, "counters": counters}]
        devices = sorted([gpu, *_partitions(gpu, name)], key=lambda device: device["name"])
        found.append(_slice(node, GPU, number, gpus, generation, devices=devices, sharedCounters=sets))
    return found


def domain_slice(node: str) -> Object:
    devices = [{"name": f"{kind}-0", "attributes": _attributes(type=kind, id=0)} for kind in ("channel", "daemon")]
    return _slice(node, COMPUTE_DOMAIN, 0, 1, 1, devices=devices)


def _slice(node: str, driver: str, number: int, count: int, generation: int, **spec: Any) -> Object:
    pool = {"name": node, "generation": generation, "resourceSliceCount": count}
    metadata = {"name": f"{node}-{driver}-{number}"}
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": metadata,
        "spec": {"driver": driver, "nodeName": node, "pool": pool, **spec},
    }


def _whole(node: str, number: int, product: Product, engines: Dict[str, int]) -> Object:
    attributes = _attributes(type="gpu", uuid=f"GPU-{node}-{number}", **_common(product))
    attributes.update(_place(number))
    capacity = {**_amounts(engines), "memory": {"value": product.memory}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": capacity}


def _common(product: Product) -> Object:
    versions = {"cudaComputeCapability": product.compute, "driverVersion": "580.95.5", "cudaDriverVersion": "13.0.0"}
    words = {"productName": product.name, "brand": "Nvidia", "architecture": product.architecture, "addressingMode": "HMM"}
    return {**words, **{name: {"version": value} for name, value in versions.items()}}


def _place(number: int) -> Object:
    bus, root = f"0000:{number + 1:02x}:00.0", f"pci0000:{number + 1:02x}"
    return {"resource.kubernetes.io/pciBusID": {"string": bus}, "resource.kubernetes.io/pcieRoot": {"string": root}}


def _attributes(**values: Any) -> Object:
    def typed(value: Any) -> Object:
        return value if isinstance(value, dict) else {"int": value} if isinstance(value, int) else {"string": value}

    return {name: typed(value) for name, value in values.items()}


def _partitions(gpu: Object, counter_set: str) -> List[Object]:
    """Every MIG device that could be made of the GPU."""
    found = []
    for profile, (number, starts, size, engines, memory) in PROFILES.items():
        capacity = {**_amounts(dict(zip(ENGINES, engines))), "memory": {"value": memory}}
        attributes = {**gpu["attributes"], **_attributes(type="mig", profile=profile)}
        attributes["parentUUID"] = attributes.pop("uuid")
        for start in starts:
            name = f"{gpu['name']}-mig-{profile.replace('.', '')}-{number}-{start}"
            consumed = [{"counterSet": counter_set, "counters": _counters(capacity, range(start, start + size))}]
            found.append({"name": name, "attributes": attributes, "capacity": capacity, "consumesCounters": consumed})
    return found


def _amounts(engines: Dict[str, int]) -> Object:
    return {name: {"value": str(amount)} for name, amount in engines.items()}


def _counters(capacity: Object, memory_slices: range) -> Object:
    """A counter for each capacity, with hyphens in its name, and for each memory slice."""
    found = {}
    for name, value in capacity.items():
        words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
        found[words] = dict(value)
    found.update({f"memory-slice-{number}": {"value": "1"} for number in memory_slices})
    return found
