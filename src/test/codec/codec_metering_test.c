/* feature/cost/core/metering: GPU time by state from decision to decision, over restarts and steps of the
 * clock. */
#include "test/support/metering_run.h"

static void test_time_by_state(void **state)
{
	struct run *run = *state;

	decide_on(run, all_states);
	expect(run, "gpu", 0, 0, 0, 0);
	pass_time(run, SECONDS(100));
	decide_on(run, no_worker);
	expect(run, "gpu", 150, 250, 200, 200);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 800 * 1000);
	pass_time(run, SECONDS(100));
	decide_on(run, no_worker);
	expect(run, "gpu", 150, 250, 200, 200);
	assert_int_equal(run->metering.group_count, 1);
}

#define IDLE_NODE(name, free)                                                                      \
	"  - {nodeId: " name ", instanceId: " name ", rayNodeTypeName: gpu, status: IDLE,\n"       \
	"     idleDurationMs: '1000', totalResources: {CPU: 2, GPU: 2}, availableResources: "      \
	"{CPU: 2, GPU: " free "}}\n"
#define ASKED(member, bundle)                                                                      \
	"  " member ": [{resourceRequests: [{request: {resourcesBundle: {" bundle                  \
	"}}, count: '2'}]}]\n"

/* Only GPUs that a request of Ray's SDK alone keeps are those of requests: what is used, what is waited for as well, and
 * what it does not keep are not. All states still make the whole. */
static void test_time_of_unused_requests(void **state)
{
	static const char requested[] = DEMO POD("AQI=") POD("AQM=") POD("AQQ=")
		RAY NODE("AQI=", ", GPU: 0.5") IDLE_NODE("AQM=", "2") IDLE_NODE("AQQ=", "2")
			ASKED("clusterResourceConstraints", "GPU: 2");
	static const char waits[] = DEMO POD("AQI=") POD(
		"AQM=") RAY NODE("AQI=", ", GPU: 0.5") IDLE_NODE("AQM=", "2")
		ASKED("clusterResourceConstraints",
		      "GPU: 2") "  pendingResourceRequests: [{request: {resourcesBundle: {GPU: 2}}, count: '1'}]\n";
	struct run *run = *state;

	decide_on(run, requested);
	assert_int_equal(group_of(run, "gpu")->gpus[METERING_REQUESTED], 2 * RESOURCE_UNIT);
	pass_time(run, SECONDS(100));
	decide_on(run, waits);
	expect(run, "gpu", 150, 50 + 200, 0, 0);
	assert_int_equal(group_of(run, "gpu")->seconds[METERING_REQUESTED].whole, 200);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 600 * 1000);
	assert_int_equal(group_of(run, "gpu")->requested_cost.whole, 200 * 1000);
	assert_int_equal(run->metering.today_seconds.whole, 600);
	pass_time(run, SECONDS(100));
	decide_on(run, no_worker);
	expect(run, "gpu", 300, 300 + 200, 0, 0);
	assert_int_equal(group_of(run, "gpu")->seconds[METERING_REQUESTED].whole, 200);
	write_status(run);
	assert_int_equal(
		run->object.status->parts.metering->groups[0].gpu_seconds[METERING_REQUESTED], 200);
	restart(run);
	decide_on(run, no_worker);
	assert_int_equal(group_of(run, "gpu")->requested_cost.whole, 200 * 1000);
	assert_int_equal(metering_seconds_shown(&run->metering, group_of(run, "gpu"),
						METERING_REQUESTED),
			 200);
}

/* The Node of the first worker is known. */
static const struct labels *labels_of_n1(const struct nodes *nodes, const char *name)
{
	static const struct label spot = { "karpenter.sh/capacity-type", "spot" };
	static const struct labels labels = { &spot, 1 };

	(void)nodes;
	return strcmp(name, "n1") == 0 ? &labels : NULL;
}

#define POD_ON(name, node, group)                                                                  \
	"- {metadata: {namespace: team, name: " name ", labels: {ray.io/cluster: demo,\n"          \
	"    ray.io/node-type: worker, ray.io/group: " group "}},\n"                               \
	"   spec: {containers: [{name: w, " GPUS "}], nodeName: " node "}, status: {" RUNS "}}\n"

/* Each worker has the price of its own Node, one on an unknown Node that of its template; the workers
 * of a group that was removed keep the price of its last worker. */
