"""The licenses of what the image carries: our own, and those of Debian's packages, from the copyright files that
charts/image/rootfs.sh puts into the root file system."""

from pathlib import Path
from typing import Dict

from archive import Entries, File

OWN = "Apache-2.0"
HOLDERS = "The rayscaler authors"
PROGRAM = "rayscaler"

# SPDX expressions of the files that the image has of each package (the library, not its documentation or build
# scripts), read from Debian's copyright files. A package without a row ends `make dist`.
SPDX: Dict[str, str] = {
    "ca-certificates": "MPL-2.0 AND GPL-2.0-or-later",
    "libbrotli1": "MIT",
    "libc6": "LGPL-2.1-or-later AND BSD-3-Clause AND ISC AND MIT",
    "libcjson1": "MIT",
    "libcom-err2": "MIT",
    "libcurl4": "curl AND ISC AND BSD-3-Clause",
    "libffi8": "MIT",
    "libgmp10": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libgnutls30": "LGPL-2.1-or-later",
    "libgssapi-krb5-2": "MIT AND BSD-3-Clause AND BSD-2-Clause AND ISC",
    "libhogweed6": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libidn2-0": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libk5crypto3": "MIT AND BSD-3-Clause AND BSD-2-Clause AND ISC",
    "libkeyutils1": "LGPL-2.0-or-later",
    "libkrb5-3": "MIT AND BSD-3-Clause AND BSD-2-Clause AND ISC",
    "libkrb5support0": "MIT AND BSD-3-Clause AND BSD-2-Clause AND ISC",
    "libldap-2.5-0": "OLDAP-2.8",
    "libmicrohttpd12": "LGPL-2.1-or-later",
    "libnettle8": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libnghttp2-14": "MIT",
    "libp11-kit0": "BSD-3-Clause",
    "libprotobuf-c1": "BSD-2-Clause AND BSD-3-Clause",
    "libpsl5": "MIT",
    "librtmp1": "LGPL-2.1-or-later",
    "libsasl2-2": "BSD-4-Clause-UC AND BSD-2-Clause AND RSA-MD",
    "libssh2-1": "BSD-3-Clause",
    "libssl3": "Apache-2.0",
    "libtasn1-6": "LGPL-2.1-or-later",
    "libunistring2": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    "libuv1": "MIT AND ISC AND BSD-2-Clause AND BSD-3-Clause",
    "libyaml-0-2": "MIT",
    "libzstd1": "BSD-3-Clause OR GPL-2.0-only",
    "tzdata": "LicenseRef-public-domain",
    "zlib1g": "Zlib",
}


def expression(package: str) -> str:
    if package == PROGRAM:
        return OWN
    if package not in SPDX:
        raise SystemExit(f"dist: the license of {package} is unknown: add its SPDX expression to SPDX in mk/dist/licenses.py")
    return SPDX[package]


def texts(root: Path) -> Entries:
    """Of all packages of a root file system, as PACKAGE/copyright, and the licenses that these name."""
    share = root / "usr/share"
    found = {f"{path.parent.name}/{path.name}": path for path in share.glob("doc/*/copyright")}
    found.update({f"common-licenses/{path.name}": path for path in share.glob("common-licenses/*")})
    return {name: File(path.read_bytes()) for name, path in found.items()}


def debian_copyright(top: Path) -> bytes:
    """The file `copyright` of our own package."""
    head = f"rayscaler is Copyright {HOLDERS}, under the Apache License, Version 2.0:\n\n"
    return head.encode() + (top / "LICENSE").read_bytes()
