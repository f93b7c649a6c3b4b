/* One Lease as an API server keeps it, for kube_script: GET, POST and PUT with resourceVersion, and
 * faults on demand. Its thread and the test share it under the lock. Header only. */
#ifndef TEST_SUPPORT_LEASE_SERVER_H
#define TEST_SUPPORT_LEASE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "test/support/kube_script.h"

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/a/leases"
#define LEASE_BODIES_MAX 64

static struct lease_server {
	pthread_mutex_t lock; /* of the following */
	char spec[4096];      /* "": there is no Lease */
	char labels[512];     /* members of metadata, "" or ", 'labels': ..." with " for ' */
	char *raw;            /* answers every GET instead; ' means " */
	int version;
	char bodies[LEASE_BODIES_MAX][4096]; /* of POST and PUT that were accepted */
	size_t accepted;
	_Atomic int status; /* of every answer, when it is not 0 */
	_Atomic bool hold;  /* no answer at all */
	_Atomic int lose;   /* so many writes are carried out, and their answer is lost */
	_Atomic int delay;  /* so many writes are carried out, and their answer is lost */
	_Atomic int reads, creates, updates;
} lease_server = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Another client writes the record; ' means ". */
static inline void lease_server_set(const char *spec)
{
	char *text = script_text(spec);

	pthread_mutex_lock(&lease_server.lock);
	(void)snprintf(lease_server.spec, sizeof(lease_server.spec), "%s", text);
	lease_server.version++;
	pthread_mutex_unlock(&lease_server.lock);
	memory_free(text);
}

static inline void lease_server_reset(void)
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

/* A copy of the text of the write number `number` that was accepted, in a static buffer. */
static inline const char *lease_server_body(size_t number)
{
	static char copy[4096];

	pthread_mutex_lock(&lease_server.lock);
	CHECK(number < lease_server.accepted);
	memcpy(copy, lease_server.bodies[number % LEASE_BODIES_MAX], sizeof(copy));
	pthread_mutex_unlock(&lease_server.lock);
	return copy;
}

static inline size_t lease_server_accepted(void)
{
	size_t accepted;

	pthread_mutex_lock(&lease_server.lock);
	accepted = lease_server.accepted;
	pthread_mutex_unlock(&lease_server.lock);
	return accepted;
}

static inline void lease_server_show(char *text, size_t size)
{
	(void)snprintf(text, size,
		       "{\"metadata\": {\"name\": \"rayscaler\", \"namespace\": \"a\", "
		       "\"resourceVersion\": \"%d\"%s}, \"spec\": %s}",
		       lease_server.version, lease_server.labels, lease_server.spec);
}

/* Stores the written object; returns the status of the answer. Under the lock. */
static inline int lease_server_write(const char *body, bool create)
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

static inline int lease_server_do(struct exchange *exchange, char *text, size_t size)
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

static inline void lease_server_answer(struct exchange *exchange, void *context)
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
				"{\"kind\": \"Status\", \"message\": \"no\"}");
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

#endif
