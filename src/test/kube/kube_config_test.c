/* kube/kube_config: values from files and environment, refused values and the error texts. */
#include "kube/kube_config.h"

#include "test/support/support.h"
#include "test/support/temp_files.h"

#define PEM_TEXT "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
/* base64 of PEM_TEXT */
#define PEM_DATA "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVSkQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

static const char *const environment[] = { "KUBERNETES_SERVICE_HOST",
					   "KUBERNETES_SERVICE_PORT_HTTPS",
					   "KUBERNETES_SERVICE_PORT", "KUBECONFIG", "HOME" };

static int setup(void **state)
{
	for (size_t i = 0; i < SUPPORT_COUNT(environment); i++)
		unsetenv(environment[i]);
	*state = temp_directory();
	return 0;
}

static int teardown(void **state)
{
	temp_done(*state);
	return 0;
}

static struct kube_config *load(const char *directory, const char *text, const char *context,
				struct err *err)
{
	char *path = temp_path(directory, "config");
	struct kube_config_options options = { .kubeconfig = path, .context = context };
	struct kube_config *config;

	if (text)
		temp_write(directory, "config", text);
	config = kube_config_load(&options, err);
	memory_free(path);
	return config;
}

/* A kubeconfig with one cluster, user and context, their bodies in flow style. */
static const char *simple(const char *cluster, const char *user)
{
	static char text[8192];

	(void)snprintf(text, sizeof(text),
		       "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
		       "clusters: [{name: c, cluster: {%s}}]\n"
		       "users: [{name: alice, user: {%s}}]\n"
		       "contexts: [{name: dev, context: {cluster: c, user: alice}}]\n",
		       cluster, user);
	return text;
}

static void expect_refused(const char *directory, const char *text, const char *const *words)
{
	struct err err = { .kind = ERR_NONE };

	assert_null(load(directory, text, NULL, &err));
	assert_int_equal(err.kind, ERR_FATAL);
	for (; *words; words++) {
		if (!strstr(err.text, *words))
			fail_msg("\"%s\" is not in \"%s\"", *words, err.text);
	}
}

#define EXPECT_REFUSED(text, ...)                                                                  \
	expect_refused(*state, (text), (const char *const[]){ __VA_ARGS__, NULL })

/* ---- kubeconfig ---- */

static void test_inline_everything(void **state)
{
	struct err err;
	struct kube_config *config =
		load(*state,
		     simple("server: 'https://10.0.0.1:6443/', tls-server-name: kube.test, "
			    "certificate-authority-data: " PEM_DATA,
			    "token: ' abc ', client-certificate-data: " PEM_DATA
			    ", client-key-data: " PEM_DATA),
		     NULL, &err);
	const struct kube_credentials *credentials;

	if (!config)
		fail_msg("%s", err.text);
	assert_string_equal(kube_config_server(config), "https://10.0.0.1:6443");
	assert_string_equal(kube_config_namespace(config), "default");
	assert_non_null(strstr(kube_config_source(config), "/config, context dev"));
	assert_false(kube_config_plain(config));
	credentials = kube_config_credentials(config, 0);
	assert_string_equal(credentials->token, "abc");
	assert_string_equal(credentials->tls.ca_pem, PEM_TEXT);
	assert_string_equal(credentials->tls.certificate_pem, PEM_TEXT);
	assert_string_equal(credentials->tls.key_pem, PEM_TEXT);
	assert_string_equal(credentials->tls.server_name, "kube.test");
	assert_false(credentials->tls.insecure);
	kube_config_free(config);
}

/* Relative names are relative to the kubeconfig; *-data wins over the file, tokenFile over token. */
static void test_files(void **state)
{
	struct err err;
	struct kube_config *config;
	const struct kube_credentials *credentials;

	temp_write(*state, "ca.pem", PEM_TEXT);
	temp_write(*state, "token", "from-file\n");
	config = load(*state,
		      simple("server: https://h:1, certificate-authority: ca.pem",
			     "token: inline, tokenFile: token, client-certificate: missing, "
			     "client-certificate-data: " PEM_DATA ", client-key: ca.pem"),
		      NULL, &err);
	if (!config)
		fail_msg("%s", err.text);
	credentials = kube_config_credentials(config, 0);
	assert_string_equal(credentials->token, "from-file");
	assert_string_equal(credentials->tls.ca_pem, PEM_TEXT);
	assert_string_equal(credentials->tls.key_pem, PEM_TEXT);
	kube_config_free(config);
}

