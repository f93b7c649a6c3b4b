/* The document PodStarts of a recording (`rayscaler record`), which `simulate` reads. */
#ifndef CODEC_OBJECTS_POD_STARTS_JSON_H
#define CODEC_OBJECTS_POD_STARTS_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "codec/text/json.h"
#include "core/model/pod_starts.h"

#define POD_STARTS_KIND "PodStarts"

/* Whether a document of a recording is another one than its Workload. */
bool pod_starts_is_beside_work(const struct json_at *root);

/* Adds the groups of a document PodStarts; -1 with the reader's error. */
struct pod_starts_reading {
	int64_t process_ms; /* the longest of all documents; -1: none has it */
	VEC(struct pod_starts) list;
};
int pod_starts_read(const struct json_at *root, struct pod_starts_reading *reading);

#endif
