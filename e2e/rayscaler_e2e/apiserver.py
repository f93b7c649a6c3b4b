"""etcd and kube-apiserver as child processes on free loopback ports, RBAC on.

    with ApiServer(work_dir) as server:
        server.install_bench()                       # CRDs and ClusterRoles of the bench
        namespace = server.create_namespace("t1")
        token = server.controller_token(namespace)
        server.write_kubeconfig(work_dir / "controller.kubeconfig", token=token)

The program under test never gets the admin token: it runs with exactly the rights of
``manifests/controller-role.yaml`` or ``manifests/kuberay-sidecar-role.yaml``.

No kubelet runs, no scheduler unless a test starts ``KubeScheduler``, and no controller-manager unless it starts ``ControllerManager``
(``control_plane``): nothing is garbage collected by owner, no namespace deletion finishes, no Deployment makes Pods. Admission by
ServiceAccount is off, because nothing here makes the ``default`` account that it wants.
"""

import itertools
import json
import os
import secrets
import signal
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import yaml

from . import paths
from .kubeclient import ApiError, KubeClient
from .kubeconfig import InClusterFiles, write_kubeconfig
from .pki import CertificateAuthority, service_account_key
from .ports import free_port
from .processes import Process
from .tools import find_tool
from .wait import wait_until

ADMIN_USER = "bench-admin"
NO_RIGHTS_USER = "bench-nobody"
CONTROLLER_ACCOUNT = "rayscaler"
TOKEN_SECONDS = 3600
ISSUER = "https://kubernetes.default.svc"
SERVICE_RANGE = "10.96.0.0/16"
# The verbs of an audit log.
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
_markers = itertools.count(1)


class Write(NamedTuple):
    """One request that changes something: ``plural`` and ``name`` ("" for a create) of its object."""

    account: str
    """The ServiceAccount's name, else the user's."""
    method: str
    plural: str
    name: str
    status: int

    @classmethod
    def of(cls, namespace: str, user: str, method: str, path: str, status: int) -> Optional["Write"]:
        """None for a request outside of ``namespace`` or without a change."""
        _, found, rest = path.partition(f"/namespaces/{namespace}/")
        if not found or method == "GET":
            return None
        words = rest.partition("?")[0].split("/") + [""]
        return cls(user.rpartition(":")[2], method, words[0], words[1], status)


