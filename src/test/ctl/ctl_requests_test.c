/* feature/requests/ctl with a scripted GCS: the shape of a RayCluster is sent once for each session and change. */
#include "feature/requests/ctl/requests_feature.h"

#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/requests/core/requests.h"
#include "test/support/feature_alone.h"
#include "test/support/gcs_bench.h"
#include "test/support/loop_wait.h"
#include "test/support/metrics_lines.h"
#include "test/support/support.h"

#define PATH "/ray.rpc.autoscaler.AutoscalerStateService/ReportClusterConfig"

static const Ray__ReportClusterConfigReply reply = RAY__REPORT_CLUSTER_CONFIG_REPLY__INIT;
static struct options options = { .gcs_timeout_seconds = 2 };
static struct control control;
static struct arena arena;
static void *requests;
static int64_t clock_ms;

static int setup(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &reply.base;
	control = (struct control){ .loop = gcs_bench.loop, .options = &options };
	requests = alone_begin(&requests_feature, &control);
	clock_ms = 1000000;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gcs_client_free(steal(&gcs_bench.client));
	alone_end();
	gcs_bench_close();
	arena_done(&arena);
	return 0;
}

static bool has_request(void *context)
{
	(void)context;
	return gcs_bench.gcs.body.size > 0;
}

static bool never(void *context)
{
	(void)context;
	return false;
}

/* The report of a decision; NULL: none. */
static const Ray__ClusterConfig *decided(const char *session, const struct cluster_shape *shape)
{
	const struct ray_state state = { .session_name = session };
	const struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" } };
	const struct plan_requests asked = { .shape = shape };
	const struct plan plan = { .requests = &asked };
	const struct pass_decision decision = { .plan = &plan,
						.snapshot = &snapshot,
						.ray_state = &state,
						.monotonic_ms = clock_ms,
						.gcs = gcs_bench.client };
	const Ray__ReportClusterConfigRequest *request;

	buf_clear(&gcs_bench.gcs.body);
	requests_feature.decided(requests, &decision);
	if (!loop_wait_until(gcs_bench.loop, has_request, NULL, 300))
		return NULL;
	/* The answer arrives with one of the next turns. */
	(void)loop_wait_until(gcs_bench.loop, never, NULL, 50);
	assert_string_equal(gcs_bench.gcs.path, PATH);
	request = gcs_message_unpack(&ray__report_cluster_config_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_non_null(request);
	return request->cluster_config;
}

static const struct resource items[] = { { "CPU", 8 * RESOURCE_UNIT },
					 { "accelerator_type:H100", RESOURCE_UNIT },
					 { "share", RESOURCE_UNIT / 4 } };
static const struct shape_group groups[] = {
	{ "headgroup", { items, 1 }, 1, 1 },
	{ "gpu", { items, 3 }, 0, CLUSTER_SHAPE_NO_MAXIMUM },
};

static void test_once_for_each_session_and_change(void **state)
{
	struct cluster_shape shape = { groups, 2, -1 };
	const Ray__ClusterConfig *sent;

	(void)state;
	sent = decided("session_1", &shape);
	assert_non_null(sent);
	assert_int_equal(sent->n_node_group_configs, 2);
	assert_int_equal(sent->n_max_resources, 0);
	assert_string_equal(sent->node_group_configs[1]->name, "gpu");
	assert_int_equal(sent->node_group_configs[1]->max_count, -1);
	assert_int_equal(sent->node_group_configs[0]->min_count, 1);
	assert_string_equal(sent->node_group_configs[1]->resources[1]->key,
			    "accelerator_type:H100");
	assert_int_equal(sent->node_group_configs[1]->resources[0]->value, 8);
	assert_int_equal(sent->node_group_configs[1]->resources[2]->value, 1); /* rounded up */
	assert_null(decided("session_1", &shape));
	shape.max_gpus = 4 * RESOURCE_UNIT;
	sent = decided("session_1", &shape);
	assert_non_null(sent);
	assert_string_equal(sent->max_resources[0]->key, "GPU");
	assert_int_equal(sent->max_resources[0]->value, 4);
	assert_null(decided("session_1", &shape));
	assert_non_null(decided("session_2", &shape));
	assert_null(decided("session_2", NULL)); /* not known: nothing is sent */
	assert_null(decided("session_2", &shape));
}

static void test_again_after_a_failure(void **state)
{
	struct cluster_shape shape = { groups, 2, -1 };

	(void)state;
	gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE };
	assert_non_null(decided("session_1", &shape));
	gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = 0 };
	assert_null(decided("session_1", &shape));
	clock_ms += SHAPE_RETRY_MS;
	assert_non_null(decided("session_1", &shape));
	clock_ms += SHAPE_RETRY_MS;
	assert_null(decided("session_1", &shape));
}

static void test_a_ray_without_the_method_is_left_alone(void **state)
{
	struct cluster_shape shape = { groups, 2, -1 };

	(void)state;
	gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED };
	assert_non_null(decided("session_1", &shape));
	clock_ms += SHAPE_RETRY_MS;
	assert_null(decided("session_1", &shape));
	assert_non_null(decided("session_2", &shape));
}

/* Those that requests ask for, and those that idle workers hold for them alone. */
static void test_accelerators_in_the_metrics(void **state)
{
	const struct snapshot snapshot = { .cluster = { .namespace_ = "a", .name = "demo" } };
	const struct plan_requests held = { .asked = 32 * RESOURCE_UNIT,
					    .held = 29 * RESOURCE_UNIT };
	const struct plan plan = { .requests = &held };
	const struct pass_decision decision = { .plan = &plan, .snapshot = &snapshot };
	const struct metrics_cluster cluster = { .of = { "a", "demo", "a/demo" } };
	AUTO(buf_done) struct buf text;

	(void)state;
	requests_feature.decided(requests, &decision);
	buf_init(&text, 4096);
	ARRAY_EACH(const struct feature_metric, metric, requests_feature.metrics,
		   requests_feature.metric_count) {
		struct metrics_family family = { .buf = &text, .row = &metric->row };

		metric->write(requests, &cluster, &family);
	}
	metrics_expect_line(
		&text, "rayscaler_request_accelerators{namespace=\"a\",raycluster=\"demo\"} 32");
	metrics_expect_line(
		&text,
		"rayscaler_request_accelerators_unused{namespace=\"a\",raycluster=\"demo\"} 29");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once_for_each_session_and_change, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_again_after_a_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_ray_without_the_method_is_left_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_accelerators_in_the_metrics, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
