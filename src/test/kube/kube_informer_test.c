/* kube/kube_informer against a scripted server: the content of the cache after each kind of
 * fault. */
#include "test/support/informer_script.h"

/* ---- the regular course ---- */

static void test_list_in_pages_then_watch(void **state)
{
	size_t count, at = 0;

	(void)state;
	START({ LIST_PAGE, .text = LIST("10", "next&1", POD("p1", "1") "," POD("p2", "2")) },
	      { "limit=250&continue=next%261", .text = LIST("10", "", POD("p3", "3")) },
	      { "watch=true&allowWatchBookmarks=true&" WATCH_FROM("10"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("ADDED", POD("p4", "11")) EVENT("MODIFIED", POD("p1", "12"))
			EVENT("DELETED", POD("p2", "13")) });
	assert_false(kube_informer_fresh(informer));
	informer_wait_seen(
		"ADDED a/p1 - 1;ADDED a/p2 - 2;ADDED a/p3 - 3;synced;live;ADDED a/p4 - 11;"
		"MODIFIED a/p1 1 12;DELETED a/p2 2 -;");
	assert_true(kube_informer_synced(informer));
	assert_true(kube_informer_fresh(informer));
	assert_string_equal(kube_informer_problem(informer), "");
	assert_string_equal(kube_informer_api_version(informer), "v1");
	assert_int_equal(kube_informer_count(informer), 3);
	assert_string_equal(informer_version("p1"), "12");
	assert_string_equal(informer_version("p2"), "-");
	while (kube_informer_next(informer, &at))
		;
	assert_int_equal(at, 3);
	assert_non_null(kube_informer_indexed(informer, "a/c", &count));
	assert_int_equal(count, 3);
	assert_null(kube_informer_indexed(informer, "a/d", &count));
	assert_int_equal(count, 0);
	informer_stop();
}

/* The regular end of a watch is not an error, the cache stays fresh; events continue from the last
 * version. */
static void test_watch_again_after_its_end(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", POD("p1", "1")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM, .text = EVENT("MODIFIED", POD("p1", "11")) },
	      { WATCH_FROM("11"), .kind = STEP_STREAM, .text = BOOKMARK("15") },
	      { WATCH_FROM("15"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("MODIFIED", POD("p1", "16")) });
	informer_wait_seen("ADDED a/p1 - 1;synced;live;MODIFIED a/p1 1 11;MODIFIED a/p1 11 16;");
	assert_true(kube_informer_fresh(informer));
	assert_int_equal(kube_informer_counters(informer).bookmarks, 1);
	assert_int_equal(kube_informer_counters(informer).watches, 3);
	assert_int_equal(kube_informer_counters(informer).errors, 0);
	informer_stop();
}

/* A server with an older copy repeats events. The cache does not step back: a deleted Pod remains
 * deleted, and the next watch starts where this one was. */
static void test_an_older_event_is_a_repetition(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("9", "", POD("p1", "1")) },
	      { WATCH_FROM("9"), .kind = STEP_STREAM,
		.text = EVENT("MODIFIED", POD("p1", "11")) EVENT("MODIFIED", POD("p1", "8")) EVENT(
			"DELETED", POD("p1", "12")) EVENT("ADDED", POD("p1", "1")) BOOKMARK("3") },
	      { WATCH_FROM("12"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("ADDED", POD("p2", "100")) });
	informer_wait_seen("ADDED a/p2 - 100;");
	assert_string_equal(informer_version("p1"), "-");
	assert_int_equal(kube_informer_count(informer), 1);
	informer_stop();
}

/* Versions need not be numbers: the order of other ones is unknown. */
static void test_versions_that_are_no_numbers(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("b9", "", POD("p1", "b1")) },
	      { WATCH_FROM("b9"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("MODIFIED", POD("p1", "b11")) EVENT("MODIFIED", POD("p1", "a")) });
	informer_wait_seen("MODIFIED a/p1 b1 b11;MODIFIED a/p1 b11 a;");
	informer_stop();
}

/* ---- faults of the list ---- */

/* Each fault of a list, then a good one after the backoff. */
static void test_list_faults(void **state)
{
	static const struct {
		struct step step;
		enum err_kind kind;
	} faults[] = {
		{ { NULL, .kind = STEP_RESET }, ERR_RETRY },
		{ { NULL, .status = 500 }, ERR_RETRY },
		{ { NULL, .kind = STEP_STREAM_CUT, .text = "{" }, ERR_RETRY },
		{ { NULL, .text = "{'metadata':{" }, ERR_INPUT },
		{ { NULL, .text = "{'metadata':{}}" }, ERR_INPUT },
		{ { NULL, .text = LIST("", "", "") }, ERR_INPUT },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(faults); i++) {
		struct step steps[] = { faults[i].step,
					{ LIST_PAGE, .text = LIST("10", "", POD("p1", "1")) },
					{ WATCH_FROM("10"), .kind = STEP_STREAM_HOLD } };

		informer_script = (struct kube_script){ .loop = NULL };
		informer_start(steps, SUPPORT_COUNT(steps));
		informer_wait_seen("error ");
		assert_string_equal(err_kind_name(last_error.kind), err_kind_name(faults[i].kind));
		assert_false(kube_informer_synced(informer));
		assert_false(kube_informer_fresh(informer));
		assert_string_equal(kube_informer_problem(informer), last_error.text);
		informer_wait_seen("ADDED a/p1 - 1;synced;live;");
		informer_stop();
	}
}

