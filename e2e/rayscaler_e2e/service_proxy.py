"""The Services of the bench for KubeRay's operator: an HTTP proxy that finds the Pod behind `NAME.NAMESPACE.svc.cluster.local`.

There is no DNS and no kube-proxy here. The operator's client for Ray's dashboard honours HTTP_PROXY.
"""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Optional
from urllib.parse import urlsplit

from .kubeclient import KubeClient

SECONDS = 10.0


class ServiceProxy:
    def __init__(self, client: KubeClient):
        proxy = self
        self._client = client

        class Handler(BaseHTTPRequestHandler):
            def do(self) -> None:
                proxy.forward(self)

            do_GET = do_PUT = do_POST = do_DELETE = do

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        try:
            status, kind, body = self._answer(request)
        except (OSError, http.client.HTTPException) as error:
            status, kind, body = 502, "text/plain", str(error).encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _answer(self, request: BaseHTTPRequestHandler) -> "tuple[int, str, bytes]":
        url = urlsplit(request.path)
        name, namespace = (url.hostname or "").split(".")[:2]
        address = self._pod_behind(name, namespace)
        if address is None:
            return 503, "text/plain", f"no running Pod behind Service {namespace}/{name}".encode()
        sent = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(address, url.port or 80, timeout=SECONDS)
        try:
            path = url.path + (f"?{url.query}" if url.query else "")
            headers = {"Content-Type": request.headers.get("Content-Type") or "application/json"}
            connection.request(request.command, path, sent or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type") or "text/plain", answer.read()
        finally:
            connection.close()

    def _pod_behind(self, name: str, namespace: str) -> Optional[str]:
        service = self._client.of("services", namespace).find(name)
        if service is None:
            return None
        selector = ",".join(f"{key}={value}" for key, value in service["spec"]["selector"].items())
        pods = self._client.of("pods", namespace).items(selector)
        found = [pod["status"]["podIP"] for pod in pods if (pod.get("status") or {}).get("podIP")]
        return found[0] if found else None
