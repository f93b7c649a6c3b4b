/* net/https against a scripted server: answers in any pieces, faults, deadlines, cancels. */
#include <sys/resource.h>
#include <unistd.h>

#include "test/support/https_client.h"

/* ---- scripts ---- */

static void script_echo(struct exchange *exchange, void *context)
{
	char body[16384];

	(void)context;
	(void)snprintf(body, sizeof(body), "%s %s|%s|%s|", exchange->method, exchange->path,
		       exchange->body, exchange_header(exchange, "Authorization"));
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s|",
		       exchange_header(exchange, "X-Own"));
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s",
		       exchange_header(exchange, "User-Agent"));
	exchange_answer(exchange, 200, "", body);
}

static void script_status(struct exchange *exchange, void *context)
{
	_Atomic int *status = context;

	exchange_answer(exchange, *status, "Retry-After: 7\r\nLocation: http://127.0.0.1:1/\r\n",
			"body");
}

static void script_bytes(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_open_stream(exchange);
	for (int i = 0; i < 2000; i++)
		exchange_chunk(exchange, &"0123456789"[i % 10], 1);
	exchange_end_stream(exchange);
}

static void script_hold(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_hold(exchange);
}

static void script_open_and_hold(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_open_stream(exchange);
	exchange_chunk(exchange, "half", 4);
	exchange_hold(exchange);
}

static void script_reset(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_open_stream(exchange);
	exchange_chunk(exchange, "half", 4);
	exchange_reset(exchange);
}

static void script_garbage(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_text(exchange, "\x16\x03 this is no HTTP\r\n\r\n");
	exchange->closed = true;
}

static void script_long_header(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_text(exchange, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 2000; i++)
		exchange_text(exchange, "X-Filler: 0123456789012345678901234567890123456789\r\n");
	exchange_text(exchange, "Content-Length: 0\r\n\r\n");
}

/* An answer with a length that cannot be, and a short body; then it ends. */
static void script_length(struct exchange *exchange, void *context)
{
	static const char *const lengths[] = { "-1",   "18446744073709551616",
					       "x",    "+3",
					       "3, 4", "99999999999999999999999999999999" };
	_Atomic int *number = context;
	char text[200];

	(void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\nabc",
		       lengths[*number]);
	exchange_text(exchange, text);
	exchange->closed = true;
}

/* ---- plain requests ---- */

static void test_request_arrives_whole(void **state)
{
	static const char *const headers[] = { "X-Own: yes" };
	struct fixture *fixture = *state;
	struct seen seen;

	fixture->server = server_start(script_echo, NULL);
	client_run(&seen, fixture,
		   &(struct https_call){ .method = "PATCH",
					 .headers = headers,
					 .header_count = 1,
					 .bearer_token = "secret",
					 .body = "[1]",
					 .body_size = 3 });
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_int_equal(seen.status, 200);
	assert_string_equal(buf_string(&seen.data), "PATCH /path?q=1|[1]|Bearer secret|yes|test/1");
	buf_done(&seen.data);
}

static void test_connection_is_reused(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_echo, NULL);
	for (int i = 0; i < 5; i++) {
		struct seen seen;

		client_run(&seen, fixture, NULL);
		assert_int_equal(seen.status, 200);
		buf_done(&seen.data);
	}
	assert_int_equal(server_connections(fixture->server), 1);
}

static void test_status_is_no_error(void **state)
{
	static const int statuses[] = { 201, 302, 404, 410, 429, 500 };
	struct fixture *fixture = *state;

	fixture->server = server_start(script_status, &fixture->number);
	for (size_t i = 0; i < SUPPORT_COUNT(statuses); i++) {
		struct seen seen;

		fixture->number = statuses[i];
		client_run(&seen, fixture, NULL);
		assert_int_equal(seen.err.kind, ERR_NONE);
		assert_int_equal(seen.status, statuses[i]); /* 302: not followed */
		assert_int_equal(seen.retry_after_ms, 7000);
		assert_string_equal(buf_string(&seen.data), "body");
		buf_done(&seen.data);
	}
}

