"""An image as one archive: an OCI image layout that also has docker's manifest.json, as `docker save` writes it.

`docker load`, `podman load`, `ctr images import` and `kind load image-archive` read it. Of the product's image the user,
entrypoint, environment and labels are those of the last stage of charts/image/Dockerfile.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO, Dict, List

from archive import Entries, File, tar

PLAIN_LAYER = "application/vnd.oci.image.layer.v1.tar"
LAYER = PLAIN_LAYER + "+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


def last_stage(dockerfile: str) -> Dict[str, Any]:
    """The "config" of an image; an instruction that this does not know is an error."""
    config: Dict[str, Any] = {"Labels": {}, "Env": []}
    lines = dockerfile.replace("\\\n", " ").splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("FROM "))
    for line in lines[start + 1 :]:
        word, _, rest = line.partition(" ")
        if word == "ENV":
            config["Env"].append(rest)
        elif word == "USER":
            config["User"] = rest
        elif word == "ENTRYPOINT":
            config["Entrypoint"] = json.loads(rest)
        elif word == "LABEL":
            pairs = rest.strip().rstrip('"').split('" ')
            for name, _, value in (pair.strip().partition('="') for pair in pairs):
                config["Labels"][name] = value
        elif line.strip() and word not in ("COPY", "#"):
            raise SystemExit(f"dist: {word} of the Dockerfile is unknown: teach mk/dist/oci.py")
    return config


def written(time: int) -> str:
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Layer:
    """A tar, as .tar.gz or plain."""

    content: File
    compressed: bool

    def diff_id(self) -> str:
        """The digest of the plain tar."""
        with self.content.open() as content:
            return digest_of(gzip.GzipFile(fileobj=content) if self.compressed else content)


def digest_of(content: BinaryIO) -> str:
    found = hashlib.sha256()
    for part in iter(lambda: content.read(1 << 20), b""):
        found.update(part)
    return f"sha256:{found.hexdigest()}"


def blob(content: File, kind: str) -> Dict[str, Any]:
    """Its descriptor."""
    with content.open() as opened:
        return {"mediaType": kind, "digest": digest_of(opened), "size": content.size()}


def place(descriptor: Dict[str, Any]) -> str:
    return "blobs/sha256/" + descriptor["digest"].partition(":")[2]


def text(value: Any) -> File:
    return File(json.dumps(value, separators=(",", ":")).encode())


def layout(layers: List[Layer], config: Dict[str, Any], name: str, architecture: str, made_by: str, time: int) -> Entries:
    """``config``: as the image specification has it; ``name``: NAME:TAG."""
    described = {
        "created": written(time),
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id() for layer in layers]},
        "history": [{"created": written(time), "created_by": made_by}] * len(layers),
    }
    blobs = [blob(layer.content, LAYER if layer.compressed else PLAIN_LAYER) for layer in layers]
    config_blob = blob(text(described), CONFIG)
    manifest = text({"schemaVersion": 2, "mediaType": MANIFEST, "config": config_blob, "layers": blobs})
    found = blob(manifest, MANIFEST)
    files: Entries = {place(one): layer.content for one, layer in zip(blobs, layers)}
    files.update({place(config_blob): text(described), place(found): manifest})
    found["platform"] = {"architecture": architecture, "os": "linux"}
    # containerd takes the whole name, skopeo and podman the tag.
    tag = name.rpartition(":")[2]
    found["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [found]}
    docker = [{"Config": place(config_blob), "RepoTags": [name], "Layers": [place(one) for one in blobs]}]
    files["oci-layout"] = File(b'{"imageLayoutVersion":"1.0.0"}')
    files["index.json"] = text(index)
    files["manifest.json"] = text(docker)
    return files


def image(layer: bytes, dockerfile: Path, name: str, architecture: str, labels: Dict[str, str], time: int) -> bytes:
    """``layer``: the root file system as tar.gz; ``name``: NAME:TAG."""
    config = last_stage(dockerfile.read_text())
    config["Labels"].update(labels)
    return tar(layout([Layer(File(layer), True)], config, name, architecture, "make dist", time), time)
