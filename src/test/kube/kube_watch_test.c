/* kube/kube_watch: stalls and cancels in callbacks between the lines, and the backoff. */
#include "kube/kube_watch.h"

#include "test/support/kube_script.h"

#define EVENT(rv) "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'" rv "'}}}\n"

static struct kube_script script;

struct seen {
	struct kube_watch *watch;
	int opened, events, ended, cancel_at_event;
	bool cancel_at_open;
	char last_version[32];
	struct err err;
	int64_t retry_after_ms;
};

static void on_open(void *context)
{
	struct seen *seen = context;

	seen->opened++;
	if (seen->cancel_at_open)
		kube_watch_cancel(seen->watch);
}

static void on_event(void *context, const struct watch_event *event)
{
	struct seen *seen = context;

	seen->events++;
	(void)snprintf(seen->last_version, sizeof(seen->last_version), "%s",
		       event->resource_version);
	if (seen->events == seen->cancel_at_event)
		kube_watch_cancel(seen->watch);
}

static void on_end(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct seen *seen = context;

	seen->ended++;
	seen->retry_after_ms = answer->retry_after_ms;
	if (err)
		seen->err = *err;
}

static void watch(struct seen *seen, int64_t stall_ms)
{
	const struct kube_watch_callbacks callbacks = { .on_open = on_open,
							.on_event = on_event,
							.on_end = on_end,
							.context = seen,
							.stall_ms = stall_ms };

	seen->watch =
		kube_watch_start(script.client, "/api/v1/pods?labelSelector=a", "7", &callbacks);
}

static void start(struct seen *seen, const struct step *steps, size_t count, int64_t stall_ms)
{
	script = (struct kube_script){ .loop = NULL };
	script_steps(&script, steps, count);
	watch(seen, stall_ms);
}

static bool has_ended(void *context)
{
	return ((const struct seen *)context)->ended > 0;
}

static bool has_opened(void *context)
{
	return ((const struct seen *)context)->opened > 0;
}

static bool has_event(void *context)
{
	return ((const struct seen *)context)->events > 0;
}

static void test_request(void **state)
{
	static const struct step steps[] = {
		{ "GET /api/v1/pods?labelSelector=a&watch=true&allowWatchBookmarks=true&"
		  "timeoutSeconds=20&resourceVersion=7",
		  .kind = STEP_STREAM, .text = EVENT("8") "\n" EVENT("9") },
	};
	struct seen seen = { .opened = 0 };

	(void)state;
	start(&seen, steps, SUPPORT_COUNT(steps), 0);
	assert_true(loop_wait_until(script.loop, has_ended, &seen, WAIT_MS));
	assert_int_equal(seen.opened, 1);
	assert_int_equal(seen.events, 2);
	assert_string_equal(seen.last_version, "9");
	assert_int_equal(seen.err.kind, ERR_NONE);
	script_done(&script);
}

/* An open connection without any bytes. */
static void test_stall(void **state)
{
	static const struct step steps[] = { { .kind = STEP_STREAM_HOLD, .text = EVENT("8") } };
	struct seen seen = { .opened = 0 };

	(void)state;
	start(&seen, steps, SUPPORT_COUNT(steps), 200);
	assert_true(loop_wait_until(script.loop, has_ended, &seen, WAIT_MS));
	assert_int_equal(seen.events, 1);
	assert_int_equal(seen.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(seen.err.text, "watch pods: http://127.0.0.1:"));
	assert_non_null(strstr(seen.err.text, "nothing was received for 200 ms"));
	script_done(&script);
	/* The server is asked to end the watch well before the limit, and that within 30 s. */
	assert_true(KUBE_WATCH_SECONDS * 1000 < KUBE_WATCH_STALL_MS);
	assert_true(KUBE_WATCH_STALL_MS <= 30000);
}

static _Atomic char trickled;

/* Each byte is in time, and still there is never an event. */
static void script_trickle(struct exchange *exchange, void *context)
{
	struct timeval pause = { .tv_usec = 50000 };
	char rest[16], byte = trickled;

	(void)context;
	(void)setsockopt(exchange->fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
	exchange_open_stream(exchange);
	while (!exchange->closed) {
		exchange_chunk(exchange, &byte, 1);
		if (recv(exchange->fd, rest, sizeof(rest), 0) == 0)
			exchange->closed = true;
	}
}

static void trickle(char byte)
{
	struct seen seen = { .opened = 0 };

	trickled = byte;
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, script_trickle, &KUBE_CLIENT_OPTIONS_INIT);
	watch(&seen, 3000);
	assert_true(loop_wait_until(script.loop, has_ended, &seen, WAIT_MS));
	assert_int_equal(seen.events, 0);
	assert_int_equal(seen.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(seen.err.text, "no complete line was received for 3300 ms"));
	assert_true(KUBE_WATCH_STALL_MS + KUBE_WATCH_STALL_MS / 10 <= 30000);
	script_done(&script);
}

