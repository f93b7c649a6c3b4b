/* One Lease as an API server keeps it, for kube_script: GET, POST and PUT with resourceVersion, and
 * faults on demand. Its thread and the test share it under the lock. */
#ifndef TEST_SUPPORT_LEASE_SERVER_H
#define TEST_SUPPORT_LEASE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "test/support/kube_script.h"

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/a/leases"
#define LEASE_BODIES_MAX 64

extern struct lease_server {
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
} lease_server;

/* Another client writes the record; ' means ". */
void lease_server_set(const char *spec);

void lease_server_reset(void);

/* A copy of the text of the write number `number` that was accepted, in a static buffer. */
const char *lease_server_body(size_t number);

size_t lease_server_accepted(void);

void lease_server_answer(struct exchange *exchange, void *context);

#endif
