#include "codec/objects/plan_json.h"

#include "codec/objects/memory_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/json_write.h"
#include "feature_codec.h"

FIELD_WORDS(terminate_action, enum terminate_action)
FIELD_WORDS(worker_state, enum worker_state)
FIELD_WORDS(demand_kind, enum demand_kind)
FIELD_WORDS(demand_source, enum demand_source)

/* Members are always written. */
#define TEXT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS)
#define REASON(T, m, table, n) FIELD_REASON(T, m, table, n, .flags = FIELD_ALWAYS)
#define INTEGER(T, m, n) FIELD_INTEGER(T, m, n, .flags = FIELD_ALWAYS)
#define WORD(T, m, type, words, n) FIELD_WORD(T, m, type, words, n, .flags = FIELD_ALWAYS)
#define LIST(T, m, number, fields, n) FIELD_LIST(T, m, number, fields, n, .flags = FIELD_ALWAYS)
#define LINES(T, m, number, fields, n)                                                             \
	FIELD_LIST(T, m, number, fields, n, .flags = FIELD_ALWAYS | FIELD_LINE)

/* ---- groups and workers ---- */

#define TERMINATION struct plan_termination
#define GROUP struct plan_group
#define WORKER struct plan_worker

static const struct field termination_fields[] = {
	TEXT(TERMINATION, pod, "pod"),
	TEXT(TERMINATION, ray_node_id, "rayNodeId"),
	WORD(TERMINATION, action, enum terminate_action, terminate_action_word, "action"),
	REASON(TERMINATION, reason, REASONS_OF_TERMINATIONS, "reason"),
	FIELD_TIME(TERMINATION, deadline, "deadline"),
	FIELD_END,
};

const struct field plan_backoff_fields[] = {
	FIELD_TIME(struct memory_backoff, until, "until", .flags = FIELD_ALWAYS,
		   .description = "No launch before this time."),
	FIELD_INTEGER(struct memory_backoff, seconds, "seconds", .flags = FIELD_ALWAYS,
		      .description = "Length of this step; the next one is twice as long."),
	FIELD_REASON(struct memory_backoff, cause, REASONS_OF_BACK_OFFS, "cause",
		     .flags = FIELD_ALWAYS, .description = "A word of docs/REASONS.md."),
	FIELD_TEXT(struct memory_backoff, message, "message", .flags = FIELD_ALWAYS,
		   .description = "The cause as a sentence."),
	FIELD_END,
};

static const struct field group_fields[] = {
	TEXT(GROUP, name, "name"),
	INTEGER(GROUP, replicas, "replicas"),
	INTEGER(GROUP, target_replicas, "targetReplicas"),
	INTEGER(GROUP, to_launch, "toLaunch"),
	LINES(GROUP, terminate.at, terminate.count, termination_fields, "toTerminate"),
	FIELD_POINTER(GROUP, backoff, plan_backoff_fields, "backoff",
		      .flags = FIELD_ALWAYS | FIELD_LINE),
	REASON(GROUP, reason, REASONS_OF_GROUPS, "reason"),
	TEXT(GROUP, message, "message"),
	FIELD_END,
};

static const struct field worker_fields[] = {
	TEXT(WORKER, pod, "pod"),
	TEXT(WORKER, group, "group"),
	WORD(WORKER, state, enum worker_state, worker_state_word, "state"),
	REASON(WORKER, reason, REASONS_OF_WORKERS, "reason"),
	TEXT(WORKER, message, "message"),
	FIELD_END,
};

/* ---- demand ---- */

#define DEMAND struct plan_demand
#define PLACED struct plan_placed
#define PLACEMENT struct plan_placement

static void write_request(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct plan_demand *demand = object;

	if (demand->gang)
		ray_gang_write(writer, field->name, demand->gang);
	else
		ray_request_write(writer, field->name, demand->request);
}

static void write_schedule(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct plan_schedule *schedule =
		*(const struct plan_schedule *const *)((const char *)object + field->offset);

	if (schedule)
		json_write_text(writer, field->name, schedule->name);
}

/* An entry of `infeasible` or `unserved`. */
static const struct field demand_fields[] = {
	WORD(DEMAND, kind, enum demand_kind, demand_kind_word, "kind"),
	WORD(DEMAND, source, enum demand_source, demand_source_word, "source"),
	FIELD_HOOK("schedule", .offset = offsetof(DEMAND, schedule), .write = write_schedule),
	FIELD_HOOK("request", .write = write_request),
	INTEGER(DEMAND, count, "count"),
	REASON(DEMAND, reason, REASONS_OF_DEMAND, "reason"),
	TEXT(DEMAND, message, "message"),
	FIELD_END,
};

static void write_bundle(struct json_writer *writer, const struct field *field, const void *object)
{
	ray_bundle_write(writer, field->name, ((const struct plan_placed *)object)->bundle);
}

