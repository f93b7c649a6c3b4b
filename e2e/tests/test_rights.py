"""Each right of each mode removed by itself: the program names verb, resource and fix, does not spin, and
continues with the rest. With all of them nothing is refused, and no Secret is read but by its name, for a token.

All programs of a mode run at once, each with a ServiceAccount of its own; those that watch one namespace have one
of their own as well. There is no operator for their RayClusters: minReplicas is honoured without Ray.
"""

import base64
import re
import shlex
import shutil
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set, Tuple

import pytest

from rayscaler_e2e import chart, paths, rayclusters
from rayscaler_e2e.apiserver import ApiServer, load_yaml
from rayscaler_e2e.kuberay_pod import owner_reference
from rayscaler_e2e.program import Controller
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

ACCOUNTS = "rayscaler-rights"  # manifests/audit-policy.yaml
RBAC = "rbac.authorization.k8s.io"
RCA = "rayclusterautoscalers"
Right = Tuple[str, str, str]
SECONDS = 40.0
ALL: Right = ("", "", "all")
TOKEN: Right = ("", "", "token")  # all, and its RayCluster has token authentication


class Lack(NamedTuple):
    """The symptoms of a missing right: a log line with these words, and does it scale, is it ready; or does
    it end, to be started again, because it can lead no longer?"""

    says: str = ""
    scales: bool = True
    ready: bool = True
    ends: bool = False


STALLED = "cannot read from the API server"
EVENTS, OBJECTS, NODES = "events cannot be read", "RayClusterAutoscalers are not used", "Nodes cannot be read"
POOLS = "GPUPools cannot be read"
LEASE, STATUS = "cannot use the Lease", "its users see nothing there"

CONTROLLER: Dict[Right, Lack] = {
    # Only a patch that met a conflict reads it again.
    ("get", "ray.io", "rayclusters"): Lack(),
    ("list", "ray.io", "rayclusters"): Lack(STALLED, scales=False, ready=False),
    ("watch", "ray.io", "rayclusters"): Lack(STALLED, ready=False),
    ("patch", "ray.io", "rayclusters"): Lack("cannot change the RayCluster", scales=False),
    ("list", "", "pods"): Lack(STALLED, scales=False, ready=False),
    ("watch", "", "pods"): Lack(STALLED, ready=False),
    ("get", "", "secrets"): Lack("DemandUnavailable"),
    # Only for Kubernetes-delegated tokens (test_secured_ray.py).
    ("create", "", "serviceaccounts/token"): Lack(),
    ("list", "", "nodes"): Lack(NODES),
    ("watch", "", "nodes"): Lack(NODES),
    ("create", "", "events"): Lack("Events are not sent"),
    # Only an Event that is sent again is patched.
    ("patch", "", "events"): Lack(),
    ("list", "", "events"): Lack(EVENTS),
    ("watch", "", "events"): Lack(EVENTS),
    ("list", "rayscaler.dev", RCA): Lack(OBJECTS),
    ("watch", "rayscaler.dev", RCA): Lack(OBJECTS),
    # GPUPools are of no namespace: a controller of one namespace does not read them.
    ("get", "rayscaler.dev", "gpupools"): Lack(),
    ("list", "rayscaler.dev", "gpupools"): Lack(),
    ("watch", "rayscaler.dev", "gpupools"): Lack(),
    ("patch", "rayscaler.dev", "gpupools/status"): Lack(),
    # Only beside a RayCluster that claims devices (test_dra.py).
    **{
        (verb, "resource.k8s.io", plural): Lack()
        for verb in ("list", "watch")
        for plural in ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices", "devicetaintrules")
    },
    # Only beside a GPUPool.
    ("list", "", "namespaces"): Lack(),
    ("watch", "", "namespaces"): Lack(),
    ("create", "rayscaler.dev", RCA): Lack(STATUS),
    ("patch", "rayscaler.dev", f"{RCA}/status"): Lack(STATUS),
    ("create", "coordination.k8s.io", "leases"): Lack(LEASE, scales=False),
    ("get", "coordination.k8s.io", "leases"): Lack(LEASE, scales=False),
    # It has made the Lease, and cannot renew it.
    ("update", "coordination.k8s.io", "leases"): Lack(LEASE, ends=True),
}
SIDECAR: Dict[Right, Lack] = {
    ("get", "", "pods"): Lack(),
    ("list", "", "pods"): Lack(STALLED, scales=False, ready=False),
    ("watch", "", "pods"): Lack(STALLED, ready=False),
    ("patch", "", "pods"): Lack(),
    ("patch", "", "pods/resize"): Lack(),
    ("get", "ray.io", "rayclusters"): Lack(STALLED, scales=False, ready=False),
    ("patch", "ray.io", "rayclusters"): Lack("cannot change the RayCluster", scales=False),
}
# Of all namespaces: the objects that it reads, and each program scales the RayClusters of the others as well.
CLUSTER_WIDE = {
    right: lack for right, lack in CONTROLLER.items() if right[0] in ("list", "watch") and right[2] != "leases"
}
CLUSTER_WIDE[("list", "rayscaler.dev", "gpupools")] = CLUSTER_WIDE[("watch", "rayscaler.dev", "gpupools")] = Lack(POOLS)
MODES: Dict[str, Dict[Right, Lack]] = {"namespace": CONTROLLER, "sidecar": SIDECAR, "cluster": CLUSTER_WIDE}


