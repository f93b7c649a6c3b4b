"""Records real GetClusterResourceStateReply messages for src/test/data/gcs/.

    python e2e/record_gcs_replies.py [directory]

Starts a head and workers of the installed ray wheel and writes, per scene, NAME.bin (the message as
the GCS sent it) and NAME.json (the same message as the wheel's own protobuf prints it in proto3
JSON). The unit test gcs_state reads both and wants the same state from both.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from google.protobuf import json_format  # noqa: E402
from ray._raylet import GcsClient  # noqa: E402
from ray.core.generated import autoscaler_pb2  # noqa: E402

from gcs_fixtures import RayHead  # noqa: E402
from rayscaler_e2e import paths  # noqa: E402
from rayscaler_e2e.wait import wait_until  # noqa: E402

SECONDS = 30.0


class Recorder:
    def __init__(self, head: RayHead, directory: Path):
        self.client = GcsClient(f"{head.ip}:{head.port}")
        self.directory = directory

    def read(self) -> autoscaler_pb2.GetClusterResourceStateReply:
        self.bytes = self.client.get_cluster_resource_state()
        reply = autoscaler_pb2.GetClusterResourceStateReply()
        reply.ParseFromString(self.bytes)
        return reply

    def record(self, name: str, ready) -> None:
        """Waits until ``ready(state)`` and writes that reply."""

        def look():
            reply = self.read()
            return reply if ready(reply.cluster_resource_state) else None

        reply = wait_until(look, SECONDS, name)
        (self.directory / f"{name}.bin").write_bytes(self.bytes)
        text = json_format.MessageToJson(reply.cluster_resource_state)
        (self.directory / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {len(self.bytes)} bytes")


def pending_gangs(state) -> int:
    return sum(bool(gang.bundle_selectors) for gang in state.pending_gang_resource_requests)


def main() -> None:
    directory = paths.ROOT / "src" / "test" / "data" / "gcs"
    if len(sys.argv) > 1:
        directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    head = RayHead("127.0.0.92")
    try:
        head.start()
        recorder = Recorder(head, directory)
        recorder.record("head", lambda state: len(state.node_states) == 1)

        driver = head.driver(
            """
            from ray.autoscaler.sdk import request_resources

            @ray.remote
            def task():
                pass

            plain = [task.options(num_cpus=1, num_gpus=0.5).remote() for _ in range(3)]
            labelled = task.options(
                num_cpus=2, resources={"special": 0.0001}, memory=1 << 30,
                label_selector={"market-type": "in(spot,on-demand)", "region": "!us-west"},
                fallback_strategy=[{"label_selector": {"region": "eu"}}],
            ).remote()
            groups = [
                placement_group([{"CPU": 1, "GPU": 1}, {"CPU": 2}], strategy=strategy,
                                bundle_label_selector=[{"zone": "a"}, {"zone": "b"}])
                for strategy in ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
            ]
            request_resources(bundles=[{"GPU": 1}, {"GPU": 1}, {"CPU": 4, "accelerator_type:A100": 0.001}])
            time.sleep(600)
            """
        )
        recorder.record(
            "demand",
            lambda state: len(state.pending_resource_requests) == 2
            and pending_gangs(state) == 4
            and len(state.cluster_resource_constraints) == 1,
        )
        head.end(driver)

        for number, pod in enumerate(("pod-busy", "pod-dead")):
            head.worker(
                f"127.0.0.{93 + number}", pod, "gpu-group",
                "--num-cpus", "1", "--num-gpus", "2", "--labels", "region=eu",
            )
        driver = head.driver(
            """
            group = placement_group([{"GPU": 0.5}], strategy="STRICT_SPREAD")
            ray.get(group.ready())

            @ray.remote(num_cpus=1, num_gpus=1)
            def work():
                time.sleep(600)

            task = work.remote()
            time.sleep(600)
            """
        )

        def one_is_busy(state) -> bool:
            workers = [node for node in state.node_states if node.ray_node_type_name == "gpu-group"]
            busy = [node for node in workers if "CPU" not in node.available_resources]
            return len(workers) == 2 and len(busy) == 1 and any(node.dynamic_labels for node in workers)

        recorder.record("workers", one_is_busy)
        idle = [
            node["instanceId"]
            for node in head.nodes()
            if node["rayNodeTypeName"] == "gpu-group" and "CPU" in node["availableResources"]
        ]
        head.end(next(process for process in head.processes if process.name == f"ray {idle[0]}"))
        recorder.record(
            "dead", lambda state: any(node.status == autoscaler_pb2.DEAD for node in state.node_states)
        )
        head.end(driver)
    finally:
        head.remove()


if __name__ == "__main__":
    main()
