/* ctl/pass/credentials against a scripted API server with Secrets and TokenRequests. */
#include "ctl/pass/credentials.h"

#include "codec/text/base64.h"
#include "ctl/shared/options.h"
#include "net/h2_tls.h"
#include "test/support/kube_script.h"
#include "test/support/tls_material.h"

#define SECRETS_MAX 4

static struct kube_script script;
static struct options options;
static struct control control;
static struct credentials *credentials;
static struct credentials_view view;
static const char *problem;
static struct tls_identity ca, other_ca, client_id, other_id;

struct secret {
	const char *name;
	const char *keys[3], *values[3];
};

static struct {
	struct secret secrets[SECRETS_MAX];
	const char *expires; /* of delegated tokens */
	bool no_account;
	const char *denied; /* the message of a 403 for each Secret; NULL: they may be read */
	_Atomic unsigned gets, tokens;
	char asked[500]; /* the last body */
} api;

/* ---- the API server ---- */

static void answer_secret(struct exchange *exchange, const struct secret *secret)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *data = "";

	for (size_t i = 0; i < SUPPORT_COUNT(secret->keys) && secret->keys[i]; i++)
		data = arena_printf(
			&arena, "%s%s\"%s\": \"%s\"", data, i ? ", " : "", secret->keys[i],
			base64_encode(secret->values[i], strlen(secret->values[i]), &arena));
	exchange_answer(exchange, 200, "",
			arena_printf(&arena, "{\"kind\": \"Secret\", \"data\": {%s}}", data));
}

static void answer(struct exchange *exchange, void *context)
{
	static const char secrets[] = "/api/v1/namespaces/a/secrets/";
	static const char account[] = "/api/v1/namespaces/a/serviceaccounts/rayscaler-gcs/token";
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)context;
	if (strcmp(exchange->method, "POST") == 0 && strcmp(exchange->path, account) == 0 &&
	    !api.no_account) {
		(void)snprintf(api.asked, sizeof(api.asked), "%s", exchange->body);
		exchange_answer(exchange, 201, "",
				arena_printf(&arena,
					     "{\"status\": {\"token\": \"delegated-%u\","
					     " \"expirationTimestamp\": \"%s\"}}",
					     ++api.tokens, api.expires));
		return;
	}
	if (api.denied) {
		exchange_answer(exchange, 403, "",
				arena_printf(&arena,
					     "{\"kind\": \"Status\", \"reason\": \"Forbidden\","
					     " \"message\": \"%s\"}",
					     api.denied));
		return;
	}
	for (size_t i = 0; i < SECRETS_MAX && api.secrets[i].name; i++)
		if (strncmp(exchange->path, secrets, sizeof(secrets) - 1) == 0 &&
		    strcmp(exchange->path + sizeof(secrets) - 1, api.secrets[i].name) == 0) {
			api.gets++;
			answer_secret(exchange, &api.secrets[i]);
			return;
		}
	exchange_answer(
		exchange, 404, "",
		"{\"kind\": \"Status\", \"reason\": \"NotFound\", \"message\": \"not found\"}");
}

static int setup(void **state)
{
	(void)state;
	memset(&api, 0, sizeof(api));
	api.expires = "2999-01-01T00:00:00Z";
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	credentials = credentials_new(&control, "a", "a/demo");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	credentials_free(credentials);
	script_done(&script);
	options_done(&options);
	return 0;
}

/* ---- the cluster ---- */

static struct ray_cluster cluster_of(void)
{
	return (struct ray_cluster){
		.namespace_ = "a", .name = "demo", .auth_mode = "", .auth_secret_name = ""
	};
}

static struct ray_auth auth_of(void)
{
	static const struct secret_key none = { "", "" };

	return (struct ray_auth){ .mode = "",
				  .plain_token = "",
				  .token = none,
				  .certificate = none,
				  .private_key = none,
				  .ca = none };
}

struct head {
	const struct ray_cluster *cluster;
	const struct pod *pod; /* NULL: not known */
};

static int get(const struct head *head)
{
	return credentials_get(credentials, head->cluster, head->pod, &view, &problem);
}

static bool is_complete(void *context)
{
	return get(context) == 0;
}

static void expect_complete(const struct head *head)
{
	struct head copy = *head;

	if (!loop_wait_until(script.loop, is_complete, &copy, WAIT_MS))
		fail_msg("%s", problem);
}

static bool has_problem(void *context)
{
	const char *const *wanted = context;

	return get((const struct head *)wanted[1]) < 0 && strstr(problem, wanted[0]);
}

static void expect_problem(const struct head *head, const char *text)
{
	const void *wanted[] = { text, head };

	if (!loop_wait_until(script.loop, has_problem, wanted, WAIT_MS))
		fail_msg("%s, not: %s", problem, text);
}

static bool has_token(void *context)
{
	const void *const *wanted = context;

	return get(wanted[1]) == 0 && view.auth->token && !strcmp(view.auth->token, wanted[0]);
}

static void expect_token(const struct head *head, const char *token)
{
	const void *wanted[] = { token, head };

	if (!loop_wait_until(script.loop, has_token, wanted, WAIT_MS))
		fail_msg("%s, not: %s", view.auth->token ? view.auth->token : problem, token);
}

