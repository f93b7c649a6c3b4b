/* The devices of ResourceSlices: which of them count, which match a request, which are free, and how
 * many more Pods with given claims fit on a Node, by the rules of the scheduler's allocator
 * (k8s.io/dynamic-resource-allocation/structured 0.34.4).
 *
 * Only the newest generation of a pool counts, and only when all its slices are there. Not free are
 * devices of results of ResourceClaims, those with a taint NoSchedule or NoExecute that is not
 * tolerated, those whose counters (KEP-4815) are used by another device of the same chip, and shared
 * devices (KEP-5075) without the requested capacity. A shared device without a requested capacity
 * gives all of it: a driver's requestPolicy is not read. A selector that is not judged counts as
 * matching, so that it never stops a scale-up.
 *
 * Cost: O(n log n) for n devices, counters and results, once; a count reads each device; a fit reads,
 * for each Node, its devices and those of no single Node. Pure; all memory is in the arena. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_FREE_H

#include "base/arena.h"
#include "feature/device_claims/core/cel.h"
#include "feature/device_claims/core/device_object.h"

#define DEVICE_FIT_STEPS_MAX 100000 /* devices read and tried in one search */
#define DEVICE_STEPS_MAX 300000     /* of all searches in one copy: those of a decision */
#define DEVICE_FIT_DEVICES_MAX 256  /* of one Pod; bounds the recursion */

struct device_counter_use;

/* A device that counts. */
struct free_device {
	const struct resource_slice *slice;
	const struct device *device;
	const char *node; /* "": of no single Node */
	bool claimed;     /* all of it */
	/* Internal. */
	size_t pool;
	const struct device_counter_use *uses;
	size_t use_count;
	int64_t *left; /* of each capacity, for a device that claims share; else NULL */
};

struct device_free {
	const struct device_objects *objects;
	struct free_device *devices; /* by driver, pool and name */
	size_t device_count;
	struct free_device **by_node; /* by the name of the Node; "" for those of no single Node */
	size_t steps_left;            /* for searches */
	/* Internal. */
	struct device_counter *counters; /* by pool, set and name */
	size_t counter_count;
};

/* Points into the objects. */
struct device_free *device_free_make(const struct device_objects *objects, struct arena *arena);
/* One whose devices can be taken while others read the first. */
struct device_free *device_free_copy(const struct device_free *free, struct arena *arena);
/* NULL: none. */
const struct free_device *device_free_find(const struct device_free *free, const char *driver,
					   const char *pool, const char *name);
/* Those of the Node alone; "": of no single Node. */
struct free_device *const *device_free_of_node(const struct device_free *free, const char *node,
					       size_t *ret_count);
/* The text of the driver's own attribute ("type"); "": none. */
const char *device_free_attribute(const struct free_device *one, const char *name);

/* An ask with its compiled selectors. */
struct device_selection {
	bool no_class; /* nothing matches */
	bool unjudged;
	VEC(const struct cel *) selectors;
};

void device_free_select(const struct device_free *free, const struct device_ask *ask,
			struct arena *arena, struct device_selection *ret_selection);
/* Whether class and selectors match; UNKNOWN: a selector or an unknown class is not judged. */
enum cel_verdict device_free_matches(const struct device_selection *selection,
				     const struct free_device *one);

/* Of the devices that match an ask, over all Nodes. total: the sum of the others. */
struct device_count {
	int64_t total, free, claimed, tainted;
	int64_t blocked; /* its counters or its capacity are used by others */
	bool unjudged;   /* a selector or an unknown class counts as matching */
};

void device_free_count(const struct device_free *free, const struct device_ask *ask,
		       struct arena *arena, struct device_count *ret_count);

/* Pods with these claims each, besides what is allocated. */
struct device_pods {
	const struct claim_spec *const *specs;
	size_t spec_count;
	const struct pod_spec *spec; /* selects Nodes; NULL: any */
	const struct node *nodes;    /* any other Node counts as matching */
	size_t node_count;
	int64_t most;
	bool keep; /* their devices stay taken */
};

struct device_fit {
	int64_t pods;  /* that certainly fit by the numbers, at most `most` */
	bool unknown;  /* the search ended early: more may fit */
	bool unjudged; /* as above: fewer may fit */
};

/* On all Nodes. Requests are served greedily, by the first devices that fit; the answer is a lower
 * bound where devices of one chip exclude each other. Without `keep`, `free` changes only while it
 * runs. */
void device_free_fit(struct device_free *free, const struct device_pods *pods, struct arena *arena,
		     struct device_fit *ret_fit);

#endif
