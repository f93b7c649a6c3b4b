#include "codec/objects/summary_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/explain_text.h"
#include "codec/objects/field.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/number.h"
#include "codec/text/rfc3339.h"

/* ---- amounts: 1/10000 in the struct, a number in JSON ---- */

static int read_amount(const struct json_at *at, const char *name, int64_t missing,
		       int64_t *ret_amount)
{
	struct json_at member = json_member(at, name);
	const char *problem;
	double value;
	bool has;

	if (json_number(at, name, &has, &value))
		return -1;
	*ret_amount = has ? amount_from_double(value, &problem) : missing;
	if (!has || !problem)
		return 0;
	if (value < 0)
		return json_fail(&member, "an amount %s", problem);
	*ret_amount = RESOURCE_AMOUNT_MAX;
	return 0;
}

static int amount_decode(const struct json_at *at, const struct field *field, void *object)
{
	void *amount = (char *)object + field->offset;

	return read_amount(at, field->name, 0, amount);
}

static int maximum_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct summary_gpus *gpus = object;

	return read_amount(at, field->name, SUMMARY_UNLIMITED, &gpus->maximum);
}

static void write_amount(struct json_writer *writer, const struct field *field, const void *object)
{
	int64_t amount;

	memcpy(&amount, (const char *)object + field->offset, sizeof(amount));
	if (amount == SUMMARY_UNLIMITED)
		json_write_null(writer, field->name);
	else
		json_write_amount(writer, field->name, amount);
}

/* Of Ray: null when it was not reached. */
static void write_known(struct json_writer *writer, const struct field *field, const void *object)
{
	if (((const struct summary_gpus *)object)->known)
		write_amount(writer, field, object);
	else
		json_write_null(writer, field->name);
}

static int running_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct json_at member = json_member(at, field->name);
	struct summary_gpus *gpus = object;

	gpus->known = json_type(&member) == JSON_NUMBER;
	return amount_decode(at, field, object);
}

#define AMOUNT(T, m, ...)                                                                          \
	FIELD_HOOK(__VA_ARGS__, .offset = FIELD_OFFSET(T, m, int64_t), .read = amount_decode)

static const struct field gpu_fields[] = {
	FIELD_HOOK("running", .offset = offsetof(struct summary_gpus, running),
		   .read = running_decode, .write = write_known),
	AMOUNT(struct summary_gpus, in_use, "inUse", .write = write_known),
	AMOUNT(struct summary_gpus, idle, "idle", .write = write_known),
	AMOUNT(struct summary_gpus, starting, "starting", .write = write_amount),
	AMOUNT(struct summary_gpus, wanted, "wanted", .write = write_amount),
	FIELD_HOOK("maximum", .offset = offsetof(struct summary_gpus, maximum),
		   .read = maximum_decode, .write = write_amount),
	FIELD_END,
};

/* ---- Pods, by state ---- */

static int read_pods(const struct json_at *at, const char *name, int64_t *pods, int64_t *ret_count,
		     int64_t *ret_missing)
{
	struct json_at states;

	if (json_object(at, name, &states) || json_integer(&states, "Missing", NULL, ret_missing))
		return -1;
	for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++) {
		if (json_integer(&states, worker_state_name((enum worker_state)state), NULL,
				 &pods[state]))
			return -1;
		*ret_count += pods[state];
	}
	return 0;
}

static void write_pods(struct json_writer *writer, const char *name, const int64_t *pods,
		       int64_t missing)
{
	json_write_object_line(writer, name);
	for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++)
		json_write_integer(writer, worker_state_name((enum worker_state)state),
				   pods[state]);
	json_write_integer(writer, "Missing", missing);
	json_write_object_end(writer);
}

/* ---- groups ---- */

static int group_pods_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct summary_group *group = object;

	if (read_pods(at, field->name, group->pods, &group->pod_count, &group->missing))
		return -1;
	group->pending =
		group->missing + group->pods[WORKER_PENDING] + group->pods[WORKER_STARTING];
	return 0;
}

static void write_group_pods(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct summary_group *group = object;

	write_pods(writer, field->name, group->pods, group->missing);
}

