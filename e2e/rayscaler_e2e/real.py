"""etcd and kube-apiserver as child processes on free loopback ports, RBAC on.

No kubelet runs, no scheduler unless a test starts ``KubeScheduler``, and no controller-manager unless it starts ``ControllerManager``:
nothing is garbage collected by owner, no namespace deletion finishes, no Deployment makes Pods. Admission by ServiceAccount is off, because
nothing here makes the ``default`` account that it wants.
"""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from . import paths
from .apiserver import ADMIN_USER, ApiServer, Write
from .pki import service_account_key
from .ports import free_port
from .processes import Process
from .wait import wait_until

ISSUER = "https://kubernetes.default.svc"
SERVICE_RANGE = "10.96.0.0/16"
# The verbs of an audit log.
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}


class ServerMissing(RuntimeError):
    """kube-apiserver or etcd is not on this machine; the message names the fix."""


def find_programs() -> Tuple[Path, Path]:
    """(kube-apiserver, etcd): each from KUBEBUILDER_ASSETS, PATH or the cache, in this order."""
    found: List[Path] = []
    for name in ("kube-apiserver", "etcd"):
        program = _find_program(name)
        if program is None:
            raise ServerMissing(
                f"no {name} in KUBEBUILDER_ASSETS, PATH or {paths.cache_dir()}: "
                "run e2e/setup-apiserver.sh, or choose APISERVER=embedded"
            )
        found.append(program)
    return found[0], found[1]


def _find_program(name: str) -> Optional[Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and os.access(Path(assets) / name, os.X_OK):
        return Path(assets) / name
    in_path = shutil.which(name)
    if in_path:
        return Path(in_path)
    cached = paths.cache_dir() / "bin" / name
    return cached if os.access(cached, os.X_OK) else None


class RealApiServer(ApiServer):
    """kube-apiserver on etcd, with more flags if wanted; data and logs in ``work_dir``."""

    kind = "real"

    def __init__(self, work_dir: Path, *flags: str):
        super().__init__(work_dir)
        self._more_flags = flags
        self._program, self._etcd_program = find_programs()
        self._cert, self._key = self.pki.server()
        self._account_key = service_account_key(self.pki.directory)
        self._etcd_port = free_port()
        self._audit_log = self.work_dir / "audit.log"
        self._etcd: Optional[Process] = None
        self._apiserver: Optional[Process] = None
        try:
            self._start_etcd()
            self._start_apiserver()
            self.version = self.admin.call("GET", "/version")["gitVersion"]
        except BaseException:
            self.stop()
            raise

    def describe(self) -> str:
        words = _first_line([str(self._etcd_program), "--version"]).split()
        return f"kube-apiserver {self.version}, etcd {words[-1]}"

    def check_running(self) -> None:
        for process in (self._etcd, self._apiserver):
            if process is not None:
                process.check_running()

    def stop(self) -> None:
        for process in (self._apiserver, self._etcd):
            if process is not None:
                process.stop()

    def interrupt(self, kill: bool = False) -> None:
        assert self._apiserver is not None
        if kill:
            self._apiserver.kill()
        else:
            self._apiserver.stop()
        self._apiserver = None

    def resume(self) -> None:
        self._start_apiserver()

    def freeze(self) -> None:
        assert self._apiserver is not None
        self._apiserver.freeze()

    def thaw(self) -> None:
        assert self._apiserver is not None
        self._apiserver.signal(signal.SIGCONT)

    def apply(self, obj: Dict[str, Any], namespace: Optional[str] = None) -> Dict[str, Any]:
        made = super().apply(obj, namespace)
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

    def writes(self, namespace: str) -> List[Write]:
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


class ControllerManager:
    """kube-controller-manager with the controllers that an installation needs, against ``server``.

    Its garbage collector works on all namespaces: it deletes objects whose owner was deleted.
    """

    CONTROLLERS = (
        "deployment-controller",
        "replicaset-controller",
        "disruption-controller",
        "garbage-collector-controller",
        "clusterrole-aggregation-controller",
    )

    GARBAGE_COLLECTOR = ("garbage-collector-controller",)

    def __init__(
        self, server: ApiServer, program: Path, work_dir: Path, controllers: Tuple[str, ...] = CONTROLLERS, *flags: str
    ):
        kubeconfig = server.write_kubeconfig(work_dir / "controllers.kubeconfig", token=server.tokens[ADMIN_USER])
        words = [str(program), f"--kubeconfig={kubeconfig}", f"--controllers={','.join(controllers)}", *flags]
        words += ["--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={free_port()}"]
        words += [f"--cert-dir={work_dir / 'controllers-cert'}", "--profiling=false", "--v=1"]
        self.process = Process("kube-controller-manager", words, work_dir / "kube-controller-manager.log")

    def __enter__(self) -> "ControllerManager":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop()


class KubeScheduler:
    """kube-scheduler against ``server``, with its default profile: in place of the scheduler of the kubelet stand-in."""

    def __init__(self, server: ApiServer, program: Path, work_dir: Path, *flags: str):
        kubeconfig = server.write_kubeconfig(work_dir / "scheduler.kubeconfig", token=server.tokens[ADMIN_USER])
        words = [str(program), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1", *flags]
        words += [f"--secure-port={free_port()}", f"--cert-dir={work_dir / 'scheduler-cert'}", "--profiling=false"]
        self.process = Process("kube-scheduler", words, work_dir / "kube-scheduler.log")

    def __enter__(self) -> "KubeScheduler":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.process.stop()


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
