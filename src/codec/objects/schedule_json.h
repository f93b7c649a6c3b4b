/* The schedules and warm workers of a RayClusterAutoscaler and the time zones of a snapshot: parts of
 * codec/objects/autoscaler_json and codec/objects/snapshot_json. */
#ifndef CODEC_OBJECTS_SCHEDULE_JSON_H
#define CODEC_OBJECTS_SCHEDULE_JSON_H

#include "codec/schema/field.h"
#include "core/model/autoscaler_problem.h"

#define SCHEDULES_MAX 32
#define SCHEDULE_RULE                                                                              \
	"x-kubernetes-validations:\n"                                                              \
	"- rule: has(self.groups) || has(self.bundles) || has(self.warmWorkers)\n"                 \
	"  message: " AUTOSCALER_WITHOUT_REQUEST

#define WARM_RULE                                                                                  \
	"x-kubernetes-validations:\n"                                                              \
	"- rule: has(self.count) != has(self.percentOfBusy)\n"                                     \
	"  message: " AUTOSCALER_WARM_WITHOUT_AMOUNT

extern const struct field warm_fields[];            /* of struct autoscaler_warm */
extern const struct field schedule_fields[];        /* of struct autoscaler_schedule */
extern const struct field schedule_status_fields[]; /* of struct plan_schedule */
extern const struct field time_zone_fields[];       /* of struct time_zone */

/* A hook: the groupName of a group of the object's own list; "" is a problem of the object. */
int schedule_group_name_decode(const struct json_at *member, const struct field *field,
			       void *object);
/* A hook: the LIST of time zones. Changes that do not ascend and offsets out of range are errors. */
int time_zones_decode(const struct json_at *member, const struct field *field, void *object);

#endif
