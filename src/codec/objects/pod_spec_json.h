/* The fields of a pod spec and of a Pod template. Used by the objects of codec only. They
 * are written only to the snapshot file (codec/objects/snapshot_json). */
#ifndef CODEC_OBJECTS_POD_SPEC_JSON_H
#define CODEC_OBJECTS_POD_SPEC_JSON_H

#include "codec/schema/field.h"

extern const struct field resources_fields[];    /* of struct container */
extern const struct field env_fields[];          /* of struct env_variable */
extern const struct field pod_spec_fields[];     /* of struct pod_spec */
extern const struct field pod_template_fields[]; /* of struct pod_template */

#endif
