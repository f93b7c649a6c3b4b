#include "feature/idle_termination/codec/idle_termination_json.h"

#include <string.h>

#define IDLE struct idle_termination

const struct idle_termination idle_termination_initial = {
	.after_seconds = IDLE_AFTER_SECONDS_DEFAULT,
	.action = "",
};

/* Ray needs timeoutSeconds. */
const struct idle_termination idle_termination_options_initial = { .action = "" };

static void refuse(const struct json_at *member, const char *why, IDLE *idle)
{
	json_problem(member, "%s; the RayCluster is not terminated while idle", why);
	idle->problem = arena_printf(member->reader->arena, "%s: %s", json_path(member), why);
}

static int seconds_decode(const struct json_at *member, const struct field *field, void *object)
{
	IDLE *idle = object;

	if (field_decode(member, field, object))
		return -1;
	if (idle->after_seconds < IDLE_AFTER_SECONDS_MIN ||
	    idle->after_seconds > IDLE_AFTER_SECONDS_MAX)
		refuse(member,
		       arena_printf(member->reader->arena, "must be %d to %d s, is %lld",
				    IDLE_AFTER_SECONDS_MIN, IDLE_AFTER_SECONDS_MAX,
				    (long long)idle->after_seconds),
		       idle);
	return 0;
}

static int action_decode(const struct json_at *member, const struct field *field, void *object)
{
	IDLE *idle = object;

	if (field_decode(member, field, object))
		return -1;
	if (idle->action[0] == '\0')
		idle->action = IDLE_ACTION_SUSPEND;
	if (strcmp(idle->action, IDLE_ACTION_SUSPEND) != 0 &&
	    strcmp(idle->action, IDLE_ACTION_DELETE) != 0)
		refuse(member,
		       arena_printf(member->reader->arena,
				    "must be " IDLE_ACTION_SUSPEND " or " IDLE_ACTION_DELETE
				    ", is \"%.40s\"",
				    idle->action),
		       idle);
	return 0;
}

const struct field idle_termination_fields[] = {
	FIELD_INTEGER(IDLE, after_seconds, "afterSeconds", .flags = FIELD_ALWAYS,
		      .read = seconds_decode, .description = "1800 if absent.",
		      .schema = "format: int32\nminimum: 60\nmaximum: 2592000"),
	FIELD_TEXT(IDLE, action, "action", .flags = FIELD_ALWAYS, .read = action_decode,
		   .description = "Suspend if absent. Delete needs idleTermination.allowDelete of "
				  "the chart.",
		   .schema = "enum: [Suspend, Delete]"),
	FIELD_NAMES(NULL),
};

const struct field idle_termination_options_fields[] = {
	FIELD_INTEGER(IDLE, after_seconds, "timeoutSeconds", .flags = FIELD_ALWAYS,
		      .read = seconds_decode),
	FIELD_TEXT(IDLE, action, "policy", .flags = FIELD_ALWAYS, .read = action_decode),
	FIELD_NAMES(NULL),
};

#define PLANNED struct plan_idle

FIELD_WORDS(cluster_action, enum cluster_action)

const struct field plan_idle_fields[] = {
	FIELD_WORD(PLANNED, action, enum cluster_action, cluster_action_word, "action",
		   .flags = FIELD_ALWAYS),
	FIELD_TIME(PLANNED, since, "since"),
	FIELD_TIME(PLANNED, until, "until"),
	FIELD_REASON(PLANNED, reason, REASONS_OF_CONDITIONS, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(PLANNED, message, "message", .flags = FIELD_ALWAYS),
	FIELD_END,
};
