"""TLS and bearer tokens of metrics and status (--metrics-secure), on the real API server with the rights of the chart:
two replicas, tenants, a scraper, forged tokens, a renewed certificate, and `rayscaler status` through the API server's
proxy of the Service by users without rights on Pods."""

import json
import secrets
import shutil
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest
import yaml

from rayscaler_e2e import chart, paths, rayclusters
from rayscaler_e2e.apiserver import ADMIN_USER, ApiServer
from rayscaler_e2e.cli import SECONDS as CLI_SECONDS
from rayscaler_e2e.egress_proxy import EgressProxy
from rayscaler_e2e.hostile.tokens import UNVERIFIED, status_of
from rayscaler_e2e.kubeconfig import write_kubeconfig
from rayscaler_e2e.pki import CertificateAuthority
from rayscaler_e2e.processes import Process
from rayscaler_e2e.program import Controller
from rayscaler_e2e.tools import Tool
from rayscaler_e2e.wait import wait_until

RBAC = "rbac.authorization.k8s.io"
TENANTS = ("team-a", "team-b")
FLOOD = 10000
THREADS = 8
PER_SECOND, BURST = 5, 10  # src/ctl/report/access.h
CLUSTER_RULES = [
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["rayscaler.dev"], "resources": ["rayclusterautoscalers"], "verbs": ["get", "list", "watch"]},
]


class Answer(NamedTuple):
    status: int
    body: str
    header: Dict[str, str]


def ask(address: str, path: str, token: str = "", ca: Optional[Path] = None, scheme: str = "https", seconds: float = 20.0) -> Answer:
    """One GET. ``ca`` None: the certificate is not verified."""
    context = ssl.create_default_context(cafile=str(ca)) if ca else UNVERIFIED
    request = urllib.request.Request(f"{scheme}://{address}{path}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=seconds, context=context if scheme == "https" else None) as answer:
            return Answer(answer.status, answer.read().decode(), dict(answer.headers))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode(), dict(error.headers))


class Replica(Controller):
    """A Pod of the chart's Deployment, as its ServiceAccount."""

    def __init__(self, server: ApiServer, name: str, directory: Path, *flags: str):
        directory.mkdir(parents=True, exist_ok=True)
        token = server.service_account_token(chart.NAMESPACE, "rayscaler")
        kubeconfig = write_kubeconfig(directory / "kubeconfig", server.url, server.ca_file, token=token)
        self._words = [str(paths.controller()), "run", "--kubeconfig", str(kubeconfig), "--metrics-secure"]
        self._words += ["--leader-elect", "--leader-elect-resource-namespace", chart.NAMESPACE]
        # No test hands over: on a loaded machine a flood may keep the API server from answering for longer than 10 s.
        self._words += ["--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=80s"]
        for flag in ("--metrics-bind-address", "--health-probe-bind-address"):
            self._words += [flag, "127.0.0.1:0"]
        self._words += list(flags)
        self._env = {"POD_NAME": name, "PATH": "/usr/bin"}
        self.log = directory / "controller.log"
        self.process: Optional[Process] = None
        self.start()