static void test_prices_of_nodes(void **state)
{
	static const struct price_row rows[] = {
		{ .gpu_model = "", .market = PRICE_SPOT, .micros_per_gpu_hour = 3600000 },
		{ .gpu_model = "", .micros_per_gpu_hour = 36000000 },
	};
	static const struct price_table table = { "EUR", rows, 2 };
	static const char both[] = CLUSTER("true", GROUP("gpu")) POD_ON("AQI=", "n1", "gpu")
		POD_ON("AQM=", "n2", "gpu") RAY NODE("AQI=", "") NODE("AQM=", "");
	static const char first[] = CLUSTER("true", GROUP("gpu")) POD_ON("AQI=", "n1", "gpu")
		RAY NODE("AQI=", "");
	static const char removed[] = CLUSTER("true", GROUP("new")) POD_ON("AQI=", "n1", "gpu")
		RAY NODE("AQI=", "");
	struct run *run = *state;

	run->prices = &table;
	run->node_labels = labels_of_n1;
	decide_on(run, both);
	write_status(run);
	assert_int_equal(run->object.status->parts.metering->cost_per_hour_micros, 2 * 39600000);
	pass_time(run, SECONDS(10));
	decide_on(run, first);
	expect(run, "gpu", 40, 0, 0, 0);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 10 * 2 * (1000 + 10000));
	pass_time(run, SECONDS(10));
	decide_on(run, removed);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 10 * 2 * (2 * 1000 + 10000));
	pass_time(run, SECONDS(10));
	decide_on(run, removed);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 10 * 2 * (3 * 1000 + 10000));
	write_status(run);
	restart(run);
	pass_time(run, SECONDS(10));
	decide_on(run, first); /* the time between counts with the price of the Node */
	assert_int_equal(group_of(run, "gpu")->cost.whole, 10 * 2 * (4 * 1000 + 10000));
}

/* Prices are of GPUs, which are never resized: more CPU and memory cost nothing, also while the resize is
 * under way. */
static void test_a_resize_costs_nothing(void **state)
{
	static const char resized[] = DEMO
		"- {metadata: {namespace: team, name: AQI=, labels: {ray.io/cluster: demo,\n"
		"    ray.io/node-type: worker, ray.io/group: gpu}, annotations: {\n"
		"    ray.io/ippr-status: '{\"raylet-id\": \"02\", \"resizing-at\": 1795168700}'}},\n"
		"   spec: {containers: [{name: w, resources: {limits: {cpu: 16, memory: 64Gi,\n"
		"    nvidia.com/gpu: 2}}}], nodeName: n}, status: {" RUNS "}}\n" RAY
		"  - {nodeId: AQI=, instanceId: AQI=, rayNodeTypeName: gpu, status: RUNNING,\n"
		"     totalResources: {CPU: 16, GPU: 2}, availableResources: {CPU: 2, GPU: 0.5}}\n";
	struct run *run = *state;

	decide_on(run, one_worker);
	pass_time(run, SECONDS(100));
	decide_on(run, resized);
	pass_time(run, SECONDS(100));
	decide_on(run, resized);
	expect(run, "gpu", 300, 100, 0, 0);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 400 * 1000);
}

/* Parts of a second and of a millionth are not lost. */
static void test_nothing_is_lost_by_rounding(void **state)
{
	struct run *run = *state;

	for (size_t i = 0; i <= 1000; i++) {
		decide_on(run, one_worker);
		pass_time(run, 7);
	}
	expect(run, "gpu", 10, 3, 0, 0); /* 7 s of 1.5 and 0.5 GPUs */
	assert_int_equal(group_of(run, "gpu")->cost.whole, 14 * 1000);
}

static void test_ray_is_not_reached(void **state)
{
	static const char unreached[] = DEMO POD("AQI=");
	struct run *run = *state;

	decide_on(run, unreached);
	pass_time(run, SECONDS(10));
	decide_on(run, unreached);
	expect(run, "gpu", 20, 0, 0, 0);
}

