/* HTTP server for read-only data of the program: metrics, status, probes. GET and HEAD only. It
 * answers on the loop, between two turns, so a loop that hangs shows as a probe that fails. Owned
 * by its creator. Must not be used for anything that changes state. It speaks TLS after serve_tls;
 * credentials are the handler's to check (serve_header).
 *
 * A small answer is one text. A body whose size others decide is written on a thread of the pool
 * (serve_answer_page), or in pieces as the client reads it (serve_answer_source).
 *
 * One request of a connection is read and answered, then the connection is closed; a request with
 * ambiguous framing is answered 400.
 *
 * Bounded: the number of connections (near the limit one is closed for a new one: of the client that
 * has most of them, the one with the longest time without a finished exchange, so that clients that
 * never finish cannot lock out others), the time of one exchange, the time without a byte, the bytes
 * of a request, the requests that wait and the bytes of answers that clients have not read yet, both of
 * all and of each owner: the namespace that the answer is about, else the client. The bytes have a budget
 * with fair shares (base/budget.h). */
#ifndef NET_SERVE_H
#define NET_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#define SERVE_UNREAD_MAX_BYTES ((size_t)32 << 20)
#define SERVE_PIECE_BYTES ((size_t)64 << 10)
#define SERVE_REQUEST_MAX_BYTES ((size_t)16384)

#define SERVE_TEXT "text/plain; charset=utf-8"
#define SERVE_JSON "application/json"

#define SERVE_AUTHORIZATION "Authorization"
/* The same where a proxy keeps Authorization for itself, as the API server does. */
#define SERVE_AUTHORIZATION_PROXIED "Rayscaler-Authorization"

struct budget;
struct serve;
struct serve_request;

struct serve_limits {
	unsigned connections;
	unsigned silence_seconds; /* a connection without bytes in either direction is closed */
	int64_t exchange_ms; /* from the connection or the last answer to the end of the next */
	/* Requests to be answered later, of all owners and of each; serve_may_wait. */
	unsigned waiting, waiting_of_owner;
	/* Of all answers that are not read yet; one that would exceed its share is answered 503. The
	 * server holds a reference. NULL: no limit. */
	struct budget *unread;
};

#define SERVE_LIMITS_INIT                                                                          \
	((struct serve_limits){ .connections = 64,                                                 \
				.silence_seconds = 10,                                             \
				.exchange_ms = 30000,                                              \
				.waiting = 48,                                                     \
				.waiting_of_owner = 16 })

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

/* The client's address, as text; valid until the request is answered. */
const char *serve_peer(const struct serve_request *request);

/* The answer counts for this owner, a text for messages ("namespace a"), instead of the client. Called
 * before the request is answered, at most once. */
void serve_charge_to(struct serve_request *request, const char *owner);

/* Called by a handler before it answers later; false: the request has been answered (503) and is
 * invalid, because too many wait. True for one that waits already. */
bool serve_may_wait(struct serve_request *request);

/* A line of text, to which the line end is added. 401 asks for a bearer token, 429 to come again after
 * a second. The request becomes invalid by each answer. */
void serve_answer_text(struct serve_request *request, int status, const char *text);

/* A body that a job writes. */
struct serve_page {
	void (*write)(void *own, struct buf *body); /* on a thread of the pool, on const input */
	void (*free)(void *own); /* on the loop, when write has ended or is not called */
};
/* For a request that waits (serve_may_wait). `content_type` is a constant; `own` belongs to the server
 * from now on. Answers 200, or 503 when there is no memory for the body. */
void serve_answer_page(struct serve_request *request, const char *content_type,
		       const struct serve_page *page, void *own);

/* A body that the loop writes while the client reads it. */
struct serve_source {
	/* Adds the next piece, which ends at SERVE_PIECE_BYTES or soon after; false: it was the last
	 * one. */
	bool (*next)(void *own, struct buf *piece);
	void (*free)(void *own); /* also before the end, when the client has closed */
};
/* The same, without a Content-Length. Not only for a request that waits. */
void serve_answer_source(struct serve_request *request, const char *content_type,
			 const struct serve_source *source, void *own);

/* Closes all connections; requests that wait for their answer are freed without it. Not from inside
 * the handler. NULL is fine. */
void serve_free(struct serve *serve);

#endif