class Setup:
    """The chart's rights, Service and ServiceAccounts; RayClusters "demo" of two tenants; two replicas."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.egress = EgressProxy(directory)
        self.server = ApiServer(directory / "server", f"--egress-selector-config-file={self.egress.config}")
        self.replicas: List[Replica] = []

    def start(self) -> None:
        self.server.install_bench()
        self.server.create_namespace(chart.NAMESPACE)
        config = self.server.write_kubeconfig(self.directory / "admin.kubeconfig", token=self.server.tokens[ADMIN_USER])
        helm = Tool("helm", config, self.directory)
        group = {"kind": "Group", "apiGroup": RBAC}
        values = {
            "rbac": {
                "statusReaders": [{**group, "name": "system:serviceaccounts"}],
                "statusReadersOfAll": [{**group, "name": "admins"}],
                "metricsReaders": [{"kind": "ServiceAccount", "name": "scraper", "namespace": "monitoring"}],
            }
        }
        for obj in chart.render(helm, values):
            if "Role" in obj["kind"] or obj["kind"] in ("ServiceAccount", "Service"):
                self.server.apply(obj)
        self.server.create_namespace("monitoring")
        self.server.ensure_service_account("monitoring", "scraper")
        for tenant in TENANTS:
            self.server.create_namespace(tenant)
            self.server.ensure_service_account(tenant, "user")
            self.server.admin.of("rayclusters", tenant).create(rayclusters.minimal("demo"))
        self.bind("team-a", "user", "team-a")
        for number in range(2):
            self.replicas.append(Replica(self.server, f"replica-{number}", self.directory / f"replica-{number}"))
        wait_until(lambda: self.leader() is not None, 40, "a replica to lead")
        self._endpoints()

    def leader(self) -> Optional[Replica]:
        """The one that decides."""
        found = [one for one in self.replicas if one.find("deciding starts")]
        return found[0] if found else None

    def bind(self, tenant: str, account: str, namespace: str) -> None:
        """What the role view gives to a user of a namespace, where nothing aggregates roles."""
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "rayscaler-view"}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": tenant}
        metadata = {"name": f"view-{account}", "namespace": namespace}
        self.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]})

    def grant_clusters(self, subject: Dict[str, Any], name: str) -> None:
        """To read RayClusters of all namespaces, and no Pod."""
        self.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": CLUSTER_RULES})
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
        self.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": role, "subjects": [subject]})

    def token(self, namespace: str, name: str = "user") -> str:
        return self.server.service_account_token(namespace, name)

    def reviews(self, resource: str = "tokenreviews") -> int:
        return len([one for one in self.server.requests_of("rayscaler") if one[2] == resource])

    def _endpoints(self) -> None:
        """The Service leads to the replicas: the API server proxies to the IPs of Pods alone."""
        addresses = []
        pods = self.server.admin.of("pods", chart.NAMESPACE)
        for number, replica in enumerate(self.replicas):
            name, ip = f"replica-{number}", f"10.99.0.{number + 1}"
            self.egress.routes[ip] = replica.address("metrics")
            pods.create({"metadata": {"name": name}, "spec": {"containers": [{"name": "rayscaler", "image": "rayscaler"}]}})
            pods.patch_merge(name, {"status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}}, subresource="status")
            addresses.append({"ip": ip, "targetRef": {"kind": "Pod", "name": name, "namespace": chart.NAMESPACE}})
        metadata = {"name": "rayscaler", "namespace": chart.NAMESPACE}
        subset = {"addresses": addresses, "ports": [{"name": "metrics", "port": 8080}]}
        self.server.apply({"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset]})

    def stop(self) -> None:
        for replica in self.replicas:
            replica.process.stop()
        self.server.stop()
        self.egress.stop()


@pytest.fixture(scope="module")
def setup() -> Iterator[Setup]:
    directory = paths.work_root() / "secure"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    made = Setup(directory)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def logs(setup: Setup, artefacts) -> None:
    for number, replica in enumerate(setup.replicas):
        artefacts.log(f"replica-{number}", replica.log)


def test_pages_ask_who_is_there(setup: Setup):
    address = setup.leader().address("metrics")
    pages = ["/metrics", "/status", "/status/team-a/demo", "/snapshot/team-a/demo", "/gpu-holders/team-a/demo", "/work/team-a/demo"]
    for page in pages:
        answer = ask(address, page)
        assert answer.status == 401 and answer.header["WWW-Authenticate"] == "Bearer", page
        assert ask(address, page, "forged").status in (401, 429), page
    tenant, other, scraper = setup.token("team-a"), setup.token("team-b"), setup.token("monitoring", "scraper")
    for page in pages[2:]:
        assert ask(address, page, tenant).status == 200, page
        theirs = ask(address, page.replace("team-a", "team-b"), tenant)
        assert theirs.status == 403 and "rayclusterautoscalers/status" in theirs.body and "team-b" in theirs.body, page
        assert ask(address, page, other).status == 403, page
    assert ask(address, "/metrics", tenant).status == 403
    listed = json.loads(ask(address, "/status", tenant).body)
    assert listed["clusters"] == [] and listed["leader"] is True
    assert "rayscaler_leader 1" in ask(address, "/metrics", scraper).body
    assert ask(address, "/status/team-a/demo", scraper).status == 403
    assert json.loads(ask(address, "/status", setup.token(chart.NAMESPACE, "rayscaler-status-reader")).body)["clusters"]
    # Probes stay open, without TLS; the port of metrics answers nothing without it.
    assert ask(setup.leader().address("probes"), "/healthz", scheme="http").status == 200
    with pytest.raises(OSError):
        ask(address, "/metrics", scraper, scheme="http")
    # A replica that waits for the Lease is scraped too.
    (standby,) = [one for one in setup.replicas if one is not setup.leader()]
    assert "rayscaler_leader 0" in ask(standby.address("metrics"), "/metrics", scraper).body
    assert ask(standby.address("metrics"), "/status/team-a/demo", tenant).status == 421


def test_no_token_is_in_the_log(setup: Setup):
    for replica in setup.replicas:
        text = replica.log.read_text()
        assert "forged" not in text and "eyJ" not in text and "Bearer ey" not in text


def test_a_flood_of_forged_tokens(setup: Setup):
    """10,000 requests cost the API server a few reviews a second, and the honest scrape works meanwhile."""
    address, scraper = setup.leader().address("metrics"), setup.token("monitoring", "scraper")
    assert ask(address, "/metrics", scraper).status == 200
    before, begun = setup.reviews(), time.monotonic()
    statuses: List[int] = []
    honest: List[Tuple[int, float]] = []
    done = threading.Event()

    def flood(count: int) -> None:
        for _ in range(count):
            statuses.append(status_of(address, "/metrics", secrets.token_hex(16)))

    def scrape() -> None:
        while not done.wait(0.5):
            start = time.monotonic()
            honest.append((ask(address, "/metrics", scraper).status, time.monotonic() - start))

    threads = [threading.Thread(target=flood, args=(FLOOD // THREADS,)) for _ in range(THREADS)]
    honest_thread = threading.Thread(target=scrape)
    honest_thread.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    honest_thread.join()
    took = time.monotonic() - begun
    reviews = setup.reviews() - before
    print(f"{len(statuses)} requests in {took:.1f} s, {statuses.count(0)} closed: {reviews} reviews, {len(honest)} scrapes, the slowest {max(t for _, t in honest):.2f} s")
    assert len(statuses) == FLOOD and set(statuses) <= {401, 429, 0}
    assert statuses.count(0) < FLOOD / 100 and statuses.count(401) >= BURST
    # Those of the scraper are one a minute.
    assert reviews <= BURST + PER_SECOND * took + 2 + took / 60
    assert len(honest) > 3 and {status for status, _ in honest} == {200}


def test_a_new_certificate_is_used(setup: Setup, work_dir):
    cas = [CertificateAuthority(work_dir / name, name) for name in ("old-ca", "new-ca")]
    mounted = work_dir / "tls"
    mounted.mkdir()

    def write(ca: CertificateAuthority) -> None:
        for source, name in zip(ca.server(), ("tls.crt", "tls.key")):
            (mounted / f"{name}.next").write_bytes(source.read_bytes())
            (mounted / f"{name}.next").replace(mounted / name)

    def is_trusted(ca: CertificateAuthority) -> bool:
        try:
            return ask(address, "/metrics", scraper, ca.file).status == 200
        except OSError:
            return False

    write(cas[0])
    scraper = setup.token("monitoring", "scraper")
    with Replica(setup.server, "replica-tls", work_dir / "replica", "--metrics-cert-dir", str(mounted)) as replica:
        address = replica.address("metrics")
        assert is_trusted(cas[0]) and not is_trusted(cas[1])
        write(cas[1])
        wait_until(lambda: is_trusted(cas[1]), 30, "the new certificate to be served")
        assert not is_trusted(cas[0])
        replica.wait_for("certificate of the metrics port changed")


class User:
    """`rayscaler` with a kubeconfig of its own."""

    def __init__(self, setup: Setup, directory: Path, **credentials: Any):
        self.config = setup.server.write_kubeconfig(directory / "user.kubeconfig", namespace="team-a", **credentials)
        self._env = {"PATH": "/usr/bin", "HOME": str(directory), "KUBECONFIG": str(self.config)}

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [str(paths.program()), *words], capture_output=True, text=True, timeout=CLI_SECONDS, check=False, env=self._env
        )
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return " ".join(done.stdout.split())


def test_status_without_rights_on_pods(setup: Setup, work_dir):
    """A tenant's token goes through the proxy of the Service, to whichever replica leads."""
    setup.grant_clusters({"kind": "ServiceAccount", "name": "user", "namespace": "team-a"}, "clusters-of-team-a")
    user = User(setup, work_dir, token=setup.token("team-a"))
    wait_until(lambda: user.run("status"), 20, "the API server to know the new binding")
    for _ in range(4):  # any replica may answer first
        text = user.run("status")
        assert f"controller: Service {chart.NAMESPACE}/rayscaler, version" in text and "demo" in text
        assert "from the API objects" not in text and "no controller was reached" not in text
    assert "as the controller sees it" in user.run("explain", "demo")
    theirs = user.run("explain", "demo", "-n", "team-b")
    assert "403" in theirs and "rayclusterautoscalers/status" in theirs


