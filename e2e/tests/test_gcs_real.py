"""The GCS client against a real Ray: gcs_probe on heads of the ray wheel."""

import json
import time
from datetime import datetime

import pytest

from gcs_fixtures import RayHead, ray_head, write_certificates  # noqa: F401
from rayscaler_e2e.ray_program import autoscaler_lines
from rayscaler_e2e.wait import allowed, wait_until

WAIT = 30.0


def demand(state):
    """(bundle, count) of every pending request."""
    return [
        (entry["request"].get("resourcesBundle", {}), int(entry["count"]))
        for entry in state.get("pendingResourceRequests", [])
    ]


def node_of(head, pod):
    return next(node for node in head.nodes() if node["instanceId"] == pod)


def node_hex(head, pod):
    return node_of(head, pod)["labels"]["ray.io/node-id"]


def test_head_node(ray_head):
    state = ray_head.probe.state()
    assert state["clusterSessionName"].startswith("session_")
    (head,) = state["nodeStates"]
    assert head["instanceId"] == "head-pod"
    assert head["rayNodeTypeName"] == "headgroup"
    assert head["nodeIpAddress"] == ray_head.ip
    assert head["totalResources"]["node:__internal_head__"] == 1
    assert head["labels"]["ray.io/node-group"] == "headgroup"
    versions = [int(ray_head.probe.state()["clusterResourceStateVersion"]) for _ in range(3)]
    assert versions == sorted(versions) and len(set(versions)) == 3


def test_pending_tasks_and_label_selectors(ray_head):
    driver = ray_head.driver(
        """
        @ray.remote
        def task():
            pass

        fractions = [task.options(num_cpus=1, num_gpus=0.5).remote() for _ in range(3)]
        labelled = task.options(
            num_cpus=2,
            resources={"special": 0.0001},
            label_selector={"market-type": "in(spot,on-demand)", "region": "!us-west"},
        ).remote()
        time.sleep(600)
        """
    )

    def labelled():
        state = ray_head.probe.state()
        assert ({"CPU": 1, "GPU": 0.5}, 3) in demand(state)
        return [
            entry["request"]
            for entry in state["pendingResourceRequests"]
            if "special" in entry["request"]["resourcesBundle"]
        ]

    (request,) = wait_until(labelled, WAIT, "the tasks to be pending")
    assert request["resourcesBundle"] == {"CPU": 2, "special": 0.0001}
    (selector,) = request["labelSelectors"]
    constraints = {entry["labelKey"]: entry for entry in selector["labelConstraints"]}
    assert constraints["market-type"]["operator"] == "LABEL_OPERATOR_IN"
    assert sorted(constraints["market-type"]["labelValues"]) == ["on-demand", "spot"]
    assert constraints["region"]["operator"] == "LABEL_OPERATOR_NOT_IN"
    assert constraints["region"]["labelValues"] == ["us-west"]
    ray_head.end(driver)
    wait_until(lambda: not demand(ray_head.probe.state()), WAIT, "the demand to go with its driver")


@pytest.mark.parametrize(
    "strategy, constraint",
    [("PACK", None), ("SPREAD", None), ("STRICT_PACK", "affinity"), ("STRICT_SPREAD", "antiAffinity")],
)
def test_placement_group(ray_head, strategy, constraint):
    driver = ray_head.driver(
        f"""
        group = placement_group(
            [{{"CPU": 1, "GPU": 1}}, {{"CPU": 2}}], strategy="{strategy}",
            bundle_label_selector=[{{"zone": "a"}}, {{"zone": "b"}}],
        )
        time.sleep(600)
        """
    )

    def pending():
        gangs = ray_head.probe.state().get("pendingGangResourceRequests", [])
        return [gang for gang in gangs if gang.get("bundleSelectors")]

    (gang,) = wait_until(pending, WAIT, f"a placement group {strategy}")
    assert strategy in gang["details"]
    (selector,) = gang["bundleSelectors"]
    bundles = selector["resourceRequests"]
    assert sorted(json.dumps(bundle["resourcesBundle"]) for bundle in bundles) == [
        '{"CPU": 1, "GPU": 1}',
        '{"CPU": 2}',
    ]
    for bundle in bundles:
        placements = bundle.get("placementConstraints", [])
        assert [list(placement) for placement in placements] == ([[constraint]] if constraint else [])
        if constraint:
            assert placements[0][constraint]["labelName"].startswith("_PG_")
    zones = [bundle["labelSelectors"][0]["labelConstraints"][0]["labelValues"] for bundle in bundles]
    assert sorted(zones) == [["a"], ["b"]]
    # Selectors are not in the old form of the same gang (T5).
    assert len(gang["requests"]) == 2
    assert all("labelSelectors" not in request for request in gang["requests"])
    ray_head.end(driver)
    wait_until(lambda: not pending(), WAIT, "the placement group to go with its driver")


