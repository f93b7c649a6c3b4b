/* The file of `rayscaler record`: YAML documents RayCluster, RayClusterAutoscaler (where there is
 * one), PodStarts and Workload, for `rayscaler simulate`. Nothing in it may be secret: the objects are
 * written as in a snapshot (codec/objects/snapshot_json), work has resources and times only. */
#ifndef CODEC_OBJECTS_RECORDING_H
#define CODEC_OBJECTS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"
#include "core/model/pod_starts.h"
#include "core/report/recorded_work.h"

/* As a reader accepts of YAML (codec/objects/workload_file). */
#define RECORDING_BYTES_MAX ((size_t)64 << 20)
#define RECORDING_POD_STARTS "PodStarts"

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

/* A document that is part of a recording, but not its Workload. */
bool recording_is_other(const struct json_at *root);

/* Adds the groups of a document PodStarts; -1 with the reader's error. */
struct pod_starts_reading {
	int64_t process_ms; /* the longest of all documents; -1: none has it */
	VEC(struct pod_starts) list;
};
int recording_read_starts(const struct json_at *root, struct pod_starts_reading *reading);

#endif
