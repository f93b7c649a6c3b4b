/* Which devices of ResourceSlices are free, and how many more Pods with given claims fit on a Node:
 * by the rules of the scheduler's allocator (k8s.io/dynamic-resource-allocation/structured 0.34.4).
 *
 * Only the newest generation of a pool counts, and only when all its slices are there. Not free are
 * devices of results of ResourceClaims, those with a taint NoSchedule or NoExecute that is not
 * tolerated, those whose counters (KEP-4815) are used by another device of the same chip, and shared
 * devices (KEP-5075) without the requested capacity. A shared device without a requested capacity
 * gives all of it: a driver's requestPolicy is not read. A selector that is not judged counts as
 * matching, so that it never stops a scale-up.
 *
 * Cost: O(n log n) for n devices, counters and results, once; a count reads each device; a fit reads
 * the devices of its Node and those of no single Node. Pure; all memory is in the arena. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

#define DEVICE_FIT_STEPS_MAX 100000 /* devices tried in one search */
#define DEVICE_FIT_DEVICES_MAX 256  /* of one Pod; bounds the recursion */

struct device_free;

/* Points into the objects. */
struct device_free *device_free_make(const struct device_objects *objects, struct arena *arena);

/* Of the devices that match an ask, over all Nodes. total: the sum of the others. */
struct device_count {
	int64_t total, free, claimed, tainted;
	int64_t blocked; /* its counters or its capacity are used by others */
	bool unjudged;   /* a selector or an unknown class counts as matching */
};

void device_free_count(const struct device_free *free, const struct device_ask *ask,
		       struct arena *arena, struct device_count *ret_count);

struct device_fit {
	int64_t pods;  /* that certainly fit by the numbers, at most max_pods */
	bool unknown;  /* the search ended early: more may fit */
	bool unjudged; /* as above: fewer may fit */
};

/* Pods with these claims each, besides what is allocated. Requests are served greedily, by the first
 * devices that fit; the answer is a lower bound where devices of one chip exclude each other.
 * Changes `free` only while it runs. */
void device_free_fit(struct device_free *free, const struct node *node,
		     const struct claim_spec *const *specs, size_t spec_count, int64_t max_pods,
		     struct arena *arena, struct device_fit *ret_fit);

#endif
