/* Requests to the Kubernetes API server: one object or one page per call, all asynchronous. The
 * caller owns struct kube_client and frees it after everything that uses it (informers) and before
 * struct https; a call belongs to the client and is freed when its callback returns or it is
 * cancelled. Bodies are JSON text: codec decodes and encodes. Must not be used to send back a
 * foreign object.
 *
 * Every call has a deadline of timeout_ms, which starts when it leaves the queue of the rate
 * limiter; it may wait there for as long again (then ERR_TIMEOUT). At most 64 are in flight at
 * once. Each cluster has its share of the limits (kube/kube_queue.h): one with many calls delays no
 * other. While an exec plugin runs for credentials calls wait, and the deadline starts after that;
 * the plugin has one of its own (kube_config), and a write that waited calls may_write again. A
 * call is sent a second time only when it got 401 and there are other credentials now, and when the
 * idle connection that it was sent on turns out to be closed before any byte of an answer (then the
 * first one may have been carried out: guard patches with `test`). */
#ifndef KUBE_KUBE_CLIENT_H
#define KUBE_KUBE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "kube/kube_config.h"
#include "kube/kube_path.h"
#include "kube/kube_verb.h"
#include "net/backoff.h"
#include "net/https.h"
#include "net/loop.h"

/* Between attempts at one object or list. */
#define KUBE_BACKOFF ((struct backoff){ .first_ms = 500, .last_ms = 15000 })

struct kube_client;
struct kube_call;
struct kube_decoder;

struct kube_client_options {
	int64_t qps;           /* calls per second in the long run; 0: no limit */
	int64_t burst;         /* calls at once; 1 and above */
	int64_t timeout_ms;    /* of one call; above 0 */
	size_t body_max_bytes; /* of an answer that is gathered; 0: KUBE_BODY_MAX_BYTES */
	/* Number of repetitions of a KUBE_GET that is answered with 429, each no earlier than the
	 * server says; for commands, which have no next pass. */
	int busy_tries;
	/* Called when a call other than KUBE_GET would leave the queue, and again when its
	 * connection is up and it would be sent (a process may have been stopped in between): false
	 * refuses it with ERR_RETRY, and nothing is sent. NULL: all may be sent. */
	bool (*may_write)(void *context);
	void *may_write_context;
	/* Called for every answer, for metrics: "get", "create", "patch", "update", "delete" or
	 * "watch", and its HTTP status, 0 without one. May be NULL. */
	void (*answered)(void *context, const char *verb, int status);
	void *answered_context;
	/* The budgets of what its informers keep, by namespace; NULL: no limit. Borrowed. */
	struct budget_children *objects;
};

#define KUBE_BODY_MAX_BYTES (size_t)(64 << 20)
#define KUBE_CLIENT_OPTIONS_INIT                                                                   \
	((struct kube_client_options){ .qps = 100, .burst = 200, .timeout_ms = 10000 })

/* loop, https and config are borrowed and must live longer. */
struct kube_client *kube_client_new(struct loop *loop, struct https *https,
				    struct kube_config *config,
				    const struct kube_client_options *options);
/* Cancels all calls. Not from inside a callback. NULL is fine. */
void kube_client_free(struct kube_client *client);

struct kube_answer {
	int status;       /* HTTP status; 0: none */
	const char *body; /* JSON of a 2xx answer, NUL after it; "" otherwise */
	size_t body_size;
	/* With ERR_RETRY: retry no earlier; 0: not given. Capped at one minute. */
	int64_t retry_after_ms;
};

#define KUBE_RETRY_AFTER_MAX_MS 60000

/* err is NULL when the status was 2xx. Else, with verb, resource, object and fix in the text:
 * ERR_CONFLICT  409; 422 for a JSON Patch (a failed `test`, or a value that the schema refuses: the
 *               text says which);
 * ERR_GONE      410;
 * ERR_NOT_FOUND 404, of an object or of a kind that is not served;
 * ERR_DENIED    401, 403: the text names the missing RBAC rule;
 * ERR_RETRY     408, 429, 5xx, not reachable;
 * ERR_TIMEOUT, ERR_LIMIT (the answer is too large), ERR_FATAL (TLS material cannot be used);
 * ERR_INPUT     any other status.
 * The arguments are valid until it returns. */
typedef void kube_client_done(void *context, const struct kube_answer *answer,
			      const struct err *err);

struct kube_request {
	enum kube_verb verb;
	const char *path; /* from kube_path; may carry a query */
	const void *body; /* NULL: none */
	size_t body_size;
	/* A call that was not sent by then (of loop_boot_ms; 0: no such limit) is refused with
	 * ERR_RETRY instead of being sent later: for decisions on data that ages. */
	int64_t until_ms;
	const char *flow;   /* "namespace/name" of the cluster it is for; NULL: for all of them */
	const char *header; /* "Name: value" beside those of the client, copied; NULL: none */
	/* Receives a 2xx body in pieces, without a size limit; the answer has no body then. Must
	 * not cancel the call. With 1 the next piece waits for kube_client_resume. NULL: the body is
	 * gathered. */
	https_chunk *on_chunk;
};

/* Starts one call; never calls back before it returns. Path, body and flow are copied. Calls of a
 * flow are sent in order, those of several flows in turn (kube/kube_queue.h). */
struct kube_call *kube_client_request(struct kube_client *client,
				      const struct kube_request *request, kube_client_done *done,
				      void *context);
/* The same for a call that is for all clusters: these are sent first. */
struct kube_call *kube_client_send(struct kube_client *client, enum kube_verb verb,
				   const char *path, const void *body, size_t body_size,
				   kube_client_done *done, void *context);
/* As https_resume. */
void kube_client_resume(struct kube_call *call);
/* No callback any more; the pointer becomes invalid. Fine inside its own callback; NULL is fine. A
 * request that was sent may still take effect on the server. */
void kube_client_cancel(struct kube_call *call);

/* Number of calls in flight or waiting for the rate limiter: for metrics and shutdown. */
size_t kube_client_pending(const struct kube_client *client);

struct budget_children *kube_client_objects(const struct kube_client *client);
/* Of all its informers, as they share the time of one thread. */
struct kube_decoder *kube_client_decoder(struct kube_client *client);
struct loop *kube_client_loop(const struct kube_client *client);

/* One watch request: a stream of lines outside the rate limit. Used by kube_watch. */
struct kube_stream {
	https_open *on_open;
	https_chunk *on_chunk;
	kube_client_done *done; /* err NULL: the server ended the stream in good order */
	void *context;
	int64_t stall_ms; /* longest silence once it is open */
};
struct kube_call *kube_client_stream(struct kube_client *client, const char *path,
				     const struct kube_stream *stream);

#endif