static void test_410_within_a_list(void **state)
{
	(void)state;
	START({ LIST_PAGE, .text = LIST("10", "t", POD("p1", "1")) },
	      { "continue=t", .status = 410, .text = STATUS("410") },
	      { LIST_PAGE, .text = LIST("12", "", POD("p2", "2")) },
	      { WATCH_FROM("12"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen(
		"ADDED a/p1 - 1;error Gone;ADDED a/p2 - 2;DELETED a/p1 1 -;synced;live;");
	informer_stop();
}

static void test_retry_after_is_obeyed(void **state)
{
	int64_t begin_ms;

	(void)state;
	START({ NULL, .status = 429, .headers = "Retry-After: 2\r\n" },
	      { NULL, .text = LIST("10", "", "") }, { NULL, .kind = STEP_STREAM_HOLD });
	informer_wait_seen("error Retry;");
	begin_ms = loop_monotonic_ms(informer_script.loop);
	informer_wait_seen("synced;");
	assert_in_range(loop_monotonic_ms(informer_script.loop) - begin_ms, 1990, 4000);
	informer_stop();
}

static void test_rights_are_missing(void **state)
{
	(void)state;
	START({ NULL, .status = 403 }, { NULL, .text = LIST("10", "", "") },
	      { NULL, .kind = STEP_STREAM_HOLD });
	informer_wait_seen("error Denied;");
	assert_non_null(strstr(last_error.text, "list pods: 403; fix: grant"));
	assert_string_equal(kube_informer_problem(informer), last_error.text);
	assert_false(kube_informer_fresh(informer));
	informer_wait_seen("synced;live;");
	informer_stop();
}

static void start_pods(const struct step *steps, size_t count,
		       const struct kube_client_options *options)
{
	struct kube_informer_options pods = { .type = &kube_type_pod,
					      .callbacks = informer_callbacks };

	informer_script.steps = steps;
	informer_script.step_count = count;
	script_start(&informer_script, script_request, options);
	informer = kube_informer_new(informer_script.client, &pods);
}

/* A page that is not received in time is requested again with half as many objects; a whole list
 * raises their number again. */
static void test_page_too_slow_is_halved(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	static const struct step steps[] = {
		{ "limit=250", .kind = STEP_STREAM_HOLD, .text = "{'items':[" POD("p1", "1") "," },
		{ "limit=125", .text = LIST("10", "next", POD("p1", "1")) },
		{ "limit=125&continue=next", .text = LIST("10", "", POD("p2", "2")) },
		{ WATCH_FROM("10"), .status = 410, .text = STATUS("410") },
		{ "limit=250", .text = LIST("20", "", POD("p1", "1")) },
		{ WATCH_FROM("20"), .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	options.timeout_ms = 500;
	start_pods(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen(
		"ADDED a/p1 - 1;error Timeout;ADDED a/p2 - 2;synced;error Gone;DELETED a/p2 2 -;"
		"live;");
	assert_false(informer_script.surprised);
	informer_stop();
}

/* A later page that is not received in time does not begin the list again. */
static void test_later_page_too_slow_is_halved(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	static const struct step steps[] = {
		{ "limit=250", .text = LIST("10", "next", POD("p1", "1")) },
		{ "limit=250&continue=next", .kind = STEP_STREAM_HOLD, .text = "{'items':[" },
		{ "limit=125&continue=next", .text = LIST("10", "", POD("p2", "2")) },
		{ WATCH_FROM("10"), .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	options.timeout_ms = 500;
	start_pods(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("ADDED a/p1 - 1;error Timeout;ADDED a/p2 - 2;synced;live;");
	assert_false(informer_script.surprised);
	informer_stop();
}

/* The limit on the body of an answer is none on a list. */
static void test_list_has_no_limit(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	static const struct step steps[] = {
		{ "limit=250", .text = LIST("10", "", POD("p1", "1") "," POD("p2", "2")) },
		{ WATCH_FROM("10"), .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	options.body_max_bytes = 20;
	start_pods(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("ADDED a/p1 - 1;ADDED a/p2 - 2;synced;live;");
	informer_stop();
}

/* ---- faults of the watch ---- */

static void test_cut_resumes_without_a_list(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", POD("p1", "1")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_CUT,
		.text = EVENT("MODIFIED", POD("p1", "11")) "{'type':'MODI" },
	      { WATCH_FROM("11"), .status = 503 },
	      { WATCH_FROM("11"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("DELETED", POD("p1", "12")) });
	informer_wait_seen("live;MODIFIED a/p1 1 11;error Retry;");
	assert_false(kube_informer_fresh(informer));
	assert_string_equal(informer_version("p1"), "11"); /* stale, and still there */
	informer_wait_seen("error Retry;live;DELETED a/p1 11 -;");
	assert_true(kube_informer_fresh(informer));
	assert_int_equal(kube_informer_counters(informer).lists, 1);
	informer_stop();
}

static void test_reset(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", POD("p1", "1")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_RESET },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_HOLD,
		.text = EVENT("DELETED", POD("p1", "12")) });
	informer_wait_seen("synced;");
	informer_wait_seen("error Retry;live;DELETED a/p1 1 -;");
	informer_stop();
}

/* Objects that were deleted and created meanwhile are reported as changes; unchanged ones are
 * not. */
static void test_410_lists_again(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", POD("p1", "1") "," POD("p2", "2")) },
	      { WATCH_FROM("10"), .status = 410, .text = STATUS("410") },
	      { LIST_PAGE, .text = LIST("20", "", POD("p2", "2") "," POD("p3", "3")) },
	      { WATCH_FROM("20"), .kind = STEP_STREAM, .text = EVENT("ERROR", STATUS("410")) },
	      { LIST_PAGE, .text = LIST("30", "", POD("p2", "22") "," POD("p3", "3")) },
	      { WATCH_FROM("30"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;error Gone;ADDED a/p3 - 3;DELETED a/p1 1 -;live;error Gone;"
			   "MODIFIED a/p2 2 22;live;");
	assert_int_equal(kube_informer_count(informer), 2);
	informer_stop();
}

static void test_error_event_that_passes(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", "") },
	      { WATCH_FROM("10"), .kind = STEP_STREAM, .text = EVENT("ERROR", STATUS("500")) },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;live;error Retry;live;");
	assert_int_equal(kube_informer_counters(informer).lists, 1);
	informer_stop();
}

static void test_unreadable_lines_list_again(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", "") },
	      { WATCH_FROM("10"), .kind = STEP_STREAM_HOLD, .text = "no JSON\n" },
	      { LIST_PAGE, .text = LIST("20", "", "") },
	      { WATCH_FROM("20"), .kind = STEP_STREAM_HOLD, .text = EVENT("RENAMED", "{}") },
	      { LIST_PAGE, .text = LIST("30", "", "") },
	      { WATCH_FROM("30"), .kind = STEP_STREAM, .text = "{'type':'ADDED'" },
	      { WATCH_FROM("30"), .kind = STEP_STREAM_HOLD, .text = "\n\n" BOOKMARK("31") });
	informer_wait_seen("live;error Input;live;error Input;live;error Retry;live;");
	assert_non_null(strstr(last_error.text, "ended within a line"));
	informer_stop();
}

static void test_three_failures_list_again(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", "") }, { WATCH_FROM("10"), .status = 500 },
	      { WATCH_FROM("10"), .status = 500 }, { WATCH_FROM("10"), .status = 500 },
	      { LIST_PAGE, .text = LIST("20", "", "") },
	      { WATCH_FROM("20"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;error Retry;error Retry;error Retry;live;");
	informer_stop();
}

/* A server that ends each watch at once must not be asked in a tight loop. */
static void test_watch_that_ends_at_once(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", "") }, { WATCH_FROM("10"), .kind = STEP_STREAM },
	      { WATCH_FROM("10"), .kind = STEP_STREAM }, { WATCH_FROM("10"), .kind = STEP_STREAM },
	      { LIST_PAGE, .text = LIST("20", "", "") },
	      { WATCH_FROM("20"), .kind = STEP_STREAM_HOLD });
	informer_wait_seen("synced;live;error Retry;live;error Retry;live;error Retry;live;");
	assert_non_null(strstr(last_error.text, "the server ended it at once"));
	informer_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_list_in_pages_then_watch),
		TEST(test_watch_again_after_its_end),
		TEST(test_an_older_event_is_a_repetition),
		TEST(test_versions_that_are_no_numbers),
		TEST(test_list_faults),
		TEST(test_410_within_a_list),
		TEST(test_retry_after_is_obeyed),
		TEST(test_rights_are_missing),
		TEST(test_page_too_slow_is_halved),
		TEST(test_later_page_too_slow_is_halved),
		TEST(test_list_has_no_limit),
		TEST(test_cut_resumes_without_a_list),
		TEST(test_reset),
		TEST(test_410_lists_again),
		TEST(test_error_event_that_passes),
		TEST(test_unreadable_lines_list_again),
		TEST(test_three_failures_list_again),
		TEST(test_watch_that_ends_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
