"""Which Debian package has a library, and the .deb of the program."""

import hashlib
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Dict, List

from archive import Entries, File, ar, compress, tar


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str


def output_of(*words: object) -> str:
    return subprocess.run([str(one) for one in words], capture_output=True, text=True, check=True, timeout=300).stdout


def needed(program: Path) -> List[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", program))


def packages_here(paths: List[str]) -> Dict[str, Package]:
    """By file name, on this machine; dpkg knows a file of a merged /usr under the path of its package."""
    both = sorted({one for path in paths for one in (path, path.removeprefix("/usr"))})
    owned = subprocess.run(["dpkg-query", "-S", *both], capture_output=True, text=True, check=False, timeout=300).stdout
    found: Dict[str, Package] = {}
    for line in owned.splitlines():
        owner, _, path = line.rpartition(": ")
        words = output_of("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${Architecture}", owner).split("\t")
        found[path.rpartition("/")[2]] = Package(*words)
    return found


def packages_of(sysroot: Path, paths: List[str]) -> Dict[str, Package]:
    """The same for what e2e/setup-arm64.sh unpacked: lines "PACKAGE VERSION ARCHITECTURE PATH"."""
    names = {path.rpartition("/")[2] for path in paths}
    found: Dict[str, Package] = {}
    for line in (sysroot / "packages").read_text().splitlines():
        *package, path = line.split(" ")
        name = path.rpartition("/")[2]
        if name in names and name not in found:
            found[name] = Package(*package)
    return found


def upstream(version: str) -> str:
    """2.36 of 2.36-9+deb12u14: two numbers, because fixes do not change a library's symbols."""
    return re.match(r"(\d+:)?\d+(\.\d+)?", version).group()


def depends(program: Path, packages: Dict[str, Package]) -> str:
    """The packages of the libraries that the program itself names, at the versions that it was linked with."""
    wanted = sorted({packages[name] for name in needed(program) if not name.startswith("ld-")}, key=lambda one: one.name)
    return ", ".join(f"{one.name} (>= {upstream(one.version)})" for one in wanted)


def changelog(version: str, maintainer: str, time: int) -> bytes:
    date = datetime.fromtimestamp(time, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    return f"rayscaler ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- {maintainer}  {date}\n".encode()


def deb(files: Entries, fields: Dict[str, str], time: int) -> bytes:
    regular = {name: entry.data for name, entry in files.items() if isinstance(entry, File)}
    fields = {**fields, "Installed-Size": str((sum(map(len, regular.values())) + 1023) // 1024)}
    order = ["Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Section", "Priority", "Description"]
    control = "".join(f"{name}: {fields[name]}\n" for name in order).encode()
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, data in sorted(regular.items())).encode()
    meta: Entries = {"control": File(control), "md5sums": File(sums)}
    members = [("debian-binary", b"2.0\n"), ("control.tar.gz", compress(tar(meta, time, "./")))]
    return ar([*members, ("data.tar.gz", compress(tar(files, time, "./")))], time)
