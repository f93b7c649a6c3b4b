"""The stream of changes of one resource."""

import random
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .errors import StatusError, bad_request, expired
from .registry import Resource
from .selectors import Match
from .store import Change, Store

Event = Tuple[str, Dict[str, Any]]

BOOKMARK_SECONDS = 60.0
LAST_BOOKMARK_SECONDS = 2.0  # before the end of the watch
HEARTBEAT_SECONDS = 0.5  # how often a silent watch checks that its client is still connected


class Watch:
    """Events for one client; iterate it in the client's thread. An empty event (None) is a chance
    to notice that the client has disconnected."""

    def __init__(self, store: Store, resource: Resource, namespace: str, match: Match, params: Dict[str, str]):
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._match = match
        self._bookmarks = params.get("allowWatchBookmarks") in ("true", "1")
        text = params.get("resourceVersion", "")
        if text and not text.isdigit():
            why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
            raise StatusError(500, why, "")
        if params.get("sendInitialEvents"):
            raise StatusError(422, "sendInitialEvents is not supported by the embedded API server")
        self._from = int(text or "0")
        seconds = params.get("timeoutSeconds", "")
        if seconds and not seconds.isdigit():
            raise bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
        self._seconds = float(seconds or 0) or 1800.0 * (1.0 + random.random())

    def events(self) -> Iterator[Optional[Event]]:
        end = time.monotonic() + self._seconds
        version = self._from
        if version == 0:
            objects, version = self._store.list(self._resource.id, self._namespace)
            yield from (("ADDED", self._shown(obj)) for obj in objects if self._match(obj))
        bookmark = self._next_bookmark(end)
        while time.monotonic() < end:
            changes, version, oldest = self._changes_after(version, min(end, bookmark))
            if oldest is not None:
                yield "ERROR", expired(f"too old resource version: {version} ({oldest})").body()
                return
            events = [event for event in map(self._event, changes) if event]
            yield from events
            if self._bookmarks and time.monotonic() >= bookmark:
                yield "BOOKMARK", self._bookmark(version)
                bookmark = self._next_bookmark(end)
            elif not events:
                yield None

    def _next_bookmark(self, end: float) -> float:
        now = time.monotonic()
        before_end = end - LAST_BOOKMARK_SECONDS
        if now >= before_end:
            return end + 1.0
        return min(now + BOOKMARK_SECONDS, before_end)

    def _changes_after(self, version: int, until: float) -> Tuple[List[Change], int, Optional[int]]:
        """(changes, the version they lead to, None), or the oldest version that is still known
        when ``version`` is older than that."""
        table = self._store.table(self._resource.id)
        with self._store.lock:
            if version < table.window:
                return [], version, table.window
            wait = max(0.0, min(until - time.monotonic(), HEARTBEAT_SECONDS))
            if not (table.history and table.history[-1].version > version):
                self._store.changed.wait_for(
                    lambda: table.history and table.history[-1].version > version, wait
                )
            changes = [change for change in table.history if change.version > version]
            return changes, max(version, self._store.version), None

    def _event(self, change: Change) -> Optional[Event]:
        """The event of this watch for a change: entering and leaving the selection are ADDED and
        DELETED; a leaving object is shown as it was last selected, at the version of the change."""
        old_in = change.old is not None and self._selects(change.old)
        new_in = change.new is not None and self._selects(change.new)
        if new_in:
            return ("MODIFIED" if old_in else "ADDED"), self._shown(change.new)
        if not old_in:
            return None
        last = change.old
        assert last is not None
        metadata = {**last["metadata"], "resourceVersion": str(change.version)}
        return "DELETED", self._shown({**last, "metadata": metadata})

    def _selects(self, obj: Dict[str, Any]) -> bool:
        return (not self._namespace or obj["metadata"].get("namespace") == self._namespace) and self._match(obj)

    def _shown(self, obj: Any) -> Dict[str, Any]:
        return {**obj, "apiVersion": self._resource.api_version}

    def _bookmark(self, version: int) -> Dict[str, Any]:
        metadata: Dict[str, Any] = {"resourceVersion": str(version)}
        if self._resource.rules.typed:
            metadata["creationTimestamp"] = None
        return {
            "kind": self._resource.kind,
            "apiVersion": self._resource.api_version,
            "metadata": metadata,
            **self._resource.empty_bookmark,
        }
