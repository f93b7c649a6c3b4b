#include "cli/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kube/kube_config.h"
#include "net/https.h"
#include "net/loop.h"

#define USER_AGENT "rayscaler-cli"
#define AT_ONCE 32
#define CALL_MS 10000
#define CONNECT_MS 5000
/* Deadline for all requests of one command together; the remaining ones then end with
 * ERR_TIMEOUT. */
#define ALL_MS 60000
/* The API server answers 429 for a moment after a CRD was created or changed. */
#define BUSY_TRIES 4

struct session {
	struct session_flags flags;
	struct loop *loop;
	struct https *https;
	struct kube_config *config;
	struct kube_client *client;
	struct loop_timer *timer;
	struct loop_signal *terminate, *interrupt;
	bool interrupted;
	/* Of session_fetch: */
	struct fetch *fetches;
	size_t fetch_count, next, ended;
};

static void on_timer(void *context)
{
	loop_stop(((struct session *)context)->loop);
}

static void on_signal(void *context)
{
	struct session *session = context;

	session->interrupted = true;
	loop_stop(session->loop);
}

/* The user's own file first, also inside a Pod. A list of files is refused by kube_config. */
static const char *kubeconfig_file(const struct session_flags *flags)
{
	const char *from_environment = getenv("KUBECONFIG");

	if (flags->kubeconfig)
		return flags->kubeconfig;
	if (from_environment && !strchr(from_environment, ':'))
		return from_environment;
	return NULL;
}

struct session *session_new(const struct session_flags *flags, struct err *err)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct kube_config_options where = { .kubeconfig = kubeconfig_file(flags),
					     .context = flags->context };
	struct kube_config *config = kube_config_load(&where, err);
	struct session *session;

	if (!config)
		return NULL;
	session = memory_alloc(sizeof(*session));
	options.timeout_ms = CALL_MS;
	options.busy_tries = BUSY_TRIES;
	session->flags = *flags;
	session->config = config;
	session->loop = loop_new();
	session->https = https_new(session->loop, USER_AGENT);
	session->client = kube_client_new(session->loop, session->https, config, &options);
	session->timer = loop_timer_new(session->loop, on_timer, session);
	return session;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	kube_client_free(session->client);
	https_free(session->https);
	kube_config_free(session->config);
	loop_timer_free(session->timer);
	loop_signal_free(session->terminate);
	loop_signal_free(session->interrupt);
	loop_free(session->loop);
	memory_free(session);
}

struct loop *session_loop(const struct session *session)
{
	return session->loop;
}

struct kube_client *session_client(const struct session *session)
{
	return session->client;
}

const char *session_namespace(const struct session *session)
{
	return session->flags.namespace_ ? session->flags.namespace_ :
					   kube_config_namespace(session->config);
}

const struct session_flags *session_flags(const struct session *session)
{
	return &session->flags;
}

void session_catch_signals(struct session *session)
{
	session->terminate = loop_signal_new(session->loop, SIGTERM, on_signal, session);
	session->interrupt = loop_signal_new(session->loop, SIGINT, on_signal, session);
}

bool session_interrupted(const struct session *session)
{
	return session->interrupted;
}

void session_wake(struct session *session)
{
	loop_stop(session->loop);
}

bool session_wait(struct session *session, bool (*done)(void *context), void *context,
		  int64_t within_ms)
{
	int64_t deadline = loop_monotonic_ms(session->loop) + within_ms, left;

	while (!done(context)) {
		left = deadline - loop_monotonic_ms(session->loop);
		if (left <= 0 || session->interrupted)
			return false;
		loop_timer_start(session->timer, left);
		loop_run(session->loop);
		loop_timer_stop(session->timer);
	}
	return true;
}

/* ---- requests ---- */

static void start_some(struct session *session);

static void keep_answer(struct fetch *fetch, int status, const char *body, size_t size,
			const struct err *err)
{
	struct session *session = fetch->session;

	fetch->status = status;
	if (err) {
		fetch->err = *err;
	} else {
		fetch->text = memory_strndup(body, size);
		fetch->size = size;
	}
	fetch->ended = true;
	session->ended++;
	start_some(session);
	session_wake(session);
}

static void on_answer(void *context, const struct kube_answer *answer, const struct err *err)
{
	keep_answer(context, answer->status, answer->body, answer->body_size, err);
}

static void on_straight(void *context, const struct https_response *response, const struct err *err)
{
	struct fetch *fetch = context;
	struct err refused;

	if (!err && (response->status < 200 || response->status > 299)) {
		err_set(&refused, response->status == 404 ? ERR_NOT_FOUND : ERR_RETRY,
			"%s: %d: %.300s", fetch->url, response->status, response->body);
		err = &refused;
	}
	keep_answer(fetch, response->status, response->body, response->body_size, err);
}

static int on_piece(void *context, const char *data, size_t size)
{
	const struct fetch *fetch = context;

	return fetch->on_chunk(fetch->chunk_context, data, size);
}

static void start_one(struct session *session, struct fetch *fetch)
{
	struct kube_request request = {
		.verb = fetch->verb ? fetch->verb : KUBE_GET,
		.path = fetch->path,
		.body = fetch->body,
		.body_size = fetch->body ? strlen(fetch->body) : 0,
		.on_chunk = fetch->on_chunk ? on_piece : NULL,
	};
	struct https_call call = {
		.method = "GET",
		.url = fetch->url,
		.allow_plain = true, /* checked by cli/remote; no secret is sent */
		.connect_ms = CONNECT_MS,
		.first_byte_ms = CALL_MS,
		.total_ms = CALL_MS,
		.ceiling_bytes = KUBE_BODY_MAX_BYTES,
		.on_done = on_straight,
		.context = fetch,
	};

	fetch->session = session;
	if (fetch->url)
		https_start(session->https, &call);
	else
		kube_client_request(session->client, &request, on_answer, fetch);
}

static void start_some(struct session *session)
{
	while (session->next < session->fetch_count && session->next - session->ended < AT_ONCE)
		start_one(session, &session->fetches[session->next++]);
}

static bool all_started_ended(void *context)
{
	const struct session *session = context;

	return session->ended == session->next;
}

static bool all_ended(void *context)
{
	const struct session *session = context;

	return session->ended == session->fetch_count;
}

void session_fetch(struct session *session, struct fetch *fetches, size_t count)
{
	session->fetches = fetches;
	session->fetch_count = count;
	session->next = session->ended = 0;
	start_some(session);
	if (session_wait(session, all_ended, session, ALL_MS))
		return;
	/* Starts no new ones; those in flight end by their own deadlines. */
	session->fetch_count = session->next;
	while (!session->interrupted && !session_wait(session, all_started_ended, session, ALL_MS))
		;
	for (size_t i = 0; i < count; i++) {
		if (!fetches[i].ended)
			err_set(&fetches[i].err, ERR_TIMEOUT, "not asked for within %d s",
				ALL_MS / 1000);
	}
}

void fetch_done(struct fetch *fetch)
{
	memory_free(fetch->text);
	fetch->text = NULL;
}
