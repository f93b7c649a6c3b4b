"""python -m rayscaler_e2e.embedded --port N ...: serve until SIGTERM."""

import argparse
import os
import signal
from pathlib import Path

from .api import Api
from .auth import Authenticator
from .rbac import initial_objects
from .registry import Registry
from .server import Server
from .store import Store
from .verbs import Verbs


def main() -> None:
    parser = argparse.ArgumentParser(description="An in-memory Kubernetes API server for tests, on 127.0.0.1.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tls-cert-file", type=Path, required=True)
    parser.add_argument("--tls-private-key-file", type=Path, required=True)
    parser.add_argument("--client-ca-file", type=Path, required=True)
    parser.add_argument("--token-auth-file", type=Path, required=True)
    parser.add_argument("--service-account-key-file", type=Path, required=True, help="any secret bytes")
    parser.add_argument("--journal", type=Path, help="keeps the objects across a restart")
    options = parser.parse_args()
    store = Store(options.journal)
    registry = Registry()
    verbs = Verbs(store, registry)
    verbs.create_initial(initial_objects())
    authenticator = Authenticator(store, options.token_auth_file, options.service_account_key_file.read_bytes())
    api = Api(store, registry, verbs, authenticator)
    server = Server(
        options.port, api, options.tls_cert_file, options.tls_private_key_file, options.client_ca_file
    )
    # Threads serve watches that may last for minutes; every write is in the journal already.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"serving https://127.0.0.1:{options.port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
