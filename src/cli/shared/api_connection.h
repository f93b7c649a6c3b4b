/* API connection of one command: the user's kubeconfig, a loop, a client, and waiting with
 * deadlines. The caller owns struct session; requests that it starts on the client must end before
 * api_connection_free. For commands that run once; the controller has its own (ctl/controller). */
#ifndef CLI_SHARED_API_CONNECTION_H
#define CLI_SHARED_API_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_client.h"

struct loop;
struct connection;

/* How to connect; members NULL: not given. Point into argv. */
struct api_connection_flags {
	const char *kubeconfig, *context, *namespace_;
	const char *controller_namespace, *controller_service, *controller_url, *controller_ca;
};

/* The rows of cli/shared/flags for it, without a comma after the last; API_FLAGS: for commands that do not
 * ask the controller. */
#define API_FLAGS(flags)                                                                           \
	{ "-n", "--namespace", .value = &(flags).namespace_ },                                     \
		{ NULL, "--kubeconfig", .value = &(flags).kubeconfig },                            \
	{                                                                                          \
		NULL, "--context", .value = &(flags).context                                       \
	}
#define SESSION_FLAGS(flags)                                                                       \
	API_FLAGS(flags),                                                                          \
		{ NULL, "--controller-namespace", .value = &(flags).controller_namespace },        \
		{ NULL, "--controller-service", .value = &(flags).controller_service },            \
		{ NULL, "--controller-url", .value = &(flags).controller_url },                    \
	{                                                                                          \
		NULL, "--controller-ca", .value = &(flags).controller_ca                           \
	}

/* Their lines in a help text. */
#define API_HELP                                                                                   \
	"  -n, --namespace NS            default: that of the context\n"                           \
	"  --kubeconfig FILE             default: $KUBECONFIG, else ~/.kube/config,\n"             \
	"                                else the Pod's ServiceAccount\n"                          \
	"  --context NAME                default: that of the kubeconfig\n"
#define SESSION_HELP                                                                               \
	API_HELP                                                                                   \
	"  --controller-namespace NS     where rayscaler runs; default rayscaler-system\n"         \
	"  --controller-service NAME     its Service there; default rayscaler\n"                   \
	"  --controller-url URL          where it is; 127.0.0.1:8080 with port-forward\n"          \
	"  --controller-ca FILE          of an https URL; \"none\": it is not verified\n"

/* Reads the kubeconfig and the file of --controller-ca, and opens no connection yet. ERR_FATAL as
 * kube_config_load. */
struct connection *api_connection_new(const struct api_connection_flags *flags, struct err *err);
void api_connection_free(struct connection *connection);  /* NULL is fine */
void api_connection_done(struct connection **connection); /* the same, for AUTO */

struct loop *api_connection_loop(const struct connection *connection);
struct kube_client *api_connection_client(const struct connection *connection);
/* --namespace, else the context's. */
const char *api_connection_namespace(const struct connection *connection);
/* "kubeconfig FILE, context NAME", or "in-cluster". */
const char *api_connection_source(const struct connection *connection);
const struct api_connection_flags *api_connection_flags(const struct connection *connection);
/* The bearer token of the kubeconfig's user; NULL: none. Valid until the loop turns. */
const char *api_connection_user_token(struct connection *connection);
/* A text that lasts as long as the connection, until a time of loop_monotonic_ms: for a token that
 * the caller requested. NULL: none, or its time has passed. */
void api_connection_keep_token(struct connection *connection, const char *token, int64_t until_ms);
const char *api_connection_kept_token(const struct connection *connection);

/* From now on Ctrl-C and SIGTERM end waiting instead of the program. */
void api_connection_catch_signals(struct connection *connection);
bool api_connection_interrupted(const struct connection *connection);

/* Runs the loop until done(context) is true: true; or the deadline passed, or a signal arrived:
 * false. Calls done after each api_connection_wake; NULL: it is never done. */
bool api_connection_wait(struct connection *connection, bool (*done)(void *context), void *context,
			 int64_t within_ms);
void api_connection_wake(struct connection *connection); /* from a callback: check again */

/* One request, filled in by the caller; `url` (http or https, without credentials) is requested
 * directly, else `path` from the API server. */
struct fetch {
	const char *path, *url;
	/* For the controller: in a field of its own with `path`, because the API server keeps
	 * Authorization for itself; in Authorization with an https `url`. NULL: none. */
	const char *token;
	/* Answers of a replica that does not lead (421) after which the request is sent again: behind
	 * a Service another replica may answer. */
	int tries;
	enum kube_verb verb; /* 0: KUBE_GET */
	const char *body;    /* NULL: none */
	/* With path: gets a good answer in pieces, and `text` is empty; as that of kube_request, with
	 * this context. NULL: it is gathered, up to KUBE_BODY_MAX_BYTES. */
	int (*on_chunk)(void *context, const char *data, size_t size);
	void *chunk_context;
	/* The answer: */
	char *text; /* memory_free (fetch_done); NULL when err is set */
	size_t size;
	int status;     /* HTTP; 0: none */
	struct err err; /* kind ERR_NONE: success */
	/* Inside: */
	struct connection *connection;
	bool ended;
};

/* Sends all of them, some at the same time, and returns when all have ended; each has a
 * deadline. */
void api_connection_fetch(struct connection *connection, struct fetch *fetches, size_t count);
/* The same for one request; its error is also in *err. Call fetch_done in any case. */
int api_connection_fetch_one(struct connection *connection, struct fetch *fetch, struct err *err);
void fetch_done(struct fetch *fetch);
/* A list, item by item as list_stream reads it, so that memory is bounded by one of them; the answer
 * is not continued. `arena`: for its metadata, which are dropped. */
int api_connection_list(struct connection *connection, const char *path, size_t item_max_bytes,
			void (*on_item)(void *context, const char *text, size_t size,
					const char *problem),
			void *context, struct arena *arena, struct err *err);

#endif
