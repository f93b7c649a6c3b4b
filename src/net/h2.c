#include "net/h2.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "net/backoff.h"
#include "net/grpc.h"
#include "net/h2_connection.h"
#include "net/h2_tls.h"
#include "net/loop.h"

/* Jitter: the heads of a fleet are not reconnected at the same time. */
#define H2_BACKOFF ((struct backoff){ .first_ms = 200, .last_ms = 10000 })
/* Missed deadlines in a row on one connection, although bytes arrive, that end it. */
#define H2_TIMEOUTS_MAX 3

/* One unary call of an HTTP/2 session: its request, the pieces of its reply, its end. Used by
 * net/h2 alone, which owns the calls and gives them connections; users include h2.h. Must not
 * reconnect or wait: deadlines are the session's. */

enum h2_call_state {
	H2_CALL_PENDING = 0, /* waits for a connection */
	H2_CALL_ACTIVE,      /* has a stream */
	H2_CALL_FINISHED,    /* its callback is due */
};

struct h2_call {
	struct h2_session *session;
	struct list_item item;
	enum h2_call_state state;
	int32_t stream_id;
	int64_t started_ms, timeout_ms;
	int64_t deadline_ms; /* of loop_attended_ms: a busy loop is not the peer's fault */
	const char *(*may_send)(void *context);
	void *may_send_context;
	h2_done *done;
	void *context;
	char *path;
	struct h2_header headers[H2_HEADERS_MAX];
	char *body; /* prefix and message */
	size_t body_size, body_sent;
	struct grpc_reader reader;
	struct buf grpc_message;
	int grpc_status, http_status;
	enum err_kind err_kind; /* ERR_NONE: success */
	char *err_text;
};

struct h2_session {
	struct loop *loop;
	struct loop_timer *timer;
	char *host, *authority;
	int port;
	struct h2_tls *tls;
	size_t reply_ceiling_bytes;
	struct h2_connection *connection; /* NULL: none */
	struct token_bucket waste;        /* bytes that do not advance any call */
	uint64_t generation;
	int64_t connect_deadline_ms; /* likewise */
	int64_t ping_ms;             /* when the last PING was sent on this connection */
	bool good;                   /* this connection has delivered a reply */
	unsigned timeouts;           /* in a row, on this connection */
	struct backoff backoff;      /* failures: connections in a row without a reply */
	int64_t next_connect_ms;
	enum err_kind last_kind; /* why the last connection ended */
	char *last_text;
	char *late_text;   /* of the last call of this connection that was late; NULL: none */
	struct list calls; /* oldest first */
	bool *freed;       /* set when the session is freed while its callbacks run */
};

#define H2_GRPC_MESSAGE_CEILING_BYTES 4096
#define H2_USER_AGENT "rayscaler"
#define H2_OWN_HEADERS 8 /* of each request */

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

/* Makes its callback due with this error (kind ERR_NONE: success). Only the first call counts. */
static void h2_call_finish(struct h2_call *call, const struct err *err)
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

/* Fills the call from the request; the session puts it into its list. */
static struct h2_call *h2_call_new(struct h2_session *session, const struct h2_request *request,
				   int64_t now_ms, h2_done *done, void *context)
{
	struct h2_call *call = memory_alloc(sizeof(*call));
	struct err err;

	CHECK(request->timeout_ms > 0 && request->timeout_ms <= H2_TIMEOUT_MAX_MS);
	call->session = session;
	call->started_ms = now_ms;
	call->timeout_ms = request->timeout_ms;
	call->deadline_ms = loop_attended_ms(session->loop) + request->timeout_ms;
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

/* Unlinks it from the session's list and frees it. */
static void h2_call_free(struct h2_call *call)
{
	list_remove(&call->item);
	for (size_t i = 0; i < H2_HEADERS_MAX; i++) {
		char *value = memory_without_const(call->headers[i].value);

		if (value)
			explicit_bzero(value, strlen(value));
		memory_free(value);
		memory_free(memory_without_const(call->headers[i].name));
	}
	memory_free(call->path);
	memory_free(call->body);
	memory_free(call->err_text);
	h2_reader_done(&call->reader);
	buf_done(&call->grpc_message);
	memory_free(call);
}

static ssize_t h2_on_body(nghttp2_session *unused UNUSED, int32_t stream_id UNUSED, uint8_t *data,
			  size_t size, uint32_t *flags, nghttp2_data_source *source,
			  void *context UNUSED)
{
	struct h2_call *call = source->ptr;
	size_t left = call->body_size - call->body_sent;

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
		.name = memory_without_const(name),
		.value = memory_without_const(value),
		.namelen = strlen(name),
		.valuelen = strlen(value),
		.flags = secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
	};
}

