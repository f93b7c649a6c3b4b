/* Settings that several steps of a decision read, with the value that counts for its cluster. An object of the
 * cluster that overrides one is asked here, and in no reader: `make lint-banned` refuses the members elsewhere. */
#ifndef CORE_MODEL_IN_FORCE_H
#define CORE_MODEL_IN_FORCE_H

#include "core/model/snapshot.h"

/* Bounds of launches. */
struct in_force_launch {
	int64_t start_ms;      /* until the raylet has registered */
	int64_t node_ms;       /* of an unschedulable Pod */
	int64_t hold_ms;       /* of a part of a gang, for the rest; 0: no limit */
	int64_t most_starting; /* workers; 0: no limit */
};

/* Of the flags, the RayClusterAutoscaler, and its group of this name (NULL: of the cluster), the last one counts.
 * O(groups of the RayClusterAutoscaler). */
struct in_force_launch in_force_launch(const struct snapshot *snapshot, const char *group);
int64_t in_force_raylet_gone_ms(const struct snapshot *snapshot);
int64_t in_force_unregistered_ms(const struct snapshot *snapshot);
/* The back-off behind one of `last` seconds: twice as long, up to the longest; 0: the first one. */
int64_t in_force_backoff_seconds(const struct snapshot *snapshot, int64_t last);
int64_t in_force_backoff_max_seconds(const struct snapshot *snapshot);
/* --enforce-max=now: workers above maxReplicas are terminated while their work runs. */
bool in_force_stops_busy(const struct snapshot *snapshot);

#endif
