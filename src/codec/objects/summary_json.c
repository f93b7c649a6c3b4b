#include "codec/objects/summary_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/explain_text.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/schema/field.h"
#include "feature_codec.h"

/* ---- GPUs ---- */

FIELD_WORDS(demand_source, enum demand_source)

#define AMOUNT(T, m, n) FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS)
/* Of Ray: null when it was not reached. */
#define KNOWN(m, n)                                                                                \
	FIELD_AMOUNT(struct summary_gpus, m, n, .flags = FIELD_ALWAYS,                             \
		     .has = FIELD_HAS(struct summary_gpus, known))

static const struct field gpu_fields[] = {
	KNOWN(running, "running"),
	KNOWN(in_use, "inUse"),
	KNOWN(idle, "idle"),
	AMOUNT(struct summary_gpus, starting, "starting"),
	AMOUNT(struct summary_gpus, wanted, "wanted"),
	AMOUNT(struct summary_gpus, maximum, "maximum"),
	FIELD_END,
};

/* ---- Pods, by state ---- */

#define POD_STATE(T, m, n) FIELD_INTEGER(T, m, n, .flags = FIELD_ALWAYS)
#define POD_STATES(T)                                                                              \
	{                                                                                          \
		POD_STATE(T, pods[WORKER_PENDING], "Pending"),                                     \
			POD_STATE(T, pods[WORKER_STARTING], "Starting"),                           \
			POD_STATE(T, pods[WORKER_RUNNING], "Running"),                             \
			POD_STATE(T, pods[WORKER_IDLE], "Idle"),                                   \
			POD_STATE(T, pods[WORKER_DRAINING], "Draining"),                           \
			POD_STATE(T, pods[WORKER_GONE], "Gone"), POD_STATE(T, missing, "Missing"), \
			FIELD_END,                                                                 \
	}

static const struct field group_pods_fields[] = POD_STATES(struct summary_group);
static const struct field all_pods_fields[] = POD_STATES(struct summary);

static int64_t count_pods(const int64_t *pods)
{
	int64_t count = 0;

	for (int state = WORKER_NONE + 1; state < SUMMARY_STATE_COUNT; state++)
		count += pods[state];
	return count;
}

/* ---- groups ---- */

static int group_pods_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct summary_group *group = object;

	if (field_decode(member, field, object))
		return -1;
	group->pod_count = count_pods(group->pods);
	group->pending =
		group->missing + group->pods[WORKER_PENDING] + group->pods[WORKER_STARTING];
	return 0;
}

static const struct field group_fields[] = {
	FIELD_TEXT(struct summary_group, name, "name", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, min_replicas, "minReplicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, replicas, "replicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, target_replicas, "targetReplicas",
		      .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, max_replicas, "maxReplicas", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_group, hosts, "hostsPerReplica", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(group_pods_fields, "pods", .flags = FIELD_ALWAYS | FIELD_LINE,
		     .read = group_pods_decode),
	AMOUNT(struct summary_group, worker_gpus, "gpusPerWorker"),
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

static int pending_decode(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	struct summary *summary = object;
	VEC(struct resource) pending = { .at = NULL };
	struct json_at resources;

	if (json_optional(member, JSON_OBJECT) ||
	    json_integer(member, "bundles", NULL, &summary->pending_bundles) ||
	    json_object(member, "resources", &resources))
		return -1;
	for (struct json_at e = json_first(&resources); e.json; json_next(&e)) {
		static const struct field amount = FIELD_AMOUNT(struct resource, amount, "");
		struct resource *resource = VEC_ADD(member->reader->arena, &pending);

		resource->name = arena_strdup(member->reader->arena, e.name);
		if (field_decode(&e, &amount, resource))
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

static const struct field request_fields[] = {
	FIELD_WORD(struct summary_request, source, enum demand_source, demand_source_word, "source",
		   .limit = SOURCE_SCHEDULE + 1, .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary_request, schedule, "schedule"),
	FIELD_INTEGER(struct summary_request, count, "count", .flags = FIELD_ALWAYS),
	FIELD_POINTER(struct summary_request, bundle, ray_request_fields, "request",
		      .flags = FIELD_ALWAYS | FIELD_GIVEN),
	FIELD_END,
};

static const struct field unserved_fields[] = {
	FIELD_TEXT(struct summary_unserved, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct summary_unserved, infeasible, "infeasible", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct summary_unserved, count, "count", .flags = FIELD_ALWAYS),
	AMOUNT(struct summary_unserved, gpus, "gpus"),
	FIELD_TEXT(struct summary_unserved, message, "message", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- the whole ---- */

static int all_pods_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct summary *summary = object;

	if (field_decode(member, field, object))
		return -1;
	summary->pod_count = count_pods(summary->pods);
	return 0;
}

static const struct summary_group initial_group = { .gpus = { .maximum = SUMMARY_UNLIMITED } };

const struct field summary_condition_fields[] = {
	FIELD_TEXT(struct summary_condition, type, "type"),
	FIELD_TEXT(struct summary_condition, status, "status"),
	FIELD_TEXT(struct summary_condition, reason, "reason"),
	FIELD_TEXT(struct summary_condition, message, "message"),
	FIELD_END,
};

static const struct field summary_fields[] = {
	FIELD_TIME(struct summary, decided_at, "decidedAt", .flags = FIELD_ALWAYS),
	FIELD_BOOLEAN(struct summary, ray_reachable, "rayReachable", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary, reason, "reason", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct summary, message, "message", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct summary, groups, group_count, group_fields, "groups",
		   .flags = FIELD_ALWAYS, .initial = &initial_group),
	FIELD_OBJECT(all_pods_fields, "pods", .flags = FIELD_ALWAYS | FIELD_LINE,
		     .read = all_pods_decode),
	FIELD_PART(struct summary, gpus, gpu_fields, "gpus", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_HOOK("pending", .read = pending_decode, .write = write_pending),
	FIELD_LIST(struct summary, requested, requested_count, request_fields, "requested",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct summary, unserved, unserved_count, unserved_fields, "unserved",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct summary, conditions, condition_count, summary_condition_fields,
		   "conditions", .flags = FIELD_ALWAYS | FIELD_LINE),
	FEATURE_SUMMARY_ROWS(struct summary) FIELD_END,
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
	struct summary summary = { .gpus = { .maximum = SUMMARY_UNLIMITED } };

	if (json_expect(at, JSON_OBJECT) || field_decode_all(at, summary_fields, &summary))
		return -1;
	*ret_summary = summary;
	return 0;
}