def test_request_resources(ray_head):
    driver = ray_head.driver(
        """
        from ray.autoscaler.sdk import request_resources
        request_resources(bundles=[{"GPU": 1}, {"GPU": 1}, {"CPU": 4}])
        time.sleep(600)
        """
    )

    def requested():
        constraints = ray_head.probe.state().get("clusterResourceConstraints", [])
        return constraints and constraints[0].get("resourceRequests")

    requests = wait_until(requested, WAIT, "request_resources")
    counted = {json.dumps(entry["request"]["resourcesBundle"]): int(entry["count"]) for entry in requests}
    assert counted == {'{"GPU": 1}': 2, '{"CPU": 4}': 1}
    ray_head.end(driver)
    assert requested(), "the request outlives its driver"
    release = ray_head.driver(
        """
        from ray.autoscaler.sdk import request_resources
        request_resources(bundles=[])
        time.sleep(600)
        """
    )
    wait_until(lambda: not requested(), WAIT, "the release with []")
    ray_head.end(release)


def test_request_resources_under_v1(ray_head):
    """Without the v2 mark the SDK writes JSON to the key-value store."""
    mark = ("__autoscaler", "__autoscaler_v2_enabled")
    assert ray_head.probe.one("kv-requests") == {"requests": None}
    assert ray_head.probe.one("kv-put", *mark, "0") == {}
    try:
        assert ray_head.probe.one("kv-requests") == {"requests": None}
        driver = ray_head.driver(
            """
            from ray.autoscaler.sdk import request_resources
            request_resources(num_cpus=2, bundles=[{"GPU": 1}])
            time.sleep(600)
            """,
            without="RAY_enable_autoscaler_v2",  # where it is set the SDK does not look at the mark
        )
        requests = wait_until(
            lambda: ray_head.probe.one("kv-requests")["requests"], WAIT, "the request in the store"
        )
        ray_head.end(driver)
        counted = {
            json.dumps(entry["request"]["resourcesBundle"]): entry["count"] for entry in requests
        }
        assert counted == {'{"CPU": 1}': 2, '{"GPU": 1}': 1}
        ray_head.probe.one("kv-put", "", "autoscaler_resource_request", '[{"GPU": "one"}]')
        reply = ray_head.probe.one("kv-requests")
        assert reply["error"] == "Input" and "autoscaler_resource_request" in reply["text"], reply
    finally:
        ray_head.probe.one("kv-put", "", "autoscaler_resource_request", "[]")
        ray_head.probe.one("kv-put", *mark, "1")


PRINTS_LOGS = """
    ray.shutdown()
    ray.init(address="ADDRESS", _node_ip_address="IP", logging_level="warning")
    print("subscribes", flush=True)
    time.sleep(600)
"""

def printed(driver):
    return autoscaler_lines(driver.log.read_text())


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_lines_in_the_output_of_a_driver(ray_head, version):
    mark = ("__autoscaler", "__autoscaler_v2_enabled")
    assert ray_head.probe.one("kv-put", *mark, "1" if version == "v2" else "0") == {}
    try:
        source = PRINTS_LOGS.replace("ADDRESS", f"{ray_head.ip}:{ray_head.port}").replace("IP", ray_head.ip)
        driver = ray_head.driver(source, without="RAY_enable_autoscaler_v2")
        wait_until(lambda: "subscribes" in driver.log.read_text(), WAIT, "the driver")

        # The driver subscribes on a thread: the first lines may be too early.
        def first():
            assert ray_head.probe.one("lines", "first", "line") == {}
            return printed(driver)

        wait_until(first, WAIT, "the first line", 0.5)
        assert ray_head.probe.one("lines", "Adding 2 node(s) of type \x1b[2Jgpu.", "last") == {}
        lines = wait_until(lambda: "last" in (found := printed(driver)) and found, WAIT, "the last line")
        assert lines.count("Adding 2 node(s) of type ?[2Jgpu.") == 1 and lines.count("last") == 1, lines
        assert lines.count("first") == lines.count("line")
        assert "Traceback" not in driver.log.read_text()
        ray_head.end(driver)
    finally:
        ray_head.probe.one("kv-put", *mark, "1")


