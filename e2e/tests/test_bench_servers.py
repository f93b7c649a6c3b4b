"""The bench itself: identities, files for the program under test, and the data that survive a restart."""

import itertools

import pytest
import urllib3
import yaml

from rayscaler_e2e import rayclusters
from rayscaler_e2e.apiserver import ApiServer
from rayscaler_e2e.kubeclient import ApiError, KubeClient
from rayscaler_e2e.wait import wait_until
from rayscaler_e2e.watchcache import WatchCache


def status_of(client: KubeClient, method: str, path: str, body=None, **more) -> int:
    return client.request(method, path, body, **more).status


def test_controller_has_its_rights_and_no_others(api_server: ApiServer, namespace: str):
    clusters = api_server.admin.of("rayclusters", namespace)
    clusters.create(rayclusters.minimal("demo"))
    client = api_server.client(api_server.controller_token(namespace))
    assert client.of("rayclusters").list()["items"]
    assert client.of("rayclusters", namespace).patch_json("demo", [])
    assert client.of("pods", namespace).list()["items"] == []
    assert "items" in client.of("pods").list()
    assert status_of(client, "GET", f"/api/v1/namespaces/{namespace}/secrets/none") == 404
    for method, path in (
        ("GET", f"/api/v1/namespaces/{namespace}/secrets"),
        ("DELETE", "/api/v1/nodes/none"),
        ("DELETE", f"/api/v1/namespaces/{namespace}/pods/none"),
        ("DELETE", f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/demo"),
        ("PUT", f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters/demo"),
    ):
        body = rayclusters.minimal("demo") if method == "PUT" else None
        assert status_of(client, method, path, body) == 403, (method, path)


def test_sidecar_has_kuberays_role(api_server: ApiServer, namespace: str):
    api_server.admin.of("rayclusters", namespace).create(rayclusters.minimal("demo"))
    client = api_server.client(api_server.sidecar_token(namespace, "demo"))
    assert client.of("rayclusters", namespace).get("demo")
    assert client.of("rayclusters", namespace).patch_json("demo", [])
    assert client.of("pods", namespace).list()["items"] == []
    for path in (
        f"/apis/ray.io/v1/namespaces/{namespace}/rayclusters",
        f"/api/v1/namespaces/{namespace}/secrets/none",
        "/api/v1/nodes",
        "/api/v1/pods",
    ):
        assert status_of(client, "GET", path) == 403, path


def test_namespaced_controller_sees_one_namespace(api_server: ApiServer, namespace: str):
    client = api_server.client(api_server.namespaced_controller_token(namespace))
    assert client.of("rayclusters", namespace).list()["items"] == []
    with pytest.raises(ApiError, match="403"):
        client.of("rayclusters").list()


def test_kubeconfigs_work(api_server: ApiServer, namespace: str, work_dir):
    cert, key = api_server.pki.client("someone", ["system:masters"])
    inline = yaml.safe_load(
        api_server.write_kubeconfig(
            work_dir / "inline", client_cert=cert, client_key=key, inline=True
        ).read_text()
    )
    assert inline["users"][0]["user"].keys() == {"client-certificate-data", "client-key-data"}
    by_cert = KubeClient(api_server.url, api_server.ca_file, client_cert=cert, client_key=key)
    assert by_cert.of("namespaces").get(namespace)
    by_nothing = KubeClient(api_server.url, api_server.ca_file)
    assert status_of(by_nothing, "GET", "/api/v1/nodes") == 403  # system:anonymous
    assert status_of(api_server.client("wrong"), "GET", "/api/v1/nodes") == 401


def test_in_cluster_files_rotate(api_server: ApiServer, namespace: str, work_dir):
    api_server.ensure_service_account(namespace, "rotating")
    first = api_server.service_account_token(namespace, "rotating")
    files = api_server.in_cluster_files(work_dir / "serviceaccount", first, namespace)
    assert files.env["KUBERNETES_SERVICE_PORT"] == str(api_server.port)
    files.rotate("second")
    assert (files.directory / "token").read_text() == "second"
    assert sorted(path.name for path in files.directory.iterdir()) == ["ca.crt", "namespace", "token"]


def test_restart_keeps_objects_and_the_cache_follows(api_server: ApiServer, namespace: str):
    clusters = api_server.admin.of("rayclusters", namespace)
    before = clusters.create(rayclusters.minimal("before"))
    cache = WatchCache(api_server.admin, "rayclusters", namespace)
    try:
        cache.wait_synced()
        assert [obj["metadata"]["name"] for obj in cache.objects()] == ["before"]
        api_server.interrupt(kill=True)
        api_server.resume()
        assert clusters.get("before")["metadata"]["uid"] == before["metadata"]["uid"]
        clusters.create(rayclusters.minimal("later"))
        wait_until(lambda: cache.get(namespace, "later"), 10, "the cache to see the new RayCluster")
        clusters.delete("later")
        wait_until(lambda: not cache.get(namespace, "later"), 10, "the cache to see the deletion")
    finally:
        cache.stop()


def test_watch_from_before_a_restart_is_expired(api_server: ApiServer, namespace: str):
    clusters = api_server.admin.of("rayclusters", namespace)
    old = clusters.list()["metadata"]["resourceVersion"]
    for name in ("a", "b", "c"):
        clusters.create(rayclusters.minimal(name))
    api_server.interrupt(kill=True)
    api_server.resume()
    (event,) = clusters.watch(old, timeout_seconds=10)
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: ")


def test_paged_list_is_complete_and_of_one_version(api_server: ApiServer, namespace: str):
    clusters = api_server.admin.of("rayclusters", namespace)
    for number in range(7):
        clusters.create(rayclusters.minimal(f"c{number}"))
    page = clusters.list(limit=3)
    assert page["metadata"]["remainingItemCount"] == 4
    names = [obj["metadata"]["name"] for obj in page["items"]]
    version = page["metadata"]["resourceVersion"]
    clusters.delete("c6")
    clusters.create(rayclusters.minimal("c7"))
    while page["metadata"].get("continue"):
        page = clusters.list(limit=3, continue_=page["metadata"]["continue"])
        assert page["metadata"]["resourceVersion"] == version
        names += [obj["metadata"]["name"] for obj in page["items"]]
    assert names == [f"c{number}" for number in range(7)]


def test_bookmark_before_a_watch_ends(api_server: ApiServer, namespace: str):
    clusters = api_server.admin.of("rayclusters", namespace)
    start = clusters.list()["metadata"]["resourceVersion"]
    clusters.create(rayclusters.minimal("a"))
    numbers = itertools.count()

    def last_bookmark():
        events = []
        for event in clusters.watch(start, timeout_seconds=5):
            # kube-apiserver sends none where nothing has changed since the watch began.
            if not events:
                clusters.create(rayclusters.minimal(f"later-{next(numbers)}"))
            events.append(event)
        assert events[0]["type"] == "ADDED"
        return events[-1] if events[-1]["type"] == "BOOKMARK" else None

    # It plans it 2 s before the end, but may be as late as that.
    bookmark = wait_until(last_bookmark, 60, "a watch that ends with a bookmark")
    assert bookmark["object"]["kind"] == "RayCluster"
    assert list(clusters.watch(bookmark["object"]["metadata"]["resourceVersion"], 1, bookmarks=False)) == []


def test_frozen_server_does_not_answer(api_server: ApiServer, namespace: str):
    pods = f"{api_server.url}/api/v1/namespaces/{namespace}/pods"
    api_server.freeze()
    try:
        with pytest.raises(urllib3.exceptions.TimeoutError):
            urllib3.PoolManager(ca_certs=str(api_server.ca_file)).request("GET", pods, timeout=0.5, retries=False)
    finally:
        api_server.thaw()
    assert api_server.admin.of("pods", namespace).items() == []
