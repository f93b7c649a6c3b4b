/* status, explain, snapshot and request against a scripted API server: the requests with their
 * paths, the output, and the behaviour without a controller or without rights. */
#include <fcntl.h>

#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

/* ---- status ---- */

static void test_status(void **state)
{
	(void)state;
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_status, "status");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_string_equal(
		result.output,
		"CLUSTER  GROUP  MIN  MAX  READY  STARTING  WAITING  GPUS  IDLE SINCE  REASON\n"
		"demo     gpu      1    4    2/4         0        0   2/4  70s ago     ScaleUpDemand\n"
		"ray/demo: pending in Ray: 6 bundles: 21 GPU\n"
		"ray/demo: infeasible: 1 x NoGroupFits: no group could serve {GPU: 16}; the closest is "
		"gpu: GPU 16\n  asked, 2 there\n"
		"controller: Pod rayscaler-system/rayscaler-0, version 0.1.0\n");
	cli_server_stop();
}

static void test_status_without_controller(void **state)
{
	(void)state;
	cli_server_start(without_controller);
	CLI_RUN(&result, cli_status, "status", "demo");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 3);
	EXPECT(result.output, "nothing scales now: no controller was found, nor figures of one; ");
	EXPECT(result.output,
	       "demo     gpu      1    4    ?/1         0        ?   ?/0  ?           "
	       "no controller\n");
	EXPECT(result.output, "ray/demo: neither a controller, a sidecar nor the status of a "
			      "RayClusterAutoscaler describes it:\n");
	EXPECT(result.output,
	       "no controller was reached, so use and idle times in Ray are unknown: ");
	EXPECT(result.output, "no Lease rayscaler and no");
	cli_server_stop();
}

static void test_status_forms(void **state)
{
	(void)state;
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_status, "status", "-o", "json");
	EXPECT(result.output, "\"kind\": \"StatusList\"");
	EXPECT(result.output, "\"gpus\": {\"running\": 4, \"inUse\": 2, \"idle\": 2, ");
	EXPECT(result.output, "\"idleSince\": \"2026-11-21T09:58:50Z\"");
	CLI_RUN(&result, cli_status, "status", "-oyaml");
	EXPECT(result.output, "kind: StatusList\n");
	EXPECT(result.output, "  - name: gpu\n    minReplicas: 1\n");
	CLI_RUN(&result, cli_status, "status", "--color=always");
	EXPECT(result.output, "\033[1mCLUSTER\033[0m");
	cli_server_stop();
	cli_server_start(without_controller);
	CLI_RUN(&result, cli_status, "status", "-o", "json");
	EXPECT(result.output, "\"gpus\": {\"running\": null, \"inUse\": null, \"idle\": null, ");
	EXPECT(result.output, "\"pending\": null");
	cli_server_stop();
}

/* All namespaces have a column. */
static void test_status_of_all(void **state)
{
	static const struct route routes[] = {
		CLUSTERS,
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
		{ "GET /api/v1/pods", 0, LIST(POD) },
		{ NULL, 0, NULL },
	};
	static const struct route listed[] = {
		{ "GET /apis/ray.io/v1/rayclusters", 0, LIST(RAY_CLUSTER) },
		CLUSTERS,
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
		{ "GET /api/v1/pods", 0, LIST(POD) },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(listed);
	CLI_RUN(&result, cli_status, "status", "-A");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "NAMESPACE  CLUSTER  GROUP");
	EXPECT(result.output, "ray        demo     gpu ");
	cli_server_stop();
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "-A");
	assert_int_equal(result.status, 1);
	cli_server_stop();
}

static void test_status_denied(void **state)
{
	static const struct route routes[] = {
		{ "GET " NS "/rayclusters", 403,
		  "{'kind':'Status','reason':'Forbidden','message':'User \\u001b[1m cannot list'}" },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.output, "");
	EXPECT(result.errors,
	       "rayscaler status: list rayclusters.ray.io in namespace ray: 403 Forbidden");
	EXPECT(result.errors, "to the user of kubeconfig");
	expect_clean(result.errors);
	cli_server_stop();
}

/* ---- the way to the controller ---- */

