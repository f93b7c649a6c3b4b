#include "test/support/lease_server.h"

struct lease_server lease_server = { .lock = PTHREAD_MUTEX_INITIALIZER };

void lease_server_set(const char *spec)
{
	char *text = script_text(spec);

	pthread_mutex_lock(&lease_server.lock);
	(void)snprintf(lease_server.spec, sizeof(lease_server.spec), "%s", text);
	lease_server.version++;
	pthread_mutex_unlock(&lease_server.lock);
	memory_free(text);
}

void lease_server_reset(void)
{
	memory_free(lease_server.raw);
	memset(lease_server.spec, 0, sizeof(lease_server.spec));
	memset(lease_server.labels, 0, sizeof(lease_server.labels));
	lease_server.raw = NULL;
	lease_server.version = 100;
	lease_server.accepted = 0;
	lease_server.status = 0;
	lease_server.hold = false;
	lease_server.lose = lease_server.delay = 0;
	lease_server.reads = lease_server.creates = lease_server.updates = 0;
}

const char *lease_server_body(size_t number)
{
	static char copy[4096];

	pthread_mutex_lock(&lease_server.lock);
	CHECK(number < lease_server.accepted);
	memcpy(copy, lease_server.bodies[number % LEASE_BODIES_MAX], sizeof(copy));
	pthread_mutex_unlock(&lease_server.lock);
	return copy;
}

size_t lease_server_accepted(void)
{
	size_t accepted;

	pthread_mutex_lock(&lease_server.lock);
	accepted = lease_server.accepted;
	pthread_mutex_unlock(&lease_server.lock);
	return accepted;
}

static void lease_server_show(char *text, size_t size)
{
	(void)snprintf(text, size,
		       "{\"metadata\": {\"name\": \"rayscaler\", \"namespace\": \"a\", "
		       "\"resourceVersion\": \"%d\"%s}, \"spec\": %s}",
		       lease_server.version, lease_server.labels, lease_server.spec);
}

/* Stores the written object; returns the status of the answer. Under the lock. */
static int lease_server_write(const char *body, bool create)
{
	const char *spec = strstr(body, "\"spec\": ");
	char version[64];

	(void)snprintf(version, sizeof(version), "\"resourceVersion\": \"%d\"",
		       lease_server.version);
	CHECK(spec);
	if (create ? lease_server.spec[0] != '\0' : !strstr(body, version))
		return 409;
	spec += strlen("\"spec\": ");
	(void)snprintf(lease_server.spec, sizeof(lease_server.spec), "%.*s", (int)strlen(spec) - 1,
		       spec);
	(void)snprintf(lease_server.bodies[lease_server.accepted % LEASE_BODIES_MAX],
		       sizeof(lease_server.bodies[0]), "%s", body);
	lease_server.accepted++;
	lease_server.version++;
	return create ? 201 : 200;
}

static int lease_server_do(struct exchange *exchange, char *text, size_t size)
{
	int status = 200;

	if (strcmp(exchange->method, "GET") == 0) {
		lease_server.reads++;
		status = lease_server.spec[0] ? 200 : 404;
	} else if (strcmp(exchange->method, "POST") == 0) {
		lease_server.creates++;
		status = lease_server_write(exchange->body, true);
	} else {
		lease_server.updates++;
		status = lease_server.spec[0] ? lease_server_write(exchange->body, false) : 404;
	}
	if (status >= 300)
		(void)snprintf(text, size, "{\"kind\": \"Status\", \"message\": \"no\"}");
	else
		lease_server_show(text, size);
	return status;
}

void lease_server_answer(struct exchange *exchange, void *context)
{
	bool write = strcmp(exchange->method, "GET") != 0;
	char text[8192];
	int status;

	(void)context;
	if (lease_server.hold) {
		exchange_hold(exchange);
		return;
	}
	if (lease_server.status) {
		exchange_answer(exchange, lease_server.status, "",
				"{\"kind\": \"Status\", \"message\": \"this user cannot do it\"}");
		return;
	}
	if (lease_server.raw && !write) {
		char *raw = script_text(lease_server.raw);

		lease_server.reads++;
		exchange_answer(exchange, 200, "", raw);
		memory_free(raw);
		return;
	}
	pthread_mutex_lock(&lease_server.lock);
	status = lease_server_do(exchange, text, sizeof(text));
	pthread_mutex_unlock(&lease_server.lock);
	if (write && lease_server.lose > 0) {
		lease_server.lose--;
		exchange_reset(exchange);
		return;
	}
	if (write && lease_server.delay > 0) {
		lease_server.delay--;
		exchange_hold(exchange);
		return;
	}
	exchange_answer(exchange, status, "", text);
}
