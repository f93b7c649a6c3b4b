"""A limit on a program's memory, as a container has one."""

import itertools
import os
from pathlib import Path
from typing import Any, List, Optional

import yaml

from . import paths

MIB = 1 << 20
CGROUPS = Path("/sys/fs/cgroup")
_numbers = itertools.count(1)


def chart_limit_mib() -> int:
    values = yaml.safe_load((paths.ROOT / "charts/rayscaler/values.yaml").read_text())
    return int(values["resources"]["limits"]["memory"].removesuffix("Mi"))


class MemoryLimit:
    """A memory cgroup below our own (v2, else v1) where one can be made, else RLIMIT_DATA; ``how`` says which.
    ``command(words)`` runs ``words`` within it, under the same process id."""

    def __init__(self, mib: int):
        self.mib = mib
        self._name = f"rayscaler-{os.getpid()}-{next(_numbers)}"
        self._directory = self._make()
        self.how = f"cgroup {self._directory}" if self._directory else "RLIMIT_DATA: no cgroup can be made here"

    def _make(self) -> Optional[Path]:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "memory":
                top, limit = CGROUPS / "memory", "memory.limit_in_bytes"
            elif controllers == "":
                top, limit = CGROUPS, "memory.max"
            else:
                continue
            directory = top / path.lstrip("/") / self._name
            try:
                directory.mkdir()
            except OSError:
                continue
            try:
                # Opened without O_CREAT: without this controller there is no such file.
                with open(directory / limit, "r+") as file:
                    file.write(str(self.mib * MIB))
                return directory
            except OSError:
                directory.rmdir()
        return None

    def command(self, words: List[Any]) -> List[Any]:
        if self._directory:
            return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self._directory, *words]
        return ["prlimit", f"--data={self.mib * MIB}", "--", *words]

    def remove(self) -> None:
        """When the program has ended."""
        if self._directory:
            self._directory.rmdir()