static void test_errors_of_the_connection_to_the_controller(void **state)
{
	static const struct {
		struct route route;
		const char *says;
	} table[] = {
		{ { "GET /apis/coordination.k8s.io/", 403,
		    "{'kind':'Status','reason':'Forbidden'}" },
		  "verbs: [\"get\"]} by a Role in namespace rayscaler-system" },
		{ { "GET /api/v1/namespaces/rayscaler-system/pods/rayscaler-0", 404, "{}" },
		  "the Lease in namespace rayscaler-system is held by rayscaler-0: get pods" },
		{ { "GET " PROXY, 403, "{'kind':'Status','reason':'Forbidden'}" },
		  "resources: [\"pods/proxy\"]" },
		{ { "GET " PROXY, 400,
		    "{'kind':'Status','reason':'BadRequest','message':'address not allowed'}" },
		  "address not allowed" },
		{ { "GET " PROXY, 0, "<html>" }, "no answer of a controller" },
		{ { "GET " PROXY "/status/ray", 504, "{}" }, "gave no status of ray/demo" },
		{ { "GET " PROXY "/status/ray", 0, "{'status':{'groups':[{'gpus':{'idle':-1}}]}}" },
		  "status.groups[0].gpus.idle: an amount is negative" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		struct route routes[SUPPORT_COUNT(with_controller) + 1];

		routes[0] = table[i].route;
		memcpy(routes + 1, with_controller, sizeof(with_controller));
		cli_server_start(routes);
		CLI_RUN(&result, cli_explain, "explain", "demo");
		assert_int_equal(result.status, 0);
		EXPECT(result.output, table[i].says);
		EXPECT(result.output, "from the API objects");
		expect_clean(result.output);
		cli_server_stop();
	}
}

static void test_status_with_a_controller_url(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		{ "GET /status/ray/demo", 0, cluster_status },
		{ "GET /status", 0, "{'version':'0.1.0'}" },
		{ NULL, 0, NULL },
	};
	char url[40];

	(void)state;
	cli_server_start(routes);
	(void)snprintf(url, sizeof(url), "127.0.0.1:%d/", cli_server.http->port);
	CLI_RUN(&result, cli_explain, "explain", "demo", "--controller-url", url);
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "as the controller sees it (http://127.0.0.1:");
	cli_server_stop();
}

/* Without a Lease the first Pod may be a standby: it names the leader. */
static void test_a_standby_names_the_leader(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		LEADER,
		{ "GET /api/v1/namespaces/rayscaler-system/pods?", 0,
		  LIST("{'metadata':{'name':'standby'},'spec':{'containers':[]},"
		       "'status':{'phase':'Running'}}") },
		{ "GET /api/v1/namespaces/rayscaler-system/pods/http%3Astandby%3A8080/proxy/status",
		  0, "{'version':'0.1.0','leader':false,'holder':'rayscaler-0'}" },
		{ "GET " PROXY "/status/ray/demo", 0, cluster_status },
		{ "GET " PROXY "/status", 0, "{'version':'0.2.0','leader':true}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "controller: Pod rayscaler-system/rayscaler-0, version 0.2.0\n");
	EXPECT(result.output, "ScaleUpDemand");
	cli_server_stop();
}

/* Where rayscaler is the sidecar of the head Pod, that one is asked. */
static void test_sidecar(void **state)
{
	static const struct route routes[] = {
		{ "GET /api/v1/namespaces/ray/pods/http%3Ademo-head%3A44217/proxy/status/ray/demo",
		  0, cluster_status },
		{ "GET /api/v1/namespaces/ray/pods", 0,
		  LIST("{'metadata':{'namespace':'ray','name':'demo-head'," OWNED "'labels':{"
		       "'ray.io/cluster':'demo','ray.io/node-type':'head'}},'spec':{'containers':["
		       "{'name':'ray-head'},{'name':'autoscaler','command':['rayscaler'],"
		       "'args':['run']}]},'status':{'phase':'Running'}}") },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output,
	       "as its sidecar sees it (Pod ray/demo-head) at 2026-11-21T10:00:00Z\n");
	EXPECT(result.output, "5 x {GPU: 1}: 2 on w2");
	CLI_RUN(&result, cli_status, "status");
	EXPECT(result.output, "2/4  70s ago     ScaleUpDemand\n");
	assert_null(strstr(result.output, "no controller was reached"));
	cli_server_stop();
}

/* ---- explain ---- */

static void test_explain(void **state)
{
	struct route routes[SUPPORT_COUNT(with_controller) + 1] = { { NULL, 0, NULL } };

	(void)state;
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "RayCluster ray/demo\nas the controller sees it (Pod "
			      "rayscaler-system/rayscaler-0, version 0.1.0) at "
			      "2026-11-21T10:00:00Z\n");
	EXPECT(result.output, "  5 x {GPU: 1}: 2 on w2, 2 on new-gpu-1, 1 on new-gpu-2\n");
	EXPECT(result.output, "  1 x {GPU: 16}: 1 without a place, see below\n");
	EXPECT(result.output, "INFEASIBLE  no group could ever serve this\n");
	EXPECT(result.output, "w1      gpu    Running   Busy: ");
	assert_null(strchr(result.output, '\033'));
	EXPECT(result.output, "w2      gpu    Idle      NeededByDemand");
	CLI_RUN(&result, cli_explain, "explain", "demo", "--color", "always");
	EXPECT(result.output, "\033[1mINFEASIBLE\033[0m  no group could ever serve this\n");
	CLI_RUN(&result, cli_explain, "explain", "demo", "-o", "json");
	EXPECT(result.output, "\"placements\": [");
	cli_server_stop();
	memcpy(routes, with_controller, sizeof(with_controller));
	routes[SUPPORT_COUNT(with_controller) - 1].request = "GET /api/v1/namespaces/ray";
	routes[SUPPORT_COUNT(with_controller) - 1].text = "{}";
	cli_server_start(routes);
	CLI_RUN(&result, cli_explain, "explain", "other");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors,
	       "rayscaler explain: RayCluster ray/other does not exist (kubeconfig /");
	cli_server_stop();
}

