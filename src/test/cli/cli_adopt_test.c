/* adopt and release against a scripted API server: the diff, the patch, and the clusters that are
 * left unchanged with a reason. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define DEMO "PATCH " NS "/rayclusters/demo"
#define ONE(more, spec)                                                                            \
	"{'metadata':{'namespace':'ray','name':'demo','resourceVersion':'5'" more "},'spec':{"     \
	"'enableInTreeAutoscaling':true" spec "},'status':{'head':{'podName':'demo-head'}}}"
#define OPTIONS(text) ",'autoscalerOptions':{" text "}"
#define PARKED                                                                                     \
	"'command':['sleep'],'args':['infinity'],'resources':{'limits':{'memory':'16Mi',"          \
	"'cpu':'50m'},'requests':{'cpu':'1m','memory':'4Mi'}}"
#define WRITTEN_RESOURCES                                                                          \
	"{\"requests\":{\"cpu\":\"1m\",\"memory\":\"4Mi\"},"                                       \
	"\"limits\":{\"cpu\":\"50m\",\"memory\":\"16Mi\"}}"
#define LINE(member, value)                                                                        \
	"{\"op\": \"add\", \"path\": \"/spec/autoscalerOptions/" member "\", \"value\": " value "}"
#define NONE "{\"op\": \"remove\", \"path\": \"/spec/autoscalerOptions\"}"
#define JSON_PATCH " application/json-patch+json"
#define PULL_VARIABLE "RAY_gcs_pull_resource_loads_period_milliseconds"
#define HEAD_WITH_PERIOD                                                                           \
	",'headGroupSpec':{'template':{'spec':{'containers':[{'name':'ray-head','env':["           \
	"{'name':'HOME','value':'/'},{'name':'" PULL_VARIABLE "','value':'500'}]}]}}}"

/* Starts a server with this one RayCluster, which answers a patch with `after`. */
static struct route routes[3];

static void start_with(const char *object, const char *after)
{
	routes[0] = (struct route){ "GET " NS "/rayclusters/demo", 0, object };
	routes[1] = (struct route){ DEMO, after ? 0 : 422, after ? after : "{'kind':'Status'}" };
	routes[2] = (struct route){ NULL, 0, NULL };
	cli_server_start(routes);
}

static void test_adopt_shows(void **state)
{
	(void)state;
	start_with(ONE("", ""), NULL);
	CLI_RUN(&result, cli_adopt, "adopt", "demo");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_string_equal(
		result.output,
		"RayCluster ray/demo\n"
		"spec.autoscalerOptions:\n"
		"+ command: [\"timeout\"]\n"
		"+ args: [\"infinity\", \"sleep\", \"infinity\"]\n"
		"+ version: \"v2\"\n"
		"+ resources: " WRITTEN_RESOURCES "\n"
		"Takes effect with the next head Pod; KubeRay makes it after:\n"
		"    kubectl delete pod demo-head -n ray\n"
		"That ends its jobs and actors (GCS fault tolerance is off): choose the time.\n"
		"Ray shows new demand up to 1 s late. With up to 100 nodes, set in the head's Ray "
		"container:\n"
		"    " PULL_VARIABLE "=250\n"
		"nothing was written; --yes writes it\n");
	assert_string_equal(cli_server.patch, "");
	cli_server_stop();
}

static void test_adopt_writes(void **state)
{
	(void)state;
	start_with(ONE("", ""), ONE("", OPTIONS(PARKED)));
	CLI_RUN(&result, cli_adopt, "adopt", "demo", "--yes");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_int_equal(cli_server.asked, 3); /* with the dry run */
	EXPECT(result.output, PULL_VARIABLE "=250\nwritten\n");
	assert_string_equal(
		cli_server.patch,
		"[{\"op\": \"test\", \"path\": \"/metadata/resourceVersion\", \"value\": \"5\"}, "
		"{\"op\": \"add\", \"path\": \"/spec/autoscalerOptions\", \"value\": {}}, " LINE("command", "[\"timeout\"]") ", " LINE(
			"args",
			"[\"infinity\", \"sleep\", \"infinity\"]") ", " LINE("version",
									     "\"v2\"") ", " LINE("resources",
												 WRITTEN_RESOURCES) "]" JSON_PATCH);
	cli_server_stop();
}

