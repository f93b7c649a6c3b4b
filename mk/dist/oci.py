"""The image as one archive: an OCI image layout that also has docker's manifest.json, as `docker save` writes it.

`docker load`, `podman load`, `ctr images import` and `kind load image-archive` read it. The user, entrypoint,
environment and labels are those of the last stage of charts/image/Dockerfile.
"""

import gzip
import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

from archive import Entries, File, tar

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
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


def image(layer: bytes, dockerfile: Path, name: str, architecture: str, labels: Dict[str, str], time: int) -> bytes:
    """``layer``: the root file system as tar.gz; ``name``: NAME:TAG."""
    blobs: Entries = {}

    def blob(data: bytes, kind: str) -> Dict[str, Any]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = File(data)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    def text(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":")).encode()

    config = last_stage(dockerfile.read_text())
    config["Labels"].update(labels)
    described = {
        "created": written(time),
        "architecture": architecture,
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}"]},
        "history": [{"created": written(time), "created_by": "make dist"}],
    }
    layers: List[Dict[str, Any]] = [blob(layer, LAYER)]
    config_blob = blob(text(described), CONFIG)
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config_blob, "layers": layers}
    found = blob(text(manifest), MANIFEST)
    found["platform"] = {"architecture": architecture, "os": "linux"}
    # containerd takes the whole name, skopeo and podman the tag.
    tag = name.rpartition(":")[2]
    found["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [found]}
    path = {one["digest"]: "blobs/sha256/" + one["digest"][7:] for one in [config_blob, *layers]}
    docker = [{"Config": path[config_blob["digest"]], "RepoTags": [name], "Layers": [path[one["digest"]] for one in layers]}]
    blobs["oci-layout"] = File(b'{"imageLayoutVersion":"1.0.0"}')
    blobs["index.json"] = File(text(index))
    blobs["manifest.json"] = File(text(docker))
    return tar(blobs, time)
