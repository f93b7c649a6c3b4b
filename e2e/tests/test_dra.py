"""Devices that Pods claim, on the real kube-apiserver, kube-scheduler and kube-controller-manager."""

import json
import re
import shutil
import subprocess

import pytest

from bench_reaction import start_ray_autoscaler
from bench_simulate import RayHead
from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import nvidia_devices as nvidia
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.cli import Cli, user_config
from rayscaler_e2e.dra import SERVER_FLAGS, Dra, first_available, request, with_claim
from rayscaler_e2e.kuberay_pod import is_ready
from rayscaler_e2e.pools import Fleet
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.standins import StandIns
from rayscaler_e2e.wait import wait_until

DRA_KINDS = ("resourceslices", "deviceclasses", "resourceclaims")
HOPPER = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
# Of Ray's autoscaler.
REFUSED = re.compile(r"No available node types can fulfill resource requests \{.*'GPU': 1.0.*\}\*2\.")


@pytest.fixture(scope="module")
def api_server():
    directory = paths.work_root() / "apiserver-dra"
    shutil.rmtree(directory, ignore_errors=True)
    with ApiServer(directory, *SERVER_FLAGS) as server:
        server.install_bench()
        yield server


@pytest.fixture(scope="module")
def devices(api_server):
    with Dra(api_server, paths.work_root() / "dra") as made:
        yield made


@pytest.fixture(scope="module")
def standins(api_server, devices):
    with StandIns(api_server, paths.work_root() / "standins-dra", schedules=False) as made:
        yield made


@pytest.fixture
def dra(devices, standins, api_server, namespace, artefacts):
    """Without Nodes that have devices; they and what the test made end with it."""
    for log in devices.logs:
        artefacts.log(log.stem, log)
    yield devices
    api_server.empty_namespace(namespace)
    devices.free(namespace)
    devices.remove_nodes()


def sleeper(name, *templates):
    spec = {"containers": [{"name": "main", "image": "none", "command": ["sleep", "1000"]}]}
    for template in templates:
        spec = with_claim(spec, template)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"terminationGracePeriodSeconds": 1, **spec}}


def message(pods, name):
    """Why the Pod is not scheduled."""
    conditions = pods.get(name).get("status", {}).get("conditions") or []
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")


def runs(pods, *names):
    wait_until(lambda: all(pods.get(name)["status"].get("phase") == "Running" for name in names), 20, f"{names} to run")


def waits(pods, name):
    refusal = re.compile(r"0/\d nodes are available: .*\d cannot allocate all claims")
    wait_until(lambda: refusal.match(message(pods, name)), 20, f"{name} to wait for a device")


def test_the_api_server_keeps_the_fields_behind_gates(api_server):
    """Without the gates they are dropped in silence."""
    names = {one["metadata"]["name"]: api_server.apply(one) for one in nvidia.classes()}
    assert names["gpu.nvidia.com"]["spec"]["extendedResourceName"] == "nvidia.com/gpu"
    (sent,) = nvidia.slices("kept", 1, mig=True)
    sent["spec"]["devices"][0]["taints"] = [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}]
    sent["spec"]["devices"][1]["allowMultipleAllocations"] = True
    made = api_server.apply(sent)["spec"]
    api_server.admin.of("resourceslices").delete(sent["metadata"]["name"])
    assert made["sharedCounters"] == sent["spec"]["sharedCounters"]
    assert [one["consumesCounters"] for one in made["devices"]] == [one["consumesCounters"] for one in sent["spec"]["devices"]]
    (taint,) = made["devices"][0]["taints"]
    assert (taint["key"], taint["value"], taint["effect"]) == ("gpu.nvidia.com/xid", "79", "NoSchedule")
    assert made["devices"][1]["allowMultipleAllocations"] is True
    assert api_server.admin.call("GET", "/apis/resource.k8s.io/v1alpha3/devicetaintrules")["items"] == []