class ApiServer:
    """A running kube-apiserver on etcd, with more flags if wanted; data and logs in ``work_dir``. The constructor returns
    when it is ready (within 60 s, usually within 10); ``stop`` or ``with`` ends it."""

    def __init__(self, work_dir: Path, *flags: str, program: str = "kube-apiserver"):
        self._program, self._etcd_program = find_tool(program), find_tool("etcd")
        self._more_flags = flags
        self.work_dir = Path(work_dir)
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self.pki = CertificateAuthority(self.work_dir / "pki")
        self.ca_file = self.pki.file
        self._cert, self._key = self.pki.server()
        self._account_key = service_account_key(self.pki.directory)
        self.port, self._etcd_port = free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.tokens = {ADMIN_USER: secrets.token_hex(16), NO_RIGHTS_USER: secrets.token_hex(16)}
        self.token_file = self.work_dir / "tokens.csv"
        self._write_token_file()
        self._audit_log = self.work_dir / "audit.log"
        self.has_bench = False
        self.admin = self.client(self.tokens[ADMIN_USER])
        """A ``KubeClient`` in group system:masters, for set-up and for looking."""
        self._etcd: Optional[Process] = None
        self._apiserver: Optional[Process] = None
        try:
            self._start_etcd()
            self._start_apiserver()
            self.version = self.admin.call("GET", "/version")["gitVersion"]
        except BaseException:
            self.stop()
            raise

    # -- life cycle -----------------------------------------------------------------------------

    def describe(self) -> str:
        """One line for the test report: which versions."""
        words = _first_line([str(self._etcd_program), "--version"]).split()
        return f"kube-apiserver {self.version}, etcd {words[-1]}"

    def check_running(self) -> None:
        """Raise, with the end of the log, when a process has ended unexpectedly."""
        for process in (self._etcd, self._apiserver):
            if process is not None:
                process.check_running()

    def stop(self) -> None:
        """End all processes; logs stay in ``work_dir``. Safe to call twice."""
        for process in (self._apiserver, self._etcd):
            if process is not None:
                process.stop()

    def interrupt(self, kill: bool = False) -> None:
        """End the server but keep its data and port, as a crash (``kill``) or an upgrade does."""
        assert self._apiserver is not None
        if kill:
            self._apiserver.kill()
        else:
            self._apiserver.stop()
        self._apiserver = None

    def resume(self) -> None:
        """Start again after ``interrupt``: same data, port and certificates; old watches are closed."""
        self._start_apiserver()

    def freeze(self) -> None:
        """SIGSTOP: connections stay open and nothing answers."""
        assert self._apiserver is not None
        self._apiserver.freeze()

    def thaw(self) -> None:
        """SIGCONT after ``freeze``."""
        assert self._apiserver is not None
        self._apiserver.signal(signal.SIGCONT)

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Until /readyz answers ok, and after the bench is installed until its CRDs are served."""
        wait_until(self._ready, seconds, f"{self.url}/readyz (logs in {self.work_dir})")
        if self.has_bench:
            self._wait_served(*paths.crd_files())

    def _ready(self) -> bool:
        self.check_running()
        try:
            return self.admin.request("GET", "/readyz").status == 200
        except Exception:  # refused or reset while it starts
            return False

    def _start_etcd(self) -> None:
        client = f"http://127.0.0.1:{self._etcd_port}"
        peer = f"http://127.0.0.1:{free_port()}"
        # An old one in PATH cannot be asked how far it is; without this a watch may wait for minutes.
        old = _first_line([str(self._etcd_program), "--version"]).split()[-1].startswith("3.4.")
        progress = ["--experimental-watch-progress-notify-interval=1s"] if old else []
        self._etcd = Process(
            "etcd",
            [
                str(self._etcd_program),
                "--name=bench",
                f"--data-dir={self.work_dir / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=bench={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
                *progress,
            ],
            self.work_dir / "etcd.log",
        )

    def _start_apiserver(self) -> None:
        self._apiserver = Process(
            "kube-apiserver", [str(self._program), *self._flags()], self.work_dir / "kube-apiserver.log"
        )
        self.wait_ready()

    def _flags(self) -> List[str]:
        return [
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._cert}",
            f"--tls-private-key-file={self._key}",
            f"--client-ca-file={self.ca_file}",
            f"--cert-dir={self.work_dir / 'cert-dir'}",
            f"--token-auth-file={self.token_file}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self._account_key}",
            f"--service-account-signing-key-file={self._account_key}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            "--profiling=false",
            f"--audit-policy-file={paths.MANIFESTS / 'audit-policy.yaml'}",
            f"--audit-log-path={self._audit_log}",
            *self._more_flags,
        ]

    def __enter__(self) -> "ApiServer":
        return self

    def __exit__(self, *_exc: Any) -> None:
        self.stop()

    # -- identities -----------------------------------------------------------------------------

    def client(self, token: str) -> KubeClient:
        return KubeClient(self.url, self.ca_file, token=token)

    def service_account_token(self, namespace: str, name: str, seconds: int = TOKEN_SECONDS) -> str:
        """A token of a ServiceAccount that exists (TokenRequest; at least 600 seconds)."""
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": seconds},
        }
        answer = self.admin.of("serviceaccounts", namespace).create_sub(name, "token", body)
        return answer["status"]["token"]

    def controller_token(self, namespace: str, account: str = CONTROLLER_ACCOUNT) -> str:
        """Make the controller's ServiceAccount in ``namespace``, bind its ClusterRole to it in all
        namespaces, and return a token."""
        self.ensure_service_account(namespace, account)
        self.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": f"rayscaler-controller-{namespace}-{account}"},
                "roleRef": _role_ref("ClusterRole", "rayscaler-controller"),
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }
        )
        return self.service_account_token(namespace, account)

    def namespaced_controller_token(self, namespace: str, account: str = CONTROLLER_ACCOUNT) -> str:
        """As ``controller_token``, but with rights in ``namespace`` only (``run --namespace``)."""
        self.ensure_service_account(namespace, account)
        self.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": f"rayscaler-controller-{account}", "namespace": namespace},
                "roleRef": _role_ref("ClusterRole", "rayscaler-controller"),
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }
        )
        return self.service_account_token(namespace, account)

    def controller_token_without(self, namespace: str, resource: str) -> str:
        """As ``namespaced_controller_token``, with every right of the controller but those on ``resource``."""
        account = f"{CONTROLLER_ACCOUNT}-without-{resource}"
        role = load_yaml(paths.MANIFESTS / "controller-role.yaml")[0]
        rules = [rule for rule in role["rules"] if resource not in rule["resources"]]
        assert len(rules) < len(role["rules"]), f"the controller has no rights on {resource}"
        self.ensure_service_account(namespace, account)
        metadata = {"name": account, "namespace": namespace}
        rbac = "rbac.authorization.k8s.io/v1"
        self.apply({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": rules})
        self.apply(
            {
                "apiVersion": rbac,
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": _role_ref("Role", account),
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }
        )
        return self.service_account_token(namespace, account)

    def allow_leader_election(self, namespace: str, account: str = CONTROLLER_ACCOUNT) -> None:
        """Give a ServiceAccount the rights of ``manifests/leader-role.yaml`` in its namespace."""
        (role,) = load_yaml(paths.MANIFESTS / "leader-role.yaml")
        role["metadata"]["namespace"] = namespace
        self.apply(role)
        self.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": f"rayscaler-leader-{account}", "namespace": namespace},
                "roleRef": _role_ref("Role", role["metadata"]["name"]),
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            }
        )

    def sidecar_token(self, namespace: str, cluster: str) -> str:
        """The objects that KubeRay creates for the autoscaler of ``cluster``: a ServiceAccount, Role and
        RoleBinding named after it, with exactly KubeRay's rules; returns a token."""
        role = load_yaml(paths.MANIFESTS / "kuberay-sidecar-role.yaml")[0]
        role["metadata"].update(name=cluster, namespace=namespace)
        self.ensure_service_account(namespace, cluster)
        self.apply(role)
        self.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": cluster, "namespace": namespace},
                "roleRef": _role_ref("Role", cluster),
                "subjects": [{"kind": "ServiceAccount", "name": cluster, "namespace": namespace}],
            }
        )
        return self.service_account_token(namespace, cluster)

    def ensure_service_account(self, namespace: str, name: str) -> None:
        accounts = self.admin.of("serviceaccounts", namespace)
        if accounts.find(name) is None:
            accounts.create(
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
            )

    # -- received requests ----------------------------------------------------------------------

    def writes(self, namespace: str) -> List[Write]:
        """The requested changes in ``namespace``, granted or not, in the order of the answers:
        RayClusters, RayClusterAutoscalers, Leases and Events only."""
        found = []
        for entry in self._audit():
            if entry["verb"] in METHODS:
                method, status = METHODS[entry["verb"]], entry["responseStatus"]["code"]
                found.append(Write.of(namespace, entry["user"]["username"], method, entry["requestURI"], status))
        return [one for one in found if one]

    def requests_of(self, account: str, namespace: str = "rayscaler-system") -> List[Tuple[str, str, str, str, int]]:
        """All that a ServiceAccount has asked for since the server's start, as (verb, API group, resource or
        resource/subresource, namespace, HTTP status). Reads are there for the namespaces of
        manifests/audit-policy.yaml only."""
        found = []
        for entry in self._audit():
            if entry["user"]["username"] == f"system:serviceaccount:{namespace}:{account}" and "objectRef" in entry:
                what = entry["objectRef"]
                resource = "/".join(filter(None, [what["resource"], what.get("subresource")]))
                where = what.get("apiGroup", ""), resource, what.get("namespace", "")
                found.append((entry["verb"], *where, entry["responseStatus"]["code"]))
        return found

    def _audit(self) -> List[Dict[str, Any]]:
        lines = self._all_answered(self._audit_log).splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("}\n")]

    def _all_answered(self, log: Path) -> str:
        """The text of the server's log with every request that was answered before the call: the line of a request is
        written after its answer, and those of a marker's after them."""
        name = f"marker-{next(_markers)}"
        self.admin.of("leases", "default").delete(name, missing_ok=True)
        return wait_until(lambda: name in (text := log.read_text()) and text, 60, f"{name} in {log}")

    # -- files for the program under test ---------------------------------------------------------

    def write_kubeconfig(self, path: Path, **how: Any) -> Path:
        """``kubeconfig.write_kubeconfig`` with this server's URL and CA."""
        return write_kubeconfig(path, self.url, self.ca_file, **how)

    def in_cluster_files(self, directory: Path, token: str, namespace: str) -> InClusterFiles:
        return InClusterFiles(directory, "127.0.0.1", self.port, self.ca_file, token, namespace)

    # -- objects --------------------------------------------------------------------------------

    def apply(self, obj: Dict[str, Any], namespace: Optional[str] = None) -> Dict[str, Any]:
        """Create or replace one object as admin; a binding's rights are in force on return."""
        made = self.admin.for_object(obj, namespace).apply(obj)
        if made["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            wait_until(lambda: self._is_bound(made), 30, f"the rights of {made['metadata']['name']} to be known")
        return made

    def _is_bound(self, binding: Dict[str, Any]) -> bool:
        """Does the server grant one request of each rule? It reads roles and bindings by watches."""
        place, role = binding["metadata"].get("namespace", ""), binding["roleRef"]
        found = self.admin.of("roles", place) if role["kind"] == "Role" else self.admin.of("clusterroles")
        rules = (found.find(role["name"]) or {}).get("rules") or []
        return all(
            self._may({**_requester(subject), "resourceAttributes": _request_of(rule, place)})
            for subject in binding.get("subjects") or []
            for rule in rules
            if rule.get("resources")
        )

    def _may(self, spec: Dict[str, Any]) -> bool:
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        return self.admin.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]

    def apply_file(self, path: Path, namespace: Optional[str] = None) -> List[Dict[str, Any]]:
        """Apply every document of a YAML file."""
        return [self.apply(obj, namespace) for obj in load_yaml(path)]

    def install_bench(self) -> None:
        """Apply the CRDs and manifests/controller-role.yaml and wait until the CRDs are served."""
        for path in paths.crd_files():
            self.apply_file(path)
        self.apply_file(paths.MANIFESTS / "controller-role.yaml")
        self.has_bench = True
        self._wait_served(*paths.crd_files())

    def install_crd(self, path: Path) -> None:
        self.apply_file(path)
        self._wait_served(path)

    def _wait_served(self, *files: Path) -> None:
        """Until the CRDs can be listed and watched: for a moment after a start kube-apiserver answers 429."""
        for path in files:
            for crd in load_yaml(path):
                wait_until(lambda: self._crd_served(crd), 30, f"CRD {crd['metadata']['name']} to be served")

    def _crd_served(self, crd: Dict[str, Any]) -> bool:
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        versions = [version["name"] for version in crd["spec"]["versions"] if version["served"]]
        where = [f"/apis/{group}/{name}/{plural}" for name in versions]
        ends_at_once = {"watch": True, "timeoutSeconds": 1, "resourceVersion": "0"}
        return all(self.admin.request("GET", each).status == 200 for each in where) and all(
            self._opens(each, ends_at_once) for each in where
        )

    def _opens(self, path: str, query: Dict[str, Any]) -> bool:
        try:
            self.admin.stream(path, query, 5).abort()
            return True
        except ApiError as error:
            if error.status not in (404, 429):
                raise
            return False

    def create_namespace(self, name: str) -> str:
        self.admin.of("namespaces").create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def let_read_nodes(self, namespace: str) -> None:
        """Nodes have no namespace: a right of its own for the controller of the test."""
        self.grant(namespace, "nodes", [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}])

    def grant(self, namespace: str, name: str, rules: List[Dict[str, Any]]) -> None:
        """Rights in the whole cluster for the controller of the test."""
        name = f"{name}-for-{namespace}"
        metadata = {"name": name}
        rbac = "rbac.authorization.k8s.io/v1"
        subject = {"kind": "ServiceAccount", "name": CONTROLLER_ACCOUNT, "namespace": namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        self.apply({"apiVersion": rbac, "kind": "ClusterRole", "metadata": metadata, "rules": rules})
        self.apply(
            {
                "apiVersion": rbac,
                "kind": "ClusterRoleBinding",
                "metadata": metadata,
                "roleRef": role,
                "subjects": [subject],
            }
        )

    def empty_namespace(self, namespace: str, seconds: float = 30.0) -> None:
        """Delete the RayClusters, their status objects, Pods and Events of a namespace at once, finalizers
        or not.

        The namespace itself stays: no controller-manager runs that would finish its deletion.
        """
        for plural in ("rayclusters", "rayclusterautoscalers", "pods", "events"):
            resource = self.admin.of(plural, namespace)
            wait_until(lambda: self._deleted_all(resource), seconds, f"{plural} of {namespace} to be gone")

    @classmethod
    def _deleted_all(cls, resource: Any) -> bool:
        """True when there was nothing to delete; an operator may still add an Event meanwhile."""
        found = resource.items()
        for obj in found:
            cls._delete_now(resource, obj)
        return not found

    @staticmethod
    def _delete_now(resource: Any, obj: Dict[str, Any]) -> None:
        name = obj["metadata"]["name"]
        try:
            if obj["metadata"].get("finalizers"):
                resource.patch_merge(name, {"metadata": {"finalizers": None}})
            resource.delete(name, grace_seconds=0, missing_ok=True)
        except ApiError as error:
            if error.status != 404:
                raise

    def dump(self, directory: Path, namespaces: Iterable[str]) -> None:
        """Write the files of a failure report: the objects of the namespaces as YAML."""
        directory.mkdir(parents=True, exist_ok=True)
        for namespace in namespaces:
            for plural in ("rayclusters", "rayclusterautoscalers", "pods", "events"):
                items = self.admin.of(plural, namespace).items()
                (directory / f"{namespace}-{plural}.yaml").write_text(yaml.safe_dump(items, sort_keys=False))

    def _write_token_file(self) -> None:
        """The format of kube-apiserver's --token-auth-file: token,user,uid,"group,group"."""
        rows = [
            f'{self.tokens[ADMIN_USER]},{ADMIN_USER},1,"system:masters"',
            f"{self.tokens[NO_RIGHTS_USER]},{NO_RIGHTS_USER},2",
        ]
        with open(os.open(self.token_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write("\n".join(rows) + "\n")


def load_yaml(path: Path) -> List[Dict[str, Any]]:
    """The documents of a YAML file, empty ones left out."""
    return [obj for obj in yaml.safe_load_all(path.read_text()) if obj]


def _role_ref(kind: str, name: str) -> Dict[str, str]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


def _requester(subject: Dict[str, Any]) -> Dict[str, Any]:
    if subject["kind"] == "ServiceAccount":
        return {"user": f"system:serviceaccount:{subject['namespace']}:{subject['name']}"}
    return {"user": subject["name"]} if subject["kind"] == "User" else {"user": "anyone", "groups": [subject["name"]]}


def _request_of(rule: Dict[str, Any], namespace: str) -> Dict[str, str]:
    resource, _, subresource = rule["resources"][-1].partition("/")
    found = {"namespace": namespace, "verb": rule["verbs"][-1], "group": rule["apiGroups"][-1], "resource": resource}
    return {**found, "subresource": subresource, "name": (rule.get("resourceNames") or [""])[0]}


def _first_line(command: List[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return (done.stdout or done.stderr).splitlines()[0]