static void test_context_is_chosen(void **state)
{
	static const char text[] =
		"current-context: a\n"
		"clusters:\n- {name: c1, cluster: {server: https://one}}\n"
		"- {name: c2, cluster: {server: https://two, insecure-skip-tls-verify: true}}\n"
		"users:\n- {name: u, user: {token: t}}\n"
		"contexts:\n- {name: a, context: {cluster: c1, user: u}}\n"
		"- {name: b, context: {cluster: c2, user: '', namespace: team}}\n";
	struct err err;
	struct kube_config *config = load(*state, text, "b", &err);

	if (!config)
		fail_msg("%s", err.text);
	assert_string_equal(kube_config_server(config), "https://two");
	assert_string_equal(kube_config_namespace(config), "team");
	assert_null(kube_config_credentials(config, 0)->token);
	assert_true(kube_config_credentials(config, 0)->tls.insecure);
	kube_config_free(config);
	assert_null(load(*state, text, "c", &err));
	assert_non_null(strstr(err.text, "contexts: has no entry with the name \"c\""));
}

static void test_plain_only_to_this_machine(void **state)
{
	static const char *const good[] = { "http://127.0.0.1:8001", "http://localhost:8001",
					    "http://[::1]:8001/", "http://127.1.2.3" };
	static const char *const bad[] = { "http://10.0.0.1:8001", "http://localhost.evil.test",
					   "http://kubernetes" };
	struct err err;
	char cluster[128];

	for (size_t i = 0; i < SUPPORT_COUNT(good); i++) {
		struct kube_config *config;

		(void)snprintf(cluster, sizeof(cluster), "server: '%s'", good[i]);
		config = load(*state, simple(cluster, ""), NULL, &err);
		assert_non_null(config);
		assert_true(kube_config_plain(config));
		kube_config_free(config);
	}
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		(void)snprintf(cluster, sizeof(cluster), "server: '%s'", bad[i]);
		EXPECT_REFUSED(simple(cluster, ""), bad[i], "use https://");
	}
}

static void test_refused_users(void **state)
{
	static const char cluster[] = "server: https://h";

	EXPECT_REFUSED(simple(cluster, "auth-provider: {name: gcp}"), "user.auth-provider",
		       "kubectl create token");
	EXPECT_REFUSED(simple(cluster, "username: a, password: b"), "user.username");
	EXPECT_REFUSED(simple(cluster, "password: b"), "user.password");
	EXPECT_REFUSED(simple(cluster, "token: t, as: admin"), "user.as", "impersonation");
	EXPECT_REFUSED(simple(cluster, "client-certificate-data: " PEM_DATA),
		       "only one of client-certificate and client-key");
	EXPECT_REFUSED(simple(cluster, "token: 12"), "users[0].user.token", "must be a string");
	EXPECT_REFUSED(simple(cluster, "client-certificate-data: '%%%', client-key-data: QQ=="),
		       "client-certificate-data", "base64");
	EXPECT_REFUSED(simple(cluster, "client-certificate-data: QUJD, client-key-data: QUJD"),
		       "client-certificate", "PEM");
}

static void test_refused_clusters(void **state)
{
	EXPECT_REFUSED(simple("", ""), "clusters[0].cluster", "has no server");
	EXPECT_REFUSED(simple("server: 'kube:6443'", ""), "must begin with https://");
	EXPECT_REFUSED(simple("server: 'https://'", ""), "must be an address like");
	EXPECT_REFUSED(simple("server: 'https://u:p@h'", ""), "must be an address like");
	EXPECT_REFUSED(simple("server: https://h, proxy-url: http://p", ""), "proxy-url",
		       "not supported");
	EXPECT_REFUSED(simple("server: https://h, insecure-skip-tls-verify: true, "
			      "certificate-authority-data: " PEM_DATA,
			      ""),
		       "both insecure-skip-tls-verify");
	EXPECT_REFUSED(simple("server: https://h, insecure-skip-tls-verify: 'yes'", ""),
		       "insecure-skip-tls-verify", "must be a boolean");
	EXPECT_REFUSED(simple("server: https://h, certificate-authority: nowhere.pem", ""),
		       "nowhere.pem", "No such file");
}

static void test_refused_files(void **state)
{
	char *large = memory_alloc(2 << 20);

	memset(large, ' ', (2 << 20) - 1);
	EXPECT_REFUSED("{", "/config");
	EXPECT_REFUSED("", "/config");
	EXPECT_REFUSED("[]", "must be an object");
	EXPECT_REFUSED("clusters: []", "there are no contexts", "--kubeconfig");
	EXPECT_REFUSED("contexts: [{name: a}]", "no current-context", "the contexts are a");
	EXPECT_REFUSED("current-context: demp\ncontexts: [{name: a}, {name: demo}]",
		       "has no entry with the name \"demp\"; did you mean demo?",
		       "the contexts are a, demo");
	EXPECT_REFUSED("current-context: x\ncontexts: []", "has no entry", "the contexts are none");
	EXPECT_REFUSED("current-context: x\ncontexts: 3", "contexts", "must be an array");
	EXPECT_REFUSED("current-context: x\ncontexts: [3]", "contexts[0]", "must be an object");
	EXPECT_REFUSED(large, "/config", "too large");
	memory_free(large);
}