static void test_environment_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	fixture->server = server_start(script_echo, NULL);
	client_run(&seen, fixture, NULL);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(seen.status, 200);
	buf_done(&seen.data);
}

static void test_stream_in_single_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	fixture->server = server_start(script_bytes, NULL);
	client_run(&seen, fixture, &client_stream);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_int_equal(seen.opened, 1);
	assert_true(seen.chunks >= 1);
	assert_int_equal(seen.data.size, 2000);
	assert_memory_equal(seen.data.data + 1990, "0123456789", 10);
	buf_done(&seen.data);
}

static void test_stream_gathers_a_refusal(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	fixture->number = 403;
	fixture->server = server_start(script_status, &fixture->number);
	client_run(&seen, fixture, &client_stream);
	assert_int_equal(seen.opened, 0);
	assert_int_equal(seen.chunks, 0);
	assert_int_equal(seen.status, 403);
	assert_string_equal(buf_string(&seen.data), "body");
	buf_done(&seen.data);
}

/* ---- faults ---- */

static void test_too_large(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_bytes, NULL);
	client_expect_error(fixture, &(struct https_call){ .ceiling_bytes = 1999 }, ERR_LIMIT,
			    "larger than 1999 bytes");
	client_expect_error(fixture, &(struct https_call){ .ceiling_bytes = 2000 }, ERR_NONE, "");
}

/* Fails, or ends with the bytes that came: neither waits for more than there is. */
static void test_absurd_lengths(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_length, &fixture->number);
	for (fixture->number = 0; fixture->number < 6; fixture->number++) {
		struct seen seen;

		client_run(&seen, fixture, &(struct https_call){ .first_byte_ms = WAIT_MS });
		if (seen.err.kind == ERR_NONE)
			assert_string_equal(buf_string(&seen.data), "abc");
		else if (seen.err.kind != ERR_RETRY)
			fail_msg("%d: %s", (int)fixture->number, seen.err.text);
		assert_true(seen.err.kind != ERR_NONE || fixture->number > 0);
		buf_done(&seen.data);
	}
}

static void test_header_too_large(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_long_header, NULL);
	client_expect_error(fixture, NULL, ERR_LIMIT, "header of the answer is larger");
}

static void test_first_byte_deadline(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_hold, NULL);
	client_expect_error(fixture, &(struct https_call){ .first_byte_ms = SHORT_MS }, ERR_TIMEOUT,
			    "no answer began");
}

static void test_total_deadline(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_open_and_hold, NULL);
	client_expect_error(fixture,
			    &(struct https_call){ .first_byte_ms = SHORT_MS,
						  .total_ms = 3 * SHORT_MS },
			    ERR_TIMEOUT, "timed out after 60");
}

static void test_stall(void **state)
{
	struct fixture *fixture = *state;
	struct https_call call = client_stream;

	call.stall_ms = SHORT_MS;
	fixture->server = server_start(script_open_and_hold, NULL);
	client_expect_error(fixture, &call, ERR_TIMEOUT, "nothing was received for 200 ms");
}

/* The deadline of the first byte must not end a stream that has begun. */
static void test_stream_outlives_first_byte_deadline(void **state)
{
	struct fixture *fixture = *state;
	struct https_call call = client_stream;

	call.first_byte_ms = SHORT_MS;
	call.stall_ms = SHORT_MS * 4;
	fixture->server = server_start(script_open_and_hold, NULL);
	client_expect_error(fixture, &call, ERR_TIMEOUT, "nothing was received for 800 ms");
}

static void test_reset(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_reset, NULL);
	client_expect_error(fixture, NULL, ERR_RETRY, "http://127.0.0.1:");
	client_expect_error(fixture, &client_stream, ERR_RETRY, "http://127.0.0.1:");
}

