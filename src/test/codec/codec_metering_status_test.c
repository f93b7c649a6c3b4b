/* feature/cost/core/metering: whose sums are resumed, changed groups, limits, and the status that stores
 * them. */
#include "base/buf.h"
#include "codec/objects/autoscaler_json.h"
#include "core/report/autoscaler_status.h"
#include "test/support/codec_support.h"
#include "test/support/metering_run.h"

static void test_sums_of_others_are_not_resumed(void **state)
{
	static const struct price_table dollars = { "USD", &price, 1 };
	struct run *run = *state;

	decide_on(run, one_worker);
	pass_time(run, SECONDS(100));
	decide_on(run, one_worker);
	write_status(run);
	restart(run);
	run->prices = &dollars;
	decide_on(run, one_worker);
	expect(run, "gpu", 150, 50, 0, 0);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 0);
	restart(run);
	((struct autoscaler_metering *)run->object.status->parts.metering)->cluster_uid = "u0";
	decide_on(run, one_worker);
	expect(run, "gpu", 0, 0, 0, 0);
}

/* Without an object, and in a sidecar, counting begins with the process; metrics of a sidecar show
 * the sums themselves, those of a controller only stored ones. */
static void test_without_an_object(void **state)
{
	struct run *run = *state;

	run->has_object = false;
	for (size_t i = 0; i < 2; i++) {
		run->sidecar = i == 1;
		restart(run);
		decide_on(run, one_worker);
		pass_time(run, SECONDS(100));
		decide_on(run, one_worker);
		expect(run, "gpu", 150, 50, 0, 0);
		assert_int_equal(metering_seconds_shown(&run->metering, group_of(run, "gpu"),
							METERING_USED),
				 run->sidecar ? 150 : 0);
		assert_int_equal(metering_cost_shown(&run->metering, group_of(run, "gpu")),
				 run->sidecar ? 200 * 1000 : 0);
	}
	/* An object that appears later with greater sums is not overwritten by smaller ones. */
	run->sidecar = false;
	write_status(run);
	restart(run);
	decide_on(run, one_worker);
	run->has_object = true;
	pass_time(run, SECONDS(2));
	decide_on(run, one_worker);
	expect(run, "gpu", 150, 50, 0, 0);
}

static void test_a_group_is_renamed(void **state)
{
	static const char renamed[] = CLUSTER("true", GROUP("new")) POD("AQI=")
		POD_IN("AQM=", "new", "2026-11-20T09:50:00Z", "", RUNS) RAY NODE("AQI=", "")
			NODE("AQM=", ", GPU: 2");
	struct run *run = *state;

	decide_on(run, one_worker);
	pass_time(run, SECONDS(10));
	decide_on(run, renamed);
	expect(run, "gpu", 15, 5, 0, 0);
	pass_time(run, SECONDS(10));
	decide_on(run, renamed);
	expect(run, "new", 0, 20, 0, 0);
	expect(run, "gpu", 35, 5, 0, 0);
	assert_int_equal(run->metering.group_count, 2);
}

static void test_the_number_of_groups_is_limited(void **state)
{
	struct run *run = *state;
	AUTO(buf_done) struct buf text;

	buf_init(&text, 1 << 20);
	for (size_t round = 0; round < 2; round++) {
		buf_clear(&text);
		buf_add_string(&text, CLUSTER("true", ""));
		text.size -= strlen("pods:\n");
		for (size_t i = 0; i < 80; i++)
			buf_printf(&text,
				   "    - {groupName: g%zu-%zu, maxReplicas: 1, template: {spec: "
				   "{containers: [{name: w, " GPUS "}]}}}\n",
				   round, i);
		buf_add_string(&text, "pods:\n" RAY);
		decide_on(run, buf_string(&text));
	}
	assert_int_equal(run->metering.group_count, METERING_GROUPS_MAX + 1);
	assert_non_null(group_of(run, METERING_OTHER));
}

