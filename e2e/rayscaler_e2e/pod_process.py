"""Containers of the kubelet stand-in as processes, and their environment from the node."""

import base64
import fcntl
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, Optional, Set, TextIO, Tuple
from urllib.parse import urlsplit

from . import kuberay_pod as kp
from . import image, paths, pod_devices, quick_raylet
from .agent_ports import AgentPorts
from .kubeclient import ApiError, KubeClient
from .kubeconfig import sees_account
from .pki import addresses_of
from .pod_reaper import MARK_VARIABLE, kill_all
from .processes import Process
from .watchcache import WatchCache

Object = Dict[str, Any]
RAY_STARTED = b"Ray runtime started."
TOKEN_SECONDS = 3600
log = logging.getLogger("kubelet")
_VARIABLE = re.compile(r"\$(\$|\(([A-Za-z_][A-Za-z0-9_.-]*)\))")


class Host:
    """The node: addresses, directories, names, secrets."""

    def __init__(self, client: KubeClient, ca_file: Path, work_dir: Path, pods: WatchCache):
        self.client = client
        self._ca_file = ca_file
        self.work_dir = work_dir
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self._pods = pods
        self._lock, self._network = _take_network()
        self._addresses: Set[str] = set()
        # Sockets of a raylet must fit in 107 characters, so Ray's files cannot be in work_dir. The
        # holder of the lock owns the directory: files in it were left by a process that was killed.
        self.short_dir = Path(f"/tmp/rayscaler-{os.getuid()}-{self._network}")
        shutil.rmtree(self.short_dir, ignore_errors=True)
        self._bin = self.short_dir / "bin"
        self._bin.mkdir(parents=True, mode=0o700)
        self._reaper = self._start_reaper()

    def _start_reaper(self) -> "subprocess.Popen[bytes]":
        """Waits for our end; it shares the lock, so that no other bench takes the network before it is done."""
        return subprocess.Popen(
            [sys.executable, "-m", "rayscaler_e2e.pod_reaper", self._network, str(self.short_dir)],
            stdin=subprocess.PIPE,
            cwd=paths.E2E,
            start_new_session=True,
            pass_fds=[self._lock.fileno()],
        )

    def add_program(self, name: str, path: Path) -> None:
        """Every container finds ``path`` as ``name``: images are not known here."""
        (self._bin / name).symlink_to(path)

    def close(self) -> None:
        self._reaper.communicate(timeout=30)
        self._lock.close()

    def take_address(self) -> str:
        for number in range(2, 250 * 250):
            address = f"{self._network}.{number // 250}.{number % 250 + 1}"
            if address not in self._addresses:
                self._addresses.add(address)
                return address
        raise RuntimeError("no address left")

    def give_back(self, address: str, pod: Object) -> None:
        """The Pod's processes have ended; Ray's logs are kept, the rest of its files is not."""
        directory = self.ray_dir(address)
        if directory.exists():
            kept = self.pod_dir(pod) / "ray-logs"
            for session in directory.glob("session_2*"):
                shutil.copytree(session / "logs", kept, dirs_exist_ok=True, ignore_dangling_symlinks=True)
            shutil.rmtree(directory, ignore_errors=True)
        # Not used again: a late packet or an old connection must not reach another Pod.

    def mark(self, pod: Object, container: str) -> str:
        return f"{pod['metadata']['uid']}/{container}/{self._network}"

    def pod_dir(self, pod: Object) -> Path:
        directory = self.work_dir / pod["metadata"]["namespace"] / pod["metadata"]["name"]
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def ray_dir(self, address: str) -> Path:
        return self.short_dir / address.split(".", 2)[2].replace(".", "-")

    def environment(self, pod: Object, container: Object, address: str) -> Dict[str, str]:
        """Only the environment of a Pod; nothing of this process's environment but the language."""
        server = urlsplit(self.client.url)
        home = self.pod_dir(pod) / "home"
        home.mkdir(exist_ok=True)
        path = f"{self._bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        # KubeRay 1.2 and 1.3 start login shells, which take another PATH from /etc/profile.
        (home / ".bash_profile").write_text(f"PATH={path}\n")
        env = {
            "PATH": path,
            "HOME": str(home),
            "HOSTNAME": pod["metadata"]["name"],
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(server.port),
            "RAYSCALER_BENCH_POD_IP": address,
            "RAYSCALER_BENCH_TEMP_DIR": str(self.ray_dir(address)),
        }
        account = self.service_account(pod)
        if account:
            env["RAYSCALER_BENCH_SERVICE_ACCOUNT"] = str(account)
        if pod["spec"].get("resourceClaims"):
            gpus = pod_devices.gpus(self.client, pod, container)
            env.update(pod_devices.environment(gpus, self.short_dir / "nvml"))
        mounts = self.mounts(pod, container)
        for variable in container.get("env") or []:
            value = self.with_hosts(pod, expand(self._value(pod, variable, address), env))
            for path, folder in mounts.items():
                if value.startswith(f"{path}/"):  # a process here sees no volumes
                    value = str(folder) + value[len(path) :]
            env[variable["name"]] = value
        return env

    def _value(self, pod: Object, variable: Object, address: str) -> str:
        source = variable.get("valueFrom") or {}
        if "fieldRef" in source:
            return _field(pod, source["fieldRef"]["fieldPath"], address)
        if "secretKeyRef" in source:
            reference = source["secretKeyRef"]
            secret = self.client.of("secrets", pod["metadata"]["namespace"]).get(reference["name"])
            return base64.b64decode(secret["data"][reference["key"]]).decode()
        if source:
            raise ValueError(f"env {variable['name']}: valueFrom {list(source)} is not known here")
        return variable.get("value") or ""

    def with_hosts(self, pod: Object, text: str) -> str:
        """The name of a head service becomes the head Pod's address: there is no DNS here."""
        namespace = pod["metadata"]["namespace"]
        name = (pod["metadata"].get("labels") or {}).get(kp.CLUSTER_LABEL, "")
        for service in re.findall(rf"([a-z0-9-]+)\.{re.escape(namespace)}\.svc\.cluster\.local", text):
            head = self._head(namespace, name)
            if head:
                text = text.replace(f"{service}.{namespace}.svc.cluster.local", head)
        return text

    def _head(self, namespace: str, cluster: str) -> str:
        """Of two the one that is Ready, or none."""
        heads = []
        for pod in self._pods.objects():
            labels = pod["metadata"].get("labels") or {}
            if (
                pod["metadata"]["namespace"] == namespace
                and labels.get(kp.CLUSTER_LABEL) == cluster
                and labels.get(kp.NODE_TYPE_LABEL) == "head"
                and not pod["metadata"].get("deletionTimestamp")
            ):
                heads.append(pod)
        if len(heads) > 1:
            heads = [head for head in heads if kp.is_ready(head)]
        return (heads[0].get("status") or {}).get("podIP", "") if heads else ""

    def init_containers_done(self, pod: Object, address: str) -> bool:
        """KubeRay's own: wait-gcs-ready by a connection to the GCS port, and that for an address in the certificate."""
        for container in pod["spec"].get("initContainers") or []:
            if container["name"] == kp.ADDRESS_CONTAINER:
                if not self._certificate_has(pod, container, address):
                    return False
                continue
            if container["name"] != kp.WAIT_CONTAINER:
                raise ValueError(f"init container {container['name']} is not known here")
            words = self.with_hosts(pod, " ".join(container.get("args") or []))
            found = re.search(r"--address (127\.[0-9.]+):([0-9]+)", words)
            if not found or not _answers(found.group(1), int(found.group(2))):
                return False
        return True

    def _certificate_has(self, pod: Object, container: Object, address: str) -> bool:
        try:
            folder = self.mounts(pod, container)[kp.TLS_PATH]
        except ApiError as error:
            if error.status == 404:  # a kubelet waits for a Secret
                return False
            raise
        return address in addresses_of((folder / "tls.crt").read_bytes())

    def mounts(self, pod: Object, container: Object) -> Dict[str, Path]:
        """The volumes of Secrets that the container mounts, by path, as they are now."""
        volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or []}
        found = {}
        for mount in container.get("volumeMounts") or []:
            source = volumes.get(mount["name"], {}).get("secret")
            if not source:
                continue
            secret = self.client.of("secrets", pod["metadata"]["namespace"]).get(source["secretName"])
            folder = self.pod_dir(pod) / "volumes" / mount["name"]
            folder.mkdir(parents=True, exist_ok=True)
            for name, value in secret["data"].items():
                (folder / f"{name}.new").write_bytes(base64.b64decode(value))
                (folder / f"{name}.new").rename(folder / name)
            found[mount["mountPath"]] = folder
        return found

    def service_account(self, pod: Object) -> Optional[Path]:
        """Directory with token, ca.crt and namespace, None for a Pod without service account."""
        account = pod["spec"].get("serviceAccountName")
        if not account:
            return None
        directory = self.pod_dir(pod) / "serviceaccount"
        if not (directory / "token").exists():
            namespace = pod["metadata"]["namespace"]
            body = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": TOKEN_SECONDS},
            }
            answer = self.client.of("serviceaccounts", namespace).create_sub(account, "token", body)
            directory.mkdir(exist_ok=True)
            (directory / "namespace").write_text(namespace)
            shutil.copy(self._ca_file, directory / "ca.crt")
            (directory / "token").write_text(answer["status"]["token"])
        return directory

    def add_ray(self, ray: Path) -> None:
        """``ray start`` gets flags in place of a Pod's network and file system, and with quick_raylet.VARIABLE is a
        raylet alone. A head of two waits until the other one has ended: no release of Ray can be promoted yet."""
        script = self._bin / "ray"
        real = shlex.quote(str(ray))
        quick = shlex.join([sys.executable, "-S", "-E", quick_raylet.__file__])
        script.write_text(
            "#!/bin/sh\n"
            f'[ "$1" = start ] || exec {real} "$@"\n'
            "shift\n"
            'if [ -n "$RAY_LEADER_ELECT_RESOURCE_NAME" ]; then\n'
            f'exec 9> {shlex.quote(str(self._bin))}/"$RAY_LEADER_ELECT_RESOURCE_NAMESPACE.$RAY_LEADER_ELECT_RESOURCE_NAME"\n'
            "flock 9\n"
            "fi\n"
            f'[ -z "${quick_raylet.VARIABLE}" ] || quick={shlex.quote(quick)}\n'
            f'exec ${{quick:-}} {real} start --node-ip-address="$RAYSCALER_BENCH_POD_IP" '
            '--temp-dir="$RAYSCALER_BENCH_TEMP_DIR" "$@"\n'
        )
        script.chmod(0o755)


