/* What is kept of the status of a RayClusterAutoscaler that is there, so that the next one
 * (codec/objects/autoscaler_status_write) can be told from it and goes on from it.
 * Must not be used to decide: status is what was said, not what is. */
#ifndef CODEC_OBJECTS_AUTOSCALER_STATUS_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_STATUS_JSON_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* A longer status is not compared, but written. */
#define AUTOSCALER_STATUS_MAX ((size_t)256 << 10)

/* Reads `status` of the whole object into the members of *object that keep it. What is not of our form
 * counts as absent: it will be written anew. */
void autoscaler_status_decode(const struct cJSON *json, struct arena *arena,
			      struct autoscaler_object *object);

#endif
