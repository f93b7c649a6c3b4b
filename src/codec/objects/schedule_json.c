#include "codec/objects/schedule_json.h"

#include "codec/objects/request_resources.h"
#include "codec/text/duration.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "feature/schedules/codec/cron.h"
#include "feature/schedules/core/calendar.h"

#define BUNDLES_MAX 1000

/* ---- warm workers ---- */

int schedule_group_name_decode(const struct json_at *member, const struct field *field,
			       void *object)
{
	const char *const *name = field_value(field, object);

	if (field_decode(member, field, object))
		return -1;
	if (**name == '\0')
		json_problem(member->parent, "%s is required: the groupName of the RayCluster",
			     field->name);
	return 0;
}

/* The value stays as it is, so that the file form has it. */
static int check_warm_amount(const struct json_at *member, const struct field *field, void *object)
{
	const int64_t *amount = field_value(field, object);

	if (*amount < 0 || *amount > (int64_t)field->limit)
		json_problem(member, "must be 1 to %zu, is %lld; it counts as not given",
			     field->limit, (long long)*amount);
	return 0;
}

const struct field warm_fields[] = {
	FIELD_TEXT(struct autoscaler_warm, group, "group", .read = schedule_group_name_decode,
		   .flags = FIELD_REQUIRED, .description = "A groupName.",
		   .schema = "minLength: 1\nmaxLength: 253"),
	FIELD_INTEGER(struct autoscaler_warm, count, "count", .check = check_warm_amount,
		      .limit = AUTOSCALER_WARM_COUNT_MAX, .description = "Replicas.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 100000"),
	FIELD_INTEGER(struct autoscaler_warm, percent_of_busy, "percentOfBusy",
		      .check = check_warm_amount, .limit = AUTOSCALER_WARM_PERCENT_MAX,
		      .description = "Of the group's replicas in use, rounded up.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 1000"),
	FIELD_NAMES(NULL),
};

/* ---- schedules ---- */

static int name_decode(const struct json_at *member, const struct field *field, void *object)
{
	const char *const *name = field_value(field, object);

	if (field_decode(member, field, object))
		return -1;
	if (**name == '\0')
		json_problem(member, "is required");
	return 0;
}

static int start_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct autoscaler_schedule *schedule = object;
	const char *problem;

	if (field_decode(member, field, object))
		return -1;
	if (cron_parse(schedule->start, &schedule->cron, &problem)) {
		json_problem(member, "\"%.100s\" %s; write five fields such as 0 8 * * 1-5",
			     schedule->start, problem);
		schedule->invalid = true;
	} else if (calendar_never_starts(&schedule->cron)) {
		json_problem(member,
			     "\"%.100s\" never starts: none of its months has one of its days; "
			     "correct one of them",
			     schedule->start);
		schedule->never_starts = true;
	}
	return 0;
}

static int duration_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct autoscaler_schedule *schedule = object;
	const char *problem;

	if (field_decode(member, field, object))
		return -1;
	if (duration_parse(schedule->duration, &schedule->duration_ms, &problem) == 0 &&
	    (schedule->duration_ms < CALENDAR_DURATION_MIN_MS ||
	     schedule->duration_ms > CALENDAR_DURATION_MAX_MS))
		problem = "is not between 1m and 31d";
	if (problem) {
		json_problem(member, "\"%.100s\" %s; write a duration from 1m to 31d, as 9h30m",
			     schedule->duration, problem);
		schedule->invalid = true;
	}
	return 0;
}

static int check_replicas(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	struct autoscaler_schedule_group *group = object;

	if (group->min_replicas >= 0 && group->min_replicas <= INT32_MAX)
		return 0;
	json_problem(member, "must be 0 to %d, is %lld; it counts as 0", INT32_MAX,
		     (long long)group->min_replicas);
	group->min_replicas = 0;
	return 0;
}

/* Malformed bundles are a problem of the schedule, and the rest of it counts. */
static int bundles_decode(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	struct json_at own;
	struct ray_constraint *bundles = ARENA_NEW(member->reader->arena, struct ray_constraint);
	struct err err = { .kind = ERR_NONE };
	struct json_reader reader = { .arena = member->reader->arena, .err = &err };
	struct autoscaler_schedule *schedule = object;
	size_t count = 0;

	if (!json_is_given(member))
		return 0;
	schedule->has_bundles = true;
	schedule->bundles_text = json_print(member);
	own = json_root(member->json, "", &reader);
	for (struct json_at e = json_first(&own); e.json; json_next(&e))
		count++;
	if (count > BUNDLES_MAX)
		json_problem(member, "has %zu bundles, above the limit of %d", count, BUNDLES_MAX);
	else if (request_list_decode(&own, bundles))
		json_problem(member, "%.300s; it must be a list of bundles like [{GPU: 1}]",
			     err.text);
	else
		schedule->bundles = bundles;
	return 0;
}

static void write_bundles(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct autoscaler_schedule *schedule = object;

	if (schedule->has_bundles)
		json_write_raw(writer, field->name, schedule->bundles_text);
}

#define SCHEDULE struct autoscaler_schedule
#define GROUP struct autoscaler_schedule_group