/* The explanation is the controller's, line by line, without bytes that control a terminal. */
static void test_explain_is_the_controllers(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		LEASE,
		LEADER,
		{ "GET " PROXY "/status/ray/demo", 0,
		  "{'kind':'ClusterStatus','status':{'decidedAt':'2026-11-21T10:00:00Z','groups':[]},"
		  "'explanation':'\\nPENDING  not known: 10.0.0.1:6379 refuses\\u001b[2J\\n',"
		  "'plan':{'kind':'Plan','groups':[{'name':'gpu','toTerminate':[]}]}}" },
		{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "as the controller sees it");
	EXPECT(result.output, "\nPENDING  not known: 10.0.0.1:6379 refuses?[2J\n");
	CLI_RUN(&result, cli_explain, "explain", "demo", "-ojson");
	assert_string_equal(result.output, "{\n  \"kind\": \"Plan\",\n  \"groups\": [\n    {\n"
					   "      \"name\": \"gpu\",\n      \"toTerminate\": []\n"
					   "    }\n  ]\n}\n");
	cli_server_stop();
}

/* ---- snapshot ---- */

static void test_snapshot(void **state)
{
	AUTO(memory_free_string) char *path = NULL;
	static char text[20000];
	ssize_t size;
	int fd;

	(void)state;
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo");
	assert_int_equal(result.status, 0);
	assert_string_equal(result.errors, "");
	assert_string_equal(result.output, server_snapshot); /* as the controller gave it */
	cli_server_stop();
	cli_server_start(without_controller);
	path = temp_path(cli_server.directory, "out");
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo", "-o", path);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "warning: made from the API objects, without Ray's state");
	fd = open(path, O_RDONLY);
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(size > 0);
	EXPECT(text, "\"rayState\": null");
	EXPECT(text, "\"name\": \"PASS\"");
	assert_null(strstr(text, "hunter2"));
	CLI_RUN(&result, cli_snapshot, "snapshot", "demo", "-o", "/nonexistent/file");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "/nonexistent/file: cannot be written: No such file");
	cli_server_stop();
}

/* ---- request ---- */

static void test_request(void **state)
{
	(void)state;
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_request, "request", "demo", "--bundles",
		"[{\"GPU\": 2}, {\"GPU\": 64}]");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_string_equal(
		cli_server.patch,
		"{\"metadata\": {\"annotations\": {\"rayscaler.dev/request-resources\": "
		"\"[{\\\"GPU\\\": 2}, {\\\"GPU\\\": 64}]\"}}} "
		"application/merge-patch+json");
	EXPECT(result.output,
	       "before: nothing is requested\nnow:    [{\"GPU\": 2}, {\"GPU\": 64}]\n");
	EXPECT(result.output, "not served: 1 x {GPU: 64}: NoGroupFits");
	CLI_RUN(&result, cli_request, "request", "demo", "--clear");
	assert_int_equal(result.status, 0);
	assert_string_equal(cli_server.patch, "{\"metadata\": {\"annotations\": {"
					      "\"rayscaler.dev/request-resources\": null}}} "
					      "application/merge-patch+json");
	EXPECT(result.output, "now:    nothing is requested\n");
	cli_server_stop();
}

