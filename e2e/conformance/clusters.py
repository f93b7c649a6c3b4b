"""Random RayClusters for the comparison of group capacities, good and odd ones.

Clusters that the API server would refuse are made as well where Ray's code accepts them: rayscaler
reads RayClusters from snapshots too.
"""

import random
import re

CPUS = ["1", "2", "4", "8", "500m", "1500m", "0", "0.5", "2.5", "1e3", "1E1", "2k", "100u", 4, 1.5]
MEMORY = ["1Gi", "16Gi", "0.5Gi", "512Mi", "2G", "1e9", "1000000000", "123456789m", "1.5e9"]
MEMORY += [2147483648]
COUNTS = ["1", "2", "8", "0", "500m", "4", "1e0", 1]
ODD = ["", "abc", "1ki", "-1", "+2", "1_000", " 2", "2 ", "NaN", "Infinity", "1e", "5.", ".5"]
ODD += ["12E", "16Ei", "2K", "1.2.3", "0x10", "1e400", "Ki", "1Kii", "--1", "1e+2", "1e-3", "007"]
GPU_KEYS = ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "example.com/xgpu"]
GPU_KEYS += ["nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.20gb", "nvidia.com/mig-1g.5gb.me"]
GPU_KEYS += ["nvidia.com/GPU", "example.com/gpu-memory", "nvidia.com/gpu.shared"]
NEURON, TPU = "aws.amazon.com/neuroncore", "google.com/tpu"
TOPOLOGY, ACCELERATOR = "cloud.google.com/gke-tpu-topology", "cloud.google.com/gke-tpu-accelerator"
TOPOLOGIES = ["2x2", "2x2x1", "2x2x2", "4x4", "2x4", "16x16", "8", "2X2", ""]
TOPOLOGIES += ["2x", "axb", "0x2", " 2x2"]
TPU_KINDS = ["tpu-v4-podslice", "tpu-v5-lite-device", "tpu-v5-lite-podslice", "tpu-v5p-slice"]
TPU_KINDS += ["tpu-v6e-slice", "tpu7x", "tpu-v9-slice", ""]
CUSTOM = [
    {"Custom": 1},
    {"Custom": 2, "disk": 5},
    {"TPU": 4},
    {"neuron_cores": 2},
    {"CPU": 3},
    {"memory": 1000},
    {"accelerator_type:A100": 1, "GPU": 2},
]
CUSTOM_TEXTS = [
    "'{}'",
    "'{\"a\": 0.5}'",
    "'{\"a\": 0.00004, \"b\": 1.00005}'",
    "'{\"a\": 2.0}'",
    "'{\"a\": true}'",
    "'{\"a\": -1}'",
    "'{\"a\": 1e2}'",
    "'{\"a\": 01}'",
    "'{\"a\": 1,}'",
    "'{\"a\": \"1\"}'",
    "'{\"a\": 1, \"a\": 2}'",
    "'{\"a\" : 1 , \"b\":2 }'",
    "'{\"\": 1}'",
    "'{\"a\": 99999999999999999999}'",
    "'{\"a\": null}'",
    "'[1]'",
    "'{\"a\": 1}",
    "{\"a\": 1}",
    "",
    "'{\"a\": {\"b\": 1}}'",
    "'  {\"a\": 3}  '",
    "'{\"a\": 1} x'",
    "'{\"a\tb\": 1}'",
]
LABELS = [
    {"zone": "a"},
    {"ray.io/market-type": "spot", "team": "x_y.z-1"},
    {"a": ""},
    {"UPPER": "Case"},
    {"0": "9"},
]
BAD_LABELS = [
    {"-zone": "a"},
    {"zone": "a b"},
    {"": "x"},
    {"a/b/c": "x"},
    {"prefix-/a": "x"},
    {"a": "x" * 64},
    {"k" * 64: "x"},
    {"a": "é"},
    {"/a": "x"},
    {"a": "-x"},
]
GROUP_KEYS = ["CPU", "cpu", "GPU", "gpu", "nvidia.com/gpu", "memory", "Memory", "TPU", "Custom"]
GROUP_KEYS += ["disk", "nvidia.com/mig-1g.5gb", "neuron_cores"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.odd = self.random.random() < 0.35

    def chance(self, share):
        return self.random.random() < share

    def one(self, values):
        return self.random.choice(values)

    def quantity(self, values):
        return self.one(ODD) if self.odd and self.chance(0.12) else self.one(values)

    def container(self):
        resources = {}
        for part, share in (("limits", 0.85), ("requests", 0.4)):
            if not self.chance(share):
                continue
            amounts = {}
            if self.chance(0.85):
                amounts["cpu"] = self.quantity(CPUS)
            if self.chance(0.7):
                amounts["memory"] = self.quantity(MEMORY)
            if self.chance(0.4):
                amounts["nvidia.com/gpu"] = self.quantity(COUNTS)
            for _ in range(self.one([1, 1, 2, 3]) if self.chance(0.15) else 0):
                amounts[self.one(GPU_KEYS)] = self.quantity(COUNTS)
            if self.chance(0.08):
                amounts[TPU] = self.quantity(COUNTS)
            if self.chance(0.04):
                amounts[NEURON] = self.quantity(COUNTS)
            items = list(amounts.items())
            self.random.shuffle(items)
            resources[part] = dict(items)
        container = {"name": "ray", "image": "ray"}
        if resources or self.chance(0.5):
            container["resources"] = resources
        return container

    def whole(self, values):
        texts = ["1.5", "abc", "-1", "1Gi", "", " 3 ", "1_000", "+4", "99999999999999999", "1e3"]
        return self.one(texts) if self.odd and self.chance(0.15) else self.one(values)

    def start_params(self):
        params = {}
        if self.chance(0.3):
            params["num-cpus"] = self.whole(["0", "1", "8", "64"])
        if self.chance(0.2):
            params["num-gpus"] = self.whole(["0", "1", "8"])
        if self.chance(0.2):
            params["memory"] = self.whole(["0", "1000000000", "68719476736"])
        if self.chance(0.25):
            custom = str(self.one(CUSTOM)).replace("'", '"')
            form = self.one(["'%s'", '"%s"'])
            params["resources"] = form % custom.replace('"', '\\"' if form[0] == '"' else '"')
            if self.odd and self.chance(0.3):
                params["resources"] = self.one(CUSTOM_TEXTS)
        if self.chance(0.1):
            params["labels"] = "a=b,c=d"
        if self.chance(0.2):
            params["block"] = "true"
        return params

    def template(self):
        spec = {"containers": [self.container() for _ in range(self.one([1, 1, 1, 1, 2]))]}
        if self.odd and self.chance(0.03):
            spec["containers"] = []
        if self.chance(0.3):
            selector = {}
            if self.chance(0.85):
                selector[TOPOLOGY] = self.one(TOPOLOGIES if self.odd else TOPOLOGIES[:6])
            if self.chance(0.85):
                selector[ACCELERATOR] = self.one(TPU_KINDS if self.odd else TPU_KINDS[:6])
            spec["nodeSelector"] = selector
        return {"spec": spec}

    def common(self):
        group = {"template": self.template()}
        if self.chance(0.7):
            group["rayStartParams"] = self.start_params()
        if self.chance(0.2):
            keys = self.random.sample(GROUP_KEYS, self.random.randint(1, 3))
            if not self.odd:
                keys = [k for k in keys if k in ("CPU", "GPU", "memory", "TPU", "Custom", "disk")]
            group["resources"] = {
                k: self.quantity(MEMORY if k.lower() == "memory" else COUNTS + ["0.5", "2.5"])
                for k in keys
            }
        if self.chance(0.25):
            bad = self.odd and self.chance(0.2)
            group["labels"] = dict(self.one(BAD_LABELS if bad else LABELS))
        return group

    def group(self, number):
        group = dict(self.common(), groupName=f"group-{number}", replicas=self.one([0, 1, 3]))
        if not self.chance(0.03):
            group["minReplicas"] = self.one([0, 0, 0, 1, 2, 5])
        if not self.chance(0.03):
            group["maxReplicas"] = self.one([5, 10, 200, 2147483647])
            if self.odd and self.chance(0.1):
                group["maxReplicas"] = self.one([0, 1])
        if self.chance(0.4):
            group["numOfHosts"] = self.one([1, 2, 4, 64])
        if self.chance(0.3):
            group["idleTimeoutSeconds"] = self.one([0, 1, 60, 3600])
        if self.chance(0.3):
            group["priority"] = self.one([0, 1, 100, -5])
        if self.odd and self.chance(0.05):
            name = self.one(["minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds"])
            group[name] = self.one([-1, -5])
        return group

    def cluster(self):
        head = self.common()
        head.setdefault("rayStartParams", {}).setdefault("num-cpus", "0")
        if self.chance(0.2):
            del head["rayStartParams"]["num-cpus"]
        spec = {"headGroupSpec": head, "enableInTreeAutoscaling": True}
        if not (self.odd and self.chance(0.03)):
            count = self.one([0, 1, 1, 2, 2, 3, 6])
            spec["workerGroupSpecs"] = [self.group(i) for i in range(1, count + 1)]
        if self.chance(0.6):
            options = {}
            if self.chance(0.6):
                options["idleTimeoutSeconds"] = self.one([0, 1, 7, 60, 61, 600])
            if self.chance(0.6):
                modes = ["Default", "Aggressive", "Conservative", "conservative"]
                options["upscalingMode"] = self.one(modes)
            spec["autoscalerOptions"] = options
        return {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "random", "namespace": "default"},
            "spec": spec,
        }