ACTORS, TASKS, GROUPS, JOBS = "0123"


def test_holders_of_gpus(ray_head):
    """The lists of actors, tasks, placement groups and jobs, with what each row says."""
    worker = ray_head.worker("127.0.0.84", "gpu-pod", "group-g", "--num-cpus", "1", "--num-gpus", "8")
    driver = ray_head.driver(
        """
        @ray.remote(num_cpus=0, num_gpus=2)
        class Trainer:
            def ping(self):
                pass

        @ray.remote(num_cpus=0, num_gpus=0.5)
        class Starting:
            def __init__(self):
                time.sleep(600)

        @ray.remote(num_cpus=0, num_gpus=1)
        def waits(number):
            time.sleep(600) if number == 0 else ray.get(waits.remote(0))

        group = placement_group([{"GPU": 1}, {"GPU": 1}], name="pair")
        ray.get(group.ready())
        dead = Trainer.remote()
        ray.get(dead.ping.remote())
        ray.kill(dead)
        inside = Trainer.options(num_gpus=1, placement_group=group, placement_group_bundle_index=0).remote()
        ray.get(inside.ping.remote())
        starting = Starting.remote()
        task = waits.remote(1)
        time.sleep(600)
        """
    )

    def rows(number):
        reply = ray_head.probe.one("gpu-use", number)
        assert "error" not in reply and reply["missing"] == 0, reply
        return sorted((row["name"].split(".")[-1], row["gpus"], bool(row["group"])) for row in reply["rows"])

    wait_until(lambda: rows(TASKS) == [("waits", 1, False), ("waits", 1, False)], WAIT, "both tasks to run")
    wait_until(lambda: rows(ACTORS) == [("Starting", 0.5, False), ("Trainer", 1, True)], WAIT, "both actors")
    assert rows(GROUPS) == [("pair", 1, True), ("pair", 1, True)]
    node, now = node_hex(ray_head, "gpu-pod"), time.time()
    (job,) = {row["job"] for row in ray_head.probe.one("gpu-use", ACTORS)["rows"]}
    for row in [row for number in (ACTORS, TASKS, GROUPS) for row in ray_head.probe.one("gpu-use", number)["rows"]]:
        assert row["node"] == node and row["job"] == job, row
        if row["name"].endswith("Starting"):
            assert row["since"] is None
        else:
            assert 0 <= now - datetime.fromisoformat(row["since"].replace("Z", "+00:00")).timestamp() < 600
    (own,) = [entry for entry in ray_head.probe.one("gpu-use", JOBS)["jobs"] if entry["id"] == job]
    assert "python" in own["entrypoint"] and own["submission"] == ""
    ray_head.end(driver)
    ray_head.end(worker)


