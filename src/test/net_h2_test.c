/* The HTTP/2 client against a server that does everything wrong that a peer can do. */
#include <sys/socket.h>

#include "net/h2.h"
#include "net/h2_tls.h"
#include "test/h2_server.h"

#define CALLS_MAX 64

struct outcome {
	bool ended;
	enum err_kind kind; /* ERR_NONE: went well */
	int grpc_status;
	char text[ERR_TEXT_SIZE];
	char message[200];
	size_t size;
};

struct bench {
	struct loop *loop;
	struct loop_timer *timer;
	struct h2_server server;
	struct h2_session *session;
	struct outcome outcomes[CALLS_MAX];
	unsigned started, ended;
};

static struct bench bench;

static void on_deadline(void *context)
{
	(void)context;
	loop_stop(bench.loop);
}

static void open_session(int port, size_t ceiling)
{
	struct h2_config config = {
		.host = "127.0.0.1", .port = port, .reply_ceiling_bytes = ceiling
	};

	bench.session = h2_session_new(bench.loop, &config);
}

static void open_bench(h2_server_handler *handler)
{
	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.timer = loop_timer_new(bench.loop, on_deadline, NULL);
	bench.server.handler = handler;
	h2_server_start(&bench.server, bench.loop, 0);
	open_session(bench.server.port, 1 << 20);
}

static void open_raw(const void *raw, size_t size)
{
	open_bench(NULL);
	bench.server.raw = raw;
	bench.server.raw_size = size;
}

static void close_bench(void)
{
	h2_session_free(bench.session);
	h2_server_stop(&bench.server);
	loop_timer_free(bench.timer);
	loop_free(bench.loop);
}

static void on_done(void *context, const struct h2_reply *reply, const struct err *err)
{
	struct outcome *outcome = context;

	assert_false(outcome->ended);
	outcome->ended = true;
	outcome->grpc_status = reply->grpc_status;
	outcome->size = reply->size;
	(void)snprintf(outcome->message, sizeof(outcome->message), "%.*s",
		       (int)(reply->size < 100 ? reply->size : 100), (const char *)reply->message);
	if (err) {
		outcome->kind = err->kind;
		(void)snprintf(outcome->text, sizeof(outcome->text), "%s", err->text);
	}
	if (++bench.ended == bench.started)
		loop_stop(bench.loop);
}

static struct h2_call *start_message(const void *message, size_t size, int64_t timeout_ms)
{
	struct h2_request request = {
		.path = "/test.Service/Method",
		.headers = { { .name = "authorization", .value = "Bearer abc", .secret = true } },
		.message = message,
		.size = size,
		.timeout_ms = timeout_ms,
	};

	assert_true(bench.started < CALLS_MAX);
	return h2_call_start(bench.session, &request, on_done, &bench.outcomes[bench.started++]);
}

static struct h2_call *start(int64_t timeout_ms)
{
	return start_message("ping", 4, timeout_ms);
}

/* Until all calls have ended, at most 10 s. */
static void run(void)
{
	loop_timer_start(bench.timer, 10000);
	if (bench.ended < bench.started)
		loop_run(bench.loop);
	assert_int_equal(bench.ended, bench.started);
}

static void run_for(int64_t ms)
{
	loop_timer_start(bench.timer, ms);
	loop_run(bench.loop);
}

/* One call, and how it ended. */
static const struct outcome *call(int64_t timeout_ms)
{
	start(timeout_ms);
	run();
	return &bench.outcomes[bench.started - 1];
}

static void expect_good(int64_t timeout_ms, const char *message)
{
	const struct outcome *outcome = call(timeout_ms);

	if (outcome->kind != ERR_NONE)
		fail_msg("%s", outcome->text);
	assert_int_equal(outcome->grpc_status, GRPC_OK);
	assert_string_equal(outcome->message, message);
}