static void test_trickle(void **state)
{
	(void)state;
	trickle(' ');
}

/* As a proxy that keeps both sides' connections alive while the server behind it is down. */
static void test_empty_lines(void **state)
{
	(void)state;
	trickle('\n');
}

/* The server sends no more and reads on: the end of its half is the end of the watch. */
static void test_half_closed(void **state)
{
	static const struct step steps[] = { { .kind = STEP_STREAM_HALF, .text = EVENT("8") } };
	struct seen seen = { .opened = 0 };

	(void)state;
	start(&seen, steps, SUPPORT_COUNT(steps), WAIT_MS);
	assert_true(loop_wait_until(script.loop, has_ended, &seen, WAIT_MS / 2));
	assert_int_equal(seen.events, 1);
	assert_int_equal(seen.err.kind, ERR_RETRY);
	script_done(&script);
}

static void test_error_event(void **state)
{
	static const struct step steps[] = {
		{ .kind = STEP_STREAM_HOLD,
		  .text = "{'type':'ERROR','object':{'kind':'Status','code':429,'reason':'Busy',"
			  "'message':'later','details':{'retryAfterSeconds':4}}}\n" EVENT("8") },
	};
	struct seen seen = { .opened = 0 };

	(void)state;
	start(&seen, steps, SUPPORT_COUNT(steps), 0);
	assert_true(loop_wait_until(script.loop, has_ended, &seen, WAIT_MS));
	assert_int_equal(seen.events, 0);
	assert_int_equal(seen.err.kind, ERR_RETRY);
	assert_non_null(strstr(seen.err.text, "429 Busy: later"));
	assert_int_equal(seen.retry_after_ms, 4000);
	script_done(&script);
}

static void test_cancel(void **state)
{
	static const struct step steps[] = {
		{ .kind = STEP_STREAM_HOLD, .text = EVENT("8") EVENT("9") EVENT("10") },
		{ .kind = STEP_STREAM_HOLD },
	};
	struct seen at_open = { .cancel_at_open = true }, at_event = { .cancel_at_event = 2 };
	struct seen outside = { .opened = 0 };

	(void)state;
	start(&at_open, steps, SUPPORT_COUNT(steps), 0);
	assert_true(loop_wait_until(script.loop, has_opened, &at_open, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_ended, &at_open, 50));
	assert_int_equal(at_open.events, 0);
	script_done(&script);

	start(&at_event, steps, SUPPORT_COUNT(steps), 0);
	assert_true(loop_wait_until(script.loop, has_event, &at_event, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_ended, &at_event, 50));
	assert_int_equal(at_event.events, 2);
	script_done(&script);

	start(&outside, steps, SUPPORT_COUNT(steps), 0);
	assert_true(loop_wait_until(script.loop, has_event, &outside, WAIT_MS));
	kube_watch_cancel(outside.watch);
	kube_watch_cancel(NULL);
	assert_false(loop_wait_until(script.loop, has_ended, &outside, 50));
	script_done(&script);
}

static void test_backoff_grows_and_spreads(void **state)
{
	static const int64_t steps[] = { 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000 };
	struct backoff backoff = KUBE_BACKOFF;
	bool differs = false;

	(void)state;
	for (int round = 0; round < 100; round++) {
		int64_t sixth = 0;

		backoff.failures = 0;
		for (size_t i = 0; i < SUPPORT_COUNT(steps); i++) {
			int64_t wait_ms = backoff_next_ms(&backoff, 0);

			assert_in_range(wait_ms, steps[i] / 2, steps[i]);
			sixth = i == 5 ? wait_ms : sixth;
			differs = differs || (i > 5 && wait_ms != sixth);
		}
	}
	assert_true(differs);
	for (int i = 0; i < 1000; i++)
		assert_in_range(backoff_next_ms(&backoff, 0), 7500, 15000);
}

static void test_backoff_obeys_the_server(void **state)
{
	struct backoff backoff = KUBE_BACKOFF;

	(void)state;
	assert_int_equal(backoff_next_ms(&backoff, 3000), 3000);
	assert_int_equal(backoff_next_ms(&backoff, 3600000), 60000); /* not an hour */
	assert_in_range(backoff_next_ms(&backoff, 1), 1000, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_empty_lines),
		cmocka_unit_test(test_half_closed),
		cmocka_unit_test(test_error_event),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_backoff_grows_and_spreads),
		cmocka_unit_test(test_backoff_obeys_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
