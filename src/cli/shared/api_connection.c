#include "cli/shared/api_connection.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/list_stream.h"
#include "ctl/report/status.h"
#include "kube/kube_config.h"
#include "kube/kube_file.h"
#include "net/https.h"
#include "net/loop.h"
#include "net/serve.h"

#define USER_AGENT "rayscaler-cli"
#define CONTROLLER_CA_NONE "none"
#define AT_ONCE 32
#define CALL_MS 10000
#define CONNECT_MS 5000
/* Deadline for all requests of one command together; the remaining ones then end with
 * ERR_TIMEOUT. */
#define ALL_MS 60000
/* The API server answers 429 for a moment after a CRD was created or changed. */
#define BUSY_TRIES 4

struct connection {
	struct api_connection_flags flags;
	struct loop *loop;
	struct https *https;
	struct kube_config *config;
	struct kube_client *client;
	struct loop_timer *timer;
	struct loop_signal *terminate, *interrupt;
	bool interrupted;
	char *controller_ca; /* NULL: the system's CAs */
	char *token;         /* of api_connection_keep_token */
	int64_t token_until_ms;
	/* Of api_connection_fetch: */
	struct fetch *fetches;
	size_t fetch_count, next, ended;
};

static void on_timer(void *context)
{
	loop_stop(((struct connection *)context)->loop);
}

static void on_signal(void *context)
{
	struct connection *connection = context;

	connection->interrupted = true;
	loop_stop(connection->loop);
}

/* The user's own file first, also inside a Pod. A list of files is refused by kube_config. */
static const char *kubeconfig_file(const struct api_connection_flags *flags)
{
	const char *from_environment = getenv("KUBECONFIG");

	if (flags->kubeconfig)
		return flags->kubeconfig;
	if (from_environment && !strchr(from_environment, ':'))
		return from_environment;
	return NULL;
}

struct connection *api_connection_new(const struct api_connection_flags *flags, struct err *err)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct kube_config_options where = { .kubeconfig = kubeconfig_file(flags),
					     .context = flags->context };
	struct kube_config *config = kube_config_load(&where, err);
	struct connection *connection;

	if (!config)
		return NULL;
	connection = memory_alloc(sizeof(*connection));
	if (flags->controller_ca && strcmp(flags->controller_ca, CONTROLLER_CA_NONE) != 0 &&
	    kube_file_read_text(flags->controller_ca, &connection->controller_ca, err) < 0) {
		kube_config_free(config);
		memory_free(connection);
		(void)err_prefix(err, "--controller-ca");
		return NULL;
	}
	options.timeout_ms = CALL_MS;
	options.busy_tries = BUSY_TRIES;
	connection->flags = *flags;
	connection->config = config;
	connection->loop = loop_new();
	connection->https = https_new(connection->loop, USER_AGENT);
	connection->client = kube_client_new(connection->loop, connection->https, config, &options);
	connection->timer = loop_timer_new(connection->loop, on_timer, connection);
	return connection;
}

void api_connection_free(struct connection *connection)
{
	if (!connection)
		return;
	kube_client_free(connection->client);
	https_free(connection->https);
	kube_config_free(connection->config);
	loop_timer_free(connection->timer);
	loop_signal_free(connection->terminate);
	loop_signal_free(connection->interrupt);
	loop_free(connection->loop);
	memory_free(connection->controller_ca);
	memory_free(connection->token);
	memory_free(connection);
}

void api_connection_done(struct connection **connection)
{
	api_connection_free(*connection);
}

struct loop *api_connection_loop(const struct connection *connection)
{
	return connection->loop;
}

struct kube_client *api_connection_client(const struct connection *connection)
{
	return connection->client;
}

const char *api_connection_namespace(const struct connection *connection)
{
	return connection->flags.namespace_ ? connection->flags.namespace_ :
					      kube_config_namespace(connection->config);
}

const char *api_connection_source(const struct connection *connection)
{
	return kube_config_source(connection->config);
}

const struct api_connection_flags *api_connection_flags(const struct connection *connection)
{
	return &connection->flags;
}

const char *api_connection_user_token(struct connection *connection)
{
	return kube_config_credentials(connection->config, loop_monotonic_ms(connection->loop))
		->token;
}

void api_connection_keep_token(struct connection *connection, const char *token, int64_t until_ms)
{
	memory_set_string(&connection->token, token);
	connection->token_until_ms = until_ms;
}

const char *api_connection_kept_token(const struct connection *connection)
{
	return loop_monotonic_ms(connection->loop) < connection->token_until_ms ?
		       connection->token :
		       NULL;
}

void api_connection_catch_signals(struct connection *connection)
{
	connection->terminate = loop_signal_new(connection->loop, SIGTERM, on_signal, connection);
	connection->interrupt = loop_signal_new(connection->loop, SIGINT, on_signal, connection);
}

bool api_connection_interrupted(const struct connection *connection)
{
	return connection->interrupted;
}

void api_connection_wake(struct connection *connection)
{
	loop_stop(connection->loop);
}

