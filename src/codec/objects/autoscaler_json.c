#include "codec/objects/autoscaler_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_spec_json.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/plan_json.h"
#include "codec/schema/document_head.h"
#include "feature_codec.h"

/* Of the lists of a status that is read; ours are shorter. */
#define STATUS_LIST_MAX 1000
#define BODY_MAX ((size_t)8 << 20) /* never reached: each part is bounded */

#define AUTOSCALER struct autoscaler_object

static const struct field metadata_fields[] = {
	FIELD_NAME(AUTOSCALER, name, "name"),
	FIELD_NAME(AUTOSCALER, namespace_, "namespace"),
	FIELD_TEXT(AUTOSCALER, uid, "uid", .flags = FIELD_UNWRITTEN),
	FIELD_TEXT(AUTOSCALER, resource_version, "resourceVersion"),
	FIELD_INTEGER(AUTOSCALER, generation, "generation"),
	FIELD_CHECK(FIELD_KIND_LABELS, "labels"),
	FIELD_CHECK(FIELD_KIND_NOTES, "annotations"),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_CHECK(FIELD_KIND_TIME, "deletionTimestamp"),
	FIELD_END,
};

/* ---- status ---- */

/* Rows that are always written, with their description. */
#define ROW(kind, T, m, n, text) FIELD_##kind(T, m, n, .flags = FIELD_ALWAYS, .description = (text))
#define REQUIRED(T, m, n, text)                                                                    \
	FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS | FIELD_REQUIRED, .description = (text))
#define NULLABLE(T, m, n, text)                                                                    \
	FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS | FIELD_NULLABLE, .description = (text))
#define COUNT(T, m, n, text)                                                                       \
	FIELD_INTEGER(T, m, n, .flags = FIELD_ALWAYS, .check = bound_count, .description = (text))
#define AMOUNT(T, m, n, f, ...)                                                                    \
	FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS | FIELD_QUOTED | (f), __VA_ARGS__)
#define STATUS struct summary
#define GROUP struct summary_group
#define PODS(m, n, text) FIELD_INTEGER(GROUP, m, n, .check = bound_count, .description = (text))
/* An amount that only Ray knows. */
#define OF_RAY(m, n, ...)                                                                          \
	AMOUNT(STATUS, m, n, 0, .has = FIELD_HAS(STATUS, ray_reachable), .description = __VA_ARGS__)

/* A status may hold any number: these are added up. */
static int bound_count(const struct json_at *member UNUSED, const struct field *field, void *object)
{
	int64_t *count = field_value(field, object);

	*count = *count < 0 ? 0 : *count < JSON_INTEGER_MAX ? *count : JSON_INTEGER_MAX;
	return 0;
}

static const struct field summary_fields[] = {
	ROW(TEXT, STATUS, groups_text, "groups",
	    "Replicas that run and maxReplicas, of the first groups."),
	ROW(TEXT, STATUS, gpus_text, "gpus", "GPUs in Ray now, at the target, and at the maximum."),
	FIELD_END,
};

/* Whether Ray was reached is read from `running`. */
static int pending_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct summary *summary = object;
	bool reachable = summary->ray_reachable;
	int result = field_decode(member, field, object);

	summary->ray_reachable = reachable;
	return result;
}

static const struct field gpus_fields[] = {
	OF_RAY(gpus.running, "running",
	       "On the workers and the head that Ray knows; absent while Ray is unreachable."),
	AMOUNT(STATUS, gpus.starting, "starting", 0,
	       .description = "On Pods that are not registered and replicas without a Pod."),
	AMOUNT(STATUS, gpus.wanted, "target", 0, .description = "At the target of all groups."),
	AMOUNT(STATUS, gpus.maximum, "max", FIELD_NULLABLE,
	       .description = "At maxReplicas of all groups and under the limits; absent without "
			      "a maximum."),
	OF_RAY(pending_gpus, "pending",
	       "Requested by pending demand; absent while Ray is unreachable.",
	       .read = pending_decode),
	FIELD_END,
};

