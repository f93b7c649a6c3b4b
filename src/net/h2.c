#include "net/h2.h"

#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "net/grpc.h"
#include "net/h2_connection.h"
#include "net/h2_tls.h"
#include "net/loop.h"

#define H2_BACKOFF_INITIAL_MS INT64_C(200)
#define H2_BACKOFF_MAX_MS INT64_C(10000)
/* Deadlines missed in a row on one connection, although bytes trickle in, that end it. */
#define H2_TIMEOUTS_MAX 3
#define H2_GRPC_MESSAGE_CEILING_BYTES 4096
#define H2_USER_AGENT "rayscaler"

enum h2_call_state {
	H2_CALL_PENDING = 0, /* waits for a connection */
	H2_CALL_ACTIVE,      /* has a stream */
	H2_CALL_FINISHED,    /* its callback is due */
};

struct h2_call {
	struct h2_session *session;
	struct h2_call *next;
	enum h2_call_state state;
	int32_t stream_id;
	int64_t started_ms, deadline_ms, timeout_ms;
	h2_done *done;
	void *context;
	char *path;
	struct h2_header headers[H2_HEADERS_MAX];
	char *body; /* prefix and message */
	size_t body_size, body_sent;
	struct grpc_reader reader;
	struct buf grpc_message;
	int grpc_status, http_status;
	enum err_kind err_kind; /* ERR_NONE: went well */
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
	uint64_t generation;
	int64_t connect_deadline_ms;
	int64_t ping_ms;      /* when the last PING went out on this connection */
	bool good;            /* this connection has brought a reply */
	unsigned timeouts;    /* in a row, on this connection */
	unsigned failures;    /* connections in a row that brought no reply */
	int64_t next_connect_ms;
	enum err_kind last_kind; /* why the last connection ended */
	char *last_text;
	struct h2_call *calls; /* oldest first */
	bool *freed; /* set when the session goes while its callbacks run */
};

/* ---- calls ---- */

static void h2_call_free(struct h2_call *call)
{
	struct h2_call **link = &call->session->calls;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
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
	grpc_reader_done(&call->reader);
	buf_done(&call->grpc_message);
	memory_free(call);
}

static void h2_call_finish(struct h2_call *call, enum err_kind kind, const char *text)
{
	if (call->state == H2_CALL_FINISHED)
		return;
	call->state = H2_CALL_FINISHED;
	call->err_kind = kind;
	if (kind != ERR_NONE)
		call->err_text = memory_strdup(text);
	loop_timer_start(call->session->timer, 0);
}

static void h2_call_finish_err(struct h2_call *call, const struct err *err)
{
	h2_call_finish(call, err->kind, err->text);
}

/* The stream is over in order: what was it? */
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

/* ---- deadlines, back-off, one timer for all of them ---- */

static int64_t h2_session_now(const struct h2_session *session)
{
	return loop_monotonic_ms(session->loop);
}

/* Nothing came since the call was made. */
static bool h2_call_is_silent(const struct h2_call *call)
{
	const struct h2_connection *connection = call->session->connection;

	return call->state == H2_CALL_ACTIVE && connection &&
	       h2_connection_last_read_ms(connection) < call->started_ms;
}

static int64_t h2_call_ping_ms(const struct h2_call *call)
{
	int64_t half = call->started_ms + call->timeout_ms / 2;
	int64_t allowed = call->session->ping_ms + H2_PING_INTERVAL_MS;

	return half > allowed ? half : allowed;
}

static void h2_session_arm(struct h2_session *session)
{
	int64_t now = h2_session_now(session), next = INT64_MAX;

	for (const struct h2_call *call = session->calls; call; call = call->next) {
		if (call->state == H2_CALL_FINISHED)
			next = now;
		if (call->deadline_ms < next)
			next = call->deadline_ms;
		if (h2_call_is_silent(call) && h2_call_ping_ms(call) < next)
			next = h2_call_ping_ms(call);
	}
	if (session->connect_deadline_ms < next)
		next = session->connect_deadline_ms;
	if (next == INT64_MAX)
		loop_timer_stop(session->timer);
	else
		loop_timer_start(session->timer, next > now ? next - now : 0);
}

/* Half to all of 200 ms, 400 ms, ... 10 s: the heads of a fleet must not come back in step. */
static int64_t h2_backoff_ms(unsigned failures)
{
	int64_t step = H2_BACKOFF_INITIAL_MS;
	uint32_t random = 0;

	for (unsigned i = 1; i < failures && step < H2_BACKOFF_MAX_MS; i++)
		step *= 2;
	if (step > H2_BACKOFF_MAX_MS)
		step = H2_BACKOFF_MAX_MS;
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return step / 2 + (int64_t)random * (step / 2) / UINT32_MAX;
}

