/* In-place resize in a simulation: a worker of 2 CPU that may have 6. */
#include "sim/simulate.h"

#include "test/support/support.h"

#include "test/support/sim_case.h"

#define CPU RESOURCE_UNIT
#define GIB (INT64_C(1073741824) * RESOURCE_UNIT)
#define SECOND INT64_C(1000)

static const struct resize_group limits_of_cpu = {
	.name = "cpu", .max_cpu = 6 * CPU, .max_memory = 8 * GIB, .timeout_seconds = 60
};
static const struct resize_limits limits = { .groups = &limits_of_cpu, .group_count = 1 };

static struct quantities amounts(struct arena *arena, int64_t cpus, int64_t gib)
{
	struct quantity *at = arena_array(arena, 2, sizeof(*at));

	at[0] = (struct quantity){ "cpu", "", true, cpus * CPU };
	at[1] = (struct quantity){ "memory", "", true, gib * GIB };
	return (struct quantities){ at, 2 };
}

static struct worker_group group_of(struct sim_case *c, const char *name, int64_t cpus)
{
	struct worker_group group = sim_case_group(c, name, cpus, 0, 4);
	struct container *container = (struct container *)group.template.spec.containers;

	container->limits = amounts(&c->arena, cpus, 4);
	container->requests = amounts(&c->arena, cpus, 4);
	group.replicas = group.min_replicas = 1;
	return group;
}

/* A task of so many CPU at 10 s, for 100 s, beside one worker of the group. */
static void init(struct sim_case *c, int64_t cpus)
{
	struct worker_group groups[2];

	sim_case_init(c);
	groups[0] = group_of(c, "cpu", 2);
	groups[1] = group_of(c, "fixed", 4);
	sim_case_cluster(c, "demo", groups, 2)->resize = &limits;
	c->settings.in_place_resize = true;
	sim_case_add(c, 10 * SECOND, 100 * SECOND, 1, sim_case_bundles(c, cpus * CPU, 0, 1), 1);
	c->input.end_ms = 1000 * SECOND;
}

static void add_pools(struct sim_case *c, int64_t first_cpus, int64_t second_cpus)
{
	struct node_pool *pools = arena_array(&c->arena, 2, sizeof(*pools));
	const int64_t cpus[] = { first_cpus, second_cpus };

	for (size_t i = 0; i < 2; i++) {
		pools[i] = (struct node_pool){ .min_nodes = 1, .max_nodes = i == 0 ? 1 : 3 };
		pools[i].node.name = i == 0 ? "first" : "second";
		pools[i].node.allocatable = amounts(&c->arena, cpus[i], 64);
	}
	c->input.models.pools = (struct node_pools){ pools, 2 };
}

/* The same course with a pass at each interval. */
static struct sim_result *run(struct sim_case *c)
{
	struct sim_result *result = sim_case_run(c), *every;

	if (!result)
		fail_msg("%s", c->err.text);
	c->input.every_pass = true;
	every = sim_case_run(c);
	c->input.every_pass = false;
	assert_non_null(every);
	assert_true(every->course == result->course);
	return result;
}

/* The report after 0.5 s, the pass up to 1 s later, 2 s of the resize, a pass that informs Ray. */
static void worker_grows(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init(&c, 5);
	result = run(&c);
	assert_int_equal(result->finished, 1);
	assert_in_range(result->waits[0].wait_ms, 2500, 4600);
	assert_int_equal(result->resizes, 1);
	assert_int_equal(result->groups[0].scale_ups, 0);
	assert_int_equal(result->groups[0].peak_workers, 1);

	c.input.models.resize_ms = 20 * SECOND;
	result = run(&c);
	assert_in_range(result->waits[0].wait_ms, 20500, 22600);

	/* Ray's autoscaler follows the annotation anyway. */
	c.settings.in_place_resize = false;
	assert_int_equal(run(&c)->unstarted_count, 1);
	assert_string_equal(run(&c)->unstarted[0].reason, "NoGroupFits");
	c.input.policy = SIM_POLICY_RAY_AUTOSCALER;
	assert_int_equal(run(&c)->resizes, 1);
	sim_case_done(&c);
}

/* A Node of 4 CPU has room for a worker of 4, which is not enough: another worker starts, on another
 * Node, and grows there. */
static void node_is_too_small(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init(&c, 5);
	add_pools(&c, 4, 16);
	result = run(&c);
	assert_int_equal(result->finished, 1);
	assert_int_equal(result->resizes, 2);
	assert_int_equal(result->groups[0].workers_added, 1);
	assert_in_range(result->waits[0].wait_ms, 27 * SECOND, 35 * SECOND);
	sim_case_done(&c);
}

/* The worker of the other group has 4 of the Node's 8 CPU: the resize is deferred, and 4 remain. */
static void node_is_shared(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init(&c, 4);
	add_pools(&c, 8, 16);
	/* Both workers take 4 CPU. */
	sim_case_add(&c, 10 * SECOND, 100 * SECOND, 1, sim_case_bundles(&c, 4 * CPU, 0, 1), 1);
	result = run(&c);
	assert_int_equal(result->finished, 2);
	assert_int_equal(result->resizes, 1);
	assert_int_equal(result->waits[0].wait_ms, 0);
	assert_in_range(result->waits[1].wait_ms, 2500, 6600);
	assert_int_equal(result->groups[0].workers_added + result->groups[1].workers_added, 0);
	sim_case_done(&c);
}

/* One Node of 8 CPU, of which a worker of another group has 4 until its task has ended and it was idle for a while. The
 * room beside the busy worker serves nothing, so it is left to one that starts later. */
static void room_comes_later(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init(&c, 5);
	add_pools(&c, 8, 1);
	((struct worker_group *)c.clusters[0].cluster->groups)[1].min_replicas = 0;
	sim_case_add(&c, 10 * SECOND, 40 * SECOND, 1, sim_case_bundles(&c, 4 * CPU, 0, 1), 1);
	sim_case_add(&c, 10 * SECOND, 900 * SECOND, 1, sim_case_bundles(&c, CPU, 0, 1), 1);
	result = run(&c);
	assert_int_equal(result->started, 3);
	assert_in_range(result->waits[2].wait_ms, 100 * SECOND, 200 * SECOND);
	sim_case_done(&c);
}

/* A resize that takes longer than resize-timeout is taken back, and another worker starts. */
static void resize_fails(void **state)
{
	struct sim_case c;
	struct sim_result *result;

	(void)state;
	init(&c, 5);
	c.input.models.resize_ms = 90 * SECOND;
	result = run(&c);
	assert_int_equal(result->started, 0);
	assert_true(result->groups[0].workers_added >= 1);
	sim_case_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_grows),   cmocka_unit_test(node_is_too_small),
		cmocka_unit_test(node_is_shared), cmocka_unit_test(room_comes_later),
		cmocka_unit_test(resize_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
