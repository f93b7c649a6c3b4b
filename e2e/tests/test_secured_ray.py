"""Real Ray with TLS and with each kind of token, read by a controller and by a sidecar."""

from datetime import timedelta

import pytest

from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pki import CertificateAuthority
from rayscaler_e2e.ray_certificates import encoded, secret_data

RBAC = "rbac.authorization.k8s.io"
MODES = ("controller", "sidecar")
DELEGATED = {"mode": "token", "enableK8sTokenAuth": True}


@pytest.fixture
def read_by(namespace, controller):
    """Starts what reads Ray in this mode; a sidecar starts with the head."""
    return lambda mode: controller(namespace) if mode == "controller" else None


def account(api_server, namespace, name):
    """A ServiceAccount that Ray lets in."""
    api_server.ensure_service_account(namespace, name)
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "ray-writer", "namespace": namespace}}
    role["rules"] = [{"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["ray:write"]}]
    api_server.apply(role)
    bind(api_server, "RoleBinding", "Role", "ray-writer", namespace, name)


def reviewer(api_server, namespace, name):
    """The head's ServiceAccount asks the API server for each caller."""
    account(api_server, namespace, name)
    bind(api_server, "ClusterRoleBinding", "ClusterRole", "system:auth-delegator", namespace, name)


def bind(api_server, kind, role_kind, role, namespace, name):
    metadata = {"name": f"{role.replace(':', '-')}-{namespace}-{name}"}
    if kind == "RoleBinding":
        metadata["namespace"] = namespace
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    reference = {"apiGroup": RBAC, "kind": role_kind, "name": role}
    api_server.apply(
        {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "roleRef": reference, "subjects": [subject]}
    )


def delegated(name, **more):
    manifest = rm.cluster(name, [rm.gpu_group()], authOptions=DELEGATED, **more)
    for group in manifest["spec"]["workerGroupSpecs"]:
        group["template"]["spec"]["serviceAccountName"] = name
    return manifest


def options_of(mode):
    return {"autoscaler": rm.sidecar_options()} if mode == "sidecar" else {}


def up_and_down(one):
    """A worker for an actor, and its drain when the actor has ended."""
    with one.program() as program:
        program.actors(1, num_gpus=1)
        assert program.ready("actors") == one.workers()
        program.end()
    one.wait_empty()


@pytest.mark.parametrize("mode", MODES)
def test_a_token(mode, scenario, namespace, read_by):
    one = scenario(rm.cluster("token", [rm.gpu_group()], authOptions={"mode": "token"}, **options_of(mode)))
    read_by(mode)
    up_and_down(one)


def test_a_token_without_auth_options(scenario, namespace, api_server, controller):
    """The head has it from a Secret: no member of the RayCluster says so."""
    metadata = {"name": "by-hand", "namespace": namespace}
    api_server.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded({"k": b"secret"})})
    manifest = rm.cluster("by-hand", [rm.gpu_group()])
    source = {"secretKeyRef": {"name": "by-hand", "key": "k"}}
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        ray = group["template"]["spec"]["containers"][0]
        mode = {"name": "RAY_AUTH_MODE", "value": "token"}
        ray["env"] = [*ray.get("env", []), mode, {"name": "RAY_AUTH_TOKEN", "valueFrom": source}]
    one = scenario(manifest, wait=False)
    one.token = "secret"
    one.wait_head()
    controller(namespace)
    up_and_down(one)


@pytest.mark.parametrize("mode", MODES)
def test_mtls(mode, scenario, namespace, read_by):
    """spec.tlsOptions of KubeRay 1.7: Ray speaks TLS only, with the certificates of cert-manager."""
    one = scenario(rm.cluster("mtls", [rm.gpu_group()], tlsOptions={"enabled": True}, **options_of(mode)))
    read_by(mode)
    up_and_down(one)


def by_hand(name):
    """TLS as before spec.tlsOptions: variables of Ray, and a Secret among the volumes of each Pod."""
    manifest = rm.cluster(name, [rm.gpu_group()])
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        spec = group["template"]["spec"]
        spec["volumes"] = [{"name": "tls", "secret": {"secretName": "by-hand"}}]
        ray = spec["containers"][0]
        ray["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
        ray["env"] = [{"name": "RAY_USE_TLS", "value": "1"}, *ray.get("env", [])]
        for variable, file in (("SERVER_CERT", "tls.crt"), ("SERVER_KEY", "tls.key"), ("CA_CERT", "ca.crt")):
            ray["env"].append({"name": f"RAY_TLS_{variable}", "value": f"/tls/{file}"})
    return manifest


def test_certificates_by_hand(scenario, namespace, api_server, controller, work_dir):
    """Nothing is terminated while they do not fit, and the message names the cause; a renewed one is used."""
    authority, other = (CertificateAuthority(work_dir / name, name) for name in ("ca", "other-ca"))
    addresses = ["127.0.0.1", *(f"127.{network}.0.{host}" for network in range(10, 30) for host in range(1, 30))]

    def write(data):
        metadata = {"name": "by-hand", "namespace": namespace}
        api_server.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(data)})

    write(secret_data(authority, *authority.leaf(addresses)))
    one = scenario(by_hand("by-hand"), wait=False)
    one.tls = secret_data(authority, *authority.leaf(addresses))
    one.wait_head()
    running = controller(namespace)
    with one.program() as program:
        program.actors(1, num_gpus=1)
        (worker,) = program.ready("actors")
        program.end()
    # Ray keeps what it read at its start: each new connection of ours meets it with what the Secret has now.
    expired = secret_data(authority, *authority.leaf(addresses, ends=-timedelta(minutes=5)))
    for data, cause in (
        (secret_data(other, *other.leaf(addresses)), "the server's certificate is refused"),
        ({**secret_data(other, *other.leaf(addresses)), "ca.crt": authority.file.read_bytes()}, "refuses our certificate"),
        (expired, "refuses our certificate"),
        ({**expired, "tls.key": b"not a key"}, "Secret"),
        ({"tls.crt": expired["tls.crt"]}, "the Secret has no such key"),
    ):
        running.stop()
        write(data)
        running = controller(namespace)
        running.wait_for("DemandUnavailable", cause, seconds=30)
        assert one.workers() == [worker], cause
    write(secret_data(authority, *authority.leaf(addresses)))
    one.wait_empty()


@pytest.mark.parametrize("mode", MODES)
def test_delegated_tokens(mode, scenario, namespace, api_server, read_by):
    """Ray asks the real API server by TokenReview and SubjectAccessReview who calls."""
    reviewer(api_server, namespace, "delegated")
    account(api_server, namespace, "rayscaler-gcs")
    one = scenario(delegated("delegated", **options_of(mode)))
    read_by(mode)
    up_and_down(one)


def test_delegated_tokens_without_the_account(scenario, namespace, api_server, controller):
    """The message says what to create; then Ray is read, without a restart."""
    reviewer(api_server, namespace, "delegated")
    one = scenario(delegated("delegated"))
    control = controller(namespace)
    control.wait_for("create ServiceAccount rayscaler-gcs", seconds=30)
    api_server.ensure_service_account(namespace, "rayscaler-gcs")
    control.wait_for("it needs verb ray:write on rayclusters", seconds=30)
    account(api_server, namespace, "rayscaler-gcs")
    up_and_down(one)
