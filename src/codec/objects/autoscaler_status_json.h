/* The members of an existing RayClusterAutoscaler's status that the next one
 * (codec/objects/autoscaler_status_write) is compared with and continues. Must not be used to
 * decide: status is the last report, not the present state. */
#ifndef CODEC_OBJECTS_AUTOSCALER_STATUS_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_STATUS_JSON_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* A longer status is not compared, but written. */
#define AUTOSCALER_STATUS_MAX ((size_t)256 << 10)

/* Reads `status` of the whole object into the members of *object that keep it. A member of an
 * unknown form counts as absent: it will be written again. */
void autoscaler_status_decode(const struct cJSON *json, struct arena *arena,
			      struct autoscaler_object *object);

#endif
