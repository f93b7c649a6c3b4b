"""A stand-in for KubeRay's operator, with its contract for RayClusters.

The real operator is a Go module that the Go module proxy does not serve (403), so this stand-in
is used. It follows KubeRay 1.7 with its default feature gates, also where that is inconvenient:

* a pass deletes unhealthy Pods first and then creates nothing; Pods named in workersToDelete are
  deleted whatever `replicas` is; missing Pods are created up to clamp(replicas, min, max) x numOfHosts;
* surplus Pods are deleted only when enableInTreeAutoscaling is off, and then the first in the list;
* a group is not touched again before the cache shows the last changes: a created Pod there
  (30 s at most), a deleted Pod removed. A slow termination blocks the group. This is in memory only;
* a Pod that is being deleted still counts as a Pod of its group;
* of a group with numOfHosts > 1 whole replicas are made and removed, incomplete ones removed;
* one cluster at a time is worked on; an invalid spec is an event and nothing else;
* `suspend` deletes all Pods; Pods of a group that left the spec are never deleted.

Active-passive heads, which KubeRay 1.7 does not have, follow the design in ray-project/enhancements
(reps/2026-04-23-active-passive-head.md): two head Pods, of which one is Ready. `status.head` names the
Ready one; the design does not say what it names.

One thing is done here for a part that does not run in the bench: objects of a deleted RayCluster
are removed, as the garbage collector would.

Annotation on a RayCluster: ``bench.rayscaler.dev/operator-lag-seconds``: it is not worked on before
its last change is so old.

    python -m rayscaler_e2e.kuberay_operator --kubeconfig FILE
"""

import argparse
import base64
import copy
import heapq
import logging
import secrets
import threading
import time
from collections import defaultdict
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from . import kuberay_pod as kp
from .kubeclient import ApiError, KubeClient
from .kuberay_status import calculate_status
from .kuberay_validate import invalid
from .ray_certificates import RayCertificates, encoded
from .standin import annotation, client_from_kubeconfig, log_to_stderr, on_signals
from .watchcache import WatchCache

Object = Dict[str, Any]
Key = Tuple[str, str]

EXPECT_CREATE_SECONDS = 30.0
RESYNC_SECONDS = 300.0
RETRY_FIRST_SECONDS, RETRY_LONGEST_SECONDS = 0.005, 30.0
OWNED = ("pods", "services", "secrets", "rolebindings", "roles", "serviceaccounts")

log = logging.getLogger("kuberay-operator")


class Requeue(Exception):
    """The pass ends here with an error that a later pass repairs."""


class ReplicaFailure(Exception):
    """A Pod cannot be created; ``reason`` is the one of the condition of this name."""

    def __init__(self, reason: str, error: ApiError):
        super().__init__(f"{reason}\n{error.message}")
        self.reason = reason


class _Later(Exception):
    """The operator is slow; see the annotation."""

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds = seconds


class _Expectations:
    """Changes that are not yet in the cache, per group. Lost at a restart, as KubeRay's."""

    def __init__(self, pods: WatchCache):
        self._pods = pods
        self._items: Dict[Tuple[str, str, str], Dict[str, Tuple[bool, float]]] = defaultdict(dict)

    def expect(self, key: Key, group: str, pod: str, created: bool) -> None:
        self._items[(*key, group)][pod] = (created, time.monotonic())

    def forget(self, key: Key) -> None:
        """Nothing of this cluster is left to wait for."""
        for item in [item for item in self._items if item[:2] == key]:
            del self._items[item]

    def satisfied(self, key: Key, group: str) -> bool:
        items = self._items[(*key, group)]
        for pod, (created, since) in list(items.items()):
            there = self._pods.get(key[0], pod) is not None
            late = created and time.monotonic() - since > EXPECT_CREATE_SECONDS
            if there != created and not late:
                return False
            del items[pod]
        return True


