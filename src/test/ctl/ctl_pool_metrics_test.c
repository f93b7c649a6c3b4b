/* The metrics of the pools: figures of the last allocation, times that grow between two, and workers
 * that count once their patch is accepted. */
#include "feature/pools/ctl/pool_metrics.h"

#include <string.h>

#include "core/model/reason.h"
#include "test/support/metrics_lines.h"
#include "test/support/support.h"

#define GPUS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define KEY "ml/demo"

static const struct metrics_row rows[] = {
#define X(kind, identifier, name, labels, help) { METRICS_##kind, name, labels, help },
	POOL_METRICS_TABLE(X)
#undef X
};

static struct pool_metrics *metrics;
static struct gpu_pool_queue_status queues[2];
static struct condition ready;
static struct gpu_pool_status statuses[2];
static struct buf text;
static struct arena arena;

static int setup(void **state)
{
	(void)state;
	metrics = pool_metrics_new();
	arena = ARENA_INIT;
	buf_init(&text, 65536);
	ready = (struct condition){ .type = "Ready", .status = "True" };
	queues[0] = (struct gpu_pool_queue_status){ .name = "research",
						    .held = GPUS(6),
						    .busy = GPUS(4),
						    .idle = GPUS(2),
						    .borrowed = GPUS(2),
						    .guaranteed = GPUS(4),
						    .below_guarantee_since = TIME_NONE,
						    .waiting_since = TIME_NONE };
	queues[1] = (struct gpu_pool_queue_status){ .name = "",
						    .waiting = GPUS(3) / 2,
						    .waiting_units = 3,
						    .below_guarantee_since = TIME_NONE,
						    .waiting_since = 100000 };
	statuses[0] = (struct gpu_pool_status){
		.gpus = GPUS(8), .queues = queues, .queue_count = 2, .conditions = { &ready, 1 }
	};
	statuses[1] = statuses[0];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_metrics_free(metrics);
	buf_done(&text);
	arena_done(&arena);
	return 0;
}

static void allocated(size_t count, int64_t monotonic_ms)
{
	static const char *const names[] = { "a100", POOL_OF_FLAGS };

	pool_metrics_allocated(metrics,
			       &(struct pool_metrics_allocation){ .names = names,
								  .statuses = statuses,
								  .count = count,
								  .cpu_us = 2500,
								  .monotonic_ms = monotonic_ms });
}

static void expose(int64_t monotonic_ms, time_ms now)
{
	buf_done(&text);
	buf_init(&text, 65536);
	for (int id = 0; id < POOL_METRIC_COUNT; id++) {
		struct metrics_family family = { .buf = &text, .row = &rows[id] };

		pool_metrics_write(metrics, (enum pool_metric)id, monotonic_ms, now, &family);
	}
}

static void expect(const char *line)
{
	metrics_expect_line(&text, line);
}

#define RESEARCH "{pool=\"a100\",queue=\"research\"} "
#define OTHERS "{pool=\"a100\",queue=\"\"} "

static void test_figures(void **state)
{
	(void)state;
	allocated(2, 0);
	expose(0, 160000);
	expect("rayscaler_pool_gpus{pool=\"a100\"} 8");
	expect("rayscaler_pool_ready{pool=\"a100\"} 1");
	expect("rayscaler_queue_gpus_guaranteed" RESEARCH "4");
	expect("rayscaler_queue_gpus_held" RESEARCH "6");
	expect("rayscaler_queue_gpus_idle" RESEARCH "2");
	expect("rayscaler_queue_gpus_borrowed" RESEARCH "2");
	expect("rayscaler_queue_gpus_waiting" OTHERS "1.5000");
	expect("rayscaler_queue_waiting_units" OTHERS "3");
	expect("rayscaler_queue_waiting_seconds" OTHERS "60");
	expect("rayscaler_queue_waiting_seconds" RESEARCH "0");
	expect("rayscaler_queue_below_guarantee_seconds_total" RESEARCH "0");
	expect("rayscaler_queue_reclaimed_gpus_total{pool=\"a100\",queue=\"research\",kind=\"idle\"} 0");
	expect("rayscaler_queue_reclaimed_gpus_total{pool=\"a100\",queue=\"research\",kind=\"busy\"} 0");
	expect("rayscaler_pool_allocations_total 1");
	expect("rayscaler_pool_allocation_seconds_total 0.0025");
	assert_null(strstr(buf_string(&text), "pool=\"-\""));

	ready.status = "False";
	allocated(2, 1000);
	expose(1000, 160000);
	expect("rayscaler_pool_ready{pool=\"a100\"} 0");
	expect("rayscaler_pool_allocations_total 2");
}

static void test_time_below_the_guarantee(void **state)
{
	(void)state;
	allocated(1, 1000);
	queues[0].below_guarantee_since = 5;
	allocated(1, 2000);
	expose(2500, 0);
	expect("rayscaler_queue_below_guarantee_seconds_total" RESEARCH "0.5");
	allocated(1, 3000);
	queues[0].below_guarantee_since = TIME_NONE;
	allocated(1, 4000);
	expose(9000, 0);
	expect("rayscaler_queue_below_guarantee_seconds_total" RESEARCH "2");
	expect("rayscaler_queue_below_guarantee_seconds_total" OTHERS "0");
}