def test_a_pod_gets_devices_or_waits_for_them(dra, api_server, namespace):
    pods = api_server.admin.of("pods", namespace)
    dra.node("n1", gpus=3)
    dra.taint("n1", "gpu-0")
    dra.template(namespace, "one-gpu", request("gpu"))
    dra.template(namespace, "large", request("gpu", cel="device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('100Gi'))"))
    for pod in (sleeper("a", "one-gpu"), sleeper("b", "one-gpu"), sleeper("large", "large")):
        pods.create(pod)
    runs(pods, "a", "b")
    found = dra.allocated(namespace)
    assert sorted(found["a"] + found["b"]) == ["n1/gpu-1", "n1/gpu-2"], "not the tainted device"
    waits(pods, "large")
    pods.create(sleeper("c", "one-gpu"))
    waits(pods, "c")
    pods.delete("a")
    runs(pods, "c")
    assert dra.allocated(namespace)["c"] == found["a"]


def test_mig_devices_share_the_counters_of_their_gpu(dra, api_server, namespace):
    pods = api_server.admin.of("pods", namespace)
    dra.node("n1", gpus=1, mig=True)
    dra.template(namespace, "one-gpu", request("gpu"))
    dra.template(namespace, "half", request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"))
    for pod in (sleeper("a", "half"), sleeper("b", "half")):
        pods.create(pod)
    runs(pods, "a", "b")
    found = dra.allocated(namespace)
    assert sorted(found["a"] + found["b"]) == ["n1/gpu-0-mig-3g40gb-9-0", "n1/gpu-0-mig-3g40gb-9-4"]
    for pod in (sleeper("c", "half"), sleeper("whole", "one-gpu")):
        pods.create(pod)
    waits(pods, "c")
    waits(pods, "whole")


def test_alternatives_and_an_extended_resource(dra, api_server, namespace):
    """The Node has no capacity nvidia.com/gpu: the scheduler makes a claim for a limit."""
    pods = api_server.admin.of("pods", namespace)
    dra.node("n1", gpus=3, product=nvidia.A100)
    dra.template(namespace, "either", first_available("gpu", request("new", cel=HOPPER), request("old", count=2)))
    limited = sleeper("limited")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    for pod in (sleeper("either", "either"), limited):
        pods.create(pod)
    runs(pods, "either", "limited")
    claims = api_server.admin.of("resourceclaims", namespace).items()
    results = {one["status"]["reservedFor"][0]["name"]: one["status"]["allocation"]["devices"]["results"] for one in claims}
    assert [one["request"] for one in results["either"]] == ["gpu/old", "gpu/old"]
    assert len(results["limited"]) == 1
    made = pods.get("limited")["status"]["extendedResourceClaimStatus"]["requestMappings"]
    assert [one["resourceName"] for one in made] == ["nvidia.com/gpu"]


def test_the_inventory_has_the_devices_of_slices(dra, api_server, namespace, work_dir):
    """The Node has no nvidia.com/gpu; a Pod uses one by its limits, another by a claim."""
    pods = api_server.admin.of("pods", namespace)
    dra.node("n1", gpus=3)
    dra.node("n2", gpus=1, mig=True)
    dra.taint("n1", "gpu-0")
    dra.template(namespace, "one-gpu", request("gpu", cel="device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA')"))
    dra.template(namespace, "half", request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"))
    limited = sleeper("limited")
    limited["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    for pod in (sleeper("part", "half"), limited):
        pods.create(pod)
        runs(pods, pod["metadata"]["name"])
    pods.create(sleeper("claims", "one-gpu"))
    runs(pods, "claims")
    config = user_config(api_server, namespace, ["nodes", "pods", *DRA_KINDS], work_dir)
    command = [str(paths.program()), "status", "--gpus", "-o", "json", "--kubeconfig", config]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout)
    found = {(one["type"], one["product"]): one for one in answer["devices"] if one["driver"] == nvidia.GPU}
    whole = found["gpu", nvidia.H100.name]
    assert [whole[name] for name in ("total", "free", "claimed", "tainted", "blocked")] == [4, 0, 2, 1, 1]
    assert found["mig 3g.40gb", nvidia.H100.name]["claimed"] == 1
    resources = {node["name"]: node["resources"] for node in answer["nodes"]}
    (gpus,) = resources["n1"]
    assert (gpus["resource"], gpus["capacity"], gpus["total"], gpus["allocated"]) == ("nvidia.com/gpu", 3, 2, 2)
    assert sorted(user["pod"] for user in gpus["users"]) == ["claims", "limited"]


def test_two_compute_domains_share_no_node(dra, api_server, namespace):
    pods = api_server.admin.of("pods", namespace)
    for name in ("n1", "n2", "n3"):
        dra.node(name, gpus=2, clique="rack-1.0")
    dra.template(namespace, "one-gpu", request("gpu"))
    for domain in ("left", "right"):
        dra.channel(namespace, domain)
        for number in range(2):
            pods.create(sleeper(f"{domain}-{number}", domain, "one-gpu"))

    def channels():
        found = dra.allocated(namespace)
        return {device: pod for pod, devices in found.items() for device in devices if "channel" in device}

    wait_until(lambda: len(channels()) == 3, 20, "three Pods with a channel")
    assert sorted(channels()) == ["n1/channel-0", "n2/channel-0", "n3/channel-0"]
    (last,) = {"left-0", "left-1", "right-0", "right-1"} - set(channels().values())
    waits(pods, last)


def claiming_group(name="gpu-group", *templates, **fields):
    """A worker group whose limits have no GPU and whose rayStartParams have no num-gpus: `ray start` finds them."""
    made = rm.group(name, env=rm.RAY_START_ENV, **fields)
    for template in templates:
        made["template"]["spec"] = with_claim(made["template"]["spec"], template)
    return made


def test_a_raylet_has_the_gpus_of_its_claims(dra, scenario, namespace):
    """Ray counts what NVML shows: two MIG devices of one GPU are one."""
    dra.node("n1", gpus=2)
    dra.node("n2", gpus=1, mig=True)
    dra.template(namespace, "two", request("gpu", count=2))
    dra.template(namespace, "part", request("mig", "mig.nvidia.com", count=2))
    groups = [claiming_group("whole", "two", replicas=1), claiming_group("parts", "part", replicas=1)]
    one = scenario(rm.cluster("claims", groups))
    for group, gpus in (("whole", 2), ("parts", 1)):
        (pod,) = one.wait_joined(1, group)
        total = lambda pod=pod: one.witness.node(pod)["total"]  # noqa: E731
        wait_until(lambda: (total().get("GPU"), total().get("accelerator_type:H100")) == (gpus, 1), 10, f"{gpus} GPUs of {group}")
    wait_until(lambda: all(map(is_ready, one.worker_pods())), 30, "both to have started")


def may_read_claims(api_server, namespace, account="rayscaler"):
    """The DeviceClass may not be read: its name is in the device table."""
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceclaimtemplates"], "verbs": ["list", "watch"]}]
    meta = {"name": "claims", "namespace": namespace}
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": rules}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
    reference = {"apiGroup": rbac, "kind": "Role", "name": "claims"}
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": meta, "subjects": subjects, "roleRef": reference}
    api_server.apply(role)
    api_server.apply(binding)


def test_a_group_that_claims_starts_from_zero(dra, scenario, namespace, controller, api_server):
    """Without num-gpus: 0, two actors with a GPU each, and 0 again."""
    may_read_claims(api_server, namespace)
    dra.node("n1", gpus=4)
    dra.template(namespace, "one-gpu", request("gpu"))
    one = scenario(rm.cluster("from-zero", [claiming_group("gpu-group", "one-gpu", maxReplicas=4)]))
    controller(namespace)
    with one.program() as program:
        program.actors(2, num_gpus=1)
        wait_until(lambda: len(one.worker_pods()) == 2 and all(map(is_ready, one.worker_pods())), 60, "two workers")
        assert one.replicas() == 2
        program.end()
    one.wait_empty()


@pytest.fixture
def device_reader(api_server, namespace):
    """The controller may read slices and classes, which have no namespace, until the test ends."""
    rbac, name = "rbac.authorization.k8s.io", f"devices-for-{namespace}"
    rules = [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices", "deviceclasses", "devicetaintrules"], "verbs": ["list", "watch"]}]
    subjects = [{"kind": "ServiceAccount", "name": "rayscaler", "namespace": namespace}]
    reference = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    meta = {"name": name}
    api_server.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
    api_server.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": meta, "subjects": subjects, "roleRef": reference})
    yield
    for plural in ("clusterrolebindings", "clusterroles"):
        api_server.admin.of(plural).delete(name)


def test_a_device_taint_rule_moves_the_work(dra, device_reader, scenario, namespace, controller, api_server):
    """The rule is not in the ResourceSlice; the replacement gets the other device of the Node."""
    may_read_claims(api_server, namespace)
    dra.node("n1", gpus=2)
    dra.template(namespace, "one-gpu", request("gpu"))
    one = scenario(rm.cluster("tainted", [claiming_group("gpu-group", "one-gpu", maxReplicas=2)]))
    control = controller(namespace, "--repair-after-seconds", "1")
    rules = api_server.admin.of("devicetaintrules")
    with one.program() as program:
        program.actors(1, name="busy", num_gpus=1)
        (old,) = program.ready("busy")
        (device,) = dra.allocated(namespace)[old]
        selector = {"driver": nvidia.GPU, "pool": "n1", "device": device.split("/")[1]}
        taint = {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}
        rules.create({"metadata": {"name": "sick"}, "spec": {"deviceSelector": selector, "taint": taint}})
        try:
            control.wait_for("ScaleUpReplacement", f"device {selector['device']}: taint gpu.nvidia.com/xid=79", seconds=20)
            wait_until(lambda: program.call("draining"), 60, "Ray to know")
            found = dra.allocated(namespace)
            assert found.pop(old) == [device] and list(found.values()) == [[f"n1/gpu-{1 - int(device[-1])}"]]
        finally:
            rules.delete("sick")
        program.end()


def test_a_claim_that_no_device_satisfies(dra, device_reader, scenario, namespace, controller, api_server, work_dir):
    """The next group serves the demand; once it is full, the first one is launched, and says what it waits for."""
    may_read_claims(api_server, namespace)
    dra.node("n1", gpus=2)
    dra.template(namespace, "large", request("gpu", cel="device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('100Gi'))"))
    dra.template(namespace, "one-gpu", request("gpu"))
    one = scenario(rm.cluster("lacking", [claiming_group("first", "large"), claiming_group("second", "one-gpu", maxReplicas=1)]))
    control = controller(namespace, "--node-provision-timeout-seconds", "6")
    cli = Cli(api_server, namespace, work_dir, system=namespace)
    lack = "waits for a device: class gpu.nvidia.com with memory > 100Gi, 0 of 0 free"

    def explained(text):
        found = cli.run("explain", "lacking", "--controller-url", control.address("metrics")).stdout
        return text in " ".join(found.split())

    def conditions():
        found = ((one.autoscaler() or {}).get("status") or {}).get("conditions") or []
        return [f"{each['type']} {each['message']}" for each in found]

    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.wait_workers(1, "second")
        assert not control.find("scaled", '"group": "first"')
        program.actors(1, "more", num_gpus=1)
        (pod,) = one.wait_workers(1, "first")
        wait_until(lambda: explained(f"{pod} first Pending NoDevice: {lack}"), 20, "the reason")
        begin = "AbleToScale group first provides no capacity (NoDevice)"
        wait_until(lambda: any(begin in text and lack in text for text in conditions()), 20, "the condition")
        # The object says so before the patch is sent.
        wait_until(lambda: (one.replicas("first"), one.replicas("second")) == (0, 1), 20, "the launch to be taken back")
        program.end()


def test_a_pool_of_the_gpus_in_slices(dra, pool, api_server, namespace, controller):
    """Nodes without nvidia.com/gpu: their slices are the size of a GPUPool, and claims use them up, of whichever Pod."""
    for name in ("n1", "n2", "n3"):
        dra.node(name, gpus=2, labels=pool.selector)
    pool.create(None, {"name": "a", "guaranteed": 0})
    space, fleet = pool.space("a"), Fleet(pool)
    for where in (space, namespace):
        dra.template(where, "one", request("gpu"))
        dra.template(where, "two", request("gpu", count=2))

    def there(where, node, **metadata):
        """A Pod with one GPU of the Node."""
        made = sleeper(f"on-{node}", "one")
        made["metadata"].update(metadata)
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node, **pool.selector}
        api_server.admin.of("pods", where).create(made)

    owner = fleet.add("one", "a", 2, claim="one")["metadata"]
    owns = [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "one", "uid": owner["uid"], "controller": True}]
    labels = {kp.CLUSTER_LABEL: "one", kp.GROUP_LABEL: "gpu", kp.NODE_TYPE_LABEL: "worker"}
    for node in ("n1", "n2"):
        there(space, node, labels=labels, ownerReferences=owns)
    there(namespace, "n3")
    runs(api_server.admin.of("pods", space), "on-n1", "on-n2")
    runs(api_server.admin.of("pods", namespace), "on-n3")
    controller(namespace, everywhere=True)
    fleet.wait(one=2)
    wait_until(lambda: (pool.status().get("gpus") or {}).get("total") == "6", 20, "the size of the pool")
    # One GPU is free on each Node, and a worker needs two of one.
    fleet.add("two", "a", 2, claim="two")
    wait_until(lambda: fleet.limited("two").startswith("WaitsForPool"), 20, "the other to wait")
    hold(lambda: fleet.replicas() == {"one": 2, "two": 0}, 2, "it waits")
    api_server.admin.of("pods", space).delete("on-n1")
    fleet.wait(two=1)


@pytest.mark.test_all  # eight raylets; test_two_compute_domains_share_no_node has the channels
def test_a_group_of_hosts_for_each_compute_domain(dra, scenario, namespace, controller, api_server):
    """Each gang of four hosts is within one clique, without num-gpus, and ends as a whole."""
    may_read_claims(api_server, namespace)
    dra.template(namespace, "four", request("gpu", count=4))
    groups = []
    for rack, domain in (("a", "left"), ("b", "right")):
        for number in range(4):
            dra.node(f"{rack}{number}", gpus=4, clique=f"rack-{rack}.0")
        dra.channel(namespace, domain)
        groups.append(in_one_clique(claiming_group(domain, domain, "four", numOfHosts=4, maxReplicas=1)))
    one = scenario(rm.cluster("domains", groups))
    controller(namespace)
    with one.program() as program:
        for gang in ("first", "second"):
            program.call("group", name=gang, strategy="STRICT_SPREAD", bundles=[{"GPU": 4}] * 4)
            program.ready(gang, seconds=120)
        assert (one.replicas("left"), one.replicas("right")) == (1, 1)
        cliques = [{pod["spec"]["nodeName"][0] for pod in one.worker_pods(group)} for group in ("left", "right")]
        assert sorted(map(list, cliques)) == [["a"], ["b"]]
        program.end()
    for group in ("left", "right"):
        one.wait_empty(group=group)


def in_one_clique(group):
    """The affinity that lint asks for."""
    selector = {"matchLabels": {"ray.io/node-type": "worker"}}
    term = {"labelSelector": selector, "matchLabelKeys": ["ray.io/cluster", "ray.io/group"], "topologyKey": nvidia.CLIQUE_LABEL}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    group["template"]["spec"]["affinity"] = affinity
    return group


def only(resource):
    """rayStartParams of the one group that has this resource."""
    return {"resources": f"'{{\"{resource}\": 1}}'"}


def test_parts_and_alternatives_from_zero(dra, scenario, namespace, controller, api_server):
    """A MIG device is a GPU to Ray. Of alternatives the least is promised; the worker has what it was given."""
    dra.node("n1", gpus=1, mig=True)
    dra.node("n2", gpus=2, product=nvidia.A100)
    dra.template(namespace, "part", request("mig", "mig.nvidia.com", "device.attributes['gpu.nvidia.com'].profile == '1g.10gb'"))
    dra.template(namespace, "either", first_available("gpu", request("new", cel=HOPPER), request("old", count=2)))
    groups = [claiming_group(name, template, params=only(name)) for name, template in (("parts", "part"), ("whole", "either"))]
    one = scenario(rm.cluster("kinds", groups))
    may_read_claims(api_server, namespace)
    controller(namespace)
    with one.program() as program:
        for name, gpus in (("parts", 1), ("whole", 2)):  # a MIG device was made of the only new GPU
            program.actors(1, name, num_gpus=1, resources={name: 1})
            (pod,) = program.ready(name)
            assert [pod] == one.wait_joined(1, name)
            wait_until(lambda: one.witness.node(pod)["total"]["GPU"] == gpus, 10, f"{gpus} GPUs in Ray")
        program.end()
    for name in ("parts", "whole"):
        one.wait_empty(group=name)


def test_a_sidecar_that_may_read_claims(dra, standins, scenario, namespace, api_server):
    """KubeRay's Role has no right on resource.k8s.io: the log says which, and one more Role for the head's
    ServiceAccount gives it."""
    may_read_claims(api_server, namespace, "side")
    dra.node("n1", gpus=2)
    dra.template(namespace, "one-gpu", request("gpu"))
    bare, one = (
        scenario(rm.cluster(name, [claiming_group("gpu-group", "one-gpu", maxReplicas=2)], autoscaler=rm.sidecar_options()))
        for name in ("bare", "side")
    )

    def refused(cluster, kind):
        head = cluster.head()["metadata"]["name"]
        log = standins.pods_dir / namespace / head / f"{kp.AUTOSCALER_CONTAINER}.log"
        return f" cannot be read: grant list and watch of {kind} of resource.k8s.io" in log.read_text()

    for kind in ("resourceclaimtemplates", "resourceclaims", "resourceslices", "deviceclasses"):
        wait_until(lambda kind=kind: refused(bare, kind), 30, f"the line about {kind}")
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.wait_joined(1, "gpu-group")
        program.end()
    one.wait_empty()
    wait_until(lambda: refused(one, "resourceslices"), 30, "the line about resourceslices")
    assert not refused(one, "resourceclaims")


@pytest.mark.test_all  # 35 s; test_a_raylet_has_the_gpus_of_its_claims shows what its worker would have, which shows what the worker would have
def test_rays_own_autoscaler_never_launches_such_a_group(dra, scenario, namespace, api_server, work_dir, artefacts):
    """From the group's limits it sees no GPU."""
    dra.node("n1", gpus=4)
    dra.template(namespace, "one-gpu", request("gpu"))
    manifest = rm.cluster("theirs", [claiming_group("gpu-group", "one-gpu", maxReplicas=4)])
    del manifest["spec"]["headGroupSpec"]["rayStartParams"]["include-log-monitor"]
    one = scenario(manifest)
    theirs = start_ray_autoscaler(api_server, namespace, "theirs", RayHead(one), work_dir)
    artefacts.log("ray-autoscaler", theirs.log)
    with theirs, one.program(prints=True) as program:
        program.actors(2, num_gpus=1)
        wait_until(lambda: REFUSED.search("\n".join(program.autoscaler_lines())), 60, "the line of Ray's autoscaler")
        hold(lambda: one.replicas() == 0 and not one.worker_pods(), 12, "no worker, twice its interval")
        program.end()