bool api_connection_wait(struct connection *connection, bool (*done)(void *context), void *context,
			 int64_t within_ms)
{
	int64_t deadline = loop_monotonic_ms(connection->loop) + within_ms, left;

	while (!done || !done(context)) {
		left = deadline - loop_monotonic_ms(connection->loop);
		if (left <= 0 || connection->interrupted)
			return false;
		loop_timer_start(connection->timer, left);
		loop_run(connection->loop);
		loop_timer_stop(connection->timer);
	}
	return true;
}

/* ---- requests ---- */

static void start_one(struct connection *connection, struct fetch *fetch);
static void start_some(struct connection *connection);

static void keep_answer(struct fetch *fetch, int status, const char *body, size_t size,
			const struct err *err)
{
	struct connection *connection = fetch->connection;

	if (status == STATUS_NOT_LEADING && fetch->tries > 0) {
		fetch->tries--;
		start_one(connection, fetch);
		return;
	}
	fetch->status = status;
	if (err) {
		fetch->err = *err;
	} else {
		fetch->text = memory_strndup(body, size);
		fetch->size = size;
	}
	fetch->ended = true;
	connection->ended++;
	start_some(connection);
	api_connection_wake(connection);
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

static void start_straight(struct connection *connection, struct fetch *fetch)
{
	const struct api_connection_flags *flags = &connection->flags;
	const struct https_tls tls = {
		.ca_pem = connection->controller_ca,
		.insecure = flags->controller_ca && !connection->controller_ca,
	};
	bool secure = strncmp(fetch->url, "https://", strlen("https://")) == 0;
	struct https_call call = {
		.method = "GET",
		.url = fetch->url,
		/* Checked by cli/shared/controller_client; no secret is sent then. */
		.allow_plain = !secure,
		.bearer_token = secure ? fetch->token : NULL,
		.tls = &tls,
		.connect_ms = CONNECT_MS,
		.first_byte_ms = CALL_MS,
		.total_ms = CALL_MS,
		.ceiling_bytes = KUBE_BODY_MAX_BYTES,
		.on_done = on_straight,
		.context = fetch,
	};

	https_start(connection->https, &call);
}

static void start_one(struct connection *connection, struct fetch *fetch)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kube_request request = {
		.verb = fetch->verb ? fetch->verb : KUBE_GET,
		.path = fetch->path,
		.body = fetch->body,
		.body_size = fetch->body ? strlen(fetch->body) : 0,
		.on_chunk = fetch->on_chunk ? on_piece : NULL,
	};

	if (fetch->token)
		request.header = arena_printf(&scratch, SERVE_AUTHORIZATION_PROXIED ": Bearer %s",
					      fetch->token);
	fetch->connection = connection;
	if (fetch->url)
		start_straight(connection, fetch);
	else
		kube_client_request(connection->client, &request, on_answer, fetch);
}

static void start_some(struct connection *connection)
{
	while (connection->next < connection->fetch_count &&
	       connection->next - connection->ended < AT_ONCE)
		start_one(connection, &connection->fetches[connection->next++]);
}

static bool all_started_ended(void *context)
{
	const struct connection *connection = context;

	return connection->ended == connection->next;
}

static bool all_ended(void *context)
{
	const struct connection *connection = context;

	return connection->ended == connection->fetch_count;
}

void api_connection_fetch(struct connection *connection, struct fetch *fetches, size_t count)
{
	connection->fetches = fetches;
	connection->fetch_count = count;
	connection->next = connection->ended = 0;
	start_some(connection);
	if (api_connection_wait(connection, all_ended, connection, ALL_MS))
		return;
	/* Starts no new ones; those in flight end by their own deadlines. */
	connection->fetch_count = connection->next;
	while (!connection->interrupted &&
	       !api_connection_wait(connection, all_started_ended, connection, ALL_MS))
		;
	for (size_t i = 0; i < count; i++) {
		if (!fetches[i].ended)
			err_set(&fetches[i].err, ERR_TIMEOUT, "not asked for within %d s",
				ALL_MS / 1000);
	}
}

int api_connection_fetch_one(struct connection *connection, struct fetch *fetch, struct err *err)
{
	api_connection_fetch(connection, fetch, 1);
	if (fetch->err.kind == ERR_NONE)
		return 0;
	*err = fetch->err;
	return -1;
}

void fetch_done(struct fetch *fetch)
{
	memory_free(fetch->text);
	fetch->text = NULL;
}

static int feed(void *context, const char *data, size_t size)
{
	list_stream_feed(context, data, size);
	return 0;
}

int api_connection_list(struct connection *connection, const char *path, size_t item_max_bytes,
			void (*on_item)(void *context, const char *text, size_t size,
					const char *problem),
			void *context, struct arena *arena, struct err *err)
{
	AUTO(list_stream_done) struct list_stream stream;
	AUTO(fetch_done)
	struct fetch fetch = { .path = path, .on_chunk = feed, .chunk_context = &stream };
	struct list_page page;

	list_stream_init(&stream, item_max_bytes, on_item, context);
	return api_connection_fetch_one(connection, &fetch, err) ||
			       list_stream_end(&stream, arena, &page, err) ?
		       -1 :
		       0;
}