class Container:
    """One container: waiting, running, terminated, waiting again..."""

    def __init__(self, host: Host, pod: Object, address: str, index: int):
        self._host = host
        self._pod = pod
        self._address = address
        self._spec = pod["spec"]["containers"][index]
        self._log = host.pod_dir(pod) / f"{self._spec['name']}.log"
        self._process: Optional[Process] = None
        self._started_at = self._finished_at = ""
        self._log_start = 0
        self._said_started = False
        self._agent_ports: Optional[AgentPorts] = None
        self._last: Optional[Object] = None
        self.state = "waiting"
        self.start_at = 0.0
        self.restarts = 0
        self.exit_code = 0

    def start(self) -> None:
        words = [*(self._spec.get("command") or []), *(self._spec.get("args") or [])]
        if not words:
            raise ValueError(f"container {self._spec['name']} has no command, and images are not known here")
        env = self._host.environment(self._pod, self._spec, self._address)
        env[MARK_VARIABLE] = self._host.mark(self._pod, self._spec["name"])
        if self._starts_ray():
            self._agent_ports = AgentPorts(self._host.ray_dir(self._address))
            env.update(self._agent_ports.environment())
        words = [self._host.with_hosts(self._pod, expand(word, env)) for word in words]
        words = sees_account(words, env)
        # The only image that is known here, where it answers KubeRay's own command.
        if self._spec.get("image", "").startswith("rayscaler:") and words[0] in ("/bin/bash", "ray"):
            account = self._host.service_account(self._pod)
            words = [*image.mounted(self._host.pod_dir(self._pod) / "image", account), *words]
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        self._process = Process(self._spec["name"], words, self._log, env, self._host.pod_dir(self._pod))
        self.state, self._started_at, self._said_started = "running", _now(), False

    def poll(self) -> None:
        if self.state == "running" and self._process and not self._process.running():
            self.exit_code = self._process.returncode() or 0
            if self.exit_code < 0:
                self.exit_code = 128 - self.exit_code
            self._clean()
            self.state, self._finished_at = "terminated", _now()
            if self.exit_code:
                log.warning("%s: exit code %d: %s", self._pod["metadata"]["name"], self.exit_code, self._last_line())
        elif self.state == "running" and self._agent_ports and not self.ready():
            self._agent_ports.poll()

    def wait_for_restart(self, delay: float) -> None:
        self._last = self._terminated()
        self.restarts += 1
        self.state, self.start_at = "waiting", time.monotonic() + delay

    def running(self) -> bool:
        return self._process is not None and self._process.running()

    def terminate(self) -> None:
        if self._process and self._process.running():
            self._process.signal(signal.SIGTERM)

    def kill(self) -> None:
        if self._process:
            self._clean()

    def ready(self) -> bool:
        if self.state != "running":
            return False
        if not self._said_started and self._starts_ray():
            with open(self._log, "rb") as log_file:
                log_file.seek(self._log_start)
                self._said_started = RAY_STARTED in log_file.read()
            return self._said_started
        return True

    def _starts_ray(self) -> bool:
        return "ray start" in " ".join(self._spec.get("args") or [])

    def _last_line(self) -> str:
        lines = self._log.read_text(errors="replace")[self._log_start :].strip().splitlines()
        return lines[-1] if lines else ""

    def status(self) -> Object:
        if self.state == "running":
            state: Object = {"running": {"startedAt": self._started_at}}
        elif self.state == "terminated":
            state = {"terminated": self._terminated()}
        else:
            state = {"waiting": {"reason": "CrashLoopBackOff" if self.restarts else "ContainerCreating"}}
        status = {
            "name": self._spec["name"],
            "image": self._spec.get("image", ""),
            "imageID": "",
            "ready": self.ready(),
            "started": self.state == "running",
            "restartCount": self.restarts,
            "state": state,
        }
        if self._last:
            status["lastState"] = {"terminated": self._last}
        return status

    def _terminated(self) -> Object:
        return {
            "exitCode": self.exit_code,
            "reason": "Completed" if self.exit_code == 0 else "Error",
            "startedAt": self._started_at,
            "finishedAt": self._finished_at,
        }

    def _clean(self) -> None:
        """End the group and whatever left it, which is found by a variable of its environment."""
        if self._process:
            self._process.kill()
        kill_all(self._pod["metadata"]["uid"], self._spec["name"])


def expand(text: str, env: Dict[str, str]) -> str:
    """$(NAME) as Kubernetes does: unknown names stay as they are, $$ is one $."""

    def replace(match: "re.Match[str]") -> str:
        if match.group(1) == "$":
            return "$"
        return env.get(match.group(2), match.group(0))

    return _VARIABLE.sub(replace, text)


def _field(pod: Object, path: str, address: str) -> str:
    match = re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path)
    if match:
        return (pod["metadata"].get(match.group(1)) or {}).get(match.group(2), "")
    values = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "status.podIP": address,
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
    }
    return values[path]


def _answers(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=0.3):
            return True
    except OSError:
        return False


def _take_network() -> Tuple[TextIO, str]:
    """A second octet that no other bench on this machine has, held by a lock for our lifetime."""
    for octet in range(10, 250):
        path = f"/tmp/rayscaler-{os.getuid()}-127.{octet}.lock"
        try:
            lock = open(path, "w")
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock, f"127.{octet}"
        except OSError:
            continue
    raise RuntimeError("no free network in 127.0.0.0/8")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
