"""A pipeline of Ray Data, part of `ray_driver.py`.

Reading, a map on CPUs, and a pool of 1 to GPUS actors with one GPU each. Its input dries up in the middle: one
block takes ``dry_seconds`` on a CPU, and there is nothing for the GPUs until then.
"""

import os
import time
from typing import Any, Dict

GPUS = 4
CPU_SECONDS, GPU_SECONDS = 0.2, 1.0


def run(blocks: int, dry_seconds: float, variables: Dict[str, str]) -> int:
    """The number of rows that came out. ``blocks`` are of one row each; ``variables``: of the environment."""
    os.environ.update(variables)
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False

    def read(row: Dict[str, Any]) -> Dict[str, Any]:
        time.sleep(dry_seconds if row["id"] == blocks // 2 else CPU_SECONDS)
        return row

    class Model:
        def __call__(self, batch: Any) -> Any:
            time.sleep(GPU_SECONDS)
            return batch

    rows = ray.data.range(blocks, override_num_blocks=blocks)
    # Order is kept, so that the blocks behind the slow one wait for it.
    context.execution_options.preserve_order = True
    rows = rows.map(read, num_cpus=1, concurrency=2)
    rows = rows.map_batches(Model, batch_size=1, num_gpus=1, num_cpus=0, concurrency=(1, GPUS))
    return sum(1 for _ in rows.iter_rows())
