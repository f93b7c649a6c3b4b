"""The software bill of materials of an image, as SPDX 2.3 JSON: the program and the Debian packages of its files."""

import hashlib
import json
from typing import Any, Dict, List
from urllib.parse import quote

import licenses
from debian import Package
from oci import written


def identifier(name: str) -> str:
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def entry(name: str, version: str, purl: str, license_name: str) -> Dict[str, Any]:
    return {
        "SPDXID": identifier(f"Package-{name}"),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian" if purl.startswith("pkg:deb") else "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": license_name,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


def document(image: str, image_bytes: bytes, version: str, commit: str, packages: List[Package], time: int) -> bytes:
    digest = hashlib.sha256(image_bytes).hexdigest()
    whole = entry(image, version, f"pkg:generic/{image}@{version}", "NOASSERTION")
    whole["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    program = entry("rayscaler", version, f"pkg:generic/rayscaler@{version}?vcs_commit={commit}", licenses.expression(licenses.PROGRAM))
    parts = [program]
    for one in sorted(set(packages), key=lambda package: package.name):
        purl = f"pkg:deb/debian/{one.name}@{quote(one.version, safe='.~')}?arch={one.architecture}&distro=debian-12"
        parts.append(entry(one.name, one.version, purl, licenses.expression(one.name)))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", whole["SPDXID"])]
    relations += [(whole["SPDXID"], "CONTAINS", part["SPDXID"]) for part in parts]
    made = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": image,
        "documentNamespace": f"https://rayscaler.dev/spdx/{image}-{digest}",
        "creationInfo": {"created": written(time), "creators": [f"Tool: rayscaler-make-dist-{version}"]},
        "packages": [whole, *parts],
        "hasExtractedLicensingInfos": [
            {"licenseId": "LicenseRef-public-domain", "extractedText": "The time zone database is in the public domain."}
        ],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations
        ],
    }
    return json.dumps(made, indent=1).encode() + b"\n"
