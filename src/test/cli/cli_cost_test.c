/* `status --cost`: rows by cluster, sums by namespace and label, currencies apart, and JSON. */
#include <stdio.h>
#include <time.h>

#include "cli/shared/commands.h"
#include "codec/text/rfc3339.h"
#include "test/support/cli_server.h"

#define CLUSTER(name, more)                                                                         \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray','name':'" name \
	"','uid':'u-" name "','resourceVersion':'5'" more "},'spec':{"                              \
	"'enableInTreeAutoscaling':true,'headGroupSpec':{}}}"
#define OWNER(name) ",'labels':{'owner':'" name "'}"
#define METERING(name, uid, until, currency, gpus, rest)                                           \
	"{'metadata':{'namespace':'ray','name':'" name "','resourceVersion':'7'},'status':{"       \
	"'reason':'r','lastDecisionTime':'2026-11-21T10:00:00Z','metering':{'rayClusterUID':'" uid \
	"',"                                                                                       \
	"'since':'2026-11-01T10:00:00Z','until':'" until "','currency':'" currency                 \
	"','gpus':'" gpus "'," rest "}}}"
#define OLD "2026-11-21T10:00:00Z"
#define OF_A                                                                                                                                       \
	"'costPerHourMicros':10000000,'todayGPUSeconds':7200,'todayCostMicros':5000000,'groups':["                                                 \
	"{'name':'x','usedGPUSeconds':3600,'idleGPUSeconds':900,'requestedGPUSeconds':900,'costMicros':100500000,'requestedCostMicros':25125000}," \
	"{'name':'y','startingGPUSeconds':900,'terminatingGPUSeconds':900,'costMicros':1000}]"
#define OF_B                                                                                       \
	"'costPerHourMicros':2500000,'groups':[{'name':'x','usedGPUSeconds':3600,'costMicros':9}]"

static char objects[8192];

#define ROUTES                                                                                     \
	{ "GET " NS "/rayclusters", 0,                                                             \
	  LIST(CLUSTER("e", "") "," CLUSTER("d", OWNER("bob")) "," CLUSTER("c", "") "," CLUSTER(   \
		  "b", OWNER("ann")) "," CLUSTER("a", OWNER("ann"))) },                            \
		{ "GET /api/v1/namespaces/ray/pods", 0, LIST("") }, CLUSTERS,                      \
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },                          \
		{ "GET /apis/rayscaler.dev/v1alpha1/namespaces/ray/rayclusterautoscalers", 0,      \
		  objects },                                                                       \
	{                                                                                          \
		"GET /apis/rayscaler.dev/v1alpha1", 0,                                             \
			"{'resources':[{'name':'rayclusterautoscalers'}]}"                         \
	}

static const struct route routes[] = {
	ROUTES,
	LEASE,
	LEADER,
	{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },
	{ NULL, 0, NULL },
};
static const struct route no_controller[] = {
	ROUTES,
	{ "GET /api/v1/namespaces/rayscaler-system/pods", 0, LIST("") },
	{ NULL, 0, NULL },
};

/* The sums of cluster a are of this day, those of b of an earlier one; d has no price, e is not the
 * RayCluster that was counted, and nothing is stored of c. */
static int64_t start(const struct route *of)
{
	int64_t now = (int64_t)time(NULL);
	char until[RFC3339_SIZE];

	rfc3339_print(now * 1000, until);
	(void)snprintf(
		objects, sizeof(objects),
		LIST(METERING("a", "u-a", "%s", "EUR", "4.5", OF_A) "," METERING(
			"b", "u-b", OLD, "EUR", "2",
			OF_B) "," METERING("d", "u-d", OLD, "", "1",
					   OF_B) "," METERING("e", "old", OLD, "", "1", OF_B)),
		until);
	cli_server_start(of);
	return now / 86400;
}

#define RUN(...)                                                                                   \
	do {                                                                                       \
		int64_t day;                                                                       \
                                                                                                   \
		do { /* again when the day ends meanwhile */                                       \
			day = start(routes);                                                       \
			CLI_RUN(&result, cli_status, "status", "--cost", __VA_ARGS__);             \
			cli_server_stop();                                                         \
		} while (day != (int64_t)time(NULL) / 86400);                                      \
		assert_string_equal(result.errors, "");                                            \
		assert_int_equal(result.status, EXIT_DONE);                                        \
	} while (0)

static void test_by_cluster(void **state)
{
	(void)state;
	RUN("-o", "table");
	assert_string_equal(
		result.output,
		"NAMESPACE  CLUSTER  GPUS    PER HOUR       TODAY       TOTAL   REQUESTED  SINCE\n"
		"ray        a         4.5   10.00 EUR    5.00 EUR  100.50 EUR   25.12 EUR  2026-11-01\n"
		"ray        b           2    2.50 EUR    0.00 EUR    0.00 EUR    0.00 EUR  2026-11-01\n"
		"ray        c           ?           ?           ?           ?           ?  -\n"
		"ray        d           1  1.00 GPU-h  0.00 GPU-h  1.00 GPU-h  0.00 GPU-h  2026-11-01\n"
		"ray        e           ?           ?           ?           ?           ?  -\n"
		"all        -         6.5   12.50 EUR    5.00 EUR  100.50 EUR   25.12 EUR  2026-11-01\n"
		"all        -           1  1.00 GPU-h  0.00 GPU-h  1.00 GPU-h  0.00 GPU-h  2026-11-01\n");
}