def test_status_with_a_client_certificate(setup: Setup, work_dir):
    """No token of its own: one of the status reader is requested, or the message says which right is missing."""
    setup.grant_clusters({"kind": "Group", "apiGroup": RBAC, "name": "people"}, "clusters-of-people")
    proxy = {"kind": "Group", "apiGroup": RBAC, "name": "people"}
    role = {"apiGroup": RBAC, "kind": "Role", "name": "rayscaler-status-reader"}
    metadata = {"name": "people", "namespace": chart.NAMESPACE}
    setup.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [proxy]})
    cert, key = setup.server.pki.client("ann", ["people", "admins"])
    (work_dir / "ann").mkdir()
    ann = User(setup, work_dir / "ann", client_cert=cert, client_key=key)
    named = f"controller: Service {chart.NAMESPACE}/rayscaler, version"
    text = wait_until(lambda: named in (said := ann.run("status", "-A")) and said, 20, "the API server to know the new bindings")
    assert "team-a" in text and "team-b" in text
    assert "as the controller sees it" in ann.run("explain", "demo", "-n", "team-b")
    cert, key = setup.server.pki.client("bob", ["people"])
    (work_dir / "bob").mkdir()
    bob = User(setup, work_dir / "bob", client_cert=cert, client_key=key).run("explain", "demo")
    assert "has no bearer token" in bob and "rayscaler-status-reader" in bob and "rbac.statusReaders" in bob


