"""The Pods that KubeRay's operator (1.7, default feature gates) makes of a RayCluster.

Written from KubeRay's documented behaviour: labels, names, environment, the `ray start` command
from rayStartParams, limits and the group's `resources` and `labels`, the `autoscaler` container.
Left out, because no test here needs it: GCS fault tolerance, probes (see kubelet.py for what
counts as ready), the history server, batch schedulers.
"""

import copy
import json
import random
import re
from typing import Any, Dict, List

from . import quantity

Object = Dict[str, Any]

CLUSTER_LABEL = "ray.io/cluster"
NODE_TYPE_LABEL = "ray.io/node-type"
GROUP_LABEL = "ray.io/group"
REPLICA_NAME_LABEL = "ray.io/worker-group-replica-name"
REPLICA_INDEX_LABEL = "ray.io/worker-group-replica-index"
HOST_INDEX_LABEL = "ray.io/replica-host-index"
HEAD_GROUP = "headgroup"
AUTOSCALER_CONTAINER = "autoscaler"
WAIT_CONTAINER = "wait-gcs-ready"
ADDRESS_CONTAINER = "wait-for-tls-ip-san"
TLS_PATH = "/etc/ray/tls"
TOKEN_KEY = "auth_token"

DEFAULT_GCS_PORT = "6379"
# The alphabet of generated names: no vowels and no digits that look like letters.
_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_MIG = re.compile(r"nvidia\.com/mig-\d+g\.\d+gb$")
_ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_BOOLEANS_WITH_VALUE = ("log-color", "include-dashboard", "include-log-monitor")


def random_suffix() -> str:
    return "".join(random.choice(_NAME_LETTERS) for _ in range(5))


def check_name(name: str) -> str:
    """At most 50 characters, cut from the front, not starting with a digit or punctuation."""
    name = name[-50:]
    return name if name[0].isalpha() else "r" + name[1:]


def is_gpu(resource: str) -> bool:
    return resource.endswith("gpu") or bool(_MIG.search(resource))


def autoscaling(cluster: Object) -> bool:
    return cluster["spec"].get("enableInTreeAutoscaling") is True


def autoscaler_version(cluster: Object) -> str:
    return (cluster["spec"].get("autoscalerOptions") or {}).get("version") or ""


def token_auth(cluster: Object) -> bool:
    return (cluster["spec"].get("authOptions") or {}).get("mode") == "token"


def token_secret(cluster: Object) -> str:
    own = (cluster["spec"].get("authOptions") or {}).get("secretName")
    return own or check_name(cluster["metadata"]["name"])


def active_passive(cluster: Object) -> bool:
    """Two head Pods: by the name of kuberay#4910, or by the one of kuberay#5289."""
    options = cluster["spec"].get("gcsFaultToleranceOptions") or {}
    return any((options.get(name) or {}).get("enable") is True for name in ("activePassiveHead", "activePassiveOptions"))