static const struct field pods_fields[] = {
	PODS(missing, "missing", "Requested and not created yet."),
	PODS(pods[WORKER_PENDING], "pending", "No container runs."),
	PODS(pods[WORKER_STARTING], "starting", "Not registered in Ray yet."),
	PODS(pods[WORKER_RUNNING], "running", "In use."),
	PODS(pods[WORKER_IDLE], "idle", "Not in use."),
	PODS(pods[WORKER_DRAINING], "draining", "Accepts no more work."),
	PODS(pods[WORKER_GONE], "gone", "Finished or being deleted."),
	FIELD_END,
};

static const struct field scale_fields[] = {
	FIELD_TIME(struct autoscaler_scale, time, "time", .description = "When it was sent."),
	ROW(INTEGER, struct autoscaler_scale, from, "from", "Replicas before."),
	ROW(INTEGER, struct autoscaler_scale, to, "to", "Replicas after."),
	ROW(TEXT, struct autoscaler_scale, reason, "reason", "A word of docs/REASONS.md."),
	ROW(TEXT, struct autoscaler_scale, message, "message", "The reason as a sentence."),
	FIELD_END,
};

/* A template that does not parse is left out: it is recorded again. */
static int seen_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct memory_template template = { .since = TIME_NONE }, *copy;
	struct summary_group *group = object;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (memory_template_decode(member, &template))
		return 0;
	copy = ARENA_COPY(member->reader->arena, &template, 1);
	copy->group = group->name;
	group->seen = copy;
	return 0;
}

static const struct field group_fields[] = {
	REQUIRED(GROUP, name, "name", "groupName in the RayCluster."),
	ROW(INTEGER, GROUP, replicas, "replicas", "Of the RayCluster, now."),
	COUNT(GROUP, target_replicas, "targetReplicas", "Replicas that the decision aims for."),
	ROW(INTEGER, GROUP, min_replicas, "minReplicas", "Of the RayCluster."),
	ROW(INTEGER, GROUP, max_replicas, "maxReplicas", "Of the RayCluster."),
	FIELD_OBJECT(pods_fields, "pods", .flags = FIELD_ALWAYS,
		     .description = "Pods by state; a state without Pods is left out."),
	AMOUNT(GROUP, worker_gpus, "gpusPerWorker", 0, .description = "GPUs of one worker in Ray."),
	FIELD_POINTER(GROUP, backoff, plan_backoff_fields, "backoff",
		      .description = "The group gets no capacity; nothing is launched in it for a "
				     "while."),
	FIELD_POINTER(GROUP, last_scale, scale_fields, "lastScale",
		      .description = "The last change by the autoscaler, not by a user or the "
				     "operator."),
	FIELD_POINTER(GROUP, seen, memory_template_fields, "seen", .read = seen_decode,
		      .description = "How living workers of the group differ from its template; "
				     "valid for the same template without workers and after a "
				     "restart of the autoscaler."),
	FIELD_END,
};

static const struct field demand_fields[] = {
	REQUIRED(struct resource, name, "name", "A resource of Ray."),
	AMOUNT(struct resource, amount, "amount", FIELD_REQUIRED, .description = "The sum."),
	FIELD_END,
};

FIELD_WORDS(demand_source, enum demand_source)

static int bundle_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct summary_request *requested = object;
	const struct field amounts = { .name = field->name, .kind = FIELD_KIND_RESOURCES };
	struct bundle_entry *bundle;
	struct resources resources;

	if (field_decode(member, &amounts, &resources))
		return -1;
	bundle = arena_array(member->reader->arena, resources.count, sizeof(*bundle));
	for (size_t i = 0; i < resources.count; i++)
		bundle[i] = (struct bundle_entry){
			.name = resources.at[i].name,
			.received = (double)resources.at[i].amount / RESOURCE_UNIT,
			.amount = resources.at[i].amount,
		};
	requested->bundle = ARENA_PUT(member->reader->arena,
				      (struct ray_request){ .bundle = bundle,
							    .bundle_count = resources.count });
	return 0;
}