static const struct field group_fields[] = {
	FIELD_TEXT(GROUP, name, "name", .read = name_decode, .flags = FIELD_REQUIRED,
		   .description = "A groupName.", .schema = "minLength: 1\nmaxLength: 253"),
	FIELD_INTEGER(GROUP, min_replicas, "minReplicas", .check = check_replicas,
		      .flags = FIELD_ALWAYS | FIELD_REQUIRED, .description = "Within the window.",
		      .schema = "format: int32\nminimum: 0"),
	FIELD_NAMES(NULL),
};

const struct field schedule_fields[] = {
	FIELD_TEXT(SCHEDULE, name, "name", .read = name_decode, .flags = FIELD_REQUIRED,
		   .description = "Shown in reasons.", .schema = "minLength: 1\nmaxLength: 63"),
	FIELD_TEXT(SCHEDULE, time_zone, "timeZone",
		   .description = "As Europe/Berlin; UTC if absent.",
		   .schema = "maxLength: 64\npattern: '^[A-Za-z0-9_+/-]+$'"),
	FIELD_TEXT(SCHEDULE, start, "start", .read = start_decode, .flags = FIELD_REQUIRED,
		   .description = "Cron, five fields.",
		   .schema = "maxLength: 100\n"
			     "pattern: '^[ \\t]*[^ \\t]+([ \\t]+[^ \\t]+){4}[ \\t]*$'"),
	FIELD_TEXT(SCHEDULE, duration, "duration", .read = duration_decode, .flags = FIELD_REQUIRED,
		   .description = "1m to 31d, as 9h30m.",
		   .schema = "maxLength: 32\npattern: '^([0-9]+([.][0-9]+)?(ms|s|m|h|d))+$'"),
	FIELD_LIST(SCHEDULE, groups, group_count, group_fields, "groups", .flags = FIELD_LINE,
		   .description = "Of several schedules the greatest minimum counts.",
		   .schema = "minItems: 1\nmaxItems: 100\n"
			     "x-kubernetes-list-type: map\n"
			     "x-kubernetes-list-map-keys: [name]"),
	FIELD_HOOK("bundles", .read = bundles_decode, .write = write_bundles,
		   .description = "As in request-resources; schedules do not add up.",
		   .schema = "type: array\nminItems: 1\nmaxItems: 1000\n"
			     "items:\n"
			     "  type: object\n"
			     "  minProperties: 1\n"
			     "  x-kubernetes-preserve-unknown-fields: true"),
	FIELD_LIST(SCHEDULE, warm_workers, warm_count, warm_fields, "warmWorkers",
		   .flags = FIELD_LINE, .limit = 100,
		   .description = "The largest of these and spec.warmWorkers counts.",
		   .schema = "minItems: 1\nmaxItems: 100\n"
			     "x-kubernetes-list-type: map\n"
			     "x-kubernetes-list-map-keys: [group]",
		   .element_schema = WARM_RULE),
	FIELD_NAMES(NULL),
};

#define STATUS struct plan_schedule

const struct field schedule_status_fields[] = {
	FIELD_TEXT(STATUS, name, "name", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Of spec."),
	FIELD_BOOLEAN(STATUS, active, "active", .flags = FIELD_ALWAYS,
		      .description = "Its window is open."),
	FIELD_TIME(STATUS, next_change, "nextChange",
		   .description = "When active changes; absent: unknown, or not within a year."),
	FIELD_BOOLEAN(STATUS, never_starts, "neverStarts",
		      .description = "True: its start is on no date; see InvalidRequest."),
	FIELD_END,
};

/* ---- time zones ---- */

#define ZONE struct time_zone
#define CHANGE struct time_zone_change

static const struct field change_fields[] = {
	FIELD_TIME(CHANGE, at, "at", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(CHANGE, offset_seconds, "offsetSeconds", .flags = FIELD_ALWAYS),
	FIELD_END,
};

const struct field time_zone_fields[] = {
	FIELD_TEXT(ZONE, name, "name", .flags = FIELD_ALWAYS),
	FIELD_TEXT(ZONE, problem, "problem", .flags = FIELD_NULLABLE),
	FIELD_INTEGER(ZONE, offset_seconds, "offsetSeconds", .flags = FIELD_ALWAYS),
	FIELD_LIST(ZONE, changes, change_count, change_fields, "changes", .flags = FIELD_LINE,
		   .limit = TIME_ZONE_CHANGES_MAX),
	FIELD_END,
};

static bool is_offset(int64_t seconds)
{
	return seconds >= TIME_ZONE_OFFSET_MIN && seconds <= TIME_ZONE_OFFSET_MAX;
}

static int check_zone(const struct json_at *at, const struct time_zone *zone)
{
	bool good = is_offset(zone->offset_seconds);

	for (size_t i = 0; i < zone->change_count; i++)
		good = good && is_offset(zone->changes[i].offset_seconds) &&
		       zone->changes[i].at != TIME_NONE &&
		       (i == 0 || zone->changes[i].at > zone->changes[i - 1].at);
	return good ? 0 :
		      json_fail(at,
				"has a change without a later time than the one before, or an "
				"offset outside of %d to %d seconds",
				TIME_ZONE_OFFSET_MIN, TIME_ZONE_OFFSET_MAX);
}

int time_zones_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct json_at e = json_first(member);
	const struct snapshot *snapshot = object;

	if (field_decode(member, field, object))
		return -1;
	for (size_t i = 0; i < snapshot->time_zone_count; i++, json_next(&e))
		if (check_zone(&e, &snapshot->time_zones[i]))
			return -1;
	return 0;
}
