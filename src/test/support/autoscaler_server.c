#include "test/support/autoscaler_server.h"

struct autoscaler_store store = { .lock = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER };

void store_reset(void)
{
	STORE({
		store.stop = store.exists = store.undefined = store.orphan = store.prunes =
			store.drops_time = false;
		store.version = 10;
		store.generation = 1;
		store.create_code = store.patch_code = store.conflicts = 0;
		store.creates = store.patches = store.others = 0;
		store.retry_after_s = 7;
		(void)snprintf(store.spec, sizeof(store.spec), "{}");
		(void)snprintf(store.status, sizeof(store.status), "{}");
		store.created[0] = store.patched[0] = store.paths[0] = '\0';
	});
}

/* With the lock held. */
static char *store_object(void)
{
	char *text = memory_alloc(sizeof(store.status) + 2048);

	(void)snprintf(text, sizeof(store.status) + 2048,
		       "{\"apiVersion\": \"rayscaler.dev/v1alpha1\", \"kind\": "
		       "\"RayClusterAutoscaler\", \"metadata\": {\"namespace\": \"a\", \"name\": "
		       "\"demo\", \"resourceVersion\": \"%d\", \"generation\": %d}, \"spec\": %s, "
		       "\"status\": %s}",
		       store.version, store.generation, store.spec, store.status);
	return text;
}

static void store_answer(struct exchange *exchange, int code)
{
	char *text = code < 300 ? store_object() :
				  memory_strdup("{\"kind\": \"Status\", \"message\": \"no\"}");

	char header[64] = "";

	if (code == 429)
		(void)snprintf(header, sizeof(header), "Retry-After: %d\r\n", store.retry_after_s);
	pthread_mutex_unlock(&store.lock);
	exchange_answer(exchange, code, header, text);
	memory_free(text);
}

/* "status": {...}} of the body of a patch. */
static void store_patch(struct exchange *exchange)
{
	const char *status = strstr(exchange->body, "\"status\": ");
	int code = store.patch_code;

	store.patches++;
	(void)snprintf(store.patched, sizeof(store.patched), "%s", exchange->body);
	if (code == 0 && store.conflicts > 0) {
		store.conflicts--;
		code = 409;
	}
	if (code == 0 && status) {
		if (!store.prunes)
			(void)snprintf(store.status, sizeof(store.status), "%.*s",
				       (int)strlen(status + 10) - 1, status + 10);
		if (store.drops_time)
			memcpy(strstr(store.status, "lastDecisionTime"), "x", 1);
		store.version++;
		pthread_cond_broadcast(&store.changed);
	}
	store_answer(exchange, code ? code : 200);
}

static void store_create(struct exchange *exchange)
{
	store.creates++;
	(void)snprintf(store.created, sizeof(store.created), "%s", exchange->body);
	if (store.create_code) {
		store_answer(exchange, store.create_code);
		return;
	}
	store.exists = true;
	store.version++;
	pthread_cond_broadcast(&store.changed);
	store_answer(exchange, 201);
}

static void store_list(struct exchange *exchange)
{
	char *object = store_object();
	char *text = memory_alloc(strlen(object) + 256);

	(void)snprintf(text, strlen(object) + 256,
		       "{\"metadata\": {\"resourceVersion\": \"%d\"}, \"items\": [%s]}",
		       store.version, store.exists ? object : "");
	pthread_mutex_unlock(&store.lock);
	exchange_answer(exchange, 200, "", text);
	memory_free(text);
	memory_free(object);
}

/* Each version after the one that is asked for, until the test is over. */
static void store_watch(struct exchange *exchange)
{
	const char *from = strstr(exchange->path, "resourceVersion=");
	int sent = from ? (int)strtol(from + 16, NULL, 10) : 0;

	exchange_open_stream(exchange);
	while (!store.stop && !exchange->closed) {
		if (store.version > sent && store.exists) {
			char *object = store_object();
			char *line = memory_alloc(strlen(object) + 64);

			sent = store.version;
			(void)snprintf(line, strlen(object) + 64,
				       "{\"type\": \"MODIFIED\", \"object\": %s}\n", object);
			exchange_chunk(exchange, line, strlen(line));
			memory_free(line);
			memory_free(object);
		}
		(void)pthread_cond_wait(&store.changed, &store.lock);
	}
	pthread_mutex_unlock(&store.lock);
	exchange->closed = true;
}

#define CLUSTERS(name)                                                                             \
	"{\"metadata\": {\"resourceVersion\": \"1\"}, \"items\": [" STORE_CLUSTER(                 \
		"a", name) ", " STORE_CLUSTER("b", name) "]}"

void store_request(struct exchange *exchange, void *context)
{
	const char *path = exchange->path;

	(void)context;
	pthread_mutex_lock(&store.lock);
	if (strcmp(exchange->method, "GET") != 0) {
		size_t size = strlen(store.paths);

		(void)snprintf(store.paths + size, sizeof(store.paths) - size, "%s %s;",
			       exchange->method, path);
	}
	if (strstr(path, "/ray.io/")) {
		bool orphan = store.orphan;

		pthread_mutex_unlock(&store.lock);
		if (strstr(path, "watch="))
			exchange_hold(exchange);
		else
			exchange_answer(exchange, 200, "",
					strstr(path, "rayclusters") ?
						orphan ? CLUSTERS("demos") : CLUSTERS("demo") :
						"{\"resources\": [{\"name\": \"rayclusters\"}]}");
	} else if (store.undefined) {
		store_answer(exchange, 404);
	} else if (strcmp(exchange->method, "PATCH") == 0) {
		store_patch(exchange);
	} else if (strstr(path, "/namespaces/b/")) {
		store.others++;
		store_answer(exchange, 201);
	} else if (strcmp(exchange->method, "POST") == 0) {
		store_create(exchange);
	} else if (strstr(path, "watch=")) {
		store_watch(exchange);
	} else if (strstr(path, "rayclusterautoscalers")) {
		store_list(exchange);
	} else {
		pthread_mutex_unlock(&store.lock);
		exchange_answer(exchange, 200, "",
				"{\"resources\": [{\"name\": \"rayclusterautoscalers\"}]}");
	}
}
