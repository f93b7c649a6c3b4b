/* Where the credentials of a head Pod come from. */
#include "codec/objects/pod_json.h"
#include "test/support/codec_support.h"

#define POD_OF(type, spec)                                                                         \
	"metadata: {name: h, namespace: a, labels: {ray.io/node-type: " type "}}\nspec:\n" spec
#define HEAD(container, volumes)                                                                   \
	POD_OF("head", "  containers:\n  - name: ray-head\n" container "  - name: other\n"         \
		       "    env: [{name: RAY_USE_TLS, value: '1'}]\n" volumes)
#define FILES                                                                                      \
	"    - {name: RAY_USE_TLS, value: '1'}\n"                                                  \
	"    - {name: RAY_TLS_SERVER_CERT, value: /etc/ray/tls/tls.crt}\n"                         \
	"    - {name: RAY_TLS_SERVER_KEY, value: /etc/ray/tls/private/key.pem}\n"                  \
	"    - {name: RAY_TLS_CA_CERT, value: /etc/ca/tls/ca.crt}\n"

static struct arena arena;

static int free_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static const struct ray_auth *auth_of(const char *text)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct pod pod;
	struct err err;

	if (pod_decode(tree, "", &arena, &pod, &err) < 0)
		fail_msg("%s", err.text);
	return pod.ray_auth;
}

static void expect_key(const struct secret_key *key, const char *secret, const char *name)
{
	assert_string_equal(key->secret, secret);
	if (*secret)
		assert_string_equal(key->key, name);
}

static void test_nothing_is_set(void **state)
{
	(void)state;
	assert_null(auth_of("metadata: {name: h}"));
	assert_null(auth_of(HEAD("    env: [{name: A, value: b}]\n", "")));
	assert_null(auth_of(
		POD_OF("worker",
		       "  containers: [{name: w, env: [{name: RAY_AUTH_MODE, value: token}]}]\n")));
}

static void test_variables(void **state)
{
	const struct ray_auth *auth;

	(void)state;
	auth = auth_of(
		HEAD("    env:\n    - {name: RAY_AUTH_MODE, value: token}\n"
		     "    - {name: RAY_AUTH_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}\n",
		     ""));
	assert_string_equal(auth->mode, "token");
	expect_key(&auth->token, "s", "k");
	assert_false(auth->tls || auth->kubernetes_tokens);
	auth = auth_of(HEAD("    env:\n    - {name: RAY_AUTH_TOKEN, value: plain}\n"
			    "    - {name: RAY_ENABLE_K8S_TOKEN_AUTH, value: 'True'}\n",
			    ""));
	assert_string_equal(auth->plain_token, "plain");
	assert_true(auth->kubernetes_tokens);
	expect_key(&auth->token, "", "");
}

static void test_files(void **state)
{
	const struct ray_auth *auth;

	(void)state;
	auth = auth_of(HEAD(
		"    env:\n" FILES "    - {name: RAY_AUTH_TOKEN_PATH, value: /tokens/ray}\n"
		"    volumeMounts:\n    - {name: outer, mountPath: /etc}\n"
		"    - {name: ray-tls, mountPath: /etc/ray/tls/}\n"
		"    - {name: ca, mountPath: /etc/ca/tls}\n"
		"    - {name: token, mountPath: /tokens/ray, subPath: auth}\n",
		"  volumes:\n  - {name: outer, secret: {secretName: wrong}}\n"
		"  - {name: ray-tls, secret: {secretName: leaf, items: [{key: c, path: tls.crt},"
		" {key: p, path: private/key.pem}]}}\n"
		"  - {name: ca, projected: {sources: [{configMap: {name: x}}, {secret: {name: root}}]}}\n"
		"  - {name: token, secret: {secretName: tokens}}\n"));
	assert_true(auth->tls);
	expect_key(&auth->certificate, "leaf", "c");
	expect_key(&auth->private_key, "leaf", "p");
	expect_key(&auth->ca, "root", "ca.crt");
	expect_key(&auth->token, "tokens", "auth");
}

/* KubeRay's older sample makes the certificate on an emptyDir; /etc/ray is not below /etc/ra. */
static void test_files_in_no_secret(void **state)
{
	const struct ray_auth *auth;

	(void)state;
	auth = auth_of(HEAD("    env:\n" FILES
			    "    volumeMounts:\n    - {name: ray-tls, mountPath: /etc/ray/tls}\n"
			    "    - {name: ca, mountPath: /etc/ca/tls}\n"
			    "    - {name: near, mountPath: /etc/ra}\n",
			    "  volumes:\n  - {name: ray-tls, emptyDir: {}}\n"
			    "  - {name: near, secret: {secretName: near}}\n"
			    "  - {name: ca, secret: {secretName: root}}\n"));
	expect_key(&auth->certificate, "", "");
	expect_key(&auth->private_key, "", "");
	expect_key(&auth->ca, "root", "ca.crt");
}

static void test_the_usual_file(void **state)
{
	const struct ray_auth *auth;

	(void)state;
	auth = auth_of(HEAD("    volumeMounts: [{name: t, mountPath: /home/ray/.ray}]\n",
			    "  volumes: [{name: t, secret: {secretName: s}}]\n"));
	expect_key(&auth->token, "s", "auth_token");
	auth = auth_of(HEAD("    volumeMounts: [{name: t, mountPath: /home/ray/.ray/auth_token,"
			    " subPath: k}]\n",
			    "  volumes: [{name: t, secret: {secretName: s}}]\n"));
	expect_key(&auth->token, "s", "k");
}

/* A tenant writes any of this: it is not found, and the Pod stays readable. */
static void test_wrong_types(void **state)
{
	const struct ray_auth *auth;

	(void)state;
	auth = auth_of(HEAD("    env:\n" FILES
			    "    volumeMounts: [{name: ray-tls, mountPath: 7}, {}, 8]\n",
			    "  volumes: {a: b}\n"));
	assert_true(auth->tls);
	expect_key(&auth->certificate, "", "");
	auth = auth_of(HEAD(
		"    env: [{name: RAY_USE_TLS, value: '1'}, {name: RAY_TLS_CA_CERT, value: ca}]\n"
		"    volumeMounts: [{name: v}, {name: v, mountPath: ca}]\n",
		"  volumes: [{name: v, secret: {secretName: s}}]\n"));
	expect_key(&auth->ca, "", "");
	auth = auth_of(HEAD("    env:\n" FILES
			    "    volumeMounts: [{name: v, mountPath: /etc/ray}]\n",
			    "  volumes: [{name: v, secret: {secretName: s, items: 3}}]\n"));
	expect_key(&auth->certificate, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_set), cmocka_unit_test(test_variables),
		cmocka_unit_test(test_files),          cmocka_unit_test(test_files_in_no_secret),
		cmocka_unit_test(test_the_usual_file), cmocka_unit_test(test_wrong_types),
	};

	return cmocka_run_group_tests(tests, NULL, free_arena);
}