def is_ready(pod: Object) -> bool:
    """Running, and with the condition Ready."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or []
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return status.get("phase") == "Running" and ready


def delegated_tokens(cluster: Object) -> bool:
    return token_auth(cluster) and cluster["spec"]["authOptions"].get("enableK8sTokenAuth") is True


def tls(cluster: Object) -> bool:
    return (cluster["spec"].get("tlsOptions") or {}).get("enabled") is True


def tls_secret(cluster: Object, node_type: str) -> str:
    return f"ray-{node_type}-secret-{cluster['metadata']['name']}"


def head_port(cluster: Object) -> str:
    return (cluster["spec"]["headGroupSpec"].get("rayStartParams") or {}).get("port", DEFAULT_GCS_PORT)


def head_service_name(cluster: Object) -> str:
    service = cluster["spec"]["headGroupSpec"].get("headService") or {}
    return (service.get("metadata") or {}).get("name") or f"{cluster['metadata']['name']}-head-svc"


def head_service_host(cluster: Object) -> str:
    return f"{head_service_name(cluster)}.{cluster['metadata']['namespace']}.svc.cluster.local"


def service_account(cluster: Object) -> str:
    own = cluster["spec"]["headGroupSpec"]["template"]["spec"].get("serviceAccountName")
    return check_name(own or cluster["metadata"]["name"])


def owner_reference(cluster: Object) -> Object:
    return {
        "apiVersion": cluster["apiVersion"],
        "kind": "RayCluster",
        "name": cluster["metadata"]["name"],
        "uid": cluster["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def head_pod(cluster: Object) -> Object:
    group = cluster["spec"]["headGroupSpec"]
    params = _with_group_fields(group)
    params.setdefault("dashboard-host", "0.0.0.0")
    pod = _pod(cluster, group, "head", HEAD_GROUP, f"{cluster['metadata']['name']}"[:50] + "-head-")
    ray = pod["spec"]["containers"][0]
    if autoscaling(cluster):
        params["no-monitor"] = "true"
        pod["spec"]["serviceAccountName"] = service_account(cluster)
        pod["spec"]["containers"].append(_autoscaler_container(cluster, ray.get("image", "")))
        if autoscaler_version(cluster) == "v2":
            ray["env"].append({"name": "RAY_enable_autoscaler_v2", "value": "true"})
            pod["spec"]["restartPolicy"] = "Never"
        elif autoscaler_version(cluster) == "v1":
            ray["env"].append({"name": "RAY_enable_autoscaler_v2", "value": "false"})
    if active_passive(cluster):
        ray["env"] += [
            {"name": "RAY_LEADER_ELECT", "value": "true"},
            {"name": "RAY_LEADER_ELECT_RESOURCE_NAME", "value": f"{cluster['metadata']['name']}-gcs-leader-lock"},
            {"name": "RAY_LEADER_ELECT_RESOURCE_NAMESPACE", "value": cluster["metadata"]["namespace"]},
        ]
    return _finish(cluster, pod, "head", params)


def worker_pod(
    cluster: Object, group: Object, replica_name: str, replica_index: int, host_index: int
) -> Object:
    """One worker; ``replica_name`` and ``host_index`` matter for groups of several hosts only."""
    params = _with_group_fields(group)
    params.setdefault("address", f"{head_service_host(cluster)}:{head_port(cluster)}")
    prefix = f"{cluster['metadata']['name']}-{group['groupName']}"[:50] + "-worker-"
    pod = _pod(cluster, group, "worker", group["groupName"], prefix)
    labels = pod["metadata"]["labels"]
    labels[REPLICA_INDEX_LABEL] = str(replica_index)
    if group.get("numOfHosts", 1) > 1:
        labels[REPLICA_NAME_LABEL] = replica_name
        labels[HOST_INDEX_LABEL] = str(host_index)
    if autoscaling(cluster) and autoscaler_version(cluster) == "v2":
        pod["spec"]["restartPolicy"] = "Never"
    ray = pod["spec"]["containers"][0]
    wait = {
        "name": WAIT_CONTAINER,
        "image": ray.get("image", ""),
        "command": ["/bin/bash", "-c", "--"],
        "args": [f"until ray health-check --address {params['address']}; do sleep 5; done"],
        "env": copy.deepcopy(ray["env"]) + [{"name": "FQ_RAY_IP", "value": head_service_host(cluster)}],
    }
    if ray.get("imagePullPolicy"):
        wait["imagePullPolicy"] = ray["imagePullPolicy"]
    if token_auth(cluster):
        _add_token(cluster, wait)
    if tls(cluster):
        _add_tls(wait)
    pod["spec"].setdefault("initContainers", []).append(wait)
    return _finish(cluster, pod, "worker", params)


def _pod(cluster: Object, group: Object, node_type: str, group_name: str, prefix: str) -> Object:
    template = copy.deepcopy(group["template"])
    metadata = template.get("metadata") or {}
    labels = {
        "ray.io/is-ray-node": "yes",
        CLUSTER_LABEL: cluster["metadata"]["name"],
        NODE_TYPE_LABEL: node_type,
        GROUP_LABEL: group_name,
        "ray.io/identifier": check_name(f"{cluster['metadata']['name']}-{node_type}"),
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    fixed = (CLUSTER_LABEL, NODE_TYPE_LABEL, GROUP_LABEL)
    for source in (metadata.get("labels") or {}, group.get("labels") or {}):
        labels.update({key: value for key, value in source.items() if key not in fixed})
    spec = template["spec"]
    ray = spec["containers"][0]
    ray["env"] = list(ray.get("env") or [])
    ray["ports"] = list(ray.get("ports") or [])
    if not any(port.get("name") == "metrics" for port in ray["ports"]):
        ray["ports"].append({"name": "metrics", "containerPort": 8080})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": prefix.lower() + random_suffix(),
            "namespace": cluster["metadata"]["namespace"],
            "labels": labels,
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": spec,
    }


def _finish(cluster: Object, pod: Object, node_type: str, params: Dict[str, str]) -> Object:
    params.setdefault("metrics-export-port", "8080")
    params["block"] = "true"
    params.setdefault("dashboard-agent-listen-port", "52365")
    ray = pod["spec"]["containers"][0]
    start = ray_start_command(node_type, params, ray.get("resources") or {})
    own = " ".join([*(ray.get("command") or []), *(ray.get("args") or [])])
    overwrite = pod["metadata"]["annotations"].get("ray.io/overwrite-container-cmd", "").lower() == "true"
    if not overwrite and "ray start" not in own:
        generated = "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; " + start
        ray["command"] = ["/bin/bash", "-c", "--"]
        ray["args"] = [f"{own} && {generated}" if own else generated]
    if node_type == "worker":
        host = head_service_host(cluster)
        ray["env"] += [{"name": "FQ_RAY_IP", "value": host}, {"name": "RAY_IP", "value": host.split(".")[0]}]
    ray["env"] += [
        _field("RAY_CLUSTER_NAME", f"metadata.labels['{CLUSTER_LABEL}']"),
        _field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
        _field("RAY_CLOUD_INSTANCE_ID", "metadata.name"),
        _field("RAY_NODE_TYPE_NAME", f"metadata.labels['{GROUP_LABEL}']"),
        {"name": "KUBERAY_GEN_RAY_START_CMD", "value": start},
        {"name": "RAY_PORT", "value": head_port(cluster)},
        {"name": "RAY_USAGE_STATS_KUBERAY_IN_USE", "value": "1"},
    ]
    host = "127.0.0.1" if node_type == "head" else head_service_host(cluster)
    ray["env"].append({"name": "RAY_ADDRESS", "value": f"{host}:{head_port(cluster)}"})
    if token_auth(cluster):
        _add_token(cluster, ray)
    if delegated_tokens(cluster):
        source = {"serviceAccountToken": {"path": "token"}}
        volume = {"name": "ray-token", "projected": {"sources": [source]}}
        pod["spec"].setdefault("volumes", []).append(volume)
    if tls(cluster):
        _add_tls(ray)
        volume = {"name": "ray-tls", "secret": {"secretName": tls_secret(cluster, node_type)}}
        pod["spec"].setdefault("volumes", []).append(volume)
        wait = {"name": ADDRESS_CONTAINER, "image": ray.get("image", ""), "command": ["sh", "-c"]}
        wait["args"] = [f"until openssl x509 -in {TLS_PATH}/tls.crt -noout -text | grep $POD_IP; do sleep 5; done"]
        wait["volumeMounts"] = [{"name": "ray-tls", "mountPath": TLS_PATH, "readOnly": True}]
        pod["spec"].setdefault("initContainers", []).insert(0, wait)
    return pod


def _autoscaler_container(cluster: Object, image: str) -> Object:
    command = (
        "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
    )
    container: Object = {
        "name": AUTOSCALER_CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/bash", "-c", "--"],
        "args": [command],
        "env": [
            _field("RAY_CLUSTER_NAME", f"metadata.labels['{CLUSTER_LABEL}']"),
            _field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
            _field("RAY_HEAD_POD_NAME", "metadata.name"),
            {"name": "KUBERAY_CRD_VER", "value": "v1"},
            {"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": command},
        ],
        "resources": {
            "limits": {"cpu": "500m", "memory": "512Mi"},
            "requests": {"cpu": "500m", "memory": "512Mi"},
        },
    }
    if token_auth(cluster):
        _add_token(cluster, container)
    if tls(cluster):
        _add_tls(container)
    options = cluster["spec"].get("autoscalerOptions") or {}
    for member in ("resources", "image", "imagePullPolicy", "securityContext"):
        if options.get(member) is not None:
            container[member] = copy.deepcopy(options[member])
    for member in ("command", "args"):
        if options.get(member):
            container[member] = list(options[member])
    container["env"] += copy.deepcopy(options.get("env") or [])
    for member in ("envFrom", "volumeMounts"):
        if options.get(member):
            container[member] = copy.deepcopy(options[member])
    return container


def _add_token(cluster: Object, container: Object) -> None:
    container["env"].append({"name": "RAY_AUTH_MODE", "value": "token"})
    if delegated_tokens(cluster):
        container["env"].append({"name": "RAY_ENABLE_K8S_TOKEN_AUTH", "value": "true"})
        mount = {"name": "ray-token", "mountPath": "/var/run/secrets/ray.io/serviceaccount", "readOnly": True}
        container.setdefault("volumeMounts", []).append(mount)
        return
    reference = {"secretKeyRef": {"name": token_secret(cluster), "key": TOKEN_KEY}}
    container["env"].append({"name": "RAY_AUTH_TOKEN", "valueFrom": reference})


def _add_tls(container: Object) -> None:
    files = {"SERVER_CERT": "tls.crt", "SERVER_KEY": "tls.key", "CA_CERT": "ca.crt"}
    container["env"].append({"name": "RAY_USE_TLS", "value": "1"})
    container["env"] += [{"name": f"RAY_TLS_{name}", "value": f"{TLS_PATH}/{file}"} for name, file in files.items()]
    mount = {"name": "ray-tls", "mountPath": TLS_PATH, "readOnly": True}
    container.setdefault("volumeMounts", []).append(mount)


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _with_group_fields(group: Object) -> Dict[str, str]:
    """rayStartParams with the group's own ``resources`` and ``labels`` put over them."""
    params = dict(group.get("rayStartParams") or {})
    custom = {}
    for name, value in (group.get("resources") or {}).items():
        try:
            exact = quantity.parse(value)
        except ValueError:
            continue
        lower = name.lower()
        if lower == "cpu":
            params["num-cpus"] = str(quantity.ceil(value))
        elif lower == "memory":
            params["memory"] = str(quantity.ceil(value))
        elif is_gpu(lower):
            params["num-gpus"] = str(quantity.ceil(value))
        else:
            custom[name] = float(exact)
    if custom:
        params["resources"] = f"'{json.dumps(custom)}'"
    if group.get("labels"):
        params["labels"] = ",".join(f"{key}={value}" for key, value in sorted(group["labels"].items()))
    return params