static void test_sums_do_not_overflow(void **state)
{
	static const char many[] = DEMO POD("AQI=") RAY
		"  - {nodeId: AQI=, instanceId: AQI=, rayNodeTypeName: gpu, status: RUNNING,\n"
		"     totalResources: {CPU: 2, GPU: 90000000000000}}\n";
	static const struct price_row dear = { .gpu_model = "",
					       .micros_per_gpu_hour = 1000000 * PRICE_MICROS };
	static const struct price_table high = { "EUR", &dear, 1 };
	struct run *run = *state;
	struct autoscaler_metering_group *stored;

	run->prices = &high;
	decide_on(run, many);
	write_status(run);
	stored = (struct autoscaler_metering_group *)run->object.status->parts.metering->groups;
	stored->gpu_seconds[METERING_USED] = stored->cost_micros = INT64_MAX - 5;
	stored->gpu_seconds[METERING_IDLE] = -7;
	restart(run);
	pass_time(run, HOURS(20));
	decide_on(run, many);
	pass_time(run, HOURS(20));
	decide_on(run, many);
	expect(run, "gpu", INT64_MAX, 0, 0, 0);
	assert_int_equal(group_of(run, "gpu")->cost.whole, INT64_MAX);
	assert_int_equal(group_of(run, "gpu")->gpus[METERING_USED], METERING_GPUS_MAX);
}

static void test_today(void **state)
{
	struct run *run = *state;

	run->wall = MIDNIGHT - SECONDS(60);
	decide_on(run, one_worker);
	pass_time(run, SECONDS(90)); /* 30 s of the new day */
	decide_on(run, one_worker);
	assert_int_equal(run->metering.today_seconds.whole, 60);
	assert_int_equal(run->metering.today_cost.whole, 60 * 1000);
	write_status(run);
	restart(run);
	decide_on(run, one_worker);
	assert_int_equal(run->metering.today_seconds.whole, 60);
	restart(run);
	pass_time(run, HOURS(24));
	decide_on(run, one_worker);
	assert_int_equal(run->metering.today_seconds.whole, 60); /* again 30 s after midnight */
}

static void test_a_cluster_that_is_not_scaled(void **state)
{
	static const char off[] = CLUSTER("false", GROUP("gpu")) POD("AQI=");
	struct run *run = *state;

	decide_on(run, one_worker);
	pass_time(run, SECONDS(10));
	decide_on(run, off);
	expect(run, "gpu", 15, 5, 0, 0);
	pass_time(run, HOURS(1));
	decide_on(run, one_worker);
	expect(run, "gpu", 15, 5, 0, 0);
}

