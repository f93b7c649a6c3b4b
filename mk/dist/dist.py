#!/usr/bin/env python3
"""Makes what people download, without a network and a container engine:  dist.py --help

One run makes the files of one architecture, or with --finish those that are the same for all. The same sources,
libraries and --time give the same bytes, whatever the folder.
"""

import argparse
import hashlib
import os
import re
import subprocess
from pathlib import Path
from typing import Dict, List

import completion
import debian
import licenses
import man
import oci
import provenance
import sbom
from archive import Entries, File, Link, below, compress, tar, tree
from help_text import read

TOP = Path(__file__).resolve().parents[2]
LOADERS = {"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}
SHORT = "Status and reasons of the GPU autoscaler for Ray"

# In the tarball: its own libraries and loader, so that any Linux with /bin/sh runs it.
WRAPPER = """#!/bin/sh
# Runs rayscaler with the libraries of this folder.
here=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$here/lib/{loader}" --argv0 "$0" --library-path "$here/lib" "$here/libexec/rayscaler" "$@"
"""
# kubectl runs it for the completion of `kubectl rayscaler`.
KUBECTL_COMPLETE = b"""#!/bin/bash
. "$(dirname "$(readlink -f "$0")")/../share/bash-completion/completions/rayscaler" 2>/dev/null
COMP_WORDS=(rayscaler "$@") COMP_CWORD=$#
_rayscaler
printf '%s\\n' "${COMPREPLY[@]}" :4
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--to", type=Path, required=True, help="the directory of the results")
    parser.add_argument("--version", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--time", type=int, required=True, help="SOURCE_DATE_EPOCH")
    parser.add_argument("--program", type=Path, help="the program of the architecture, for people's machines")
    parser.add_argument("--controller", type=Path, help="the one for the image")
    parser.add_argument("--help-of", type=Path, help="a program that runs here, for the man pages")
    parser.add_argument("--architecture", choices=sorted(LOADERS))
    parser.add_argument("--sysroot", type=Path, help="the libraries of another architecture")
    parser.add_argument("--image", default="rayscaler", help="the name of the image; a tag is left out")
    parser.add_argument("--maintainer", default="rayscaler <rayscaler@localhost>")
    parser.add_argument("--url", default="", help="where the files will be, for the krew manifest")
    parser.add_argument("--source", default="", help="the URL of the repository")
    parser.add_argument("--builder", default="https://rayscaler.invalid/builders/unknown", help="URI of the build platform")
    parser.add_argument("--finish", action="store_true", help="chart, krew manifest, provenance and SHA256SUMS")
    return parser.parse_args()


def rootfs(given: argparse.Namespace, program: Path, name: str) -> Path:
    """``program`` with its libraries and their licenses."""
    to = given.to / f".{name}-{given.architecture}"
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(given.time), "SYSROOT": str(given.sysroot or "")}
    words = [TOP / "charts/image/rootfs.sh", program, to, f"{to}.tar.gz"]
    subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return to


def documents(given: argparse.Namespace) -> Entries:
    """Below share/: man pages and completion."""
    commands = read(given.help_of or given.program)
    made: Entries = {}
    for name, text in man.pages(commands, given.version, given.time).items():
        made[f"man/man1/{name}.gz"] = File(compress(text.encode()))
    made.update({name: File(text.encode()) for name, text in completion.files(commands).items()})
    made["man/man1/kubectl-rayscaler.1.gz"] = Link("rayscaler.1.gz")
    made["bash-completion/completions/kubectl-rayscaler"] = Link("rayscaler")
    return made


def user_documents(to: str) -> Entries:
    """What the man pages and messages name: docs/ and examples/."""
    made: Entries = {}
    for folder in ("docs", "examples"):
        made.update(below(f"{to}{folder}", tree(TOP / folder)))
    return made


def tarball(given: argparse.Namespace, root: Path, share: Entries, name: str) -> bytes:
    loader = LOADERS[given.architecture]
    files: Entries = {
        "bin/rayscaler": File(WRAPPER.format(loader=loader).encode(), 0o755),
        "bin/kubectl-rayscaler": Link("rayscaler"),
        "bin/kubectl_complete-rayscaler": File(KUBECTL_COMPLETE, 0o755),
        "libexec/rayscaler": File((root / "usr/bin/rayscaler").read_bytes(), 0o755),
        **below("share", share),
    }
    for path in root.rglob("*.so*"):
        if path.is_file() and not path.is_symlink():
            files[f"lib/{path.name}"] = File(path.read_bytes(), 0o755)
    for document in ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"):
        files[document] = File((TOP / document).read_bytes())
    files.update(below("licenses", licenses.texts(root)))
    files.update(user_documents(""))
    return compress(tar(below(name, files), given.time))


def package(given: argparse.Namespace, root: Path, share: Entries, owners: Dict[str, debian.Package]) -> bytes:
    program = root / "usr/bin/rayscaler"
    places = "usr/share/doc/rayscaler"
    files: Entries = {
        "usr/bin/rayscaler": File(program.read_bytes(), 0o755),
        "usr/bin/kubectl-rayscaler": Link("rayscaler"),
        "usr/bin/kubectl_complete-rayscaler": File(KUBECTL_COMPLETE, 0o755),
        f"{places}/copyright": File(licenses.debian_copyright(TOP)),
        f"{places}/changelog.gz": File(compress(debian.changelog(given.version, given.maintainer, given.time))),
        f"{places}/CHANGELOG.md.gz": File(compress((TOP / "CHANGELOG.md").read_bytes())),
        **user_documents(f"{places}/"),
        **below("usr/share", share),
    }
    fields = {
        "Package": "rayscaler",
        "Version": given.version,
        "Architecture": given.architecture,
        "Maintainer": given.maintainer,
        "Depends": debian.depends(program, owners) + ", tzdata (>= 2024a)",
        "Section": "admin",
        "Priority": "optional",
        "Description": "autoscaler of Ray clusters on Kubernetes\n"
        " Scales the worker groups of RayClusters by Ray's demand. The package has the\n"
        " controller, its commands and the kubectl plugin.",
    }
    return debian.deb(files, fields, given.time)


def library_packages(given: argparse.Namespace, root: Path) -> Dict[str, debian.Package]:
    """The Debian package of each library below ``root``, by the name of its file."""
    libraries = [f"/{path.relative_to(root)}" for path in sorted(root.rglob("*.so*"))]
    owners = debian.packages_of(given.sysroot, libraries) if given.sysroot else debian.packages_here(libraries)
    lost = [one for one in libraries if Path(one).name not in owners]
    if lost:
        raise SystemExit(f"dist: {lost} belong to no Debian package")
    return owners


def make_architecture(given: argparse.Namespace) -> None:
    root, tools = rootfs(given, given.controller, "rootfs"), rootfs(given, given.program, "tools")
    name = f"rayscaler-{given.version}-linux-{given.architecture}"
    share = documents(given)
    labels = {"org.opencontainers.image.version": given.version, "org.opencontainers.image.revision": given.commit}
    if given.source:
        labels["org.opencontainers.image.source"] = given.source
    layer = Path(f"{root}.tar.gz").read_bytes()
    tag = f"{re.sub(':[^:/]*$', '', given.image)}:{given.version}"
    image = oci.image(layer, TOP / "charts/image/Dockerfile", tag, given.architecture, labels, given.time)
    data = debian.packages_here(["/usr/sbin/update-ca-certificates", "/usr/share/zoneinfo/Europe/Berlin"])
    parts = [*library_packages(given, root).values(), *data.values()]
    made = {
        f"{name}.oci.tar": image,
        f"{name}.tar.gz": tarball(given, tools, share, name),
        f"rayscaler_{given.version}_{given.architecture}.deb": package(given, tools, share, library_packages(given, tools)),
        f"{name}.spdx.json": sbom.document(f"{name}.oci.tar", image, given.version, given.commit, parts, given.time),
    }
    write(given.to, made)


def chart(given: argparse.Namespace) -> Dict[str, bytes]:
    """As `helm package` makes it, which writes the time of its run. With --source it names the repository."""
    files = tree(TOP / "charts/rayscaler")
    described = (TOP / "charts/rayscaler/Chart.yaml").read_text()
    version = re.search(r"^version: (.*)$", described, re.MULTILINE).group(1)
    application = re.search(r"^appVersion: (.*)$", described, re.MULTILINE).group(1)
    if application.strip('"') != given.version:
        raise SystemExit(f"dist: appVersion of Chart.yaml is {application}, the program's {given.version}: change one")
    if given.source:
        described += f"home: {given.source}\nsources: [{given.source}]\n"
        files["Chart.yaml"] = File(described.encode())
    return {f"rayscaler-{version}.tgz": compress(tar(below("rayscaler", files), given.time))}


def krew(given: argparse.Namespace, archives: List[Path]) -> bytes:
    names = {path.name[: -len(".tar.gz")]: path for path in archives}
    lines = ["apiVersion: krew.googlecontainertools.github.com/v1alpha2", "kind: Plugin", "metadata:", "  name: rayscaler"]
    lines += ["spec:", f"  version: v{given.version}", *([f"  homepage: {given.source}"] if given.source else [])]
    lines += [f"  shortDescription: {SHORT}", "  description: |"]
    lines += ["    Shows the worker groups of RayClusters, their GPUs, and the reason of each change,", "    as the running controller decides.", ""]
    lines += ["    macOS and Windows are missing: the program uses interfaces of Linux and glibc. There", "    kubectl get rca and kubectl describe raycluster show the state and the reasons."]
    if not any(name.endswith("-arm64") for name in names):
        lines += ["    linux/arm64 is missing: this release was made without make setup-arm64."]
    lines += ["  platforms:"]
    for name, path in names.items():
        lines += ["    - selector:", "        matchLabels:", "          os: linux", f"          arch: {name.rpartition('-')[2]}"]
        lines += [f"      uri: {given.url}/{path.name}", f"      sha256: {hashlib.sha256(path.read_bytes()).hexdigest()}"]
        lines += ["      files:", f'        - from: "{name}/*"', '          to: "."', "      bin: bin/rayscaler"]
    return "\n".join(lines + [""]).encode()


def manifests() -> Dict[str, bytes]:
    """What kubectl applies without Helm, and what Prometheus and Grafana read."""
    own = sorted((TOP / "crd").glob("*.rayscaler.dev.yaml"))
    return {
        "rayscaler-install.yaml": (TOP / "charts/manifests/install.yaml").read_bytes(),
        "rayscaler-crds.yaml": b"---\n".join(path.read_bytes() for path in own),
        "rayscaler-alerts.yaml": (TOP / "charts/rayscaler/files/alerts.yaml").read_bytes(),
        "rayscaler-dashboard.json": (TOP / "charts/rayscaler/dashboards/rayscaler.json").read_bytes(),
    }


def results(to: Path) -> List[Path]:
    return sorted(path for path in to.iterdir() if path.is_file() and path.name[0] != ".")


def finish(given: argparse.Namespace) -> None:
    made = {**chart(given), **manifests()}
    made["rayscaler-krew.yaml"] = krew(given, sorted(given.to.glob("rayscaler-*-linux-*.tar.gz")))
    write(given.to, made)
    stated = provenance.statement(results(given.to), given.version, given.commit, given.time, given.source, given.builder)
    write(given.to, {"provenance.intoto.json": stated})
    paths = results(given.to)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)
    (given.to / "SHA256SUMS").write_text(sums)
    for path in paths:
        print(f"dist: {path} {path.stat().st_size} bytes")


def write(to: Path, files: Dict[str, bytes]) -> None:
    for name, data in files.items():
        (to / name).write_bytes(data)


if __name__ == "__main__":
    chosen = arguments()
    chosen.to.mkdir(parents=True, exist_ok=True)
    finish(chosen) if chosen.finish else make_architecture(chosen)
