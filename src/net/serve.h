/* HTTP server for read-only data of the program: metrics, status, probes. GET and HEAD only. It
 * answers on the loop, between two turns, so a loop that hangs shows as a probe that fails. Owned
 * by its creator. Must not be used for anything that changes state. It speaks TLS after serve_tls;
 * credentials are the handler's to check (serve_header).
 *
 * One request of a connection is read and answered, then the connection is closed; a request with
 * ambiguous framing is answered 400.
 *
 * Bounded: the number of connections (near the limit, the one with the longest time without a
 * finished exchange is closed for a new one, so that clients that never finish cannot lock out
 * others), the time of one exchange, the bytes of a request and the bytes of all answers that
 * clients have not read yet. */
#ifndef NET_SERVE_H
#define NET_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#define SERVE_BODY_MAX_BYTES ((size_t)256 << 20)
#define SERVE_REQUEST_MAX_BYTES ((size_t)16384)

#define SERVE_TEXT "text/plain; charset=utf-8"
#define SERVE_JSON "application/json"

#define SERVE_AUTHORIZATION "Authorization"
/* The same where a proxy keeps Authorization for itself, as the API server does. */
#define SERVE_AUTHORIZATION_PROXIED "Rayscaler-Authorization"

struct serve;
struct serve_request;

struct serve_limits {
	unsigned connections;
	unsigned silence_seconds; /* a connection without bytes in either direction is closed */
	int64_t exchange_ms; /* from the connection or the last answer to the end of the next */
	unsigned waiting;    /* requests to be answered later; serve_may_wait */
	size_t unread_bytes; /* of all answers; one that would exceed it is answered 503 */
};

#define SERVE_LIMITS_INIT                                                                          \
	((struct serve_limits){ .connections = 64,                                                 \
				.silence_seconds = 20,                                             \
				.exchange_ms = 30000,                                              \
				.waiting = 16,                                                     \
				.unread_bytes = SERVE_BODY_MAX_BYTES })

/* Handles a request for `path`, without the part after "?", valid until it is answered. Calls
 * serve_answer exactly once, before it returns or later; a handler that answers later sets the
 * deadline. */
typedef void serve_handler(void *context, const char *path, struct serve_request *request);

/* Listens on `address`: "host:port", ":port" (every address of the machine, IPv6 and IPv4) or
 * "[address]:port"; the host is an address, not a name, so that no resolver is needed; port 0 selects a
 * free one. NULL: ERR_INPUT for an address of another form, ERR_FATAL when it cannot be bound. */
struct serve *serve_new(struct loop *loop, const char *address, const struct serve_limits *limits,
			serve_handler *handler, void *context, struct err *err);
int serve_port(const struct serve *serve);

/* From now on new connections speak TLS 1.2 or 1.3 with this certificate (PEM: with its chain) and
 * key; open ones end with what they have. Not from inside the handler. -1, and nothing changes:
 * ERR_INPUT for a pair that cannot be used, ERR_RETRY while connections from before the last change
 * are open. */
int serve_tls(struct serve *serve, const char *certificate_pem, const char *key_pem,
	      struct err *err);

/* The value of a header field, NULL without one; valid until the request is answered. Of
 * Authorization and Rayscaler-Authorization a request has at most one each. */
const char *serve_header(const struct serve_request *request, const char *name);

/* Called by a handler before it answers later; false: the request has been answered (503) and is
 * invalid, because too many wait. True for one that waits already. */
bool serve_may_wait(struct serve_request *request);

/* `content_type` is a constant; the bytes of `body` are moved out of it. A body that passed its
 * ceiling is answered 500. 401 asks for a bearer token, 429 to come again after a second. The request
 * becomes invalid. */
void serve_answer(struct serve_request *request, int status, const char *content_type,
		  struct buf *body);
/* A line of text, to which the line end is added. */
void serve_answer_text(struct serve_request *request, int status, const char *text);

/* Closes all connections; requests that wait for their answer are freed without it. Not from inside
 * the handler. NULL is fine. */
void serve_free(struct serve *serve);

#endif