/* The options of the user are tested and kept; resources of the user remain, and the period of the head. */
static void test_adopt_keeps_the_options(void **state)
{
	(void)state;
	start_with(
		ONE("",
		    OPTIONS("'version':'v2','idleTimeoutSeconds':60,'command':['\\u001bx'],"
			    "'resources':{'limits':{'cpu':'2'}}") ",'gcsFaultToleranceOptions':{}" HEAD_WITH_PERIOD),
		ONE("", OPTIONS(PARKED)));
	CLI_RUN(&result, cli_adopt, "adopt", "demo", "--yes");
	assert_int_equal(result.status, 0);
	assert_string_equal(
		result.output,
		"RayCluster ray/demo\n"
		"spec.autoscalerOptions:\n"
		"- command: [\"\\u001bx\"]\n"
		"+ command: [\"timeout\"]\n"
		"+ args: [\"infinity\", \"sleep\", \"infinity\"]\n"
		"Takes effect with the next head Pod; KubeRay makes it after:\n"
		"    kubectl delete pod demo-head -n ray\n"
		"Workers and detached actors survive that (GCS fault tolerance is on).\n"
		"written\n");
	assert_string_equal(
		cli_server.patch,
		"[{\"op\": \"test\", \"path\": \"/spec/autoscalerOptions\", \"value\": "
		"{\"version\":\"v2\",\"idleTimeoutSeconds\":60,\"command\":[\"\\u001bx\"],"
		"\"resources\":{\"limits\":{\"cpu\":\"2\"}}}}, " LINE("command", "[\"timeout\"]") ", " LINE(
			"args", "[\"infinity\", \"sleep\", \"infinity\"]") "]" JSON_PATCH);
	cli_server_stop();
}

static void test_adopt_fails(void **state)
{
	(void)state;
	/* The object changed in the meantime. */
	start_with(ONE("", ""), NULL);
	CLI_RUN(&result, cli_adopt, "adopt", "demo", "--yes");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "rayscaler adopt: patch rayclusters.ray.io ray/demo: 422");
	assert_null(strstr(result.output, "written"));
	cli_server_stop();
	/* The CRD of an older KubeRay has no command. */
	start_with(ONE("", ""), ONE("", OPTIONS("'resources':{}")));
	routes[1].request = DEMO "?dryRun=All";
	CLI_RUN(&result, cli_adopt, "adopt", "demo", "--yes");
	assert_int_equal(result.status, 1);
	assert_int_equal(cli_server.asked, 2); /* only the dry run */
	EXPECT(result.errors, "RayCluster ray/demo: the API server drops command and args of "
			      "spec.autoscalerOptions, as with KubeRay before 1.7, so nothing was "
			      "written: ");
	assert_null(strstr(result.output, "\nwritten"));
	cli_server_stop();
	cli_server_start(with_controller);
	CLI_RUN(&result, cli_adopt, "adopt", "other");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "rayscaler adopt: namespace ray does not exist");
	cli_server_stop();
}

