/* API connection of one command: the user's kubeconfig, a loop, a client, and waiting with
 * deadlines. The caller owns struct session; requests that it starts on the client must end before
 * session_free. For commands that run once; the controller has its own (ctl/controller). */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_client.h"

struct loop;
struct session;

/* How to connect; members NULL: not given. Point into argv. */
struct session_flags {
	const char *kubeconfig, *context, *namespace_;
	const char *controller_namespace, *controller_url;
};

/* The rows of cli/flags for it, without a comma after the last. */
#define SESSION_FLAGS(flags)                                                                       \
	{ "-n", "--namespace", .value = &(flags).namespace_ },                                     \
		{ NULL, "--kubeconfig", .value = &(flags).kubeconfig },                            \
		{ NULL, "--context", .value = &(flags).context },                                  \
		{ NULL, "--controller-namespace", .value = &(flags).controller_namespace },        \
	{                                                                                          \
		NULL, "--controller-url", .value = &(flags).controller_url                         \
	}

/* Their lines in a help text. */
#define SESSION_HELP                                                                               \
	"  -n, --namespace NS            default: the namespace of the context\n"                  \
	"  --kubeconfig FILE             default: $KUBECONFIG, else ~/.kube/config,\n"             \
	"                                else the Pod's ServiceAccount\n"                          \
	"  --context NAME                context of the kubeconfig; default: its own\n"            \
	"  --controller-namespace NS     where rayscaler runs; default rayscaler-system\n"         \
	"  --controller-url URL          ask the controller there, and not by way of the\n"        \
	"                                API server; 127.0.0.1:8080 with port-forward\n"

/* Reads the kubeconfig and opens no connection yet. ERR_FATAL as kube_config_load. */
struct session *session_new(const struct session_flags *flags, struct err *err);
void session_free(struct session *session); /* NULL is fine */

struct loop *session_loop(const struct session *session);
struct kube_client *session_client(const struct session *session);
/* --namespace, else the context's. */
const char *session_namespace(const struct session *session);
const struct session_flags *session_flags(const struct session *session);

/* From now on Ctrl-C and SIGTERM end waiting instead of the program. */
void session_catch_signals(struct session *session);
bool session_interrupted(const struct session *session);

/* Runs the loop until done(context) is true: true; or the deadline passed, or a signal arrived:
 * false. Calls done after each session_wake. */
bool session_wait(struct session *session, bool (*done)(void *context), void *context,
		  int64_t within_ms);
void session_wake(struct session *session); /* from a callback: check again */

/* One request, filled in by the caller; `url` (http or https, without credentials) is requested
 * directly, else `path` from the API server. */
struct fetch {
	const char *path, *url;
	enum kube_verb verb; /* 0: KUBE_GET */
	const char *body;    /* NULL: none */
	/* With path: a good answer comes here in pieces, and `text` is empty; as that of kube_request, with
	 * this context. NULL: it is gathered, up to KUBE_BODY_MAX_BYTES. */
	int (*on_chunk)(void *context, const char *data, size_t size);
	void *chunk_context;
	/* The answer: */
	char *text; /* memory_free (fetch_done); NULL when err is set */
	size_t size;
	int status;     /* HTTP; 0: none */
	struct err err; /* kind ERR_NONE: success */
	/* Inside: */
	struct session *session;
	bool ended;
};

/* Sends all of them, some at the same time, and returns when all have ended; each has a
 * deadline. */
void session_fetch(struct session *session, struct fetch *fetches, size_t count);
void fetch_done(struct fetch *fetch);

#endif
