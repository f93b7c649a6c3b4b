"""Ray's own autoscaling_config and rayscaler's group capacity on the same random RayClusters.

A correction replaces one rule of Ray's code, from the wheel, for the time of a call. A group is
explained by the smallest set of corrections with which Ray gives rayscaler's answer exactly.
docs/internals/conformance.md explains each difference.
"""

import builtins
import contextlib
import copy
import decimal
import functools
import itertools
import json
import re
import subprocess
from unittest import mock

import jsonschema
from ray.autoscaler._private.kuberay import autoscaling_config as config
from ray.autoscaler._private.kuberay import utils

import clusters

# jsonschema.validate checks Ray's schema itself each time, which takes longer than all the rest.
validator_of = functools.lru_cache(
    lambda text: jsonschema.validators.validator_for(json.loads(text))(json.loads(text))
)


def validate_quickly(instance, schema):
    validator_of(json.dumps(schema)).validate(instance)


jsonschema.validate = validate_quickly

UNIT = 10000
AMOUNT_MAX = 900000000000000000  # RESOURCE_AMOUNT_MAX
INT32_MAX = 2147483647
PROBLEM = "problem"  # the group is not served; why is not compared

# ---- corrections ----

QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([numkKMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?", re.ASCII)
JSON_NUMBER = re.compile(r"(0|[1-9]\d*)(\.\d+)?", re.ASCII)
MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb", re.ASCII)


def crd_defaults(group, _):
    """The API server fills in missing members; a file may lack them."""
    group.setdefault("minReplicas", 0)
    group.setdefault("maxReplicas", INT32_MAX)
    return []


def bounds(group, head):
    """Ray takes numbers that the API server refuses, and a minimum above the maximum."""
    names = {"minReplicas": 0, "maxReplicas": 0, "numOfHosts": 1, "idleTimeoutSeconds": 0}
    if not head and any(group.get(n, least) < least for n, least in names.items()):
        raise ValueError("negative")
    if not head and group.get("minReplicas", 0) > group.get("maxReplicas", INT32_MAX):
        raise ValueError("minReplicas above maxReplicas")
    return []


def no_container(group, _):
    """A template without containers still has rayStartParams and resources."""
    spec = group["template"]["spec"]
    spec["containers"] = spec["containers"] or [{}]
    return []


def checked(amount):
    if not 0 <= amount * UNIT <= AMOUNT_MAX:
        raise ValueError("negative or above the ceiling")
    return amount


class StrictInt(type):
    """int() of a text: a sign and digits, nothing else that Python would take."""

    def __instancecheck__(cls, value):
        return isinstance(value, builtins.int)

    def __call__(cls, value):
        if isinstance(value, str) and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value):
            raise ValueError("no whole number")
        number = builtins.int(value)
        return checked(number) if isinstance(value, str) else number


def strict_values(*_):
    """Amounts are of Kubernetes' grammar and such that a machine can have them."""
    parse, loads = utils.parse_quantity, json.loads

    def parse_quantity(quantity):
        text = str(quantity)
        if isinstance(quantity, str) and (not QUANTITY.fullmatch(text) or len(text) > 64):
            raise ValueError("not a quantity")
        return checked(parse(quantity))

    def strict_loads(text, **named):
        resources = loads(text, **named)
        for name, value in resources.items():
            if not name or isinstance(value, bool):
                raise ValueError("not an amount")
            checked(value)
        return resources

    return [
        (utils, "parse_quantity", parse_quantity),
        (config, "int", StrictInt("int", (), {})),
        (json, "loads", strict_loads),
    ]


def to_unit(value, rounding):
    """A Decimal of whole 1/10000."""
    return (value * UNIT).to_integral_value(rounding=rounding) / UNIT


def fractions(*_):
    """`ray start` takes whole numbers of custom resources alone, and 1.0 is one."""
    original, loads = config._get_custom_resources, json.loads

    def whole(value):
        if value % 1:
            raise ValueError("a part of a custom resource")
        return int(value)

    def json_number(text):
        if not JSON_NUMBER.fullmatch(text):
            raise ValueError("an exponent")
        return whole(to_unit(decimal.Decimal(text), decimal.ROUND_HALF_UP))

    def custom(group_resources, params, name):
        for key in set(group_resources) - {"CPU", "GPU", "memory"}:
            whole(to_unit(utils.parse_quantity(group_resources[key]), decimal.ROUND_UP))
        with mock.patch.object(json, "loads", lambda text, **_: loads(text, parse_float=json_number)):
            return original(group_resources, params, name)

    return [(config, "_get_custom_resources", custom)]


def reserved_names(*_):
    """`ray start` has options for these, and ignores them among custom resources; it refuses the head's."""
    original = config._get_custom_resources

    def custom(group_resources, params, name):
        found = original(group_resources, params, name)
        if "node:__internal_head__" in found:
            raise ValueError("a reserved name")
        return {k: v for k, v in found.items() if k not in ("CPU", "GPU", "memory", "object_store_memory")}

    return [(config, "_get_custom_resources", custom)]


def is_gpu_key(name):
    return name.endswith("gpu") or MIG.fullmatch(name) is not None


def kuberay_gpu(*_):
    """KubeRay's operator takes the first GPU key by name, and MIG slices are GPUs for it."""
    original = config._get_num_gpus

    def num_gpus(group_resources, params, k8s_resources, name):
        if "GPU" in group_resources or "num-gpus" in params:
            return original(group_resources, params, k8s_resources, name)
        for part in ("limits", "requests"):
            amounts = k8s_resources.get(part, {})
            for key in sorted(filter(is_gpu_key, amounts)):
                number = config._round_up_k8s_quantity(amounts[key])
                if number > 0:
                    return number
        return None

    return [(config, "_get_num_gpus", num_gpus)]


def kuberay_accelerator(*_):
    """KubeRay's operator passes neuron cores to `ray start`, and only one kind of accelerator."""
    original, tpus = config._get_custom_resources, config._get_num_tpus
    limits_of = {}

    def from_spec(group, is_head):
        containers = group["template"]["spec"]["containers"]
        limits_of["now"] = containers[0].get("resources", {}).get("limits", {})
        return resources(group, is_head)

    def custom(group_resources, params, name):
        found = original(group_resources, params, name)
        if "TPU" in found or "neuron_cores" in found or "TPU" in group_resources:
            return found
        quantity = limits_of["now"].get("aws.amazon.com/neuroncore")
        if quantity is not None and utils.parse_quantity(quantity) > 0:
            found = dict(found, neuron_cores=config._round_up_k8s_quantity(quantity))
        return found

    def num_tpus(group_resources, custom_resources, k8s_resources):
        if "neuron_cores" in custom_resources and "TPU" not in group_resources:
            k8s_resources = {}
        return tpus(group_resources, custom_resources, k8s_resources)

    resources = config._get_ray_resources_from_group_spec
    return [
        (config, "_get_ray_resources_from_group_spec", from_spec),
        (config, "_get_custom_resources", custom),
        (config, "_get_num_tpus", num_tpus),
    ]


def kuberay_resources(group, _):
    """KubeRay's operator reads the names of the group's resources in any case, and replaces the
    custom resources of rayStartParams only by custom ones."""
    own = group.get("resources", {})
    names = {}
    for wanted, is_it in (
        ("CPU", lambda n: n.lower() == "cpu"),
        ("memory", lambda n: n.lower() == "memory"),
        ("GPU", lambda n: is_gpu_key(n.lower())),
    ):
        found = [name for name in own if is_it(name)]
        if wanted == "GPU":  # as in limits: the first by name that is above 0
            found = sorted(n for n in found if n == "GPU" or may_count(own[n]))
        if found:
            names[wanted] = wanted if wanted in found else found[0]
    standard = {n for n in own if n.lower() in ("cpu", "memory") or is_gpu_key(n.lower())}
    group["resources"] = {
        **{wanted: own[name] for wanted, name in names.items()},
        **{name: amount for name, amount in own.items() if name not in standard},
    }
    original = config._get_custom_resources

    def custom(group_resources, params, name):
        customs = set(group_resources) - {"CPU", "GPU", "memory"}
        return original(group_resources if customs else {}, params, name)

    return [(config, "_get_custom_resources", custom)]


def may_count(quantity):
    try:
        return utils.parse_quantity(quantity) != 0
    except ValueError:
        return True


def tpu_topology(*_):
    """A topology that is none gives no head resource instead of no configuration."""
    original = utils.tpu_node_selectors_to_type

    def to_type(topology, accelerator):
        if not re.fullmatch(r"[0-9]+([xX][0-9]+)*", topology):
            return None
        return original(topology, accelerator)

    return [(utils, "tpu_node_selectors_to_type", to_type)]


class NoFigure(int):
    """The CPUs of a head without any setting."""


def head_without_cpu(group, head):
    """The head's figure is not needed: it is never launched."""
    original = config._get_num_cpus

    def num_cpus(group_resources, params, k8s_resources, name):
        parts = [k8s_resources.get(part, {}) for part in ("limits", "requests")]
        given = "CPU" in group_resources or "num-cpus" in params or any("cpu" in p for p in parts)
        if given or not head:
            return original(group_resources, params, k8s_resources, name)
        return NoFigure(0)

    return [(config, "_get_num_cpus", num_cpus)]


# In the order in which they are applied; a later one wraps an earlier one.
CORRECTIONS = {
    "no-container": no_container,
    "head-without-cpu": head_without_cpu,
    "crd-defaults": crd_defaults,
    "bounds": bounds,
    "tpu-topology": tpu_topology,
    "strict-values": strict_values,
    "fractions": fractions,
    "reserved-names": reserved_names,
    "kuberay-resources": kuberay_resources,
    "kuberay-gpu": kuberay_gpu,
    "kuberay-accelerator": kuberay_accelerator,
}


# ---- both answers, group by group ----

CPU = {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}
FRAME = config._derive_autoscaling_config_from_ray_cr(
    {
        "metadata": {"name": "random", "namespace": "default"},
        "spec": {"headGroupSpec": {"template": {"spec": CPU}}, "workerGroupSpecs": []},
    }
)
HEAD = FRAME["available_node_types"]["headgroup"]


def amounts(resources):
    return {name: int(value * UNIT) for name, value in resources.items()}


def validate(node_type, head):
    """Ray's validation of the whole configuration at the end, for one group."""
    resources = {n: v if isinstance(v, int) else int(v) for n, v in node_type["resources"].items()}
    node_type = dict(node_type, resources=resources)  # parts are a correction of ours
    types = {"headgroup": node_type if head else HEAD}
    if not head:
        types["group"] = node_type
    maximum = sum(t["max_workers"] for t in types.values())
    config.validate_config(dict(FRAME, available_node_types=types, max_workers=maximum))


def ray_group(group, head, names, idle_s, validated):
    """Ray's answer for one group, PROBLEM where Ray raises. `validated`: also where the group makes
    Ray refuse the configuration at the end."""
    group = copy.deepcopy(group)
    with contextlib.ExitStack() as stack:
        try:
            for name in [n for n in CORRECTIONS if n in names]:
                for owner, attribute, value in CORRECTIONS[name](group, head):
                    stack.enter_context(mock.patch.object(owner, attribute, value, create=True))
            answer = config._node_type_from_group_spec(group, is_head=head)
            if validated:
                validate(answer, head)
        except (ValueError, KeyError, IndexError, AssertionError, ArithmeticError, TypeError):
            return PROBLEM
        except jsonschema.ValidationError:
            return PROBLEM
    resources = amounts(answer["resources"])
    if isinstance(answer["resources"].get("CPU"), NoFigure):
        del resources["CPU"]
    result = {"resources": resources, "labels": answer["labels"]}
    if not head:
        result["min"], result["max"] = answer["min_workers"], answer["max_workers"]
        result["idleMs"] = round(answer.get("idle_timeout_s", idle_s) * 1000)
        result["priority"] = answer.get("priority", 0)
    return result


def our_group(group):
    if group["problem"] is not None:
        return PROBLEM
    return {name: value for name, value in group.items() if name not in ("name", "problem")}


def explain_group(group, head, wanted, idle_s, validated):
    for size in range(len(CORRECTIONS) + 1):
        for names in itertools.combinations(CORRECTIONS, size):
            if ray_group(group, head, names, idle_s, validated) == wanted:
                return names
    return None


def whole_config(cluster):
    """Ray's configuration of the whole cluster; None where it raises."""
    try:
        return config._derive_autoscaling_config_from_ray_cr(cluster)
    except Exception:  # whatever it is, Ray's round ends
        return None


def idle_seconds(cluster):
    """As Ray carries it: through minutes."""
    options = cluster["spec"].get("autoscalerOptions", {})
    if "idleTimeoutSeconds" in options:
        return options["idleTimeoutSeconds"] / 60.0 * 60
    return 60.0


def same_cluster(whole, cluster, answer):
    """The members that do not belong to a group."""
    names = [group["name"] for group in answer["groups"]]
    speed = 1 if answer["upscalingMode"] == "Conservative" else 1000
    return (
        list(whole["available_node_types"]) == names
        and whole["upscaling_speed"] == speed
        and whole["idle_timeout_minutes"] * 60 == idle_seconds(cluster)
    )


def explain(cluster, answer):
    """The names of the classes, None when something is unexplained."""
    spec, idle_s, found = cluster["spec"], idle_seconds(cluster), set()
    whole = whole_config(cluster)
    groups = [(spec["headGroupSpec"], True)]
    groups += [(group, False) for group in spec.get("workerGroupSpecs", [])]
    if len(groups) != len(answer["groups"]):
        return None
    if whole is not None and not same_cluster(whole, cluster, answer):
        return None
    raises = "workerGroupSpecs" not in spec
    if raises:
        found.add("crd-defaults")
    for (group, head), ours in zip(groups, answer["groups"]):
        wanted = our_group(ours)
        names = explain_group(group, head, wanted, idle_s, whole is None)
        if names is None:
            return None
        found |= set(names)
        if whole is None and ray_group(group, head, (), idle_s, True) == PROBLEM:
            raises = True
            if wanted == PROBLEM:  # Ray answers for all groups or for none
                found.add("group-alone")
    if raises != (whole is None):
        return None
    return tuple(name for name in ["group-alone", *CORRECTIONS] if name in found)


class Capacity:
    """The group capacities of rayscaler, many RayClusters in one process."""

    kind, title, wanted = "capacity", "RayClusters", clusters.WANTED

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    problem = staticmethod(clusters.cluster)
    features = staticmethod(clusters.features)
    explain = staticmethod(explain)

    def answer(self, cluster):
        self.process.stdin.write(json.dumps(cluster) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    @staticmethod
    def sizes(answer):
        problems = [group["problem"] is not None for group in answer["groups"]]
        yield "have a bad group" if any(problems) else "have good groups only"

    @staticmethod
    def spoiled(cluster, answer, random):
        """One place of a group is wrong. Where Ray raises, a problem would be no wrong answer."""
        group = random.choice(answer["groups"])
        resources = group["resources"]
        place = random.choice(["amount", "missing", "more", "label", "problem", "limit"])
        if group["problem"] is not None or (
            place == "problem" and whole_config(cluster) is not None
        ):
            group["problem"] = None if group["problem"] is not None else "wrong"
        elif place == "amount" and resources:
            resources[random.choice(list(resources))] += 1
        elif place == "missing" and resources:
            del resources[random.choice(list(resources))]
        elif place == "label":
            group["labels"]["one"] = "more"
        elif place == "limit" and "max" in group:
            group[random.choice(["min", "max", "idleMs", "priority"])] += 1
        else:
            resources["one more"] = 10000
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()
