/* One session and one scripted server on one loop, for the tests of net/h2. Header only. */
#ifndef TEST_SUPPORT_H2_BENCH_H
#define TEST_SUPPORT_H2_BENCH_H

#include "net/h2.h"
#include "test/support/h2_server.h"

#define CALLS_MAX 64

struct outcome {
	bool ended;
	enum err_kind kind; /* ERR_NONE: success */
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

__attribute__((unused)) static void on_deadline(void *context)
{
	(void)context;
	loop_stop(bench.loop);
}

__attribute__((unused)) static void open_session(int port, size_t ceiling)
{
	struct h2_config config = { .host = "127.0.0.1",
				    .port = port,
				    .reply_ceiling_bytes = ceiling };

	bench.session = h2_session_new(bench.loop, &config);
}

__attribute__((unused)) static void open_bench(h2_server_handler *handler)
{
	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.timer = loop_timer_new(bench.loop, on_deadline, NULL);
	bench.server.handler = handler;
	h2_server_start(&bench.server, bench.loop, 0);
	open_session(bench.server.port, 1 << 20);
}

__attribute__((unused)) static void open_raw(const void *raw, size_t size)
{
	open_bench(NULL);
	bench.server.raw = raw;
	bench.server.raw_size = size;
}

__attribute__((unused)) static void close_bench(void)
{
	h2_session_free(bench.session);
	h2_server_stop(&bench.server);
	loop_timer_free(bench.timer);
	loop_free(bench.loop);
}

__attribute__((unused)) static void on_done(void *context, const struct h2_reply *reply,
					    const struct err *err)
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

__attribute__((unused)) static struct h2_call *start_message(const void *message, size_t size,
							     int64_t timeout_ms)
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

__attribute__((unused)) static struct h2_call *start(int64_t timeout_ms)
{
	return start_message("ping", 4, timeout_ms);
}

/* Until all calls have ended, at most 10 s. */
__attribute__((unused)) static void run(void)
{
	loop_timer_start(bench.timer, 10000);
	if (bench.ended < bench.started)
		loop_run(bench.loop);
	assert_int_equal(bench.ended, bench.started);
}

__attribute__((unused)) static void run_for(int64_t ms)
{
	loop_timer_start(bench.timer, ms);
	loop_run(bench.loop);
}

/* Runs the loop until the condition holds. */
#define RUN_UNTIL(condition)                                                                       \
	do {                                                                                       \
		for (int i_ = 0; i_ < 2000 && !(condition); i_++)                                  \
			run_for(5);                                                                \
		assert_true(condition);                                                            \
	} while (0)

/* One call, and how it ended. */
__attribute__((unused)) static const struct outcome *call(int64_t timeout_ms)
{
	start(timeout_ms);
	run();
	return &bench.outcomes[bench.started - 1];
}

__attribute__((unused)) static void expect_good(int64_t timeout_ms, const char *message)
{
	const struct outcome *outcome = call(timeout_ms);

	if (outcome->kind != ERR_NONE)
		fail_msg("%s", outcome->text);
	assert_int_equal(outcome->grpc_status, GRPC_OK);
	assert_string_equal(outcome->message, message);
}

__attribute__((unused)) static void expect_error(int64_t timeout_ms, enum err_kind kind,
						 const char *why)
{
	const struct outcome *outcome = call(timeout_ms);

	if (outcome->kind != kind || !strstr(outcome->text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why, outcome->kind,
			 outcome->text);
}

static struct h2_answer next_answer;

__attribute__((unused)) static void handle_next(struct h2_server *server, struct h2_stream *stream)
{
	(void)server;
	h2_stream_answer(stream, &next_answer);
}

__attribute__((unused)) static void answer(const char *message)
{
	next_answer = (struct h2_answer){ .message = message, .size = strlen(message) };
}

#endif
