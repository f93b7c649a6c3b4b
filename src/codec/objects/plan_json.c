#include "codec/objects/plan_json.h"

#include "codec/objects/memory_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json_write.h"

static void write_termination(struct json_writer *writer, const struct plan_termination *entry)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "pod", entry->pod);
	json_write_text(writer, "rayNodeId", entry->ray_node_id);
	json_write_text(writer, "action", terminate_action_name(entry->action));
	json_write_text(writer, "reason", entry->reason);
	json_write_object_end(writer);
}

const struct field plan_backoff_fields[] = {
	FIELD_TIME(struct plan_backoff, until, "until", .flags = FIELD_ALWAYS,
		   .description = "No launch before this time."),
	FIELD_INTEGER(struct plan_backoff, seconds, "seconds", .flags = FIELD_ALWAYS,
		      .description = "Length of this step; the next one is twice as long."),
	FIELD_TEXT(struct plan_backoff, cause, "cause", .flags = FIELD_ALWAYS,
		   .description = "A word of docs/REASONS.md."),
	FIELD_TEXT(struct plan_backoff, message, "message", .flags = FIELD_ALWAYS,
		   .description = "The cause as a sentence."),
	FIELD_END,
};

const struct field plan_schedule_fields[] = {
	FIELD_TEXT(struct plan_schedule, name, "name", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct plan_schedule, active, "active", .flags = FIELD_ALWAYS),
	FIELD_TIME(struct plan_schedule, next_change, "nextChange"),
	FIELD_TEXT(struct plan_schedule, problem, "problem", .flags = FIELD_NULLABLE),
	FIELD_END,
};

FIELD_WORDS(idle_action, enum idle_action)

static const struct field idle_fields[] = {
	FIELD_WORD(struct plan_idle, action, enum idle_action, idle_action_word, "action",
		   .flags = FIELD_ALWAYS, .limit = IDLE_ACTION_RESUME + 1),
	FIELD_TIME(struct plan_idle, since, "since"),
	FIELD_TIME(struct plan_idle, until, "until"),
	FIELD_TEXT(struct plan_idle, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct plan_idle, message, "message", .flags = FIELD_ALWAYS),
	FIELD_END,
};

static void write_group(struct json_writer *writer, const struct plan_group *group)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "name", group->name);
	json_write_integer(writer, "replicas", group->replicas);
	json_write_integer(writer, "targetReplicas", group->target_replicas);
	json_write_integer(writer, "toLaunch", group->to_launch);
	json_write_array(writer, "toTerminate");
	for (size_t i = 0; i < group->terminate.count; i++)
		write_termination(writer, &group->terminate.at[i]);
	json_write_array_end(writer);
	if (group->backoff) {
		json_write_object_line(writer, "backoff");
		field_write_all(writer, plan_backoff_fields, group->backoff);
		json_write_object_end(writer);
	} else {
		json_write_null(writer, "backoff");
	}
	json_write_text(writer, "reason", group->reason);
	json_write_text(writer, "message", group->message);
	json_write_object_end(writer);
}

static void write_workers(struct json_writer *writer, const struct plan *plan)
{
	json_write_array(writer, "workers");
	for (size_t i = 0; i < plan->workers.count; i++) {
		const struct plan_worker *worker = &plan->workers.at[i];

		json_write_object_line(writer, NULL);
		json_write_text(writer, "pod", worker->pod);
		json_write_text(writer, "group", worker->group);
		json_write_text(writer, "state", worker_state_name(worker->state));
		json_write_text(writer, "reason", worker->reason);
		json_write_text(writer, "message", worker->message);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* An entry of `infeasible` or `unserved`. */
static void write_demand(struct json_writer *writer, const struct plan_demand *demand)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "kind", demand_kind_name(demand->kind));
	json_write_text(writer, "source", demand_source_name(demand->source));
	if (demand->gang)
		ray_gang_write(writer, "request", demand->gang);
	else
		ray_request_write(writer, "request", demand->request);
	json_write_integer(writer, "count", demand->count);
	json_write_text(writer, "reason", demand->reason);
	json_write_text(writer, "message", demand->message);
	json_write_object_end(writer);
}

static void write_demands(struct json_writer *writer, const char *name,
			  const struct plan_demand *demands, size_t count)
{
	json_write_array(writer, name);
	for (size_t i = 0; i < count; i++)
		write_demand(writer, &demands[i]);
	json_write_array_end(writer);
}