/* ---- tokens ---- */

static void test_without_authentication_nothing_is_read(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct pod pod = pod_empty;

	(void)state;
	assert_int_equal(get(&(struct head){ &cluster, &pod }), 0);
	assert_int_equal(get(&(struct head){ &cluster, NULL }), 0);
	assert_null(view.auth->token);
	assert_null(view.auth->tls);
	assert_int_equal(kube_client_pending(script.client), 0);
}

static void test_the_secret_of_the_cluster(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	api.secrets[0] = (struct secret){ "demo", { "auth_token" }, { " t1\n" } };
	api.secrets[1] = (struct secret){ "own", { "auth_token" }, { "t2" } };
	expect_token(&head, "t1");
	assert_non_null(strstr(view.token_source, "the Secret of spec.authOptions"));
	cluster.auth_secret_name = "own";
	assert_int_equal(get(&head), -1); /* the token of another Secret is never sent */
	expect_token(&head, "t2");
	cluster.auth_mode = "disabled";
	assert_int_equal(get(&head), 0);
	assert_null(view.auth->token);
}

static void test_a_denied_secret_names_the_binding(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	api.denied = "secrets \\\"demo\\\" is forbidden: User \\\"system:serviceaccount:system:"
		     "scaler\\\" cannot get resource \\\"secrets\\\"";
	expect_problem(&head, "verbs: [\"get\"]} by a Role in namespace a ");
	expect_problem(&head, ": kubectl create rolebinding rayscaler-secrets "
			      "--clusterrole=rayscaler-secrets --serviceaccount=system:scaler "
			      "--namespace=a, or the chart's value rbac.readSecrets.namespaces");
}

static void test_a_denied_user_without_a_name(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	api.denied = "no";
	expect_problem(&head, "--serviceaccount=NAMESPACE:NAME --namespace=a, or");
}

/* Without authOptions: what the head's own variables name. */
static void test_the_secret_of_the_head(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct ray_auth auth = auth_of();
	struct pod pod = pod_empty;
	struct head head = { &cluster, &pod };

	(void)state;
	pod.ray_auth = &auth;
	auth.token = (struct secret_key){ "by-hand", "k" };
	api.secrets[0] = (struct secret){ "by-hand", { "k" }, { "t1" } };
	expect_token(&head, "t1");
	auth.plain_token = "plain";
	auth.token = (struct secret_key){ "", "" };
	expect_token(&head, "plain");
	auth.mode = "disabled";
	assert_int_equal(get(&head), 0);
	assert_null(view.auth->token);
}

static bool was_read_again(void *context)
{
	(void)get(context);
	return api.gets >= 2;
}

static void test_a_refused_token_is_read_again(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	api.secrets[0] = (struct secret){ "demo", { "auth_token" }, { "t1" } };
	expect_token(&head, "t1");
	api.secrets[0].values[0] = "";
	credentials_refused(credentials);
	assert_true(loop_wait_until(script.loop, was_read_again, &head, WAIT_MS));
	expect_token(&head, "t1"); /* one that cannot be used replaces nothing */
	api.secrets[0].values[0] = "t2";
	credentials_refused(credentials);
	expect_token(&head, "t2");
}

static void test_a_secret_that_is_missing(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	expect_problem(&head, "get secrets a/demo");
	api.secrets[0] = (struct secret){ "demo", { "auth_token" }, { "late" } };
	expect_token(&head, "late");
}

/* ---- delegated tokens ---- */

static void test_a_delegated_token(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	cluster.auth_kubernetes_tokens = true;
	expect_token(&head, "delegated-1");
	assert_non_null(strstr(view.token_source, "ServiceAccount a/rayscaler-gcs"));
	assert_non_null(strstr(api.asked, "\"expirationSeconds\": 3600"));
	credentials_refused(credentials);
	expect_token(&head, "delegated-2");
}

/* It is asked for again before its end. */
static void test_a_delegated_token_that_ends(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	cluster.auth_kubernetes_tokens = true;
	api.expires = "2001-01-01T00:00:00Z";
	expect_token(&head, "delegated-1");
	expect_token(&head, "delegated-2");
}

static void test_the_account_is_missing(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.auth_mode = "token";
	cluster.auth_kubernetes_tokens = true;
	api.no_account = true;
	expect_problem(&head, "create ServiceAccount rayscaler-gcs in namespace a");
	assert_non_null(strstr(problem, "ray:write"));
}

/* ---- TLS ---- */

static struct secret tls_secret(const char *name, const struct tls_identity *identity)
{
	return (struct secret){ name,
				{ "tls.crt", "tls.key", "ca.crt" },
				{ identity->cert_pem, identity->key_pem, ca.cert_pem } };
}

