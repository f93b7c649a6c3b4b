/* kube/kube_informer in a process that was stopped, and under a wall clock that jumps: an old cache
 * does not count as fresh, and a fresh one stays fresh. */
#include "test/support/informer_script.h"
#include "test/support/virtual_clock.h"

#define DAY_S 86400

static int setup_clocks(void **state)
{
	jump_reset();
	return informer_setup(state);
}

/* As SIGSTOP and SIGCONT, or a machine that slept: no timer has fired yet. */
static void test_a_process_that_stood_still(void **state)
{
	(void)state;
	START({ LIST_PAGE, .text = LIST("10", "", POD("p1", "1")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;live;");
	jump_boot_s = KUBE_INFORMER_SILENCE_MAX_MS / 1000 - 10;
	assert_true(kube_informer_fresh(informer));
	jump_boot_s = KUBE_INFORMER_SILENCE_MAX_MS / 1000 + 1;
	assert_false(kube_informer_fresh(informer));
	assert_string_equal(kube_informer_problem(informer),
			    "nothing was heard of it for too long");
	informer_stop();
}

static void answer_pod(struct exchange *exchange, void *context)
{
	char *pod = script_text(POD("p1", "1"));

	(void)context;
	exchange_answer(exchange, 200, "", pod);
	memory_free(pod);
}

static bool is_fresh(void *context)
{
	(void)context;
	return kube_informer_fresh(informer);
}

/* The next answer shows that the cache is complete again. */
static void test_fresh_again_with_the_next_answer(void **state)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .namespace_ = "a",
						       .name = "p1",
						       .poll_ms = 20,
						       .callbacks = informer_callbacks };

	(void)state;
	script_start(&informer_script, answer_pod, &KUBE_CLIENT_OPTIONS_INIT);
	informer = kube_informer_new(informer_script.client, &options);
	informer_wait_seen("synced;live;");
	jump_boot_s = KUBE_INFORMER_SILENCE_MAX_MS / 1000 + 1;
	assert_false(kube_informer_fresh(informer));
	assert_true(loop_wait_until(informer_script.loop, is_fresh, NULL, WAIT_MS));
	assert_string_equal(kube_informer_problem(informer), "");
	informer_stop();
}

static void test_a_poll_that_stood_still(void **state)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .namespace_ = "a",
						       .name = "p1",
						       .poll_ms = 60000,
						       .callbacks = informer_callbacks };
	static const struct step steps[] = { { "/namespaces/a/pods/p1", .text = POD("p1", "1") } };

	(void)state;
	informer_start_with(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("synced;live;");
	jump_boot_s = 60;
	assert_true(kube_informer_fresh(informer));
	jump_boot_s = 60 + KUBE_INFORMER_SILENCE_MAX_MS / 1000 + 1;
	assert_false(kube_informer_fresh(informer));
	informer_stop();
}

static void test_a_wall_clock_that_jumps(void **state)
{
	(void)state;
	START({ LIST_PAGE, .text = LIST("10", "", POD("p1", "1")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;live;");
	jump_wall_s = DAY_S;
	assert_true(kube_informer_fresh(informer));
	jump_wall_s = -DAY_S;
	assert_true(kube_informer_fresh(informer));
	informer_stop();
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup(name, setup_clocks)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_process_that_stood_still),
		TEST(test_fresh_again_with_the_next_answer),
		TEST(test_a_poll_that_stood_still),
		TEST(test_a_wall_clock_that_jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
