/* Exec plugins of a kubeconfig: how they are run, and which answers are used or refused. */
#include "kube/kube_exec.h"

#include "test/support/exec_plugin.h"

#define PEM_TEXT "-----BEGIN CERTIFICATE-----\\nQUJD\\n-----END CERTIFICATE-----\\n"
/* base64 of it, with line ends */
#define PEM_DATA "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVSkQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

static int teardown(void **state)
{
	temp_done(*state);
	return 0;
}

static struct kube_config *load(const char *cluster, const char *user, struct err *err)
{
	char *path = temp_path(script.directory, "config");
	struct kube_config_options options = { .kubeconfig = path, .exec_deadline_ms = 10000 };
	struct kube_config *config;
	char text[4096];

	if (strstr(user, "hang"))
		options.exec_deadline_ms = 100;
	(void)snprintf(text, sizeof(text),
		       "current-context: x\nclusters: [{name: c, cluster: {%s}}]\n"
		       "users: [{name: alice, user: {%s}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: alice}}]\n",
		       cluster, user);
	temp_write(script.directory, "config", text);
	config = kube_config_load(&options, err);
	memory_free(path);
	return config;
}

/* ---- how it is run ---- */

static void expect_token(const char *user, const char *token)
{
	struct err err = { .text = "" };
	struct kube_config *config = load("server: https://h", user, &err);

	if (!config)
		fail_msg("%s", err.text);
	assert_string_equal(kube_config_credentials(config, 0)->token, token);
	kube_config_free(config);
}

static void test_arguments_and_environment(void **state)
{
	char *declared;

	(void)state;
	write_answer("\"token\": \"t1\"");
	write_plugin(
		"{ for a; do echo \"<$a>\"; done; echo \"$ONE $TWO\"; printenv | grep -c ^ONE=;"
		" echo \"$KUBERNETES_EXEC_INFO\"; } > told");
	setenv("ONE", "ours", 1);
	setenv("TWO", "inherited", 1);
	setenv("KUBERNETES_EXEC_INFO", "stale", 1);
	expect_token("exec: {apiVersion: " VERSION ", interactiveMode: IfAvailable, "
		     "command: ./plugin, args: [get-token, 'a b', ''], "
		     "env: [{name: ONE, value: first}, {name: ONE, value: theirs}]}",
		     "t1");
	unsetenv("ONE");
	unsetenv("TWO");
	unsetenv("KUBERNETES_EXEC_INFO");
	declared = read_text("told");
	assert_string_equal(declared,
			    "<get-token>\n<a b>\n<>\ntheirs inherited\n1\n"
			    "{\"apiVersion\": \"" VERSION "\", \"kind\": \"ExecCredential\", "
			    "\"spec\": {\"interactive\": false}}\n");
	memory_free(declared);
}

static void test_cluster_is_declared(void **state)
{
	static const char cluster[] =
		"server: 'https://h/', tls-server-name: n, "
		"certificate-authority-data: " PEM_DATA
		", extensions: [{name: other, extension: 1}, "
		"{name: client.authentication.k8s.io/exec, extension: {audience: x}}]";
	struct err err = { .text = "" };
	struct kube_config *config;
	char *declared;

	(void)state;
	write_plugin("echo \"$KUBERNETES_EXEC_INFO\" > told");
	temp_write(script.directory, "answer",
		   "{\"apiVersion\": \"client.authentication.k8s.io/v1beta1\", "
		   "\"kind\": \"ExecCredential\", \"status\": {\"token\": \"t1\"}}");
	config = load(cluster,
		      "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin, "
		      "args: null, env: null, provideClusterInfo: true}",
		      &err);
	assert_non_null(config);
	kube_config_free(config);
	declared = read_text("told");
	assert_non_null(
		strstr(declared, "\"apiVersion\": \"client.authentication.k8s.io/v1beta1\""));
	assert_non_null(strstr(declared, "\"cluster\": {\"server\": \"https://h\", "
					 "\"tls-server-name\": \"n\", "
					 "\"certificate-authority-data\": \"" PEM_DATA "\", "
					 "\"config\": {\"audience\":"));
	memory_free(declared);
}

static void test_command_is_looked_up(void **state)
{
	char *path = memory_strdup(getenv("PATH")), *longer;
	size_t size = strlen(path) + strlen(script.directory) + 2;

	(void)state;
	longer = memory_alloc(size);
	(void)snprintf(longer, size, "%s:%s", path, script.directory);
	write_answer("\"token\": \"t1\"");
	write_plugin("");
	temp_write_program(script.directory, "rayscaler-test-plugin", "#!/bin/sh\necho '{'\n");
	setenv("PATH", longer, 1);
	expect_token("exec: {apiVersion: " VERSION ", interactiveMode: Never, command: plugin}",
		     "t1");
	setenv("PATH", path, 1);
	memory_free(path);
	memory_free(longer);
}

