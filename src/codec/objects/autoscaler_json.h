/* RayClusterAutoscaler (rayscaler.dev/v1alpha1), JSON to struct autoscaler_object: metadata and
 * spec.{paused, idleTimeoutSeconds, upscalingMode, maxGPUs, groups[].{name, idleTimeoutSeconds}};
 * of status the members that codec/autoscaler_status keeps. The result lives in the arena. */
#ifndef CODEC_OBJECTS_AUTOSCALER_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json_write.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As ray_cluster_decode, but the name may be missing. */
int autoscaler_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct autoscaler_object *ret_autoscaler, struct err *err);
/* For the snapshot file only. */
void autoscaler_write(struct json_writer *writer, const char *name,
		      const struct autoscaler_object *autoscaler);

#endif
