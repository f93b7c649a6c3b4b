/* Peers that flood an HTTP/2 connection with bytes that are not part of a reply: each is closed
 * within a bounded number of bytes, and does not start with a new allowance on its next
 * connection. */
#include "base/token_bucket.h"
#include "net/h2_connection.h"
#include "test/support/h2_bench.h"

#define MORE_BYTES ((size_t)1 << 20)
#define FLOODED "floods the connection with frames that need no answer"

/* Frames as they are on the wire: 3 bytes of length, type, flags, 4 bytes of the stream. */
#define FRAME(length, type, flags, stream)                                                         \
	0, (length) >> 8, (length)&255, type, flags, 0, 0, 0, stream
#define SETTINGS FRAME(0, NGHTTP2_SETTINGS, 0, 0)
#define STATUS_200 FRAME(1, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1), 0x88
#define STATUS_103 FRAME(5, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1), 0x08, 3, '1', '0', '3'
#define STATUS_500 FRAME(1, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1), 0x8e

struct flood {
	const char *name;
	unsigned char start[64], again[512];
	size_t start_size, again_size;
	size_t zeros; /* behind each `again`: the rest of its payload */
};

#define BYTES(...) { __VA_ARGS__ }, .start_size = sizeof((unsigned char[]){ __VA_ARGS__ })
#define AGAIN(...) .again = { __VA_ARGS__ }, .again_size = sizeof((unsigned char[]){ __VA_ARGS__ })

static const struct flood floods[] = {
	{ "SETTINGS", .start = BYTES(SETTINGS), AGAIN(SETTINGS) },
	{ "PING", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(8, NGHTTP2_PING, 0, 0), 1, 2, 3, 4, 5, 6, 7, 8) },
	{ "answers to no PING", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(8, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0), 1, 2, 3, 4, 5, 6, 7, 8) },
	{ "RST_STREAM", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(4, NGHTTP2_RST_STREAM, 0, 1), 0, 0, 0, 8) },
	{ "WINDOW_UPDATE of the connection", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(4, NGHTTP2_WINDOW_UPDATE, 0, 0), 0, 0, 0, 1) },
	{ "WINDOW_UPDATE of the stream", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(4, NGHTTP2_WINDOW_UPDATE, 0, 1), 0, 0, 0, 1) },
	{ "PRIORITY", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(5, NGHTTP2_PRIORITY, 0, 1), 0, 0, 0, 0, 1) },
	{ "PRIORITY of other streams", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(5, NGHTTP2_PRIORITY, 0, 9), 0, 0, 0, 0, 1) },
	{ "unknown frames", .start = BYTES(SETTINGS), AGAIN(FRAME(0, 0xaa, 0, 0)) },
	{ "long unknown frames", .start = BYTES(SETTINGS), AGAIN(FRAME(0x4000, 0xaa, 0, 1)),
	  .zeros = 0x4000 },
	{ "ALTSVC", .start = BYTES(SETTINGS), AGAIN(FRAME(2, 10, 0, 1), 0, 0) },
	{ "GOAWAY", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(8, NGHTTP2_GOAWAY, 0, 0), 0, 0, 0, 1, 0, 0, 0, 0) },
	{ "1xx", .start = BYTES(SETTINGS), AGAIN(STATUS_103) },
	{ "1xx with a field", .start = BYTES(SETTINGS),
	  AGAIN(FRAME(9, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1), 0x08, 3, '1', '0', '3', 0,
		1, 'a', 0) },
	{ "empty DATA", .start = BYTES(SETTINGS, STATUS_200), AGAIN(FRAME(0, NGHTTP2_DATA, 0, 1)) },
	{ "padding", .start = BYTES(SETTINGS, STATUS_200),
	  AGAIN(FRAME(256, NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1), 255), .zeros = 255 },
	{ "a message of one byte a frame",
	  .start = BYTES(SETTINGS, STATUS_200, FRAME(5, NGHTTP2_DATA, 0, 1), 0, 0, 15, 255, 255),
	  AGAIN(FRAME(1, NGHTTP2_DATA, 0, 1), 0) },
	{ "DATA behind the message",
	  .start = BYTES(SETTINGS, STATUS_200, FRAME(5, NGHTTP2_DATA, 0, 1), 0, 0, 0, 0, 0),
	  AGAIN(FRAME(0x4000, NGHTTP2_DATA, 0, 1)), .zeros = 0x4000 },
	{ "a page that is not gRPC", .start = BYTES(SETTINGS, STATUS_500),
	  AGAIN(FRAME(0x4000, NGHTTP2_DATA, 0, 1)), .zeros = 0x4000 },
};

/* The start, and `again` until there are `size` bytes. */
static void write_flood(const struct flood *flood, size_t size, struct buf *bytes)
{
	static const char zeros[0x4000];

	buf_init(bytes, size + 65536);
	assert_int_equal(buf_add(bytes, flood->start, flood->start_size), 0);
	while (bytes->size < size) {
		assert_int_equal(buf_add(bytes, flood->again, flood->again_size), 0);
		assert_int_equal(buf_add(bytes, zeros, flood->zeros), 0);
	}
}

/* The call may have ended for another reason before: the connection is closed all the same. */
static void test_floods(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(floods); i++) {
		AUTO(buf_done) struct buf bytes;
		struct outcome *outcome = &bench.outcomes[1];

		write_flood(&floods[i], (size_t)H2_WASTE_BURST_BYTES + MORE_BYTES, &bytes);
		h2_bench_open_raw(bytes.data, bytes.size);
		h2_bench_call(60000);
		for (int n = 0; n < 2000 && h2_session_generation(bench.session) != 0; n++)
			h2_bench_run_for(5);
		if (h2_session_generation(bench.session) != 0)
			fail_msg("%s: the connection is still there, the call: %s", floods[i].name,
				 bench.outcomes[0].text);
		h2_bench_call(60000); /* during the backoff, with the text of the close */
		if (outcome->kind == ERR_NONE || bench.server.connections != 1)
			fail_msg("%s: %u connections", floods[i].name, bench.server.connections);
		printf("%-34s %s\n", floods[i].name, outcome->text);
		h2_bench_close();
	}
}