def ray_start_command(node_type: str, params: Dict[str, str], resources: Object) -> str:
    """The command line; values missing in ``params`` are from the Ray container's ``resources``."""
    params = dict(params)
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for source in (limits, requests):
        if "num-cpus" not in params and quantity.parse(source.get("cpu", 0)) > 0:
            params["num-cpus"] = str(quantity.ceil(source["cpu"]))
    if "memory" not in params and quantity.parse(limits.get("memory", 0)) > 0:
        params["memory"] = str(quantity.ceil(limits["memory"]))
    _add_accelerators(params, limits)
    words = ["ray start", "--head"] if node_type == "head" else ["ray start"]
    for option, value in sorted(params.items()):
        if value.lower() in ("true", "false") and option not in _BOOLEANS_WITH_VALUE:
            if value.lower() == "true":
                words.append(f"--{option}")
        else:
            words.append(f"--{option}={value}")
    return " ".join(words)


def _add_accelerators(params: Dict[str, str], limits: Object) -> None:
    try:
        custom = json.loads(params.get("resources", "{}").strip("'\"` "))
    except ValueError:
        return  # as KubeRay: logged there, and nothing is added, GPUs neither
    added = any(name in custom for name in _ACCELERATORS.values())
    for name in sorted(limits):
        amount = quantity.parse(limits[name])
        if amount == 0:
            continue
        if is_gpu(name):
            params.setdefault("num-gpus", str(quantity.ceil(limits[name])))
        elif name in _ACCELERATORS and not added:
            custom[_ACCELERATORS[name]] = float(amount)
            params["resources"] = f"'{json.dumps(custom)}'"
            added = True
