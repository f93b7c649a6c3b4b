"""A LIST and WATCH of one resource kept up to date by a thread, for the stand-ins and for tests."""

import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

from .kubeclient import ApiError, KubeClient

WATCH_SECONDS = 300
RETRY_SECONDS = 0.2


class WatchCache:
    """Objects by (namespace, name), as the API server has them, a little later.

    ``changed`` is called from the cache's thread after each change, without arguments: wake your
    own loop there and read ``objects()``. Errors of the API server are retried for ever, with a
    fresh LIST; ``stop`` ends the thread.
    """

    def __init__(
        self,
        client: KubeClient,
        plural: str,
        namespace: Optional[str] = None,
        label_selector: Optional[str] = None,
        changed: Callable[[], None] = lambda: None,
    ):
        self._resource = client.of(plural, namespace)
        self._label_selector = label_selector
        self._changed = changed
        self._lock = threading.Lock()
        self._objects: Dict[Tuple[str, str], Dict[str, Any]] = {}
        self._stopping = threading.Event()
        self._synced = threading.Event()
        self._watch: Any = None
        self._thread = threading.Thread(target=self._run, name=f"watch-{plural}", daemon=True)
        self._thread.start()

    def wait_synced(self, seconds: float = 10.0) -> None:
        """Until the first LIST is in; raises TimeoutError."""
        if not self._synced.wait(seconds):
            raise TimeoutError(f"no list of {self._resource.plural} within {seconds} s")

    def objects(self) -> List[Dict[str, Any]]:
        """All objects, by namespace and name. They are shared: do not change them."""
        with self._lock:
            return [self._objects[key] for key in sorted(self._objects)]

    def get(self, namespace: str, name: str) -> Optional[Dict[str, Any]]:
        with self._lock:
            return self._objects.get((namespace, name))

    def stop(self) -> None:
        self._stopping.set()
        while self._thread.is_alive():
            watch = self._watch
            if watch is not None:
                watch.abort()
            self._thread.join(0.1)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow(self._list())
            except Exception:  # server down, 410, closed connection: list again
                self._stopping.wait(RETRY_SECONDS)

    def _list(self) -> str:
        answer = self._resource.list(self._label_selector)
        with self._lock:
            self._objects = {_key(obj): obj for obj in answer["items"]}
        self._synced.set()
        self._changed()
        return answer["metadata"]["resourceVersion"]

    def _follow(self, resource_version: str) -> None:
        while not self._stopping.is_set():
            self._watch = self._resource.watch(resource_version, WATCH_SECONDS, self._label_selector)
            with self._watch as events:
                for event in events:
                    resource_version = self._take(event)

    def _take(self, event: Dict[str, Any]) -> str:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise ApiError("WATCH", self._resource.path(), obj.get("code", 0), obj)
        if event["type"] != "BOOKMARK":
            with self._lock:
                if event["type"] == "DELETED":
                    self._objects.pop(_key(obj), None)
                else:
                    self._objects[_key(obj)] = obj
            self._changed()
        return obj["metadata"]["resourceVersion"]


def _key(obj: Dict[str, Any]) -> Tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
