/* Schedules of a RayClusterAutoscaler in its settings and its status, and in plans; the time zones of a
 * snapshot. */
#ifndef FEATURE_SCHEDULES_CODEC_SCHEDULE_JSON_H
#define FEATURE_SCHEDULES_CODEC_SCHEDULE_JSON_H

#include "codec/schema/field.h"
#include "core/model/autoscaler_problem.h"
#include "core/model/plan.h"
#include "core/model/time_zone.h"

#define SCHEDULES_MAX 32

extern const struct field schedule_group_fields[];  /* of struct autoscaler_schedule_group */
extern const struct field plan_schedule_fields[];   /* of struct plan_schedule, in plans */
extern const struct field schedule_status_fields[]; /* of the same in the status */

/* Hooks. A value that cannot be followed is a problem of the object. */
int schedule_name_decode(const struct json_at *member, const struct field *field, void *object);
int schedule_start_decode(const struct json_at *member, const struct field *field, void *object);
int schedule_duration_decode(const struct json_at *member, const struct field *field, void *object);
/* The LIST of time zones. Changes that do not ascend and offsets out of range are errors. */
int time_zones_decode(const struct json_at *member, const struct field *field, void *object);

/* The table of a struct autoscaler_schedule, with further rows for what it requests. */
#define SCHEDULE_SPEC_TABLES(T, ...)                                                               \
	static const struct field schedule_fields[] = { SCHEDULE_ROWS(T), __VA_ARGS__,             \
							FIELD_NAMES(NULL) };
#define SCHEDULE_ROWS(T)                                                                           \
	FIELD_TEXT(T, name, "name", .read = schedule_name_decode, .flags = FIELD_REQUIRED,         \
		   .description = "Shown in reasons.", .schema = "minLength: 1\nmaxLength: 63"),   \
		FIELD_TEXT(T, time_zone, "timeZone",                                               \
			   .description = "As Europe/Berlin; UTC if absent.",                      \
			   .schema = "maxLength: 64\npattern: '^[A-Za-z0-9_+/-]+$'"),              \
		FIELD_TEXT(T, start, "start", .read = schedule_start_decode,                       \
			   .flags = FIELD_REQUIRED, .description = "Cron, five fields.",           \
			   .schema = "maxLength: 100\n"                                            \
				     "pattern: '^[ \\t]*[^ \\t]+([ \\t]+[^ \\t]+){4}[ \\t]*$'"),   \
		FIELD_TEXT(                                                                        \
			T, duration, "duration", .read = schedule_duration_decode,                 \
			.flags = FIELD_REQUIRED, .description = "1m to 31d, as 9h30m.",            \
			.schema =                                                                  \
				"maxLength: 32\npattern: '^([0-9]+([.][0-9]+)?(ms|s|m|h|d))+$'"),  \
		FIELD_LIST(T, groups, group_count, schedule_group_fields, "groups",                \
			   .flags = FIELD_LINE,                                                    \
			   .description = "Of several schedules the greatest minimum counts.",     \
			   .schema = "minItems: 1\nmaxItems: 100\n"                                \
				     "x-kubernetes-list-type: map\n"                               \
				     "x-kubernetes-list-map-keys: [name]")

/* Rows of the tables of a struct autoscaler_object (with the table above), plan or summary, status and
 * snapshot. */
#define SCHEDULE_SPEC_ROWS(T)                                                                      \
	FIELD_LIST(                                                                                \
		T, schedules, schedule_count, schedule_fields, "schedules",                        \
		.limit = SCHEDULES_MAX, .description = "Requests within windows of time.",         \
		.schema = "maxItems: 32\n"                                                         \
			  "x-kubernetes-list-type: map\n"                                          \
			  "x-kubernetes-list-map-keys: [name]",                                    \
		.element_schema =                                                                  \
			"x-kubernetes-validations:\n"                                              \
			"- rule: has(self.groups) || has(self.bundles) || has(self.warmWorkers)\n" \
			"  message: " AUTOSCALER_WITHOUT_REQUEST)
#define SCHEDULE_PLAN_ROWS(T)                                                                      \
	FIELD_LIST(T, schedules, schedule_count, plan_schedule_fields, "schedules",                \
		   .flags = FIELD_LINE)
#define SCHEDULE_SUMMARY_ROWS(T) SCHEDULE_PLAN_ROWS(T)
#define SCHEDULE_STATUS_ROWS(T, most)                                                              \
	FIELD_LIST(T, schedules, schedule_count, schedule_status_fields, "schedules",              \
		   .flags = FIELD_ALWAYS | FIELD_NULLABLE, .limit = (most),                        \
		   .description = "Those of spec; absent without any.")
#define SCHEDULE_SNAPSHOT_ROWS(T)                                                                  \
	FIELD_LIST(T, time_zones, time_zone_count, time_zone_fields, "timeZones",                  \
		   .limit = SCHEDULES_MAX, .read = time_zones_decode)

#endif
