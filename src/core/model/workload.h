/* A workload: work that arrives over time, for the simulator. Made only by codec/objects/workload_item.h;
 * owned by the arena of the reader. Never changed once made. docs/SIMULATE.md describes the files. */
#ifndef CORE_MODEL_WORKLOAD_H
#define CORE_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model/ray_state.h"

enum work_kind {
	WORK_TASK = 0,
	WORK_ACTOR,
	WORK_PLACEMENT_GROUP,
	WORK_REQUEST_RESOURCES, /* takes no resources: asks for room until it ends */
};
#define WORK_KINDS 4
const char *work_kind_name(enum work_kind kind); /* of the files: "task", "placement_group" */

/* `count` tasks, actors, placement groups or requests, submitted at once. */
struct work_item {
	enum work_kind kind;
	int64_t submit_ms; /* since the start of the workload, 0 and above */
	int64_t duration_ms; /* of each one once it runs; of a request since its submission. At least 1 */
	int64_t count;       /* 1 and above */
	/* It saves a checkpoint when a drain with a deadline begins. If it is interrupted it resumes
	 * from there, after checkpoint_ms for the save and the start. Not of a request. */
	bool checkpoints;
	int64_t checkpoint_ms;
	/* One for a task or an actor. Items with equal bundles share them. Amounts are valid: no
	 * request has a problem. */
	const struct ray_request *bundles;
	size_t bundle_count;
	enum placement_strategy strategy; /* of a placement group */
	bool cluster_assumed; /* `cluster` is that of the file: the only one, if there is one */
	const char *job;      /* "": none */
	const char *cluster;  /* name of its RayCluster, or namespace/name; "": the only one */
};

struct workload {
	const struct work_item *items; /* by submit_ms, equal ones in the order of the file */
	size_t count;
	const char *left_out; /* a sentence on rows of the file without a time; NULL: none */
};

#endif
