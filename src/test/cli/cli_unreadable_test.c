/* Output of the commands for a RayCluster that cannot be read. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define NUL_CLUSTER                                                                                \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray',"             \
	"'name':'broken','uid':'v','resourceVersion':'6'},'spec':{'enableInTreeAutoscaling':"      \
	"true,'workerGroupSpecs':[{'groupName':'g\\u0000'}]}}"

/* It has its row and the reason, and the others are shown. */
static void test_status_of_an_unreadable_cluster(void **state)
{
	static const struct route listed[] = {
		{ "GET " NS "/rayclusters", 0, LIST(NUL_CLUSTER "," RAY_CLUSTER) },
		{ "GET /apis/ray.io/v1/rayclusters", 0, LIST(NUL_CLUSTER "," RAY_CLUSTER) },
		CLUSTERS,
		{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
		{ "GET /api/v1/pods", 0, LIST(POD) },
		{ "GET /api/v1/namespaces/ray/pods", 0, LIST(POD) },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(listed);
	CLI_RUN(&result, cli_status, "status", "-A");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output,
	       "ray        broken   -        -    -      -         -        -     -  -           "
	       "RayClusterUnreadable\n");
	EXPECT(result.output, "ray        demo     gpu ");
	EXPECT(result.output, "ray/broken: not scaling on demand, RayClusterUnreadable: "
			      "spec.workerGroupSpecs[0].groupName: must be");
	CLI_RUN(&result, cli_status, "status", "-o", "json");
	EXPECT(result.output, "\"unreadable\": 1");
	EXPECT(result.output, "\"name\": \"broken\"");
	cli_server_stop();
}

#define SYSTEM_PODS "/api/v1/namespaces/rayscaler-system/pods"
#define SYSTEM_POD(name, spec, phase)                                                              \
	"{'metadata':{'name':'" name "','namespace':'rayscaler-system'},'spec':" spec              \
	",'status':{'phase':'" phase "'}}"
#define METRICS_PORT                                                                               \
	"{'containers':[{'name':'c','ports':[{'name':'metrics','containerPort':9090}]}]}"

/* Without a Lease: a Pod that cannot be read does not hide the one that runs. */
static void test_the_controller_beside_an_unreadable_pod(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		{ "GET " SYSTEM_PODS
		  "?labelSelector=app.kubernetes.io%2Fname%3Drayscaler&limit=250",
		  0,
		  LIST(SYSTEM_POD("broken", "{'a':nothing}", "Running") "," SYSTEM_POD(
			  "done", METRICS_PORT,
			  "Succeeded") "," SYSTEM_POD("rayscaler-0", METRICS_PORT, "Running")) },
		{ "GET " PROXY "/status/ray/demo", 0, cluster_status },
		{ "GET " PROXY "/status", 0, "{'kind':'Status','version':'0.1.0','leader':true}" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "demo");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "Pod rayscaler-system/rayscaler-0");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_of_an_unreadable_cluster),
		cmocka_unit_test(test_the_controller_beside_an_unreadable_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
