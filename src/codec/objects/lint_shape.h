/* The JSON types of a RayCluster's fields that the decoder (codec/objects/ray_cluster_json) reads,
 * checked before it: each wrong one becomes a finding, and the value is changed to one that the
 * decoder accepts, so that one mistake hides no other. A number or boolean in place of a string
 * becomes its text; anything else becomes null, or an empty element. Only for trees that are parsed
 * for lint. */
#ifndef CODEC_OBJECTS_LINT_SHAPE_H
#define CODEC_OBJECTS_LINT_SHAPE_H

#include "base/arena.h"
#include "core/lint/lint.h"

struct cJSON;

/* `object` is a RayCluster with metadata and spec; no member is added or removed. Findings are of
 * the rules wrong-type and ray-start-param-not-string and live in the arena. */
void lint_shape_check(struct cJSON *object, struct arena *arena, struct lint_findings *findings);

#endif
