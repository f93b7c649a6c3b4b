/* Shared by the tests of net/https: a client on a loop, a scripted server, and a record of the
 * callbacks. Header only. */
#ifndef TEST_SUPPORT_HTTPS_CLIENT_H
#define TEST_SUPPORT_HTTPS_CLIENT_H

#include "net/https.h"

#include "base/buf.h"
#include "test/support/loop_wait.h"
#include "test/support/scripted_server.h"
#include "test/support/support.h"

#define WAIT_MS 10000
#define SHORT_MS 200

struct fixture {
	struct loop *loop;
	struct https *https;
	struct scripted_server *server;
	_Atomic int number; /* counter or parameter of a script */
};

/* A record of the callbacks of one request. */
struct seen {
	struct fixture *fixture;
	struct https_request *request;
	struct https_request *victim; /* cancelled by a callback, NULL for none */
	bool cancel_open, cancel_chunk, refuse_chunk, start_in_chunk, start_in_done;
	struct buf data;
	int opened, chunks, done, status;
	int64_t retry_after_ms;
	struct err err;
	struct seen *next; /* started by a callback */
	void *turn;        /* of the test */
};

static inline int setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));

	fixture->loop = loop_new();
	fixture->https = https_new(fixture->loop, "test/1");
	*state = fixture;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	https_free(fixture->https);
	loop_free(fixture->loop);
	if (fixture->server)
		server_stop(fixture->server);
	memory_free(fixture);
	return 0;
}

static inline void seen_init(struct seen *seen, struct fixture *fixture)
{
	*seen = (struct seen){ .fixture = fixture };
	buf_init(&seen->data, 64 << 20);
}

static inline void start(struct seen *seen, const struct https_call *changes);

static inline void on_open(void *context)
{
	struct seen *seen = context;

	seen->opened++;
	if (seen->cancel_open)
		https_cancel(seen->request);
}

static inline int on_chunk(void *context, const char *data, size_t size)
{
	struct seen *seen = context;

	seen->chunks++;
	assert_int_equal(buf_add(&seen->data, data, size), 0);
	if (seen->victim)
		https_cancel(steal(&seen->victim));
	if (seen->start_in_chunk && seen->chunks == 1)
		start(seen->next, NULL);
	if (seen->cancel_chunk)
		https_cancel(seen->request);
	return seen->refuse_chunk ? -1 : 0;
}

static inline void on_done(void *context, const struct https_response *response,
			   const struct err *err)
{
	struct seen *seen = context;

	seen->done++;
	seen->status = response->status;
	seen->retry_after_ms = response->retry_after_ms;
	assert_non_null(response->body);
	assert_int_equal(response->body[response->body_size], '\0');
	assert_int_equal(buf_add(&seen->data, response->body, response->body_size), 0);
	if (err)
		seen->err = *err;
	https_cancel(seen->request); /* always allowed, does nothing here */
	if (seen->victim)
		https_cancel(steal(&seen->victim));
	if (seen->start_in_done)
		start(seen->next, NULL);
}

/* A call with usual values; the members of `changes` that are set replace them. */
static inline void start(struct seen *seen, const struct https_call *changes)
{
	char url[128];
	struct https_call call = changes ? *changes : (struct https_call){ .method = NULL };

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d/path?q=1",
		       seen->fixture->server->tls ? "https" : "http", seen->fixture->server->port);
	call.method = call.method ? call.method : "GET";
	call.url = call.url ? call.url : url;
	call.allow_plain = true;
	call.connect_ms = call.connect_ms ? call.connect_ms : WAIT_MS;
	call.first_byte_ms = call.first_byte_ms ? call.first_byte_ms : WAIT_MS;
	if (!call.total_ms && !call.stall_ms)
		call.total_ms = WAIT_MS;
	call.ceiling_bytes = call.ceiling_bytes ? call.ceiling_bytes : 1 << 20;
	call.on_done = on_done;
	call.context = seen;
	seen->request = https_start(seen->fixture->https, &call);
	assert_int_equal(seen->done, 0);
}

static inline bool is_done(void *context)
{
	const struct seen *seen = context;

	return seen->done > 0;
}

static inline void finish(struct seen *seen)
{
	assert_true(loop_wait_until(seen->fixture->loop, is_done, seen, WAIT_MS));
	assert_int_equal(seen->done, 1);
}

/* One request from start to end; the data stays in seen. */
static inline void run(struct seen *seen, struct fixture *fixture, const struct https_call *changes)
{
	seen_init(seen, fixture);
	start(seen, changes);
	finish(seen);
}

static const struct https_call stream
	__attribute__((unused)) = { .on_open = on_open, .on_chunk = on_chunk };

static inline void expect_error(struct fixture *fixture, const struct https_call *changes,
				enum err_kind kind, const char *text)
{
	struct seen seen;

	run(&seen, fixture, changes);
	assert_string_equal(err_kind_name(seen.err.kind), err_kind_name(kind));
	if (!strstr(seen.err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, seen.err.text);
	buf_done(&seen.data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
