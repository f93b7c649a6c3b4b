"""The root file system of the image (charts/image): its content, and that the program runs in it.

It is entered by chroot, as uid 65532 and read-only, without /proc, /dev and a shell; who is not root
enters by a user namespace. No container engine is needed, and none is used.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import threading
from pathlib import Path
from typing import Dict, List, Set

import pytest
import yaml

from rayscaler_e2e import image, paths, rayclusters
from rayscaler_e2e.image import make_rootfs
from rayscaler_e2e.processes import Process
from rayscaler_e2e.wait import wait_until

IMAGE = paths.ROOT / "charts" / "image"
SERVER_NAME = "kubernetes.default.svc"
USER = 65532
PLAIN_FILES = {"etc/passwd", "etc/group", "etc/nsswitch.conf", "etc/ssl/certs/ca-certificates.crt"}
LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "var/run": "/run",
         "usr/bin/bash": "rayscaler", "usr/bin/ray": "rayscaler"}  # fmt: skip


@pytest.fixture(scope="module")
def rootfs():
    directory = paths.work_root() / "rootfs"
    print(make_rootfs(directory))
    return directory


def entering(root: Path) -> List[str]:
    """The words before a command that runs in ``root``."""
    missing = image.no_namespaces(root)
    if missing:
        pytest.skip(missing)
    return image.entering(root)


def run_in(root: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess:
    return subprocess.run(
        [*entering(root), *words], input=stdin, capture_output=True, text=True, timeout=30, check=False
    )


def needed_by(path: Path) -> Set[str]:
    """The sonames that an ELF file asks for."""
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, timeout=20, check=True).stdout
    return {line.split("[")[1].rstrip("]") for line in said.splitlines() if "(NEEDED)" in line}


def test_nothing_else_is_in_it(rootfs):
    found = {str(path.relative_to(rootfs)): path for path in rootfs.rglob("*") if not path.is_dir() or path.is_symlink()}
    links = {name: os.readlink(path) for name, path in found.items() if path.is_symlink()}
    assert links == LINKS
    files = {name: path for name, path in found.items() if name not in links}
    libraries = {path.name: path for name, path in files.items() if name.startswith(("usr/lib/", "usr/lib64/"))}
    zones = {name for name in files if name.startswith("usr/share/zoneinfo/")}
    assert "usr/share/zoneinfo/Europe/Berlin" in zones and len(zones) > 400
    assert all(files[name].read_bytes().startswith(b"TZif") for name in zones)
    licenses = {name for name in files if name.startswith(("usr/share/doc/", "usr/share/common-licenses/"))}
    assert (rootfs / "usr/share/doc/rayscaler/copyright").read_bytes() == (paths.ROOT / "LICENSE").read_bytes()
    assert set(files) - zones - licenses == PLAIN_FILES | {"usr/bin/rayscaler"} | {str(path.relative_to(rootfs)) for path in libraries.values()}
    # Exactly the libraries that the program loads, and those that they load.
    wanted, unread = set(), [files["usr/bin/rayscaler"]]
    while unread:
        for name in needed_by(unread.pop()) - wanted:
            assert name in libraries, f"{name} is missing"
            wanted.add(name)
            unread.append(libraries[name])
    assert set(libraries) - wanted <= {name for name in libraries if name.startswith("ld-linux")}
    for path in rootfs.rglob("*"):
        if not path.is_symlink():
            assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWGRP | stat.S_IWOTH), path


def test_the_same_bytes_again(rootfs, work_dir):
    make_rootfs(work_dir / "again")
    digests = {hashlib.sha256(Path(f"{one}.tar.gz").read_bytes()).hexdigest() for one in (rootfs, work_dir / "again")}
    assert len(digests) == 1


def test_the_script_empties_no_foreign_directory(work_dir):
    (work_dir / "precious").write_text("x")
    done = subprocess.run(
        [IMAGE / "rootfs.sh", paths.controller(), work_dir], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "holds something else" in done.stderr
    assert (work_dir / "precious").exists()


def test_only_the_controller_works_in_it(rootfs):
    outside = [str(paths.controller())]
    for words in (["version"], ["run", "--help"]):
        inside = run_in(rootfs, "rayscaler", *words)
        there = subprocess.run([*outside, *words], capture_output=True, text=True, timeout=20, check=True)
        assert (inside.returncode, inside.stdout) == (0, there.stdout), inside.stderr
    listed = re.findall(r"^  ([a-z]+)  +\S", run_in(rootfs, "rayscaler", "--help").stdout, re.M)
    assert listed == ["run", "park", "version"]
    every = re.findall(r"^  ([a-z]+)  +\S", subprocess.run([paths.program(), "--help"], capture_output=True, text=True, timeout=20, check=True).stdout, re.M)
    assert set(listed) < set(every)
    for name in set(every) - set(listed):
        refused = run_in(rootfs, "rayscaler", name)
        assert refused.returncode == 2 and f'"{name}" is not a command of the image, which has the controller alone' in refused.stderr
    assert not any("yaml" in path.name for path in rootfs.rglob("*"))
    for words in (["/bin/bash", "-c", "true"], ["ray", "start"]):
        refused = run_in(rootfs, *words)
        assert refused.returncode == 2 and "this image has no shell" in refused.stderr
    shell = run_in(rootfs, "/bin/sh", "-c", "true")
    assert shell.returncode == 127 and "No such file" in shell.stderr


def test_it_scales_over_tls_found_by_dns(rootfs, api_server, namespace, work_dir, artefacts):
    """As in a Pod: token, CA and namespace in the ServiceAccount's folder, the server by its name."""
    root = work_dir / "rootfs"
    shutil.copytree(rootfs, root, symlinks=True)
    # Where the kubelet mounts them.
    files = api_server.in_cluster_files(root / "run/secrets/kubernetes.io/serviceaccount",
                                        api_server.namespaced_controller_token(namespace), namespace)  # fmt: skip
    for path in files.directory.iterdir():
        path.chmod(0o644)
    clusters = api_server.admin.of("rayclusters", namespace)
    clusters.create(rayclusters.minimal("demo", rayclusters.group("workers", replicas=0, minReplicas=2, maxReplicas=5)))
    words = [*entering(root), "rayscaler", "run", "--namespace", namespace]
    words += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "0"]
    with NameServer() as names:
        (root / "etc/resolv.conf").write_text(names.resolv_conf)
        (root / "etc/hosts").write_text(names.hosts)
        log = work_dir / "log"
        artefacts.log("rayscaler in the image", log)
        env = {**files.env, "KUBERNETES_SERVICE_HOST": SERVER_NAME, "PATH": os.environ["PATH"]}
        with Process("rayscaler", words, log, env=env) as process:
            wait_until(
                lambda: clusters.get("demo")["spec"]["workerGroupSpecs"][0]["replicas"] == 2, 20, "the image to scale"
            )
            assert real_user(process.pid) == (USER if os.geteuid() == 0 else os.geteuid())
            assert process.stop() == 0
        assert names.asked or names.hosts, "the name was found without asking"
    assert f"https://{SERVER_NAME}:{api_server.port}" in log.read_text()  # ended