static void h2_session_connect(struct h2_session *session);

/* The connection is gone, and its calls with it. Those that waited for the end of a connection
 * that had been good (the peer said GOAWAY) get the next one. */
static void h2_session_lost(struct h2_session *session, const struct err *err)
{
	bool good = session->good, waiting = false;

	if (!good)
		session->failures++;
	session->next_connect_ms =
		h2_session_now(session) + (good ? 0 : h2_backoff_ms(session->failures));
	session->connection = NULL;
	session->connect_deadline_ms = INT64_MAX;
	session->last_kind = err->kind;
	memory_free(session->last_text);
	session->last_text = memory_strdup(err->text);
	for (struct h2_call *call = session->calls; call; call = call->next) {
		if (call->state == H2_CALL_PENDING && good)
			waiting = true;
		else
			h2_call_finish_err(call, err);
	}
	if (waiting)
		h2_session_connect(session);
}

static void h2_session_drop(struct h2_session *session, const char *why)
{
	struct err err;

	err_set(&err, ERR_TIMEOUT, "%s; the connection was given up", why);
	h2_connection_close(session->connection);
	h2_session_lost(session, &err);
}

/* ---- events of the connection ---- */

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

static void h2_call_submit(struct h2_call *call)
{
	struct h2_session *session = call->session;
	nghttp2_data_provider body = { .source.ptr = call, .read_callback = h2_on_body };
	nghttp2_nv headers[8 + H2_HEADERS_MAX];
	AUTO(buf_done) struct buf timeout;
	size_t count = 0;

	buf_init(&timeout, 32);
	(void)buf_printf(&timeout, "%lldm",
			 (long long)(call->deadline_ms - h2_session_now(session)));
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
	if (call->stream_id < 0)
		h2_call_finish(call, ERR_RETRY, "the connection takes no more streams");
	else
		call->state = H2_CALL_ACTIVE;
}

static void h2_on_opened(void *owner)
{
	struct h2_session *session = owner;

	session->connect_deadline_ms = INT64_MAX;
	for (struct h2_call *call = session->calls; call; call = call->next)
		if (call->state == H2_CALL_PENDING)
			h2_call_submit(call);
	h2_session_arm(session);
}

static bool h2_name_is(const char *name, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(name, wanted, size) == 0;
}

static void h2_on_header(void *owner, void *stream, const char *name, size_t name_size,
			 const char *value, size_t value_size)
{
	struct h2_call *call = stream;

	(void)owner;
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

static int h2_on_data(void *owner, void *stream, const void *data, size_t size)
{
	struct h2_call *call = stream;
	struct err err;

	(void)owner;
	if (call->http_status == 200 && grpc_reader_add(&call->reader, data, size, &err) < 0) {
		h2_call_finish_err(call, &err);
		return -1;
	}
	return 0;
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
		session->failures = 0;
		session->timeouts = 0;
	}
	h2_call_finish_err(call, &err);
}

/* The call is over and out of the list before its callback, so that nothing can cancel it there. */
static void h2_call_deliver(struct h2_call *call)
{
	AUTO(grpc_reader_done) struct grpc_reader reader = call->reader;
	AUTO(buf_done) struct buf grpc_message = call->grpc_message;
	bool failed = call->err_kind != ERR_NONE;
	h2_done *done = call->done;
	void *context = call->context;
	struct h2_reply reply = {
		.grpc_status = call->grpc_status,
		.grpc_message = buf_string(&grpc_message),
		.message = buf_string(&reader.message),
		.size = reader.message.size,
	};
	struct err err;

	if (failed)
		err_set(&err, call->err_kind, "%s: %s", call->session->authority, call->err_text);
	grpc_reader_init(&call->reader, 0);
	buf_init(&call->grpc_message, 0);
	h2_call_free(call);
	done(context, &reply, failed ? &err : NULL);
}

static void h2_session_deliver(struct h2_session *session)
{
	struct h2_call *call = session->calls;
	bool freed = false;

	session->freed = &freed;
	while (call) {
		if (call->state != H2_CALL_FINISHED) {
			call = call->next;
			continue;
		}
		h2_call_deliver(call);
		if (freed)
			return;
		call = session->calls; /* the callback may have changed the list */
	}
	session->freed = NULL;
	h2_session_arm(session);
}

static void h2_on_read_end(void *owner)
{
	h2_session_deliver(owner);
}

static void h2_on_lost(void *owner, const struct err *err)
{
	struct h2_session *session = owner;

	h2_session_lost(session, err);
	h2_session_arm(session);
}

