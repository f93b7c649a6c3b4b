"""The HTTP endpoints for a stranger on the network: reads only, and within limits. How many connections, how long and
how slowly: src/test/net/net_serve_test.c, test_metrics.py."""

import socket
from typing import Tuple

from rayscaler_e2e import rayclusters
from rayscaler_e2e.program import Controller
from rayscaler_e2e.wait import wait_until

METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW")
LONG = 20000


def ask(program: Controller, what: str, head: str) -> Tuple[int, str]:
    """Status and header of the answer to these bytes; (0, "") when the connection is closed without one."""
    host, _, port = program.address(what).rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(head.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            try:
                more = connection.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                break
            answer += more
    text = answer.decode()
    return (int(text.split()[1]) if text else 0), text


def test_endpoints_only_read(controller, api_server, namespace):
    made = rayclusters.minimal("demo")
    made["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "held=by-the-test"
    clusters = api_server.admin.of("rayclusters", namespace)
    clusters.create(made)
    program = controller(namespace)
    wait_until(lambda: program.get(f"/status/{namespace}/demo")[0] == 200, 20, "the cluster to be seen")
    before = clusters.get("demo")
    pages = {"metrics": ["/metrics", "/status", f"/status/{namespace}/demo", f"/snapshot/{namespace}/demo"], "probes": ["/healthz", "/readyz"]}
    for what, paths in pages.items():
        for path in paths:
            for method in METHODS:
                status, text = ask(program, what, f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}")
                assert status in (405, 400), (method, path, text)
                assert status == 400 or "Allow: GET, HEAD" in text, (method, path, text)
            assert program.get(path, what)[0] == 200
    assert clusters.get("demo") == before


def test_requests_are_bounded(controller, namespace):
    program = controller(namespace)
    for what, path in (("metrics", "/metrics"), ("probes", "/healthz")):
        assert ask(program, what, f"GET /{'a' * LONG} HTTP/1.1\r\nHost: x\r\n\r\n")[0] in (0, 400, 413, 414, 431)
        assert ask(program, what, f"GET {path} HTTP/1.1\r\nHost: x\r\nX: {'a' * LONG}\r\n\r\n")[0] in (0, 400, 413, 431)
        many = "".join(f"X-{i}: a\r\n" for i in range(LONG // 8))
        assert ask(program, what, f"GET {path} HTTP/1.1\r\nHost: x\r\n{many}\r\n")[0] in (0, 400, 413, 431)
        assert program.get(path, what)[0] == 200
    # Names that no object can have, and ways out of the path.
    for path in (f"/status/{'n' * 300}/demo", "/status/../metrics", "/status/a/b/c", "/snapshot/%00/demo", "/snapshot/a/..%2f..", "//"):
        assert ask(program, "metrics", f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")[0] in (400, 404), path
    assert program.process.running()
