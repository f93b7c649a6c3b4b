#include "net/h2_call.h"

#include <string.h>

#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"
#include "net/h2_connection.h"
#include "net/loop.h"

#define H2_GRPC_MESSAGE_CEILING_BYTES 4096
#define H2_USER_AGENT "rayscaler"

/* ---- from the request to the stream ---- */

static void h2_call_fill(struct h2_call *call, const struct h2_request *request)
{
	call->path = memory_strdup(request->path);
	for (size_t i = 0; i < H2_HEADERS_MAX && request->headers[i].name; i++)
		call->headers[i] = (struct h2_header){
			.name = memory_strdup(request->headers[i].name),
			.value = memory_strdup(request->headers[i].value),
			.secret = request->headers[i].secret,
		};
	call->body_size = GRPC_PREFIX_SIZE + request->size;
	call->body = memory_alloc(call->body_size);
	grpc_prefix_write((unsigned char *)call->body, (uint32_t)request->size);
	if (request->size > 0)
		memcpy(call->body + GRPC_PREFIX_SIZE, request->message, request->size);
}

void h2_call_finish(struct h2_call *call, const struct err *err)
{
	if (call->state == H2_CALL_FINISHED)
		return;
	call->state = H2_CALL_FINISHED;
	call->err_kind = err->kind;
	if (err->kind != ERR_NONE)
		call->err_text = memory_strdup(err->text);
	loop_timer_start(call->session->timer, 0);
}

static void h2_reader_done(struct grpc_reader *reader)
{
	struct budget *budget = reader->message.budget;

	grpc_reader_done(reader);
	budget_free(budget);
}

static size_t h2_reply_ceiling(const struct h2_session *session, const struct h2_request *request)
{
	size_t ceiling = request->reply_ceiling_bytes;

	return ceiling > 0 && ceiling < session->reply_ceiling_bytes ? ceiling :
								       session->reply_ceiling_bytes;
}

struct h2_call *h2_call_new(struct h2_session *session, const struct h2_request *request,
			    int64_t now_ms, h2_done *done, void *context)
{
	struct h2_call *call = memory_alloc(sizeof(*call));
	struct err err;

	CHECK(request->timeout_ms > 0 && request->timeout_ms <= H2_TIMEOUT_MAX_MS);
	call->session = session;
	call->started_ms = now_ms;
	call->timeout_ms = request->timeout_ms;
	call->deadline_ms = now_ms + request->timeout_ms;
	call->may_send = request->may_send;
	call->may_send_context = request->may_send_context;
	call->done = done;
	call->context = context;
	call->grpc_status = GRPC_NONE;
	grpc_reader_init(&call->reader, h2_reply_ceiling(session, request));
	call->reader.message.budget = budget_reference(request->reply_budget);
	buf_init(&call->grpc_message, H2_GRPC_MESSAGE_CEILING_BYTES);
	if (request->size > H2_REQUEST_CEILING_BYTES) {
		err_set(&err, ERR_LIMIT, "the request is larger than %zu bytes",
			H2_REQUEST_CEILING_BYTES);
		h2_call_finish(call, &err);
	} else {
		h2_call_fill(call, request);
	}
	return call;
}

void h2_call_free(struct h2_call *call)
{
	list_remove(&call->item);
	for (size_t i = 0; i < H2_HEADERS_MAX; i++) {
		char *value = (char *)call->headers[i].value;

		if (value)
			explicit_bzero(value, strlen(value));
		memory_free(value);
		memory_free((char *)call->headers[i].name);
	}
	memory_free(call->path);
	memory_free(call->body);
	memory_free(call->err_text);
	h2_reader_done(&call->reader);
	buf_done(&call->grpc_message);
	memory_free(call);
}

static ssize_t h2_on_body(nghttp2_session *unused, int32_t stream_id, uint8_t *data, size_t size,
			  uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct h2_call *call = source->ptr;
	size_t left = call->body_size - call->body_sent;

	(void)unused;
	(void)stream_id;
	(void)context;
	if (size > left)
		size = left;
	memcpy(data, call->body + call->body_sent, size);
	call->body_sent += size;
	if (size == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)size;
}

/* Finishes a call that must not be sent (any more). */
static bool h2_call_is_refused(struct h2_call *call)
{
	const char *why = call->may_send ? call->may_send(call->may_send_context) : NULL;
	struct err err;

	if (!why)
		return false;
	err_set(&err, ERR_RETRY, "not sent, %s", why);
	h2_call_finish(call, &err);
	return true;
}

static nghttp2_nv h2_nv(const char *name, const char *value, bool secret)
{
	return (nghttp2_nv){
		.name = (uint8_t *)name,
		.value = (uint8_t *)value,
		.namelen = strlen(name),
		.valuelen = strlen(value),
		.flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
	};
}