def real_user(pid: int) -> int:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Uid:")]
    return int(line.split()[1])


class NameServer:
    """Answers 127.0.0.1 to every query for an A record, on port 53 of a loopback address of its own; who may
    not listen there has the name in /etc/hosts."""

    def __init__(self) -> None:
        self.asked: List[bytes] = []
        self.hosts, self.resolv_conf = "", ""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(("127.53.53.53", 53))
        except OSError as error:
            print(f"no name server here ({error}): /etc/hosts instead")
            self.hosts = f"127.0.0.1 {SERVER_NAME}\n"
            return
        self.resolv_conf = "nameserver 127.53.53.53\noptions ndots:1\n"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                question, peer = self._socket.recvfrom(512)
            except OSError:
                return
            if not question:
                return
            self.asked.append(question)
            end = question.index(b"\0", 12) + 5
            is_a = question[end - 4 : end - 2] == b"\0\x01"
            answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\x7f\0\0\x01" if is_a else b""
            head = question[:2] + struct.pack(">HHHHH", 0x8580, 1, 1 if is_a else 0, 0, 0)
            self._socket.sendto(head + question[12:end] + answer, peer)

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(self, *_exc: object) -> None:
        if self.resolv_conf:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", ("127.53.53.53", 53))
            self._thread.join(5)
        self._socket.close()


