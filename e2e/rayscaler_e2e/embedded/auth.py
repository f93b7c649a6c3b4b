"""The user of a request: by client certificate, static token or service-account token, or none."""

import base64
import csv
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from .errors import StatusError, invalid, invalid_value
from .rbac import User
from .store import Store

ISSUER = "https://kubernetes.default.svc"
AUTHENTICATED = "system:authenticated"
SHORTEST_SECONDS = 600
LONGEST_SECONDS = 2**32
DEFAULT_SECONDS = 3600


class Authenticator:
    def __init__(self, store: Store, token_file: Path, secret: bytes):
        """``token_file`` as for kube-apiserver; ``secret`` signs service-account tokens."""
        self._store = store
        self._secret = secret
        self._static: Dict[str, User] = {}
        with open(token_file, newline="") as rows:
            for row in csv.reader(rows):
                groups = row[3].split(",") if len(row) > 3 else []
                self._static[row[0]] = User(row[1], [*groups, AUTHENTICATED])

    def user(self, authorization: Optional[str], certificate: Optional[Dict[str, Any]]) -> User:
        """A wrong token is refused even when a certificate is there and would do."""
        if certificate:
            return _certificate_user(certificate)
        if authorization is None:
            return User("system:anonymous", ["system:unauthenticated"])
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            return User("system:anonymous", ["system:unauthenticated"])
        for known, user in self._static.items():
            if hmac.compare_digest(known.encode(), token.encode()):
                return user
        account = self._service_account(token)
        if account is None:
            raise StatusError(401, "Unauthorized")
        return account

    def _service_account(self, token: str) -> Optional[User]:
        parts = token.split(".")
        if len(parts) != 3 or not hmac.compare_digest(self._sign(".".join(parts[:2])), parts[2]):
            return None
        claims = json.loads(_from_base64(parts[1]))
        namespace, _, name = claims["sub"].partition("system:serviceaccount:")[2].partition(":")
        account = self._store.get("serviceaccounts", (namespace, name))
        if account is None or claims["exp"] <= time.time():
            return None
        if account["metadata"]["uid"] != claims["kubernetes.io"]["serviceaccount"]["uid"]:
            return None
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED]
        return User(claims["sub"], groups)

    def create_token(self, resource: Any, account: Dict[str, Any], request: Dict[str, Any]) -> Dict[str, Any]:
        """Answer a TokenRequest for ``account``."""
        spec = dict(request.get("spec") or {})
        seconds = spec.setdefault("expirationSeconds", DEFAULT_SECONDS)
        errors = []
        if seconds < SHORTEST_SECONDS:
            text = "may not specify a duration less than 10 minutes"
            errors.append(invalid_value("spec.expirationSeconds", seconds, text))
        elif seconds > LONGEST_SECONDS:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid_value("spec.expirationSeconds", seconds, text))
        metadata = account["metadata"]
        if errors:
            raise invalid(resource, "", errors)
        spec.setdefault("audiences", [ISSUER])
        expires = int(time.time()) + seconds
        token = self._token(metadata, spec["audiences"], expires)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expires))
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {key: metadata[key] for key in ("name", "namespace", "uid", "creationTimestamp")},
            "spec": spec,
            "status": {"token": token, "expirationTimestamp": stamp},
        }

    def _token(self, account: Dict[str, Any], audiences: List[str], expires: int) -> str:
        namespace, name = account["namespace"], account["name"]
        claims = {
            "aud": audiences,
            "exp": expires,
            "iat": int(time.time()),
            "iss": ISSUER,
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": {"name": name, "uid": account["uid"]},
            },
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        head = ".".join(_to_base64(json.dumps(part).encode()) for part in ({"alg": "HS256"}, claims))
        return f"{head}.{self._sign(head)}"

    def _sign(self, text: str) -> str:
        return _to_base64(hmac.new(self._secret, text.encode(), hashlib.sha256).digest())


def _certificate_user(certificate: Dict[str, Any]) -> User:
    fields = [field for rdn in certificate.get("subject", ()) for field in rdn]
    names = [value for key, value in fields if key == "commonName"]
    groups = [value for key, value in fields if key == "organizationName"]
    return User(names[0] if names else "", [*groups, AUTHENTICATED])


def _to_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
