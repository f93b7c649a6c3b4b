/* Whether anything uses a RayCluster, by the complete lists of its GCS: actors, placement groups,
 * drivers and submitted jobs. Read only when a plan asks for it (CLUSTER_READ_WORK). Made by
 * ctl/pass/pass.c and codec/objects/snapshot_json; owned by the arena of the pass. */
#ifndef CORE_MODEL_CLUSTER_WORK_H
#define CORE_MODEL_CLUSTER_WORK_H

#include "base/time.h"

struct cluster_work {
	time_ms begun;       /* when the reading began */
	const char *problem; /* "", or why a list is unknown or incomplete */
	const char *in_use;  /* "", or the first user of the cluster: "actor Counter is alive" */
	time_ms ended;       /* when the last of it ended; TIME_NONE: unknown */
};

#endif
