/* Unary gRPC calls to one peer: an HTTP/2 session that connects when a call needs it. The caller
 * owns the session; the session owns its calls and its one connection at a time, and reconnects:
 * after a failure it waits (200 ms, doubling to 10 s, with jitter), and calls that start before the
 * wait is over fail with the last reason. A connection that had been good is replaced at once,
 * unless its peer flooded it (ERR_LIMIT): then the wait grows as well. Must not be used for
 * streaming calls, nor from a second thread.
 *
 * A half-open connection is noticed by its calls: a call that reaches its deadline without one byte
 * received since its start ends the connection. Halfway the session sends a PING, whose answer
 * keeps a slow but live peer connected; at most one in H2_PING_INTERVAL_MS, because a gRPC server
 * ends a connection that pings more often (Ray: one per minute). */
#ifndef NET_H2_H
#define NET_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/h2_events.h"

struct h2_call;
struct h2_session;
struct loop;

#define H2_REPLY_CEILING_BYTES ((size_t)64 << 20)
#define H2_REQUEST_CEILING_BYTES ((size_t)16 << 20)
/* Bytes that do not advance any call (h2_connection.h): burst, which covers the data in flight when
 * a call is reset (the window, 1 MiB), and long-term rate. A GCS sends less than 1 kB of them for a
 * call, and 9 bytes for each 16 KiB of a reply. */
#define H2_WASTE_BURST_BYTES (INT64_C(2) << 20)
#define H2_WASTE_BYTES_PER_SECOND (INT64_C(64) << 10)
#define H2_CONNECT_TIMEOUT_MS INT64_C(5000)
#define H2_PING_INTERVAL_MS INT64_C(70000)
#define H2_HEADERS_MAX 4
#define H2_TIMEOUT_MAX_MS INT64_C(3600000)

struct h2_config {
	const char *host;           /* numeric IPv4 or IPv6 address */
	int port;                   /* 1 to 65535 */
	struct h2_tls *tls;         /* NULL: plain text; the session takes its own reference */
	size_t reply_ceiling_bytes; /* of one message; 0: H2_REPLY_CEILING_BYTES */
};

struct h2_session *h2_session_new(struct loop *loop, const struct h2_config *config);
/* Open calls end without a callback; allowed inside one. NULL is fine. */
void h2_session_free(struct h2_session *session);
/* The number of the present connection, unique for each; 0 when there is none. Data that is valid
 * for one connection only (the peer's identity) becomes stale with it. */
uint64_t h2_session_generation(const struct h2_session *session);

struct h2_header {
	const char *name; /* lower case */
	const char *value;
	bool secret; /* never enters the compression table */
};

struct h2_request {
	const char *path;                         /* "/package.Service/Method" */
	struct h2_header headers[H2_HEADERS_MAX]; /* further ones; name NULL ends them */
	const void *message;                      /* copied */
	size_t size;
	int64_t timeout_ms;          /* 1 to H2_TIMEOUT_MAX_MS; also sent as grpc-timeout */
	size_t reply_ceiling_bytes;  /* of this reply; 0: the session's, which holds in any case */
	struct budget *reply_budget; /* charged with its bytes as they come; NULL: none */
	/* Called when there is a connection and the request would be sent, which may be long after
	 * the start. NULL: it may; else why not: nothing is sent, and the call ends with ERR_RETRY
	 * "not sent, <why>". */
	const char *(*may_send)(void *context); /* may be NULL */
	void *may_send_context;
};

/* How a call ended. The pointers are valid until the callback returns. */
struct h2_reply {
	int grpc_status;          /* enum grpc_status; GRPC_NONE when none was received */
	const char *grpc_message; /* decoded; "" */
	const void *message;      /* the whole message when err is NULL */
	size_t size;
	/* Its bytes; a caller that keeps them moves the buffer, with its reference to the
	 * budget. */
	struct buf *body;
};

/* err is NULL only for grpc-status 0 with the whole message; kinds of the others: those of
 * grpc_status_kind, ERR_TIMEOUT (deadline), ERR_LIMIT (message above a ceiling), ERR_DENIED
 * (certificate refused), ERR_RETRY (connection), ERR_INPUT (not gRPC, bad address). */
typedef void h2_done(void *context, const struct h2_reply *reply, const struct err *err);

/* Never fails in the call: every end is one callback on a later turn of the loop, at the latest
 * after the timeout. Never NULL. */
struct h2_call *h2_call_start(struct h2_session *session, const struct h2_request *request,
			      h2_done *done, void *context);
/* Ends a call without its callback. Not after its callback was called. */
void h2_call_cancel(struct h2_call *call);

#endif
