/* Unary calls and replies, good and wrong, on connections that live. */
#include <sys/resource.h>

#include "net/process.h"
#include "test/support/h2_bench.h"

static void test_good(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("pong");
	assert_int_equal(h2_session_generation(bench.session), 0);
	h2_bench_expect_good(1000, "pong");
	assert_int_equal(h2_session_generation(bench.session), 1);
	h2_bench_expect_good(1000, "pong");
	h2_bench_answer("");
	h2_bench_expect_good(1000, "");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
}

static void test_reply_in_single_bytes(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("one byte in each frame");
	h2_bench_next_answer.piece = 1;
	h2_bench_expect_good(1000, "one byte in each frame");
	bench.server.one_byte_writes = true;
	h2_bench_expect_good(1000, "one byte in each frame");
	h2_bench_close();
}

static void handle_request_check(struct h2_server *server, struct h2_stream *stream)
{
	const char *headers = buf_string(&stream->headers);
	static const char *const wanted[] = {
		":method: POST\n",
		":scheme: http\n",
		":path: /test.Service/Method\n",
		"te: trailers\n",
		"content-type: application/grpc\n",
		"user-agent: rayscaler\n",
		"authorization: Bearer abc (never indexed)\n",
		"grpc-timeout: ",
	};
	char authority[40];

	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++)
		if (!strstr(headers, wanted[i]))
			fail_msg("no \"%s\" in:\n%s", wanted[i], headers);
	(void)snprintf(authority, sizeof(authority), ":authority: 127.0.0.1:%d\n", server->port);
	assert_non_null(strstr(headers, authority));
	assert_int_equal(stream->body.size, 9);
	assert_memory_equal(stream->body.data, "\0\0\0\0\4ping", 9);
	h2_stream_answer(stream, &h2_bench_next_answer);
}

static void test_request(void **state)
{
	(void)state;
	h2_bench_open(handle_request_check);
	h2_bench_answer("pong");
	h2_bench_expect_good(1000, "pong");
	h2_bench_close();
}

static size_t echoed;

static void handle_echo(struct h2_server *server, struct h2_stream *stream)
{
	struct h2_answer echo = { .message = stream->body.data,
				  .size = stream->body.size,
				  .unframed = true };

	(void)server;
	echoed = stream->body.size;
	h2_stream_answer(stream, &echo);
}

/* More than the windows of both sides, in both directions. */
static void test_large_messages(void **state)
{
	size_t size = (size_t)8 << 20;
	char *message = memory_alloc(size);

	(void)state;
	h2_bench_open(handle_echo);
	h2_session_free(bench.session);
	h2_bench_open_session(bench.server.port, size);
	h2_bench_start_message(message, size, 10000);
	h2_bench_run();
	assert_int_equal(bench.outcomes[0].kind, ERR_NONE);
	assert_int_equal(bench.outcomes[0].size, size);
	assert_int_equal(echoed, size + GRPC_PREFIX_SIZE);
	h2_bench_close();
	memory_free(message);
}

static void test_many_calls_at_once(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("pong");
	for (unsigned i = 0; i < CALLS_MAX; i++)
		h2_bench_start(5000);
	h2_bench_run();
	for (unsigned i = 0; i < CALLS_MAX; i++)
		assert_int_equal(bench.outcomes[i].kind, ERR_NONE);
	assert_int_equal(bench.server.connections, 1);
	assert_int_equal(bench.server.requests, CALLS_MAX);
	h2_bench_close();
}

/* ---- replies that are wrong ---- */

static void test_error_statuses(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("");
	h2_bench_next_answer.grpc_status = 14;
	h2_bench_next_answer.grpc_message = "not%20now%2C%20%C3%A4h";
	h2_bench_expect_error(1000, ERR_RETRY, "UNAVAILABLE (14): not now, \xc3\xa4h");
	h2_bench_next_answer.trailers_only = true;
	h2_bench_expect_error(1000, ERR_RETRY, "UNAVAILABLE (14): not now");
	h2_bench_next_answer.grpc_status = 16;
	h2_bench_expect_error(1000, ERR_DENIED, "UNAUTHENTICATED");
	assert_int_equal(bench.outcomes[bench.started - 1].grpc_status, 16);
	h2_bench_next_answer.grpc_status = 12;
	h2_bench_expect_error(1000, ERR_NOT_FOUND, "UNIMPLEMENTED");
	h2_bench_next_answer.grpc_status = 77;
	h2_bench_expect_error(1000, ERR_RETRY, "77");
	/* Status 0 without a message: a GCS always sends one, if only an empty one. */
	h2_bench_next_answer.grpc_status = 0;
	h2_bench_expect_error(1000, ERR_INPUT, "ended after 0 bytes");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
}

