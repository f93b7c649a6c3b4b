"""Container images for a node, made by the code of ``make dist`` and imported into its containerd."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

from .. import paths
from .machine import Entered

sys.path.append(str(paths.ROOT / "mk/dist"))
import archive  # noqa: E402
import oci  # noqa: E402

RAY = "docker.io/rayproject/ray:2.60.0"
PAUSE = "registry.k8s.io/pause:3.10"
REDIS = "docker.io/library/redis:7.4"
OPERATOR = "docker.io/kuberay/operator:v1.7.0"
LONE_TIME = 0  # of every file that is not on disk


def layer_of(directory: Path, to: Path) -> oci.Layer:
    words = ["tar", "-C", directory, "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-cf", to, "."]
    subprocess.run(words, check=True, timeout=300)
    return oci.Layer(archive.File(to), False)


def layer_with(name: str, program: Path) -> oci.Layer:
    return oci.Layer(archive.File(archive.tar({name: archive.File(program.read_bytes(), 0o755)}, LONE_TIME)), False)


def load(machine: Entered, name: str, layers: List[oci.Layer], config: Dict[str, Any]) -> None:
    path = machine.etc / "image.tar"
    with path.open("wb") as output:
        archive.write_tar(output, oci.layout(layers, config, name, "amd64", "make node", LONE_TIME), LONE_TIME)
    load_archive(machine, path)


def load_archive(machine: Entered, path: Path) -> None:
    """``path``: in ``machine.etc``; it is removed."""
    machine.run("ctr", "-n", "k8s.io", "images", "import", "--no-unpack=false", f"/etc/kubernetes/{path.name}", seconds=600)
    path.unlink()


def load_redis(machine: Entered, root: Path) -> None:
    """For KubeRay's own tests; Debian's version."""
    layer = layer_of(root, machine.state / "redis.tar")
    load(machine, REDIS, [layer], {"Cmd": ["redis-server"], "Env": ["PATH=/usr/bin:/usr/sbin"]})
    layer.content.data.unlink()


def load_base(machine: Entered, parts: Dict[str, Path]) -> None:
    """What does not change with the product: the pause container and Ray."""
    load(machine, PAUSE, [layer_with("pause", parts["pause"])], {"Entrypoint": ["/pause"]})
    layers = [layer_of(parts[name], machine.state / f"{name}.tar") for name in ("ray-root", "ray")]
    env = ["PATH=/usr/local/bin:/usr/bin:/usr/sbin", "HOME=/root", "LC_ALL=C.UTF-8"]
    load(machine, RAY, layers, {"Cmd": ["bash"], "Env": env})
    for layer in layers:
        layer.content.data.unlink()
