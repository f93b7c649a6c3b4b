/* `simulate` with prices and with pools of Nodes. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/shared/file.h"
#include "test/support/simulate_files.h"
#include "test/support/support.h"
#include "test/support/temp_files.h"

/* One price for all, so the cost is that of all GPU-hours of the row. */
static void prices_make_a_cost(void **state)
{
	static const char prices[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n"
		"prices:\n- {perGPUHour: 3.50}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "prices.yaml");
	const char *hours, *cost;

	temp_write(files->directory, "prices.yaml", prices);
	SIMULATE(&result, files, "--vary", "idleTimeoutSeconds=60,600", "--price-table", path);
	assert_non_null(strstr(result.output, "  NEVER RAN      COST\n"));
	assert_non_null(strstr(result.output, " EUR\n"));
	assert_non_null(strstr(result.output, "* no other row has a lower cost without"));
	SIMULATE(&result, files, "--price-table", path, "-o", "json");
	assert_non_null(strstr(result.output, "\"currency\": \"EUR\""));
	hours = strstr(result.output, "\"provisioned\": ");
	cost = strstr(result.output, "\"cost\": ");
	assert_true(hours && cost);
	assert_true(fabs(strtod(cost + strlen("\"cost\": "), NULL) -
			 3.5 * strtod(hours + strlen("\"provisioned\": "), NULL)) < 1e-6);
	memory_free(path);
}

/* No worker gets a Node: the pool has another label. */
static void pools_give_nodes(void **state)
{
	static const char pools[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: NodePools\n"
		"pools:\n- {name: a, maxNodes: 1, taints: [{key: t, effect: NoSchedule}]}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "pools.yaml");

	temp_write(files->directory, "pools.yaml", pools);
	SIMULATE(&result, files, "--node-pools", path, "--vary", "pools[a].taints=[],null");
	assert_int_equal(result.status, EXIT_DONE);
	SIMULATE(&result, files, "--node-pools", path);
	assert_non_null(strstr(result.output, "2 of job train: its workers got no Node of the "
					      "pools\n"));
	SIMULATE(&result, files, "--node-pools", files->workload);
	assert_int_equal(result.status, EXIT_INPUT);
	assert_non_null(strstr(result.errors, "kind: must be NodePools, is \"Workload\""));
	SIMULATE(&result, files, "--vary", "pools[a].maxNodes=1,2");
	assert_non_null(
		strstr(result.errors, "there is no document with pools; give --node-pools"));
	memory_free(path);
}

/* The price of the second row decides which of two variants is the cheap one. */
static void prices_are_varied(void **state)
{
	static const char prices[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n"
		"prices:\n- {gpuModel: H100, perGPUHour: 9}\n- {name: rest, perGPUHour: 1}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "prices.yaml");

	temp_write(files->directory, "prices.yaml", prices);
	SIMULATE(&result, files, "--price-table", path, "--vary", "prices[rest].perGPUHour=4,2");
	assert_non_null(strstr(result.output, "\n  prices[rest].perGPUHour=4 "));
	assert_non_null(strstr(result.output, "\n* prices[rest].perGPUHour=2 "));
	SIMULATE(&result, files, "--price-table", path, "--vary", "prices[1].perGPUHour=4,2");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, "\n  prices[1].perGPUHour=4 "));
	assert_non_null(strstr(result.output, "\n* prices[1].perGPUHour=2 "));
	assert_null(strstr(result.output, "no price"));
	SIMULATE(&result, files, "--price-table", path, "--vary", "prices[1].perGPUHour=4,-1");
	assert_non_null(strstr(result.errors, "prices[1].perGPUHour=-1: prices[1].perGPUHour: must "
					      "be 0 to 1000000"));
	SIMULATE(&result, files, "--price-table", path, "--set", "prices[2].perGPUHour=4");
	assert_non_null(strstr(result.errors, "--set: prices[2].perGPUHour: prices has no element "
					      "2"));
	SIMULATE(&result, files, "--set", "prices[0].perGPUHour=4");
	assert_non_null(strstr(result.errors, "there is no document with prices; give "
					      "--price-table"));
	memory_free(path);
}

/* A cost without the GPU-hours of a group is not one to choose by. */
static void groups_without_a_price_are_named(void **state)
{
	static const char line[] =
		"no price: demo/gpu; the cost leaves their GPU-hours out, so rows "
		"are compared by GPU-hours";
	static const char prices[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n"
		"prices:\n- {gpuModel: H100, perGPUHour: 9}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *path = temp_path(files->directory, "prices.yaml");
	char *page = temp_path(files->directory, "page.html");
	struct buf text;
	struct err err;

	temp_write(files->directory, "prices.yaml", prices);
	SIMULATE(&result, files, "--price-table", path, "--vary", "idleTimeoutSeconds=60,600",
		 "--report", page);
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, line));
	assert_non_null(strstr(result.output, "* no other row has fewer GPU-hours without"));
	assert_non_null(strstr(
		result.output,
		"\nbest trade (least GPU-hours and GPU-hours of waiting): idleTimeoutSeconds=60, with "));
	buf_init(&text, (size_t)16 << 20);
	assert_int_equal(file_read(page, "a page", &text, &err), 0);
	assert_non_null(strstr(buf_string(&text), line));
	assert_non_null(strstr(buf_string(&text), "\"currency\": \"EUR\""));
	assert_non_null(strstr(buf_string(&text), "\"unpriced\": true"));
	buf_done(&text);
	SIMULATE(&result, files, "--price-table", path, "-o", "json");
	assert_non_null(strstr(result.output, "\"warnings\": [\"no price: demo/gpu; "));
	assert_non_null(strstr(result.output, "\"unpriced\": true"));
	SIMULATE(&result, files, "--price-table", path, "-o", "csv");
	assert_non_null(strstr(result.output, ",cost,unpriced_gpu_hours,makespan_seconds,"));
	memory_free(path);
	memory_free(page);
}