def cluster(seed):
    return Maker(seed).cluster()


# ---- the properties of a cluster: read from the cluster itself, not from how it was made ----

FORMS = {
    "milli": r"\d+m$",
    "micro": r"\d+u$",
    "binary suffix": r"[\d.]+[KMG]i$",
    "fraction with suffix": r"\d*\.\d+Gi$",
    "decimal suffix": r"\d+[kG]$",
    "exponent": r"[\d.]+[eE][+-]?\d+$",
    "exa": r"\d+E$",
    "bad": r"(abc|NaN|1ki|)$",
    "negative": r"-\d+$",
    "Python only": r"(1_000| 2|2 )$",
}


def group_features(group, head):
    yield "head" if head else "worker group"
    spec = group["template"]["spec"]
    params, own = group.get("rayStartParams", {}), group.get("resources", {})
    containers = spec["containers"]
    resources = containers[0].get("resources", {}) if containers else {}
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    if not containers:
        yield "no container"
    for name in ("num-cpus", "num-gpus", "memory", "resources", "labels"):
        if name in params:
            yield f"rayStartParams {name}"
    for name in own:
        yield f"resources {name}"
    if own and "resources" in params:
        yield "resources and rayStartParams"
    if "labels" in group:
        yield "labels"
    for place, amounts in (("limits", limits), ("requests", requests), ("own", own)):
        for key, value in amounts.items():
            if place != "own":
                yield f"{place} {key}"
            if isinstance(value, str):
                for form, pattern in FORMS.items():
                    if re.match(pattern, value):
                        yield f"quantity {form}"
            else:
                yield "quantity JSON number"
    if sum(key.endswith("gpu") for key in limits) > 1:
        yield "two GPU keys"
    if TPU in limits or TPU in requests or "TPU" in own:
        yield "TPU with selectors" if len(spec.get("nodeSelector", {})) == 2 else "TPU without"
    if head:
        return
    for name in ("minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds", "priority"):
        yield f"{name} given" if name in group else f"{name} missing"
        if group.get(name, 0) < 0:
            yield "negative number"
    if group.get("minReplicas", 0) > group.get("maxReplicas", 1 << 31):
        yield "minReplicas above maxReplicas"