static const struct field group_fields[] = {
	FIELD_TEXT(struct summary_group, name, "name", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, min_replicas, "minReplicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, replicas, "replicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, target_replicas, "targetReplicas",
		      .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, max_replicas, "maxReplicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, hosts, "hostsPerReplica", .flags = FIELD_ALWAYS),
	FIELD_HOOK("pods", .read = group_pods_decode, .write = write_group_pods),
	AMOUNT(struct summary_group, worker_gpus, "gpusPerWorker", .write = write_amount),
	FIELD_PART(struct summary_group, gpus, gpu_fields, "gpus",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_TIME(struct summary_group, idle_since, "idleSince", .flags = FIELD_ALWAYS),
	FIELD_POINTER(struct summary_group, backoff, plan_backoff_fields, "backoff",
		      .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_TEXT(struct summary_group, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary_group, message, "message", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, waiting, "waiting", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary_group, unserved_reason, "unservedReason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary_group, waiting_reason, "waitingReason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary_group, waiting_message, "waitingMessage", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- demand ---- */

static int pending_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct summary *summary = object;
	VEC(struct resource) pending = { .at = NULL };
	struct json_at member, resources;

	if (json_object(at, field->name, &member) ||
	    json_integer(&member, "bundles", NULL, &summary->pending_bundles) ||
	    json_object(&member, "resources", &resources))
		return -1;
	for (struct json_at e = json_first(&resources); e.json; json_next(&e)) {
		struct resource *resource = VEC_ADD(at->reader->arena, &pending);

		resource->name = arena_strdup(at->reader->arena, e.name);
		if (read_amount(&resources, e.name, 0, &resource->amount))
			return -1;
	}
	summary->pending = pending.at;
	summary->pending_count = pending.count;
	return 0;
}

static void write_pending(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct summary *summary = object;

	if (!summary->ray_reachable) {
		json_write_null(writer, field->name);
		return;
	}
	json_write_object(writer, field->name);
	json_write_integer(writer, "bundles", summary->pending_bundles);
	json_write_object_line(writer, "resources");
	for (size_t i = 0; i < summary->pending_count; i++)
		json_write_amount(writer, summary->pending[i].name, summary->pending[i].amount);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static int source_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct summary_request *request = object;
	const char *source;

	if (json_text(at, field->name, &source))
		return -1;
	request->source = strcmp(source, demand_source_name(SOURCE_ANNOTATION)) == 0 ?
				  SOURCE_ANNOTATION :
				  SOURCE_RAY;
	return 0;
}

static void write_source(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct summary_request *request = object;

	json_write_text(writer, field->name, demand_source_name(request->source));
}

static int request_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct ray_request *request = ARENA_NEW(at->reader->arena, struct ray_request);
	struct json_at member;

	((struct summary_request *)object)->bundle = request;
	return json_object(at, field->name, &member) || ray_request_decode(&member, request) ? -1 :
											       0;
}

static void write_request(struct json_writer *writer, const struct field *field, const void *object)
{
	ray_request_write(writer, field->name, ((const struct summary_request *)object)->bundle);
}

static const struct field request_fields[] = {
	FIELD_HOOK("source", .read = source_decode, .write = write_source),
	FIELD_INTEGER(struct summary_request, count, "count", .flags = FIELD_ALWAYS),
	FIELD_HOOK("request", .read = request_decode, .write = write_request),
	FIELD_END,
};

static const struct field unserved_fields[] = {
	FIELD_TEXT(struct summary_unserved, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct summary_unserved, infeasible, "infeasible", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_unserved, count, "count", .flags = FIELD_ALWAYS),
	AMOUNT(struct summary_unserved, gpus, "gpus", .write = write_amount),
	FIELD_TEXT(struct summary_unserved, message, "message", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- the whole ---- */

static const struct field plan_condition_fields[] = {
	FIELD_TEXT(struct plan_condition, type, "type"),
	FIELD_TEXT(struct plan_condition, status, "status"),
	FIELD_TEXT(struct plan_condition, reason, "reason"),
	FIELD_TEXT(struct plan_condition, message, "message"),
	FIELD_END,
};

static void write_conditions(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct summary *summary = object;

	(void)field;
	plan_write_conditions(writer, summary->conditions, summary->condition_count, true);
}

static int all_pods_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct summary *summary = object;

	return read_pods(at, field->name, summary->pods, &summary->pod_count, &summary->missing);
}

static void write_all_pods(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct summary *summary = object;

	write_pods(writer, field->name, summary->pods, summary->missing);
}

static const struct field summary_fields[] = {
	FIELD_TIME(struct summary, decided_at, "decidedAt", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct summary, ray_reachable, "rayReachable", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary, message, "message", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct summary, groups, group_count, group_fields, "groups",
		   .flags = FIELD_ALWAYS),
	FIELD_HOOK("pods", .read = all_pods_decode, .write = write_all_pods),
	FIELD_PART(struct summary, gpus, gpu_fields, "gpus", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_HOOK("pending", .read = pending_decode, .write = write_pending),
	FIELD_LIST(struct summary, requested, requested_count, request_fields, "requested",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct summary, unserved, unserved_count, unserved_fields, "unserved",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct summary, conditions, condition_count, plan_condition_fields, "conditions",
		   .write = write_conditions),
	FIELD_LIST(struct summary, schedules, schedule_count, plan_schedule_fields, "schedules",
		   .flags = FIELD_LINE),
	FIELD_END,
};

void summary_write(struct json_writer *writer, const struct summary *summary)
{
	field_write_all(writer, summary_fields, summary);
}

void summary_write_answer(const struct snapshot *snapshot, const struct plan *plan,
			  const struct summary *summary, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf plan_json;
	AUTO(buf_done) struct buf text;
	struct json_writer writer;

	buf_init(&plan_json, buf->ceiling_bytes);
	buf_init(&text, buf->ceiling_bytes);
	(void)plan_write(plan, true, &plan_json, NULL);
	explain_text_write(snapshot, plan, &arena, &text);
	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "kind", "ClusterStatus");
	json_write_time(&writer, "decidedAt", snapshot->now);
	json_write_boolean(&writer, "rayReachable", snapshot->ray_state != NULL);
	json_write_text(&writer, "rayProblem", snapshot->ray_problem);
	json_write_object(&writer, "status");
	summary_write(&writer, summary);
	json_write_object_end(&writer);
	json_write_text(&writer, "explanation", buf_string(&text));
	json_write_raw(&writer, "plan", buf_string(&plan_json));
	json_write_object_end(&writer);
	(void)buf_add_char(buf, '\n');
	buf->overflowed = buf->overflowed || plan_json.overflowed || text.overflowed;
}

int summary_decode(const struct json_at *at, struct summary *ret_summary)
{
	struct summary summary = { .reason = "" };

	if (json_expect(at, JSON_OBJECT) || field_decode_all(at, summary_fields, &summary))
		return -1;
	*ret_summary = summary;
	return 0;
}
