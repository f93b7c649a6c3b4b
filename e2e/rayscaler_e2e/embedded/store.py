"""Objects with one resourceVersion counter, a bounded history per resource, and a journal.

Stored objects are never changed in place: a change stores a copy. All methods take
the lock themselves; ``lock`` is public so that a read, a decision and a write can be one step.

The journal is a file of JSON lines, one per write. It survives a kill of the process (not of the
machine) and is read back at the start; the history is not, so watches from before get 410.
"""

import json
import os
import threading
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Deque, Dict, List, Optional, TextIO, Tuple

HISTORY = 2000

Key = Tuple[str, str]  # namespace ("" for cluster-wide resources), name
Object = Dict[str, Any]


@dataclass
class Change:
    version: int
    old: Optional[Object]
    new: Optional[Object]  # None: deleted, and `old` carries the version of the deletion


class Table:
    """The objects of one resource; ``window`` is the version before the oldest change kept."""

    def __init__(self, version: int):
        self.objects: Dict[Key, Object] = {}
        self.history: Deque[Change] = deque()
        self.window = version

    def remember(self, change: Change) -> None:
        self.history.append(change)
        while len(self.history) > HISTORY:
            self.window = self.history.popleft().version


class Store:
    def __init__(self, journal: Optional[Path]):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version = 1
        self._tables: Dict[str, Table] = {}
        self._journal: Optional[TextIO] = None
        if journal is not None:
            self._replay(journal)
            self._journal = self._compact(journal)

    def table(self, resource: str) -> Table:
        """The table of a resource id ("pods", "rayclusters.ray.io"), made when needed."""
        with self.lock:
            if resource not in self._tables:
                self._tables[resource] = Table(self.version)
            return self._tables[resource]

    def get(self, resource: str, key: Key) -> Optional[Object]:
        with self.lock:
            return self.table(resource).objects.get(key)

    def list(self, resource: str, namespace: str) -> Tuple[List[Object], int]:
        """Objects in the order of their keys, and the version that the list is of."""
        with self.lock:
            objects = self.table(resource).objects
            keys = sorted(key for key in objects if not namespace or key[0] == namespace)
            return [objects[key] for key in keys], self.version

    def put(self, resource: str, key: Key, obj: Object) -> Object:
        """Create or replace; returns the object with its new resourceVersion."""
        with self.lock:
            self.version += 1
            stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
            self._commit(resource, key, stored)
            return stored

    def remove(self, resource: str, key: Key) -> Object:
        """Delete; returns the last state with the version of the deletion."""
        with self.lock:
            self.version += 1
            self._commit(resource, key, None)
            last = self.table(resource).history[-1].old
            assert last is not None
            return last

    def _commit(self, resource: str, key: Key, new: Optional[Object]) -> None:
        table = self.table(resource)
        old = table.objects.get(key)
        if new is None:
            assert old is not None
            del table.objects[key]
            old = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        else:
            table.objects[key] = new
        table.remember(Change(self.version, old, new))
        if self._journal is not None:
            self._journal.write(json.dumps([self.version, resource, *key, new]) + "\n")
        self.changed.notify_all()

    def _replay(self, journal: Path) -> None:
        if not journal.exists():
            return
        objects: Dict[str, Dict[Key, Object]] = {}
        for line in journal.read_text().splitlines():
            try:
                version, resource, namespace, name, obj = json.loads(line)
            except ValueError:
                break  # cut short by a kill: the writer got no answer for it either
            self.version = version
            kept = objects.setdefault(resource, {})
            if obj is None:
                kept.pop((namespace, name), None)
            else:
                kept[(namespace, name)] = obj
        for resource, kept in objects.items():
            self.table(resource).objects = kept

    def _compact(self, journal: Path) -> TextIO:
        """Start a journal with the present objects; returns it open for more."""
        new = journal.with_suffix(".new")
        out = open(new, "w", buffering=1)
        for resource, table in self._tables.items():
            for key, obj in table.objects.items():
                out.write(json.dumps([self.version, resource, *key, obj]) + "\n")
        os.replace(new, journal)
        return out