/* One task of one GPU: an on-demand worker for 6 an hour, or a spot worker of 8 GPUs for 4. */
static void cheapest_knows_the_prices(void **state)
{
	static const char groups[] =
		"apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: demo}\n"
		"spec:\n"
		"  enableInTreeAutoscaling: true\n"
		"  headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers: [{name: h}]}}}\n"
		"  workerGroupSpecs:\n"
		"  - {groupName: one, minReplicas: 0, maxReplicas: 4, template: {spec: {containers:\n"
		"      [{name: w, resources: {limits: {cpu: 4, nvidia.com/gpu: 1}}}]}}}\n"
		"  - {groupName: spot, minReplicas: 0, maxReplicas: 4, template: {spec: {\n"
		"      nodeSelector: {cloud.google.com/gke-spot: 'true'}, containers:\n"
		"      [{name: w, resources: {limits: {cpu: 32, nvidia.com/gpu: 8}}}]}}}\n";
	static const char prices[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n"
		"prices:\n- {market: spot, perGPUHour: 0.50}\n- {perGPUHour: 6}\n";
	static struct cli_result result;
	struct simulate_files *files = *state;
	char *cluster_path = temp_path(files->directory, "groups.yaml");
	char *path = temp_path(files->directory, "spot.yaml");

	temp_write(files->directory, "groups.yaml", groups);
	temp_write(files->directory, "spot.yaml", prices);
	CLI_RUN(&result, cli_simulate, "simulate", "-f", cluster_path, "-w", files->trace,
		"--columns", "submit=at,duration=minutes:min,gpus=gpu", "--price-table", path,
		"--set", "packing=cheapest", "-o", "json");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(result.output, "\"peakGPUs\": 8"));
	memory_free(cluster_path);
	memory_free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prices_make_a_cost),
		cmocka_unit_test(cheapest_knows_the_prices),
		cmocka_unit_test(prices_are_varied),
		cmocka_unit_test(groups_without_a_price_are_named),
		cmocka_unit_test(pools_give_nodes),
	};

	return cmocka_run_group_tests(tests, simulate_files_setup, simulate_files_teardown);
}