def rights_of(*files: str) -> Set[Right]:
    rules = [rule for file in files for role in load_yaml(paths.MANIFESTS / file) for rule in role["rules"]]
    return {(v, g, r) for rule in rules for v in rule["verbs"] for g in rule["apiGroups"] for r in rule["resources"]}


GRANTED = {
    "namespace": rights_of("controller-role.yaml", "leader-role.yaml"),
    "sidecar": rights_of("kuberay-sidecar-role.yaml"),
    "cluster": rights_of("controller-role.yaml"),
}


# Asked for without the right, and done without: KubeRay's Role for the sidecar has no Events.
TRIED: Dict[str, Set[Right]] = {"namespace": set(), "sidecar": {("list", "", "events")}, "cluster": set()}


class Limited(Controller):
    """One program with the rights of its mode but ``right``, and its RayCluster "demo"."""

    def __init__(self, server: ApiServer, mode: str, right: Right, work_dir: Any):
        words = "-".join(filter(None, (mode, right[0], right[2].replace("/", "-"))))
        self.server, self.mode, self.right = server, mode, right
        self.account, self.namespace = words, f"rights-{words}"
        server.create_namespace(self.namespace)
        server.ensure_service_account(ACCOUNTS, self.account)
        self._grant(GRANTED[mode] - {right})
        token = server.service_account_token(ACCOUNTS, self.account)
        work_dir.mkdir(parents=True, exist_ok=True)
        kubeconfig = server.write_kubeconfig(work_dir / f"{words}.kubeconfig", token=token)
        self._words = [str(paths.controller()), "run", "--kubeconfig", str(kubeconfig)]
        self._words += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]
        self._words += self._flags()
        self._env, self.log = None, work_dir / f"{words}.log"
        self._make_cluster()
        self.start()

    def _flags(self) -> List[str]:
        if self.mode == "sidecar":
            return ["--cluster-name", "demo", "--cluster-namespace", self.namespace]
        flags = ["--namespace", self.namespace] if self.mode == "namespace" else []
        if self.right[2] == "leases" or (self.mode == "namespace" and self.right == ALL):
            flags += ["--leader-elect", "--leader-elect-resource-namespace", self.namespace]
            flags += ["--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"]
        return flags

    def _grant(self, rights: Set[Right]) -> None:
        self._bind("" if self.mode == "cluster" else self.namespace, sorted(rights))
        if self.mode == "namespace":  # Nodes are of no namespace
            self._bind("", sorted(right for right in rights if right[2] == "nodes"))

    def _bind(self, namespace: str, rights: List[Right]) -> None:
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": f"rights-{self.account}", **({"namespace": namespace} if namespace else {})}
        rules = [{"apiGroups": [g], "resources": [r], "verbs": [v]} for v, g, r in rights]
        self.server.apply({"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules})
        self.server.apply(
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": f"{kind}Binding",
                "metadata": metadata,
                "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
                "subjects": [{"kind": "ServiceAccount", "name": self.account, "namespace": ACCOUNTS}],
            }
        )

    def _make_cluster(self) -> None:
        """With token authentication where the right to Secrets is checked: a head Pod that does not answer."""
        admin = self.server.admin
        made = rayclusters.minimal("demo", rayclusters.group("workers", minReplicas=1, replicas=0, maxReplicas=2))
        # An operator of the session takes it for invalid.
        made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
        token = self.right in (("get", "", "secrets"), TOKEN)
        if token:
            made["spec"]["authOptions"] = {"mode": "token"}
        made = admin.of("rayclusters", self.namespace).create(made)
        if token:
            self._make_token(made)

    def _make_token(self, cluster: Dict[str, Any]) -> None:
        admin = self.server.admin
        token = base64.b64encode(b"hunter2" * 5).decode()
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "demo"}, "data": {"auth_token": token}}
        admin.of("secrets", self.namespace).create(secret)
        labels = {"ray.io/cluster": "demo", "ray.io/node-type": "head", "ray.io/group": "headgroup"}
        ports = [{"name": "gcs-server", "containerPort": 1}]
        spec = {"containers": [{**rayclusters.container("ray-head"), "ports": ports}]}
        metadata = {"name": "demo-head", "labels": labels, "ownerReferences": [owner_reference(cluster)]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        pods = admin.of("pods", self.namespace)
        pods.create(pod)
        path = f"/api/v1/namespaces/{self.namespace}/pods/demo-head/status"
        status = {"status": {"phase": "Running", "podIP": "127.0.0.1"}}
        admin.call("PATCH", path, status, content_type="application/merge-patch+json")

    def replicas(self) -> int:
        cluster = self.server.admin.of("rayclusters", self.namespace).get("demo")
        return cluster["spec"]["workerGroupSpecs"][0]["replicas"]

    def asked(self) -> List[Tuple[str, str, str, str, int]]:
        return self.server.requests_of(self.account, ACCOUNTS)


class Batch:
    """The programs of one mode."""

    def __init__(self, server: ApiServer, mode: str, work_dir: Any):
        self.mode = mode
        self.made: Dict[Right, Limited] = {}
        shutil.rmtree(work_dir, ignore_errors=True)  # the logs of a run before
        try:
            for right in [*MODES[mode], ALL, *([TOKEN] if mode == "namespace" else [])]:
                self.made[right] = Limited(server, mode, right, work_dir)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> List[Tuple[str, int]]:
        running = [one for one in self.made.values() if one.process.running()]
        return [(one.account, status) for one in running if (status := one.stop())]


@pytest.fixture(scope="module")
def batch_of(api_server: ApiServer) -> Iterator[Callable[[str], Batch]]:
    """``batch_of(mode)``: one mode at a time, so that the programs of all namespaces meet no others."""
    api_server.create_namespace(ACCOUNTS)
    running: List[Batch] = []
    failed: Dict[str, Exception] = {}

    def end() -> None:
        for batch in running:
            unclean = batch.stop()
            for one in batch.made.values():
                api_server.empty_namespace(one.namespace)
            assert not unclean, f"SIGTERM: exit status {unclean}"
        running.clear()

    def get(mode: str) -> Batch:
        if mode in failed:  # once, and not for each of its tests
            raise failed[mode]
        if not running or running[0].mode != mode:
            end()
            try:
                running.append(Batch(api_server, mode, paths.work_root() / "rights" / mode))
            except Exception as error:
                failed[mode] = error
                raise
        return running[0]

    yield get
    end()


def told(one: Limited, words: str, verb: str) -> str:
    """The error in the line, once there is one."""
    found = [line["error"] for line in one.find(words) if f"{verb} {one.right[2].split('/')[0]}" in line.get("error", "")]
    return found[0] if found else ""


def each_right() -> List[Any]:
    """By mode; at the end of each the program that has all rights."""
    found = []
    for mode, rights in MODES.items():
        for right in [*rights, ALL, *([TOKEN] if mode == "namespace" else [])]:
            words = "-".join(filter(None, (mode, right[0], right[2].replace("/", "-"))))
            found.append(pytest.param(mode, right, id=words))
    return found


def test_every_right_is_here():
    assert set(CONTROLLER) == GRANTED["namespace"]
    assert set(SIDECAR) == GRANTED["sidecar"]


@pytest.mark.parametrize("mode,right", each_right())
def test_rights(mode: str, right: Right, batch_of: Callable[[str], Batch], artefacts: Any, request: Any):
    batch = batch_of(mode)
    one = batch.made[right]
    artefacts.log(one.account, one.log)
    if right == ALL:
        nothing_is_refused(one)
    elif right == TOKEN:
        a_secret_is_read_by_its_name_alone(one)
    else:
        without_one_right(one, MODES[mode][right])
        if right[2] == "secrets":
            the_command_of_the_message_gives_the_right(one, request.getfixturevalue("kubectl"))


def without_one_right(one: Limited, lack: Lack) -> None:
    verb, group, resource = one.right
    if lack.says:
        line = wait_until(lambda: told(one, lack.says, verb), SECONDS, f"{lack.says}: {verb} {resource}")
        assert f'grant {{apiGroups: ["{group}"], resources: ["{resource}"], verbs: ["{verb}"]}} by a ' in line
        if resource == "secrets":
            assert f": kubectl create rolebinding rayscaler-secrets --clusterrole=rayscaler-secrets --serviceaccount={ACCOUNTS}:{one.account}" in line
            assert f" --namespace={one.namespace}, or the chart's value rbac.readSecrets.namespaces" in line
    if lack.scales:
        wait_until(lambda: one.replicas() == 1, SECONDS, "the rest to go on")
    elif one.mode != "cluster":
        assert one.replicas() == 0
    if lack.ends:
        wait_until(lambda: not one.process.running(), SECONDS, "who cannot renew to end")
        assert one.process.returncode() == 1
        one.wait_for("is lost, another replica may act now")
    else:
        assert one.process.running()
        assert one.get("/healthz", "probes")[0] == 200
        wait_until(lambda: one.get("/readyz", "probes")[0] == (200 if lack.ready else 503), SECONDS, "/readyz")
    repeated = [line for line in one.lines() if "403" in line.get("error", "")]
    assert len(repeated) <= 4, repeated
    refused = [request for request in one.asked() if request[-1] == 403]
    assert {request[:3] for request in refused} <= {one.right} | TRIED[one.mode], refused
    assert refused or not lack.says
    # A Lease is asked for twice a second here, as the flags say.
    assert len(refused) <= (400 if resource == "leases" else 40), f"it asks again too often: {len(refused)}"


def nothing_is_refused(one: Limited) -> None:
    wait_until(lambda: one.replicas() == 1, SECONDS, "it to scale")
    asked = one.asked()
    assert asked and {request[:3] for request in asked if request[-1] in (401, 403)} <= TRIED[one.mode]
    assert {request[:3] for request in asked} <= GRANTED[one.mode] | TRIED[one.mode]
    assert not [request for request in asked if request[2] == "secrets"], "no Secret without token authentication"
    if one.mode != "cluster":
        assert {request[3] for request in asked} <= {one.namespace, *([""] if one.mode == "namespace" else [])}


def the_command_of_the_message_gives_the_right(one: Limited, kubectl: Any) -> None:
    """Only in this namespace, and the controller goes on by itself."""
    (role,) = [made for made in load_yaml(chart.MANIFESTS / "install.yaml") if made["metadata"]["name"] == "rayscaler-secrets"]
    line = told(one, "DemandUnavailable", "get")
    account = f"--as=system:serviceaccount:{ACCOUNTS}:{one.account}"
    one.server.apply({**role, "metadata": {"name": role["metadata"]["name"]}})
    try:
        kubectl.run(*shlex.split(re.search(r": kubectl (create rolebinding .*?), or ", line).group(1)))
        # The API server knows a new binding after a moment.
        can = lambda: kubectl.run("auth", "can-i", "get", "secrets", "-n", one.namespace, account)  # noqa: E731
        wait_until(can, SECONDS, "the right to read the Secret")
        for where, verb in ((one.namespace, "list"), ("default", "get")):
            kubectl.run("auth", "can-i", verb, "secrets", "-n", where, account, status=1)
        wanted = ("get", "", "secrets", one.namespace, 200)
        wait_until(lambda: wanted in one.asked(), SECONDS, "the Secret to be read")
    finally:
        one.server.admin.of("clusterroles").delete("rayscaler-secrets")


def a_secret_is_read_by_its_name_alone(one: Limited) -> None:
    wanted = ("get", "", "secrets", one.namespace, 200)
    wait_until(lambda: wanted in one.asked(), SECONDS, "the Secret with the token to be read")
    hold(lambda: {request for request in one.asked() if request[2] == "secrets"} == {wanted}, 2, "never a list, nor a watch")
    assert "hunter2" not in one.log.read_text()
    assert base64.b64encode(b"hunter2" * 5).decode() not in one.log.read_text()