static void test_by_namespace_and_label(void **state)
{
	(void)state;
	RUN("--by", "namespace", "-n", "ray");
	assert_string_equal(
		result.output,
		"NAMESPACE  GPUS    PER HOUR       TODAY       TOTAL   REQUESTED  SINCE\n"
		"ray         6.5   12.50 EUR    5.00 EUR  100.50 EUR   25.12 EUR  2026-11-01\n"
		"ray           1  1.00 GPU-h  0.00 GPU-h  1.00 GPU-h  0.00 GPU-h  2026-11-01\n"
		"all         6.5   12.50 EUR    5.00 EUR  100.50 EUR   25.12 EUR  2026-11-01\n"
		"all           1  1.00 GPU-h  0.00 GPU-h  1.00 GPU-h  0.00 GPU-h  2026-11-01\n");
	RUN("--by=label=owner");
	EXPECT(result.output, "owner  GPUS    PER HOUR");
	EXPECT(result.output, "\nann     6.5   12.50 EUR    5.00 EUR  100.50 EUR");
	EXPECT(result.output, "\nbob       1  1.00 GPU-h");
}

static void test_json(void **state)
{
	(void)state;
	RUN("-o", "json", "--by", "label=owner");
	EXPECT(result.output, "\"kind\": \"CostList\"");
	EXPECT(result.output,
	       "{\"namespace\": \"ray\", \"name\": \"a\", \"unscaled\": false, \"known\": true, \"currency\": \"EUR\", "
	       "\"gpus\": 4.5, \"gpuHoursToday\": 2, \"gpuHours\": 2, \"gpuHoursRequested\": 0.25, \"costPerHour\": 10, "
	       "\"costToday\": 5, \"cost\": 100.501, \"costRequested\": 25.125, \"since\": \"2026-11-01T10:00:00Z\"");
	EXPECT(result.output,
	       "{\"namespace\": \"ray\", \"name\": \"c\", \"unscaled\": false, \"known\": false}");
	EXPECT(result.output, "\"by\": \"label=owner\"");
	EXPECT(result.output, "{\"key\": \"ann\", \"currency\": \"EUR\", \"gpus\": 6.5, ");
	EXPECT(result.output, "\"totals\": [\n    {\"currency\": \"EUR\", \"gpus\": 6.5, ");
	RUN("-o", "yaml");
	EXPECT(result.output, "kind: CostList");
}

static void test_wrong_usage(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_status, "status", "--cost", "--gpus");
	assert_int_equal(result.status, EXIT_USAGE);
	EXPECT(result.errors, "--gpus cannot be combined with --cost");
	CLI_RUN(&result, cli_status, "status", "--by", "namespace");
	assert_int_equal(result.status, EXIT_USAGE);
	EXPECT(result.errors, "--by is valid only with --cost");
	CLI_RUN(&result, cli_status, "status", "--cost", "--by", "label=");
	assert_int_equal(result.status, EXIT_USAGE);
	EXPECT(result.errors, "--by takes namespace or label=KEY, such as label=owner");
}

/* Without a controller: of old figures the line says so, and each row that is of them. */
static void test_nothing_scales(void **state)
{
	(void)state;
	start(no_controller);
	CLI_RUN(&result, cli_status, "status", "--cost");
	assert_int_equal(result.status, EXIT_UNSCALED);
	assert_string_equal(result.errors, "");
	assert_ptr_equal(strstr(result.output, "nothing scales"), result.output);
	EXPECT(result.output, " old, and so are the figures marked \"ago\"; start a\n");
	EXPECT(result.output, " ago   4.5   10.00 EUR");
	CLI_RUN(&result, cli_status, "status", "--cost", "--by", "namespace", "-n", "ray");
	assert_int_equal(result.status, EXIT_UNSCALED);
	assert_ptr_equal(strstr(result.output, "nothing scales"), result.output);
	assert_null(strstr(result.output, "marked"));
	CLI_RUN(&result, cli_status, "status", "--cost", "-o", "json");
	assert_int_equal(result.status, EXIT_UNSCALED);
	EXPECT(result.output, "{\"namespace\": \"ray\", \"name\": \"a\", \"unscaled\": true, ");
	cli_server_stop();
}

/* The bill is of the whole cluster unless a namespace is named. */
static void test_by_namespace_is_of_all(void **state)
{
	static const struct route everywhere[] = {
		{ "GET /apis/ray.io/v1/rayclusters", 0, LIST(CLUSTER("a", "")) },
		{ "GET /api/v1/pods", 0, LIST("") },
		{ "GET /apis/rayscaler.dev/v1alpha1/rayclusterautoscalers", 0, objects },
		CLUSTERS,
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
		{ "GET /apis/rayscaler.dev/v1alpha1", 0,
		  "{'resources':[{'name':'rayclusterautoscalers'}]}" },
		LEASE,
		LEADER,
		{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	start(everywhere);
	CLI_RUN(&result, cli_status, "status", "--cost", "--by", "namespace");
	assert_string_equal(result.errors, "");
	EXPECT(result.output, "ray         4.5  10.00 EUR");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_cluster),
		cmocka_unit_test(test_by_namespace_is_of_all),
		cmocka_unit_test(test_by_namespace_and_label),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_nothing_scales),
		cmocka_unit_test(test_wrong_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
