/* The spec of a RayClusterAutoscaler: the settings of its users. */
#ifndef CODEC_OBJECTS_AUTOSCALER_SPEC_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_SPEC_JSON_H

#include "codec/schema/field.h"
#include "core/model/autoscaler_problem.h"

extern const struct field autoscaler_spec_fields[]; /* of struct autoscaler_object */
extern const struct field warm_fields[];            /* of struct autoscaler_warm */
#define WARM_RULE                                                                                  \
	"x-kubernetes-validations:\n"                                                              \
	"- rule: has(self.count) != has(self.percentOfBusy)\n"                                     \
	"  message: " AUTOSCALER_WARM_WITHOUT_AMOUNT

#endif