static const struct h2_connection_events h2_events = {
	.opened = h2_on_opened,
	.header = h2_on_header,
	.data = h2_on_data,
	.stream_end = h2_on_stream_end,
	.read_end = h2_on_read_end,
	.lost = h2_on_lost,
};

/* ---- the session ---- */

static void h2_session_connect(struct h2_session *session)
{
	int64_t now = h2_session_now(session);
	struct err err;

	session->good = false;
	session->timeouts = 0;
	session->ping_ms = now - H2_PING_INTERVAL_MS;
	session->generation++;
	session->connect_deadline_ms = now + H2_CONNECT_TIMEOUT_MS;
	session->connection = h2_connection_open(session->loop, session->host, session->port,
						 session->tls, &h2_events, session, &err);
	if (!session->connection)
		h2_session_lost(session, &err);
}

/* Gives a pending call its connection, or its failure. */
static void h2_call_place(struct h2_call *call)
{
	struct h2_session *session = call->session;
	int64_t wait_ms = session->next_connect_ms - h2_session_now(session);
	struct err err;

	if (session->connection && h2_connection_accepts(session->connection)) {
		h2_call_submit(call);
		h2_connection_flush(session->connection);
	} else if (!session->connection && wait_ms > 0) {
		err_set(&err, session->last_kind, "%s (next attempt in %.1f s)", session->last_text,
			(double)wait_ms / (double)MS_PER_SECOND);
		h2_call_finish_err(call, &err);
	} else if (!session->connection) {
		h2_session_connect(session);
	}
}

static void h2_call_expire(struct h2_call *call)
{
	bool active = call->state == H2_CALL_ACTIVE;
	struct err err;

	if (active)
		h2_connection_reset(call->session->connection, call->stream_id);
	err_set(&err, ERR_TIMEOUT, active ? "no reply within %lld ms" : "no connection within %lld ms",
		(long long)call->timeout_ms);
	h2_call_finish_err(call, &err);
}

static void h2_session_check_calls(struct h2_session *session, int64_t now)
{
	bool silent = false, ping = false;

	for (struct h2_call *call = session->calls; call; call = call->next) {
		if (call->state == H2_CALL_FINISHED)
			continue;
		if (call->deadline_ms <= now) {
			silent |= h2_call_is_silent(call);
			session->timeouts += call->state == H2_CALL_ACTIVE;
			h2_call_expire(call);
		} else if (h2_call_is_silent(call) && h2_call_ping_ms(call) <= now) {
			ping = true;
		}
	}
	if (silent) {
		h2_session_drop(session, "nothing came from the other side");
	} else if (session->timeouts >= H2_TIMEOUTS_MAX) {
		h2_session_drop(session, "the replies come too late");
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
	int64_t now = h2_session_now(session);

	if (session->connect_deadline_ms <= now)
		h2_session_drop(session, "the connection did not come about in time");
	h2_session_check_calls(session, now);
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
	while (session->calls)
		h2_call_free(session->calls);
	loop_timer_free(session->timer);
	h2_tls_release(session->tls);
	memory_free(session->host);
	memory_free(session->authority);
	memory_free(session->last_text);
	memory_free(session);
}

uint64_t h2_session_generation(const struct h2_session *session)
{
	return session->connection ? session->generation : 0;
}

const char *h2_session_state_name(const struct h2_session *session)
{
	return h2_state_name(session->connection ? h2_connection_state(session->connection) :
						   H2_CLOSED);
}

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

struct h2_call *h2_call_start(struct h2_session *session, const struct h2_request *request,
			      h2_done *done, void *context)
{
	struct h2_call *call = memory_alloc(sizeof(*call));
	struct h2_call **link = &session->calls;

	CHECK(request->timeout_ms > 0 && request->timeout_ms <= H2_TIMEOUT_MAX_MS);
	call->session = session;
	call->started_ms = h2_session_now(session);
	call->timeout_ms = request->timeout_ms;
	call->deadline_ms = call->started_ms + request->timeout_ms;
	call->done = done;
	call->context = context;
	call->grpc_status = GRPC_NONE;
	grpc_reader_init(&call->reader, session->reply_ceiling_bytes);
	buf_init(&call->grpc_message, H2_GRPC_MESSAGE_CEILING_BYTES);
	while (*link)
		link = &(*link)->next;
	*link = call;
	if (request->size > H2_REQUEST_CEILING_BYTES) {
		h2_call_finish(call, ERR_LIMIT, "the request is larger than 16 MiB");
	} else {
		h2_call_fill(call, request);
		h2_call_place(call);
	}
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
