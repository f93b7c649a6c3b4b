/* Output of the commands for a RayCluster that cannot be read. */
#include "cli/commands.h"
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
	start(listed);
	CLI_RUN(&result, cli_status, "status", "-A");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output,
	       "ray        broken   -        -    -       -    -     -        -  -           "
	       "RayClusterUnreadable\n");
	EXPECT(result.output, "ray        demo     gpu ");
	EXPECT(result.output, "ray/broken: not scaling on demand, RayClusterUnreadable: "
			      "spec.workerGroupSpecs[0].groupName: must be");
	CLI_RUN(&result, cli_status, "status", "-o", "json");
	EXPECT(result.output, "\"unreadable\": 1");
	EXPECT(result.output, "\"name\": \"broken\"");
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status_of_an_unreadable_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
