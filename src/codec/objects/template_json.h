/* struct memory_template (core/decide/template_seen) to and from JSON: one form for the `memory` of
 * a plan and for the groups in the status of a RayClusterAutoscaler. */
#ifndef CODEC_OBJECTS_TEMPLATE_JSON_H
#define CODEC_OBJECTS_TEMPLATE_JSON_H

#include "codec/objects/field.h"
#include "core/model/memory_state.h"

extern const struct field template_fields[]; /* the members beside the group's name */

/* Untrusted; an invalid one is refused by -1 without a message, limits bound it. */
int template_json_decode(const struct json_at *at, struct memory_template *ret_template);

#endif