# ---- data of other tenants ----

MARK = "foreignmark"
OBJECTS = paths.ROOT / "src/test/data/objects"
# Kinds of tenants, and the Node, whose labels name owners; the samples have every field that a decoder asks for.
SAMPLES = ("ResourceClaimTemplate", "ResourceClaim", "Pod", "RayCluster", "RayClusterAutoscaler", "Event", "Node")
# The rest are names of the administrator: of Nodes and of their devices.
NOT_MARKED = ("apiVersion", "kind", "namespace", "uid", "resourceVersion", "nodeName", "driver", "pool", "device")
PAGES = ("status", "snapshot", "gpu-holders", "work")


def leaves(value: Any, path: Tuple = ()) -> Iterator[Tuple]:
    """The paths of all texts; of a Node those of labels and annotations, because the rest is the administrator's."""
    if isinstance(value, (dict, list)):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(member, (*path, key))
    elif isinstance(value, str) and path[-1] not in NOT_MARKED:
        yield path


def with_text(obj: Dict[str, Any], path: Tuple, text: str) -> Dict[str, Any]:
    changed = json.loads(json.dumps(obj))
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = text
    return changed


def marked(obj: Dict[str, Any], send) -> Tuple[Dict[str, Any], int]:
    """The object with the mark in each text where the API server accepts one, and their number; ``send`` returns the HTTP
    status of a dry run."""
    count = 0
    for path in list(leaves(obj)):
        if obj.get("kind") == "Node" and path[:2] not in (("metadata", "labels"), ("metadata", "annotations")):
            continue
        at = obj
        for key in path:
            at = at[key]
        for text in (f"{at}-{MARK}", MARK, f"{at} || '{MARK}' == ''"):
            changed = with_text(obj, path, text)
            if send(changed) < 300:
                obj, count = changed, count + 1
                break
    return obj, count


