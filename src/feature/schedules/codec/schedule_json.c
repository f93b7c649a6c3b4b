#include "feature/schedules/codec/schedule_json.h"

#include "codec/text/duration.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "feature/schedules/codec/cron.h"
#include "feature/schedules/core/calendar.h"

int schedule_name_decode(const struct json_at *member, const struct field *field, void *object)
{
	const char *const *name = field_value(field, object);

	if (field_decode(member, field, object))
		return -1;
	if (**name == '\0')
		json_problem(member, "is required");
	return 0;
}

int schedule_start_decode(const struct json_at *member, const struct field *field, void *object)
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

int schedule_duration_decode(const struct json_at *member, const struct field *field, void *object)
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

#define GROUP struct autoscaler_schedule_group

const struct field schedule_group_fields[] = {
	FIELD_TEXT(GROUP, name, "name", .read = schedule_name_decode, .flags = FIELD_REQUIRED,
		   .description = "A groupName.", .schema = "minLength: 1\nmaxLength: 253"),
	FIELD_INTEGER(GROUP, min_replicas, "minReplicas", .check = check_replicas,
		      .flags = FIELD_ALWAYS | FIELD_REQUIRED, .description = "Within the window.",
		      .schema = "format: int32\nminimum: 0"),
	FIELD_NAMES(NULL),
};

#define STATUS struct plan_schedule

const struct field plan_schedule_fields[] = {
	FIELD_TEXT(STATUS, name, "name", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(STATUS, active, "active", .flags = FIELD_ALWAYS),
	FIELD_TIME(STATUS, next_change, "nextChange"),
	FIELD_TEXT(STATUS, problem, "problem", .flags = FIELD_NULLABLE),
	FIELD_BOOLEAN(STATUS, never_starts, "neverStarts"),
	FIELD_END,
};

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