def features(cluster):
    """A list of names; a name may come several times."""
    spec = cluster["spec"]
    found = list(group_features(spec["headGroupSpec"], True))
    for group in spec.get("workerGroupSpecs", []):
        found += group_features(group, False)
    if "workerGroupSpecs" not in spec:
        found.append("no workerGroupSpecs")
    options = spec.get("autoscalerOptions", {})
    found += [f"option {name}" for name in options]
    found.append("upscalingMode " + options.get("upscalingMode", "absent"))
    return found


WANTED = ["head", "worker group", "no container", "resources and rayStartParams", "labels"]
WANTED += [f"rayStartParams {n}" for n in ("num-cpus", "num-gpus", "memory", "resources", "labels")]
WANTED += [f"resources {key}" for key in GROUP_KEYS]
WANTED += [f"limits {key}" for key in ["cpu", "memory", TPU, NEURON] + GPU_KEYS]
WANTED += [f"requests {key}" for key in ["cpu", "memory", TPU, NEURON, "nvidia.com/gpu"]]
WANTED += [f"quantity {form}" for form in FORMS] + ["quantity JSON number"]
WANTED += ["two GPU keys", "TPU with selectors", "TPU without", "no workerGroupSpecs"]
WANTED += ["option idleTimeoutSeconds", "minReplicas above maxReplicas", "negative number"]
WANTED += [
    f"{name} {state}"
    for name in ("minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds", "priority")
    for state in ("given", "missing")
]
WANTED += [
    f"upscalingMode {mode}"
    for mode in ("absent", "Default", "Aggressive", "Conservative", "conservative")
]
