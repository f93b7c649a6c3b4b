"""The subresource `proxy` of a Pod: forwards the request to a port of its podIP and returns the answer.

kube-apiserver refuses loopback addresses here; all Pods of the bench live on them, so this one does not.
"""

import http.client
from typing import Any, Dict, Optional, Tuple

from .errors import StatusError

SECONDS = 30.0
ANSWER_BYTES = 64 * 1024 * 1024


def split_name(name: str) -> Tuple[str, str, str]:
    """"[SCHEME:]POD[:PORT]" as scheme, Pod and port; "" where there is none."""
    parts = name.split(":")
    if len(parts) == 1:
        return "", name, ""
    if len(parts) == 2:
        return "", parts[0], parts[1]
    if len(parts) == 3 and parts[0] in ("", "http", "https"):
        return parts[0], parts[1], parts[2]
    raise StatusError(400, f'invalid pod request "{name}"', "BadRequest")


def forward(pod: Dict[str, Any], name: str, method: str, path: str, body: bytes, accept: str) -> Tuple[int, str, bytes]:
    """Status, content type and body of the answer."""
    scheme, _, port = split_name(name)
    if scheme == "https":
        raise StatusError(501, "the embedded API server proxies to http only")
    address = (pod.get("status") or {}).get("podIP", "")
    port = port or str(_first_port(pod) or 80)
    if not address:
        raise StatusError(400, "address not allowed", "BadRequest")
    connection = http.client.HTTPConnection(address, int(port), timeout=SECONDS)
    try:
        connection.request(method, path, body or None, {"Accept": accept} if accept else {})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type", ""), answer.read(ANSWER_BYTES)
    except (OSError, http.client.HTTPException) as error:
        text = f"error trying to reach service: {error}"
        raise StatusError(503, text, "ServiceUnavailable", details={}) from None
    finally:
        connection.close()


def _first_port(pod: Dict[str, Any]) -> Optional[int]:
    for container in pod["spec"].get("containers") or []:
        for port in container.get("ports") or []:
            return port["containerPort"]
    return None
