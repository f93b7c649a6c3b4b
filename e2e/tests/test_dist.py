"""`make dist`: each file is accepted by a program that did not make it, and another folder makes the same bytes.

The first folder packs the program of this run and, in `make test-all` and where e2e/setup-arm64.sh can prepare it,
builds that of arm64; the second builds everything from the sources. Neither has a container engine.
"""

import glob
import gzip
import hashlib
import http.server
import json
import os
import pty
import re
import select
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path
from typing import Dict, List

import pytest
import yaml

from rayscaler_e2e import paths
from rayscaler_e2e.apiserver import ADMIN_USER
from rayscaler_e2e.tools import Tool

pytestmark = pytest.mark.minutes

EPOCH = "1700000000"
COMMANDS = ("status", "explain", "request", "resume", "adopt", "release", "snapshot", "plan", "record", "simulate", "lint", "devices", "run", "park", "version")


def output_of(*words: object, **options: object) -> str:
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}"
    return done.stdout


def folder(name: str) -> Path:
    """The sources of this tree, in another place."""
    to = paths.work_root() / "release" / name
    shutil.rmtree(to, ignore_errors=True)
    for one in ("Makefile", "mk", "src", "charts", "e2e/packages.txt", "docs", "examples", "crd", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"):
        (to / one).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (paths.ROOT / one).is_dir() else shutil.copy
        copy(paths.ROOT / one, to / one)
    return to


def start(directory: Path, commit: str, *words: str) -> subprocess.Popen:
    foreign = ("BUILD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    env = {name: value for name, value in os.environ.items() if name not in foreign}
    command = ["make", "-j2", "dist", f"COMMIT={commit}", f"SOURCE_DATE_EPOCH={EPOCH}", *words]
    with open(directory / "log", "w") as log:
        return subprocess.Popen(command, cwd=directory, env=env, stdout=log, stderr=subprocess.STDOUT)


def make_dist(directory: Path, *words: str) -> Path:
    commit = json.loads(output_of(paths.build_dir() / "rayscaler", "version", "-o", "json"))["commit"]
    process = start(directory, commit, *words)
    try:
        assert process.wait(1800) == 0, (directory / "log").read_text()[-3000:]
    finally:
        process.kill()
        process.wait(20)
    return directory / "build/dist"


@pytest.fixture(scope="module")
def release(request) -> Path:
    """With arm64 if a test that needs it runs: that is a build of the whole program."""
    words = ["ARM64=/nonexistent"]
    if any(item.name == test_the_programs_of_arm64_run.__name__ for item in request.session.items):
        arm64 = subprocess.run([paths.E2E / "setup-arm64.sh"], capture_output=True, text=True, timeout=600, check=False)
        assert arm64.returncode in (0, 3), arm64.stderr
        words = []
    packed = folder("packed")
    (packed / "build").mkdir()
    programs = ("rayscaler", "rayscaler-controller")
    for name in programs:
        shutil.copy(paths.build_dir() / name, packed / "build" / name)
    return make_dist(packed, *(word for name in programs for word in ("-o", f"build/{name}")), *words)


@pytest.fixture(scope="module")
def version() -> str:
    return json.loads(output_of(paths.build_dir() / "rayscaler", "version", "-o", "json"))["version"]


@pytest.fixture(scope="module")
def architectures(release) -> List[str]:
    found = sorted(path.name.split("-")[-1].split(".")[0] for path in release.glob("*.oci.tar"))
    print("".join(f"{path.name} {path.stat().st_size}\n" for path in sorted(release.iterdir()) if path.is_file()))
    return found


def unpack(archive: Path, to: Path) -> None:
    to.mkdir(parents=True)
    output_of("tar", "-C", to, "-xzf", archive)


@pytest.fixture(scope="module")
def unpacked(release, version) -> Path:
    """The tarball of this machine."""
    here = output_of("dpkg", "--print-architecture").strip()
    to = paths.work_root() / "release/unpacked"
    shutil.rmtree(to, ignore_errors=True)
    unpack(release / f"rayscaler-{version}-linux-{here}.tar.gz", to)
    return to / f"rayscaler-{version}-linux-{here}"


@pytest.fixture
def helm(work_dir) -> Tool:
    return Tool("helm", None, work_dir / "home")


# ---- all files ----


@pytest.mark.test_all  # a second build from the sources: what is in the files is tested below
def test_the_same_bytes_from_two_folders(release):
    built = make_dist(folder("a/longer/name/built"), "ARM64=/nonexistent")
    flags = [directory / "flags" for directory in (built.parent, paths.build_dir())]
    if flags[0].read_text() != flags[1].read_text():
        pytest.skip("the program of this run was built with other flags than the default")
    sums = [{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in one.iterdir() if path.is_file()} for one in (release, built)]
    same = [name for name in sums[1] if "linux" in name or name.endswith((".deb", ".tgz"))]
    assert len(same) == 5
    assert [name for name in same if sums[0].get(name) != sums[1][name]] == []


def test_the_sums_are_of_all_files(release):
    output_of("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=release)
    listed = {line.split("  ")[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in release.iterdir() if path.is_file() and path.name[0] != "."} - {"SHA256SUMS"}


def stated(release: Path) -> Dict:
    return json.loads((release / "provenance.intoto.json").read_text())


def test_the_provenance_is_of_all_files(release, version):
    made = stated(release)
    assert (made["_type"], made["predicateType"]) == ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1")
    digests = {one["name"]: one["digest"]["sha256"] for one in made["subject"]}
    files = {path.name: path for path in release.iterdir() if path.is_file() and path.name[0] != "."}
    assert set(files) - set(digests) == {"provenance.intoto.json", "SHA256SUMS"}
    for name, path in files.items():
        assert digests.get(name) in (None, hashlib.sha256(path.read_bytes()).hexdigest()), name
    definition = made["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["VERSION"] == version
    assert len(definition["resolvedDependencies"]) > 20
    # Neither a repository nor a builder is known, and none is made up.
    assert not [one for one in definition["resolvedDependencies"] if one.get("uri", "").startswith("git+")]
    assert made["predicate"]["runDetails"]["builder"]["id"].split("/")[2] == "rayscaler.invalid"


def test_a_repository_that_is_named_is_in_chart_plugin_and_provenance(release, version, work_dir, helm):
    to, url, commit = work_dir / "dist", "https://git.example.com/rayscaler", "0123456789" * 4
    to.mkdir()
    for path in release.iterdir():
        if path.is_file() and "linux" in path.name:
            shutil.copy(path, to / path.name)
    words = ["--version", version, "--commit", commit, "--time", EPOCH, "--source", url, "--builder", "https://ci.example.com/1"]
    output_of("python3", "-B", paths.ROOT / "mk/dist/dist.py", "--to", to, *words, "--finish")
    (chart,) = to.glob("rayscaler-*.tgz")
    described = yaml.safe_load(helm.run("show", "chart", chart).stdout)
    assert (described["home"], described["sources"]) == (url, [url])
    assert yaml.safe_load((to / "rayscaler-krew.yaml").read_text())["spec"]["homepage"] == url
    predicate = stated(to)["predicate"]
    source = {"name": "source", "uri": f"git+{url}", "digest": {"gitCommit": commit}}
    assert source in predicate["buildDefinition"]["resolvedDependencies"]
    assert predicate["runDetails"]["builder"]["id"] == "https://ci.example.com/1"


# ---- the image ----


def need(program: str) -> str:
    found = shutil.which(program)
    if not found:
        pytest.skip(f"{program} is missing; fix: make setup")
    return found


def image(release: Path, version: str, architecture: str) -> Path:
    return release / f"rayscaler-{version}-linux-{architecture}.oci.tar"


def test_skopeo_reads_the_image_in_both_forms(release, version, architectures, work_dir):
    """The OCI layout and docker's own form; skopeo compares each digest as it copies."""
    skopeo = need("skopeo")
    for architecture in architectures:
        path = image(release, version, architecture)
        config = json.loads(output_of(skopeo, "inspect", "--config", f"oci-archive:{path}:{version}"))
        assert (config["architecture"], config["os"], config["created"]) == (architecture, "linux", "2023-11-14T22:13:20Z")
        assert config["config"]["Entrypoint"] == ["rayscaler"] and config["config"]["User"] == "65532:65532"
        labels = {name.rpartition(".")[2]: value for name, value in config["config"]["Labels"].items()}
        assert labels["version"] == version and labels["revision"] == stated(release)["predicate"]["buildDefinition"]["externalParameters"]["COMMIT"]
        contents = []
        for form in (f"oci-archive:{path}:{version}", f"docker-archive:{path}:localhost/rayscaler:{version}"):
            to = work_dir / f"{architecture}-{form.split(':')[0]}"
            output_of(skopeo, "--insecure-policy", "copy", form, f"dir:{to}")
            layer = json.loads((to / "manifest.json").read_text())["layers"][0]["digest"]
            data = (to / layer.split(":")[1]).read_bytes()
            contents.append(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        assert contents[0] == contents[1]
        assert hashlib.sha256(contents[0]).hexdigest() == config["rootfs"]["diff_ids"][0].split(":")[1]
        made = gzip.decompress((release / f".rootfs-{architecture}.tar.gz").read_bytes())
        assert contents[0] == made, "the layer is not what charts/image/rootfs.sh made"


def test_containerd_finds_the_whole_name(release, version, architectures):
    """`ctr images import` and `kind load image-archive` read this annotation, `docker load` the RepoTags."""
    for architecture in architectures:
        with tarfile.open(image(release, version, architecture)) as archive:
            index = json.load(archive.extractfile("index.json"))
            docker = json.load(archive.extractfile("manifest.json"))
            names = set(archive.getnames())
        (manifest,) = index["manifests"]
        assert manifest["annotations"]["io.containerd.image.name"] == f"localhost/rayscaler:{version}"
        assert docker[0]["RepoTags"] == [f"localhost/rayscaler:{version}"]
        assert {docker[0]["Config"], *docker[0]["Layers"], "oci-layout"} <= names


@pytest.mark.test_all  # with it the tests of each file take arm64 as well
def test_the_programs_of_arm64_run(release, version, architectures):
    """Under qemu-aarch64, with the libraries of each: the same plan as the program of this machine."""
    if "arm64" not in architectures:
        pytest.skip("Debian's libraries for arm64 cannot be had here")
    library_path = "LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu"
    for name, words in (("rootfs", ["version"]), ("rootfs", ["run", "--help"]), ("tools", ["plan", "-f", "examples/gpu.snapshot.yaml", "-o", "json"])):
        root = release / f".{name}-arm64"
        inside = [need("qemu-aarch64"), "-L", root, "-E", library_path, root / "usr/bin/rayscaler"]
        assert output_of(*inside, *words, cwd=paths.ROOT) == output_of(paths.program(), *words, cwd=paths.ROOT)


class Registry(http.server.BaseHTTPRequestHandler):
    """What a push of the distribution API needs."""

    blobs: Dict[str, bytes] = {}
    manifests: Dict[str, bytes] = {}
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words: object) -> None:
        pass

    def answer(self, status: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if self.path == "/v2/":
            return self.answer(200)
        data = self.manifests.get(name) if "/manifests/" in self.path else self.blobs.get(name)
        kind = json.loads(data).get("mediaType", "") if data and "/manifests/" in self.path else "application/octet-stream"
        return self.answer(404) if data is None else self.answer(200, data, Content_Type=kind)

    do_HEAD = do_GET

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_POST(self) -> None:
        self.body()
        self.server.upload = b""
        self.answer(202, Location="/v2/upload", Range="0-0")

    def do_PATCH(self) -> None:
        self.server.upload += self.body()
        self.answer(202, Location="/v2/upload", Range=f"0-{len(self.server.upload) - 1}")

    def do_PUT(self) -> None:
        data = self.body()
        digest = "sha256:" + hashlib.sha256(data if "/manifests/" in self.path else self.server.upload + data).hexdigest()
        if "/manifests/" in self.path:
            self.manifests[self.path.rpartition("/")[2]] = self.manifests[digest] = data
        else:
            self.blobs[digest] = self.server.upload + data
        self.answer(201, Docker_Content_Digest=digest, Location=f"/v2/rayscaler/blobs/{digest}")


def test_push_to_a_registry(release, version, architectures):
    """The command of docs/INSTALL.md, to a registry on loopback."""
    shown = re.search(r"^ +skopeo copy (oci-archive:\S+) docker://\S+?(/rayscaler:\S+)$", (paths.ROOT / "docs/INSTALL.md").read_text(), re.M)
    source, name = shown.groups()
    assert source.replace("build/dist/", "") == f"oci-archive:rayscaler-{version}-linux-amd64.oci.tar"
    with http.server.HTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = ["--insecure-policy", "copy", "--dest-tls-verify=false", source.replace("build/dist", str(release))]
        output_of(need("skopeo"), *words, f"docker://127.0.0.1:{server.server_port}{name}")
        server.shutdown()
    digests = {one["digest"]["sha256"]: one["name"] for one in stated(release)["subject"]}
    assert digests[hashlib.sha256(Registry.manifests[version]).hexdigest()] == f"localhost/rayscaler:{version} amd64"
    config = json.loads(Registry.manifests[version])["config"]["digest"]
    assert json.loads(Registry.blobs[config])["architecture"] == "amd64"


# ---- the program: tarball, .deb, man pages, completion ----


def test_the_tarball_runs_with_its_own_libraries(unpacked):
    env = {"PATH": "/usr/bin:/bin"}
    for words in (["version"], ["devices"], ["plan", "-f", "examples/gpu.snapshot.yaml"]):
        assert output_of(unpacked / "bin/rayscaler", *words, cwd=paths.ROOT, env=env) == output_of(paths.program(), *words, cwd=paths.ROOT)
    assert output_of(unpacked / "bin/kubectl-rayscaler", "--help", env=env).startswith("usage: kubectl rayscaler ")
    (loader,) = (unpacked / "lib").glob("ld-linux*")
    loaded = output_of(loader, "--library-path", unpacked / "lib", "--list", unpacked / "libexec/rayscaler")
    found = re.findall(r"=> (/\S+)", loaded)
    assert len(found) > 20 and all(path.startswith(str(unpacked)) for path in found), loaded


def test_licenses_and_documents_are_with_the_program(unpacked, release, version, work_dir):
    own = (paths.ROOT / "LICENSE").read_text()
    assert (unpacked / "LICENSE").read_text() == own
    here = output_of("dpkg", "--print-architecture").strip()
    sbom = json.loads((release / f"rayscaler-{version}-linux-{here}.spdx.json").read_text())
    stated = {one["name"]: one["licenseDeclared"] for one in sbom["packages"] if not one["name"].endswith(".oci.tar")}
    assert "NOASSERTION" not in stated.values() and stated["rayscaler"] == "Apache-2.0" and len(stated) > 20
    for package in stated:
        assert (unpacked / "licenses" / package / "copyright").stat().st_size > 100, package
    assert (unpacked / "licenses/common-licenses/LGPL-2.1").exists()
    output_of("dpkg-deb", "-x", release / f"rayscaler_{version}_{here}.deb", work_dir / "deb")
    places = work_dir / "deb/usr/share/doc/rayscaler"
    assert own in (places / "copyright").read_text()
    # What man pages name is beside the program in both.
    named = {name for path in (unpacked / "share/man/man1").glob("rayscaler*.gz") if not path.is_symlink()
             for name in re.findall(r"docs/[A-Z_]+\.md", gzip.decompress(path.read_bytes()).decode().replace("\\", ""))}
    assert named
    assert [name for name in named for top in (unpacked, places) if not (top / name).exists()] == []


def test_dpkg_accepts_the_package(release, version, work_dir, architectures):
    for architecture in architectures:
        path = release / f"rayscaler_{version}_{architecture}.deb"
        fields = dict(line.split(": ", 1) for line in output_of("dpkg-deb", "-f", path).splitlines() if not line.startswith(" "))
        assert (fields["Package"], fields["Version"], fields["Architecture"]) == ("rayscaler", version, architecture)
        for needed in fields["Depends"].split(", "):
            name, least = re.fullmatch(r"(\S+) \(>= (\S+)\)", needed).groups()
            installed = output_of("dpkg-query", "-W", "-f", "${Version}", name)
            output_of("dpkg", "--compare-versions", installed, "ge", least)
        output_of("dpkg-deb", "-x", path, work_dir / architecture)
        output_of("md5sum", "--strict", "-c", extract_control(path, work_dir) / "md5sums", cwd=work_dir / architecture)
    here = work_dir / output_of("dpkg", "--print-architecture").strip()
    assert output_of(here / "usr/bin/kubectl-rayscaler", "version") == output_of(paths.program(), "version")


def extract_control(path: Path, to: Path) -> Path:
    output_of("dpkg-deb", "-e", path, to / f"control-{path.name}")
    return to / f"control-{path.name}"


def test_man_pages(unpacked):
    """Without a warning of groff and mandoc, and with every flag of --help."""
    pages = sorted(path for path in (unpacked / "share/man/man1").iterdir() if not path.is_symlink())
    listed = re.findall(r"^  ([a-z]+) +\S", output_of(paths.program(), "--help"), re.M)
    assert set(COMMANDS) <= set(listed)
    assert {path.name for path in pages} == {"rayscaler.1.gz", *(f"rayscaler-{name}.1.gz" for name in listed)}
    env = {**os.environ, "MANWIDTH": "1000", "LC_ALL": "C.UTF-8"}
    for path in pages:
        shown = subprocess.run([need("man"), "--warnings", "-E", "UTF-8", "-l", path], env=env, capture_output=True, text=True, check=True, timeout=60)
        assert shown.stderr == "", f"{path.name}: {shown.stderr}"
        linted = subprocess.run([need("mandoc"), "-T", "lint", "-W", "warning", path], capture_output=True, text=True, check=False, timeout=60)
        assert (linted.stdout, linted.stderr) == ("", ""), path.name
        name = path.name[:-5].removeprefix("rayscaler").lstrip("-")
        helped = output_of(paths.program(), *([name] if name else []), "--help")
        for flag in re.findall(r"^  (?:-\w, )?(--[\w-]+)", helped, re.M):
            assert re.search(rf"(?<![\w-]){flag}(?![\w-])", shown.stdout.replace("‐", "-")), f"{path.name} lacks {flag}"


def completion(unpacked: Path, words: List[str], kubectl: str = ":") -> List[str]:
    """The words that bash offers for the last of ``words``; ``kubectl`` is the body of that command."""
    script = unpacked / "share/bash-completion/completions/rayscaler"
    quoted = " ".join(f"'{word}'" for word in words)
    text = f'kubectl() {{ {kubectl}; }}; . "{script}"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _rayscaler; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return output_of("bash", "--norc", "-eu", "-c", text).split()


def test_bash_completion(unpacked, work_dir):
    assert set(COMMANDS) <= set(completion(unpacked, ["rayscaler", ""]))
    assert completion(unpacked, ["rayscaler", "sta"]) == ["status"]
    assert completion(unpacked, ["rayscaler", "status", "-o", ""]) == ["table", "json", "yaml"]
    assert completion(unpacked, ["rayscaler", "run", "--packing", "f"]) == ["fewest-gpus"]
    assert completion(unpacked, ["rayscaler", "run", "--scan-interval-seconds", ""]) == []
    for name in COMMANDS:
        flags = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", output_of(paths.program(), name, "--help"), re.M))
        assert set(completion(unpacked, ["rayscaler", name, "--"])) == flags | {"--help"}


def test_completion_of_cluster_names(unpacked):
    """Asked of the API server, in the namespace that is given before; a flag is completed without it."""
    clusters = 'if [ "${!#}" = team-a ]; then echo demo; else echo train tune; fi'
    for name in ("explain", "status", "adopt", "request"):
        assert completion(unpacked, ["rayscaler", name, "t"], clusters) == ["train", "tune"]
    assert completion(unpacked, ["rayscaler", "explain", "-n", "team-a", ""], clusters) == ["demo"]
    assert completion(unpacked, ["rayscaler", "explain", "--col"], "exit 1") == ["--color"]
    assert completion(unpacked, ["rayscaler", "explain", ""], "return 1") == []


def test_a_tab_in_an_interactive_bash(unpacked):
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(PS1="$ ", TERM="dumb")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    seen = b""
    try:
        os.write(terminal, f". {unpacked}/share/bash-completion/completions/rayscaler; echo read''y\n".encode())
        deadline = time.monotonic() + 60
        asked = False
        while b"rayscaler explain " not in seen and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 4096)
            if b"ready" in seen and not asked:
                os.write(terminal, b"rayscaler expl\t")
                asked = True
    finally:
        os.write(terminal, b"\x15exit\n")
        os.waitpid(process, 0)
        os.close(terminal)
    assert b"rayscaler explain " in seen, seen


def test_completion_of_kubectl_rayscaler(unpacked, work_dir):
    """kubectl asks the program kubectl_complete-rayscaler in PATH."""
    kubectl = Tool("kubectl", None, work_dir / "home")
    kubectl.env["PATH"] = f"{unpacked}/bin:{kubectl.env['PATH']}"
    assert kubectl.run("__complete", "rayscaler", "exp").stdout.split() == ["explain", ":4"]
    assert kubectl.run("__complete", "rayscaler", "status", "--gp").stdout.split() == ["--gpus", ":4"]


def test_fish_and_zsh_completion(unpacked):
    script = unpacked / "share/fish/vendor_completions.d/rayscaler.fish"

    def offered(line: str) -> List[str]:
        said = output_of(need("fish"), "--no-config", "-c", f"source '{script}'; complete -C '{line}'")
        return [one.split("\t")[0] for one in said.splitlines()]

    assert set(COMMANDS) <= set(offered("rayscaler "))
    assert sorted(offered("rayscaler status -o ")) == ["json", "table", "yaml"]
    assert offered("rayscaler lint --from-c") == ["--from-cluster"]
    output_of(need("zsh"), "-n", unpacked / "share/zsh/vendor-completions/_rayscaler")


# ---- chart, krew manifest, SBOM ----


DOCUMENTS = ("README.md", "docs/QUICKSTART.md")


def test_the_chart_installs(release, api_server, work_dir):
    """Each command of the documents that installs the chart, with the packed one; NOTES.txt warns of the default image."""
    helm = Tool("helm", api_server.write_kubeconfig(work_dir / "kubeconfig", token=api_server.tokens[ADMIN_USER]), work_dir / "home")
    (chart,) = release.glob("rayscaler-*.tgz")
    warned = []
    for document in DOCUMENTS:
        for line in re.findall(r"^ +helm (install rayscaler charts/rayscaler .*)$", (paths.ROOT / document).read_text(), re.M):
            said = helm.run(*line.replace("charts/rayscaler", str(chart)).split()).stdout
            helm.run("uninstall", "rayscaler", "--namespace", "rayscaler-system")
            default = "--set image.repository" not in line
            assert ("WARNING: image.repository is the default" in said) == default, f"{document}: {line}"
            assert "rayscaler adopt CLUSTER" in said
            warned.append(default)
    assert sorted(warned) == [False, True]


def test_the_chart_is_that_of_the_folder(release, helm):
    (chart,) = [path for path in release.glob("rayscaler-*.tgz")]
    words = ["template", "rayscaler", "--namespace", "rayscaler-system", "--include-crds"]
    assert helm.run(*words, chart).stdout == helm.run(*words, paths.ROOT / "charts/rayscaler").stdout
    linted = helm.run("lint", chart).stdout
    assert "0 chart(s) failed" in linted and "[INFO]" not in linted, linted


def test_the_krew_manifest_fits_the_tarballs(release, architectures, work_dir):
    made = yaml.safe_load((release / "rayscaler-krew.yaml").read_text())
    assert (made["kind"], made["metadata"]["name"]) == ("Plugin", "rayscaler")
    platforms = {one["selector"]["matchLabels"]["arch"]: one for one in made["spec"]["platforms"]}
    assert sorted(platforms) == architectures
    assert "macOS and Windows are missing" in made["spec"]["description"]
    assert ("linux/arm64 is missing" in made["spec"]["description"]) == ("arm64" not in architectures)
    for architecture, platform in platforms.items():
        path = release / platform["uri"].rpartition("/")[2]
        assert platform["uri"].startswith("https://")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == platform["sha256"]
        unpack(path, work_dir / architecture)
        (moved,) = platform["files"]
        names = glob.glob(str(work_dir / architecture / moved["from"]))
        assert moved["to"] == "." and str(Path(names[0]).parent / platform["bin"].split("/")[0]) in names
        assert os.access(Path(names[0]).parent / platform["bin"], os.X_OK)


def test_the_sbom_names_the_package_of_every_library(release, version, architectures):
    for architecture in architectures:
        name = f"rayscaler-{version}-linux-{architecture}"
        made = json.loads((release / f"{name}.spdx.json").read_text())
        assert (made["spdxVersion"], made["dataLicense"], made["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
        packages = {one["SPDXID"]: one for one in made["packages"]}
        assert len(packages) == len(made["packages"]) > 20
        (described,) = [one["relatedSpdxElement"] for one in made["relationships"] if one["relationshipType"] == "DESCRIBES"]
        image_sum = hashlib.sha256((release / f"{name}.oci.tar").read_bytes()).hexdigest()
        assert packages[described]["checksums"] == [{"algorithm": "SHA256", "checksumValue": image_sum}]
        contained = {one["relatedSpdxElement"] for one in made["relationships"] if one["relationshipType"] == "CONTAINS"}
        assert contained == set(packages) - {described}
        if architecture == output_of("dpkg", "--print-architecture").strip():
            names = {one["name"]: one["versionInfo"] for one in made["packages"]}
            root = release / f".rootfs-{architecture}"
            libraries = [f"/{path.relative_to(root)}" for path in root.rglob("*.so*")]
            asked = [*libraries, *(path.removeprefix("/usr") for path in libraries)]
            owned = subprocess.run(["dpkg-query", "-S", *asked], capture_output=True, text=True, check=False, timeout=300).stdout
            owners = {line.rpartition("/")[2]: line.split(":")[0] for line in owned.splitlines()}
            assert {owners[Path(path).name] for path in libraries} <= set(names)
            assert names["libssl3"] == output_of("dpkg-query", "-W", "-f", "${Version}", "libssl3")
            assert {"ca-certificates", "tzdata"} <= set(names)
