/* Shared by the tests of net/https: a client on a loop, a scripted server, and a record of the
 * callbacks. */
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

int client_setup(void **state);
int client_teardown(void **state);
void client_seen_init(struct seen *seen, struct fixture *fixture);
void client_on_open(void *context);
int client_on_chunk(void *context, const char *data, size_t size);
void client_on_done(void *context, const struct https_response *response, const struct err *err);

/* A call with usual values; the members of `changes` that are set replace them. */
void client_start(struct seen *seen, const struct https_call *changes);
bool client_is_done(void *context);
void client_finish(struct seen *seen);

/* One request from start to end; the data stays in seen. */
void client_run(struct seen *seen, struct fixture *fixture, const struct https_call *changes);

extern const struct https_call client_stream;

void client_expect_error(struct fixture *fixture, const struct https_call *changes,
			 enum err_kind kind, const char *text);

#define TEST(name) cmocka_unit_test_setup_teardown(name, client_setup, client_teardown)

#endif
