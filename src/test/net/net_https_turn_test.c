/* net/https: how much of a stream one turn of the loop delivers. */
#include <uv.h>

#include "test/support/https_client.h"

#define LONG_STREAM_BYTES ((size_t)4 << 20)

/* One chunk, which is there before the client reads. */
static void script_long(struct exchange *exchange, void *context)
{
	static char data[LONG_STREAM_BYTES];

	(void)context;
	exchange_open_stream(exchange);
	exchange_chunk(exchange, data, sizeof(data));
	exchange_end_stream(exchange);
}

static void script_some_and_hold(struct exchange *exchange, void *context)
{
	static char data[LONG_STREAM_BYTES];
	_Atomic int *size = context;

	exchange_open_stream(exchange);
	exchange_chunk(exchange, data, (size_t)*size);
	exchange_hold(exchange);
}

/* Bytes of one turn of the loop: between two calls of the prepare handle. */
struct turn_bytes {
	uv_prepare_t prepare;
	size_t bytes, most, whole;
	size_t refused_after; /* bytes; 0: never */
};

static void on_prepare(uv_prepare_t *handle)
{
	struct turn_bytes *turn = handle->data;

	turn->most = turn->bytes > turn->most ? turn->bytes : turn->most;
	turn->bytes = 0;
}

static int count_chunk(void *context, const char *data, size_t size)
{
	struct turn_bytes *turn = ((struct seen *)context)->turn;

	(void)data;
	turn->bytes += size;
	turn->whole += size;
	return turn->refused_after > 0 && turn->whole > turn->refused_after ? -1 : 0;
}

/* Users decode what arrives on the loop, so a turn is as long as the bytes that it reads. */
static void test_a_turn_reads_few_bytes(void **state)
{
	static const struct https_call counted = { .on_open = client_on_open,
						   .on_chunk = count_chunk };
	struct fixture *fixture = *state;
	struct turn_bytes turn = { .bytes = 0 };
	struct seen seen;

	fixture->server = server_start(script_long, NULL);
	assert_int_equal(uv_prepare_init(loop_uv(fixture->loop), &turn.prepare), 0);
	turn.prepare.data = &turn;
	assert_int_equal(uv_prepare_start(&turn.prepare, on_prepare), 0);
	client_seen_init(&seen, fixture);
	seen.turn = &turn;
	client_start(&seen, &counted);
	client_finish(&seen);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_int_equal(turn.whole, LONG_STREAM_BYTES);
	uv_close((uv_handle_t *)&turn.prepare, NULL);
	assert_true(loop_wait_until(fixture->loop, client_is_done, &seen,
				    WAIT_MS)); /* closes the handle */
	assert_in_range(turn.most, 1, 96 << 10);
	buf_done(&seen.data);
}

/* Whether the piece arrives with others or is the first of a turn. */
static void test_a_piece_of_a_later_turn_is_refused(void **state)
{
	static const struct https_call counted = { .on_open = client_on_open,
						   .on_chunk = count_chunk };
	struct fixture *fixture = *state;

	fixture->server = server_start(script_some_and_hold, &fixture->number);
	for (size_t bytes = 8 << 10; bytes < 128 << 10; bytes += 8 << 10) {
		struct turn_bytes turn = { .refused_after = bytes };
		struct seen seen;

		fixture->number = (int)bytes + 1;
		client_seen_init(&seen, fixture);
		seen.turn = &turn;
		client_start(&seen, &counted);
		client_finish(&seen);
		assert_int_equal(seen.err.kind, ERR_INPUT);
		assert_non_null(strstr(seen.err.text, "the answer cannot be used"));
		buf_done(&seen.data);
	}
}

static int hold_the_first(void *context, const char *data, size_t size)
{
	struct seen *seen = context;
	struct turn_bytes *turn = seen->turn;

	(void)data;
	turn->whole += size;
	return seen->chunks++ == 0 ? 1 : 0;
}

/* The receiver may need longer for a piece than the whole answer may take. */
static void test_time_held_is_not_the_peers(void **state)
{
	static const struct https_call held = { .on_open = client_on_open,
						.on_chunk = hold_the_first,
						.first_byte_ms = WAIT_MS,
						.total_ms = 1000 };
	struct fixture *fixture = *state;
	struct turn_bytes turn = { .bytes = 0 };
	struct seen seen;

	fixture->server = server_start(script_long, NULL);
	client_seen_init(&seen, fixture);
	seen.turn = &turn;
	client_start(&seen, &held);
	assert_false(loop_wait_until(fixture->loop, client_is_done, &seen, 1500));
	assert_int_equal(seen.chunks, 1);
	https_resume(seen.request);
	client_finish(&seen);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_int_equal(turn.whole, LONG_STREAM_BYTES);
	buf_done(&seen.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_turn_reads_few_bytes),
		TEST(test_a_piece_of_a_later_turn_is_refused),
		TEST(test_time_held_is_not_the_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