static void test_client_certificate(void **state)
{
	struct err err = { .text = "" };
	struct kube_config *config;
	const struct kube_credentials *credentials;

	(void)state;
	write_plugin("");
	write_answer("\"clientCertificateData\": \"" PEM_TEXT "\", \"clientKeyData\": \"" PEM_TEXT
		     "k\"");
	config = load("server: https://h", USER, &err);
	assert_non_null(config);
	credentials = kube_config_credentials(config, 0);
	assert_null(credentials->token);
	assert_non_null(strstr(credentials->tls.certificate_pem, "\nQUJD\n"));
	assert_non_null(strstr(credentials->tls.key_pem, "-----\nk"));
	kube_config_free(config);
}

/* ---- refused answers ---- */

static void expect_refused(const char *user, const char *const *words)
{
	struct err err = { .text = "" };
	struct kube_config *config = load("server: https://h", user, &err);

	assert_null(config);
	assert_int_equal(err.kind, ERR_FATAL);
	assert_null(strstr(err.text, "secret"));
	assert_non_null(strstr(err.text, "/config"));
	assert_non_null(strstr(err.text, "\"alice\""));
	for (; *words; words++) {
		if (!strstr(err.text, *words))
			fail_msg("\"%s\" is not in \"%s\"", *words, err.text);
	}
}

#define EXPECT_REFUSED(user, ...) expect_refused((user), (const char *const[]){ __VA_ARGS__, NULL })

static void test_refused_answers(void **state)
{
	(void)state;
	write_plugin("");
	temp_write(script.directory, "answer",
		   "{\"apiVersion\": \"client.authentication.k8s.io/v1beta1\", "
		   "\"kind\": \"ExecCredential\", \"status\": {\"token\": \"secret\"}}");
	EXPECT_REFUSED(USER, "/./plugin\"", "apiVersion", "must be " VERSION, "by hand");
	temp_write(script.directory, "answer", "secret");
	EXPECT_REFUSED(USER, "no usable ExecCredential", "line 1", "by hand");
	write_answer("\"token\": \"secret\", \"expirationTimestamp\": \"soon\"");
	EXPECT_REFUSED(USER, "status.expirationTimestamp");
	write_plugin("echo 'log in first' >&2; echo secret; exit 1");
	EXPECT_REFUSED(USER, "exit status 1", "standard error", "by hand");
	write_plugin("while :; do echo secretsecretsecretsecretsecret; done");
	EXPECT_REFUSED(USER, "more than 65536 bytes");
	temp_write_program(script.directory, "hang", "#!/bin/sh\necho secret\nexec sleep 1000\n");
	EXPECT_REFUSED("exec: {apiVersion: " VERSION ", interactiveMode: Never, command: ./hang}",
		       "did not end within 100 ms", "may wait for a login");
}

#define EXEC(body) "exec: {apiVersion: " VERSION ", " body "}"

static void test_refused_users(void **state)
{
	(void)state;
	EXPECT_REFUSED(EXEC("command: rayscaler-none, interactiveMode: Never, "
			    "installHint: \"Get it from\\nexample.org\""),
		       "\"rayscaler-none\" cannot be started", "fix: Get it from example.org");
	EXPECT_REFUSED(EXEC("command: ./none, interactiveMode: Never"), "/./none\"", "install it");
	EXPECT_REFUSED(EXEC("command: a, interactiveMode: Always"), "not a terminal",
		       "run it in a terminal");
	EXPECT_REFUSED(EXEC("command: a"), "user.exec.interactiveMode", "Never, IfAvailable");
	EXPECT_REFUSED(EXEC("command: a, interactiveMode: often"), "user.exec.interactiveMode");
	EXPECT_REFUSED(EXEC("interactiveMode: Never"), "user.exec", "has no command");
	EXPECT_REFUSED("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}",
		       "user.exec.apiVersion", "v1 or v1beta1", "again");
	EXPECT_REFUSED("token: secret, " EXEC("command: a, interactiveMode: Never"),
		       "exec and also a token");
	EXPECT_REFUSED("tokenFile: f, " EXEC("command: a, interactiveMode: Never"),
		       "exec and also a token");
}

static void test_refused_lists(void **state)
{
	static const char *const bad[][2] = {
		{ EXEC("command: a, interactiveMode: Never, args: [1]"), "user.exec.args[0]" },
		{ EXEC("command: a, interactiveMode: Never, env: [{value: x}]"),
		  "user.exec.env[0]" },
		{ EXEC("command: a, interactiveMode: Never, env: [{name: a=b}]"),
		  "user.exec.env[0]" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		struct err err = { .text = "" };

		assert_null(load("server: https://h", bad[i][0], &err));
		assert_non_null(strstr(err.text, bad[i][1]));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_arguments_and_environment),
		TEST(test_cluster_is_declared),
		TEST(test_command_is_looked_up),
		TEST(test_client_certificate),
		TEST(test_refused_answers),
		TEST(test_refused_users),
		TEST(test_refused_lists),
	};

	/* A terminal would be handed to the plugins. */
	if (!freopen("/dev/null", "r", stdin))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
