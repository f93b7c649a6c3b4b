/* An API server that has the RayClusters "a/demo" and "b/demo", and at most one RayClusterAutoscaler,
 * "a/demo" (those of namespace b are only counted):
 * discovery, list, watch, create, merge patch of its status. For ctl_autoscaler_objects_test. The
 * members of `store` are shared between the server's threads and the test, under its lock. */
#ifndef TEST_SUPPORT_AUTOSCALER_SERVER_H
#define TEST_SUPPORT_AUTOSCALER_SERVER_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "test/support/kube_script.h"

extern struct autoscaler_store {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	bool exists;
	int version, generation;
	char spec[512], status[16384]; /* JSON */
	/* Deviations from a real server. */
	bool undefined;              /* 404 for the whole resource */
	bool orphan;                 /* the RayClusters are named demos */
	bool prunes;                 /* keeps nothing of a status */
	bool drops_time;             /* keeps no lastDecisionTime */
	int create_code, patch_code; /* an error, for every one of them; 0: none */
	int conflicts;               /* as many patches get 409 */
	int retry_after_s;           /* with 429 */
	/* Received requests. */
	int creates, patches, others; /* others: creates in namespace b */
	char created[2048], patched[16384], paths[2048];
} store;

#define STORE(statement)                                                                           \
	do {                                                                                       \
		pthread_mutex_lock(&store.lock);                                                   \
		statement;                                                                         \
		pthread_cond_broadcast(&store.changed);                                            \
		pthread_mutex_unlock(&store.lock);                                                 \
	} while (0)

void store_reset(void);

#define STORE_CLUSTER(namespace_, name_)                                                           \
	"{\"metadata\": {\"namespace\": \"" namespace_ "\", \"name\": \"" name_                    \
	"\", \"uid\": \"u-1\","                                                                    \
	" \"resourceVersion\": \"1\", \"generation\": 1}, \"spec\": {\"headGroupSpec\": {}}}"

void store_request(struct exchange *exchange, void *context);

#endif
