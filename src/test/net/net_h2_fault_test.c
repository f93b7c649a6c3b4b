/* The HTTP/2 client against a server that does everything wrong that a peer can do. */
#include <sys/socket.h>

#include "test/support/h2_bench.h"
#include "test/support/virtual_clock.h"

/* ---- streams and connections that end ---- */

static void handle_reset(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1)
		assert_int_equal(nghttp2_submit_rst_stream(stream->peer->session, 0, stream->id,
							   NGHTTP2_ENHANCE_YOUR_CALM),
				 0);
	else
		h2_stream_answer(stream, &h2_bench_next_answer);
}

static void test_reset(void **state)
{
	(void)state;
	h2_bench_open(handle_reset);
	h2_bench_answer("pong");
	h2_bench_expect_error(1000, ERR_RETRY, "reset by the other side: ENHANCE_YOUR_CALM");
	h2_bench_expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
}

/* A reply with a length that cannot be. */
static void handle_length(struct h2_server *server, struct h2_stream *stream)
{
	static const char *const lengths[] = { "-1", "18446744073709551616", "x", "3" };
	const char *length = lengths[server->requests - 1];
	const nghttp2_nv headers[] = { { (uint8_t *)":status", (uint8_t *)"200", 7, 3, 0 },
				       { (uint8_t *)"content-length", (uint8_t *)length, 14,
					 strlen(length), 0 } };

	assert_int_equal(
		nghttp2_submit_response(stream->peer->session, stream->id, headers, 2, NULL), 0);
	h2_peer_flush(stream->peer);
}

static void test_absurd_lengths(void **state)
{
	(void)state;
	h2_bench_open(handle_length);
	for (int i = 0; i < 4; i++)
		h2_bench_expect_error(1000, ERR_RETRY, "PROTOCOL_ERROR");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
}

static void handle_goaway(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 2) {
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, 0,
						       NGHTTP2_NO_ERROR, NULL, 0),
				 0);
		return;
	}
	if (server->requests == 3)
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, stream->id,
						       NGHTTP2_NO_ERROR, NULL, 0),
				 0);
	h2_stream_answer(stream, &h2_bench_next_answer);
}

static void test_goaway(void **state)
{
	(void)state;
	h2_bench_open(handle_goaway);
	h2_bench_answer("pong");
	h2_bench_expect_good(1000, "pong");
	/* Without our stream: it was not processed. The connection had been good: no backoff. */
	h2_bench_expect_error(1000, ERR_RETRY, "");
	h2_bench_expect_good(1000, "pong"); /* request 3, answered together with a GOAWAY */
	RUN_UNTIL(h2_session_generation(bench.session) == 0);
	h2_bench_expect_good(1000, "pong");
	assert_int_equal(bench.server.connections, 3);
	h2_bench_close();
}

static struct h2_stream *held;

static void handle_hold_first(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1) {
		h2_stream_answer(stream, &h2_bench_next_answer);
	} else if (server->requests == 2) {
		held = stream;
		assert_int_equal(nghttp2_submit_goaway(stream->peer->session, 0, stream->id,
						       NGHTTP2_NO_ERROR, NULL, 0),
				 0);
		h2_peer_flush(stream->peer);
	} else {
		h2_stream_answer(stream, &h2_bench_next_answer);
	}
}

/* An accepted call ends on the old connection; a later one gets the next connection. */
static void test_goaway_with_a_call_under_way(void **state)
{
	(void)state;
	h2_bench_open(handle_hold_first);
	h2_bench_answer("pong");
	h2_bench_expect_good(1000, "pong");
	held = NULL;
	h2_bench_start(5000);
	RUN_UNTIL(held);
	h2_bench_run_for(20);
	h2_bench_start(5000);
	h2_bench_run_for(20);
	assert_int_equal(bench.ended, 1);
	h2_stream_answer(held, &h2_bench_next_answer);
	h2_bench_run();
	assert_int_equal(bench.outcomes[1].kind, ERR_NONE);
	assert_int_equal(bench.outcomes[2].kind, ERR_NONE);
	assert_int_equal(bench.server.connections, 2);
	h2_bench_close();
}

static void handle_close(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 2)
		uv_close((uv_handle_t *)&server->listener, NULL);
	h2_stream_answer(stream, &h2_bench_next_answer);
}

static void on_refused(void *context, const struct h2_reply *reply, const struct err *err)
{
	h2_bench_on_done(context, reply, err);
	h2_bench_start(1000); /* in the same iteration: the backoff cannot be over */
}