def sample(kind: str, namespace: str) -> Dict[str, Any]:
    obj = yaml.safe_load((OBJECTS / f"{kind}.yaml").read_text())
    for name in ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generation", "managedFields"):
        obj["metadata"].pop(name, None)
    obj["metadata"].pop("namespace", None)
    if kind != "Node":
        obj["metadata"]["namespace"] = namespace
    if kind == "Pod":
        obj["spec"]["nodeName"] = "sample"
    for name in ("labels", "annotations"):
        obj["metadata"].setdefault(name, {})[f"example.com/{MARK}"] = MARK
    return json.loads(json.dumps(obj, default=lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ")))


def fill(server: ApiServer, namespace: str) -> Dict[str, int]:
    """Objects of a tenant that are full of marks; their number by kind."""
    counts = {}
    for kind in SAMPLES:
        obj = sample(kind, namespace)
        resource = server.admin.for_object(obj, namespace)
        status = obj.pop("status", None) if kind != "Node" else None

        def dry(changed):
            return server.admin.request("POST", resource.path(), changed, params={"dryRun": "All"}).status

        if kind == "Event":
            obj.setdefault("involvedObject", {})["namespace"] = namespace
        obj, counts[kind] = marked(obj, dry)
        name = resource.create(obj)["metadata"]["name"]
        if kind == "Node":
            resource.patch_merge(name, {"status": sample(kind, namespace)["status"]}, subresource="status")
        if status:

            def dry_status(changed):
                answer = server.admin.request(
                    "PATCH",
                    resource.path(name, "status"),
                    {"status": changed},
                    params={"dryRun": "All"},
                    content_type="application/merge-patch+json",
                )
                return answer.status

            status, more = marked(status, dry_status)
            counts[kind] += more
            if dry_status(status) < 300:
                resource.patch_merge(name, {"status": status}, subresource="status")
    return counts


def waiting_worker(server: ApiServer, namespace: str, cluster: str) -> None:
    """A Pod of the cluster that fits no Node: its snapshot then has Nodes, and what other Pods take of them."""
    uid = server.admin.of("rayclusters", namespace).get(cluster)["metadata"]["uid"]
    labels = {"ray.io/cluster": cluster, "ray.io/node-type": "worker", "ray.io/group": "workers"}
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": cluster, "uid": uid, "controller": True}
    metadata = {"name": f"{cluster}-workers-1", "labels": labels, "ownerReferences": [owner]}
    pods = server.admin.of("pods", namespace)
    pods.create({"metadata": metadata, "spec": {"containers": [rayclusters.container("ray-worker", {"cpu": "1000"})]}})
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available"}
    status = {"phase": "Pending", "conditions": [condition]}
    pods.patch_merge(metadata["name"], {"status": status}, subresource="status")


def claiming(name: str) -> Dict[str, Any]:
    """A RayCluster whose workers claim a device, so that ResourceClaims and their templates are read."""
    cluster = rayclusters.minimal(name)
    spec = cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "own"}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return cluster


def test_no_page_shows_what_is_another_tenants(setup: Setup):
    server, address, tenant = setup.server, setup.leader().address("metrics"), setup.token("team-a")
    counts = fill(server, "team-b")
    print("texts with a mark:", counts)
    assert all(count >= 2 for count in counts.values()), counts
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    template = {"metadata": {"name": "own"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    server.admin.of("resourceclaimtemplates", "team-a").create(template)
    server.admin.of("rayclusters", "team-a").create(claiming("claims"))
    for cluster in ("demo", "claims"):
        waiting_worker(server, "team-a", cluster)

    def page(name: str, token: str) -> str:
        answer = ask(address, name, token)
        assert answer.status == 200, (name, answer)
        return answer.body

    def complete(cluster: str) -> bool:
        taken = json.loads(page(f"/snapshot/team-a/{cluster}", tenant))
        return bool(taken.get("nodes") and taken.get("otherPods") and "resourceClaimTemplates" in taken)

    for cluster in ("demo", "claims"):
        wait_until(lambda cluster=cluster: complete(cluster), 90, f"the whole snapshot of {cluster}")
        for name in PAGES:
            text = page(f"/{name}/team-a/{cluster}", tenant)
            assert MARK not in text, f"/{name}: " + text[max(0, text.index(MARK) - 300) :][:600]
    assert MARK not in page("/status", tenant)
    assert ask(address, "/metrics", tenant).status == 403
    # They are there, for those who may see them.
    everyone = setup.token(chart.NAMESPACE, "rayscaler-status-reader")
    scraper = setup.token("monitoring", "scraper")
    wait_until(lambda: MARK in page("/status", everyone) and MARK in ask(address, "/metrics", scraper).body, 20, "marks for those")
