/* The Workloads of a RayCluster from the lists of the API server, and their form in a snapshot. */
#ifndef FEATURE_QUEUE_CODEC_KUEUE_JSON_H
#define FEATURE_QUEUE_CODEC_KUEUE_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "codec/schema/field.h"
#include "feature/queue/model/queue.h"

struct cJSON;

extern const struct field kueue_workload_fields[]; /* of struct kueue_workload */

/* Rows of the tables of a snapshot and of a struct autoscaler_object. */
#define QUEUE_SNAPSHOT_ROWS(T)                                                                     \
	FIELD_POINTER(T, kueue, kueue_workload_fields, "kueue", .strict = "a Workload",            \
		      .initial = &kueue_workload_none)
#define QUEUE_SPEC_ROWS(T)                                                                         \
	FIELD_BOOLEAN(T, lower_while_suspended, "lowerWhileSuspended",                             \
		      .has = FIELD_HAS(T, has_lower_while_suspended),                              \
		      .description = "True: while Kueue has suspended the RayCluster, replicas "   \
				     "become minReplicas.")

extern const struct kueue_workload kueue_workload_none;

/* One Workload that has not finished. */
struct kueue_slice {
	const char *name;
	time_ms created;
	int64_t generation;
	const struct kueue_pod_set *pod_sets;
	size_t pod_set_count;
	bool ended, has_quota;
	struct condition refusal; /* QuotaReserved as it is now, if it is False */
};

struct kueue_slices {
	VEC(struct kueue_slice) list;
};

/* Adds one of kueue.x-k8s.io/v1beta2, unless it has ended; copies into the arena. */
int kueue_slices_add(const struct cJSON *workload, struct arena *arena, struct kueue_slices *slices,
		     struct err *err);
/* The one that waits, of those of a RayCluster: Kueue keeps at most one that is admitted, and
 * one that is to replace it. */
void kueue_workload_make(const struct kueue_slices *slices, struct arena *arena,
			 struct kueue_workload *ret_workload);

#endif