static void write_bundle(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct ray_request *request = ((const struct summary_request *)object)->bundle;

	json_write_object(writer, field->name);
	if (request)
		for (size_t i = 0; i < request->bundle_count; i++) {
			const struct bundle_entry *entry = &request->bundle[i];
			const struct field amount =
				AMOUNT(struct bundle_entry, amount, entry->name, 0);

			/* Long names that were cut may be equal. */
			if (i == 0 || strcmp(entry[-1].name, entry->name) != 0)
				field_write_value(writer, &amount, entry);
		}
	json_write_object_end(writer);
}

static const struct field requested_fields[] = {
	FIELD_WORD(struct summary_request, source, enum demand_source, demand_source_word, "source",
		   .limit = SOURCE_SCHEDULE + 1, .flags = FIELD_ALWAYS,
		   .description = "ray, annotation or schedule."),
	FIELD_TEXT(struct summary_request, schedule, "schedule", .description = "Its name."),
	COUNT(struct summary_request, count, "count", "How many of the bundle."),
	FIELD_HOOK("bundle", .flags = FIELD_ALWAYS, .read = bundle_decode, .write = write_bundle,
		   .description = "Amounts by resource.",
		   .schema = "type: object\nadditionalProperties: {type: string}"),
	FIELD_END,
};

static const struct field unserved_fields[] = {
	REQUIRED(struct summary_unserved, reason, "reason", "A word of docs/REASONS.md."),
	COUNT(struct summary_unserved, count, "count",
	      "Bundles, placement groups and requested bundles."),
	AMOUNT(struct summary_unserved, gpus, "gpus", 0,
	       .description = "GPUs that they request together."),
	ROW(TEXT, struct summary_unserved, message, "message",
	    "The reason of the first of them as a sentence."),
	FIELD_END,
};

/* Two lists of the object are one of the summary, the infeasible ones first. */
static bool is_infeasible(const struct field *field)
{
	return strcmp(field->name, "infeasible") == 0;
}

static int unserved_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct summary *summary = object, part = summary_none;
	struct summary_unserved *all;
	size_t count = summary->unserved_count;

	if (field_decode(member, field, &part))
		return -1;
	all = arena_array(member->reader->arena, count + part.unserved_count, sizeof(*all));
	for (size_t i = 0; i < count + part.unserved_count; i++) {
		all[i] = i < count ? summary->unserved[i] : part.unserved[i - count];
		all[i].infeasible = i < count || is_infeasible(field);
	}
	summary->unserved = all;
	summary->unserved_count = count + part.unserved_count;
	return 0;
}

static void write_unserved(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	struct summary part = *(const struct summary *)object;
	size_t infeasible = 0;

	while (infeasible < part.unserved_count && part.unserved[infeasible].infeasible)
		infeasible++;
	if (is_infeasible(field)) {
		part.unserved_count = infeasible;
	} else if (infeasible > 0) {
		part.unserved += infeasible;
		part.unserved_count -= infeasible;
	}
	field_write_value(writer, field, &part);
}

#define CONDITION struct summary_condition

static const struct field status_condition_fields[] = {
	REQUIRED(CONDITION, type, "type", "Name of the condition."),
	FIELD_TEXT(CONDITION, status, "status", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Whether it is true.",
		   .schema = "enum: [\"True\", \"False\", Unknown]"),
	ROW(TEXT, CONDITION, reason, "reason", "A word of docs/REASONS.md."),
	ROW(TEXT, CONDITION, message, "message", "The reason as a sentence."),
	ROW(TIME, CONDITION, last_transition, "lastTransitionTime", "When status changed."),
	ROW(INTEGER, CONDITION, observed_generation, "observedGeneration",
	    "metadata.generation of this object that was read."),
	FIELD_END,
};

#define STATUS_LIST(m, number, fields, n, ...)                                                     \
	FIELD_LIST(STATUS, m, number, fields, n, .flags = FIELD_ALWAYS, .limit = STATUS_LIST_MAX,  \
		   __VA_ARGS__)

