"""RayClusters with a head for teams that share a GPUPool."""

from contextlib import ExitStack
from typing import Any, Dict, List, Optional

from . import ray_manifests as rm
from .pools import Pool
from .scenario import Scenario


class Teams:
    """A RayCluster with a head for each of some teams."""

    def __init__(self, server: Any, pool: Pool, work_dir: Any):
        self.pool = pool
        self._server, self._work_dir = server, work_dir
        self.made: List[Scenario] = []

    def add(self, *names: str, idle_seconds: int = 300, groups: Optional[Dict[str, List[Any]]] = None) -> List[Scenario]:
        """Each in the namespace of the team of its name, with ``groups`` of its name; all heads start at once."""
        for name in names:
            made = (groups or {}).get(name) or [rm.gpu_group(maxReplicas=20)]
            manifest = rm.cluster(name, [self.pool.group(group) for group in made], idle_seconds=idle_seconds)
            self.made.append(Scenario(self._server, self.pool.space(name), manifest, self._work_dir))
        return [one.wait_head() for one in self.made[-len(names) :]]

    def close(self) -> None:
        with ExitStack() as closing:
            for one in self.made:
                closing.callback(one.close)
