/* feature/repair/ctl/repair_grants: the limit of Nodes under repair over all RayClusters. */
#include "feature/repair/ctl/repair_grants.h"

#include "feature/repair/core/repair.h"
#include "test/support/support.h"

#define COUNT_MS 1000

static struct repair_grants grants;
static struct repair_asks a, b;
static const struct repair_asks *const all[] = { &a, &b };
static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena = ARENA_INIT;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	repair_grants_done(&grants);
	repair_asks_done(&a);
	repair_asks_done(&b);
	arena_done(&arena);
	return 0;
}

/* The Nodes of "1" are those with this name and a sign since 1, and so on; upper case: it has begun. */
static void ask(struct repair_asks *asks, const char *names)
{
	struct plan_repair repair = { .nodes = { .at = NULL } };

	for (; *names; names++) {
		bool begun = *names >= 'A' && *names <= 'Z';
		char lower = (char)(begun ? *names - 'A' + 'a' : *names);

		VEC_PUSH(&arena, &repair.nodes,
			 ((struct repair_node){
				 .node = arena_printf(&arena, "%c", lower),
				 .state = begun ? REPAIR_STATE_BEGUN : REPAIR_STATE_WAITS,
				 .since = lower,
				 .asks = !begun,
			 }));
	}
	repair_asks_set(asks, &repair);
}

static size_t renew(int64_t limit, int64_t now_ms)
{
	return repair_grants_renew(&grants, all, 2, limit, COUNT_MS, now_ms);
}

static void assert_granted(const char *names)
{
	assert_int_equal(grants.granted.count, strlen(names));
	for (; *names; names++)
		assert_true(repair_grants_has(&grants, (char[]){ *names, '\0' }));
}

static void test_the_oldest_sign_of_all_is_first(void **state)
{
	(void)state;
	ask(&a, "cd");
	ask(&b, "ae");
	assert_int_equal(renew(1, 0), 1);
	assert_granted("a");
	assert_int_equal(renew(1, 10), 0);
	assert_int_equal(renew(3, 20), 2);
	assert_granted("acd");
}

static void test_one_that_has_begun_is_first(void **state)
{
	(void)state;
	ask(&a, "a");
	ask(&b, "X");
	assert_int_equal(renew(1, 0), 1);
	assert_granted("x");
}

static void test_a_node_that_is_empty_lets_the_next_begin(void **state)
{
	(void)state;
	ask(&a, "a");
	ask(&b, "b");
	assert_int_equal(renew(1, 0), 1);
	ask(&a, "A");
	assert_int_equal(renew(1, 10), 0);
	repair_asks_set(&a, NULL);
	assert_int_equal(renew(1, 20), 1);
	assert_granted("b");
}

static void test_a_node_of_two_ray_clusters_counts_once(void **state)
{
	(void)state;
	ask(&a, "ac");
	ask(&b, "a");
	assert_int_equal(renew(2, 0), 2);
	assert_granted("ac");
	repair_asks_set(&b, NULL);
	assert_int_equal(renew(2, 10), 0);
	assert_granted("ac");
}

static void test_a_node_that_is_never_empty_stops_counting(void **state)
{
	(void)state;
	ask(&a, "a");
	ask(&b, "b");
	assert_int_equal(renew(1, 0), 1);
	ask(&a, "A");
	assert_int_equal(renew(1, COUNT_MS - 1), 0);
	assert_int_equal(renew(1, COUNT_MS), 1);
	assert_granted("ab");
}

static void test_no_limit_grants_nothing(void **state)
{
	(void)state;
	ask(&a, "a");
	assert_int_equal(renew(0, 0), 0);
	assert_granted("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		ROW(test_the_oldest_sign_of_all_is_first),
		ROW(test_one_that_has_begun_is_first),
		ROW(test_a_node_that_is_empty_lets_the_next_begin),
		ROW(test_a_node_of_two_ray_clusters_counts_once),
		ROW(test_a_node_that_is_never_empty_stops_counting),
		ROW(test_no_limit_grants_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