static void test_the_secret_of_cert_manager(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct ray_auth auth = auth_of();
	struct pod pod = pod_empty;
	struct head head = { &cluster, &pod };
	struct h2_tls *first;

	(void)state;
	cluster.tls_enabled = auth.tls = true;
	pod.ray_auth = &auth;
	expect_problem(&head, "get secrets a/ray-worker-secret-demo");
	assert_non_null(strstr(problem, "cert-manager"));
	api.secrets[0] = tls_secret("ray-worker-secret-demo", &client_id);
	expect_complete(&head);
	assert_int_equal(api.gets, 1); /* three keys */
	assert_non_null(strstr(view.tls_source, "cert-manager"));
	first = h2_tls_reference(view.auth->tls);
	credentials_refused(credentials);
	assert_true(loop_wait_until(script.loop, was_read_again, &head, WAIT_MS));
	expect_complete(&head);
	assert_ptr_equal(view.auth->tls, first); /* the connection stays */
	h2_tls_release(first);
}

static bool has_renewed(void *context)
{
	return get(context) == 0 &&
	       h2_tls_matches(view.auth->tls, other_id.cert_pem, other_id.key_pem, ca.cert_pem);
}

/* One that does not fit is refused with its name, and replaces nothing. */
static void test_a_renewed_certificate(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.tls_enabled = true;
	api.secrets[0] = tls_secret("ray-worker-secret-demo", &client_id);
	api.secrets[0].values[1] = other_id.key_pem;
	expect_problem(&head, "Secret a/ray-worker-secret-demo: the private key");
	assert_null(strstr(problem, "BEGIN"));
	api.secrets[0].values[1] = client_id.key_pem;
	expect_complete(&head);
	api.secrets[0] = tls_secret("ray-worker-secret-demo", &other_id);
	credentials_refused(credentials);
	assert_true(loop_wait_until(script.loop, has_renewed, &head, WAIT_MS));
}

static bool has_new_ca(void *context)
{
	return get(context) == 0 && h2_tls_matches(view.auth->tls, other_id.cert_pem,
						   other_id.key_pem, other_ca.cert_pem);
}

/* A cluster of the same name was deleted: until cert-manager has written the Secret again it has the
 * certificates of the old one, and both sides refuse each other. */
static void test_the_secret_of_a_deleted_cluster(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct head head = { &cluster, NULL };

	(void)state;
	cluster.tls_enabled = true;
	api.secrets[0] = tls_secret("ray-worker-secret-demo", &client_id);
	expect_complete(&head);
	credentials_refused(credentials);
	assert_true(loop_wait_until(script.loop, was_read_again, &head, WAIT_MS));
	api.secrets[0] = tls_secret("ray-worker-secret-demo", &other_id);
	api.secrets[0].values[2] = other_ca.cert_pem;
	credentials_refused(credentials);
	assert_true(loop_wait_until(script.loop, has_new_ca, &head, WAIT_MS));
}

static void test_certificates_by_hand(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct ray_auth auth = auth_of();
	struct pod pod = pod_empty;
	struct head head = { &cluster, &pod };

	(void)state;
	auth.tls = true;
	pod.ray_auth = &auth;
	auth.ca = (struct secret_key){ "root", "c" };
	expect_problem(&head, "RAY_TLS_SERVER_CERT is in no Secret");
	auth.certificate = (struct secret_key){ "leaf", "tls.crt" };
	auth.private_key = (struct secret_key){ "leaf", "tls.key" };
	api.secrets[0] = tls_secret("leaf", &client_id);
	api.secrets[1] = (struct secret){ "root", { "c" }, { ca.cert_pem } };
	expect_complete(&head);
	assert_true(
		h2_tls_matches(view.auth->tls, client_id.cert_pem, client_id.key_pem, ca.cert_pem));
}

/* A head that was started before tlsOptions speaks plain text. */
static void test_the_head_counts(void **state)
{
	struct ray_cluster cluster = cluster_of();
	struct pod pod = pod_empty;

	(void)state;
	cluster.tls_enabled = true;
	assert_int_equal(get(&(struct head){ &cluster, &pod }), 0);
	assert_null(view.auth->tls);
}

static int make_material(void **state)
{
	(void)state;
	ca = tls_identity_new("ca", NULL, NULL);
	other_ca = tls_identity_new("ca", NULL, NULL);
	client_id = tls_identity_new("client", NULL, &ca);
	other_id = tls_identity_new("client", NULL, &ca);
	return 0;
}

static int free_material(void **state)
{
	(void)state;
	tls_identity_done(&ca);
	tls_identity_done(&other_ca);
	tls_identity_done(&client_id);
	tls_identity_done(&other_id);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_authentication_nothing_is_read),
		TEST(test_the_secret_of_the_cluster),
		TEST(test_a_denied_secret_names_the_binding),
		TEST(test_a_denied_user_without_a_name),
		TEST(test_the_secret_of_the_head),
		TEST(test_a_refused_token_is_read_again),
		TEST(test_a_secret_that_is_missing),
		TEST(test_a_delegated_token),
		TEST(test_a_delegated_token_that_ends),
		TEST(test_the_account_is_missing),
		TEST(test_the_secret_of_cert_manager),
		TEST(test_a_renewed_certificate),
		TEST(test_the_secret_of_a_deleted_cluster),
		TEST(test_certificates_by_hand),
		TEST(test_the_head_counts),
	};

	return cmocka_run_group_tests(tests, make_material, free_material);
}
