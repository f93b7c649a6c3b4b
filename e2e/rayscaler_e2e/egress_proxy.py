"""The network between kube-apiserver and Pods, for its proxy of Services: HTTP CONNECT on a Unix socket.

kube-apiserver neither accepts nor proxies to loopback addresses, where all programs of this bench listen. An egress
selector lets it dial through this proxy, which knows the real address behind each Pod IP. The proxy of the API server
itself (rights, header fields, the choice of an endpoint) is the real one.
"""

import socket
import threading
from pathlib import Path
from typing import Dict, List

import yaml

HEAD_MAX = 4096
SECONDS = 30.0


class EgressProxy:
    """``routes``: "10.99.0.1" -> "127.0.0.1:43210"; the port that is dialled does not count."""

    def __init__(self, directory: Path):
        # The path of a Unix socket has at most 107 bytes.
        self._socket = socket.socket(socket.AF_UNIX)
        self.path = f"/tmp/rayscaler-egress-{id(self):x}.sock"
        Path(self.path).unlink(missing_ok=True)
        self._socket.bind(self.path)
        self._socket.listen(64)
        self.routes: Dict[str, str] = {}
        connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": self.path}}}
        config = {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }
        self.config = directory / "egress.yaml"
        self.config.write_text(yaml.safe_dump(config))
        self._threads: List[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self._socket.close()
        Path(self.path).unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            peer.settimeout(SECONDS)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < HEAD_MAX:
                more = peer.recv(HEAD_MAX)
                if not more:
                    return
                head += more
            wanted = head.split()[1].decode().rpartition(":")[0]
            route = self.routes.get(wanted)
            if route is None:
                peer.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
                return
            host, _, port = route.rpartition(":")
            try:
                with socket.create_connection((host, int(port)), timeout=SECONDS) as server:
                    peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    back = threading.Thread(target=_copy, args=(server, peer), daemon=True)
                    back.start()
                    _copy(peer, server)
                    back.join(SECONDS)
            except OSError:
                return


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
