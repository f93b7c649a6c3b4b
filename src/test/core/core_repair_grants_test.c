/* feature/repair/core/repair_grants: the limit of Nodes under repair over all RayClusters. */
#include "feature/repair/core/repair.h"

#include "core/model/pool.h"
#include "core/model/snapshot.h"
#include "test/support/support.h"

#define COUNT_MS (5 * MS_PER_SECOND + REPAIR_GRANT_EXTRA_MS)

static struct repair_asks a, b;
static struct repair_asks *const all[] = { &a, &b };
static struct arena arena;
static struct snapshot snapshot; /* of each RayCluster */

static int setup(void **state)
{
	(void)state;
	arena = ARENA_INIT;
	snapshot = (struct snapshot){ .pods = NULL };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
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
				 .drain_ms = asks == &a ? 5 * MS_PER_SECOND : 2 * 5 * MS_PER_SECOND,
				 .asks = !begun,
			 }));
	}
	for (size_t i = 0; i < snapshot.pod_count; i++)
		VEC_EACH(struct repair_node, node, &repair.nodes)
			if (strcmp(node->node, snapshot.pods[i]->spec.node_name) == 0)
				repair_limits_add(node, snapshot.pools, snapshot.pods[i], &arena);
	repair_asks_set(asks, &repair);
}

static bool is_granted(char name)
{
	for (size_t i = 0; i < 2; i++)
		VEC_EACH(const struct repair_node, node, &all[i]->nodes)
			if (node->node[0] == name && node->granted)
				return true;
	return false;
}

static size_t granted_of(const char *names)
{
	size_t count = 0;

	for (; *names; names++)
		count += is_granted(*names);
	return count;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* The number of new grants. */
static size_t renew(int64_t limit, int64_t now_ms)
{
	size_t before = granted_of(LETTERS);

	repair_grants_renew(all, 2, limit, now_ms);
	return granted_of(LETTERS) - before;
}

static void assert_granted(const char *names)
{
	assert_int_equal(granted_of(LETTERS), strlen(names));
	assert_int_equal(granted_of(names), strlen(names));
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

/* Each counts for the deadline of its own RayCluster. */
static void test_a_node_counts_for_the_deadline_of_its_ray_cluster(void **state)
{
	(void)state;
	ask(&b, "b");
	assert_int_equal(renew(1, 0), 1);
	ask(&a, "a");
	ask(&b, "B");
	assert_int_equal(renew(1, COUNT_MS), 0);
	assert_int_equal(renew(1, COUNT_MS + 5 * MS_PER_SECOND), 1);
	assert_granted("ab");
}

/* Workers of the group on these Nodes, which draws from the pool. */
static void draw(const char *group, const char *pool, int64_t most, const char *names)
{
	static struct pool_grant grants_of[2];
	static struct pool_terms terms;
	static const struct pod *pods[20];
	struct label *labels = arena_array(&arena, 2, sizeof(*labels));

	if (snapshot.pod_count == 0)
		terms = (struct pool_terms){ .grants = grants_of };
	grants_of[terms.grant_count++] =
		(struct pool_grant){ .group = group, .repair_pool = pool, .repair_nodes = most };
	snapshot.pools = &terms;
	snapshot.pods = pods;
	labels[0] = (struct label){ LABEL_GROUP, group };
	labels[1] = (struct label){ "ray.io/node-type", "worker" };
	for (; *names; names++) {
		struct pod *pod = ARENA_NEW(&arena, struct pod);

		pod->spec.node_name = arena_printf(&arena, "%c", *names);
		pod->labels = (struct labels){ labels, 2 };
		pods[snapshot.pod_count++] = pod;
	}
}

static void test_a_pool_has_its_own_limit(void **state)
{
	(void)state;
	draw("g", "p", 1, "abbc");
	draw("h", "", 0, "d");
	ask(&a, "abd");
	ask(&b, "cb");
	assert_int_equal(renew(10, 0), 2);
	assert_granted("ad");
	assert_int_equal(renew(10, 10), 0);
	ask(&a, "bd"); /* a is empty */
	assert_int_equal(renew(10, 20), 1);
	assert_granted("bd");
}

static void test_a_node_of_two_pools_needs_both(void **state)
{
	(void)state;
	draw("g", "p", 2, "abc");
	draw("h", "q", 1, "ab");
	ask(&a, "abc");
	assert_int_equal(renew(10, 0), 2);
	assert_granted("ac");
	assert_int_equal(renew(10, COUNT_MS), 1);
	assert_granted("abc");
}

static void test_a_pool_of_none_grants_nothing(void **state)
{
	(void)state;
	draw("g", "p", 0, "a");
	ask(&a, "ab");
	assert_int_equal(renew(10, 0), 1);
	assert_granted("b");
}

static uint64_t randomness = 45;

static int64_t below(size_t bound)
{
	return (int64_t)support_random_below(&randomness, bound);
}

/* Some of the Nodes a to h; those that are granted have begun. */
static void ask_at_random(struct repair_asks *asks)
{
	char names[9] = "";
	size_t count = 0;

	for (char name = 'a'; name <= 'h'; name++)
		if (below(3) == 0)
			names[count++] = is_granted(name) ? (char)(name - 'a' + 'A') : name;
	ask(asks, names);
}

/* Never more Nodes than the limits of the fleet and of each pool, for any asks of two RayClusters. */
static void test_never_more_than_each_limit(void **state)
{
	size_t total = 0;

	(void)state;
	for (int world = 0; world < 200; world++) {
		int64_t p = below(4), q = below(4), all_of_them = below(6);

		teardown(NULL);
		setup(NULL);
		draw("g", "p", p, "abcde");
		draw("h", "q", q, "defgh");
		for (int round = 0; round < 20; round++) {
			ask_at_random(&a);
			ask_at_random(&b);
			total += renew(all_of_them, 0);
			assert_true((int64_t)granted_of("abcde") <= p);
			assert_true((int64_t)granted_of("defgh") <= q);
			assert_true((int64_t)granted_of("abcdefgh") <= all_of_them);
		}
	}
	assert_true(total > 1000);
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
		ROW(test_a_node_counts_for_the_deadline_of_its_ray_cluster),
		ROW(test_a_pool_has_its_own_limit),
		ROW(test_a_node_of_two_pools_needs_both),
		ROW(test_a_pool_of_none_grants_nothing),
		ROW(test_never_more_than_each_limit),
		ROW(test_no_limit_grants_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