static void test_a_head_with_gpus(void **state)
{
	static const char head[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: '2026-11-20T10:00:00Z'\n"
		"rayCluster:\n  apiVersion: ray.io/v1\n"
		"  metadata: {namespace: team, name: demo, uid: u1}\n  spec:\n"
		"    enableInTreeAutoscaling: true\n"
		"    headGroupSpec: {rayStartParams: {}, template: {spec: {containers:\n"
		"      [{name: h, " GPUS "}]}}}\n"
		"pods:\n- {metadata: {namespace: team, name: demo-head, labels: {ray.io/cluster: "
		"demo,\n    ray.io/node-type: head, ray.io/group: headgroup}},\n"
		"   spec: {containers: [{name: h, " GPUS "}], nodeName: n}, status: {phase: "
		"Running}}\nrayState:\n  nodeStates:\n"
		"  - {nodeId: AQE=, instanceId: demo-head, rayNodeTypeName: headgroup, status: "
		"RUNNING,\n     totalResources: {'node:__internal_head__': 1, GPU: 2},\n"
		"     availableResources: {GPU: 1.5}}\n";
	struct run *run = *state;

	decide_on(run, head);
	pass_time(run, SECONDS(10));
	decide_on(run, head);
	expect(run, HEAD_GROUP_NAME, 5, 15, 0, 0);
	assert_int_equal(group_of(run, HEAD_GROUP_NAME)->cost.whole, 20 * 1000);
}

static void test_the_status(void **state)
{
	struct run *run = *state;
	const struct autoscaler_metering *status;

	assert_null(metering_status(&run->metering, "u1", &run->arena));
	assert_null(metering_status(NULL, "u1", &run->arena));
	decide_on(run, all_states);
	status = metering_status(&run->metering, "u1", &run->arena);
	assert_string_equal(status->gpus, "8");
	assert_int_equal(status->cost_per_hour_micros, 8 * 3600000);
	assert_string_equal(status->currency, "EUR");
	run->prices = NULL;
	decide_on(run, all_states);
	status = metering_status(&run->metering, "u1", &run->arena);
	assert_int_equal(status->cost_per_hour_micros, 0);
	assert_string_equal(status->currency, "");
}

/* The status of a decision that is made now, as JSON. */
static const char *status_of(struct run *run, struct autoscaler_status_input *input)
{
	struct snapshot *snapshot = ARENA_NEW(&run->stored_arena, struct snapshot);
	struct summary status;
	struct err err;

	if (snapshot_read(no_worker, strlen(no_worker), &run->stored_arena, snapshot, &err))
		fail_msg("%s", err.text);
	snapshot->now = snapshot->ray_state_time = run->wall;
	input->snapshot = snapshot;
	input->plan = decide(snapshot, &run->stored_arena);
	input->summary = summary_of(snapshot, input->plan, &run->stored_arena);
	input->object = &run->object;
	status = autoscaler_status_of(input, &run->stored_arena);
	return autoscaler_status_text(&status, &run->stored_arena);
}

static void store_status(struct run *run, const char *text)
{
	AUTO(json_done)
	struct cJSON *tree = codec_tree(
		arena_printf(&run->stored_arena, "{\"metadata\": {}, \"status\": %s}", text));
	struct err err;

	if (autoscaler_decode(tree, "", &run->stored_arena, &run->object, &err))
		fail_msg("%s", err.text);
}

/* Sums that grow are not a reason to write; they go with lastDecisionTime, and are read again. */
static void test_metering_is_written_with_the_decision_time(void **state)
{
	const struct autoscaler_metering_group group = { "gpu", { 5, 4, 1, 3, 2 }, 1 };
	struct autoscaler_metering first = {
		.cluster_uid = "u",
		.since = 0,
		.until = START + 123,
		.currency = "EUR",
		.gpus = "2",
		.groups = &group,
		.group_count = 1,
	};
	struct autoscaler_metering second = first;
	struct run *run = *state;
	struct summary sent = { .parts.metering = &second };
	struct autoscaler_status_input input = { .parts.metering = &first };
	const struct autoscaler_metering *stored;

	second.today_gpu_seconds = 77;
	assert_non_null(strstr(status_of(run, &input), "\"startingGPUSeconds\": 3"));
	store_status(run, status_of(run, &input));
	stored = run->object.status->parts.metering;
	assert_int_equal(stored->until, first.until);
	assert_int_equal(stored->groups[0].gpu_seconds[METERING_TERMINATING], 2);
	input.parts.metering = &second;
	run->wall += SECONDS(200);
	assert_string_equal(status_of(run, &input), run->object.status_text);
	/* A status that was sent and is not in the object yet counts. */
	sent.decided_at = run->wall - SECONDS(1);
	input.sent = &sent;
	assert_non_null(strstr(status_of(run, &input), "\"todayGPUSeconds\": 77"));
	input.sent = NULL;
	second.today_gpu_seconds = 78;
	run->wall += SECONDS(100);
	assert_non_null(strstr(status_of(run, &input), "\"todayGPUSeconds\": 78"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sums_of_others_are_not_resumed),
		TEST(test_without_an_object),
		TEST(test_a_group_is_renamed),
		TEST(test_the_number_of_groups_is_limited),
		TEST(test_sums_do_not_overflow),
		TEST(test_today),
		TEST(test_a_cluster_that_is_not_scaled),
		TEST(test_a_head_with_gpus),
		TEST(test_the_status),
		TEST(test_metering_is_written_with_the_decision_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