/* The server closes between two calls: the next one is refused, and later ones wait. */
static void test_refused_and_back_off(void **state)
{
	struct h2_request request = { .path = "/a/b", .timeout_ms = 1000 };
	int port;

	(void)state;
	h2_bench_open(handle_close);
	h2_bench_answer("pong");
	port = bench.server.port;
	h2_bench_expect_good(1000, "pong");
	h2_bench_expect_good(1000, "pong");
	h2_peer_close(bench.server.peers);
	RUN_UNTIL(h2_session_generation(bench.session) == 0);
	h2_call_start(bench.session, &request, on_refused, &bench.outcomes[bench.started++]);
	RUN_UNTIL(bench.ended == 4);
	assert_int_equal(bench.outcomes[2].kind, ERR_RETRY);
	assert_non_null(strstr(bench.outcomes[2].text, "refused"));
	assert_int_equal(bench.outcomes[3].kind, ERR_RETRY);
	assert_string_equal(bench.outcomes[3].text, bench.outcomes[2].text);
	h2_server_start(&bench.server, bench.loop, port);
	bench.server.handler = h2_bench_handle_next;
	h2_bench_run_for(300);
	h2_bench_expect_good(1000, "pong");
	h2_bench_close();
}

/* ---- bytes that are no HTTP/2 ---- */

static void expect_raw_error(const void *raw, size_t size, bool close, enum err_kind kind,
			     const char *why)
{
	h2_bench_open_raw(raw, size);
	bench.server.close_after_raw = close;
	h2_bench_expect_error(kind == ERR_TIMEOUT ? 400 : 3000, kind, why);
	h2_bench_close();
}

static void test_garbage(void **state)
{
	static const char http1[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
	/* A DATA frame before SETTINGS, half of a SETTINGS frame, a frame of 16 MiB. */
	static const char data_first[] = { 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x' };
	static const char half[] = { 0, 0, 6, 4, 0, 0, 0 };
	static const char long_frame[] = { -1, -1, -1, 4, 0, 0, 0, 0, 0 };
	static const char bad_settings[] = { 0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5 };
	static const char zeros[3000];

	(void)state;
	expect_raw_error(http1, sizeof(http1) - 1, false, ERR_RETRY, "HTTP/2");
	expect_raw_error(data_first, sizeof(data_first), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(half, sizeof(half), true, ERR_RETRY, "closed by the other side");
	expect_raw_error(half, sizeof(half), false, ERR_TIMEOUT, "no reply within 400 ms");
	expect_raw_error(long_frame, sizeof(long_frame), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(bad_settings, sizeof(bad_settings), false, ERR_RETRY, "HTTP/2");
	expect_raw_error(zeros, sizeof(zeros), false, ERR_RETRY, "HTTP/2");
	expect_raw_error("", 0, true, ERR_RETRY, "closed by the other side");
}

/* A server that expects TLS closes, or refuses our first bytes with an alert (RFC 8446, 6). */
static void test_tls_expected(void **state)
{
	static const char alert[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46 };
	static const char settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };
	static const char fix[] = "; it may expect TLS (RAY_USE_TLS and its certificates)";

	(void)state;
	expect_raw_error(alert, sizeof(alert), true, ERR_RETRY, fix);
	expect_raw_error(alert, sizeof(alert), false, ERR_RETRY, fix);
	expect_raw_error(alert, 1, false, ERR_RETRY, fix);
	expect_raw_error("", 0, true, ERR_RETRY, fix);
	expect_raw_error(settings, sizeof(settings), true, ERR_RETRY, "closed by the other side");
	assert_null(strstr(bench.outcomes[0].text, "TLS"));
}

/* Any bytes at all: an error in time, and no memory is lost (the sanitizer checks). */
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
		h2_bench_open_raw(bytes, size);
		bench.server.close_after_raw = true;
		h2_bench_call(200);
		assert_int_not_equal(bench.outcomes[0].kind, ERR_NONE);
		h2_bench_close();
	}
}

/* ---- time ---- */

static void handle_fifth(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests % 5 == 0)
		h2_stream_answer(stream, &h2_bench_next_answer);
}

static void handle_first(struct h2_server *server, struct h2_stream *stream)
{
	if (server->requests == 1)
		h2_stream_answer(stream, &h2_bench_next_answer);
}

/* The server lives (it answers the PING), but not these calls. */
static void test_slow_replies(void **state)
{
	(void)state;
	h2_bench_open(handle_first);
	h2_bench_answer("pong");
	h2_bench_expect_good(1000, "pong");
	h2_bench_run_for(10);
	h2_bench_expect_error(600, ERR_TIMEOUT, "no reply within 600 ms");
	assert_int_equal(h2_session_generation(bench.session), 1);
	/* Within the interval of the PINGs there is no second one: silence ends the connection. */
	h2_bench_expect_error(600, ERR_TIMEOUT, "no reply within 600 ms");
	assert_int_equal(h2_session_generation(bench.session), 0);
	h2_bench_close();
}

/* The loop that reads the reply does not go on. */
static void handle_late(struct h2_server *server, struct h2_stream *stream)
{
	virtual_clock_sleep(300);
	if (server->requests == 1)
		h2_stream_answer(stream, &h2_bench_next_answer);
}

