/* cli/shared/controller_client: the way through the Service of the controller, and its tokens. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"
#include "test/support/pki.h"

#define SERVICES "/api/v1/namespaces/rayscaler-system/services/"
#define SECURE SERVICES "https%3Arayscaler%3Ametrics/proxy"
#define PLAIN SERVICES "http%3Arayscaler%3Ametrics/proxy"
#define TOKEN_PATH                                                                                 \
	"POST /api/v1/namespaces/rayscaler-system/serviceaccounts/rayscaler-status-reader/token"
#define TOKEN(text)                                                                                \
	{                                                                                          \
		TOKEN_PATH, 201, "{'status':{'token':'" text "'}}"                                 \
	}
#define NO_TOKEN                                                                                   \
	{                                                                                          \
		TOKEN_PATH, 403, "{'kind':'Status','reason':'Forbidden','message':'no right'}"     \
	}
#define ANSWERS(base)                                                                              \
	{ "GET " base "/status/ray/demo", 0, cluster_status },                                     \
	{                                                                                          \
		"GET " base "/status", 0, "{'version':'0.1.0','leader':true}"                      \
	}
#define NO_PODS                                                                                    \
	{                                                                                          \
		"GET /api/v1/namespaces/ray/pods", 403, "{'kind':'Status','reason':'Forbidden'}"   \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, 0, NULL                                                                      \
	}

static void expect_status(const char *where)
{
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, where);
	EXPECT(result.output, "ScaleUpDemand");
	cli_server_stop();
}

/* A powerful user's token is not sent: that of the reader is requested. No Pod and no Lease is read. */
static void test_the_token_of_the_reader(void **state)
{
	static const struct route routes[] = { NO_PODS, OBJECTS, TOKEN("reader"), ANSWERS(SECURE),
					       END };

	(void)state;
	cli_server_start_with(routes, &(struct cli_server){ .token = "reader" });
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(server_count(cli_server.http, "/leases/"), 0);
	assert_int_equal(server_count(cli_server.http, "rayscaler-system/pods"), 0);
	assert_int_equal(server_count(cli_server.http, "/token"), 1);
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
	EXPECT(result.output, "ScaleUpDemand");
	cli_server_stop();
}

static void test_the_own_token(void **state)
{
	static const struct route routes[] = { OBJECTS, NO_TOKEN, ANSWERS(SECURE), END };

	(void)state;
	cli_server_start_with(routes, &(struct cli_server){ .token = "t" });
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
}

/* A user with a client certificate has no token to send. */
static void test_no_token(void **state)
{
	static const struct route without[] = { OBJECTS, NO_TOKEN, ANSWERS(SECURE), END };
	static const struct route with[] = { OBJECTS, TOKEN("reader"), ANSWERS(SECURE), END };
	struct pki_identity user = pki_new("user", NULL, NULL);
	char text[64] = "client-certificate: user.crt, client-key: user.key";

	(void)state;
	cli_server_start_with(without, &(struct cli_server){ .token = "t", .user = text });
	temp_write(cli_server.directory, "user.crt", user.certificate_pem);
	temp_write(cli_server.directory, "user.key", user.key_pem);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "has no bearer token, and none could be requested");
	EXPECT(result.output, "resourceNames: [\"rayscaler-status-reader\"]");
	EXPECT(result.output, "from the API objects");
	cli_server_stop();
	cli_server_start_with(with, &(struct cli_server){ .token = "reader", .user = text });
	temp_write(cli_server.directory, "user.crt", user.certificate_pem);
	temp_write(cli_server.directory, "user.key", user.key_pem);
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
	pki_done(&user);
}

