"""The root file system of the image (charts/image/rootfs.sh), entered by chroot without a container engine."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import List

from . import paths

USER = 65532
# Its arguments: directory, then the command in it. `exec`: the process keeps its id.
ENTER = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && root=$1 && shift && exec chroot %s "$root" "$@"'


def make_rootfs(directory: Path) -> str:
    """The output of rootfs.sh; the archive is ``directory``.tar.gz."""
    done = subprocess.run(
        [paths.ROOT / "charts/image/rootfs.sh", paths.controller(), directory, f"{directory}.tar.gz"],
        capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def entering(root: Path) -> List[str]:
    """The words before a command that runs in ``root``; who is not root enters by a user namespace."""
    space, user = ["unshare", "--mount"], f"--userspec={USER}:{USER}"
    if os.geteuid() != 0:
        space, user = ["unshare", "--map-root-user", "--mount"], ""
    return [*space, "sh", "-c", ENTER % user, "sh", str(root)]


def no_namespaces(root: Path) -> str:
    """Why ``root`` cannot be entered on this machine; empty: it can."""
    space = entering(root)[:-5]
    probe = subprocess.run(
        [*space, "mount", "--bind", root, root], capture_output=True, text=True, timeout=20, check=False
    )
    return "" if probe.returncode == 0 else f"no mount namespace here: {probe.stderr.strip()}"


def mounted(root: Path, account: Path) -> List[str]:
    """``entering``, with a Pod's ServiceAccount where the kubelet mounts it."""
    if not root.exists():
        make_rootfs(root)
    directory = root / "run/secrets/kubernetes.io/serviceaccount"
    shutil.copytree(account, directory, dirs_exist_ok=True)
    for path in directory.iterdir():
        path.chmod(0o644)
    return entering(root)