static void expect_error(int64_t timeout_ms, enum err_kind kind, const char *why)
{
	const struct outcome *outcome = call(timeout_ms);

	if (outcome->kind != kind || !strstr(outcome->text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why, outcome->kind,
			 outcome->text);
}

/* ---- good replies ---- */

static struct h2_answer next_answer;

static void handle_next(struct h2_server *server, struct h2_stream *stream)
{
	(void)server;
	h2_stream_answer(stream, &next_answer);
}

static void answer(const char *message)
{
	next_answer = (struct h2_answer){ .message = message, .size = strlen(message) };
}

static void test_good(void **state)
{
	(void)state;
	open_bench(handle_next);
	answer("pong");
	assert_int_equal(h2_session_generation(bench.session), 0);
	assert_string_equal(h2_session_state_name(bench.session), "Closed");
	expect_good(1000, "pong");
	assert_int_equal(h2_session_generation(bench.session), 1);
	assert_string_equal(h2_session_state_name(bench.session), "Open");
	expect_good(1000, "pong");
	answer("");
	expect_good(1000, "");
	assert_int_equal(bench.server.connections, 1);
	close_bench();
}

static void test_reply_in_single_bytes(void **state)
{
	(void)state;
	open_bench(handle_next);
	answer("one byte in each frame");
	next_answer.piece = 1;
	expect_good(1000, "one byte in each frame");
	bench.server.one_byte_writes = true;
	expect_good(1000, "one byte in each frame");
	close_bench();
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
		"authorization: Bearer abc\n",
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
	h2_stream_answer(stream, &next_answer);
}

static void test_request(void **state)
{
	(void)state;
	open_bench(handle_request_check);
	answer("pong");
	expect_good(1000, "pong");
	close_bench();
}

static size_t echoed;

static void handle_echo(struct h2_server *server, struct h2_stream *stream)
{
	struct h2_answer echo = {
		.message = stream->body.data, .size = stream->body.size, .unframed = true
	};

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
	open_bench(handle_echo);
	h2_session_free(bench.session);
	open_session(bench.server.port, size);
	start_message(message, size, 10000);
	run();
	assert_int_equal(bench.outcomes[0].kind, ERR_NONE);
	assert_int_equal(bench.outcomes[0].size, size);
	assert_int_equal(echoed, size + GRPC_PREFIX_SIZE);
	close_bench();
	memory_free(message);
}

static void test_many_calls_at_once(void **state)
{
	(void)state;
	open_bench(handle_next);
	answer("pong");
	for (unsigned i = 0; i < CALLS_MAX; i++)
		start(5000);
	run();
	for (unsigned i = 0; i < CALLS_MAX; i++)
		assert_int_equal(bench.outcomes[i].kind, ERR_NONE);
	assert_int_equal(bench.server.connections, 1);
	assert_int_equal(bench.server.requests, CALLS_MAX);
	close_bench();
}

/* ---- replies that are wrong ---- */

static void test_error_statuses(void **state)
{
	(void)state;
	open_bench(handle_next);
	answer("");
	next_answer.grpc_status = 14;
	next_answer.grpc_message = "not%20now%2C%20%C3%A4h";
	expect_error(1000, ERR_RETRY, "UNAVAILABLE (14): not now, \xc3\xa4h");
	next_answer.trailers_only = true;
	expect_error(1000, ERR_RETRY, "UNAVAILABLE (14): not now");
	next_answer.grpc_status = 16;
	expect_error(1000, ERR_DENIED, "UNAUTHENTICATED");
	assert_int_equal(bench.outcomes[bench.started - 1].grpc_status, 16);
	next_answer.grpc_status = 12;
	expect_error(1000, ERR_NOT_FOUND, "UNIMPLEMENTED");
	next_answer.grpc_status = 77;
	expect_error(1000, ERR_RETRY, "77");
	/* Status 0 without a message: a GCS always sends one, if only an empty one. */
	next_answer.grpc_status = 0;
	expect_error(1000, ERR_INPUT, "ended after 0 bytes");
	assert_int_equal(bench.server.connections, 1);
	close_bench();
}

static void test_broken_replies(void **state)
{
	(void)state;
	open_bench(handle_next);
	answer("pong");
	next_answer.no_trailers = true;
	expect_error(1000, ERR_INPUT, "without a grpc-status");
	answer("pong");
	next_answer.http_status = "404";
	expect_error(1000, ERR_RETRY, "HTTP status 404");
	next_answer.http_status = "401";
	expect_error(1000, ERR_DENIED, "HTTP status 401");
	next_answer = (struct h2_answer){ .message = "\0\0\0\0\x9pong", .size = 9, .unframed = true };
	expect_error(1000, ERR_INPUT, "ended after 4 bytes");
	next_answer = (struct h2_answer){ .message = "\0\0\0\0\3pong", .size = 9, .unframed = true };
	expect_error(1000, ERR_INPUT, "goes on after");
	next_answer = (struct h2_answer){ .message = "\1\0\0\0\4pong", .size = 9, .unframed = true };
	expect_error(1000, ERR_INPUT, "compressed");
	next_answer = (struct h2_answer){ .message = "\0\xff\xff\xff\xffpong", .size = 9, .unframed = true };
	expect_error(1000, ERR_LIMIT, "4294967295 bytes, more than the ceiling of 1048576");
	/* The connection is as good as before. */
	answer("pong");
	expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 1);
	close_bench();
}