/* Any replica answers: again until the leader does, for the list and for the page of a cluster. */
static void test_replicas_behind_the_service(void **state)
{
	static const struct route routes[] = { OBJECTS, TOKEN("reader"), ANSWERS(SECURE), END };

	(void)state;
	cli_server_start_with(routes, &(struct cli_server){ .token = "reader", .standbys = 12 });
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
	/* The first 16 are used up by the list, 4 by the page. */
	cli_server_start_with(routes, &(struct cli_server){ .token = "reader", .standbys = 20 });
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.0.9\n");
	cli_server_start_with(routes, &(struct cli_server){ .token = "reader", .standbys = 100 });
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "421: this replica does not lead");
	assert_int_equal(server_count(cli_server.http, "/proxy/status/ray/demo"), 16);
	cli_server_stop();
}

/* An insecure or older controller gets no token. */
static void test_without_tls(void **state)
{
	static const struct route tls_fails[] = {
		OBJECTS,
		{ "GET " SECURE, 503,
		  "{'kind':'Status','message':'error trying to reach service'}" },
		ANSWERS(PLAIN),
		END,
	};
	static const struct route refused[] = {
		OBJECTS,
		{ "GET " SECURE, 403, "{'kind':'Status','reason':'Forbidden'}" },
		ANSWERS(PLAIN),
		END,
	};

	(void)state;
	cli_server_start(tls_fails);
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
	cli_server_start(refused);
	expect_status("controller: Service rayscaler-system/rayscaler, version 0.1.0\n");
}

static void test_another_service(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		{ "POST /api/v1/namespaces/own/serviceaccounts/mine-status-reader/token", 201,
		  "{'status':{'token':'reader'}}" },
		ANSWERS("/api/v1/namespaces/own/services/https%3Amine%3Ametrics/proxy"),
		END,
	};

	(void)state;
	cli_server_start_with(routes, &(struct cli_server){ .token = "reader" });
	CLI_RUN(&result, cli_status, "status", "--controller-namespace", "own",
		"--controller-service", "mine");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "controller: Service own/mine, version 0.1.0\n");
	cli_server_stop();
}

/* The Service cannot be used: the Pod, without TLS and then with it. */
static void test_the_pod_in_its_place(void **state)
{
	static const struct route plain[] = {
		OBJECTS,        LEASE,
		LEADER,         { "GET " SERVICES, 403, "{'kind':'Status','reason':'Forbidden'}" },
		ANSWERS(PROXY), END,
	};
	static const struct route secure[] = {
		OBJECTS,
		LEASE,
		LEADER,
		TOKEN("reader"),
		{ "GET " PROXY, 503,
		  "{'kind':'Status','message':'error trying to reach service'}" },
		ANSWERS("/api/v1/namespaces/rayscaler-system/pods/https%3Arayscaler-0%3A9090/proxy"),
		END,
	};
	static const struct route neither[] = {
		OBJECTS,
		LEASE,
		LEADER,
		{ "GET /api/v1/namespaces/rayscaler-system/", 403,
		  "{'kind':'Status','reason':'Forbidden'}" },
		END,
	};

	(void)state;
	cli_server_start(plain);
	expect_status("controller: Pod rayscaler-system/rayscaler-0, version 0.1.0\n");
	cli_server_start(secure);
	expect_status("controller: Pod rayscaler-system/rayscaler-0, version 0.1.0\n");
	cli_server_start(neither);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "resources: [\"services/proxy\"]");
	cli_server_stop();
}

static void test_the_file_of_the_ca(void **state)
{
	static const struct route routes[] = { OBJECTS, TOKEN("reader"), END };

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--controller-url", "https://127.0.0.1:1",
		"--controller-ca", "/does/not/exist");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "--controller-ca: cannot open /does/not/exist");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_token_of_the_reader),
		cmocka_unit_test(test_the_own_token),
		cmocka_unit_test(test_no_token),
		cmocka_unit_test(test_replicas_behind_the_service),
		cmocka_unit_test(test_without_tls),
		cmocka_unit_test(test_another_service),
		cmocka_unit_test(test_the_pod_in_its_place),
		cmocka_unit_test(test_the_file_of_the_ca),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
