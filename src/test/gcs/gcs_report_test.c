#include "gcs/gcs_report.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "gcs/gcs_client.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"
#include "test/support/support.h"

static const struct ray_state seen = { .version = 7 };

static const Ray__AutoscalingState *report(const struct plan *plan, struct arena *arena,
					   size_t *ret_size)
{
	AUTO(buf_done) struct buf bytes;
	const Ray__ReportAutoscalingStateRequest *request;
	struct err err;

	buf_init(&bytes, 2 * (size_t)GCS_REPORT_MAX_BYTES);
	assert_int_equal(gcs_report_write(123, 5000, &seen, plan, &bytes), 0);
	request = gcs_message_unpack(&ray__report_autoscaling_state_request__descriptor,
				     buf_string(&bytes), bytes.size, arena, &err);
	if (!request)
		fail_msg("%s", err.text);
	if (ret_size)
		*ret_size = bytes.size;
	return request->autoscaling_state;
}

static void add(struct plan *plan, struct arena *arena, enum demand_kind kind,
		enum demand_source source, const struct ray_request *request,
		const struct ray_gang *gang, int64_t count)
{
	VEC_PUSH(arena, &plan->infeasible,
		 ((struct plan_demand){ .kind = kind,
					.source = source,
					.request = request,
					.gang = gang,
					.count = count,
					.message = "" }));
}

/* All members of Ray's message are decoded unchanged. */
static void test_infeasible_as_received(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct bundle_entry bundle[] = { { "CPU", 0.1, 1000 }, { "GPU", 1e300, 0 } };
	const char *const values[] = { "a", "b" };
	const struct label_constraint constraints[] = {
		{ "zone", LABEL_OPERATOR_NOT_IN, { values, 2 } },
		{ "kind", 9, { values, 1 } },
	};
	const struct label_selector selectors[] = { { constraints, 2 }, { NULL, 0 } };
	const struct placement_constraint placements[] = {
		{ .has_anti_affinity = true, .anti_affinity = { "_PG_1", "" } },
		{ .has_affinity = true, .affinity = { "_PG_2", "x" } },
	};
	const struct ray_request request = {
		.bundle = bundle,
		.bundle_count = 2,
		.placements = placements,
		.placement_count = 2,
		.selectors = selectors,
		.selector_count = 2,
	};
	const struct bundle_selector bundles[] = { { &request, 1 } };
	const struct ray_gang gang = { .requests = &request,
				       .request_count = 1,
				       .details = "pg",
				       .selectors = bundles,
				       .selector_count = 1 };
	const Ray__AutoscalingState *message;
	const Ray__ResourceRequest *got;
	struct plan plan = { .cluster_name = "" };

	(void)state;
	add(&plan, &arena, DEMAND_REQUEST, SOURCE_RAY, &request, NULL, 100000);
	add(&plan, &arena, DEMAND_GANG, SOURCE_RAY, NULL, &gang, 1);
	add(&plan, &arena, DEMAND_CONSTRAINT, SOURCE_RAY, &request, NULL, 3);
	add(&plan, &arena, DEMAND_CONSTRAINT, SOURCE_ANNOTATION, &request, NULL, 3);
	message = report(&plan, &arena, NULL);
	assert_int_equal(message->autoscaler_state_version, 123);
	assert_int_equal(message->last_seen_cluster_resource_state_version, 7);
	assert_int_equal(message->n_infeasible_resource_requests, 1);
	got = message->infeasible_resource_requests[0];
	assert_int_equal(got->n_resources_bundle, 2);
	assert_string_equal(got->resources_bundle[0]->key, "CPU");
	assert_true(got->resources_bundle[0]->value == 0.1);
	assert_true(got->resources_bundle[1]->value == 1e300);
	assert_int_equal(got->n_label_selectors, 2);
	assert_int_equal(got->label_selectors[0]->n_label_constraints, 2);
	assert_string_equal(got->label_selectors[0]->label_constraints[0]->label_key, "zone");
	assert_int_equal(got->label_selectors[0]->label_constraints[0]->operator_, 2);
	assert_int_equal(got->label_selectors[0]->label_constraints[0]->n_label_values, 2);
	assert_int_equal(got->label_selectors[0]->label_constraints[1]->operator_, 9);
	assert_int_equal(got->label_selectors[1]->n_label_constraints, 0);
	assert_int_equal(got->n_placement_constraints, 2);
	assert_string_equal(got->placement_constraints[0]->anti_affinity->label_name, "_PG_1");
	assert_null(got->placement_constraints[0]->affinity);
	assert_string_equal(got->placement_constraints[1]->affinity->label_value, "x");
	assert_int_equal(message->n_infeasible_gang_resource_requests, 1);
	assert_string_equal(message->infeasible_gang_resource_requests[0]->details, "pg");
	assert_int_equal(message->infeasible_gang_resource_requests[0]->n_requests, 1);
	assert_int_equal(message->infeasible_gang_resource_requests[0]->n_bundle_selectors, 1);
	assert_int_equal(message->n_infeasible_cluster_resource_constraints, 1);
	assert_int_equal(message->infeasible_cluster_resource_constraints[0]->n_resource_requests,
			 1);
	assert_int_equal(
		message->infeasible_cluster_resource_constraints[0]->resource_requests[0]->count,
		3);
}