/* Seconds that were counted and not written are counted again from the Pods, once. */
static void test_a_restart_continues_where_the_status_ends(void **state)
{
	struct run *run = *state;

	decide_on(run, one_worker);
	pass_time(run, SECONDS(100));
	decide_on(run, one_worker);
	write_status(run);
	decide_on(run, one_worker);
	assert_int_equal(group_of(run, "gpu")->stored_seconds[METERING_USED], 150);
	pass_time(run, SECONDS(60));
	decide_on(run, one_worker);
	expect(run, "gpu", 240, 80, 0, 0);
	assert_int_equal(
		metering_seconds_shown(&run->metering, group_of(run, "gpu"), METERING_USED), 150);
	restart(run);
	pass_time(run, SECONDS(40));
	decide_on(run, one_worker);
	expect(run, "gpu", 300, 100, 0, 0); /* 200 s in all */
	assert_int_equal(
		metering_seconds_shown(&run->metering, group_of(run, "gpu"), METERING_USED), 150);
	assert_int_equal(run->metering.since, START);
	assert_int_equal(metering_cost_shown(&run->metering, group_of(run, "gpu")), 200 * 1000);
	assert_int_equal(group_of(run, "gpu")->cost.whole, 400 * 1000);
	pass_time(run, SECONDS(10));
	decide_on(run, one_worker);
	expect(run, "gpu", 315, 105, 0, 0);
}

/* Whenever the process is killed, and whenever it last wrote: the GPU time is never above that of
 * the Pods, and what metrics show never decreases. */
static void test_kills_at_any_time(void **state)
{
	struct run *run = *state;
	uint32_t random = 7;
	int64_t shown = 0;

	decide_on(run, one_worker);
	for (size_t i = 0; i < 3000; i++) {
		const struct metering_group *group;

		random = random * 1664525 + 1013904223;
		pass_time(run, random >> 20);
		if (random >> 28 == 3)
			write_status(run);
		if (random >> 28 == 7)
			restart(run);
		decide_on(run, one_worker);
		group = group_of(run, "gpu");
		assert_true(group->seconds[METERING_USED].whole * 2 <=
			    3 * (run->wall - START) / 1000);
		assert_true(metering_seconds_shown(&run->metering, group, METERING_USED) >= shown);
		shown = metering_seconds_shown(&run->metering, group, METERING_USED);
		assert_true(shown <= group->seconds[METERING_USED].whole);
	}
	/* Each restart loses less than a second. */
	assert_true(shown * 2 > 3 * (run->wall - START) / 1000 * 9 / 10);
}

/* A Pod that began while no controller ran counts from its creation; one that ended does not. */
static void test_a_gap_counts_from_the_creation_of_pods(void **state)
{
	static const char later[] = DEMO POD_IN("AQI=", "gpu", "2026-11-20T10:01:00Z", "", RUNS)
		RAY NODE("AQI=", "");
	struct run *run = *state;

	decide_on(run, one_worker);
	write_status(run);
	restart(run);
	pass_time(run, SECONDS(100));
	decide_on(run, later);
	expect(run, "gpu", 80, 0, 0, 0);
	write_status(run);
	restart(run);
	pass_time(run, HOURS(100));
	decide_on(run, one_worker);
	expect(run, "gpu", 80 + 24 * 3600 * 3 / 2, 24 * 3600 / 2, 0, 0); /* a day at most */
}

static void test_steps_of_the_clock(void **state)
{
	struct run *run = *state;

	decide_on(run, one_worker);
	for (size_t i = 0; i < 2; i++) {
		run->wall += i == 0 ? HOURS(50) : -HOURS(90);
		run->monotonic += SECONDS(10);
		decide_on(run, one_worker);
	}
	expect(run, "gpu", 30, 10, 0, 0);
	write_status(run);
	restart(run);
	run->wall -= HOURS(1); /* a replica whose clock is behind */
	decide_on(run, one_worker);
	expect(run, "gpu", 30, 10, 0, 0);
	run->monotonic -= SECONDS(5);
	decide_on(run, one_worker);
	expect(run, "gpu", 30, 10, 0, 0);
	run->monotonic += HOURS(1000);
	decide_on(run, one_worker);
	expect(run, "gpu", 30 + 24 * 3600 * 3 / 2, 10 + 24 * 3600 / 2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_time_by_state),
		TEST(test_time_of_unused_requests),
		TEST(test_prices_of_nodes),
		TEST(test_a_resize_costs_nothing),
		TEST(test_nothing_is_lost_by_rounding),
		TEST(test_ray_is_not_reached),
		TEST(test_a_restart_continues_where_the_status_ends),
		TEST(test_kills_at_any_time),
		TEST(test_a_gap_counts_from_the_creation_of_pods),
		TEST(test_steps_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