static void test_broken_replies(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("pong");
	h2_bench_next_answer.no_trailers = true;
	h2_bench_expect_error(1000, ERR_INPUT, "without a grpc-status");
	h2_bench_answer("pong");
	h2_bench_next_answer.http_status = "404";
	h2_bench_expect_error(1000, ERR_RETRY, "HTTP status 404");
	h2_bench_next_answer.http_status = "401";
	h2_bench_expect_error(1000, ERR_DENIED, "HTTP status 401");
	h2_bench_next_answer =
		(struct h2_answer){ .message = "\0\0\0\0\x9pong", .size = 9, .unframed = true };
	h2_bench_expect_error(1000, ERR_INPUT, "ended after 4 bytes");
	h2_bench_next_answer =
		(struct h2_answer){ .message = "\0\0\0\0\3pong", .size = 9, .unframed = true };
	h2_bench_expect_error(1000, ERR_INPUT, "continues after");
	h2_bench_next_answer =
		(struct h2_answer){ .message = "\1\0\0\0\4pong", .size = 9, .unframed = true };
	h2_bench_expect_error(1000, ERR_INPUT, "compressed");
	h2_bench_next_answer = (struct h2_answer){ .message = "\0\xff\xff\xff\xffpong",
						   .size = 9,
						   .unframed = true };
	h2_bench_expect_error(1000, ERR_LIMIT,
			      "4294967295 bytes, more than the ceiling of 1048576");
	/* The connection is as good as before. */
	h2_bench_answer("pong");
	h2_bench_expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
}

/* Its first bytes refuse it, and the rest does not reach a call that has ended. */
static void test_large_reply_above_the_ceiling(void **state)
{
	size_t size = (size_t)8 << 20;
	char *message = memory_alloc(size);

	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_next_answer = (struct h2_answer){ .message = message, .size = size };
	h2_bench_expect_error(5000, ERR_LIMIT, "8388608 bytes, more than the ceiling of 1048576");
	h2_bench_answer("pong");
	h2_bench_expect_good(5000, "pong");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
	memory_free(message);
}

static void test_request_above_the_ceiling(void **state)
{
	size_t size = H2_REQUEST_CEILING_BYTES + 1;
	char *message = memory_alloc(size);

	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_bench_start_message(message, size, 1000);
	assert_int_equal(bench.ended, 0); /* never inside the call */
	h2_bench_run();
	assert_int_equal(bench.outcomes[0].kind, ERR_LIMIT);
	assert_int_equal(bench.server.connections, 0);
	h2_bench_close();
	memory_free(message);
}

/* The last descriptors are for the API server and the probes. */
static void test_a_connection_leaves_files_to_others(void **state)
{
	struct process_figures figures;
	struct rlimit limit, less;

	(void)state;
	h2_bench_open(h2_bench_handle_next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	process_read(&figures);
	less = limit;
	less.rlim_cur = (rlim_t)figures.open_fds + 8;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	h2_bench_expect_error(1000, ERR_RETRY, "too many open files: the limit of this process is");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	h2_bench_answer("pong");
	RUN_UNTIL(h2_bench_call(1000)->kind == ERR_NONE);
	h2_bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_reply_in_single_bytes),
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_large_messages),
		cmocka_unit_test(test_many_calls_at_once),
		cmocka_unit_test(test_error_statuses),
		cmocka_unit_test(test_broken_replies),
		cmocka_unit_test(test_large_reply_above_the_ceiling),
		cmocka_unit_test(test_request_above_the_ceiling),
		cmocka_unit_test(test_a_connection_leaves_files_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
