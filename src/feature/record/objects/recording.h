/* The file of `rayscaler record`: YAML documents RayCluster, RayClusterAutoscaler (where there is
 * one), PodStarts and Workload, for `rayscaler simulate`. Nothing in it may be secret: the objects are
 * written as in a snapshot (codec/objects/snapshot_json), work has resources and times only. Features
 * add objects of their own (cli/shared/simulate_objects). */
#ifndef FEATURE_RECORD_OBJECTS_RECORDING_H
#define FEATURE_RECORD_OBJECTS_RECORDING_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/model/kubernetes.h"
#include "core/model/pod_starts.h"
#include "feature/record/core/recorded_work.h"

/* As a reader accepts of YAML (codec/objects/workload_file). */
#define RECORDING_BYTES_MAX ((size_t)64 << 20)

struct recording {
	const struct ray_cluster *cluster;
	const struct autoscaler_object *autoscaler; /* NULL: none */
	struct pod_starts_list starts;
	int64_t process_ms; /* how long a Python process took to start; -1: unknown */
	struct recorded_items items;
	time_ms since, until;
	struct strings notes; /* comments: what is missing */
};

/* Groups begin with minReplicas: how many workers there were at the beginning is unknown. ERR_LIMIT:
 * it has more than RECORDING_BYTES_MAX bytes. */
int recording_write(const struct recording *recording, struct arena *arena, struct buf *buf,
		    struct err *err);

#endif
