"""Real Ray with TLS and with each kind of token, read by a controller and by a sidecar."""

import ipaddress
from datetime import timedelta

import pytest

from rayscaler_e2e import kuberay_pod as kp
from rayscaler_e2e import paths
from rayscaler_e2e import ray_manifests as rm
from rayscaler_e2e.pki import CertificateAuthority
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.ray_certificates import encoded, secret_data
from rayscaler_e2e.relay import HoldingRelay
from rayscaler_e2e.scenario import hold
from rayscaler_e2e.wait import wait_until

pytestmark = [pytest.mark.minutes, pytest.mark.rotates]

KUBERAY = paths.ROOT / "docs" / "KUBERAY.md"
RBAC = "rbac.authorization.k8s.io"
MODES = ("controller", "sidecar")
KINDS = ("serviceaccount", "role", "rolebinding")
WITH_CERTIFICATES = pytest.mark.skipif(
    paths.kuberay_operator() is not None and paths.cert_manager() is None,
    reason="KubeRay's own operator needs cert-manager for spec.tlsOptions: RAYSCALER_CERT_MANAGER, RAYSCALER_CERT_MANAGER_CRDS",
)
DELEGATED = {"mode": "token", "enableK8sTokenAuth": True}


@pytest.fixture
def read_by(namespace, controller):
    """Starts what reads Ray in this mode; a sidecar starts with the head."""
    return lambda mode: controller(namespace) if mode == "controller" else None


def let_us_in(kubectl, namespace, *kinds):
    """The commands of docs/KUBERAY.md."""
    for line in KUBERAY.read_text().replace("team-a", namespace).splitlines():
        words = line.split()
        if words[:1] == ["kubectl"] and "create" in words and words[4] in kinds and words[5] == "rayscaler-gcs":
            assert kubectl.run(*words[1:]).returncode == 0


def reviewer(api_server, namespace, name):
    """The ServiceAccount of head and workers: it asks the API server for each caller, itself included."""
    api_server.ensure_service_account(namespace, name)
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": f"ray-{namespace}"}}
    role["rules"] = [
        {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["ray:write"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    api_server.apply(role)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": role["metadata"]}
    api_server.apply({**binding, "roleRef": reference, "subjects": [subject]})


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
        # KubeRay's operator puts a worker's address into the certificate once a minute.
        assert program.ready("actors", seconds=150) == one.workers()
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


@WITH_CERTIFICATES
@pytest.mark.parametrize("mode", MODES)
def test_mtls(mode, scenario, namespace, read_by):
    """spec.tlsOptions of KubeRay 1.7: Ray speaks TLS only, with the certificates of cert-manager."""
    one = scenario(rm.cluster("mtls", [rm.gpu_group()], tlsOptions={"enabled": True}, **options_of(mode)))
    read_by(mode)
    up_and_down(one)


def by_hand(name):
    """TLS as before spec.tlsOptions: variables of Ray, and a Secret among the volumes of each Pod, which is waited for."""
    manifest = rm.cluster(name, [rm.gpu_group()])
    for group in (manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]):
        spec = group["template"]["spec"]
        spec["volumes"] = [{"name": "tls", "secret": {"secretName": "by-hand"}}]
        ray = spec["containers"][0]
        ray["volumeMounts"] = [{"name": "tls", "mountPath": kp.TLS_PATH}]
        spec["initContainers"] = [{"name": kp.ADDRESS_CONTAINER, "image": "x", "volumeMounts": ray["volumeMounts"]}]
        ray["env"] = [{"name": "RAY_USE_TLS", "value": "1"}, *ray.get("env", [])]
        for variable, file in (("SERVER_CERT", "tls.crt"), ("SERVER_KEY", "tls.key"), ("CA_CERT", "ca.crt")):
            ray["env"].append({"name": f"RAY_TLS_{variable}", "value": f"{kp.TLS_PATH}/{file}"})
    return manifest


def test_certificates_by_hand(scenario, namespace, api_server, controller, work_dir):
    """Nothing is terminated while they do not fit, and the message names the cause; a renewed one is used."""
    authority, other = (CertificateAuthority(work_dir / name, name) for name in ("ca", "other-ca"))
    def write(data):
        metadata = {"name": "by-hand", "namespace": namespace}
        api_server.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(data)})

    one = scenario(by_hand("by-hand"), wait=False)
    head = ipaddress.ip_address(wait_until(lambda: one.head() and (one.head().get("status") or {}).get("podIP"), 30, "an address"))
    # The Pods that follow have the next ones, and the third number is higher after 250 of them.
    addresses = ["127.0.0.1", *(str(head + number) for number in range(256 + 30))]
    write(secret_data(authority, *authority.leaf(addresses)))
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


@WITH_CERTIFICATES
def test_the_head_of_another_cluster(scenario, namespace, controller):
    """It has a valid certificate of its own, and answers in place of this cluster's head."""
    manifest, port = rm.cluster("one", [rm.gpu_group()], tlsOptions={"enabled": True}), free_port()
    manifest["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"] = [{"name": "gcs-server", "containerPort": port}]
    one = scenario(manifest, wait=False)
    other = scenario(rm.cluster("other", [rm.gpu_group()], tlsOptions={"enabled": True}))
    one.wait_head()

    def server(cluster):
        host, _, own = cluster.address().rpartition(":")
        return host, int(own)

    with HoldingRelay(port, server(one)) as relay, one.program() as program:
        control = controller(namespace)
        program.actors(1, num_gpus=1)
        (worker,) = program.ready("actors", seconds=150)
        relay.redirect(server(other))
        control.wait_for("the server's certificate is refused", seconds=30)
        program.end()
        hold(lambda: one.workers() == [worker], 8, "an idle worker to stay")
        relay.redirect(server(one))
        one.wait_empty()


@pytest.mark.parametrize("mode", MODES)
def test_delegated_tokens(mode, scenario, namespace, api_server, kubectl, read_by):
    """Ray asks the real API server by TokenReview and SubjectAccessReview who calls."""
    reviewer(api_server, namespace, "delegated")
    let_us_in(kubectl, namespace, *KINDS)
    one = scenario(delegated("delegated", **options_of(mode)))
    read_by(mode)
    up_and_down(one)


def test_delegated_tokens_without_the_account(scenario, namespace, api_server, kubectl, controller):
    """The message says what to create; then Ray is read, without a restart."""
    reviewer(api_server, namespace, "delegated")
    one = scenario(delegated("delegated"))
    control = controller(namespace)
    control.wait_for("create ServiceAccount rayscaler-gcs", seconds=30)
    let_us_in(kubectl, namespace, "serviceaccount")
    control.wait_for("it needs verb ray:write on rayclusters", seconds=30)
    let_us_in(kubectl, namespace, "role", "rolebinding")
    up_and_down(one)