static void test_request_above_the_ceiling(void **state)
{
	size_t size = H2_REQUEST_CEILING_BYTES + 1;
	char *message = memory_alloc(size);

	(void)state;
	open_bench(handle_next);
	start_message(message, size, 1000);
	assert_int_equal(bench.ended, 0); /* never inside the call */
	run();
	assert_int_equal(bench.outcomes[0].kind, ERR_LIMIT);
	assert_int_equal(bench.server.connections, 0);
	close_bench();
	memory_free(message);
}

/* ---- streams and connections that end ---- */

static void handle_reset(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1)
		assert_int_equal(nghttp2_submit_rst_stream(stream->peer->session, 0, stream->id,
							   NGHTTP2_ENHANCE_YOUR_CALM), 0);
	else
		h2_stream_answer(stream, &next_answer);
}

static void test_reset(void **state)
{
	(void)state;
	open_bench(handle_reset);
	answer("pong");
	expect_error(1000, ERR_RETRY, "reset by the other side: ENHANCE_YOUR_CALM");
	expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 1);
	close_bench();
}

static void handle_goaway(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 2) {
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, 0, NGHTTP2_NO_ERROR,
						       NULL, 0), 0);
		return;
	}
	if (server->requests == 3)
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, stream->id,
						       NGHTTP2_NO_ERROR, NULL, 0), 0);
	h2_stream_answer(stream, &next_answer);
}

static void test_goaway(void **state)
{
	(void)state;
	open_bench(handle_goaway);
	answer("pong");
	expect_good(1000, "pong");
	/* Without our stream: it was not looked at. The connection had been good: no back-off. */
	expect_error(1000, ERR_RETRY, "");
	expect_good(1000, "pong"); /* request 3, answered together with a GOAWAY */
	run_for(50);
	expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 3);
	close_bench();
}

static struct h2_stream *held;

static void handle_hold_first(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1) {
		h2_stream_answer(stream, &next_answer);
	} else if (server->requests == 2) {
		held = stream;
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, stream->id,
						       NGHTTP2_NO_ERROR, NULL, 0), 0);
		h2_peer_flush(stream->peer);
	} else {
		h2_stream_answer(stream, &next_answer);
	}
}

/* A call that was taken ends on the old connection; one that came later gets the next one. */
static void test_goaway_with_a_call_under_way(void **state)
{
	(void)state;
	open_bench(handle_hold_first);
	answer("pong");
	expect_good(1000, "pong");
	start(2000);
	run_for(50);
	start(2000);
	run_for(20);
	assert_int_equal(bench.ended, 1);
	h2_stream_answer(held, &next_answer);
	run();
	assert_int_equal(bench.outcomes[1].kind, ERR_NONE);
	assert_int_equal(bench.outcomes[2].kind, ERR_NONE);
	assert_int_equal(bench.server.connections, 2);
	close_bench();
}

static void handle_close(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 2)
		uv_close((uv_handle_t *)&server->listener, NULL);
	h2_stream_answer(stream, &next_answer);
}

/* The server goes away between two calls: the next one finds nobody, and later ones wait. */
static void test_refused_and_back_off(void **state)
{
	int port;

	(void)state;
	open_bench(handle_close);
	answer("pong");
	port = bench.server.port;
	expect_good(1000, "pong");
	expect_good(1000, "pong");
	h2_peer_close(bench.server.peers);
	run_for(50);
	assert_int_equal(h2_session_generation(bench.session), 0);
	expect_error(1000, ERR_RETRY, "refused");
	expect_error(1000, ERR_RETRY, "next attempt in");
	h2_server_start(&bench.server, bench.loop, port);
	bench.server.handler = handle_next;
	run_for(300);
	expect_good(1000, "pong");
	close_bench();
}

