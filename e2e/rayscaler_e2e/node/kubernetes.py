"""The programs of Kubernetes on a machine: a control plane and one Node, until it is Ready."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Dict, List

from urllib3.exceptions import HTTPError

from ..apiserver import ADMIN_USER
from ..kubeclient import ApiError, KubeClient
from ..kubeconfig import write_kubeconfig
from ..pki import CertificateAuthority, service_account_key
from ..processes import Process
from ..wait import wait_until
from .machine import Machine, children

NODE = "node1"
ADDRESS = "10.88.0.2"
SERVICE_ADDRESS, SERVICES, PODS = "10.96.0.1", "10.96.0.0/16", "10.88.1.0/24"
PORT = 6443
ETC = "/etc/kubernetes"
SOCKET = "/run/containerd/containerd.sock"
# The others start when the API server is healthy. One that ends starts again, unless there is a file with its name in
# ``held``.
FIRST = ("etcd", "kube-apiserver", "containerd", "dnsmasq")
LATER = ("kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy", "device-plugin", "dra-driver")
GPU, GPUS = "nvidia.com/gpu", 4  # of the device plugin
DRIVER, CLAIMED = "gpu.example.com", 2  # of the DRA driver

CONTAINERD = f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.k8s.io/pause:3.10"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{ETC}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""
CNI = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "hairpinMode": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]},
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}


def kubelet_configuration(cgroup: str) -> Dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": False}, "x509": {"clientCAFile": f"{ETC}/pki/ca.crt"}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        # It would give all CPUs that it sees to a cpuset, also those that the machine has not.
        "enforceNodeAllocatable": ["none"],
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "resolvConf": "",
    }


class Kubernetes:
    """``admin`` and the file ``kubeconfig`` reach it from outside of the machine."""

    def __init__(self, machine: Machine, gates: str = "MutatingAdmissionPolicy=true", gpus: int = GPUS):
        """``gpus``: that the device plugin offers."""
        self._machine, self._gates, self._gpus = machine, gates, gpus
        self._pki = CertificateAuthority(machine.etc / "pki")
        self._pki.server("apiserver", (ADDRESS, SERVICE_ADDRESS))
        service_account_key(self._pki.directory)
        for name, user, groups in (("admin", ADMIN_USER, ["system:masters"]), ("kubelet", f"system:node:{NODE}", ["system:nodes"])):
            files = self._pki.client(user, groups, name)
            self._write_kubeconfig(machine.etc / f"{name}.kubeconfig", f"https://127.0.0.1:{PORT}", *files, inline=True)
        (machine.etc / "containerd.toml").write_text(CONTAINERD)
        (machine.etc / "cni").mkdir()
        (machine.etc / "cni/pods.conflist").write_text(json.dumps(CNI))
        (machine.etc / "kubelet.json").write_text(json.dumps(kubelet_configuration(machine.cgroup)))
        self._hosts = machine.etc / "hosts"
        self._hosts.write_text("")
        self.held = machine.etc / "held"
        self.held.mkdir()
        self._processes: Dict[str, Process] = {}

    def start(self) -> None:
        """Until containerd answers, so that images can be imported."""
        for name in FIRST:
            self._spawn(name)
        url = f"https://{self._machine.relay(PORT)}"
        admin = self._pki.directory / "admin.crt", self._pki.directory / "admin.key"
        self.kubeconfig = self._write_kubeconfig(self._machine.state / "kubeconfig", url, *admin)
        self.admin = KubeClient(url, self._pki.file, client_cert=admin[0], client_key=admin[1])
        wait_until(self._containerd_answers, 30, "containerd")

    def wait_ready(self) -> None:
        """With the devices of plugin and driver."""
        wait_until(lambda: self._answer("/readyz"), 120, "the API server", 0.2)
        for name in LATER:
            self._spawn(name)

        def ready() -> bool:
            node = self._answer(f"/api/v1/nodes/{NODE}") or {"status": {"conditions": []}}
            slices = self._answer("/apis/resource.k8s.io/v1/resourceslices") or {"items": []}
            registered = (node["status"].get("allocatable") or {}).get(GPU) == str(self._gpus)
            published = any(one["spec"]["driver"] == DRIVER for one in slices["items"])
            return registered and published and any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])

        wait_until(ready, 120, f"Node {NODE} to be Ready with its devices", 0.3)

    def check(self) -> None:
        """Start what has ended, and write the names of Services where they have changed."""
        for name, process in self._processes.items():
            if not process.running() and not (self.held / name).exists():
                self._spawn(name)
        self._write_hosts()

    def _answer(self, path: str) -> Any:
        self.check()
        try:
            return self.admin.call("GET", path)
        except (ApiError, HTTPError):
            return None

    def _spawn(self, name: str) -> None:
        words = getattr(self, "_" + name.replace("-", "_"))()
        self._processes[name] = self._machine.spawn(name, *words)

    def _write_kubeconfig(self, path: Path, url: str, cert: Path, key: Path, inline: bool = False) -> Path:
        return write_kubeconfig(path, url, self._pki.file, client_cert=cert, client_key=key, inline=inline)

    def _containerd_answers(self) -> bool:
        try:
            self._machine.run("ctr", "version", seconds=10)
        except RuntimeError:
            return False
        return True

    # -- names ------------------------------------------------------------------------------------

    def _write_hosts(self) -> None:
        try:
            text = "".join(sorted(self._host_lines()))
        except (ApiError, HTTPError):  # the API server starts or is away: the names stay
            return
        if text != self._hosts.read_text():
            self._hosts.write_text(text)
            for pid in children(self._processes["dnsmasq"].pid):
                os.kill(pid, signal.SIGHUP)

    def _host_lines(self) -> List[str]:
        addresses = {}
        for one in self.admin.of("endpoints").items():
            key = one["metadata"]["namespace"], one["metadata"]["name"]
            subsets = one.get("subsets") or []
            addresses[key] = [at["ip"] for part in subsets for kind in ("addresses", "notReadyAddresses") for at in part.get(kind) or []]
        lines = []
        for one in self.admin.of("services").items():
            namespace, name = one["metadata"]["namespace"], one["metadata"]["name"]
            at = one["spec"].get("clusterIP")
            for address in [at] if at and at != "None" else addresses.get((namespace, name), []):
                lines.append(f"{address} {name}.{namespace}.svc.cluster.local {name}.{namespace}.svc {name}.{namespace}\n")
        return lines

    # -- command lines -----------------------------------------------------------------------------

    def _etcd(self) -> List[str]:
        url = "http://127.0.0.1:2379"
        return ["etcd", "--data-dir=/var/lib/etcd/data", "--unsafe-no-fsync", f"--listen-client-urls={url}", f"--advertise-client-urls={url}", "--log-level=warn"]

    def _kube_apiserver(self) -> List[str]:
        pki = f"{ETC}/pki"
        return [
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/service-account.key",
            f"--service-account-signing-key-file={pki}/service-account.key",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC",
            f"--advertise-address={ADDRESS}",
            "--bind-address=0.0.0.0",
            f"--secure-port={PORT}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={pki}/admin.crt",
            f"--kubelet-client-key={pki}/admin.key",
            "--allow-privileged",
            "--enable-admission-plugins=NodeRestriction",
            f"--feature-gates={self._gates}",
            # The latter is the version that the DRA driver publishes.
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true,resource.k8s.io/v1beta1=true",
            "--profiling=false",
        ]

    def _containerd(self) -> List[str]:
        return ["containerd", "-c", f"{ETC}/containerd.toml"]

    def _kube_controller_manager(self) -> List[str]:
        return [
            "kube-controller-manager",
            f"--kubeconfig={ETC}/admin.kubeconfig",
            f"--service-account-private-key-file={ETC}/pki/service-account.key",
            f"--root-ca-file={ETC}/pki/ca.crt",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--authentication-skip-lookup",
            "--profiling=false",
        ]

    def _kube_scheduler(self) -> List[str]:
        return ["kube-scheduler", f"--kubeconfig={ETC}/admin.kubeconfig", "--leader-elect=false", "--profiling=false"]

    def _kubelet(self) -> List[str]:
        return ["kubelet", f"--kubeconfig={ETC}/kubelet.kubeconfig", f"--config={ETC}/kubelet.json", f"--hostname-override={NODE}", f"--node-ip={ADDRESS}"]

    def _kube_proxy(self) -> List[str]:
        return [
            "kube-proxy",
            f"--kubeconfig={ETC}/admin.kubeconfig",
            "--proxy-mode=iptables",
            f"--cluster-cidr={PODS}",
            "--conntrack-max-per-core=0",
            f"--hostname-override={NODE}",
        ]

    def _device_plugin(self) -> List[str]:
        return ["device-plugin", GPU, str(self._gpus)]

    def _dra_driver(self) -> List[str]:
        flags = [f"--kubeconfig={ETC}/admin.kubeconfig", f"--node-name={NODE}", f"--num-devices={CLAIMED}"]
        return ["dra-driver", *flags, "--cdi-root=/run/cdi"]

    def _dnsmasq(self) -> List[str]:
        return [
            *("dnsmasq", "-k", "--no-resolv", "--no-hosts", f"--addn-hosts={ETC}/hosts", "--local=/cluster.local/"),
            *(f"--listen-address={ADDRESS}", "--bind-interfaces", "--pid-file=", "--user=root", "--local-ttl=1"),
        ]


def keep_images(machine: Machine, to: Path) -> None:
    """The images of ``machine``, before anything runs on it, for later machines; those of earlier parts go."""
    for old in to.parent.glob("images-*"):
        shutil.rmtree(old, ignore_errors=True)
    new = to.with_suffix(".new")
    _copy(machine.state / "containerd", new)
    new.rename(to)


def use_images(machine: Machine, kept: Path) -> None:
    (machine.state / "containerd").rmdir()
    _copy(kept, machine.state / "containerd")


def _copy(source: Path, to: Path) -> None:
    """Layers never change, so that a link will do where both are on one disk; the databases do."""
    try:
        subprocess.run(["cp", "-al", source, to], check=True, capture_output=True, timeout=300)
    except subprocess.CalledProcessError:
        subprocess.run(["cp", "-a", source, to], check=True, timeout=600)
    for path in to.rglob("*.db"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