static const struct flood *flood_of(const char *name)
{
	for (size_t i = 0; i < SUPPORT_COUNT(floods); i++)
		if (!strcmp(floods[i].name, name))
			return &floods[i];
	fail_msg("no flood \"%s\"", name);
	return NULL;
}

/* Another connection does not allow another burst. */
static void test_the_next_connection_starts_where_the_last_one_ended(void **state)
{
	const struct flood *flood = flood_of("empty DATA");
	AUTO(buf_done) struct buf first, second;

	(void)state;
	write_flood(flood, (size_t)H2_WASTE_BURST_BYTES + MORE_BYTES, &first);
	write_flood(flood, (size_t)H2_WASTE_BURST_BYTES - 1, &second);
	h2_bench_open_raw(first.data, first.size);
	h2_bench_expect_error(60000, ERR_LIMIT, FLOODED);
	bench.server.raw = second.data;
	bench.server.raw_size = second.size;
	for (int i = 0; i < 2000 && bench.server.connections < 2; i++) {
		h2_bench_run_for(5);
		h2_bench_expect_error(60000, ERR_LIMIT, FLOODED);
		bench.started = bench.ended = 0;
		memset(bench.outcomes, 0, sizeof(bench.outcomes));
	}
	assert_int_equal(bench.server.connections, 2);
	h2_bench_close();
}

static const struct flood unknown = { .again = { FRAME(0, 0xaa, 0, 0) }, .again_size = 9 };
static struct buf extra; /* sent before the reply, or behind it */
static bool extra_first;

static void handle_with_extra(struct h2_server *server, struct h2_stream *stream)
{
	struct h2_peer *peer = stream->peer;

	(void)server;
	if (extra_first)
		h2_peer_write(peer, extra.data, extra.size);
	h2_stream_answer(stream, &h2_bench_next_answer);
	if (!extra_first)
		h2_peer_write(peer, extra.data, extra.size);
}

/* A good reply does not pay for a flood: the next connection waits for the backoff. */
static void test_a_good_reply_does_not_pay_for_a_flood(void **state)
{
	(void)state;
	write_flood(&unknown, (size_t)H2_WASTE_BURST_BYTES + MORE_BYTES, &extra);
	extra_first = false;
	h2_bench_open(handle_with_extra);
	h2_bench_answer("pong");
	h2_bench_expect_good(60000, "pong");
	RUN_UNTIL(h2_session_generation(bench.session) == 0);
	h2_bench_expect_error(60000, ERR_LIMIT, FLOODED);
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
	buf_done(&extra);
}

/* Data on its way when a call is reset is less than a window, and costs no connection. */
static void test_less_than_a_window_after_a_reset_is_accepted(void **state)
{
	(void)state;
	write_flood(&unknown, ((size_t)1 << 20) - 1000, &extra);
	extra_first = true;
	h2_bench_open(handle_with_extra);
	h2_bench_answer("pong");
	h2_bench_expect_good(60000, "pong");
	h2_bench_expect_good(60000, "pong");
	assert_int_equal(bench.server.connections, 1);
	h2_bench_close();
	buf_done(&extra);
}

/* ---- one connection among others ---- */

static struct {
	unsigned reads, most, all; /* in this iteration of the loop, in one, in all */
	uv_prepare_t turn;
	bool lost;
} watched;

static void on_nothing(void *owner)
{
	(void)owner;
}

static void on_read_end(void *owner)
{
	(void)owner;
	watched.all++;
	if (++watched.reads > watched.most)
		watched.most = watched.reads;
}

static void on_lost(void *owner, const struct err *err)
{
	(void)owner;
	(void)err;
	watched.lost = true;
}

static void on_turn(uv_prepare_t *turn)
{
	(void)turn;
	watched.reads = 0;
}

/* libuv would read 32 times, 64 KiB each, before it serves another socket. */
static void test_two_reads_in_a_turn(void **state)
{
	static const struct h2_connection_events events = { .opened = on_nothing,
							    .read_end = on_read_end,
							    .lost = on_lost };
	struct token_bucket unlimited;
	struct h2_connection *connection;
	AUTO(buf_done) struct buf bytes;
	struct err err;

	(void)state;
	memset(&watched, 0, sizeof(watched));
	token_bucket_init(&unlimited, 0, 1, 0);
	write_flood(flood_of("long unknown frames"), (size_t)32 << 20, &bytes);
	h2_bench_open_raw(bytes.data, bytes.size);
	bench.server.close_after_raw = true;
	assert_int_equal(uv_prepare_init(loop_uv(bench.loop), &watched.turn), 0);
	assert_int_equal(uv_prepare_start(&watched.turn, on_turn), 0);
	connection = h2_connection_open(bench.loop, "127.0.0.1", bench.server.port, NULL,
					&unlimited, &events, &bench, &err);
	RUN_UNTIL(watched.lost);
	assert_true(watched.all > 256);
	assert_in_range(watched.most, 1, 3);
	(void)connection;
	uv_close((uv_handle_t *)&watched.turn, NULL);
	h2_bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_the_next_connection_starts_where_the_last_one_ended),
		cmocka_unit_test(test_a_good_reply_does_not_pay_for_a_flood),
		cmocka_unit_test(test_less_than_a_window_after_a_reset_is_accepted),
		cmocka_unit_test(test_two_reads_in_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
