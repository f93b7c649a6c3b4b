"""HTTPS: one thread per connection, kept alive; watches are chunked streams of JSON lines."""

import json
import ssl
import sys
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

from .api import Answer, Api, Request

BODY_BYTES = 3 * 1024 * 1024
HANDSHAKE_SECONDS = 10.0
IDLE_SECONDS = 600.0


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, api: Api, certificate: Path, key: Path, client_ca: Path):
        self.api = api
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self._tls.load_cert_chain(certificate, key)
        self._tls.load_verify_locations(client_ca)
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        self._tls.set_alpn_protocols(["http/1.1"])
        super().__init__(("127.0.0.1", port), Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread: a slow handshake must not hold up the others."""
        request.settimeout(HANDSHAKE_SECONDS)
        try:
            secured = self._tls.wrap_socket(request, server_side=True)
        except (OSError, ssl.SSLError) as error:
            print(f"TLS handshake with {client_address[0]} failed: {error}", flush=True)
            return
        secured.settimeout(IDLE_SECONDS)
        try:
            super().finish_request(secured, client_address)
        except OSError:
            pass  # the client went away
        finally:
            secured.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    disable_nagle_algorithm = True

    def _handle(self) -> None:
        started = time.monotonic()
        body = self._read_body()
        if body is None:
            self._log(413, "", started)
            return
        parts = urlsplit(self.path)
        certificate = self.connection.getpeercert() or None
        request = Request(
            method=self.command,
            path=parts.path,
            query=parts.query,
            body=body,
            content_type=self.headers.get("Content-Type", ""),
            accept=self.headers.get("Accept", ""),
            authorization=self.headers.get("Authorization"),
            certificate=certificate,
        )
        try:
            answer = self.server.api.answer(request)
        except Exception:  # a fault of this server: report it, and continue
            traceback.print_exc()
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                      "message": "fault of the embedded API server, see its log", "code": 500}  # fmt: skip
            answer = Answer(500, status)
        self._log(answer.code, answer.user, started)
        if answer.watch is not None:
            self._send_stream(answer)
        else:
            self._send_body(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _handle

    def _read_body(self) -> Optional[bytes]:
        """None when the body is too long: then the answer is sent and the connection ended."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = self._read_chunks()
        else:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length <= BODY_BYTES else None
        if body is None:
            text = f"Request entity too large: limit is {BODY_BYTES}"
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                      "message": text, "reason": "RequestEntityTooLarge", "code": 413}  # fmt: skip
            self.close_connection = True
            self._send_body(Answer(413, status))
        return body

    def _read_chunks(self) -> Optional[bytes]:
        body = b""
        while True:
            size = int(self.rfile.readline(64).partition(b";")[0].strip() or b"0", 16)
            if len(body) + size > BODY_BYTES:
                return None
            body += self.rfile.read(size)
            if size:
                self.rfile.readline(2)
                continue
            while self.rfile.readline(8192).strip():
                pass  # trailers
            return body

    def _send_body(self, answer: Answer) -> None:
        kind, data = answer.content_type, answer.body
        if isinstance(data, str):
            kind, data = "text/plain; charset=utf-8", data.encode()
        elif not isinstance(data, bytes):
            kind, data = "application/json", json.dumps(data, separators=(",", ":")).encode() + b"\n"
        self.send_response(answer.code)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if answer.code == 429:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _send_stream(self, answer: Answer) -> None:
        assert answer.watch is not None
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        first = True
        for event in answer.watch.events():
            if event is None:
                if self._client_gone():
                    self.close_connection = True
                    return
                continue
            kind, obj = event
            if answer.as_table is not None and kind in ("ADDED", "MODIFIED", "DELETED"):
                obj, first = answer.as_table(obj, first), False
            line = json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")

    def _client_gone(self) -> bool:
        """Has the other side closed? A client of a watch sends nothing, so anything is an end."""
        self.connection.settimeout(0)
        try:
            return self.connection.recv(1) is not None
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        except OSError:
            return True
        finally:
            self.connection.settimeout(IDLE_SECONDS)

    def _log(self, code: int, user: str, started: float) -> None:
        milliseconds = (time.monotonic() - started) * 1000
        print(f"{self.command} {self.path} {code} {milliseconds:.1f}ms user={user}", flush=True)

    def log_message(self, format: str, *args: Any) -> None:
        """The base class would log each answer once more."""

    def version_string(self) -> str:
        return "rayscaler-embedded-apiserver"
