#include "net/h2.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/h2_call.h"
#include "net/h2_connection.h"
#include "net/h2_tls.h"
#include "net/loop.h"

/* Jitter: the heads of a fleet are not reconnected at the same time. */
#define H2_BACKOFF ((struct backoff){ .first_ms = 200, .last_ms = 10000 })
/* Missed deadlines in a row on one connection, although bytes arrive, that end it. */
#define H2_TIMEOUTS_MAX 3

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
	int64_t now = h2_session_now(session), next = INT64_MAX;

	LIST_EACH(const struct h2_call, call, &session->calls, item) {
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
	memory_free(session->last_text);
	session->last_text = memory_strdup(err->text);
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
			h2_call_submit(call, h2_session_now(session));
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
	session->connect_deadline_ms = now + H2_CONNECT_TIMEOUT_MS;
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
		h2_call_submit(call, h2_session_now(session));
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

static void h2_session_check_calls(struct h2_session *session, int64_t now)
{
	bool silent = false, late = false, ping = false;

	LIST_EACH(struct h2_call, call, &session->calls, item) {
		if (call->state == H2_CALL_FINISHED)
			continue;
		if (call->deadline_ms <= now) {
			silent |= h2_call_is_silent(call);
			late |= call->state == H2_CALL_ACTIVE;
			h2_call_expire(call);
			memory_free(session->late_text);
			session->late_text = memory_strdup(call->err_text);
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
	int64_t now = h2_session_now(session);

	if (session->connect_deadline_ms <= now)
		h2_session_drop(session);
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