# -- the Dockerfile and make image ----------------------------------------------------------------


def dockerfile() -> List[List[str]]:
    """Its instructions as words, continued lines joined."""
    text = (IMAGE / "Dockerfile").read_text().replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.fixture
def context(work_dir):
    """The files that .dockerignore includes, as an engine gets them."""
    directory = work_dir / "context"
    allowed = [line[1:] for line in (paths.ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in allowed:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (paths.ROOT / name).is_dir() else shutil.copy
        copy(paths.ROOT / name, directory / name)
    return directory


def make(directory: Path, *words: str) -> subprocess.CompletedProcess:
    """make in another tree, which must not get the build tree of this run."""
    foreign = ("BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    env = {name: value for name, value in os.environ.items() if name not in foreign}
    return subprocess.run(
        ["make", *words], cwd=directory, env=env, capture_output=True, text=True, timeout=240, check=False
    )


def test_make_rootfs(context, rootfs):
    (context / "build").mkdir()
    shutil.copy(paths.controller(), context / "build/rayscaler-controller")
    done = make(context, "-o", "build/rayscaler-controller", "rootfs", "SOURCE_DATE_EPOCH=1700000000")
    assert done.returncode == 0, done.stderr
    assert "rootfs: program " in done.stdout and "rayscaler-rootfs.tar.gz" in done.stdout
    names = [{str(path.relative_to(one)) for path in one.rglob("*")} for one in (rootfs, context / "build/rootfs")]
    assert names[0] == names[1]


def test_the_dockerfile_has_all_it_copies(context):
    """It is enough for make, and the last stage adds nothing of its own."""
    instructions = dockerfile()
    last = max(i for i, words in enumerate(instructions) if words[0] == "FROM")
    for words in instructions[:last]:
        if words[0] == "COPY":
            assert (context / words[1]).exists(), f"{words[1]} is not in the context"
    planned = make(context, "-n", "VERSION=1.2.3", "build/rayscaler-controller")
    assert planned.returncode == 0 and "1.2.3" in planned.stdout, planned.stderr
    assert instructions[last] == ["FROM", "scratch"]
    assert [words[0] for words in instructions[last + 1 :]] == ["COPY", "ENV", "USER", "ENTRYPOINT", "LABEL"]
    assert ["COPY", "--from=build", "/rootfs", "/"] in instructions
    assert ["USER", f"{USER}:{USER}"] in instructions and ["ENTRYPOINT", '["rayscaler"]'] in instructions


def make_image(tools: Dict[str, str], work_dir: Path) -> subprocess.CompletedProcess:
    """build.sh with no container engine but these scripts."""
    directory = work_dir / "bin"
    directory.mkdir()
    for name in ("bash", "timeout", "tail"):
        (directory / name).symlink_to(shutil.which(name) or name)
    for name, script in tools.items():
        (directory / name).write_text(f"#!/bin/bash\n{script}\n")
        (directory / name).chmod(0o755)
    return subprocess.run(
        [IMAGE / "build.sh", "rayscaler:t", "1.2.3"],
        cwd=paths.ROOT, env={"PATH": str(directory)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_make_image_without_an_engine_names_the_cure(work_dir):
    done = make_image({"docker": 'echo "Cannot connect to the Docker daemon" >&2; exit 1'}, work_dir)
    assert done.returncode == 1
    assert "docker does not work here: Cannot connect to the Docker daemon" in done.stderr
    assert "fix: apt-get install buildah" in done.stderr and "make rootfs" in done.stderr


def test_make_image_takes_the_engine_that_works(work_dir):
    works = 'echo "$0 $*"'
    done = make_image({"buildah": "exit 1", "podman": works, "docker": works}, work_dir)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "/podman build" in line]
    assert "--label=org.opencontainers.image.version=1.2.3 --label=org.opencontainers.image.revision=unknown -f" in line
    assert "--build-arg VERSION=1.2.3" in line and line.endswith("-f charts/image/Dockerfile -t rayscaler:t .")
