"""Snapshots with many groups that claim devices by CEL, for bench_decide.py."""

from __future__ import annotations

CLASS = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
DEVICES = 8  # of a Node
LONG_BYTES = 9 * 1024


def selector(number, long):
    """Of a group: no two are equal, and every fifth device matches. A long one has parts that do not hold."""
    text = f"device.attributes['gpu.nvidia.com'].index < {1000 + number}"
    while long and len(text) < LONG_BYTES:
        text = f"device.attributes['gpu.nvidia.com'].architecture == 'none-{len(text)}' || {text}"
    return f"({text}) && device.attributes['gpu.nvidia.com'].architecture == 'A{number % 5}'"


def request(device_class, *selectors):
    asked = {"deviceClassName": device_class, "selectors": [{"cel": {"expression": each}} for each in selectors]}
    return {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}}


def resource_slice(number):
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {
                "type": {"string": "gpu"},
                "index": {"int": index},
                "architecture": {"string": f"A{(number + index) % 5}"},
                "productName": {"string": "NVIDIA A100-SXM4-80GB"},
                "uuid": {"string": f"GPU-{number:08}-{index}"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(DEVICES)
    ]
    pool = {"name": f"n{number}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": f"n{number}", "pool": pool, "devices": devices}
    return {"metadata": {"name": f"n{number}"}, "spec": spec}


def group(number):
    container = {
        "name": "ray-worker",
        "image": "rayproject/ray:2.60.0",
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}, "claims": [{"name": "gpu"}]},
    }
    claims = [{"name": "gpu", "resourceClaimTemplateName": f"g{number}"}]
    return {
        "groupName": f"g{number}",
        "replicas": 0,
        "minReplicas": 0,
        "maxReplicas": 1000,
        "rayStartParams": {},
        "template": {"spec": {"containers": [container], "resourceClaims": claims}},
    }


def snapshot(groups, nodes, tasks, long):
    head = {
        "nodeId": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==",
        "instanceId": "demo-head",
        "rayNodeTypeName": "headgroup",
        "status": "RUNNING",
        "totalResources": {"node:__internal_head__": 1},
        "availableResources": {"node:__internal_head__": 1},
    }
    pod = {
        "metadata": {"namespace": "default", "name": "demo-head",
                     "labels": {"ray.io/cluster": "demo", "ray.io/node-type": "head", "ray.io/group": "headgroup"}},
        "spec": {"containers": [{"name": "ray-head"}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }
    cluster = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"namespace": "default", "name": "demo"},
        "spec": {
            "rayVersion": "2.60.0",
            "enableInTreeAutoscaling": True,
            "headGroupSpec": {"rayStartParams": {"num-cpus": "0"},
                              "template": {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.60.0"}]}}},
            "workerGroupSpecs": [group(number) for number in range(groups)],
        },
    }
    templates = [
        {"metadata": {"namespace": "default", "name": f"g{number}"}, "spec": {"spec": request("gpu", selector(number, long))}}
        for number in range(groups)
    ]
    demand = {"request": {"resourcesBundle": {"CPU": 1, "GPU": 1}}, "count": tasks}
    return {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": "2026-11-21T10:00:00Z",
        "settings": {},
        "rayState": {"nodeStates": [head], "pendingResourceRequests": [demand]},
        "pods": [pod],
        "rayCluster": cluster,
        "deviceClasses": [{"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": CLASS}}]}}],
        "resourceClaimTemplates": templates,
        "resourceSlices": [resource_slice(number) for number in range(nodes)],
    }
