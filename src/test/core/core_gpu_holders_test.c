/* The holders of the GPUs of each worker. */
#include "core/report/gpu_holders.h"

#include <string.h>

#include "core/model/resources.h"
#include "test/support/support.h"

static struct arena arena;
static struct gpu_holders holders;
static struct gpu_use lists[RAY_LISTS];
static const struct gpu_use *given[RAY_LISTS];
static const char *problems[RAY_LISTS];
static struct gpu_use_row rows[RAY_LISTS][100];
static struct gpu_use_job jobs[3];

static int setup(void **state)
{
	(void)state;
	memset(lists, 0, sizeof(lists));
	for (size_t i = 0; i < RAY_LISTS; i++) {
		lists[i].rows = rows[i];
		given[i] = &lists[i];
		problems[i] = "";
	}
	lists[RAY_LIST_JOBS].jobs = jobs;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static void add_row(enum ray_list list, const char *name, const char *node, int64_t gpus,
		    const char *group, time_ms since)
{
	rows[list][lists[list].row_count++] = (struct gpu_use_row){
		.kind = list == RAY_LIST_ACTORS ? GPU_HOLDER_ACTOR :
			list == RAY_LIST_TASKS  ? GPU_HOLDER_TASK :
						  GPU_HOLDER_GROUP,
		.name = name,
		.job = "01",
		.node = node,
		.group = group,
		.gpus = gpus * RESOURCE_UNIT,
		.since = since,
	};
}

static void add_worker(struct plan *plan, const char *pod, const char *node, int64_t gpus,
		       int64_t available)
{
	struct ray_node *of = ARENA_NEW(&arena, struct ray_node);

	*of = (struct ray_node){ .id = node };
	of->total = resources_with(&arena, &of->total, "GPU", gpus * RESOURCE_UNIT);
	of->available = resources_with(&arena, &of->available, "GPU", available * RESOURCE_UNIT);
	VEC_PUSH(&arena, &plan->workers,
		 ((struct plan_worker){ .pod = pod, .group = "gpu", .node = of }));
}

/* Two workers with GPUs, w1 on node b and w2 on node a, one without. */
static void join(int64_t available)
{
	struct plan plan = { .cluster_name = "" };

	add_worker(&plan, "w2", "a", 4, 4);
	add_worker(&plan, "w1", "b", 8, available);
	add_worker(&plan, "cpu", "c", 0, 0);
	VEC_PUSH(&arena, &plan.workers, ((struct plan_worker){ .pod = "new", .group = "gpu" }));
	gpu_holders_begin(&plan, &arena, &holders);
	gpu_holders_join(&holders, given, problems, &arena);
	assert_int_equal(holders.worker_count, 2);
	assert_string_equal(holders.workers[0].pod, "w1");
	assert_string_equal(holders.workers[1].pod, "w2");
}

static void expect_holder(size_t index, enum gpu_holder_kind kind, const char *name, int64_t count,
			  int64_t gpus, time_ms since)
{
	const struct gpu_holder *holder = &holders.workers[0].holders[index];

	assert_true(index < holders.workers[0].holder_count);
	assert_int_equal(holder->kind, kind);
	assert_string_equal(holder->name, name);
	assert_int_equal(holder->count, count);
	assert_int_equal(holder->gpus, gpus * RESOURCE_UNIT);
	assert_int_equal(holder->since, since);
}

/* Two actors of 4 GPUs on a worker with 4 in use: the second one waits there. */
static void test_a_starting_actor_holds_what_is_left(void **state)
{
	(void)state;
	add_row(RAY_LIST_ACTORS, "Next", "b", 4, "", TIME_NONE);
	add_row(RAY_LIST_ACTORS, "Trainer", "b", 4, "", 500);
	join(4);
	assert_int_equal(holders.workers[0].holder_count, 1);
	expect_holder(0, GPU_HOLDER_ACTOR, "Trainer", 1, 4, 500);
	join(0);
	assert_int_equal(holders.workers[0].holder_count, 2);
	expect_holder(0, GPU_HOLDER_ACTOR, "Next", 1, 4, TIME_NONE);
}

static void test_by_class_and_job(void **state)
{
	(void)state;
	add_row(RAY_LIST_ACTORS, "Trainer", "b", 1, "", 500);
	add_row(RAY_LIST_ACTORS, "Loader", "b", 1, "", TIME_NONE);
	add_row(RAY_LIST_ACTORS, "Trainer", "b", 2, "", TIME_NONE);
	add_row(RAY_LIST_ACTORS, "Trainer", "b", 1, "", 300);
	add_row(RAY_LIST_ACTORS, "Trainer", "other", 1, "", 100);
	add_row(RAY_LIST_TASKS, "Trainer", "b", 2, "", 700);
	jobs[0] = (struct gpu_use_job){ "02", "wrong", "" };
	jobs[1] = (struct gpu_use_job){ "01", "python a.py", "raysubmit_1" };
	lists[RAY_LIST_JOBS].job_count = 2;
	join(0);
	assert_int_equal(holders.workers[0].holder_count, 3);
	expect_holder(0, GPU_HOLDER_ACTOR, "Trainer", 3, 4, 300);
	expect_holder(1, GPU_HOLDER_TASK, "Trainer", 1, 2, 700);
	expect_holder(2, GPU_HOLDER_ACTOR, "Loader", 1, 1, TIME_NONE);
	assert_string_equal(holders.workers[0].holders[0].entrypoint, "python a.py");
	assert_string_equal(holders.workers[0].holders[0].submission, "raysubmit_1");
	assert_int_equal(holders.workers[0].in_use, 8 * RESOURCE_UNIT);
	assert_int_equal(holders.workers[0].unnamed, RESOURCE_UNIT);
	assert_int_equal(holders.workers[1].holder_count, 0);
	assert_int_equal(holders.workers[1].unnamed, 0);
	assert_int_equal(holders.notes.count, 0);
}

/* A group of two bundles, 3 GPUs in all, of which an actor and a task use 2. */
static void test_placement_group(void **state)
{
	(void)state;
	add_row(RAY_LIST_GROUPS, "pg", "b", 1, "99", 50);
	add_row(RAY_LIST_GROUPS, "pg", "b", 2, "99", 50);
	add_row(RAY_LIST_GROUPS, "pg", "other", 5, "99", 50);
	add_row(RAY_LIST_ACTORS, "A", "b", 1, "99", 60);
	add_row(RAY_LIST_TASKS, "t", "b", 1, "99", 60);
	add_row(RAY_LIST_ACTORS, "B", "b", 1, "", 60);
	join(4);
	assert_int_equal(holders.workers[0].holder_count, 4);
	expect_holder(0, GPU_HOLDER_ACTOR, "A", 1, 1, 60);
	expect_holder(1, GPU_HOLDER_ACTOR, "B", 1, 1, 60);
	expect_holder(2, GPU_HOLDER_TASK, "t", 1, 1, 60);
	expect_holder(3, GPU_HOLDER_GROUP, "pg", 1, 1, 50);
	assert_int_equal(holders.workers[0].unnamed, 0);
}

static void test_notes(void **state)
{
	static const struct gpu_use_deployment waiting[] = { { "app:Model", 2 }, { "b:M", 1 } };

	(void)state;
	given[RAY_LIST_JOBS] = given[RAY_LIST_GROUPS] = NULL;
	problems[RAY_LIST_GROUPS] = "no answer";
	lists[RAY_LIST_ACTORS].missing = 5;
	lists[RAY_LIST_TASKS].dropped = 2;
	lists[RAY_LIST_ACTORS].deployments = waiting;
	lists[RAY_LIST_ACTORS].deployment_count = SUPPORT_COUNT(waiting);
	add_row(RAY_LIST_ACTORS, "Trainer", "b", 1, "", 500);
	join(8);
	assert_int_equal(holders.notes.count, 6);
	assert_string_equal(holders.notes.at[0],
			    "Ray Serve: 2 replicas of app:Model wait for a worker");
	assert_string_equal(holders.notes.at[1], "Ray Serve: 1 replica of b:M waits for a worker");
	assert_string_equal(holders.notes.at[2], "5 more actors are not listed");
	assert_string_equal(holders.notes.at[3],
			    "Ray dropped the events of 2 tasks, so a task may be missing");
	assert_string_equal(holders.notes.at[4], "placement groups are unknown: no answer");
	assert_string_equal(holders.workers[0].holders[0].entrypoint, "");
	assert_int_equal(holders.workers[0].unnamed, 0);
}

/* Beside the use of request_resources, which of Ray's libraries asks. */
static void test_note_of_requests(void **state)
{
	struct plan plan = { .cluster_name = "",
			     .requests_note = "request_resources asks for 32 GPU, 3 are used" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		lists[RAY_LIST_ACTORS].libraries = i == 1;
		gpu_holders_begin(&plan, &arena, &holders);
		gpu_holders_join(&holders, given, problems, &arena);
		assert_int_equal(holders.notes.count, 1);
		assert_string_equal(
			holders.notes.at[0],
			i == 0 ? "request_resources asks for 32 GPU, 3 are used" :
				 "request_resources asks for 32 GPU, 3 are used; Ray Data or "
				 "Ray Train is running (AutoscalingCoordinator)");
	}
}

static void test_many(void **state)
{
	(void)state;
	for (size_t i = 0; i < GPU_HOLDERS_MAX + 10; i++)
		add_row(RAY_LIST_ACTORS, arena_printf(&arena, "A%zu", i), "b", 1, "", 500);
	join(0);
	assert_int_equal(holders.workers[0].holder_count, GPU_HOLDERS_MAX);
	assert_int_equal(holders.workers[0].unnamed, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_starting_actor_holds_what_is_left),
		TEST(test_by_class_and_job),
		TEST(test_placement_group),
		TEST(test_notes),
		TEST(test_note_of_requests),
		TEST(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