/* ---- in-cluster ---- */

static struct kube_config *load_in_cluster(const char *directory, struct err *err)
{
	struct kube_config_options options = { .service_account_dir = directory };

	return kube_config_load(&options, err);
}

static void test_in_cluster(void **state)
{
	struct err err;
	struct kube_config *config;

	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
	temp_write(*state, "token", "t1");
	temp_write(*state, "ca.crt", PEM_TEXT);
	temp_write(*state, "namespace", "team\n");
	config = load_in_cluster(*state, &err);
	if (!config)
		fail_msg("%s", err.text);
	assert_string_equal(kube_config_server(config), "https://[fd00::1]:6443");
	assert_string_equal(kube_config_namespace(config), "team");
	assert_string_equal(kube_config_source(config), "in-cluster");
	assert_string_equal(kube_config_credentials(config, 0)->token, "t1");
	kube_config_free(config);
	temp_remove(*state, "ca.crt");
	assert_null(load_in_cluster(*state, &err));
	assert_non_null(strstr(err.text, "ca.crt"));
}

/* A named kubeconfig wins; in-cluster needs both the variable and the token; else $KUBECONFIG. */
static void test_order(void **state)
{
	char *path = temp_path(*state, "other");
	struct kube_config *config;
	struct err err;

	temp_write(*state, "token", "t1");
	temp_write(*state, "ca.crt", PEM_TEXT);
	assert_null(load_in_cluster(*state, &err));
	assert_non_null(strstr(err.text, "no API server is configured"));
	temp_write(*state, "other", simple("server: https://from-env", ""));
	setenv("KUBECONFIG", path, 1);
	config = load_in_cluster(*state, &err);
	assert_non_null(config);
	assert_string_equal(kube_config_server(config), "https://from-env");
	kube_config_free(config);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	config = load_in_cluster(*state, &err);
	assert_non_null(config);
	assert_string_equal(kube_config_server(config), "https://10.0.0.1:443");
	kube_config_free(config);
	config = load(*state, simple("server: https://named", ""), NULL, &err);
	assert_non_null(config);
	assert_string_equal(kube_config_server(config), "https://named");
	kube_config_free(config);
	unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("KUBECONFIG", "/a:/b", 1);
	assert_null(load_in_cluster(*state, &err));
	assert_non_null(strstr(err.text, "several files"));
	memory_free(path);
}

/* ---- rotation ---- */

static void test_rotation(void **state)
{
	struct err err;
	struct kube_config *config;
	uint64_t version;

	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	temp_write(*state, "token", "t1");
	temp_write(*state, "ca.crt", PEM_TEXT);
	config = load_in_cluster(*state, &err);
	assert_non_null(config);
	version = kube_config_credentials(config, 1000)->version;
	temp_write(*state, "token", "t2");
	assert_string_equal(kube_config_credentials(config, 1999)->token, "t1"); /* not yet */
	assert_string_equal(kube_config_credentials(config, 2000)->token, "t2");
	assert_int_not_equal(kube_config_credentials(config, 2000)->version, version);
	version = kube_config_credentials(config, 2000)->version;

	/* the same bytes in a new file are no change */
	temp_write(*state, "token", "t2");
	assert_int_equal(kube_config_credentials(config, 3000)->version, version);

	/* missing for a moment: the last content is kept and the problem is reported */
	temp_remove(*state, "token");
	assert_string_equal(kube_config_credentials(config, 4000)->token, "t2");
	assert_non_null(strstr(kube_config_problem(config), "/token"));
	temp_write(*state, "token", "t3");
	assert_string_equal(kube_config_credentials(config, 5000)->token, "t3");
	assert_string_equal(kube_config_problem(config), "");

	/* a 401 reads at once */
	temp_write(*state, "token", "t4");
	assert_string_equal(kube_config_credentials(config, 5001)->token, "t3");
	kube_config_refused(config);
	assert_string_equal(kube_config_credentials(config, 5001)->token, "t4");
	kube_config_free(config);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_inline_everything),
		TEST(test_files),
		TEST(test_context_is_chosen),
		TEST(test_plain_only_to_this_machine),
		TEST(test_refused_users),
		TEST(test_refused_clusters),
		TEST(test_refused_files),
		TEST(test_in_cluster),
		TEST(test_order),
		TEST(test_rotation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