/* Opens its stream; a call without a stream is finished. */
static void h2_call_submit(struct h2_call *call)
{
	struct h2_session *session = call->session;
	int64_t left_ms = call->deadline_ms - loop_attended_ms(session->loop);
	nghttp2_data_provider body = { .source.ptr = call, .read_callback = h2_on_body };
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;

	if (h2_call_is_refused(call))
		return;
	nghttp2_nv headers[H2_OWN_HEADERS + H2_HEADERS_MAX] = {
		h2_nv(":method", "POST", false),
		h2_nv(":scheme", session->tls ? "https" : "http", false),
		h2_nv(":path", call->path, false),
		h2_nv(":authority", session->authority, false),
		h2_nv("te", "trailers", false),
		h2_nv("grpc-timeout", arena_printf(&scratch, "%lldm", (long long)left_ms), false),
		h2_nv("content-type", "application/grpc", false),
		h2_nv("user-agent", H2_USER_AGENT, false),
	};
	size_t count = H2_OWN_HEADERS;

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

/* Pieces of the reply of a call, whose stream it is. data: -1 when this piece finishes the call. */
static void h2_call_header(void *stream, const char *name, size_t name_size, const char *value,
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

/* The stream ended in order: 0, or -1 with the error. */
static int h2_call_conclude(const struct h2_call *call, struct err *err)
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

static int h2_call_data(void *stream, const void *data, size_t size)
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

/* ---- the end ---- */

/* A call in flight without one byte received since its start. */
static bool h2_call_is_silent(const struct h2_call *call)
{
	const struct h2_connection *connection = call->session->connection;

	return call->state == H2_CALL_ACTIVE && connection &&
	       h2_connection_last_read_ms(connection) < call->started_ms;
}

/* Its deadline has passed. */
static void h2_call_expire(struct h2_call *call)
{
	bool active = call->state == H2_CALL_ACTIVE;
	struct err err;

	if (active)
		h2_connection_reset(call->session->connection, call->stream_id);
	err_set(&err, ERR_TIMEOUT, active ? "no reply within %lld ms" : H2_NO_CONNECTION " %lld ms",
		(long long)call->timeout_ms);
	h2_call_finish(call, &err);
}

/* Unlinked before its callback, so that it cannot be cancelled there. */
/* Frees the finished call and calls its callback, which may free the session. */
static void h2_call_deliver(struct h2_call *call)
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

/* ---- deadlines, backoff, one timer for all of them ---- */

static int64_t h2_session_now(const struct h2_session *session)
{
	return loop_monotonic_ms(session->loop);
}

static int64_t h2_call_ping_ms(const struct h2_call *call)
{
	int64_t half = call->started_ms + call->timeout_ms / 2;
	int64_t allowed = call->session->ping_ms + H2_PING_INTERVAL_MS;

	return half > allowed ? half : allowed;
}

static void h2_session_arm(struct h2_session *session)
{
	int64_t now = h2_session_now(session), next = session->connect_deadline_ms;
	int64_t held = now - loop_attended_ms(session->loop);

	LIST_EACH(const struct h2_call, call, &session->calls, item) {
		if (call->state == H2_CALL_FINISHED)
			next = now - held;
		if (call->deadline_ms < next)
			next = call->deadline_ms;
		if (h2_call_is_silent(call) && h2_call_ping_ms(call) - held < next)
			next = h2_call_ping_ms(call) - held;
	}
	if (next == INT64_MAX)
		loop_timer_stop(session->timer);
	else
		loop_timer_start(session->timer, next + held > now ? next + held - now : 0);
}

static void h2_session_connect(struct h2_session *session);

/* Called when the connection was lost with its calls. Calls that waited for the end of a good
 * connection (the peer sent GOAWAY) get the next one. */
static void h2_session_lost(struct h2_session *session, const struct err *err)
{
	bool good = session->good && err->kind != ERR_LIMIT, waiting = false;

	session->next_connect_ms =
		h2_session_now(session) + (good ? 0 : backoff_next_ms(&session->backoff, 0));
	session->connection = NULL;
	session->connect_deadline_ms = INT64_MAX;
	session->last_kind = err->kind;
	memory_set_string(&session->last_text, err->text);
	LIST_EACH(struct h2_call, call, &session->calls, item) {
		if (call->state == H2_CALL_PENDING && good)
			waiting = true;
		else
			h2_call_finish(call, err);
	}
	if (waiting)
		h2_session_connect(session);
}

/* Uses the text of the late call, if there was one: until the next connection all calls then fail
 * with the same text, so that a log of changed texts does not alternate between two. */
static void h2_session_drop(struct h2_session *session)
{
	struct err err;

	err_set(&err, ERR_TIMEOUT, "%s",
		session->late_text ? session->late_text :
				     "the connection was not established in time");
	h2_connection_close(session->connection);
	h2_session_lost(session, &err);
}

/* ---- events of the connection ---- */

static void h2_on_opened(void *owner)
{
	struct h2_session *session = owner;

	session->connect_deadline_ms = INT64_MAX;
	LIST_EACH(struct h2_call, call, &session->calls, item)
		if (call->state == H2_CALL_PENDING)
			h2_call_submit(call);
	h2_session_arm(session);
}

static void h2_on_stream_end(void *owner, void *stream, bool complete, uint32_t error_code)
{
	struct h2_session *session = owner;
	struct h2_call *call = stream;
	struct err err = { .kind = ERR_NONE };

	if (!complete)
		err_set(&err, ERR_RETRY, "the call was reset by the other side: %s",
			nghttp2_http2_strerror(error_code));
	else if (h2_call_conclude(call, &err) == 0 || call->grpc_status != GRPC_NONE) {
		session->good = true;
		session->backoff.failures = 0;
		session->timeouts = 0;
	}
	h2_call_finish(call, &err);
}

static void h2_session_deliver(void *owner)
{
	struct h2_session *session = owner;
	struct h2_call *call = LIST_MEMBER(session->calls.first, struct h2_call, item);
	bool freed = false;

	session->freed = &freed;
	while (call) {
		if (call->state != H2_CALL_FINISHED) {
			call = LIST_MEMBER(call->item.next, struct h2_call, item);
			continue;
		}
		h2_call_deliver(call);
		if (freed)
			return;
		/* The callback may have changed the list. */
		call = LIST_MEMBER(session->calls.first, struct h2_call, item);
	}
	session->freed = NULL;
	h2_session_arm(session);
}

static void h2_on_lost(void *owner, const struct err *err)
{
	struct h2_session *session = owner;

	h2_session_lost(session, err);
	h2_session_arm(session);
}

static const struct h2_connection_events h2_events = {
	.opened = h2_on_opened,
	.header = h2_call_header,
	.data = h2_call_data,
	.stream_end = h2_on_stream_end,
	.read_end = h2_session_deliver,
	.lost = h2_on_lost,
};

/* ---- the session ---- */

static void h2_session_connect(struct h2_session *session)
{
	int64_t now = h2_session_now(session);
	struct err err;

	session->good = false;
	session->timeouts = 0;
	memory_free(steal(&session->late_text));
	session->ping_ms = now - H2_PING_INTERVAL_MS;
	session->generation++;
	session->connect_deadline_ms = loop_attended_ms(session->loop) + H2_CONNECT_TIMEOUT_MS;
	session->connection = h2_connection_open(session->loop, session->host, session->port,
						 session->tls, &session->waste, &h2_events, session,
						 &err);
	if (!session->connection)
		h2_session_lost(session, &err);
}

/* Assigns a connection to a pending call, or fails it. */
static void h2_call_place(struct h2_call *call)
{
	struct h2_session *session = call->session;
	int64_t wait_ms = session->next_connect_ms - h2_session_now(session);
	struct err err;

	if (session->connection && h2_connection_accepts(session->connection)) {
		h2_call_submit(call);
		h2_connection_flush(session->connection);
	} else if (!session->connection && wait_ms > 0) {
		/* Without the time that is left: a log of changed texts would otherwise log it each
		 * second. */
		err_set(&err, session->last_kind, "%s", session->last_text);
		h2_call_finish(call, &err);
	} else if (!session->connection) {
		h2_session_connect(session);
	}
}

static void h2_session_check_calls(struct h2_session *session, int64_t attended)
{
	int64_t now = h2_session_now(session);
	bool silent = false, late = false, ping = false;

	LIST_EACH(struct h2_call, call, &session->calls, item) {
		if (call->state == H2_CALL_FINISHED)
			continue;
		if (call->deadline_ms <= attended) {
			silent |= h2_call_is_silent(call);
			late |= call->state == H2_CALL_ACTIVE;
			h2_call_expire(call);
			memory_set_string(&session->late_text, call->err_text);
		} else if (h2_call_is_silent(call) && h2_call_ping_ms(call) <= now) {
			ping = true;
		}
	}
	session->timeouts += late; /* once for calls that were started together */
	if (silent || session->timeouts >= H2_TIMEOUTS_MAX) {
		h2_session_drop(session);
	} else if (session->connection && ping) {
		session->ping_ms = now;
		h2_connection_ping(session->connection);
	} else if (session->connection) {
		h2_connection_flush(session->connection);
	}
}

static void h2_session_on_timer(void *context)
{
	struct h2_session *session = context;
	int64_t attended = loop_attended_ms(session->loop);

	if (session->connect_deadline_ms <= attended)
		h2_session_drop(session);
	h2_session_check_calls(session, attended);
	h2_session_deliver(session);
}

struct h2_session *h2_session_new(struct loop *loop, const struct h2_config *config)
{
	struct h2_session *session = memory_alloc(sizeof(*session));
	AUTO(buf_done) struct buf authority;

	buf_init(&authority, 512);
	(void)buf_printf(&authority, strchr(config->host, ':') ? "[%.300s]:%d" : "%.300s:%d",
			 config->host, config->port);
	session->loop = loop;
	session->backoff = H2_BACKOFF;
	session->timer = loop_timer_new(loop, h2_session_on_timer, session);
	session->host = memory_strdup(config->host);
	session->authority = buf_steal(&authority);
	session->port = config->port;
	session->tls = h2_tls_reference(config->tls);
	session->reply_ceiling_bytes = config->reply_ceiling_bytes;
	if (session->reply_ceiling_bytes == 0)
		session->reply_ceiling_bytes = H2_REPLY_CEILING_BYTES;
	session->connect_deadline_ms = INT64_MAX;
	session->next_connect_ms = h2_session_now(session);
	token_bucket_init(&session->waste, H2_WASTE_BYTES_PER_SECOND, H2_WASTE_BURST_BYTES,
			  session->next_connect_ms);
	return session;
}

void h2_session_free(struct h2_session *session)
{
	if (!session)
		return;
	if (session->freed)
		*session->freed = true;
	h2_connection_close(session->connection);
	session->connection = NULL;
	LIST_EACH(struct h2_call, call, &session->calls, item)
		h2_call_free(call);
	loop_timer_free(session->timer);
	h2_tls_release(session->tls);
	memory_free(session->host);
	memory_free(session->authority);
	memory_free(session->last_text);
	memory_free(session->late_text);
	memory_free(session);
}

uint64_t h2_session_generation(const struct h2_session *session)
{
	return session->connection ? session->generation : 0;
}

struct h2_call *h2_call_start(struct h2_session *session, const struct h2_request *request,
			      h2_done *done, void *context)
{
	struct h2_call *call =
		h2_call_new(session, request, h2_session_now(session), done, context);

	list_add(&session->calls, &call->item);
	if (call->state == H2_CALL_PENDING)
		h2_call_place(call);
	h2_session_arm(session);
	return call;
}

void h2_call_cancel(struct h2_call *call)
{
	struct h2_session *session = call->session;

	if (call->state == H2_CALL_ACTIVE) {
		h2_connection_reset(session->connection, call->stream_id);
		h2_connection_flush(session->connection);
	}
	h2_call_free(call);
	h2_session_arm(session);
}
