#include "test/support/https_client.h"

int client_setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));

	fixture->loop = loop_new();
	fixture->https = https_new(fixture->loop, "test/1");
	*state = fixture;
	return 0;
}

int client_teardown(void **state)
{
	struct fixture *fixture = *state;

	https_free(fixture->https);
	loop_free(fixture->loop);
	if (fixture->server)
		server_stop(fixture->server);
	memory_free(fixture);
	return 0;
}

void client_seen_init(struct seen *seen, struct fixture *fixture)
{
	*seen = (struct seen){ .fixture = fixture };
	buf_init(&seen->data, 64 << 20);
}

void client_on_open(void *context)
{
	struct seen *seen = context;

	seen->opened++;
	if (seen->cancel_open)
		https_cancel(seen->request);
}

int client_on_chunk(void *context, const char *data, size_t size)
{
	struct seen *seen = context;

	seen->chunks++;
	assert_int_equal(buf_add(&seen->data, data, size), 0);
	if (seen->victim)
		https_cancel(steal(&seen->victim));
	if (seen->start_in_chunk && seen->chunks == 1)
		client_start(seen->next, NULL);
	if (seen->cancel_chunk)
		https_cancel(seen->request);
	return seen->refuse_chunk ? -1 : 0;
}

void client_on_done(void *context, const struct https_response *response, const struct err *err)
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
		client_start(seen->next, NULL);
}

void client_start(struct seen *seen, const struct https_call *changes)
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
	call.on_done = client_on_done;
	call.context = seen;
	seen->request = https_start(seen->fixture->https, &call);
	assert_int_equal(seen->done, 0);
}

bool client_is_done(void *context)
{
	const struct seen *seen = context;

	return seen->done > 0;
}

void client_finish(struct seen *seen)
{
	assert_true(loop_wait_until(seen->fixture->loop, client_is_done, seen, WAIT_MS));
	assert_int_equal(seen->done, 1);
}

void client_run(struct seen *seen, struct fixture *fixture, const struct https_call *changes)
{
	client_seen_init(seen, fixture);
	client_start(seen, changes);
	client_finish(seen);
}

const struct https_call client_stream = { .on_open = client_on_open, .on_chunk = client_on_chunk };

void client_expect_error(struct fixture *fixture, const struct https_call *changes,
			 enum err_kind kind, const char *text)
{
	struct seen seen;

	client_run(&seen, fixture, changes);
	assert_string_equal(err_kind_name(seen.err.kind), err_kind_name(kind));
	if (!strstr(seen.err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, seen.err.text);
	buf_done(&seen.data);
}
