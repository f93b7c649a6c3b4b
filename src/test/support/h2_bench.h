/* One session and one scripted server on one loop, for the tests of net/h2. */
#ifndef TEST_SUPPORT_H2_BENCH_H
#define TEST_SUPPORT_H2_BENCH_H

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "net/grpc.h"
#include "net/h2.h"
#include "net/loop.h"
#include "test/support/h2_server.h"
#include "test/support/support.h"

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

extern struct bench bench;

void h2_bench_open_session(int port, size_t ceiling);
void h2_bench_open(h2_server_handler *handler);
void h2_bench_open_raw(const void *raw, size_t size);
void h2_bench_close(void);
void h2_bench_on_done(void *context, const struct h2_reply *reply, const struct err *err);
struct h2_call *h2_bench_start_message(const void *message, size_t size, int64_t timeout_ms);
struct h2_call *h2_bench_start(int64_t timeout_ms);

/* Until all calls have ended, at most 10 s. */
void h2_bench_run(void);
void h2_bench_run_for(int64_t ms);

/* Runs the loop until the condition holds. */
#define RUN_UNTIL(condition)                                                                       \
	do {                                                                                       \
		for (int i_ = 0; i_ < 2000 && !(condition); i_++)                                  \
			h2_bench_run_for(5);                                                       \
		assert_true(condition);                                                            \
	} while (0)

/* One call, and how it ended. */
const struct outcome *h2_bench_call(int64_t timeout_ms);
void h2_bench_expect_good(int64_t timeout_ms, const char *message);
void h2_bench_expect_error(int64_t timeout_ms, enum err_kind kind, const char *why);

extern struct h2_answer h2_bench_next_answer;

void h2_bench_handle_next(struct h2_server *server, struct h2_stream *stream);
void h2_bench_answer(const char *message);

#endif