def test_drain(ray_head):
    head = ray_head
    workers = [
        head.worker("127.0.0.82", "busy-pod", "group-a", "--num-cpus", "1"),
        head.worker("127.0.0.83", "idle-pod", "group-a", "--num-cpus", "1", "--resources", '{"idle": 1}'),
    ]
    driver = head.driver(
        """
        @ray.remote(num_cpus=1, label_selector={"ray.io/node-group": "group-a"}, resources={"idle": 0})
        def work():
            time.sleep(600)

        busy = [node for node in ray.nodes() if node["NodeManagerHostname"]]
        task = work.options(label_selector={"ray.io/node-id": "NODE"}).remote()
        time.sleep(600)
        """.replace("NODE", node_hex(head, "busy-pod"))
    )

    def busy():
        node = node_of(head, "busy-pod")
        # A fully used resource has no key in availableResources (T8).
        return node["status"] == "RUNNING" and "CPU" not in node["availableResources"]

    wait_until(busy, WAIT, "the task to run")
    rejected = head.probe.one("drain", node_hex(head, "busy-pod"), "test")
    assert rejected["accepted"] is False and "no longer idle" in rejected["rejection"], rejected
    assert node_of(head, "busy-pod")["status"] == "RUNNING"

    wait_until(lambda: node_of(head, "idle-pod")["status"] == "IDLE", WAIT, "the other to be idle")
    idle_id = node_hex(head, "idle-pod")
    assert head.probe.one("drain", idle_id, "test") == {"accepted": True, "rejection": ""}
    wait_until(
        lambda: node_of(head, "idle-pod")["status"] in ("DRAINING", "DEAD"), WAIT, "the drain to show"
    )
    wait_until(lambda: node_of(head, "idle-pod")["status"] == "DEAD", WAIT, "the raylet to end")
    assert head.probe.one("drain", idle_id, "test")["accepted"] is True
    assert head.probe.one("drain", "00" * 28, "test")["accepted"] is True
    bad = head.probe.one("drain", "xyz", "test")
    assert bad["error"] == "Input" and "node id" in bad["text"], bad
    head.end(driver)
    for worker in workers:
        head.end(worker)


def test_report(ray_head):
    from ray._raylet import GcsClient
    from ray.core.generated import autoscaler_pb2

    driver = ray_head.driver(
        """
        @ray.remote(num_cpus=7)
        def task():
            pass

        tasks = [task.remote() for _ in range(100)]
        topology = {"ray.io/node-id": "STRICT_PACK", "ray.io/gpu-domain": "STRICT_PACK"}
        group = placement_group([{"GPU": 3}], topology_strategy=topology)
        time.sleep(600)
        """
    )
    wait_until(lambda: ({"CPU": 7}, 100) in demand(ray_head.probe.state()), WAIT, "the tasks")
    before_ms = int(time.time() * 1000)
    assert ray_head.probe.one("report") == {}
    reply = autoscaler_pb2.GetClusterStatusReply()
    client = GcsClient(f"{ray_head.ip}:{ray_head.port}")
    reply.ParseFromString(client.get_cluster_status(timeout_s=10))
    report = reply.autoscaling_state
    report_version = report.autoscaler_state_version
    assert before_ms <= report.autoscaler_state_version <= int(time.time() * 1000)
    # One entry per shape, not per unit (T36).
    assert [dict(request.resources_bundle) for request in report.infeasible_resource_requests] == [{"CPU": 7}]
    gangs = [gang for gang in report.infeasible_gang_resource_requests if gang.bundle_selectors]
    received = [g for g in reply.cluster_resource_state.pending_gang_resource_requests if g.bundle_selectors]
    assert gangs == received and len(gangs) == 1
    assert gangs[0].bundle_selectors[0].locality_requirement.locality_constraint.label_name == "ray.io/gpu-domain"
    (launch,) = report.pending_instance_requests
    assert (launch.ray_node_type_name, launch.count) == ("gpu-group", 2)
    assert abs(launch.request_ts - time.time()) < allowed(30)
    (pending,) = report.pending_instances
    assert (pending.instance_id, pending.ray_node_type_name) == ("pod-1", "gpu-group")

    # Later reports have later versions (T3); Ray 2.60 does not report which it has seen.
    assert "lastSeenAutoscalerStateVersion" not in ray_head.probe.state()
    assert ray_head.probe.run("report", options=["--repeat", "2", "--interval-ms", "1"]) == [{}, {}]
    reply.ParseFromString(client.get_cluster_status(timeout_s=10))
    assert reply.autoscaling_state.autoscaler_state_version > report_version
    ray_head.end(driver)


def test_reply_above_the_ceiling_is_refused(ray_head):
    reply = ray_head.probe.one("state", options=["--ceiling-bytes", "100"])
    assert reply["error"] == "Limit" and "100" in reply["text"], reply


