"""Archives with the same bytes for the same content: names sorted, owner 0, one time for all."""

import gzip
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Dict, List, Union


@dataclass(frozen=True)
class Link:
    to: str


@dataclass(frozen=True)
class File:
    """With its content, or the path of a file that has it."""

    data: Union[bytes, Path]
    mode: int = 0o644

    def size(self) -> int:
        return self.data.stat().st_size if isinstance(self.data, Path) else len(self.data)

    def open(self) -> BinaryIO:
        return self.data.open("rb") if isinstance(self.data, Path) else io.BytesIO(self.data)


Entries = Dict[str, Union[File, Link]]  # by path, without a slash at its start


def tar(entries: Entries, time: int, prefix: str = "") -> bytes:
    """``entries`` and their directories; ``prefix`` precedes each name, such as "./"."""
    output = io.BytesIO()
    write_tar(output, entries, time, prefix)
    return output.getvalue()


def write_tar(output: BinaryIO, entries: Entries, time: int, prefix: str = "") -> None:
    directories = {str(parent) for name in entries for parent in Path(name).parents} - {"."}
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted([*entries, *directories], key=lambda one: one.split("/")):
            info = tarfile.TarInfo(prefix + name)
            info.mtime, info.uname, info.gname = time, "root", "root"
            entry = entries.get(name)
            if entry is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            elif isinstance(entry, Link):
                info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.to, 0o777
                archive.addfile(info)
            else:
                info.mode, info.size = entry.mode, entry.size()
                with entry.open() as content:
                    archive.addfile(info, content)


def compress(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=6, mtime=0)


def tree(directory: Path) -> Entries:
    """The files and links below ``directory``."""
    found: Entries = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = Link(str(path.readlink()))
        elif path.is_file():
            found[name] = File(path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def below(prefix: str, entries: Entries) -> Entries:
    return {f"{prefix}/{name}": entry for name, entry in entries.items()}


def ar(members: List[tuple], time: int) -> bytes:
    """The format of a .deb: (name, data), in order."""
    output = b"!<arch>\n"
    for name, data in members:
        output += f"{name:<16}{time:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
        output += data + b"\n" * (len(data) % 2)
    return output
