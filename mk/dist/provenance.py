"""How the files of `make dist` were made: an in-toto Statement with SLSA's provenance v1 predicate, unsigned.

The type of the build and the builder have names that no host can have, unless the variables of mk/dist.mk name
others: https://slsa.dev/spec/v1.0/provenance
"""

import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any, Dict, List

BUILD_TYPE = "https://rayscaler.invalid/build-types/make-dist/v1"


def sha256(data: bytes) -> Dict[str, str]:
    return {"sha256": hashlib.sha256(data).hexdigest()}


def image_manifest(archive: bytes) -> Dict[str, Any]:
    """The manifest in an OCI archive: its digest is that of the image in every registry."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        (found,) = json.load(files.extractfile("index.json"))["manifests"]
    return found


def subjects(paths: List[Path]) -> List[Dict[str, Any]]:
    """The files, and the images in them by the digests of their manifests."""
    named = []
    for path in paths:
        data = path.read_bytes()
        named.append({"name": path.name, "digest": sha256(data)})
        if path.name.endswith(".oci.tar"):
            found = image_manifest(data)
            name = found["annotations"]["io.containerd.image.name"]
            digest = found["digest"].partition(":")[2]
            named.append({"name": f"{name} {found['platform']['architecture']}", "digest": {"sha256": digest}})
    return named


def source(commit: str, uri: str) -> Dict[str, Any]:
    """The sources; a short or changed commit is no digest."""
    known: Dict[str, Any] = {"name": "source"}
    if uri:
        known["uri"] = f"git+{uri}"
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        known["digest"] = {"gitCommit": commit}
    return known


def packages(paths: List[Path]) -> List[Dict[str, Any]]:
    """The Debian packages whose files are in the images, by the SBOMs."""
    purls = set()
    for path in paths:
        if path.name.endswith(".spdx.json"):
            for package in json.loads(path.read_text())["packages"]:
                purls |= {one["referenceLocator"] for one in package["externalRefs"]}
    return [{"uri": purl} for purl in sorted(purls) if purl.startswith("pkg:deb/")]


def statement(paths: List[Path], version: str, commit: str, time: int, uri: str, builder: str) -> bytes:
    made = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects(paths),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"target": "dist", "VERSION": version, "COMMIT": commit, "SOURCE_DATE_EPOCH": time},
                "resolvedDependencies": [one for one in [source(commit, uri), *packages(paths)] if one.keys() & {"uri", "digest"}],
            },
            "runDetails": {"builder": {"id": builder}},
        },
    }
    return json.dumps(made, indent=1).encode() + b"\n"