/* The reply is there as soon as the loop reads again; without one the deadline holds all the same. */
static void test_a_late_loop_is_not_a_late_reply(void **state)
{
	int64_t begun_us = loop_precise_us();

	(void)state;
	h2_bench_open(handle_late);
	h2_bench_answer("pong");
	h2_bench_expect_good(150, "pong");
	h2_bench_expect_error(150, ERR_TIMEOUT, "no reply within 150 ms");
	assert_true(loop_precise_us() - begun_us < 5000 * 1000);
	h2_bench_close();
}

static void handle_trickle(struct h2_server *server, struct h2_stream *stream)
{
	(void)server;
	(void)nghttp2_submit_ping(stream->peer->session, 0, NULL);
}

/* Bytes arrive, replies do not: after three in a row the connection is replaced. */
static void test_replies_that_never_come(void **state)
{
	(void)state;
	h2_bench_open(handle_trickle);
	for (int i = 0; i < 5; i++) /* calls that start together are late together */
		h2_bench_start(300);
	h2_bench_run();
	assert_int_equal(h2_session_generation(bench.session), 1);
	h2_bench_expect_error(300, ERR_TIMEOUT, "no reply");
	assert_int_equal(h2_session_generation(bench.session), 1);
	h2_bench_expect_error(300, ERR_TIMEOUT, "no reply");
	assert_int_equal(h2_session_generation(bench.session), 0);
	h2_bench_close();
}

/* Half-open: the other side takes the connection and is never heard of. */
static void test_silent_peer(void **state)
{
	(void)state;
	h2_bench_open(h2_bench_handle_next);
	bench.server.deaf = true;
	bench.server.handler = NULL;
	h2_bench_expect_error(200, ERR_TIMEOUT, "no reply within 200 ms");
	assert_int_equal(h2_session_generation(bench.session), 0);
	/* Until the next connection the error has the same text. */
	h2_bench_expect_error(200, ERR_TIMEOUT, "no reply within 200 ms");
	bench.server.deaf = false;
	bench.server.handler = h2_bench_handle_next;
	h2_bench_answer("pong");
	h2_bench_run_for(250);
	h2_bench_expect_good(1000, "pong");
	h2_bench_close();
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
	h2_bench_open(h2_bench_handle_next);
	h2_session_free(bench.session);
	h2_bench_open_session(ntohs(address.sin_port), 0);
	h2_bench_expect_error(200, ERR_TIMEOUT, "no connection within 200 ms");
	assert_int_equal(h2_session_generation(bench.session), 1);
	h2_bench_close();
	for (size_t i = 0; i < SUPPORT_COUNT(fillers); i++)
		close(fillers[i]);
	close(listener);
}

static void test_bad_address(void **state)
{
	struct h2_config config = { .host = "head.example", .port = 6379 };

	(void)state;
	h2_bench_open(h2_bench_handle_next);
	h2_session_free(bench.session);
	bench.session = h2_session_new(bench.loop, &config);
	h2_bench_expect_error(1000, ERR_INPUT, "\"head.example\" is not a numeric IP address");
	h2_bench_close();
}

/* ---- cancel and free ---- */

static void test_cancel(void **state)
{
	struct h2_call *one, *two;

	(void)state;
	h2_bench_open(handle_fifth);
	h2_bench_answer("pong");
	one = h2_bench_start(1000); /* waits for its connection */
	h2_call_cancel(one);
	two = h2_bench_start(5000);
	RUN_UNTIL(bench.server.requests == 1);
	h2_call_cancel(two); /* has a stream */
	bench.started = bench.ended = 0;
	for (int i = 0; i < 4; i++)
		h2_bench_start(5000);
	RUN_UNTIL(bench.ended == 1); /* the fifth that the server received */
	h2_bench_run_for(20);
	assert_int_equal(bench.ended, 1);
	h2_bench_close(); /* three calls end without a callback */
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
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("pong");
	h2_call_start(bench.session, &request, on_done_free, NULL);
	h2_call_start(bench.session, &request, on_done_free, NULL);
	RUN_UNTIL(bench.ended == 1);
	assert_null(bench.session);
	h2_bench_close();
}

static void on_done_again(void *context, const struct h2_reply *reply, const struct err *err)
{
	h2_bench_on_done(context, reply, err);
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
	h2_bench_open(h2_bench_handle_next);
	h2_bench_answer("pong");
	bench.started = 2; /* so that on_done does not stop the loop */
	h2_call_start(bench.session, &request, on_done_again, &bench.outcomes[0]);
	RUN_UNTIL(bench.server.requests == 19);
	h2_bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_absurd_lengths),
		cmocka_unit_test(test_goaway),
		cmocka_unit_test(test_goaway_with_a_call_under_way),
		cmocka_unit_test(test_refused_and_back_off),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_tls_expected),
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_slow_replies),
		cmocka_unit_test(test_a_late_loop_is_not_a_late_reply),
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
