/* The member `metering` of the status of a RayClusterAutoscaler, to and from struct
 * autoscaler_metering. */
#ifndef FEATURE_COST_CODEC_METERING_JSON_H
#define FEATURE_COST_CODEC_METERING_JSON_H

#include "codec/schema/field.h"
#include "feature/cost/core/metering.h"

extern const struct field metering_fields[];

/* Its row in the table of the status. */
#define METERING_STATUS_ROWS(T, most)                                                              \
	FIELD_POINTER(T, parts.metering, metering_fields, "metering",                              \
		      .description =                                                               \
			      "GPU time and cost (docs/COST.md); written with other changes.")

#endif