/* ---- bytes that are no HTTP/2 ---- */

static void expect_raw_error(const void *raw, size_t size, bool close, enum err_kind kind,
			     const char *why)
{
	open_raw(raw, size);
	bench.server.close_after_raw = close;
	expect_error(400, kind, why);
	close_bench();
}

static void test_garbage(void **state)
{
	static const char http1[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	static const char alert[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x0a };
	/* A DATA frame before SETTINGS, half of a SETTINGS frame, a frame of 16 MiB. */
	static const char data_first[] = { 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x' };
	static const char half[] = { 0, 0, 6, 4, 0, 0, 0 };
	static const char long_frame[] = { -1, -1, -1, 4, 0, 0, 0, 0, 0 };
	static const char bad_settings[] = { 0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5 };
	static const char zeros[3000];

	(void)state;
	expect_raw_error(http1, sizeof(http1) - 1, false, ERR_RETRY, "HTTP/2");
	expect_raw_error(alert, sizeof(alert), true, ERR_RETRY, "");
	expect_raw_error(data_first, sizeof(data_first), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(half, sizeof(half), true, ERR_RETRY, "closed by the other side");
	expect_raw_error(half, sizeof(half), false, ERR_TIMEOUT, "no reply within 400 ms");
	expect_raw_error(long_frame, sizeof(long_frame), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(bad_settings, sizeof(bad_settings), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(zeros, sizeof(zeros), false, ERR_RETRY, "HTTP/2");
	expect_raw_error("", 0, true, ERR_RETRY, "closed by the other side");
}

/* Any bytes at all: an error in time, and no memory is lost (the sanitizer looks). */
static void test_random_bytes(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int i = 0; i < 60; i++) {
		char bytes[300];
		size_t size = 1 + support_random_below(&seed, sizeof(bytes) - 1);

		for (size_t b = 0; b < size; b++)
			bytes[b] = (char)support_random(&seed);
		if (i % 2) /* a good start */
			memcpy(bytes, "\0\0\0\4\0\0\0\0\0", size < 9 ? size : 9);
		open_raw(bytes, size);
		bench.server.close_after_raw = true;
		call(200);
		assert_int_not_equal(bench.outcomes[0].kind, ERR_NONE);
		close_bench();
	}
}

/* ---- time ---- */

static void handle_fifth(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests % 5 == 0)
		h2_stream_answer(stream, &next_answer);
}

static void handle_first(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1)
		h2_stream_answer(stream, &next_answer);
}

/* The server lives (it answers the PING), but not these calls. */
static void test_slow_replies(void **state)
{
	(void)state;
	open_bench(handle_first);
	answer("pong");
	expect_good(1000, "pong");
	run_for(10);
	expect_error(200, ERR_TIMEOUT, "no reply within 200 ms");
	assert_int_equal(h2_session_generation(bench.session), 1);
	/* Within the interval of the PINGs there is no second one: silence ends the connection. */
	expect_error(200, ERR_TIMEOUT, "no reply within 200 ms");
	assert_int_equal(h2_session_generation(bench.session), 0);
	close_bench();
}

static void handle_trickle(struct h2_server *server, struct h2_stream *stream)
{
	(void)server;
	(void)nghttp2_submit_ping(stream->peer->session, 0, NULL);
}

/* Bytes come, replies do not: after three in a row the connection is replaced. */
static void test_replies_that_never_come(void **state)
{
	(void)state;
	open_bench(handle_trickle);
	expect_error(100, ERR_TIMEOUT, "no reply");
	expect_error(100, ERR_TIMEOUT, "no reply");
	assert_int_equal(h2_session_generation(bench.session), 1);
	expect_error(100, ERR_TIMEOUT, "no reply");
	assert_int_equal(h2_session_generation(bench.session), 0);
	close_bench();
}

/* Half-open: the other side takes the connection and is never heard of. */
static void test_silent_peer(void **state)
{
	(void)state;
	open_bench(handle_next);
	bench.server.deaf = true;
	bench.server.handler = NULL;
	expect_error(200, ERR_TIMEOUT, "no reply within 200 ms");
	assert_int_equal(h2_session_generation(bench.session), 0);
	bench.server.deaf = false;
	bench.server.handler = handle_next;
	answer("pong");
	run_for(250);
	expect_good(1000, "pong");
	close_bench();
}

/* The deadline counts from the call, also while there is no connection at all. */
static void test_no_connection(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fillers[4];

	(void)state;
	/* A listener whose queue is full answers no SYN. */
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	for (size_t i = 0; i < SUPPORT_COUNT(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(fillers[i], (struct sockaddr *)&address, size);
	}
	open_bench(handle_next);
	h2_session_free(bench.session);
	open_session(ntohs(address.sin_port), 0);
	expect_error(200, ERR_TIMEOUT, "no connection within 200 ms");
	assert_string_equal(h2_session_state_name(bench.session), "Connecting");
	close_bench();
	for (size_t i = 0; i < SUPPORT_COUNT(fillers); i++)
		close(fillers[i]);
	close(listener);
}

static void test_bad_address(void **state)
{
	struct h2_config config = { .host = "head.example", .port = 6379 };

	(void)state;
	open_bench(handle_next);
	h2_session_free(bench.session);
	bench.session = h2_session_new(bench.loop, &config);
	expect_error(1000, ERR_INPUT, "\"head.example\" is no numeric IP address");
	close_bench();
}

/* ---- cancel and free ---- */

static void test_cancel(void **state)
{
	struct h2_call *one, *two;

	(void)state;
	open_bench(handle_fifth);
	answer("pong");
	one = start(1000); /* waits for its connection */
	h2_call_cancel(one);
	two = start(1000);
	run_for(50);
	h2_call_cancel(two); /* has a stream */
	bench.started = bench.ended = 0;
	for (int i = 0; i < 4; i++)
		start(1000);
	run_for(100);
	assert_int_equal(bench.ended, 1); /* the fifth that came to the server */
	close_bench(); /* three calls end without a callback */
}

static void on_done_free(void *context, const struct h2_reply *reply, const struct err *err)
{
	(void)reply;
	(void)context;
	assert_null(err);
	bench.ended++;
	h2_session_free(bench.session);
	bench.session = NULL;
	loop_stop(bench.loop);
}

static void test_free_inside_a_callback(void **state)
{
	struct h2_request request = { .path = "/a/b", .timeout_ms = 1000 };

	(void)state;
	open_bench(handle_next);
	answer("pong");
	h2_call_start(bench.session, &request, on_done_free, NULL);
	h2_call_start(bench.session, &request, on_done_free, NULL);
	run_for(1000);
	assert_int_equal(bench.ended, 1);
	assert_null(bench.session);
	close_bench();
}

static void on_done_again(void *context, const struct h2_reply *reply, const struct err *err)
{
	on_done(context, reply, err);
	if (bench.started < 20) {
		bench.ended--; /* the next one takes its place */
		memset(context, 0, sizeof(struct outcome));
		struct h2_request request = { .path = "/a/b", .timeout_ms = 1000 };

		h2_call_start(bench.session, &request, on_done_again, context);
		bench.started++;
		bench.ended++;
	}
}

static void test_call_inside_a_callback(void **state)
{
	struct h2_request request = { .path = "/a/b", .timeout_ms = 1000 };

	(void)state;
	open_bench(handle_next);
	answer("pong");
	bench.started = 2; /* so that on_done does not stop the loop */
	h2_call_start(bench.session, &request, on_done_again, &bench.outcomes[0]);
	run_for(500);
	assert_int_equal(bench.server.requests, 19);
	close_bench();
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
		cmocka_unit_test(test_request_above_the_ceiling),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_goaway),
		cmocka_unit_test(test_goaway_with_a_call_under_way),
		cmocka_unit_test(test_refused_and_back_off),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_slow_replies),
		cmocka_unit_test(test_replies_that_never_come),
		cmocka_unit_test(test_silent_peer),
		cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_bad_address),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_free_inside_a_callback),
		cmocka_unit_test(test_call_inside_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
