#include "test/support/h2_bench.h"

struct bench bench;

static void on_deadline(void *context)
{
	(void)context;
	loop_stop(bench.loop);
}

void h2_bench_open_session(int port, size_t ceiling)
{
	struct h2_config config = { .host = "127.0.0.1",
				    .port = port,
				    .reply_ceiling_bytes = ceiling };

	bench.session = h2_session_new(bench.loop, &config);
}

void h2_bench_open(h2_server_handler *handler)
{
	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.timer = loop_timer_new(bench.loop, on_deadline, NULL);
	bench.server.handler = handler;
	h2_server_start(&bench.server, bench.loop, 0);
	h2_bench_open_session(bench.server.port, 1 << 20);
}

void h2_bench_open_raw(const void *raw, size_t size)
{
	h2_bench_open(NULL);
	bench.server.raw = raw;
	bench.server.raw_size = size;
}

void h2_bench_close(void)
{
	h2_session_free(bench.session);
	h2_server_stop(&bench.server);
	loop_timer_free(bench.timer);
	loop_free(bench.loop);
}

void h2_bench_on_done(void *context, const struct h2_reply *reply, const struct err *err)
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

struct h2_call *h2_bench_start_message(const void *message, size_t size, int64_t timeout_ms)
{
	struct h2_request request = {
		.path = "/test.Service/Method",
		.headers = { { .name = "authorization", .value = "Bearer abc", .secret = true } },
		.message = message,
		.size = size,
		.timeout_ms = timeout_ms,
	};

	assert_true(bench.started < CALLS_MAX);
	return h2_call_start(bench.session, &request, h2_bench_on_done,
			     &bench.outcomes[bench.started++]);
}

struct h2_call *h2_bench_start(int64_t timeout_ms)
{
	return h2_bench_start_message("ping", 4, timeout_ms);
}

void h2_bench_run(void)
{
	loop_timer_start(bench.timer, 10000);
	if (bench.ended < bench.started)
		loop_run(bench.loop);
	assert_int_equal(bench.ended, bench.started);
}

void h2_bench_run_for(int64_t ms)
{
	loop_timer_start(bench.timer, ms);
	loop_run(bench.loop);
}

const struct outcome *h2_bench_call(int64_t timeout_ms)
{
	h2_bench_start(timeout_ms);
	h2_bench_run();
	return &bench.outcomes[bench.started - 1];
}

void h2_bench_expect_good(int64_t timeout_ms, const char *message)
{
	const struct outcome *outcome = h2_bench_call(timeout_ms);

	if (outcome->kind != ERR_NONE)
		fail_msg("%s", outcome->text);
	assert_int_equal(outcome->grpc_status, GRPC_OK);
	assert_string_equal(outcome->message, message);
}

void h2_bench_expect_error(int64_t timeout_ms, enum err_kind kind, const char *why)
{
	const struct outcome *outcome = h2_bench_call(timeout_ms);

	if (outcome->kind != kind || !strstr(outcome->text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why, outcome->kind,
			 outcome->text);
}

struct h2_answer h2_bench_next_answer;

void h2_bench_handle_next(struct h2_server *server, struct h2_stream *stream)
{
	(void)server;
	h2_stream_answer(stream, &h2_bench_next_answer);
}

void h2_bench_answer(const char *message)
{
	h2_bench_next_answer = (struct h2_answer){ .message = message, .size = strlen(message) };
}
