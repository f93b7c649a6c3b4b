"""A pipeline of Ray Data, a program of its own: `python ray_data_run.py ADDRESS NODE_IP OUT BLOCKS DRY_SECONDS`.

Reading, a map on CPUs, and a pool of 1 to GPUS actors with one GPU each. Its input dries up in the middle: one
block takes DRY_SECONDS on a CPU, and there is nothing for the GPUs until then. Writes to OUT, as JSON, when it began
and when it ended.
"""

import json
import sys
import time
from pathlib import Path

GPUS = 4
BLOCKS, DRY_SECONDS = 64, 90.0
CPU_SECONDS, GPU_SECONDS = 0.2, 1.0


def main() -> None:
    import ray

    address, node_ip, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    blocks, dry_seconds = int(sys.argv[4]), float(sys.argv[5])
    ray.init(address=address, _node_ip_address=node_ip, log_to_driver=False, logging_level="warning")
    ray.data.DataContext.get_current().enable_progress_bars = False
    begun = time.time()

    def read(row):
        time.sleep(dry_seconds if row["id"] == blocks // 2 else CPU_SECONDS)
        return row

    class Model:
        def __call__(self, batch):
            time.sleep(GPU_SECONDS)
            return batch

    rows = ray.data.range(blocks, override_num_blocks=blocks)
    # Order is kept, so that the blocks behind the slow one wait for it.
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    rows = rows.map(read, num_cpus=1, concurrency=2)
    rows = rows.map_batches(Model, batch_size=1, num_gpus=1, num_cpus=0, concurrency=(1, GPUS))
    count = sum(1 for _ in rows.iter_rows())
    out.write_text(json.dumps({"begun": begun, "ended": time.time(), "rows": count}))


if __name__ == "__main__":
    main()
