/* A pass that takes long, and clocks that jump: a decision on facts older than
 * state-max-age-seconds is not acted upon, but drains that Ray has accepted are patched. */
#include "ctl/pass/pass_intern.h"

#include "test/support/pass_bench.h"
#include "test/support/virtual_clock.h"

#define LONG_S 3600
#define OLD_S 4 /* state-max-age-seconds is 3 */

static int setup_clocks(void **state)
{
	jump_reset();
	return pass_bench_setup(state);
}

static void grow_old(void)
{
	jump_boot_s += OLD_S;
}

static void grow_old_in_a_drain(const char *path)
{
	if (strstr(path, "/DrainNode"))
		jump_boot_s += LONG_S;
}

static void silent_after_the_first_read(const char *path)
{
	(void)path;
	if (ray.reads == 1)
		ray.mute_state = true;
}

/* The patch would leave too late: another pass has to decide. */
static void test_an_old_plan_is_not_sent(void **state)
{
	(void)state;
	set_pending_gpus(2);
	seen.on_decided = grow_old;
	run_pass(NULL);
	assert_int_equal(api.patches, 0);
	assert_false(seen.patched);
	assert_int_equal(seen.err.kind, ERR_RETRY);
	assert_non_null(strstr(seen.err.text, "too old"));
	/* The launches that did not happen are not remembered. */
	assert_string_equal(seen.memory, "");
}

static void grow_very_old(void)
{
	jump_boot_s += LONG_S;
}

/* Launches may wait for a slow decision; not for one that took an hour. */
static void test_a_slow_decision_launches_nevertheless(void **state)
{
	(void)state;
	set_pending_gpus(2);
	seen.cost = PASS_SLOW;
	seen.on_view = grow_old;
	run_pass(NULL);
	assert_int_equal(ray.reads, 1);
	assert_true(seen.patched);
	seen.endings = 0;
	seen.cost = PASS_SLOW;
	seen.on_view = grow_very_old;
	run_pass("{'templates': []}");
	assert_int_equal(ray.reads, 3);
	assert_int_equal(api.patches, 1);
}

/* A worker may have become busy meanwhile: Ray is read again. */
static void test_a_slow_decision_is_too_old_to_terminate(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	seen.cost = PASS_SLOW;
	seen.on_view = grow_old;
	run_pass(NULL);
	assert_true(ray.reads > 1);
}

/* Another writer changed the RayCluster, and reading it took long: Ray is read again. */
static void test_a_late_conflict_reads_ray_again(void **state)
{
	(void)state;
	set_pending_gpus(3);
	api.statuses[0] = 422;
	api.cluster = CLUSTER("1");
	api.on_get = grow_old;
	run_pass(NULL);
	assert_int_equal(ray.reads, 2);
	assert_int_equal(api.patches, 2);
	assert_true(seen.patched);
	assert_non_null(strstr(api.bodies[1],
			       "\"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 3"));
}

/* ... and when it does not answer then, its old demand does not count. */
static void test_a_late_conflict_with_a_silent_gcs(void **state)
{
	(void)state;
	set_pending_gpus(3);
	api.statuses[0] = 422;
	api.cluster = CLUSTER("1");
	api.on_get = grow_old;
	ray.before = silent_after_the_first_read;
	run_pass(NULL);
	assert_int_equal(api.patches, 1);
	assert_false(seen.ray_reached);
	assert_false(seen.patched);
}

static void test_a_conflict_in_time_does_not(void **state)
{
	(void)state;
	set_pending_gpus(3);
	api.statuses[0] = 422;
	run_pass(NULL);
	assert_int_equal(ray.reads, 1);
	assert_int_equal(api.patches, 2);
}

static void test_an_accepted_drain_is_patched_however_late(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.before = grow_old_in_a_drain;
	seen.on_decided = grow_old;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(ray.reads, 1);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "workersToDelete\", \"value\": [\"demo-worker\"]"));
}

static void test_a_drain_that_was_late_and_refused(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	ray.before = grow_old_in_a_drain;
	ray.accept = false;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(ray.reads, 2);
	assert_int_equal(api.patches, 0);
}

/* ---- a wall clock that jumps ---- */

static bool state_has_come(void *context)
{
	(void)context;
	return seen.pass && seen.pass->read_ms > 0;
}

/* The state of Ray has arrived, another answer has not, and the clocks jump meanwhile. */
static void jump_between_two_answers(int64_t wall_s, int64_t boot_s)
{
	pass_bench_idle_worker();
	seen.kv = true;
	ray.mute_kv = true;
	start_pass(NULL);
	assert_true(loop_wait_until(script.loop, state_has_come, NULL, WAIT_MS));
	jump_wall_s += wall_s;
	jump_boot_s += boot_s;
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
}

static void test_old_state_is_not_young_by_a_clock_set_back(void **state)
{
	(void)state;
	jump_between_two_answers(-LONG_S, OLD_S);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 0);
}

static void test_young_state_is_not_old_by_a_clock_set_forward(void **state)
{
	(void)state;
	jump_between_two_answers(LONG_S, 0);
	assert_true(seen.ray_reached);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_clocks, pass_bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_old_plan_is_not_sent),
		TEST(test_a_slow_decision_launches_nevertheless),
		TEST(test_a_slow_decision_is_too_old_to_terminate),
		TEST(test_a_late_conflict_reads_ray_again),
		TEST(test_a_late_conflict_with_a_silent_gcs),
		TEST(test_a_conflict_in_time_does_not),
		TEST(test_an_accepted_drain_is_patched_however_late),
		TEST(test_a_drain_that_was_late_and_refused),
		TEST(test_old_state_is_not_young_by_a_clock_set_back),
		TEST(test_young_state_is_not_old_by_a_clock_set_forward),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