const struct field autoscaler_status_fields[] = {
	ROW(INTEGER, STATUS, observed_generation, "observedGeneration",
	    "metadata.generation of this object that was read."),
	ROW(INTEGER, STATUS, observed_cluster_generation, "observedClusterGeneration",
	    "metadata.generation of the RayCluster that was read."),
	ROW(TEXT, STATUS, reason, "reason",
	    "The most important reason, a word of docs/REASONS.md."),
	ROW(TEXT, STATUS, message, "message", "The reason as a sentence."),
	ROW(TIME, STATUS, decided_at, "lastDecisionTime",
	    "A recent decision, renewed every 4 to 5 minutes; an older time: the controller makes "
	    "none for this cluster."),
	NULLABLE(STATUS, controller, "controller", "The process that has written that time."),
	ROW(TIME, STATUS, last_scale_time, "lastScaleTime",
	    "When the autoscaler last changed replicas or workersToDelete."),
	FIELD_INTEGER(STATUS, undecided_seconds, "undecidedIntervalSeconds", .flags = FIELD_ALWAYS,
		      .has = FIELD_HAS(STATUS, has_undecided_seconds),
		      .description = "The decision took more CPU time or memory than allowed "
				     "(DecisionTooExpensive). The controller decides again after "
				     "this time, also after a restart. Absent when it was made.",
		      .schema = "format: int64\nminimum: 0\nmaximum: 60"),
	FIELD_OBJECT(summary_fields, "summary", .flags = FIELD_ALWAYS,
		     .description = "Short texts for tables."),
	FIELD_OBJECT(gpus_fields, "gpus", .flags = FIELD_ALWAYS,
		     .description = "GPUs as Ray counts them, shares as their fraction."),
	STATUS_LIST(groups, group_count, group_fields, "groups", .initial = &summary_group_none,
		    .description = "Every worker group of the RayCluster, in its order; at most "
				   "100."),
	COUNT(STATUS, pending_bundles, "pendingBundles",
	      "Bundles of pending tasks, actors and placement groups."),
	STATUS_LIST(pending, pending_count, demand_fields, "demand",
		    .description = "Pending tasks, actors and placement groups, summed by "
				   "resource; GPU first, then other accelerators."),
	STATUS_LIST(requested, requested_count, requested_fields, "requested",
		    .description = "Bundles that request_resources, its annotation or a schedule "
				   "keeps capacity for."),
	STATUS_LIST(unserved, unserved_count, unserved_fields, "infeasible",
		    .read = unserved_decode, .write = write_unserved,
		    .description = "Demand that no worker of any group can serve, by reason."),
	STATUS_LIST(unserved, unserved_count, unserved_fields, "unserved", .read = unserved_decode,
		    .write = write_unserved,
		    .description = "Demand that could be served and is not now, by reason."),
	STATUS_LIST(conditions, condition_count, status_condition_fields, "conditions",
		    .description = "ScalingActive, AbleToScale, ScalingLimited, and others only "
				   "while they are true.",
		    .schema = "x-kubernetes-list-type: map\nx-kubernetes-list-map-keys: [type]"),
	FEATURE_STATUS_ROWS(STATUS, STATUS_LIST_MAX)
		ROW(BOOLEAN, STATUS, truncated, "truncated", "True: a list above is cut."),
	FIELD_END,
};

/* One of an unknown form, which another version has written, counts as absent. A status that is
 * incomplete has no text: it will be written again. */
static int status_decode(const struct json_at *given, const struct field *field, void *object)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_reader printer = { .arena = &scratch };
	struct json_reader reader = { .arena = given->reader->arena };
	struct autoscaler_object *autoscaler = object;
	struct summary *status = ARENA_COPY(reader.arena, &summary_none, 1);
	struct json_at member = *given;
	VEC(struct memory_template) templates = { .at = NULL };
	VEC(struct memory_backoff) backoffs = { .at = NULL };
	bool complete;

	autoscaler->status_text = "";
	if (json_type(&member) != JSON_OBJECT)
		return 0;
	member.reader = &printer;
	if (strlen(json_print(&member)) > AUTOSCALER_STATUS_MAX)
		return 0;
	member.reader = &reader;
	complete = field_decode_each(&member, field->members, status, sizeof(*status));
	for (size_t i = 0; i < status->group_count; i++)
		if (status->groups[i].seen)
			VEC_PUSH(reader.arena, &templates, *status->groups[i].seen);
	for (size_t i = 0; i < status->group_count; i++)
		if (status->groups[i].backoff) {
			VEC_PUSH(reader.arena, &backoffs, *status->groups[i].backoff);
			backoffs.at[backoffs.count - 1].group = status->groups[i].name;
		}
	autoscaler->backoffs = backoffs.at;
	autoscaler->backoff_count = backoffs.count;
	autoscaler->templates = templates.at;
	autoscaler->template_count = templates.count;
	autoscaler->status = status;
	if (complete)
		autoscaler->status_text = autoscaler_status_text(status, reader.arena);
	return 0;
}

