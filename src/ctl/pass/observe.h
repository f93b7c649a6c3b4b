/* Builds one snapshot from API objects and a GCS reply. No other file does this conversion. Copies
 * shallowly: the snapshot is valid as long as its sources and the arena. Runs where the decision
 * runs, because its cost grows with the cluster. No I/O. */
#ifndef CTL_PASS_OBSERVE_H
#define CTL_PASS_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/snapshot.h"

/* Ray's answer to the request to drain a node in this pass. */
struct drain_answer {
	const char *node_id; /* hex */
	bool accepted;
	bool busy; /* Ray accepts it also while work runs */
};

/* A Pod that the API server has listed in this pass. */
struct fresh_pod {
	const char *name;
	const struct pod *pod; /* NULL: the version that the cache had then */
};

/* A snapshot that is not complete. */
struct observation {
	struct snapshot snapshot; /* without cluster; the Pods are not divided yet */
	const struct ray_cluster *cluster;
	const struct ray_constraint *kv_requests; /* of the SDK under autoscaler v1; NULL: none */
	const struct drain_answer *drains;
	size_t drain_count;
	const struct ray_drain *ray_drains; /* Ray's own list */
	size_t ray_drain_count;
	/* The Pods of the cluster are these; those of the cache are used where it has their version, or
	 * has got a newer one since. */
	bool verified;
	const struct fresh_pod *fresh;
	size_t fresh_count;
	size_t bytes; /* of the objects in caches that it points to */
};

/* An accepted drain is shown as Ray will show it in its next reply (DRAINING, nothing in use), so
 * that the patch follows in the same pass; one of a worker in use as DRAINING and in use, which the next
 * reply may correct; a rejected one as busy. */
void observe(const struct observation *observation, struct arena *arena,
	     struct snapshot *ret_snapshot);

#endif
