/* How many Pods free devices are enough for, by counting: on each Node the free devices that match
 * each request, over how many a Pod needs. The count never forbids what could fit. Requests are
 * counted alone (those for the same devices together), also where the same device matches several; constraints
 * between devices are not read, and what is not judged counts as matching. Whether the Pods are
 * scheduled is the scheduler's answer.
 *
 * Example: a claim for 2 devices of class gpu and 1 of class nic. A Node with 5 free GPUs and 3 free
 * network cards is enough for min(5 / 2, 3 / 1) = 2 Pods.
 *
 * Cost: each device of the Nodes once for each request. Pure; all memory is in the arena. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_COUNT_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_COUNT_H

#include "core/nodes/device_stock.h"
#include "feature/device_claims/core/device_judge.h"

/* An alternative of a request. */
struct device_want {
	const struct device_ask *ask;
	const struct device_matches *matches; /* NULL: any device may match */
	size_t request; /* alternatives of one request, which are adjacent, have the same */
	int64_t count;  /* of devices; 0: it counts nothing */
};

/* Of a claim, or of all claims of a Pod. */
struct device_wants {
	VEC(struct device_want) at;
	size_t request_count;
};

#define DEVICE_WANTS_MAX ((size_t)512)

/* Adds the requests of a claim; above DEVICE_WANTS_MAX none of them, so that it limits nothing. */
void device_wants_add(struct device_wants *wants, const struct device_wants *claim,
		      struct arena *arena);

/* Where Pods are counted. */
struct device_place {
	const struct device_free *free;
	const struct pod_spec *spec; /* selects Nodes */
	const struct node *nodes;    /* any other Node counts as matching */
	size_t node_count;
};

/* At most `most`. */
int64_t device_count_pods(const struct device_place *place, const struct device_wants *wants,
			  int64_t most, struct arena *arena);

/* Those that match, as far as the ask may have them; NULL: all. */
void device_count_all(const struct device_free *free, const struct device_ask *ask,
		      const struct device_matches *matches, struct device_count *ret_count);
/* Adds one device. */
void device_count_add(struct device_count *count, const struct device_ask *ask,
		      const struct free_device *one);

#endif