static void test_series_end_with_the_pool(void **state)
{
	(void)state;
	queues[0].below_guarantee_since = 5;
	allocated(1, 1000);
	allocated(0, 2000);
	expose(2000, 0);
	assert_null(strstr(buf_string(&text), "a100"));
	/* A new pool of the name begins with 0. */
	allocated(1, 3000);
	expose(3000, 0);
	expect("rayscaler_queue_below_guarantee_seconds_total" RESEARCH "0");
}

static void test_queues_of_one_name_are_one_sample(void **state)
{
	const char *first;

	(void)state;
	queues[1].name = "research";
	allocated(1, 0);
	expose(0, 0);
	first = strstr(buf_string(&text), "rayscaler_queue_gpus_held" RESEARCH);
	assert_non_null(first);
	assert_null(strstr(first + 1, "rayscaler_queue_gpus_held" RESEARCH));
}

/* ---- reclaimed GPUs ---- */

static const struct label team = { "team", "research" };

static struct gpu_pool pool = { .name = "a100" };
static const struct gpu_pool *const pools[] = { &pool };

/* A slice of two hosts with 4 GPUs, and a worker with one. */
static struct pool_member *member(void)
{
	static struct gpu_pool_queue queue = { .name = "research",
					       .namespaces = { .match_labels = { &team, 1 } } };
	struct pool_member *made = ARENA_NEW(&arena, struct pool_member);
	struct pool_worker slice = { .gpus = GPUS(4) }, single = { .gpus = GPUS(1) };

	pool.queues = &queue;
	pool.queue_count = 1;
	VEC_PUSH(&arena, &slice.pods, ((struct pool_pod){ .name = "h0" }));
	VEC_PUSH(&arena, &slice.pods, ((struct pool_pod){ .name = "h1" }));
	VEC_PUSH(&arena, &single.pods, ((struct pool_pod){ .name = "w" }));
	made->namespace_ = "ml";
	made->key = KEY;
	VEC_PUSH(&arena, &made->workers, slice);
	VEC_PUSH(&arena, &made->workers, single);
	return made;
}

static struct plan *plan_of(enum terminate_action action, enum reason reason, time_ms deadline)
{
	static const char *const pods[] = { "h0", "h1", "w" };
	struct plan *plan = ARENA_NEW(&arena, struct plan);
	struct plan_group group = { .name = "gpu" };

	for (size_t i = 0; i < 3; i++) {
		VEC_PUSH(&arena, &plan->workers, ((struct plan_worker){ .pod = pods[i] }));
		VEC_PUSH(&arena, &group.terminate,
			 ((struct plan_termination){ .pod = pods[i],
						     .action = action,
						     .reason = reason,
						     .deadline = deadline }));
	}
	VEC_PUSH(&arena, &plan->groups, group);
	return plan;
}

static void decide(const struct plan *plan)
{
	static const struct labels labels = { &team, 1 };

	pool_metrics_decided(metrics, pools, 1, member(), &labels, plan);
}

static void expect_reclaimed(const char *idle, const char *busy)
{
#define LINE "rayscaler_queue_reclaimed_gpus_total{pool=\"a100\",queue=\"research\",kind=\"%s\"} %s"
	expose(0, 0);
	expect(arena_printf(&arena, LINE, "idle", idle));
	expect(arena_printf(&arena, LINE, "busy", busy));
}

/* The drain names the reason; the patch that deletes the drained Pods has another one. */
static void test_idle_workers_count_when_the_patch_is_accepted(void **state)
{
	struct plan *deletes = plan_of(TERMINATE_DELETE, REASON_DRAINED, TIME_NONE);

	(void)state;
	allocated(1, 0);
	decide(plan_of(TERMINATE_DRAIN, REASON_RELEASED_FOR_OTHERS, TIME_NONE));
	decide(deletes);
	expect_reclaimed("0", "0");
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, false);
	expect_reclaimed("0", "0");
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, true);
	expect_reclaimed("5", "0");
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, true);
	expect_reclaimed("5", "0");
}

static void test_busy_workers_are_another_kind(void **state)
{
	struct plan *stops = plan_of(TERMINATE_STOP, REASON_RELEASED_FOR_OTHERS, 7000);

	(void)state;
	allocated(1, 0);
	decide(plan_of(TERMINATE_DRAIN, REASON_RELEASED_FOR_OTHERS, 7000));
	decide(stops);
	pool_metrics_sent(metrics, KEY, stops);
	pool_metrics_answered(metrics, KEY, true);
	expect_reclaimed("0", "5");
}

/* A Pod that ended by itself, one that ends for another reason, a RayCluster that was deleted. */
static void test_others_do_not_count(void **state)
{
	struct plan *deletes = plan_of(TERMINATE_DELETE, REASON_DRAINED, TIME_NONE);
	struct plan *drains = plan_of(TERMINATE_DRAIN, REASON_RELEASED_FOR_OTHERS, TIME_NONE);
	struct plan none = { .requeue_after_seconds = 1 };

	(void)state;
	allocated(1, 0);
	decide(deletes);
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, true);
	decide(drains);
	decide(&none);
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, true);
	decide(drains);
	pool_metrics_forget(metrics, KEY);
	pool_metrics_sent(metrics, KEY, deletes);
	pool_metrics_answered(metrics, KEY, true);
	expect_reclaimed("0", "0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_figures),
		TEST(test_time_below_the_guarantee),
		TEST(test_series_end_with_the_pool),
		TEST(test_queues_of_one_name_are_one_sample),
		TEST(test_idle_workers_count_when_the_patch_is_accepted),
		TEST(test_busy_workers_are_another_kind),
		TEST(test_others_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