static const struct field placed_fields[] = {
	WORD(PLACED, kind, enum demand_kind, demand_kind_word, "kind"),
	WORD(PLACED, source, enum demand_source, demand_source_word, "source"),
	FIELD_HOOK("schedule", .offset = offsetof(PLACED, schedule), .write = write_schedule),
	FIELD_COUNT(PLACED, index, "index", .flags = FIELD_ALWAYS),
	FIELD_HOOK("bundle", .write = write_bundle),
	INTEGER(PLACED, count, "count"),
	FIELD_END,
};

static void write_phase(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct plan_placement *placement = object;

	json_write_text(writer, field->name, placement->constraint_phase ? "constraint" : "demand");
}

static const struct field placement_fields[] = {
	TEXT(PLACEMENT, worker, "worker"),
	TEXT(PLACEMENT, group, "group"),
	FIELD_HOOK("phase", .write = write_phase),
	LINES(PLACEMENT, placed.at, placed.count, placed_fields, "requests"),
	FIELD_END,
};

/* ---- patch, conditions ---- */

static void write_value(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct patch_op *op = object;

	switch (op->kind) {
	case PATCH_VALUE_INTEGER:
		json_write_integer(writer, field->name, op->integer);
		break;
	case PATCH_VALUE_BOOLEAN:
		json_write_boolean(writer, field->name, op->integer != 0);
		break;
	case PATCH_VALUE_NONE:
		break;
	case PATCH_VALUE_STRING:
		json_write_text(writer, field->name, op->string);
		break;
	case PATCH_VALUE_STRINGS:
		field_write_texts(writer, field->name, &op->strings);
		break;
	case PATCH_VALUE_EMPTY_OBJECT:
		json_write_raw(writer, field->name, "{}");
		break;
	}
}

static const struct field patch_fields[] = {
	TEXT(struct patch_op, op, "op"),
	TEXT(struct patch_op, path, "path"),
	FIELD_HOOK("value", .write = write_value),
	FIELD_END,
};

static const struct field plan_condition_fields[] = {
	FIELD_TEXT(struct plan_condition, type, "type"),
	FIELD_TEXT(struct plan_condition, status, "status"),
	FIELD_REASON(struct plan_condition, reason, REASONS_OF_CONDITIONS, "reason"),
	FIELD_TEXT(struct plan_condition, message, "message"),
	FIELD_END,
};

static void write_conditions(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct plan *plan = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < plan->conditions.count; i++)
		if (!plan->conditions.at[i].aside)
			field_write_line(writer, plan_condition_fields, &plan->conditions.at[i]);
	json_write_array_end(writer);
}

/* ---- the plan ---- */

#define PLAN struct plan

static const struct field cluster_fields[] = {
	TEXT(PLAN, cluster_namespace, "namespace"),
	TEXT(PLAN, cluster_name, "name"),
	FIELD_END,
};

static void write_memory(struct json_writer *writer, const struct field *field, const void *object)
{
	memory_write(writer, field->name, &((const struct plan *)object)->memory);
}

static const struct field plan_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", "Plan"),
	FIELD_OBJECT(cluster_fields, "cluster", .flags = FIELD_ALWAYS | FIELD_LINE),
	LIST(PLAN, groups.at, groups.count, group_fields, "groups"),
	FEATURE_PLAN_ROWS(PLAN) LINES(PLAN, workers.at, workers.count, worker_fields, "workers"),
	LINES(PLAN, infeasible.at, infeasible.count, demand_fields, "infeasible"),
	LINES(PLAN, unserved.at, unserved.count, demand_fields, "unserved"),
	LINES(PLAN, patch.at, patch.count, patch_fields, "patch"),
	FIELD_HOOK("conditions", .write = write_conditions),
	INTEGER(PLAN, requeue_after_seconds, "requeueAfterSeconds"),
	FIELD_HOOK("memory", .write = write_memory),
	FIELD_END,
};

static const struct field debug_fields[] = {
	LIST(PLAN, placements.at, placements.count, placement_fields, "placements"),
	FIELD_END,
};

static int check_buf(const struct buf *buf, struct err *err)
{
	if (!buf->overflowed)
		return 0;
	return err_set(err, ERR_LIMIT, "the plan has more than %zu bytes", buf->ceiling_bytes);
}

int plan_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	field_write_all(&writer, plan_fields, plan);
	if (debug)
		field_write_all(&writer, debug_fields, plan);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
	return check_buf(buf, err);
}

int plan_write_patch(const struct plan *plan, struct buf *buf, struct err *err)
{
	static const struct field patch = LINES(PLAN, patch.at, patch.count, patch_fields, NULL);
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	field_write_value(&writer, &patch, plan);
	return check_buf(buf, err);
}