/* The parts of the status that decisions use: one after the other, as a reader takes a name twice. */
static void write_parts(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct autoscaler_object *autoscaler = object;

	if (autoscaler->template_count + autoscaler->backoff_count == 0)
		return;
	json_write_object(writer, field->name);
	json_write_array(writer, "groups");
	for (size_t i = 0; i < autoscaler->template_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "name", autoscaler->templates[i].group);
		field_write_object(writer, "seen", memory_template_fields,
				   &autoscaler->templates[i]);
		json_write_object_end(writer);
	}
	for (size_t i = 0; i < autoscaler->backoff_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "name", autoscaler->backoffs[i].group);
		field_write_object(writer, "backoff", plan_backoff_fields,
				   &autoscaler->backoffs[i]);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

/* ---- the object ---- */

const struct field autoscaler_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(autoscaler_spec_fields, "spec", .flags = FIELD_ALWAYS,
		     .description =
			     "Settings of the user, all optional. They override the flags of "
			     "the autoscaler; fields of the RayCluster override them."),
	FIELD_HOOK("status", .members = autoscaler_status_fields, .read = status_decode,
		   .write = write_parts,
		   .description = "State and reasons, written only by the autoscaler."),
	FIELD_NAMES("apiVersion", "kind"),
};

int autoscaler_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct autoscaler_object *ret_autoscaler, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct autoscaler_object, autoscaler_fields,
					       FIELD_PROBLEMS(struct autoscaler_object)),
				   arena, ret_autoscaler, err);
}

/* ---- bodies of requests ---- */

const char *autoscaler_status_text(const struct summary *status, struct arena *arena)
{
	return field_text(autoscaler_status_fields, status, arena);
}

static const struct field created_labels_fields[] = {
	FIELD_FIXED("app.kubernetes.io/managed-by", "rayscaler"),
	FIELD_END,
};

static const struct field owner_fields[] = {
	FIELD_TEXT(struct ray_cluster, api_version, "apiVersion"),
	FIELD_FIXED("kind", "RayCluster"),
	FIELD_TEXT(struct ray_cluster, name, "name"),
	FIELD_TEXT(struct ray_cluster, uid, "uid"),
	FIELD_END,
};

static void write_owner(struct json_writer *writer, const struct field *field, const void *object)
{
	json_write_array(writer, field->name);
	field_write_object(writer, NULL, owner_fields, object);
	json_write_array_end(writer);
}

static const struct field created_metadata_fields[] = {
	FIELD_TEXT(struct ray_cluster, namespace_, "namespace"),
	FIELD_TEXT(struct ray_cluster, name, "name"),
	FIELD_OBJECT(created_labels_fields, "labels"),
	FIELD_HOOK("ownerReferences", .write = write_owner),
	FIELD_END,
};

static const struct field created_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", AUTOSCALER_KIND),
	FIELD_OBJECT(created_metadata_fields, "metadata"),
	FIELD_END,
};

const char *autoscaler_create_body(const struct ray_cluster *cluster, struct arena *arena)
{
	return field_text(created_fields, cluster, arena);
}

const char *autoscaler_status_body(const char *status_text, const char *resource_version,
				   struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, BODY_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS_LINE(&writer, "metadata", { "resourceVersion", resource_version });
	json_write_raw(&writer, "status", status_text);
	json_write_object_end(&writer);
	return arena_strndup(arena, buf_string(&buf), buf.size);
}