void h2_call_submit(struct h2_call *call, int64_t now_ms)
{
	struct h2_session *session = call->session;
	nghttp2_data_provider body = { .source.ptr = call, .read_callback = h2_on_body };
	nghttp2_nv headers[8 + H2_HEADERS_MAX];
	AUTO(buf_done) struct buf timeout;
	struct err err;
	size_t count = 0;

	buf_init(&timeout, 32);
	if (h2_call_is_refused(call))
		return;
	(void)buf_printf(&timeout, "%lldm", (long long)(call->deadline_ms - now_ms));
	headers[count++] = h2_nv(":method", "POST", false);
	headers[count++] = h2_nv(":scheme", session->tls ? "https" : "http", false);
	headers[count++] = h2_nv(":path", call->path, false);
	headers[count++] = h2_nv(":authority", session->authority, false);
	headers[count++] = h2_nv("te", "trailers", false);
	headers[count++] = h2_nv("grpc-timeout", buf_string(&timeout), false);
	headers[count++] = h2_nv("content-type", "application/grpc", false);
	headers[count++] = h2_nv("user-agent", H2_USER_AGENT, false);
	for (size_t i = 0; i < H2_HEADERS_MAX && call->headers[i].name; i++)
		headers[count++] = h2_nv(call->headers[i].name, call->headers[i].value,
					 call->headers[i].secret);
	call->stream_id = h2_connection_submit(session->connection, headers, count, &body, call);
	if (call->stream_id >= 0) {
		call->state = H2_CALL_ACTIVE;
		return;
	}
	err_set(&err, ERR_RETRY, "the connection accepts no more streams");
	h2_call_finish(call, &err);
}

/* ---- the reply ---- */

static bool h2_name_is(const char *name, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(name, wanted, size) == 0;
}

void h2_call_header(void *stream, const char *name, size_t name_size, const char *value,
		    size_t value_size)
{
	struct h2_call *call = stream;

	if (h2_name_is(name, name_size, ":status")) {
		call->http_status = grpc_status_parse(value, value_size);
	} else if (h2_name_is(name, name_size, "grpc-status")) {
		int status = grpc_status_parse(value, value_size);

		call->grpc_status = status < 0 ? GRPC_UNKNOWN : status;
	} else if (h2_name_is(name, name_size, "grpc-message")) {
		buf_clear(&call->grpc_message);
		grpc_message_decode(value, value_size, &call->grpc_message);
	}
}

int h2_call_data(void *stream, const void *data, size_t size)
{
	struct h2_call *call = stream;
	struct err err;

	if (call->http_status == 200 && grpc_reader_add(&call->reader, data, size, &err) == 0)
		return 0;
	if (call->http_status != 200) /* the page of an HTTP server is not read */
		(void)h2_call_conclude(call, &err);
	h2_call_finish(call, &err);
	return -1;
}

int h2_call_conclude(const struct h2_call *call, struct err *err)
{
	enum err_kind kind = ERR_RETRY;

	if (call->http_status != 200) {
		if (call->http_status == 401 || call->http_status == 403)
			kind = ERR_DENIED;
		return err_set(err, kind, "HTTP status %d instead of a gRPC reply; is this a GCS?",
			       call->http_status);
	}
	if (call->grpc_status == GRPC_NONE)
		return err_set(err, ERR_INPUT, "the reply ended without a grpc-status");
	if (call->grpc_status != GRPC_OK)
		return err_set(err, grpc_status_kind(call->grpc_status), "%s (%d): %s",
			       grpc_status_name(call->grpc_status), call->grpc_status,
			       buf_string(&call->grpc_message));
	if (!grpc_reader_is_complete(&call->reader))
		return err_set(err, ERR_INPUT, "the reply ended after %zu bytes of its message",
			       call->reader.message.size);
	return 0;
}

/* ---- the end ---- */

bool h2_call_is_silent(const struct h2_call *call)
{
	const struct h2_connection *connection = call->session->connection;

	return call->state == H2_CALL_ACTIVE && connection &&
	       h2_connection_last_read_ms(connection) < call->started_ms;
}

void h2_call_expire(struct h2_call *call)
{
	bool active = call->state == H2_CALL_ACTIVE;
	struct err err;

	if (active)
		h2_connection_reset(call->session->connection, call->stream_id);
	err_set(&err, ERR_TIMEOUT,
		active ? "no reply within %lld ms" : "no connection within %lld ms",
		(long long)call->timeout_ms);
	h2_call_finish(call, &err);
}

/* Unlinked before its callback, so that it cannot be cancelled there. */
void h2_call_deliver(struct h2_call *call)
{
	AUTO(h2_reader_done) struct grpc_reader reader = call->reader;
	AUTO(buf_done) struct buf grpc_message = call->grpc_message;
	bool failed = call->err_kind != ERR_NONE;
	h2_done *done = call->done;
	void *context = call->context;
	struct h2_reply reply = {
		.grpc_status = call->grpc_status,
		.grpc_message = buf_string(&grpc_message),
		.message = buf_string(&reader.message),
		.size = reader.message.size,
		.body = &reader.message,
	};
	struct err err;

	if (failed)
		err_set(&err, call->err_kind, "%s: %s", call->session->authority, call->err_text);
	grpc_reader_init(&call->reader, 0);
	buf_init(&call->grpc_message, 0);
	h2_call_free(call);
	done(context, &reply, failed ? &err : NULL);
}
