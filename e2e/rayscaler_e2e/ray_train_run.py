"""A run of Ray Train without a framework, part of `ray_driver.py`: elastic, with a checkpoint when a preemption is
announced and at no other moment.

Each rank appends JSON lines to DIRECTORY/rank.jsonl: {"at", "event", "rank", "world", "pod", "step", ...}. Events:
``begins`` (with ``from``, the step of the checkpoint it resumes from, or None), ``preemption`` (with ``deadline_ms`` and
``nodes``), ``checkpoint``, ``step``. The run ends at the step that
DIRECTORY/finish names (``finish``): all ranks at the same one, because each call of Ray Train waits for all of them.
"""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

STEP_SECONDS = 0.2
ENVIRONMENT = {
    # A user waits up to 5 s, 60 s and 30 s for these.
    "RAY_TRAIN_PREEMPTION_POLL_INTERVAL_S": "0.5",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "3",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",
    "RAY_TRAIN_METRICS_ENABLED": "0",
}


def fit(directory: Path, fewest: int, most: int, looks: float) -> Dict[str, Any]:
    """Trains on ``fewest`` to ``most`` GPUs, elastic if they differ, which it looks for every ``looks`` seconds; the metrics
    of the last report. DIRECTORY/took: its seconds, without those of imports here."""
    os.environ.update(ENVIRONMENT)
    import ray.train
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    trainer = DataParallelTrainer(
        _loop(),
        train_loop_config={"directory": str(directory)},
        scaling_config=ray.train.ScalingConfig(
            num_workers=(fewest, most) if fewest < most else most, use_gpu=True, elastic_resize_monitor_interval_s=looks
        ),
        run_config=ray.train.RunConfig(name="run", storage_path=str(directory)),
    )
    begun = time.monotonic()
    try:
        return dict(trainer.fit().metrics or {})
    finally:
        (directory / "took").write_text(f"{time.monotonic() - begun:.1f}")


def lines(directory: Path) -> List[Dict[str, Any]]:
    """All that the ranks wrote, by time."""
    found: List[Dict[str, Any]] = []
    for path in directory.glob("rank*.jsonl"):
        text = path.read_text()
        found += [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    return sorted(found, key=lambda line: line["at"])


def finish(directory: Path) -> None:
    """Ends the run some steps from now."""
    step = next((line["step"] for line in reversed(lines(directory)) if line["event"] == "step"), 0)
    made = directory / "finish.new"
    made.write_text(str(step + 10))
    made.rename(directory / "finish")


def _loop() -> Any:
    """Nested, so that Ray ships its code: a worker cannot import this module."""

    def loop(config: Dict[str, Any]) -> None:
        import ray.train

        context = ray.train.get_context()
        rank, world = context.get_world_rank(), context.get_world_size()
        directory = Path(config["directory"])

        def note(event: str, **members: Any) -> None:
            line = {"at": time.time(), "event": event, "rank": rank, "world": world}
            line.update(pod=os.environ.get("RAY_CLOUD_INSTANCE_ID", ""), **members)
            with open(directory / f"rank{rank}.jsonl", "a") as out:
                out.write(json.dumps(line) + "\n")

        step, resumed = 0, ray.train.get_checkpoint()
        if resumed:
            with resumed.as_directory() as path:
                step = int((Path(path) / "step").read_text())
        note("begins", step=step, **{"from": step if resumed else None})
        saved, end = False, directory / "finish"
        while not end.exists() or step < int(end.read_text()):
            time.sleep(STEP_SECONDS)
            step += 1
            note("step", step=step)
            announced = ray.train.get_preemption_info()  # a barrier of all ranks
            if announced is None or saved:
                continue
            note("preemption", step=step, deadline_ms=announced.deadline_ms, nodes=announced.preempted_node_ids)
            with tempfile.TemporaryDirectory() as made:
                (Path(made) / "step").write_text(str(step))
                checkpoint = ray.train.Checkpoint.from_directory(made) if rank == 0 else None
                ray.train.report({"step": step}, checkpoint=checkpoint)
            saved = True
            note("checkpoint", step=step)
        ray.train.report({"step": step, "world": world})

    return loop