static void test_launches_and_starting(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan plan = { .cluster_name = "" };
	const Ray__AutoscalingState *message;

	(void)state;
	VEC_PUSH(&arena, &plan.groups, ((struct plan_group){ .name = "still" }));
	VEC_PUSH(&arena, &plan.groups, ((struct plan_group){ .name = "gpu", .to_launch = 3 }));
	VEC_PUSH(&arena, &plan.groups,
		 ((struct plan_group){ .name = "vast", .to_launch = INT64_MAX }));
	for (int i = WORKER_NONE; i <= WORKER_GONE; i++)
		VEC_PUSH(&arena, &plan.workers,
			 ((struct plan_worker){ .pod = "pod",
						.group = "gpu",
						.state = (enum worker_state)i,
						.message = "why" }));
	message = report(&plan, &arena, NULL);
	assert_int_equal(message->n_pending_instance_requests, 2);
	assert_string_equal(message->pending_instance_requests[0]->ray_node_type_name, "gpu");
	assert_string_equal(message->pending_instance_requests[0]->instance_type_name, "gpu");
	assert_int_equal(message->pending_instance_requests[0]->count, 3);
	assert_int_equal(message->pending_instance_requests[0]->request_ts, 5);
	assert_int_equal(message->pending_instance_requests[1]->count, INT32_MAX);
	assert_int_equal(message->n_pending_instances, 2);
	assert_string_equal(message->pending_instances[0]->details, "Pending: why");
	assert_string_equal(message->pending_instances[1]->details, "Starting: why");
	assert_int_equal(message->n_infeasible_resource_requests, 0);
	assert_int_equal(message->n_infeasible_cluster_resource_constraints, 0);
}

static void add_unserved(struct plan *plan, struct arena *arena, const char *group,
			 enum reason reason, const char *why)
{
	VEC_PUSH(arena, &plan->unserved,
		 ((struct plan_demand){
			 .count = 1, .reason = reason, .message = why, .group = group }));
}

/* `ray status` prints one line for each group. */
static void test_demand_that_waits_for_a_pool(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan plan = { .cluster_name = "" };
	const Ray__AutoscalingState *message;

	(void)state;
	add_unserved(&plan, &arena, "gpu", REASON_WAITS_FOR_POOL, "place 1 of 2");
	add_unserved(&plan, &arena, "cpu", REASON_MAX_REPLICAS, "at most 4");
	add_unserved(&plan, &arena, "", REASON_WAITS_FOR_POOL, "of no group");
	add_unserved(&plan, &arena, "gpu", REASON_WAITS_FOR_POOL, "place 2 of 2");
	message = report(&plan, &arena, NULL);
	assert_int_equal(message->n_pending_instances, 1);
	assert_string_equal(message->pending_instances[0]->ray_node_type_name, "gpu");
	assert_string_equal(message->pending_instances[0]->instance_id, "no worker");
	assert_string_equal(message->pending_instances[0]->details, "WaitsForPool: place 1 of 2");
}

static const struct ray_request *shape(struct arena *arena, size_t number, size_t name_size)
{
	struct bundle_entry *bundle = ARENA_NEW(arena, struct bundle_entry);
	struct ray_request *request = ARENA_NEW(arena, struct ray_request);
	char *name = arena_alloc(arena, name_size + 40);

	memset(name, 'n', name_size);
	(void)snprintf(name + name_size, 40, "%zu", number);
	*bundle = (struct bundle_entry){ .name = name, .received = 1, .amount = 10000 };
	*request = (struct ray_request){ .bundle = bundle, .bundle_count = 1 };
	return request;
}

/* T36: 100,000 shapes are no reason for 100,000 messages. */
static void test_ceilings(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct plan many = { .cluster_name = "" }, large = { .cluster_name = "" };
	struct ray_gang gang = { .details = "", .request_count = 0 };
	const Ray__AutoscalingState *message;
	size_t size;

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		add(&many, &arena, DEMAND_REQUEST, SOURCE_RAY, shape(&arena, i, 0), NULL, 1000000);
	for (size_t i = 0; i < 2000; i++)
		add(&many, &arena, DEMAND_GANG, SOURCE_RAY, NULL, &gang, 1);
	message = report(&many, &arena, NULL);
	assert_int_equal(message->n_infeasible_resource_requests, GCS_REPORT_MAX_ENTRIES);
	assert_int_equal(message->n_infeasible_gang_resource_requests, GCS_REPORT_MAX_ENTRIES);
	/* Names of 100 kB: the bytes are the limit; a small entry behind them is still sent. */
	for (size_t i = 0; i < 100; i++)
		add(&large, &arena, DEMAND_REQUEST, SOURCE_RAY, shape(&arena, i, 100000), NULL, 1);
	add(&large, &arena, DEMAND_REQUEST, SOURCE_RAY, shape(&arena, 1, 0), NULL, 1);
	message = report(&large, &arena, &size);
	assert_true(size <= GCS_REPORT_MAX_BYTES + 100000);
	assert_true(size > GCS_REPORT_MAX_BYTES - 200000);
	assert_int_equal(message->n_infeasible_resource_requests, 41 + 1);
}

static void test_version(void **state)
{
	static const struct {
		time_ms now;
		int64_t seen, sent, version;
	} cases[] = {
		{ 1000, 0, 0, 1000 },    { 1000, 999, 0, 1000 },         { 1000, 1000, 0, 1001 },
		{ 1000, 5000, 0, 5001 }, { 1000, 0, 1000, 1001 },        { 1000, 50, 2000, 2001 },
		{ -5, 0, 0, 1 },         { 0, INT64_MAX, 0, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct ray_state reply = { .last_seen_autoscaler_state_version = cases[i].seen };

		assert_int_equal(gcs_report_version(cases[i].now, &reply, cases[i].sent),
				 cases[i].version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_infeasible_as_received),
		cmocka_unit_test(test_launches_and_starting),
		cmocka_unit_test(test_demand_that_waits_for_a_pool),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
