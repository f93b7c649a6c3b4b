"""From zero and back (B4, D5): the resources of the template against those that the raylet reports.

This machine has no GPU, so no raylet finds a GPU model by itself. RAY_OVERRIDE_RESOURCES, which Ray reads
in the container, replaces the detected values, and those that it fails to detect.
"""

import json
import subprocess

from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

T4_NODES = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}
T4 = "accelerator_type:T4"


def overriding(**resources):
    return {"RAY_OVERRIDE_RESOURCES": json.dumps(resources)}


def on_t4(**fields):
    group = rm.gpu_group(**fields)
    group["template"]["spec"]["nodeSelector"] = T4_NODES
    return group


def condition(one, kind):
    found = ((one.autoscaler() or {}).get("status") or {}).get("conditions") or []
    return next((c["message"] for c in found if c["type"] == kind), "")


def seen(one, group="gpu-group"):
    groups = ((one.autoscaler() or {}).get("status") or {}).get("groups") or []
    return next((g.get("seen") or {} for g in groups if g["name"] == group), {})


def total(one, pod):
    return one.witness.node(pod)["total"]


def test_a_worker_that_lacks_what_its_template_promises_stops_launches(shared, controller):
    """Also after it ended and the controller was killed; an edited template starts afresh."""
    one = shared([rm.gpu_group(env=overriding(GPU=0))], idle_seconds=2)
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        wait_until(lambda: "reports 0" in condition(one, "TemplateBroken"), 60, "the lack to be told")
        told = condition(one, "TemplateBroken")
        assert "gpu-group" in told and "promises GPU 1" in told and "memory" not in told, told
        assert seen(one)["resources"]["GPU"] == 0 and seen(one)["pod"] in told
        one.wait_empty()
        most = max(event.value for event in one.recorder.of("replicas", subject="gpu-group"))
        assert most <= 2, "no more than were asked for before the first had joined"
        control.kill()
        control.start()
        hold(lambda: one.replicas() == 0, 4, "the last worker is remembered by its status")
        template = one.group()["template"]
        env = template["spec"]["containers"][0]["env"]
        template["spec"]["containers"][0]["env"] = [e for e in env if e["name"] != "RAY_OVERRIDE_RESOURCES"]
        one.edit_group(template=template)
        assert len(program.ready("actors")) == 2
        wait_until(lambda: not condition(one, "TemplateBroken"), 15, "the condition to go")


def test_b4_a_model_by_node_selector_starts_from_zero(shared, controller):
    """The raylet reports the type of the device (set by the test): the group was started for it from zero."""
    one = shared([rm.gpu_group("plain"), on_t4(env=overriding(**{T4: 1}))])
    controller(one.namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1, accelerator_type="T4")
        assert program.ready("actors") == one.wait_workers(2)
        assert one.replicas("plain") == 0
        hold(lambda: one.replicas() == 2, 2, "two workers serve two actors")


def test_b4_a_worker_without_the_model_vetoes_it(shared, controller):
    """The same group on this machine: its raylet finds no device, so no further worker is started for it;
    when the group declares the type, `ray start` gets it."""
    one = shared([on_t4(maxReplicas=4)])
    control = controller(one.namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1, accelerator_type="T4")
        (pod,) = one.wait_joined(1)
        wait_until(lambda: T4 not in total(one, pod), 10, "a raylet without the model")
        wait_until(lambda: seen(one).get("resources", {}).get(T4) == 0, 15, "the veto")
        program.actors(2, name="more", num_gpus=1, accelerator_type="T4")
        hold(lambda: one.replicas() <= 1, 4, "nothing more is started for the type")
        assert max(event.value for event in one.recorder.of("replicas", subject="gpu-group")) == 1
        status, plan = control.get(f"/status/{one.namespace}/{one.name}")
        assert status == 200 and T4 in plan and "reports 0" in plan and "WorkerLacks" in plan, plan
        params = one.group()["rayStartParams"]
        one.edit_group(rayStartParams={**params, "resources": f"'{json.dumps({T4: 1})}'"})
        assert len(set(program.ready("actors") + program.ready("more"))) == 3


def test_b4_models_have_the_names_that_ray_gives_them(tmp_path):
    """Labels of gpu-feature-discovery through the program, the devices' names through Ray's own rule."""
    from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager

    names = """Tesla K80|Tesla M60|Tesla P4|Tesla P100-PCIE-16GB|Tesla T4|Tesla V100-SXM2-16GB|NVIDIA A10|NVIDIA A10G
        |NVIDIA A30|NVIDIA A40|NVIDIA A100-SXM4-40GB|NVIDIA A100 80GB PCIe|NVIDIA H100 80GB HBM3|NVIDIA H100 NVL
        |NVIDIA H200|NVIDIA H20|NVIDIA L4|NVIDIA L40|NVIDIA L40S|NVIDIA B200|NVIDIA GB200|NVIDIA GH200 480GB
        |NVIDIA RTX A6000|NVIDIA RTX 6000 Ada Generation|NVIDIA RTX PRO 6000 Blackwell Server Edition|Quadro RTX 8000
        |NVIDIA GeForce RTX 3090|NVIDIA GeForce RTX 5090|NVIDIA TITAN V|NVIDIA TITAN RTX"""
    devices = [name.strip() for name in names.split("|")]
    types = [NvidiaGPUAcceleratorManager._gpu_name_to_accelerator_type(device) for device in devices]
    groups, requests, wanted = [], [], {}
    for number, (device, kind) in enumerate(zip(devices, types)):
        group = rm.gpu_group(f"g{number}", maxReplicas=1)
        group["template"]["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": device.replace(" ", "-")}
        groups.append(group)
        wanted[kind] = wanted.get(kind, 0) + 1
    for kind, count in wanted.items():
        bundle = {"GPU": 1, f"accelerator_type:{kind}": 0.001}
        requests.append({"request": {"resourcesBundle": bundle}, "count": count})
    head = {"node:__internal_head__": 1}
    node = {"nodeId": "AQ==", "status": "RUNNING", "totalResources": head, "availableResources": head}
    cluster = rm.cluster("demo", groups, rayVersion="2.60.0")
    cluster["metadata"]["namespace"] = "default"
    snapshot = {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": "2026-11-20T10:00:00Z",
        "rayCluster": cluster,
        "rayState": {"nodeStates": [node], "pendingResourceRequests": requests},
    }
    file = tmp_path / "models.json"
    file.write_text(json.dumps(snapshot))
    words = [str(paths.program()), "plan", "-f", str(file), "-o", "json"]
    plan = json.loads(subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout)
    idle = [devices[i] for i, group in enumerate(plan["groups"]) if group["toLaunch"] != 1]
    assert not idle and not plan["infeasible"] and not plan["unserved"], (idle, plan["infeasible"], plan["unserved"])
