/* HTTP/1.1 client on the loop: one libcurl multi handle, many requests at once, connections are
 * reused. TLS 1.2 and newer; no redirects, no cookies, no proxy, no settings from the environment.
 * HTTP/2 is left out on purpose: a peer that hangs would block every watch of a shared connection,
 * and after a stream's timeout the dead connection is still used. After a deadline has passed,
 * connections that idled since before are not used any more: a network that silently dropped one of
 * them has mostly dropped all. The caller owns struct https and frees it last; a request belongs to
 * struct https and is freed when its on_done returns or https_cancel is called. Must not be used
 * for gRPC (net/h2). */
#ifndef NET_HTTPS_H
#define NET_HTTPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct https;
struct https_request;

/* PEM texts with a NUL at the end; copied when a request starts. NULL or "": none. */
struct https_tls {
	const char *ca_pem;          /* none: the CAs of the system */
	const char *certificate_pem; /* with key_pem, or both none */
	const char *key_pem;
	const char *server_name; /* name for SNI and verification; none: the URL's host */
	bool insecure;           /* the server's certificate is not checked */
};

struct https_response {
	int status;       /* 0: no answer received */
	const char *body; /* never NULL, NUL after it; of a stream only when status is not 2xx */
	size_t body_size;
	int64_t retry_after_ms; /* header Retry-After in seconds form; 0 when there is none */
};

/* A piece of the body of a 2xx answer, of any size above 0. 0: continue; 1: no further piece before
 * https_resume, and silence does not count until then; -1: stop, and on_done gets ERR_INPUT. May call
 * https_cancel on its own request. */
typedef int https_chunk(void *context, const char *data, size_t size);
/* The header of a 2xx answer was received (streams only). May call https_cancel. */
typedef void https_open(void *context);
/* The end, called once unless the request was cancelled. err is NULL when the whole answer was
 * received, with any status; else ERR_RETRY (not reachable, reset, TLS; the text says which),
 * ERR_TIMEOUT (the text says which deadline), ERR_LIMIT (body above the ceiling), ERR_FATAL (URL or
 * TLS material cannot be used). Both arguments are valid until it returns. */
typedef void https_done(void *context, const struct https_response *response,
			const struct err *err);

struct https_call {
	const char *method; /* "GET", "PATCH", ... */
	const char *url;    /* https://, or http:// with allow_plain */
	bool allow_plain;
	const char *const *headers; /* "Name: value" */
	size_t header_count;
	const char *bearer_token; /* NULL: none */
	const void *body;         /* copied */
	size_t body_size;
	const struct https_tls *tls; /* NULL: defaults */
	int64_t connect_ms;          /* until TLS is up; above 0 */
	int64_t first_byte_ms;       /* from the start until the answer begins; above 0 */
	int64_t total_ms; /* 0: none (then stall_ms is needed); of a stream without the time held */
	int64_t stall_ms; /* between two pieces of the answer; 0: none */
	size_t ceiling_bytes; /* of the body that is gathered */
	/* Called when the connection is up and the request would be sent, which may be long after
	 * the start, and again before each repetition on another connection. NULL: it may; else why
	 * not: nothing is sent, and on_done gets ERR_RETRY "not sent, <why>". Must not start or
	 * cancel requests. */
	const char *(*may_send)(void *context); /* may be NULL */
	https_open *on_open;                    /* may be NULL */
	https_chunk *on_chunk;                  /* NULL: the body is gathered for on_done */
	https_done *on_done;
	void *context;
};

struct https *https_new(struct loop *loop, const char *user_agent);
/* Cancels all requests without a callback. Not from inside a callback. NULL is fine. */
void https_free(struct https *https);

/* Never fails and never calls back before it returns: errors are passed to on_done. Everything in
 * `call` is copied. */
struct https_request *https_start(struct https *https, const struct https_call *call);
/* After a piece that was answered with 1. Not inside a callback of the request. */
void https_resume(struct https_request *request);
/* No callback of it is called any more; the pointer becomes invalid. Fine at any time, also inside
 * the request's own callbacks. */
void https_cancel(struct https_request *request);

#endif
