"""Reads one GCS over and over with Ray's own client and writes its state, a JSON line each.

A process of its own because Ray's client ends its process when a GCS stays away. It is the
witness of the tests: it shares nothing with the program under test.

    python -m rayscaler_e2e.gcs_witness --address IP:PORT --out FILE [--period SECONDS]

A line: {"at": unix time, "nodes": [...], "pending": [...], "gangs": [...], "constraints": [...]}
or {"at", "error"}. A node: {"id", "pod", "group", "status", "idle_ms", "in_use": {...}, "total": {...},
"activity": [...], "death"}; status is RUNNING, IDLE, DRAINING or DEAD. "death" is the cause that
the GCS keeps of a DEAD node, "" while it lives; AUTOSCALER_DRAIN_IDLE is written by a raylet itself
that took a drain, found that it had nothing to do and ended.
"""

import argparse
import json
import os
import time
from typing import Any, Dict, List

CALL_SECONDS = 2.0
# In use without any request: a raylet's own books.
_BOOKKEEPING = ("memory", "object_store_memory")


class Deaths:
    """Why nodes died, asked for once for each."""

    def __init__(self, client: Any):
        self._client = client
        self._known: Dict[str, str] = {}

    def add_to(self, nodes: List[Dict[str, Any]]) -> None:
        dead = [node for node in nodes if node["status"] == "DEAD"]
        if any(node["id"] not in self._known for node in dead):
            self._ask()
        for node in dead:
            node["death"] = self._known.get(node["id"], "")

    def _ask(self) -> None:
        for node_id, info in self._client.get_all_node_info(timeout=CALL_SECONDS).items():
            reason = info.death_info.DESCRIPTOR.fields_by_name["reason"].enum_type
            if info.death_info.reason:
                self._known[node_id.hex()] = reason.values_by_number[info.death_info.reason].name


def main() -> None:
    parser = argparse.ArgumentParser(description="print what a Ray GCS says")
    parser.add_argument("--address", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--period", type=float, default=0.2)
    arguments = parser.parse_args()
    parent = os.getppid()

    from ray._raylet import GcsClient
    from ray.core.generated.autoscaler_pb2 import GetClusterResourceStateReply

    client = GcsClient(address=arguments.address)
    deaths = Deaths(client)
    with open(arguments.out, "a", buffering=1) as out:
        while os.getppid() == parent:
            line: Dict[str, Any] = {"at": time.time()}
            try:
                reply = GetClusterResourceStateReply()
                reply.ParseFromString(client.get_cluster_resource_state(timeout_s=CALL_SECONDS))
                line.update(describe(reply.cluster_resource_state))
                deaths.add_to(line["nodes"])
            except Exception as error:
                line["error"] = str(error)[:300]
            out.write(json.dumps(line) + "\n")
            time.sleep(arguments.period)


def describe(state: Any) -> Dict[str, Any]:
    return {
        "nodes": [_node(node) for node in state.node_states],
        "pending": [
            {"bundle": dict(entry.request.resources_bundle), "count": entry.count}
            for entry in state.pending_resource_requests
        ],
        "gangs": [
            [dict(request.resources_bundle) for request in selector.resource_requests]
            for gang in state.pending_gang_resource_requests
            for selector in gang.bundle_selectors[:1]
        ],
        "constraints": [
            {"bundle": dict(entry.request.resources_bundle), "count": entry.count}
            for constraint in state.cluster_resource_constraints
            for entry in constraint.resource_requests
        ],
    }


def _node(node: Any) -> Dict[str, Any]:
    from ray.core.generated.autoscaler_pb2 import NodeStatus

    total, available = dict(node.total_resources), dict(node.available_resources)
    in_use: Dict[str, float] = {
        name: amount - available.get(name, 0)
        for name, amount in total.items()
        if name not in _BOOKKEEPING and amount > available.get(name, 0)
    }
    activity: List[str] = list(node.node_activity)
    return {
        "id": node.node_id.hex(),
        "pod": node.instance_id,
        "group": node.ray_node_type_name,
        "status": NodeStatus.Name(node.status),
        "idle_ms": node.idle_duration_ms,
        "in_use": in_use,
        "total": total,
        "activity": activity,
        "death": "",
    }


if __name__ == "__main__":
    main()
