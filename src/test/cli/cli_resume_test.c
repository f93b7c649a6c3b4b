/* resume, and request on a suspended RayCluster, against a scripted API server. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define GET_DEMO "GET " NS "/rayclusters/demo"
#define PATCH_DEMO "PATCH " NS "/rayclusters/demo"
#define SINCE "2026-11-23T09:00:00Z"
#define IDLE "'rayscaler.dev/suspended-by-idle-termination':'" SINCE "'"
#define POINTER "\"/metadata/annotations/rayscaler.dev~1suspended-by-idle-termination\""
#define ONE(annotations, spec)                                                                     \
	"{'metadata':{'namespace':'ray','name':'demo','uid':'u','resourceVersion':'5',"            \
	"'annotations':{" annotations "}},'spec':{'enableInTreeAutoscaling':true" spec "}}"
#define SUSPENDED ",'suspend':true"
#define PATCH                                                                                      \
	"[{\"op\": \"test\", \"path\": \"/metadata/uid\", \"value\": \"u\"}, "                     \
	"{\"op\": \"test\", \"path\": " POINTER ", \"value\": \"" SINCE "\"}, "                    \
	"{\"op\": \"test\", \"path\": \"/spec/suspend\", \"value\": true}, "                       \
	"{\"op\": \"replace\", \"path\": \"/spec/suspend\", \"value\": false}, "                   \
	"{\"op\": \"remove\", \"path\": " POINTER "}] application/json-patch+json"

/* The answers to a read and to a patch. */
struct answers {
	int status, patch_status;
	const char *object;
};

static struct route routes[3];

static void start_with(const struct answers *answers)
{
	routes[0] = (struct route){ GET_DEMO, answers->status, answers->object };
	routes[1] = (struct route){ PATCH_DEMO, answers->patch_status,
				    answers->patch_status ? "{'kind':'Status'}" : ONE("", "") };
	routes[2] = (struct route){ NULL, 0, NULL };
	cli_server_start(routes);
}

static void test_resume(void **state)
{
	(void)state;
	start_with(&(struct answers){ .object = ONE(IDLE, SUSPENDED) });
	CLI_RUN(&result, cli_resume, "resume", "demo");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_string_equal(result.output,
			    "RayCluster ray/demo is resumed; KubeRay makes its head Pod\n");
	assert_string_equal(cli_server.patch, PATCH);
	assert_int_equal(cli_server.asked, 2);
	cli_server_stop();
}

/* Without the annotation nothing is written, whoever suspended the cluster. */
static void test_nothing_is_written(void **state)
{
	static const struct {
		struct answers answers;
		int status;
		const char *says; /* on standard output with status 0, else on standard error */
	} table[] = {
		{ { .object = ONE("", "") }, 0, "RayCluster ray/demo is not suspended\n" },
		/* A user resumed it by kubectl. */
		{ { .object = ONE(IDLE, "") }, 0, "RayCluster ray/demo is not suspended\n" },
		{ { .object = ONE("", SUSPENDED) },
		  1,
		  "RayCluster ray/demo was not suspended by idle termination, but by a user; "
		  "to start it all the same: kubectl patch raycluster -n ray demo --type merge -p "
		  "'{\"spec\": {\"suspend\": false}}'\n" },
		{ { .status = 404, .object = "{'kind':'Status','reason':'NotFound'}" },
		  1,
		  "the API server does not know RayClusters (kubeconfig /" },
		{ { .status = 403, .object = "{'kind':'Status','reason':'Forbidden'}" },
		  1,
		  "get rayclusters.ray.io ray/demo: 403 Forbidden" },
		{ { .object = "{'metadata':{'name':'demo'},'spec':{'suspend':'yes'}}" },
		  1,
		  "suspend: must be a boolean" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		start_with(&table[i].answers);
		CLI_RUN(&result, cli_resume, "resume", "demo", "-n", "ray");
		assert_int_equal(result.status, table[i].status);
		EXPECT(table[i].status ? result.errors : result.output, table[i].says);
		assert_string_equal(cli_server.patch, "");
		cli_server_stop();
	}
}

static void test_the_patch_is_refused(void **state)
{
	(void)state;
	start_with(&(struct answers){ .patch_status = 403, .object = ONE(IDLE, SUSPENDED) });
	CLI_RUN(&result, cli_resume, "resume", "demo");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "rayscaler resume: patch rayclusters.ray.io ray/demo: 403");
	assert_int_equal(cli_server.asked, 2);
	cli_server_stop();
	/* The object changes each time: it is read again, not forever. */
	start_with(&(struct answers){ .patch_status = 422, .object = ONE(IDLE, SUSPENDED) });
	CLI_RUN(&result, cli_resume, "resume", "demo");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "rayscaler resume: patch rayclusters.ray.io ray/demo: 422");
	assert_int_equal(cli_server.asked, 6);
	cli_server_stop();
}

static void test_usage(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_resume, "resume");
	assert_int_equal(result.status, 2);
	EXPECT(result.errors,
	       "CLUSTER is required: the name of a RayCluster; see rayscaler resume --help");
	CLI_RUN(&result, cli_resume, "resume", "--help");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "usage: rayscaler resume CLUSTER");
}

/* The request is the annotation alone: the controller resumes the cluster for it. */
static void test_request(void **state)
{
	static const struct route suspended[] = {
		{ GET_DEMO, 0, ONE(IDLE, SUSPENDED) },
		{ "PATCH ", 0, RAY_CLUSTER },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(suspended);
	CLI_RUN(&result, cli_request, "request", "demo", "--bundles", "[{\"GPU\": 1}]");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "it is suspended by idle termination; a controller resumes it for "
			      "this request, and none was reached: rayscaler resume demo\n");
	assert_string_equal(
		cli_server.patch,
		"{\"metadata\": {\"annotations\": {\"rayscaler.dev/request-resources\": "
		"\"[{\\\"GPU\\\": 1}]\"}}} application/merge-patch+json");
	CLI_RUN(&result, cli_request, "request", "demo", "--clear");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "it is suspended by idle termination and stays so; to start it: "
			      "rayscaler resume demo\n");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_nothing_is_written),
		cmocka_unit_test(test_the_patch_is_refused),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
