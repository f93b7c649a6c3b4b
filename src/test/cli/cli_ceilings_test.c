/* The GPU quotas over several clusters in `rayscaler status`: the controller's own count. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define CEILING(ns, n, k) "{'scope':'','namespace':'" ns "','ceiling':" #n ",'counted':" #k "}"

/* Quotas of other namespaces are printed only for all namespaces. */
static void test_ceilings_over_several_clusters(void **state)
{
	static const struct route routes[] = {
		OBJECTS,
		{ "GET /status/ray/demo", 0, cluster_status },
		{ "GET /status", 0,
		  "{'version':'0.1.0','gpuCeilings':[" CEILING("", 8, 6.5) "," CEILING(
			  "ray", 4, 2) "," CEILING("other", 3, 3) "]}" },
		{ NULL, 0, NULL },
	};
	static const struct route bad[] = {
		OBJECTS,
		{ "GET /status/ray/demo", 0, cluster_status },
		{ "GET /status", 0, "{'version':'0.1.0','gpuCeilings':[" CEILING("", 8, -1) "]}" },
		{ NULL, 0, NULL },
	};
	char url[40];

	(void)state;
	cli_server_start(routes);
	(void)snprintf(url, sizeof(url), "127.0.0.1:%d/", cli_server.http->port);
	CLI_RUN(&result, cli_status, "status", "--controller-url", url);
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "GPUs allocated: 6.5 of 8 (max-gpus-total)\n");
	EXPECT(result.output, "GPUs allocated: 2 of 4 in namespace ray (max-gpus-per-namespace)\n");
	assert_null(strstr(result.output, "other"));
	CLI_RUN(&result, cli_status, "status", "-o", "json", "--controller-url", url);
	EXPECT(result.output, "\"gpuCeilings\"");
	EXPECT(result.output, "\"counted\": 6.5");
	cli_server_stop();
	cli_server_start(bad);
	(void)snprintf(url, sizeof(url), "127.0.0.1:%d/", cli_server.http->port);
	CLI_RUN(&result, cli_status, "status", "--controller-url", url);
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "gpuCeilings[0].counted: an amount is negative");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ceilings_over_several_clusters) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
