/* One unary call of an HTTP/2 session: its request, the pieces of its reply, its end. Used by
 * net/h2 alone, which owns the calls and gives them connections; users include h2.h. Must not
 * reconnect or wait: deadlines are the session's. */
#ifndef NET_H2_CALL_H
#define NET_H2_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/token_bucket.h"
#include "net/backoff.h"
#include "net/grpc.h"
#include "net/h2.h"

struct h2_connection;
struct loop_timer;

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
	int64_t started_ms, deadline_ms, timeout_ms;
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
	int64_t connect_deadline_ms;
	int64_t ping_ms;        /* when the last PING was sent on this connection */
	bool good;              /* this connection has delivered a reply */
	unsigned timeouts;      /* in a row, on this connection */
	struct backoff backoff; /* failures: connections in a row without a reply */
	int64_t next_connect_ms;
	enum err_kind last_kind; /* why the last connection ended */
	char *last_text;
	char *late_text;   /* of the last call of this connection that was late; NULL: none */
	struct list calls; /* oldest first */
	bool *freed;       /* set when the session is freed while its callbacks run */
};

/* Fills the call from the request; the session puts it into its list. */
struct h2_call *h2_call_new(struct h2_session *session, const struct h2_request *request,
			    int64_t now_ms, h2_done *done, void *context);
/* Unlinks it from the session's list and frees it. */
void h2_call_free(struct h2_call *call);
/* Makes its callback due with this error (kind ERR_NONE: success). Only the first call counts. */
void h2_call_finish(struct h2_call *call, const struct err *err);
/* Opens its stream; a call without a stream is finished. */
void h2_call_submit(struct h2_call *call, int64_t now_ms);
/* Its deadline has passed. */
void h2_call_expire(struct h2_call *call);
/* A call in flight without one byte received since its start. */
bool h2_call_is_silent(const struct h2_call *call);
/* Frees the finished call and calls its callback, which may free the session. */
void h2_call_deliver(struct h2_call *call);

/* Pieces of the reply of a call, whose stream it is. data: -1 when this piece finishes the call. */
void h2_call_header(void *stream, const char *name, size_t name_size, const char *value,
		    size_t value_size);
int h2_call_data(void *stream, const void *data, size_t size);
/* The stream ended in order: 0, or -1 with the error. */
int h2_call_conclude(const struct h2_call *call, struct err *err);

#endif