def test_price_of_a_connection(ray_head):
    """10,000 connections are the aim: each must stay below 30 KiB."""

    def rss(clients):
        options = ["--clients", str(clients), "--timeout-ms", "20000"]
        return ray_head.probe.run("memory", options=options)[-1]["rssBytes"]

    each = (rss(401) - rss(1)) / 400
    print(f"{each / 1024:.1f} KiB for each connection")
    assert each < 30 * 1024


def test_restarted_head_has_a_new_id():
    """Without fault tolerance a restarted head is another cluster; the client follows."""
    import subprocess

    head = RayHead("127.0.0.84")
    try:
        head.start()
        watching = subprocess.Popen(
            head.probe.command("state", options=["--repeat", "400", "--interval-ms", "200"]),
            stdout=subprocess.PIPE,
            text=True,
        )
        first = json.loads(watching.stdout.readline())["state"]["clusterSessionName"]
        head.stop()
        head.start()
        seen, kinds, deadline = first, set(), time.monotonic() + WAIT
        for line in watching.stdout:
            reply = json.loads(line)
            if "error" in reply:
                kinds.add(reply["error"])
                continue
            seen = reply["state"]["clusterSessionName"]
            if seen != first or time.monotonic() > deadline:
                break
        watching.kill()
        watching.wait()
        assert seen != first
        assert kinds == {"Retry"}
    finally:
        head.remove()


TOKEN = "0123456789abcdef0123456789abcdef"


def test_token():
    head = RayHead("127.0.0.85", {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN})
    try:
        head.start()
        assert head.probe.one("state", options=["--token", TOKEN])["state"]["nodeStates"]
        for options in ([], ["--token", "wrong"]):
            reply = head.probe.one("state", options=options)
            assert reply["error"] == "Denied" and "token" in reply["text"], reply
            assert TOKEN not in reply["text"]
        file = head.directory / "token"
        file.write_text(f"  {TOKEN}\n")
        sources = [
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN},
            {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)},
            {"RAY_AUTH_TOKEN": TOKEN},  # the default of Ray 2.61
        ]
        for source in sources:
            reply = head.probe.one("state", options=["--from-environment"], environment=source)
            assert "error" not in reply, (source, reply)
    finally:
        head.remove()


def test_token_is_ignored_by_a_head_without_authentication(ray_head):
    assert ray_head.probe.one("state", options=["--token", TOKEN])["state"]["nodeStates"]


def test_tls(tmp_path):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    variables = write_certificates(own, ["127.0.0.86", "127.0.0.1"])
    strange = write_certificates(other, ["127.0.0.86"], "other")
    head = RayHead("127.0.0.86", variables)
    try:
        head.start()
        tls = {"options": ["--from-environment"]}
        assert head.probe.one("state", environment=variables, **tls)["state"]["nodeStates"]

        # A server that is not of our CA; a certificate of ours that is not of Ray's; no TLS at all.
        wrong_ca = {**variables, "RAY_TLS_CA_CERT": strange["RAY_TLS_CA_CERT"]}
        reply = head.probe.one("state", environment=wrong_ca, **tls)
        assert reply["error"] == "Denied" and "certificate" in reply["text"], reply
        wrong_own = {**strange, "RAY_TLS_CA_CERT": variables["RAY_TLS_CA_CERT"]}
        reply = head.probe.one("state", environment=wrong_own, **tls)
        assert reply["error"] in ("Denied", "Retry"), reply
        reply = head.probe.one("state")
        assert reply["error"] == "Retry", reply
    finally:
        head.remove()


def test_tls_to_an_address_that_is_not_in_the_certificate(tmp_path):
    variables = write_certificates(tmp_path, ["127.0.0.87"])
    head = RayHead("127.0.0.87", variables)
    try:
        head.start()
        head.probe.head.ip = "127.0.0.88"  # the GCS binds all addresses
        reply = head.probe.one("state", environment=variables, options=["--from-environment"])
        assert reply["error"] == "Denied" and "SAN" in reply["text"], reply
    finally:
        head.remove()


def test_tls_asked_of_a_head_without_it(ray_head, tmp_path):
    variables = write_certificates(tmp_path, [ray_head.ip])
    reply = ray_head.probe.one("state", environment=variables, options=["--from-environment"])
    assert reply["error"] == "Retry" and "TLS" in reply["text"], reply