static void test_unchanged(void **state)
{
	static const struct {
		int (*command)(int, char **);
		const char *object, *output, *errors;
	} table[] = {
		{ cli_adopt, ONE("", OPTIONS(PARKED)),
		  "unchanged: its container autoscaler is parked", "" },
		{ cli_adopt, ONE("", OPTIONS("'image':'a/rayscaler:1'")), "",
		  "RayCluster ray/demo: rayscaler is its sidecar; \"release\" it first" },
		{ cli_adopt, "{'metadata':{'namespace':'ray','name':'demo'},'spec':{}}", "",
		  "spec.enableInTreeAutoscaling is not true, so it has no container autoscaler" },
		{ cli_adopt, ONE(",'ownerReferences':[{'kind':'RayService','name':'serve'}]", ""),
		  "",
		  "it is made from RayService serve, and the next one would not have the lines: "
		  "change spec.rayClusterConfig.autoscalerOptions there" },
		{ cli_adopt, ONE(",'ownerReferences':[{'kind':'RayJob','name':'j'}]", ""), "",
		  "change spec.rayClusterSpec.autoscalerOptions there" },
		{ cli_release, ONE("", ""), "unchanged: its container autoscaler is neither", "" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		start_with(table[i].object, NULL);
		cli_run_words(table[i].command, (const char *[6]){ "adopt", "demo", "--yes" },
			      &result);
		assert_int_equal(result.status, *table[i].errors == '\0' ? 0 : 1);
		EXPECT(result.output, table[i].output);
		assert_true((*result.output == '\0') == (*table[i].output == '\0'));
		EXPECT(result.errors, table[i].errors);
		assert_string_equal(cli_server.patch, "");
		cli_server_stop();
	}
}

#define HEAD(command)                                                                              \
	"{'metadata':{'namespace':'ray','name':'demo-head'},'spec':{'containers':[{'name':"        \
	"'ray-head','command':['x']},{'name':'autoscaler','command':['" command "']}]}}"

/* The lines are written, and the head Pod is older than they are. */
static void test_adopt_names_the_head_pod_to_delete(void **state)
{
	static const char step[] = "    kubectl delete pod demo-head -n ray\n"
				   "That ends its jobs and actors (GCS fault tolerance is off): ";
	static const struct {
		int (*command)(int, char **);
		const char *object, *head;
		int status;
		const char *answer; /* NULL: no step is left */
	} table[] = {
		{ cli_adopt, ONE("", OPTIONS(PARKED)), HEAD("ray"), 0,
		  "unchanged: its container autoscaler is parked already by spec.autoscalerOptions\n"
		  "The last step, because the head Pod is older than that:\n" },
		{ cli_adopt, ONE("", OPTIONS(PARKED)), HEAD("sleep"), 0, NULL },
		{ cli_adopt, ONE("", OPTIONS(PARKED)), "{'kind':'Status'}", 404, NULL },
		{ cli_adopt, ONE("", OPTIONS(PARKED)), "{'kind':'Status'}", 403,
		  "The head Pod cannot be read; if it is older than that:\n" },
		{ cli_release, ONE("", ""), HEAD("sleep"), 0,
		  "The last step, because the head Pod is older than that:\n" },
		{ cli_release, ONE("", ""), HEAD("ray"), 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		start_with(table[i].object, NULL);
		routes[1] = (struct route){ "GET /api/v1/namespaces/ray/pods/demo-head",
					    table[i].status, table[i].head };
		CLI_RUN(&result, table[i].command, "adopt", "demo");
		assert_int_equal(result.status, 0);
		EXPECT(result.output, table[i].answer ? table[i].answer : "unchanged: its");
		assert_true((strstr(result.output, step) != NULL) == (table[i].answer != NULL));
		cli_server_stop();
	}
}

/* The lines of adopt are removed in any order of their members. */
static void test_release(void **state)
{
	(void)state;
	start_with(ONE("", OPTIONS(PARKED)), ONE("", ""));
	CLI_RUN(&result, cli_release, "release", "demo", "--yes");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "- command: [\"sleep\"]\n- args: [\"infinity\"]\n- resources: {");
	EXPECT(cli_server.patch, "}, " NONE "]" JSON_PATCH);
	cli_server_stop();
	/* A sidecar; the user's other options remain. */
	start_with(ONE("", OPTIONS("'version':'v2','image':'a/rayscaler:1','resources':{'limits':"
				   "{'memory':'256Mi'}}")),
		   ONE("", ""));
	CLI_RUN(&result, cli_release, "release", "demo", "--yes");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "- image: \"a/rayscaler:1\"\n"
			      "  resources: {\"limits\":{\"memory\":\"256Mi\"}}\n"
			      "Ray's autoscaler needs about 500m CPU and 512Mi.\n");
	EXPECT(cli_server.patch,
	       "}, {\"op\": \"remove\", \"path\": \"/spec/autoscalerOptions/image\"}]");
	cli_server_stop();
}

static void test_all(void **state)
{
	static const struct route all[] = {
		{ "GET " NS "/rayclusters", 0,
		  LIST(ONE("", "") "," ONE(
			  "",
			  OPTIONS(PARKED)) ",{'metadata':{'namespace':'ray',"
					   "'name':'bad'},'spec':{'enableInTreeAutoscaling':'yes'}}," ONE(
						   ",'ownerReferences':[{'kind':'RayJob','name':'j'}]",
						   "")) },
		{ DEMO, 0, ONE("", OPTIONS(PARKED)) },
		{ NULL, 0, NULL },
	};
	static const struct route empty[] = {
		{ "GET " NS "/rayclusters", 0, LIST("") },
		CLUSTERS,
		{ "GET /api/v1/namespaces/ray", 0, "{}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(all);
	CLI_RUN(&result, cli_adopt, "adopt", "--all", "--yes");
	assert_int_equal(result.status, 1); /* of the bad one */
	EXPECT(result.errors, "enableInTreeAutoscaling: must be a boolean");
	EXPECT(result.output,
	       "written\nRayCluster ray/demo\nunchanged: its container autoscaler is "
	       "parked already by spec.autoscalerOptions\nRayCluster ray/demo\nunchanged: it is made from RayJob j");
	EXPECT(cli_server.patch, "/spec/autoscalerOptions/command");
	cli_server_stop();
	cli_server_start(empty);
	CLI_RUN(&result, cli_release, "release", "--all", "-n", "ray");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "there are no RayClusters in namespace ray (kubeconfig /");
	cli_server_stop();
}

static void test_usage(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_adopt, "adopt");
	assert_int_equal(result.status, 2);
	assert_string_equal(result.errors, "rayscaler adopt: one of CLUSTER and --all is required; "
					   "see rayscaler adopt --help\n");
	CLI_RUN(&result, cli_release, "release", "demo", "--all");
	assert_int_equal(result.status, 2);
	CLI_RUN(&result, cli_release, "release", "--help");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "usage: rayscaler release CLUSTER|--all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopt_shows),
		cmocka_unit_test(test_adopt_writes),
		cmocka_unit_test(test_adopt_keeps_the_options),
		cmocka_unit_test(test_adopt_fails),
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_adopt_names_the_head_pod_to_delete),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