static void test_no_http(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_garbage, NULL);
	client_expect_error(fixture, NULL, ERR_RETRY, "");
}

static void test_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->server = server_start(script_echo, NULL);
	client_expect_error(fixture, &(struct https_call){ .url = "http://127.0.0.1:1/x" },
			    ERR_RETRY, "127.0.0.1");
}

/* Of files, not of the server. */
static void test_no_file_descriptor(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit limit, less;
	int lowest;

	fixture->server = server_start(script_echo, NULL);
	lowest = dup(STDERR_FILENO);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = limit;
	less.rlim_cur = (rlim_t)lowest;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	client_expect_error(fixture, &(struct https_call){ .url = "http://127.0.0.1:1/x" },
			    ERR_RETRY, "too many open files: the limit of this process is");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_unusable_calls(void **state)
{
	static const char *const smuggled[] = { "X-A: 1\r\nX-B: 2" };
	struct fixture *fixture = *state;
	struct seen seen;
	struct https_call call = { .method = "GET" };

	fixture->server = server_start(script_echo, NULL);
	client_expect_error(fixture, &(struct https_call){ .url = "ftp://127.0.0.1/" }, ERR_FATAL,
			    "");
	client_expect_error(fixture, &(struct https_call){ .url = "http://127.0.0.1:99999/" },
			    ERR_FATAL, "");
	client_expect_error(fixture, &(struct https_call){ .bearer_token = "two\nlines" },
			    ERR_FATAL, "control character");
	client_expect_error(fixture, &(struct https_call){ .headers = smuggled, .header_count = 1 },
			    ERR_FATAL, "control character");
	assert_int_equal(server_connections(fixture->server), 0);

	/* http:// needs allow_plain */
	client_seen_init(&seen, fixture);
	call = (struct https_call){ .method = "GET",
				    .url = "http://127.0.0.1:1/",
				    .connect_ms = WAIT_MS,
				    .first_byte_ms = WAIT_MS,
				    .total_ms = WAIT_MS,
				    .on_done = client_on_done,
				    .context = &seen };
	seen.request = https_start(fixture->https, &call);
	client_finish(&seen);
	assert_int_equal(seen.err.kind, ERR_FATAL);
	buf_done(&seen.data);
}

/* ---- cancel and start at any time ---- */

/* Runs another request to its end, which gives the loop many iterations. */
static void settle(struct fixture *fixture)
{
	struct scripted_server *server = fixture->server;
	struct seen seen;

	fixture->server = server_start(script_echo, NULL);
	client_run(&seen, fixture, NULL);
	buf_done(&seen.data);
	server_stop(fixture->server);
	fixture->server = server;
}

static bool is_opened(void *context)
{
	return ((const struct seen *)context)->opened > 0;
}

static bool has_chunks(void *context)
{
	return ((const struct seen *)context)->chunks > 0;
}

static void test_cancel_outside(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	fixture->server = server_start(script_open_and_hold, NULL);
	client_seen_init(&seen, fixture);
	client_start(&seen, &client_stream);
	https_cancel(seen.request); /* before its first iteration */
	client_start(&seen, &client_stream);
	assert_true(loop_wait_until(fixture->loop, has_chunks, &seen, WAIT_MS));
	https_cancel(seen.request);
	settle(fixture);
	assert_int_equal(seen.done, 0);
	buf_done(&seen.data);
}

static void test_cancel_in_own_callbacks(void **state)
{
	struct fixture *fixture = *state;
	struct seen open, chunk;

	fixture->server = server_start(script_bytes, NULL);
	client_seen_init(&open, fixture);
	client_seen_init(&chunk, fixture);
	open.cancel_open = true;
	chunk.cancel_chunk = true;
	client_start(&open, &client_stream);
	client_start(&chunk, &client_stream);
	assert_true(loop_wait_until(fixture->loop, is_opened, &open, WAIT_MS));
	assert_true(loop_wait_until(fixture->loop, has_chunks, &chunk, WAIT_MS));
	settle(fixture);
	assert_int_equal(open.chunks, 0);
	assert_int_equal(chunk.chunks, 1);
	assert_int_equal(open.done + chunk.done, 0);
	buf_done(&open.data);
	buf_done(&chunk.data);
}

static void test_cancel_another(void **state)
{
	struct fixture *fixture = *state;
	struct seen held, chunk, done;

	for (int in_done = 0; in_done < 2; in_done++) {
		struct scripted_server *holding = server_start(script_open_and_hold, NULL);
		struct seen *killer = in_done ? &done : &chunk;

		client_seen_init(&held, fixture);
		client_seen_init(killer, fixture);
		fixture->server = holding;
		client_start(&held, &client_stream);
		assert_true(loop_wait_until(fixture->loop, has_chunks, &held, WAIT_MS));
		fixture->server = server_start(script_bytes, NULL);
		killer->victim = held.request;
		client_start(killer, in_done ? NULL : &client_stream);
		client_finish(killer);
		settle(fixture);
		assert_int_equal(held.done, 0);
		buf_done(&held.data);
		buf_done(&killer->data);
		server_stop(holding);
		server_stop(steal(&fixture->server));
	}
}

static void test_start_in_callbacks(void **state)
{
	struct fixture *fixture = *state;
	struct seen first, second, third;

	fixture->server = server_start(script_bytes, NULL);
	client_seen_init(&first, fixture);
	client_seen_init(&second, fixture);
	client_seen_init(&third, fixture);
	first.start_in_chunk = true;
	first.next = &second;
	second.start_in_done = true;
	second.next = &third;
	client_start(&first, &client_stream);
	client_finish(&first);
	client_finish(&second);
	client_finish(&third);
	assert_int_equal(third.data.size, 2000);
	buf_done(&first.data);
	buf_done(&second.data);
	buf_done(&third.data);
}

static void test_receiver_refuses(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	fixture->server = server_start(script_bytes, NULL);
	client_seen_init(&seen, fixture);
	seen.refuse_chunk = true;
	client_start(&seen, &client_stream);
	client_finish(&seen);
	assert_int_equal(seen.err.kind, ERR_INPUT);
	assert_int_equal(seen.chunks, 1);
	buf_done(&seen.data);
}

static void test_free_with_requests_under_way(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen[8];

	fixture->server = server_start(script_open_and_hold, NULL);
	for (size_t i = 0; i < SUPPORT_COUNT(seen); i++) {
		client_seen_init(&seen[i], fixture);
		client_start(&seen[i], &client_stream);
	}
	assert_true(loop_wait_until(fixture->loop, has_chunks, &seen[3], WAIT_MS));
	https_free(fixture->https);
	fixture->https = https_new(fixture->loop, "test/1");
	settle(fixture);
	for (size_t i = 0; i < SUPPORT_COUNT(seen); i++) {
		assert_int_equal(seen[i].done, 0);
		buf_done(&seen[i].data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request_arrives_whole),
		TEST(test_connection_is_reused),
		TEST(test_status_is_no_error),
		TEST(test_environment_is_ignored),
		TEST(test_stream_in_single_bytes),
		TEST(test_stream_gathers_a_refusal),
		TEST(test_too_large),
		TEST(test_header_too_large),
		TEST(test_absurd_lengths),
		TEST(test_first_byte_deadline),
		TEST(test_total_deadline),
		TEST(test_stall),
		TEST(test_stream_outlives_first_byte_deadline),
		TEST(test_reset),
		TEST(test_no_http),
		TEST(test_refused),
		TEST(test_no_file_descriptor),
		TEST(test_unusable_calls),
		TEST(test_cancel_outside),
		TEST(test_cancel_in_own_callbacks),
		TEST(test_cancel_another),
		TEST(test_start_in_callbacks),
		TEST(test_receiver_refuses),
		TEST(test_free_with_requests_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
