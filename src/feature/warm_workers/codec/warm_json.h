/* Warm workers in the settings of a RayClusterAutoscaler. */
#ifndef FEATURE_WARM_WORKERS_CODEC_WARM_JSON_H
#define FEATURE_WARM_WORKERS_CODEC_WARM_JSON_H

#include "codec/schema/field.h"
#include "core/model/autoscaler_problem.h"

extern const struct field warm_fields[]; /* of struct autoscaler_warm */

/* A row of the tables of a struct autoscaler_object and autoscaler_schedule. `items`: its
 * minItems and maxItems. */
#define WARM_WORKERS_ROW(T, most, items, text)                                                     \
	FIELD_LIST(T, warm_workers, warm_count, warm_fields, "warmWorkers", .flags = FIELD_LINE,   \
		   .limit = (most), .description = (text),                                         \
		   .schema = items "\nx-kubernetes-list-type: map\n"                               \
				   "x-kubernetes-list-map-keys: [group]",                          \
		   .element_schema = "x-kubernetes-validations:\n"                                 \
				     "- rule: has(self.count) != has(self.percentOfBusy)\n"        \
				     "  message: " AUTOSCALER_WARM_WITHOUT_AMOUNT)
#define WARM_SPEC_ROWS(T)                                                                          \
	WARM_WORKERS_ROW(                                                                          \
		T, 1000, "maxItems: 1000",                                                         \
		"Free workers that stay ready beyond demand, within maxReplicas and the GPU limits.")
#define WARM_SCHEDULE_REQUEST_ROWS(T)                                                              \
	WARM_WORKERS_ROW(T, 100, "minItems: 1\nmaxItems: 100",                                     \
			 "The largest of these and spec.warmWorkers counts.")

#endif
