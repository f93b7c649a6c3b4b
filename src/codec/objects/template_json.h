/* struct memory_template (core/decide/template_seen) to and from JSON: one form for the `memory` of
 * a plan and for the groups in the status of a RayClusterAutoscaler. Untrusted; an invalid one is
 * refused by -1 without a message, limits bound it. */
#ifndef CODEC_OBJECTS_TEMPLATE_JSON_H
#define CODEC_OBJECTS_TEMPLATE_JSON_H

#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/model/memory_state.h"

/* The members beside the group's name. */
int template_json_decode(const struct json_at *at, struct memory_template *ret_template);
/* Writes the members into the object that is open. */
void template_json_write(struct json_writer *writer, const struct memory_template *template);

#endif
