"""The embedded API server where it cannot be compared with the real one: limits, journal, refusals."""

import copy
import threading

import pytest

from conftest import server_of_session
from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e.apiserver import load_yaml
from rayscaler_e2e.embedded import registry as registry_module
from rayscaler_e2e.embedded import store as store_module
from rayscaler_e2e.embedded.registry import Registry
from rayscaler_e2e.embedded.store import Store
from rayscaler_e2e.embedded.watch import Watch
from rayscaler_e2e.kubeclient import ApiError

PODS = Registry().find("", "v1", "pods")


def pod(name, version="1"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n", "resourceVersion": version}}


def events(store, **params):
    query = {"timeoutSeconds": "1", **params}
    return [event for event in Watch(store, PODS, "", lambda obj: True, query).events() if event]


@pytest.fixture(scope="module")
def server():
    return server_of_session("embedded")


@pytest.fixture
def own_namespace(server, request):
    name = "embedded-" + request.node.name.replace("_", "-")
    server.create_namespace(name)
    yield name
    server.empty_namespace(name)


def test_history_is_bounded_and_says_expired():
    store = Store(None)
    start = store.table("pods").window
    for number in range(store_module.HISTORY + 1):
        store.put("pods", ("n", "p"), pod("p"))
    ((kind, status),) = events(store, resourceVersion=str(start))
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert len(events(store, resourceVersion=str(start + 1))) == store_module.HISTORY


def test_journal_brings_objects_back_and_survives_a_cut_line(tmp_path):
    journal = tmp_path / "journal"
    store = Store(journal)
    store.put("pods", ("n", "a"), pod("a"))
    store.put("pods", ("n", "b"), pod("b"))
    store.remove("pods", ("n", "a"))
    version = store.version
    with open(journal, "a") as out:
        out.write('[99, "pods", "n", "c", {"apiV')
    again = Store(journal)
    assert [obj["metadata"]["name"] for obj in again.list("pods", "")[0]] == ["b"]
    assert again.version == version
    again.put("pods", ("n", "d"), pod("d"))
    assert [obj["metadata"]["name"] for obj in Store(journal).list("pods", "")[0]] == ["b", "d"]
    ((kind, status),) = events(Store(journal), resourceVersion="1")
    assert (kind, status["code"]) == ("ERROR", 410)


def test_a_schema_it_cannot_hold_is_refused(server):
    crd = copy.deepcopy(load_yaml(paths.CRD_DIR / "rayclusters.ray.io.yaml")[0])
    crd["spec"]["versions"] = [crd["spec"]["versions"][0]]
    crd["spec"]["names"].update(plural="others", singular="other", kind="Other", listKind="OtherList")
    crd["metadata"]["name"] = "others.ray.io"
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "true"}]
    with pytest.raises(ApiError, match="x-kubernetes-validations") as refused:
        server.admin.of("customresourcedefinitions").create(crd)
    assert refused.value.status == 422
    assert server.admin.request("GET", "/apis/ray.io/v1/others").status == 404


def test_server_side_apply_is_refused(server, own_namespace):
    answer = server.admin.request(
        "PATCH",
        f"/apis/ray.io/v1/namespaces/{own_namespace}/rayclusters/a",
        rayclusters.minimal("a"),
        content_type="application/apply-patch+yaml",
    )
    assert answer.status == 415


def test_a_forgotten_continuation_is_expired(server, own_namespace):
    clusters = server.admin.of("rayclusters", own_namespace)
    for name in ("a", "b"):
        clusters.create(rayclusters.minimal(name))
    first = clusters.list(limit=1)["metadata"]["continue"]
    for _ in range(100):
        clusters.list(limit=1)
    with pytest.raises(ApiError) as refused:
        clusters.list(limit=1, continue_=first)
    assert (refused.value.status, refused.value.reason) == (410, "Expired")


def test_every_watch_sees_every_change_once_and_in_order(server, own_namespace):
    """Sixteen watches beside four writers."""
    configs = server.admin.of("configmaps", own_namespace)
    start = configs.list()["metadata"]["resourceVersion"]
    writers, watches, changes = 4, 16, 25
    seen = [[] for _ in range(watches)]

    def follow(mine):
        for event in configs.watch(start, timeout_seconds=60):
            mine.append((event["type"], event["object"]["metadata"]["resourceVersion"]))
            if len(mine) == writers * (changes + 1):
                return

    def write(number):
        name = f"m{number}"
        configs.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
        for value in range(changes):
            configs.patch_merge(name, {"data": {"value": str(value)}})

    threads = [threading.Thread(target=follow, args=(mine,)) for mine in seen]
    threads += [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    versions = [int(version) for _, version in seen[0]]
    assert len(versions) == writers * (changes + 1) and versions == sorted(set(versions))
    assert all(mine == seen[0] for mine in seen)


def test_a_custom_resource_cannot_be_watched_at_once(monkeypatch):
    served = Registry()
    served.define(load_yaml(paths.CRD_DIR / "rayclusters.ray.io.yaml")[0])
    clusters = served.find("ray.io", "v1", "rayclusters")
    assert served.is_initializing(clusters)
    monkeypatch.setattr(registry_module, "INITIALIZING_SECONDS", 0)
    assert not served.is_initializing(clusters)
