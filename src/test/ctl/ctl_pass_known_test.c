/* One pass over an unchanged reply: when it counts as unchanged, and when not. */
#include "test/support/pass_bench.h"

static struct {
	bool known;
	unsigned asked;
	uint64_t digest;         /* of the last question */
	uint64_t decided_digest; /* of the last decision */
} cache;

static bool unchanged(void *context, uint64_t digest)
{
	(void)context;
	cache.asked++;
	cache.digest = digest;
	return cache.known;
}

static void decided_on(void *context, const struct pass_decision *decision)
{
	cache.decided_digest = decision->digest;
	pass_bench_decided(context, decision);
}

static void run_known(bool known)
{
	static const struct pass_callbacks callbacks = { .view = pass_bench_view,
							 .current = pass_bench_current,
							 .unchanged = unchanged,
							 .decided = decided_on,
							 .done = pass_bench_ended };
	struct pass_config pass = { .control = &control,
				    .namespace_ = "a",
				    .name = "demo",
				    .api_version = "ray.io/v1",
				    .gcs = gcs_bench.client,
				    .read_kv_requests = seen.kv };

	memset(&cache, 0, sizeof(cache));
	cache.known = known;
	seen.endings = seen.decisions = 0;
	seen.memory[0] = '\0';
	seen.pass = pass_new(&pass, &callbacks);
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(seen.endings, 1);
}

static void what_is_known_is_not_decided_again(void **state)
{
	(void)state;
	run_known(true);
	assert_int_equal(cache.asked, 1);
	assert_int_equal(seen.decisions, 0);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_string_equal(seen.memory, ""); /* the old one is kept */
	assert_in_range(seen.reading.bytes, 50, 1000);
	assert_false(seen.reading.refused);
}

static void what_is_new_is_decided_with_its_digest(void **state)
{
	uint64_t first;

	(void)state;
	run_known(false);
	assert_int_equal(seen.decisions, 1);
	assert_true(cache.digest != 0 && cache.digest == cache.decided_digest);
	first = cache.digest;
	run_known(false);
	assert_true(cache.digest == first);
	pass_bench_idle_worker();
	ray_nodes[1].idle_duration_ms = 1;
	run_known(false);
	assert_true(cache.digest != first);
}

/* No reply contains the request that the SDK wrote into the key-value store. */
static void requests_of_autoscaler_v1_are_always_looked_at(void **state)
{
	(void)state;
	seen.kv = true;
	run_known(true);
	assert_int_equal(cache.asked, 0);
	assert_int_equal(seen.decisions, 1);
	assert_true(cache.decided_digest == 0);
}

static void an_error_is_not_known(void **state)
{
	(void)state;
	ray.mute_state = true;
	run_known(true);
	assert_int_equal(cache.asked, 0);
	assert_int_equal(seen.decisions, 1);
	assert_false(seen.ray_reached);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_bench_setup, pass_bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_known_is_not_decided_again),
		TEST(what_is_new_is_decided_with_its_digest),
		TEST(requests_of_autoscaler_v1_are_always_looked_at),
		TEST(an_error_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