static void test_request_without_controller(void **state)
{
	static const struct route routes[] = {
		{ "PATCH ", 403, "{'kind':'Status','reason':'Forbidden'}" },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(without_controller);
	CLI_RUN(&result, cli_request, "request", "demo", "--bundles",
		"[{\"GPU\": 2}, {\"GPU\": 2}]");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "before: [{\"CPU\": 1}]?[2J\n"); /* of the annotation */
	EXPECT(result.output, "group gpu: replicas 1 -> 2, ScaleUpRequest");
	EXPECT(result.output, "status, without the controller");
	expect_clean(result.output);
	cli_server_stop();
	cli_server_start(routes);
	CLI_RUN(&result, cli_request, "request", "demo", "--clear");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "patch rayclusters.ray.io ray/demo: 403 Forbidden");
	cli_server_stop();
}

/* An unmanaged cluster: the annotation is written, with a warning. */
static void test_request_unmanaged(void **state)
{
	static const struct route routes[] = {
		{ "GET " NS "/rayclusters/demo", 0,
		  "{'metadata':{'namespace':'ray','name':'demo','resourceVersion':'5'},'spec':{}}" },
		{ "PATCH ", 0, RAY_CLUSTER },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_request, "request", "demo", "--bundles", "[]");
	assert_int_equal(result.status, 0);
	EXPECT(result.errors,
	       "rayscaler request: warning: this RayCluster is not scaled by rayscaler "
	       "(AutoscalingDisabled: ");
	EXPECT(cli_server.patch, "\"[]\"");
	cli_server_stop();
}

/* ---- usage ---- */

static void test_usage(void **state)
{
	static const struct {
		int (*command)(int, char **);
		const char *words[6];
		const char *says;
		int status;
	} table[] = {
		{ cli_status,
		  { "status", "-o", "xml" },
		  "-o takes table, json or yaml, not xml",
		  2 },
		{ cli_status, { "status", "-A", "-n", "a" }, "-A cannot be combined", 2 },
		{ cli_status, { "status", "-A", "demo" }, "-A cannot be combined", 2 },
		{ cli_status, { "status", "-w", "-ojson" }, "--watch shows the table only", 2 },
		{ cli_status, { "status", "--color", "red" }, "auto, always or never, not red", 2 },
		{ cli_explain, { "explain" }, "CLUSTER is required", 2 },
		{ cli_explain, { "explain", "a", "-o", "yaml" }, "-o takes text or json", 2 },
		{ cli_snapshot, { "snapshot" }, "CLUSTER is required", 2 },
		{ cli_request, { "request", "--clear" }, "CLUSTER is required", 2 },
		{ cli_request, { "request", "a" }, "one of --bundles LIST and --clear", 2 },
		{ cli_request, { "request", "a", "--clear", "--bundles", "[]" }, "one of --", 2 },
		{ cli_request,
		  { "request", "a", "--bundles", "[{\"GPU\": \"1\"}]" },
		  "--bundles: [0].GPU: must be a number, is a string; it must be a JSON list",
		  1 },
		{ cli_request,
		  { "request", "a", "--bundles", "[{\"GPU\": -1}]" },
		  "--bundles: no machine can serve it: GPU is negative",
		  1 },
		{ cli_status, { "status", "--kubeconfig", "/nonexistent" }, "/nonexistent", 1 },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		cli_run_words(table[i].command, table[i].words, &result);
		assert_int_equal(result.status, table[i].status);
		assert_string_equal(result.output, "");
		EXPECT(result.errors, table[i].says);
		assert_ptr_equal(strchr(result.errors, '\n'),
				 result.errors + strlen(result.errors) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_without_controller),
		cmocka_unit_test(test_status_forms),
		cmocka_unit_test(test_status_of_all),
		cmocka_unit_test(test_status_denied),
		cmocka_unit_test(test_errors_of_the_connection_to_the_controller),
		cmocka_unit_test(test_status_with_a_controller_url),
		cmocka_unit_test(test_a_standby_names_the_leader),
		cmocka_unit_test(test_sidecar),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_is_the_controllers),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_request_without_controller),
		cmocka_unit_test(test_request_unmanaged),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