class Operator:
    """``run`` works until ``stop`` is called from another thread or a signal handler."""

    def __init__(self, client: KubeClient):
        self._client = client
        self._wake = threading.Event()
        self._stopping = False
        self._due: List[Tuple[float, Key]] = []
        self._failures: Dict[Key, int] = defaultdict(int)
        self._seen: Dict[Key, Any] = {}
        self._changed_at: Dict[Key, float] = {}
        self._pods = WatchCache(client, "pods", changed=self._wake.set)
        self._clusters = WatchCache(client, "rayclusters", changed=self._wake.set)
        self._expected = _Expectations(self._pods)
        self._certificates = RayCertificates()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        self._pods.wait_synced(60)
        self._clusters.wait_synced(60)
        self._queue_orphans()
        while not self._stopping:
            self._wake.wait(self._pause())
            self._wake.clear()
            self._queue_changes()
            while self._due and self._due[0][0] <= time.monotonic() and not self._stopping:
                self._work(heapq.heappop(self._due)[1])
                self._queue_changes()
        self._pods.stop()
        self._clusters.stop()

    # -- queue ----------------------------------------------------------------------------------

    def _pause(self) -> float:
        return max(0.0, min(self._due[0][0] - time.monotonic(), 1.0)) if self._due else 1.0

    def _queue(self, key: Key, delay: float) -> None:
        """One entry per cluster, the earlier one wins."""
        at = time.monotonic() + delay
        for entry in self._due:
            if entry[1] == key:
                if entry[0] <= at:
                    return
                self._due.remove(entry)
                break
        self._due.append((at, key))
        heapq.heapify(self._due)

    def _queue_changes(self) -> None:
        """Clusters that changed, status included, or one of whose Pods did."""
        pods: Dict[Key, List[str]] = defaultdict(list)
        for pod in self._pods.objects():
            name = (pod["metadata"].get("labels") or {}).get(kp.CLUSTER_LABEL)
            if name:
                pods[(pod["metadata"]["namespace"], name)].append(pod["metadata"]["resourceVersion"])
        clusters = {_key(cluster): cluster for cluster in self._clusters.objects()}
        for key in clusters.keys() | self._seen.keys():
            cluster = clusters.get(key)
            meta = cluster["metadata"] if cluster else {}
            now = (
                meta.get("uid"),
                meta.get("generation"),
                meta.get("labels"),
                meta.get("annotations"),
                bool(meta.get("deletionTimestamp")),
                meta.get("resourceVersion"),
                pods.get(key),
            )
            before = self._seen.get(key)
            if before != now:
                if before is None or before[:2] != now[:2]:
                    self._changed_at[key] = time.monotonic()
                self._seen[key] = now
                self._queue(key, 0)
            if cluster is None and not pods.get(key):
                del self._seen[key]

    def _queue_orphans(self) -> None:
        for pod in self._pods.objects():
            name = (pod["metadata"].get("labels") or {}).get(kp.CLUSTER_LABEL)
            if name and self._clusters.get(pod["metadata"]["namespace"], name) is None:
                self._queue((pod["metadata"]["namespace"], name), 0)

    def _work(self, key: Key) -> None:
        try:
            self._reconcile(key)
            self._failures.pop(key, None)
            self._queue(key, RESYNC_SECONDS)
        except _Later as later:
            self._queue(key, later.seconds)
        except Exception as error:  # the loop outlives every error, as a controller's does
            if not isinstance(error, Requeue):
                log.warning("%s/%s: %s", *key, error, exc_info=not isinstance(error, (ApiError, ReplicaFailure)))
            delay = RETRY_FIRST_SECONDS * 2 ** min(self._failures[key], 20)
            self._failures[key] += 1
            self._queue(key, min(delay, RETRY_LONGEST_SECONDS))

    # -- one pass -------------------------------------------------------------------------------

    def _reconcile(self, key: Key) -> None:
        cached = self._clusters.get(*key)
        if cached is None:
            self._collect_garbage(key)
            return
        seen = self._seen.get(key)
        if seen and seen[1] != cached["metadata"].get("generation"):
            raise _Later(0)  # the change is noted first: the lag counts from then
        lag = float(annotation(cached, "operator-lag-seconds", "0"))
        wait = self._changed_at.get(key, 0) + lag - time.monotonic()
        if lag and wait > 0:
            raise _Later(wait)
        cluster = copy.deepcopy(cached)
        manager = cluster["spec"].get("managedBy")
        if manager and manager != "ray.io/kuberay-operator":
            return
        reason = invalid(cluster)
        if reason:
            self._event(cluster, "Warning", "InvalidRayClusterSpec", f"The RayCluster spec is invalid: {reason}")
            return
        if cluster["metadata"].get("deletionTimestamp"):
            return
        failure: Optional[Exception] = None
        steps: Tuple[Callable[[Object], None], ...] = (
            self._sidecar_rights,
            self._auth_secret,
            self._tls_secrets,
            self._head_service,
            self._reconcile_pods,
        )
        try:
            for step in steps:
                step(cluster)
        except Exception as error:
            failure = error
        if self._update_status(cluster, failure) and failure is None:
            self._queue(key, 0)
        if failure:
            raise failure

    def _update_status(self, cluster: Object, failure: Optional[Exception]) -> bool:
        pods = self._pods_of(cluster)
        status = calculate_status(cluster, pods, failure)
        if status is None:
            return False
        where = self._client.of("rayclusters", cluster["metadata"]["namespace"])
        # Refused over a change that the cache did not have, as KubeRay's update: else the state Suspending of before would
        # follow the end of the suspension, and the new head be deleted.
        metadata = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
        where.patch_merge(cluster["metadata"]["name"], {"metadata": metadata, "status": status}, "status")
        return True

    def _pods_of(self, cluster: Object, **labels: str) -> List[Object]:
        wanted = {kp.CLUSTER_LABEL: cluster["metadata"]["name"], **labels}
        namespace = cluster["metadata"]["namespace"]
        return [
            pod
            for pod in self._pods.objects()
            if pod["metadata"]["namespace"] == namespace
            and wanted.items() <= (pod["metadata"].get("labels") or {}).items()
        ]

    def _reconcile_pods(self, cluster: Object) -> None:
        suspend = cluster["spec"].get("suspend") is True
        if _condition(cluster, "RayClusterSuspending") == "True":
            # A Pod that is deleted before the cache had it would be waited for after the suspension.
            self._expected.forget(_key(cluster))
            for pod in self._pods_of(cluster):
                self._delete(cluster, pod, "", "suspension", expect=False)
            return
        if suspend or _condition(cluster, "RayClusterSuspended") == "True":
            return
        self._reconcile_head(cluster)
        for group in cluster["spec"].get("workerGroupSpecs") or []:
            if not self._expected.satisfied(_key(cluster), group["groupName"]):
                continue
            group.setdefault("numOfHosts", 1)
            labels = {kp.NODE_TYPE_LABEL: "worker", kp.GROUP_LABEL: group["groupName"]}
            pods = self._pods_of(cluster, **labels)
            if group.get("suspend"):
                for pod in pods:
                    self._delete(cluster, pod, group["groupName"], "suspended group", expect=False)
            elif group["numOfHosts"] > 1:
                self._reconcile_replicas(cluster, group, pods)
            else:
                self._reconcile_group(cluster, group, pods)

    def _reconcile_head(self, cluster: Object) -> None:
        if not self._expected.satisfied(_key(cluster), ""):
            return
        heads = self._pods_of(cluster, **{kp.NODE_TYPE_LABEL: "head"})
        wanted = 2 if kp.active_passive(cluster) else 1
        if len(heads) > wanted:
            raise Requeue(f"{len(heads)} head Pods found")
        for head in heads:
            if _unhealthy(head):
                self._delete(cluster, head, "", "unhealthy head Pod")
                raise Requeue("head Pod deleted")
        for _ in range(wanted - len(heads)):
            self._create(cluster, kp.head_pod(cluster), "")

    def _reconcile_group(self, cluster: Object, group: Object, pods: List[Object]) -> None:
        name = group["groupName"]
        unhealthy = [pod for pod in pods if _unhealthy(pod)]
        for pod in unhealthy:
            self._delete(cluster, pod, name, "unhealthy worker Pod")
        if unhealthy:
            raise Requeue(f"{len(unhealthy)} unhealthy worker Pods deleted")
        deleted = set()
        for pod_name in _workers_to_delete(group):
            if self._delete_by_name(cluster, pod_name, name):
                deleted.add(pod_name)
        kept = [pod for pod in pods if pod["metadata"]["name"] not in deleted]
        missing = desired_replicas(group) - len(kept)
        used = {_replica_index(pod) for pod in kept}
        for _ in range(missing):
            index = _free_index(used)
            self._create(cluster, kp.worker_pod(cluster, group, "", index, 0), name)
        if missing < 0 and not kp.autoscaling(cluster):
            for pod in kept[:-missing]:
                self._delete(cluster, pod, name, "more Pods than replicas")

    def _reconcile_replicas(self, cluster: Object, group: Object, pods: List[Object]) -> None:
        name, hosts = group["groupName"], group["numOfHosts"]
        replicas: Dict[str, List[Object]] = defaultdict(list)
        for pod in pods:
            replicas[pod["metadata"]["labels"].get(kp.REPLICA_NAME_LABEL, "")].append(pod)
        for members in replicas.values():
            if len(members) < hosts:
                for pod in members:
                    self._delete(cluster, pod, name, "incomplete replica")
                raise Requeue("incomplete replica deleted")
        gone: Set[str] = set()
        for replica, members in replicas.items():
            if any(_unhealthy(pod) for pod in members):
                for pod in members:
                    self._delete(cluster, pod, name, "unhealthy replica")
                gone.add(replica)
        named = set(_workers_to_delete(group))
        hit = [r for r, members in replicas.items() if named & {pod["metadata"]["name"] for pod in members}]
        if hit:
            for replica in hit:
                for pod in replicas[replica]:
                    self._delete(cluster, pod, name, "workersToDelete")
            raise Requeue("replicas of workersToDelete deleted")
        kept = {replica: members for replica, members in replicas.items() if replica not in gone}
        missing = desired_replicas(group) - len(kept)
        used = {_replica_index(members[0]) for members in kept.values()}
        for _ in range(missing):
            index = _free_index(used)
            replica = f"{name}-{kp.random_suffix()}"
            for host in range(hosts):
                self._create(cluster, kp.worker_pod(cluster, group, replica, index, host), name)
        if missing < 0 and not kp.autoscaling(cluster):
            for replica in list(kept)[:-missing]:
                for pod in kept[replica]:
                    self._delete(cluster, pod, name, "more replicas than wanted")

    # -- requests -------------------------------------------------------------------------------

    def _create(self, cluster: Object, pod: Object, group: str) -> None:
        kind = "Worker" if group else "Head"
        name = pod["metadata"]["name"]
        try:
            self._client.of("pods", pod["metadata"]["namespace"]).create(pod)
        except ApiError as error:
            where = f"for the cluster {pod['metadata']['namespace']}/{cluster['metadata']['name']}"
            text = f"Failed to create {kind.lower()} Pod {where}, {error.message}"
            self._event(cluster, "Warning", f"FailedToCreate{kind}Pod", text)
            raise ReplicaFailure(f"FailedCreate{kind}Pod", error) from error
        self._expected.expect(_key(cluster), group, name, created=True)
        self._event(cluster, "Normal", f"Created{kind}Pod", f"Created {kind.lower()} Pod {name}")

    def _delete(self, cluster: Object, pod: Object, group: str, why: str, expect: bool = True) -> None:
        if not expect and pod["metadata"].get("deletionTimestamp"):
            return
        self._delete_by_name(cluster, pod["metadata"]["name"], group, why, expect)

    def _delete_by_name(
        self, cluster: Object, name: str, group: str, why: str = "workersToDelete", expect: bool = True
    ) -> bool:
        """False when there is no such Pod (nothing is expected then)."""
        if self._client.of("pods", cluster["metadata"]["namespace"]).delete(name, missing_ok=True) is None:
            return False
        if expect:
            self._expected.expect(_key(cluster), group, name, created=False)
        kind = "Worker" if group else "Head"
        self._event(cluster, "Normal", f"Deleted{kind}Pod", f"Deleted Pod {name}: {why}")
        return True

    def _sidecar_rights(self, cluster: Object) -> None:
        if not kp.autoscaling(cluster):
            return
        name, account = kp.check_name(cluster["metadata"]["name"]), kp.service_account(cluster)
        rules = [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
            {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
            {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]},
        ]
        rbac = "rbac.authorization.k8s.io"
        subject = {"kind": "ServiceAccount", "name": account, "namespace": cluster["metadata"]["namespace"]}
        reference = {"apiGroup": rbac, "kind": "Role", "name": name}
        self._ensure(cluster, "serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount"}, account)
        role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "rules": rules}
        self._ensure(cluster, "roles", role, name)
        binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "subjects": [subject], "roleRef": reference}
        self._ensure(cluster, "rolebindings", binding, name)

    def _auth_secret(self, cluster: Object) -> None:
        options = cluster["spec"].get("authOptions") or {}
        if kp.token_auth(cluster) and not kp.delegated_tokens(cluster) and not options.get("secretName"):
            token = base64.b64encode(secrets.token_bytes(32)).decode()
            secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {kp.TOKEN_KEY: token}}
            self._ensure(cluster, "secrets", secret, kp.token_secret(cluster))

    def _tls_secrets(self, cluster: Object) -> None:
        if not kp.tls(cluster):
            return
        where = self._client.of("secrets", cluster["metadata"]["namespace"])

        def write(name: str, data: Dict[str, bytes]) -> None:
            secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": encoded(data)}
            self._ensure(cluster, "secrets", secret, name)
            where.patch_merge(name, {"data": encoded(data)})

        addresses = {
            node_type: [
                pod["status"]["podIP"]
                for pod in self._pods_of(cluster, **{kp.NODE_TYPE_LABEL: node_type})
                if (pod.get("status") or {}).get("podIP")
            ]
            for node_type in ("head", "worker")
        }
        self._certificates.reconcile(cluster, addresses, write)

    def _head_service(self, cluster: Object) -> None:
        labels = {kp.CLUSTER_LABEL: cluster["metadata"]["name"], kp.NODE_TYPE_LABEL: "head"}
        ports = [{"name": "gcs-server", "port": int(kp.head_port(cluster)), "protocol": "TCP"}]
        spec = {"clusterIP": "None", "selector": labels, "ports": ports}
        spec["publishNotReadyAddresses"] = not kp.active_passive(cluster)
        service = {"apiVersion": "v1", "kind": "Service", "spec": spec}
        self._ensure(cluster, "services", service, kp.head_service_name(cluster))

    def _ensure(self, cluster: Object, plural: str, obj: Object, name: str) -> None:
        where = self._client.of(plural, cluster["metadata"]["namespace"])
        if where.find(name) is not None:
            return
        metadata = {
            "name": name,
            "namespace": cluster["metadata"]["namespace"],
            "labels": {kp.CLUSTER_LABEL: cluster["metadata"]["name"]},
            "ownerReferences": [kp.owner_reference(cluster)],
        }
        try:
            where.create({**obj, "metadata": metadata})
        except ApiError as error:
            if error.status != 409:
                raise

    def _collect_garbage(self, key: Key) -> None:
        for plural in OWNED:
            where = self._client.of(plural, key[0])
            for obj in where.items(f"{kp.CLUSTER_LABEL}={key[1]}"):
                owners = obj["metadata"].get("ownerReferences") or []
                if any(owner["kind"] == "RayCluster" and owner["name"] == key[1] for owner in owners):
                    where.delete(obj["metadata"]["name"], missing_ok=True)

    def _event(self, cluster: Object, kind: str, reason: str, message: str) -> None:
        log.info("%s/%s: %s: %s", *_key(cluster), reason, message)
        meta = cluster["metadata"]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{secrets.token_hex(8)}", "namespace": meta["namespace"]},
            "involvedObject": {
                "apiVersion": cluster["apiVersion"],
                "kind": "RayCluster",
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": "raycluster-controller"},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._client.of("events", meta["namespace"]).create(event)
        except Exception as error:  # an event is never worth a failed pass
            log.warning("event %s: %s", reason, error)


def desired_replicas(group: Object) -> int:
    """clamp(replicas, minReplicas, maxReplicas)."""
    least, most = group.get("minReplicas") or 0, group.get("maxReplicas")
    replicas = group.get("replicas")
    if replicas is None or replicas < least:
        return least
    return min(replicas, most) if most is not None else replicas


def _key(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def _condition(cluster: Object, kind: str) -> str:
    for condition in (cluster.get("status") or {}).get("conditions") or []:
        if condition["type"] == kind:
            return condition["status"]
    return ""


def _workers_to_delete(group: Object) -> List[str]:
    return list((group.get("scaleStrategy") or {}).get("workersToDelete") or [])


def _unhealthy(pod: Object) -> bool:
    """Finished, or its Ray container ended and nothing restarts it."""
    status = pod.get("status") or {}
    if status.get("phase") in ("Failed", "Succeeded"):
        return True
    ray = pod["spec"]["containers"][0]["name"]
    ended = any(
        container["name"] == ray and "terminated" in (container.get("state") or {})
        for container in status.get("containerStatuses") or []
    )
    return status.get("phase") == "Running" and ended and pod["spec"].get("restartPolicy") == "Never"


def _replica_index(pod: Object) -> int:
    return int(pod["metadata"]["labels"].get(kp.REPLICA_INDEX_LABEL, -1))


def _free_index(used: Set[int]) -> int:
    index = next(number for number in range(len(used) + 1) if number not in used)
    used.add(index)
    return index


def main() -> None:
    parser = argparse.ArgumentParser(description="stand-in for KubeRay's operator")
    parser.add_argument("--kubeconfig", required=True)
    arguments = parser.parse_args()
    log_to_stderr()
    client, _ = client_from_kubeconfig(arguments.kubeconfig)
    operator = Operator(client)
    on_signals(operator.stop)
    operator.run()


if __name__ == "__main__":
    main()