static void write_patch_op(struct json_writer *writer, const struct patch_op *op)
{
	json_write_object_line(writer, NULL);
	json_write_text(writer, "op", op->op);
	json_write_text(writer, "path", op->path);
	switch (op->kind) {
	case PATCH_VALUE_INTEGER:
		json_write_integer(writer, "value", op->integer);
		break;
	case PATCH_VALUE_BOOLEAN:
		json_write_boolean(writer, "value", op->integer != 0);
		break;
	case PATCH_VALUE_NONE:
		break;
	case PATCH_VALUE_STRING:
		json_write_text(writer, "value", op->string);
		break;
	case PATCH_VALUE_STRINGS:
		json_write_array(writer, "value");
		for (size_t i = 0; i < op->strings.count; i++)
			json_write_text(writer, NULL, op->strings.at[i]);
		json_write_array_end(writer);
		break;
	case PATCH_VALUE_EMPTY_OBJECT:
		json_write_object(writer, "value");
		json_write_object_end(writer);
		break;
	}
	json_write_object_end(writer);
}

static void write_patch(struct json_writer *writer, const char *name, const struct plan *plan)
{
	json_write_array(writer, name);
	for (size_t i = 0; i < plan->patch.count; i++)
		write_patch_op(writer, &plan->patch.at[i]);
	json_write_array_end(writer);
}

void plan_write_conditions(struct json_writer *writer, const struct plan_condition *conditions,
			   size_t count, bool aside)
{
	json_write_array(writer, "conditions");
	for (size_t i = 0; i < count; i++) {
		if (conditions[i].aside && !aside)
			continue;
		json_write_object_line(writer, NULL);
		json_write_text(writer, "type", conditions[i].type);
		json_write_text(writer, "status", conditions[i].status);
		json_write_text(writer, "reason", conditions[i].reason);
		if (conditions[i].message)
			json_write_text(writer, "message", conditions[i].message);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_placement(struct json_writer *writer, const struct plan_placement *placement)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "worker", placement->worker);
	json_write_text(writer, "group", placement->group);
	json_write_text(writer, "phase", placement->constraint_phase ? "constraint" : "demand");
	json_write_array(writer, "requests");
	for (size_t i = 0; i < placement->placed.count; i++) {
		const struct plan_placed *placed = &placement->placed.at[i];

		json_write_object_line(writer, NULL);
		json_write_text(writer, "kind", demand_kind_name(placed->kind));
		json_write_text(writer, "source", demand_source_name(placed->source));
		json_write_integer(writer, "index", (int64_t)placed->index);
		ray_bundle_write(writer, "bundle", placed->bundle);
		json_write_integer(writer, "count", placed->count);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_placements(struct json_writer *writer, const struct plan *plan)
{
	json_write_array(writer, "placements");
	for (size_t i = 0; i < plan->placements.count; i++)
		write_placement(writer, &plan->placements.at[i]);
	json_write_array_end(writer);
}

static int check_buf(const struct buf *buf, struct err *err)
{
	if (!buf->overflowed)
		return 0;
	return err_set(err, ERR_LIMIT, "the plan has more than %zu bytes", buf->ceiling_bytes);
}

/* The members that a table writes. */
static const struct field plan_fields[] = {
	FIELD_LIST(struct plan, schedules, schedule_count, plan_schedule_fields, "schedules",
		   .flags = FIELD_LINE),
	FIELD_POINTER(struct plan, idle, idle_fields, "idleTermination", .flags = FIELD_LINE),
	FIELD_END,
};

int plan_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", SNAPSHOT_API_VERSION);
	json_write_text(&writer, "kind", "Plan");
	json_write_object_line(&writer, "cluster");
	json_write_text(&writer, "namespace", plan->cluster_namespace);
	json_write_text(&writer, "name", plan->cluster_name);
	json_write_object_end(&writer);
	json_write_array(&writer, "groups");
	for (size_t i = 0; i < plan->groups.count; i++)
		write_group(&writer, &plan->groups.at[i]);
	json_write_array_end(&writer);
	field_write_all(&writer, plan_fields, plan);
	write_workers(&writer, plan);
	write_demands(&writer, "infeasible", plan->infeasible.at, plan->infeasible.count);
	write_demands(&writer, "unserved", plan->unserved.at, plan->unserved.count);
	write_patch(&writer, "patch", plan);
	plan_write_conditions(&writer, plan->conditions.at, plan->conditions.count, false);
	json_write_integer(&writer, "requeueAfterSeconds", plan->requeue_after_seconds);
	memory_write(&writer, "memory", &plan->memory);
	if (debug)
		write_placements(&writer, plan);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
	return check_buf(buf, err);
}

int plan_write_patch(const struct plan *plan, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_LINE);
	write_patch(&writer, NULL, plan);
	return check_buf(buf, err);
}
