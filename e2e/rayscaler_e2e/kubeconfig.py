"""Files from which a program learns how to reach an API server: a kubeconfig, an in-cluster directory."""

import base64
import json
import os
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence



def write_kubeconfig(
    path: Path,
    url: str,
    ca_file: Optional[Path] = None,
    *,
    ca_data: Optional[bytes] = None,
    token: Optional[str] = None,
    token_file: Optional[Path] = None,
    client_cert: Optional[Path] = None,
    client_key: Optional[Path] = None,
    inline: bool = False,
    namespace: Optional[str] = None,
    insecure_skip_tls_verify: bool = False,
    tls_server_name: Optional[str] = None,
) -> Path:
    """Write a kubeconfig with one context, mode 0600, and return its path. It is JSON, which the
    program of the image reads too.

    ``inline`` puts certificates and keys in as base64 data instead of file names.
    """
    cluster: Dict[str, object] = {"server": url}
    if insecure_skip_tls_verify:
        cluster["insecure-skip-tls-verify"] = True
    elif ca_data is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca_data).decode()
    elif inline and ca_file:
        cluster["certificate-authority-data"] = base64.b64encode(ca_file.read_bytes()).decode()
    elif ca_file:
        cluster["certificate-authority"] = str(ca_file)
    if tls_server_name:
        cluster["tls-server-name"] = tls_server_name
    user: Dict[str, object] = {}
    if token:
        user["token"] = token
    if token_file:
        user["tokenFile"] = str(token_file)
    for key, source in (("client-certificate", client_cert), ("client-key", client_key)):
        if source and inline:
            user[key + "-data"] = base64.b64encode(Path(source).read_bytes()).decode()
        elif source:
            user[key] = str(source)
    context: Dict[str, object] = {"cluster": "bench", "user": "bench"}
    if namespace:
        context["namespace"] = namespace
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": user}],
        "contexts": [{"name": "bench", "context": context}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_private(path, json.dumps(config, indent=1))
    return path


class InClusterFiles:
    """The directory and environment that a kubelet gives a Pod.

    A real Pod finds ``token``, ``ca.crt`` and ``namespace`` in
    /var/run/secrets/kubernetes.io/serviceaccount; here they are in ``directory``, and it is the
    caller's business to make the program look there.
    """

    def __init__(self, directory: Path, host: str, port: int, ca_file: Path, token: str, namespace: str):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "ca.crt").write_bytes(Path(ca_file).read_bytes())
        (directory / "namespace").write_text(namespace)
        self.rotate(token)
        self.env = {
            "KUBERNETES_SERVICE_HOST": host,
            "KUBERNETES_SERVICE_PORT": str(port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        }

    def rotate(self, token: str) -> None:
        """Replace the token as the kubelet does: a reader sees the old or the new file, never half."""
        new = self.directory / "token.new"
        _write_private(new, token)
        os.replace(new, self.directory / "token")


# Ray reads a service account's files at their usual paths: this process alone sees them there.
_WITH_ACCOUNT = (
    "unshare",
    "--mount",
    "sh",
    "-ec",
    "mount -t tmpfs tmpfs /run; cd /run; mkdir -p secrets/kubernetes.io secrets/ray.io; "
    'for at in kubernetes.io ray.io; do cp -r "$RAYSCALER_BENCH_SERVICE_ACCOUNT" secrets/$at/serviceaccount; done; '
    'cd "$HOME"; exec "$@"',
    "sh",
)


def sees_account(words: Sequence[str], env: Mapping[str, str]) -> List[str]:
    """The command of a process of Ray, which with Kubernetes-delegated tokens has the files of its account."""
    return [*(_WITH_ACCOUNT if env.get("RAY_ENABLE_K8S_TOKEN_AUTH") == "true" else ()), *words]


def _write_private(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
