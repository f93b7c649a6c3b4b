/* The spec of a RayClusterAutoscaler: the settings of its users. */
#ifndef CODEC_OBJECTS_AUTOSCALER_SPEC_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_SPEC_JSON_H

#include "codec/schema/field.h"

extern const struct field autoscaler_spec_fields[]; /* of struct autoscaler_object */

#endif
