/* One list of objects from the API server, page by page. Each page is decoded object by object on a thread of
 * the pool, in the budget of its namespace: a tenant's object never keeps the loop. */
#ifndef KUBE_KUBE_LIST_H
#define KUBE_KUBE_LIST_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct budget;
struct cJSON;
struct kube_client;
struct kube_list;
struct loop;

struct kube_list_options {
	struct kube_client *client;
	struct loop *loop;
	struct budget *budget; /* borrowed for the call; NULL: no limit */
	const char *path;      /* with a query, without `limit` and `continue`; copied */
	const char *flow;      /* as in struct kube_request; copied */
	size_t page_objects, page_max_bytes, pages_max;
	const char *too_many; /* the error of more pages; constant */
	size_t result_size;   /* of what `add` fills; zeroed at first */
	/* On a thread of the pool: adds one object; texts and lists into the arena. 0, or -1. */
	int (*add)(const struct cJSON *object, struct arena *arena, void *result, struct err *err);
	/* Once, on the loop, never before kube_list_start() returns. The result lives until it returns; err is NULL, or
	 * as of kube_client_done. The list is freed then. */
	void (*done)(void *context, const void *result, const struct err *err);
	void *context;
};

struct kube_list *kube_list_start(const struct kube_list_options *options);
/* No callback any more. NULL is fine. */
void kube_list_cancel(struct kube_list *list);

#endif
