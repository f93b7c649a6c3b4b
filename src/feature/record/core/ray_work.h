/* The work of a RayCluster with its times, as the lists of its GCS have it: for a recording
 * (feature/record/core/recorded_work). Made by feature/record/gcs/gcs_work and feature/record/objects/ray_work_json; owned by the
 * arena of the reader. Strings are never NULL and come from tenants. No decision depends on it. */
#ifndef FEATURE_RECORD_CORE_RAY_WORK_H
#define FEATURE_RECORD_CORE_RAY_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/time.h"
#include "core/model/field.h"
#include "core/model/ray_list.h"
#include "core/model/resources.h"
#include "core/model/workload.h"

/* One bundle of a placement group, or all of a task or an actor. */
struct work_bundle {
	struct resources resources; /* amounts above 0 */
	struct labels selector;     /* as Ray writes it: "in(spot, reserved)" */
};
extern const struct field work_bundle_fields[];
/* Appends a text that only equal bundles have: each name has its size before it. */
void work_bundle_add_key(const struct work_bundle *bundle, struct buf *key);
/* Whether work in a file may need a resource of this name: not empty, at most 253 bytes, without
 * control characters, and neither "gpu" nor "cpu". */
bool ray_work_resource_is_usable(const char *name);

struct ray_work_row {
	enum work_kind kind; /* TASK, ACTOR or PLACEMENT_GROUP */
	const char *id;      /* lower-case hex; of a task with its attempt, "ab01.1" */
	const char *job;     /* id of its job; "" unknown */
	const char *group;   /* id of the placement group that it runs in; "": none */
	const char *node;    /* id of Ray's node that a task or an actor began on; "": unknown */
	/* Ready to be placed, running, ended; TIME_NONE: not yet, or unknown. */
	time_ms submitted, started, ended;
	bool over; /* it has ended, at an unknown time if `ended` is TIME_NONE */
	enum placement_strategy strategy; /* of a placement group */
	/* None: the row has only times, as the creation of an actor, or the work needs nothing. */
	const struct work_bundle *bundles;
	size_t bundle_count;
};

struct ray_work_job {
	const char *id;
	const char *name; /* of a submitted Ray job; "": none */
	time_ms ended;    /* TIME_NONE: not yet */
};

/* A Pod that became ready, which may be deleted. */
struct ray_work_start {
	const char *uid, *group;
	time_ms ready;
	int64_t ms; /* from its creation until then */
};

/* One list, or all of them together. */
struct ray_work {
	const struct ray_work_row *rows;
	size_t row_count;
	const struct ray_work_job *jobs;
	size_t job_count;
	int64_t missing; /* rows that the GCS has and did not send, or that cannot be read */
	int64_t dropped; /* tasks that the GCS forgot */
};

/* How complete one list is. */
struct ray_work_source {
	enum ray_list list;
	const char *problem; /* "", or why the list is unknown */
	int64_t missing, dropped;
};

/* All lists: the answer of /work. */
struct ray_work_page {
	time_ms at;
	const char *problem; /* "", or why Ray was not asked */
	const struct ray_work_source *sources;
	size_t source_count;
	const struct ray_work_row *rows;
	size_t row_count;
	const struct ray_work_job *jobs;
	size_t job_count;
	const struct ray_work_start *starts; /* that the controller has seen, in no order */
	size_t start_count;
	int64_t unusable; /* rows that were read and cannot be in a workload */
};

#endif
