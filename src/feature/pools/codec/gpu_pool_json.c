#include "feature/pools/codec/gpu_pool_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/number.h"

#define POOL struct gpu_pool
#define QUEUE struct gpu_pool_queue
#define SELECTOR struct gpu_pool_selector

#define NAME_MAX 63
#define AMOUNT_MAX (INT64_C(1000000) * RESOURCE_UNIT)
#define LABELS_MAX 100
#define EXPRESSIONS_MAX 20
#define VALUES_MAX 100
#define SECONDS_MAX 2592000
#define BUSY_NEVER "Never"
#define RESERVE_NEVER "Never"

static const struct gpu_pool_queue gpu_pool_queue_initial = {
	.name = "",
	.weight = 1,
	.busy_after_seconds = GPU_POOL_NEVER,
};

static const struct gpu_pool gpu_pool_initial = {
	.name = "",
	.uid = "",
	.resource_version = "",
	.groups = { .accelerator_type = "", .resource_name = "" },
	.idle_after_seconds = GPU_POOL_IDLE_AFTER_SECONDS_DEFAULT,
	.busy_after_seconds = GPU_POOL_NEVER,
	.reserve_after_seconds = GPU_POOL_RESERVE_AFTER_SECONDS_DEFAULT,
	.reserve_at_most_seconds = GPU_POOL_RESERVE_AT_MOST_SECONDS_DEFAULT,
};

const struct gpu_pool_status gpu_pool_status_initial = {
	.held_text = "",
	.reserved_for = "",
	.reserve_again = TIME_NONE,
	.updated = TIME_NONE,
};

/* ---- single values ---- */

static int amount_decode(const struct json_at *member, const struct field *field, void *object)
{
	int64_t *amount = field_value(field, object);
	bool given = json_is_given(member);
	const char *problem = NULL;

	if (!given)
		return 0;
	if (json_expect(member, JSON_NUMBER))
		return -1;
	if (field->has)
		memcpy((char *)object + field->has, &given, sizeof(given));
	*amount = amount_from_double(json_number_value(member), &problem);
	if (!problem && *amount <= AMOUNT_MAX)
		return 0;
	json_problem(member, "must be 0 to %lld GPUs", (long long)(AMOUNT_MAX / RESOURCE_UNIT));
	*amount = 0;
	return 0;
}

/* The keyword of the row's schema: a limit is written once. */
static int64_t limit_of(const struct field *field, const char *keyword)
{
	return strtoll(strstr(field->schema, keyword) + strlen(keyword), NULL, 10);
}

static int check_range(const struct json_at *member, const struct field *field, void *object)
{
	int64_t *value = field_value(field, object);
	int64_t least = limit_of(field, "minimum: "), most = limit_of(field, "maximum: ");

	if (*value >= least && *value <= most)
		return 0;
	json_problem(member, "must be %lld to %lld, is %lld", (long long)least, (long long)most,
		     (long long)*value);
	*value = least > 0 ? least : 0;
	return 0;
}

#define NUMBER(T, m, n, least, most, ...)                                                          \
	FIELD_INTEGER(T, m, n, .check = check_range,                                               \
		      .schema = "format: int32\nminimum: " #least "\nmaximum: " #most,             \
		      __VA_ARGS__)
#define GPUS(T, m, n, ...)                                                                         \
	FIELD_AMOUNT(T, m, n, .read = amount_decode, .schema = "minimum: 0\nmaximum: 1000000",     \
		     __VA_ARGS__)
#define LABELS(T, m, n, least, ...)                                                                \
	FIELD_LABELS(T, m, n, .check = check_label_count,                                          \
		     .schema = least "maxProperties: 100\n"                                        \
				     "additionalProperties: {type: string, maxLength: 63}",        \
		     __VA_ARGS__)

/* ---- reclaim ---- */

struct busy {
	bool has_after_seconds;
	int64_t after_seconds;
};

static const struct field busy_fields[] = {
	FIELD_INTEGER(struct busy, after_seconds, "afterSeconds",
		      .description = "Until the Pod ends; Ray reports PREEMPTION to the tasks and "
				     "actors on it.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 2592000"),
	FIELD_NAMES(NULL),
};

static int busy_read(const struct json_at *member, int64_t *ret_seconds)
{
	bool has = false;

	if (json_integer(member, "afterSeconds", &has, ret_seconds))
		return -1;
	if (has && *ret_seconds >= 1 && *ret_seconds <= SECONDS_MAX)
		return 0;
	json_problem(member,
		     "must be " BUSY_NEVER " or {afterSeconds: N} with 1 to %d s; it counts "
		     "as " BUSY_NEVER,
		     SECONDS_MAX);
	*ret_seconds = GPU_POOL_NEVER;
	return 0;
}

static int busy_decode(const struct json_at *member, const struct field *field, void *object)
{
	bool given = json_is_given(member);
	int64_t seconds = GPU_POOL_NEVER;

	if (!given)
		return 0;
	if (json_type(member) == JSON_OBJECT ||
	    strcmp(json_type(member) == JSON_STRING ? json_text_value(member) : "", BUSY_NEVER) !=
		    0) {
		if (busy_read(member, &seconds))
			return -1;
	}
	memcpy(field_value(field, object), &seconds, sizeof(seconds));
	if (field->has)
		memcpy((char *)object + field->has, &given, sizeof(given));
	return 0;
}

static void write_busy(struct json_writer *writer, const struct field *field, const void *object)
{
	const int64_t *seconds = field_value_read(field, object);

	if (*seconds == GPU_POOL_NEVER) {
		json_write_text(writer, field->name, BUSY_NEVER);
		return;
	}
	json_write_object_line(writer, field->name);
	json_write_integer(writer, "afterSeconds", *seconds);
	json_write_object_end(writer);
}

/* The schema has no type: a string or an object. */
#define BUSY(T, m, ...)                                                                            \
	FIELD_HOOK("busy", .offset = FIELD_OFFSET(T, m, int64_t), .size = sizeof(int64_t),         \
		   .members = busy_fields, .read = busy_decode, .write = write_busy,               \
		   .schema = "x-kubernetes-preserve-unknown-fields: true\n"                        \
			     "pattern: ^" BUSY_NEVER "$\n"                                         \
			     "required: [afterSeconds]",                                           \
		   __VA_ARGS__)

static const struct field reclaim_fields[] = {
	NUMBER(POOL, idle_after_seconds, "idleAfterSeconds", 0, 2592000, .flags = FIELD_ALWAYS,
	       .description = "An idle worker above its queue's guarantee is terminated after "
			      "this time while others wait. 5 if absent."),
	BUSY(POOL, busy_after_seconds,
	     .description = "Never, the default: busy workers run until they are idle. "
			    "{afterSeconds: N}: a worker above its queue's guarantee is drained "
			    "with that deadline while a queue below its guarantee waits. It may "
			    "also use reserved GPUs, and then ends for the reservation."),
	FIELD_BOOLEAN(POOL, keeps_protected, "keepDoNotDisrupt",
		      .description = "Also beyond the guarantee, worker Pods with the annotation "
				     "rayscaler.dev/do-not-disrupt do not end for others. "
				     "Otherwise they end as busy ones, after those."),
	FIELD_NAMES(NULL),
};

/* ---- reservations ---- */

static int reserve_decode(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	POOL *pool = object;
	double number;

	if (!json_is_given(member))
		return 0;
	if (json_type(member) == JSON_STRING &&
	    strcmp(json_text_value(member), RESERVE_NEVER) == 0) {
		pool->reserve_after_seconds = GPU_POOL_NEVER;
		return 0;
	}
	number = json_type(member) == JSON_NUMBER ? json_number_value(member) : -1;
	if (number >= 0 && number <= SECONDS_MAX && number == (double)(int64_t)number)
		pool->reserve_after_seconds = (int64_t)number;
	else
		json_problem(member, "must be " RESERVE_NEVER " or 0 to %d s", SECONDS_MAX);
	return 0;
}

static void write_reserve(struct json_writer *writer, const struct field *field, const void *object)
{
	const POOL *pool = object;

	if (pool->reserve_after_seconds == GPU_POOL_NEVER)
		json_write_text(writer, field->name, RESERVE_NEVER);
	else
		json_write_integer(writer, field->name, pool->reserve_after_seconds);
}

static const struct field reserve_fields[] = {
	NUMBER(POOL, reserve_at_most_seconds, "atMostSeconds", 1, 2592000, .flags = FIELD_ALWAYS,
	       .description = "The longest time of reservations without a pause; others then "
			      "have as long. None for GPUs of work that is older. 1800 if "
			      "absent."),
	FIELD_NAMES(NULL),
};

/* ---- repair ---- */

static const struct field repair_fields[] = {
	NUMBER(POOL, repair_nodes, "maxUnavailable", 0, 100000,
	       .has = FIELD_HAS(POOL, has_repair_nodes),
	       .description = "At most so many Nodes with workers of the pool are emptied at once, "
			      "beside the limits of the cluster and of the fleet; 0: none."),
	NUMBER(POOL, repair_percent, "maxUnavailablePercent", 0, 100,
	       .has = FIELD_HAS(POOL, has_repair_percent),
	       .description =
		       "The same, of the Nodes with workers of the pool. The larger counts."),
	FIELD_NAMES(NULL),
};

/* ---- groups ---- */

static int check_label_count(const struct json_at *member, const struct field *field UNUSED,
			     void *object UNUSED)
{
	if (json_count(member) > LABELS_MAX)
		json_problem(member, "has %zu labels; at most %d are allowed", json_count(member),
			     LABELS_MAX);
	return 0;
}

static int check_groups(const struct json_at *member, const struct field *field UNUSED,
			void *object)
{
	const POOL *pool = object;
	const struct gpu_pool_groups *groups = &pool->groups;

	if (*groups->accelerator_type == '\0' && *groups->resource_name == '\0' &&
	    groups->node_selector.count == 0)
		json_problem(member, "is empty; set acceleratorType, resourceName or nodeSelector, "
				     "or remove it: then all groups with GPUs draw from the pool");
	return 0;
}

static const struct field groups_fields[] = {
	FIELD_TEXT(struct gpu_pool_groups, accelerator_type, "acceleratorType",
		   .description = "As Ray's label ray.io/accelerator-type: A100.",
		   .schema = "minLength: 1\nmaxLength: 63"),
	FIELD_TEXT(struct gpu_pool_groups, resource_name, "resourceName",
		   .description = "In the limits of the Ray container: nvidia.com/gpu.",
		   .schema = "minLength: 1\nmaxLength: 317"),
	LABELS(struct gpu_pool_groups, node_selector, "nodeSelector", "minProperties: 1\n",
	       .description = "Each is in the nodeSelector of the group's template."),
	FIELD_NAMES(NULL),
};

/* ---- queues ---- */

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int expressions_decode(const struct json_at *member, const struct field *field, void *object)
{
	const SELECTOR *selector = object;

	if (field_decode(member, field, object))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		const struct node_expression *expression = &selector->expressions[e.index];
		bool values = is_one_of(expression->operation, "In", "NotIn");

		if (*expression->key == '\0')
			json_problem(&e, "has no key; name a label of namespaces");
		if (!values && !is_one_of(expression->operation, "Exists", "DoesNotExist"))
			json_problem(&e,
				     "operator must be In, NotIn, Exists or DoesNotExist, is "
				     "\"%.40s\"",
				     expression->operation);
		else if (values && expression->values.count == 0)
			json_problem(&e, "%s needs values: add them", expression->operation);
		else if (!values && expression->values.count > 0)
			json_problem(&e, "%s takes no values; remove them", expression->operation);
		if (expression->values.count > VALUES_MAX)
			json_problem(&e, "has %zu values; at most %d are allowed",
				     expression->values.count, VALUES_MAX);
	}
	return 0;
}

static const struct field expression_fields[] = {
	FIELD_TEXT(struct node_expression, key, "key", .flags = FIELD_REQUIRED,
		   .description = "Of a label.", .schema = "minLength: 1\nmaxLength: 317"),
	FIELD_TEXT(struct node_expression, operation, "operator", .flags = FIELD_REQUIRED,
		   .description = "In, NotIn, Exists or DoesNotExist.",
		   .schema = "enum: [In, NotIn, Exists, DoesNotExist]"),
	FIELD_TEXTS(struct node_expression, values, "values", .description = "Of In and NotIn.",
		    .schema = "maxItems: 100\nx-kubernetes-list-type: atomic\n"
			      "items: {type: string, maxLength: 63}"),
	FIELD_NAMES(NULL),
};

static const struct field selector_fields[] = {
	LABELS(SELECTOR, match_labels, "matchLabels", "",
	       .description = "A namespace has all of them."),
	FIELD_LIST(SELECTOR, expressions, expression_count, expression_fields, "matchExpressions",
		   .flags = FIELD_LINE, .limit = EXPRESSIONS_MAX, .read = expressions_decode,
		   .description = "All of them hold.",
		   .schema = "maxItems: 20\nx-kubernetes-list-type: atomic",
		   .element_schema = "x-kubernetes-validations:\n"
				     "- rule: (self.operator in ['In', 'NotIn']) == "
				     "(has(self.values) && size(self.values) > 0)\n"
				     "  message: In and NotIn need values, Exists and DoesNotExist "
				     "take none"),
	FIELD_NAMES(NULL),
};

static bool is_name(const char *name)
{
	size_t size = strlen(name);

	return size > 0 && size <= NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size && *name != '-' &&
	       name[size - 1] != '-';
}

static int name_decode(const struct json_at *member, const struct field *field, void *object)
{
	const QUEUE *queue = object;

	if (field_decode(member, field, object))
		return -1;
	if (!is_name(queue->name))
		json_problem(member,
			     "must have 1 to %d of a-z, 0-9 and -, as research-1; is \"%.80s\"",
			     NAME_MAX, queue->name);
	for (size_t i = 1; i <= member->parent->index; i++)
		if (*queue->name != '\0' && strcmp(queue[-(ptrdiff_t)i].name, queue->name) == 0) {
			json_problem(member, "%.63s is the name of an earlier queue; rename one",
				     queue->name);
			break;
		}
	return 0;
}

static int selector_decode(const struct json_at *member, const struct field *field, void *object)
{
	if (!json_is_given(member))
		json_problem(member, "is required: labels of the team's namespaces; {} selects all "
				     "namespaces");
	return field_decode(member, field, object);
}

static const struct field queue_fields[] = {
	FIELD_TEXT(QUEUE, name, "name", .read = name_decode, .flags = FIELD_REQUIRED,
		   .description = "Of the team.",
		   .schema = "minLength: 1\nmaxLength: 63\n"
			     "pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"),
	FIELD_PART(QUEUE, namespaces, selector_fields, "namespaceSelector",
		   .flags = FIELD_REQUIRED | FIELD_ALWAYS | FIELD_LINE, .read = selector_decode,
		   .description = "Labels of the team's namespaces; {} selects all. A namespace "
				  "belongs to the first queue that selects it."),
	GPUS(QUEUE, guaranteed, "guaranteed",
	     .description = "GPUs that the queue gets when it asks for them. 0 if absent."),
	GPUS(QUEUE, maximum, "maximum", .has = FIELD_HAS(QUEUE, has_maximum),
	     .description = "It never gets more; the whole pool if absent."),
	GPUS(QUEUE, lendable, "lendable", .has = FIELD_HAS(QUEUE, has_lendable),
	     .description = "Of the guarantee, GPUs that others may borrow while the queue "
			    "does not need them; all if absent."),
	NUMBER(QUEUE, weight, "weight", 1, 1000000,
	       .description = "Share of what is left beyond the guarantees. 1 if absent."),
	NUMBER(QUEUE, priority, "priority", -1000000, 1000000,
	       .description = "Higher ones borrow first. 0 if absent."),
	BUSY(QUEUE, busy_after_seconds, .has = FIELD_HAS(QUEUE, has_busy),
	     .description = "As reclaim.busy, for workers of this queue."),
	FIELD_NAMES(NULL),
};

/* Problems of two members of one queue. */
static void check_queue(const struct json_at *at, const QUEUE *queue)
{
	struct arena *arena = at->reader->arena;
	const char *guaranteed = resource_amount_text(arena, queue->guaranteed);

	if (queue->has_maximum && queue->guaranteed > queue->maximum)
		json_problem(at,
			     "guaranteed is %s, above maximum, which is %s; raise maximum or lower "
			     "guaranteed",
			     guaranteed, resource_amount_text(arena, queue->maximum));
	if (queue->has_lendable && queue->lendable > queue->guaranteed)
		json_problem(at,
			     "lendable is %s, above guaranteed, which is %s; lower lendable or "
			     "remove it",
			     resource_amount_text(arena, queue->lendable), guaranteed);
}

static int queues_decode(const struct json_at *member, const struct field *field, void *object)
{
	const POOL *pool = object;

	if (field_decode(member, field, object))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e))
		check_queue(&e, &pool->queues[e.index]);
	return 0;
}

static const struct field spec_fields[] = {
	FIELD_PART(POOL, groups, groups_fields, "groups", .flags = FIELD_LINE,
		   .check = check_groups,
		   .description = "The worker groups that draw from the pool: all given members "
				  "match. All groups with GPUs if absent. A group draws from the "
				  "first pool by name that matches.",
		   .schema = "minProperties: 1"),
	GPUS(POOL, gpus, "gpus", .has = FIELD_HAS(POOL, has_gpus),
	     .description = "GPUs of the pool. If absent, the allocatable GPUs of the Nodes "
			    "that match groups."),
	FIELD_LIST(POOL, queues, queue_count, queue_fields, "queues", .limit = GPU_POOL_QUEUES_MAX,
		   .initial = &gpu_pool_queue_initial, .read = queues_decode,
		   .description = "The teams. Namespaces that none selects share a queue without a "
				  "guarantee.",
		   .schema = "maxItems: 200\n"
			     "x-kubernetes-list-type: map\n"
			     "x-kubernetes-list-map-keys: [name]",
		   .element_schema =
			   "x-kubernetes-validations:\n"
			   "- rule: \"!has(self.maximum) || !has(self.guaranteed) || "
			   "self.guaranteed <= self.maximum\"\n"
			   "  message: guaranteed is above maximum; raise maximum or lower "
			   "guaranteed\n"
			   "- rule: \"!has(self.lendable) || (has(self.guaranteed) && "
			   "self.lendable <= self.guaranteed)\"\n"
			   "  message: lendable is above guaranteed; lower lendable or remove it"),
	FIELD_OBJECT(reclaim_fields, "reclaim", .flags = FIELD_LINE,
		     .description = "When workers are terminated for other queues."),
	FIELD_HOOK("reserveAfterSeconds",
		   .offset = FIELD_OFFSET(POOL, reserve_after_seconds, int64_t),
		   .size = sizeof(int64_t), .read = reserve_decode, .write = write_reserve,
		   .flags = FIELD_ALWAYS,
		   .description = "For a placement group or slice that waits longer, free GPUs "
				  "are kept; Never: for none. 120 if absent.",
		   .schema = "x-kubernetes-int-or-string: true\nminimum: 0\nmaximum: 2592000\n"
			     "pattern: ^" RESERVE_NEVER "$"),
	FIELD_OBJECT(reserve_fields, "reserve", .flags = FIELD_LINE,
		     .description = "How long GPUs are kept for placement groups and slices."),
	FIELD_OBJECT(repair_fields, "repair", .flags = FIELD_LINE,
		     .description = "Nodes that are to be repaired."),
	FIELD_BOOLEAN(POOL, kueue_outside, "kueueOutside",
		      .description =
			      "RayClusters whose Workload of Kueue has quota ask this pool for "
			      "nothing, and it limits them in nothing; their GPUs count as "
			      "held. Needs the right to list and watch Workloads."),
	FIELD_NAMES(NULL),
};

/* ---- status ---- */

#define STATUS struct gpu_pool_status
#define QUEUE_STATUS struct gpu_pool_queue_status
#define WAITING struct gpu_pool_waiting

#define AMOUNT(T, m, n, text)                                                                      \
	FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS | FIELD_QUOTED, .description = (text))
#define STATUS_LIST(m, number, fields, n, ...)                                                     \
	FIELD_LIST(STATUS, m, number, fields, n, .flags = FIELD_ALWAYS, __VA_ARGS__)

/* A status may hold any number: these are added up. */
static int bound_count(const struct json_at *member UNUSED, const struct field *field, void *object)
{
	int64_t *count = field_value(field, object);

	*count = *count < 0 ? 0 : *count;
	return 0;
}

/* "research 20/16, serving 24/24": held and guaranteed, of the first queues. */
#define SUMMARY_QUEUES 4

static const char *queues_text(const STATUS *status, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < status->queue_count && i <= SUMMARY_QUEUES; i++) {
		const QUEUE_STATUS *queue = &status->queues[i];

		text = i == SUMMARY_QUEUES ?
			       arena_printf(arena, "%s, ...", text) :
			       arena_printf(arena, "%s%s%s %s/%s", text, i > 0 ? ", " : "",
					    *queue->name != '\0' ? queue->name : "(others)",
					    resource_amount_text(arena, queue->held),
					    resource_amount_text(arena, queue->guaranteed));
	}
	return text;
}

const char *gpu_pool_held_text(const struct gpu_pool_status *status, struct arena *arena)
{
	return arena_printf(arena, "%s of %s", resource_amount_text(arena, status->held),
			    resource_amount_text(arena, status->gpus));
}

static void write_held(struct json_writer *writer, const struct field *field, const void *object)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	json_write_text(writer, field->name, gpu_pool_held_text(object, &arena));
}

static void write_queues(struct json_writer *writer, const struct field *field, const void *object)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	json_write_text(writer, field->name, queues_text(object, &arena));
}

static const struct field summary_fields[] = {
	FIELD_TEXT(STATUS, held_text, "gpus", .flags = FIELD_ALWAYS, .write = write_held,
		   .description = "GPUs held and GPUs of the pool."),
	FIELD_HOOK("queues", .flags = FIELD_ALWAYS, .write = write_queues,
		   .description = "GPUs held and guaranteed, of the first queues.",
		   .schema = "type: string"),
	FIELD_END,
};

static const struct field gpus_fields[] = {
	AMOUNT(STATUS, gpus, "total", "Of the pool."),
	AMOUNT(STATUS, held, "held", "By RayClusters, starting workers included."),
	AMOUNT(STATUS, waiting, "waiting", "Requested by demand that waits for the pool."),
	FIELD_END,
};

static const struct field queue_status_fields[] = {
	FIELD_TEXT(QUEUE_STATUS, name, "name", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Of spec; empty: namespaces that no queue selects."),
	AMOUNT(QUEUE_STATUS, held, "held", "GPUs of its RayClusters, starting workers included."),
	AMOUNT(QUEUE_STATUS, busy, "busy", "Of held, in use."),
	AMOUNT(QUEUE_STATUS, idle, "idle", "Of held, not in use."),
	AMOUNT(QUEUE_STATUS, borrowed, "borrowed", "Of held, beyond the guarantee."),
	AMOUNT(QUEUE_STATUS, guaranteed, "guaranteed", "Of spec."),
	AMOUNT(QUEUE_STATUS, waiting, "waiting", "GPUs that its waiting demand requests."),
	FIELD_INTEGER(QUEUE_STATUS, waiting_units, "waitingUnits", .flags = FIELD_ALWAYS,
		      .check = bound_count,
		      .description = "Replicas, slices and placement groups that wait."),
	AMOUNT(QUEUE_STATUS, share, "share",
	       "GPUs beyond the guarantee, divided by the weight and by the GPUs of the pool."),
	FIELD_TIME(QUEUE_STATUS, below_guarantee_since, "belowGuaranteeSince",
		   .description =
			   "Since when a unit waits that it would have within its guarantee; "
			   "absent: none does."),
	FIELD_INTEGER(QUEUE_STATUS, unused_seconds, "unusedGPUSeconds", .check = bound_count,
		      .description =
			      "GPU time for which GPUs stayed unused while they were saved for its "
			      "units. A twentieth of its use and of the pool's time is taken "
			      "off; until then no others are saved. Absent: 0."),
	FIELD_TIME(QUEUE_STATUS, saved_since, "savedSince",
		   .description = "Since when GPUs are saved for a unit of it; absent: none are."),
	FIELD_TIME(QUEUE_STATUS, granted_since, "savedGrantedSince",
		   .description =
			   "Since when a unit is granted GPUs that were saved for it; absent: "
			   "none is, or it is launched."),
	FIELD_END,
};

static const struct field waiting_fields[] = {
	FIELD_TEXT(WAITING, cluster, "cluster", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Namespace and name of the RayCluster."),
	FIELD_TEXT(WAITING, groups, "groups", .flags = FIELD_ALWAYS,
		   .description = "Worker groups with the number of replicas of one unit."),
	AMOUNT(WAITING, gpus, "gpus", "Of one unit."),
	FIELD_INTEGER(WAITING, count, "count", .flags = FIELD_ALWAYS, .check = bound_count,
		      .description = "Equal units."),
	FIELD_TIME(WAITING, since, "since", .description = "Their place in the order."),
	FIELD_END,
};

static const struct field status_condition_fields[] = {
	FIELD_TEXT(struct condition, type, "type", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Name of the condition."),
	FIELD_TEXT(struct condition, status, "status", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "Whether it is true.",
		   .schema = "enum: [\"True\", \"False\", Unknown]"),
	FIELD_TEXT(struct condition, reason, "reason", .flags = FIELD_ALWAYS,
		   .description = "A word of docs/REASONS.md."),
	FIELD_TEXT(struct condition, message, "message", .flags = FIELD_ALWAYS,
		   .description = "The reason as a sentence."),
	FIELD_TIME(struct condition, last_transition, "lastTransitionTime",
		   .description = "When status changed."),
	FIELD_END,
};

/* One for each queue of spec, and the one of the other namespaces. */
static const QUEUE_STATUS queue_status_initial = { .name = "",
						   .below_guarantee_since = TIME_NONE,
						   .saved_since = TIME_NONE,
						   .granted_since = TIME_NONE };
static const WAITING waiting_initial = { .cluster = "", .groups = "", .since = TIME_NONE };

#define CONDITIONS_MAX 10

const struct field gpu_pool_status_fields[] = {
	FIELD_INTEGER(STATUS, observed_generation, "observedGeneration", .flags = FIELD_ALWAYS,
		      .description = "metadata.generation of this object that was read."),
	FIELD_OBJECT(summary_fields, "summary", .flags = FIELD_ALWAYS,
		     .description = "Short texts for tables."),
	FIELD_OBJECT(gpus_fields, "gpus", .flags = FIELD_ALWAYS,
		     .description = "GPUs of all queues, shares of a GPU as their fraction."),
	STATUS_LIST(queues, queue_count, queue_status_fields, "queues",
		    .limit = GPU_POOL_QUEUES_MAX + 1, .initial = &queue_status_initial,
		    .description = "In the order of spec; last the namespaces that none selects."),
	STATUS_LIST(waiting_units, waiting_unit_count, waiting_fields, "waiting",
		    .limit = GPU_POOL_WAITING_MAX, .initial = &waiting_initial,
		    .description = "What waits, the oldest first; at most 1000 entries. A new "
				   "leader keeps their places."),
	FIELD_TEXT(STATUS, reserved_for, "reservedFor", .flags = FIELD_ALWAYS,
		   .description =
			   "RayCluster and groups for which free GPUs are kept; empty: none."),
	FIELD_TIME(STATUS, reserve_again, "reserveAgain",
		   .description =
			   "GPUs are saved again then, after they were too long; absent: now."),
	FIELD_INTEGER(STATUS, failures, "reserveFailures", .check = bound_count,
		      .description = "How often in a row they were too long. Absent: 0."),
	STATUS_LIST(conditions.at, conditions.count, status_condition_fields, "conditions",
		    .limit = CONDITIONS_MAX,
		    .description = "Ready: False when spec is invalid; then the pool grants "
				   "nothing and terminates nothing.",
		    .schema = "x-kubernetes-list-type: map\nx-kubernetes-list-map-keys: [type]"),
	FIELD_TIME(STATUS, updated, "lastUpdateTime", .flags = FIELD_ALWAYS,
		   .description = "When the controller has written this status."),
	FIELD_END,
};

/* Member by member: one of an unknown form, which another version has written, counts as absent. */
static int status_decode(const struct json_at *given, const struct field *field, void *object)
{
	struct json_reader reader = { .arena = given->reader->arena };
	STATUS *status = ARENA_COPY(reader.arena, &gpu_pool_status_initial, 1);
	struct json_at member = *given;
	POOL *pool = object;

	if (json_type(given) != JSON_OBJECT)
		return 0;
	member.reader = &reader;
	(void)field_decode_each(&member, field->members, status, sizeof(*status));
	pool->status = status;
	return 0;
}

/* ---- the object ---- */

static const struct field metadata_fields[] = {
	FIELD_NAME(POOL, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(POOL, uid, "uid", .flags = FIELD_UNWRITTEN),
	FIELD_TEXT(POOL, resource_version, "resourceVersion"),
	FIELD_INTEGER(POOL, generation, "generation"),
	FIELD_CHECK(FIELD_KIND_LABELS, "labels"),
	FIELD_CHECK(FIELD_KIND_NOTES, "annotations"),
	FIELD_CHECK(FIELD_KIND_TIME, "creationTimestamp"),
	FIELD_CHECK(FIELD_KIND_TIME, "deletionTimestamp"),
	FIELD_END,
};

const struct field gpu_pool_fields[] = {
	FIELD_OBJECT(metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(spec_fields, "spec", .flags = FIELD_ALWAYS,
		     .description = "GPUs, the worker groups that draw from them, and the teams."),
	FIELD_POINTER(POOL, status, gpu_pool_status_fields, "status", .read = status_decode,
		      .flags = FIELD_UNWRITTEN,
		      .description = "Figures of each queue, written only by the autoscaler."),
	FIELD_NAMES("apiVersion", "kind"),
};

int gpu_pool_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct gpu_pool *ret_pool, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(POOL, gpu_pool_fields, .initial = &gpu_pool_initial,
					       FIELD_PROBLEMS(POOL)),
				   arena, ret_pool, err);
}

int gpu_pool_decode_unreadable(const struct cJSON *json, const char *why, struct arena *arena,
			       struct gpu_pool *ret_pool)
{
	static const struct field status_row[] = {
		FIELD_POINTER(POOL, status, gpu_pool_status_fields, "status",
			      .read = status_decode),
		FIELD_END,
	};
	struct json_reader reader = { .arena = arena, .err = NULL };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	const char **problems = arena_array(arena, 1, sizeof(*problems));
	POOL pool = gpu_pool_initial;

	(void)field_decode_each(&metadata, metadata_fields, &pool, sizeof(pool));
	if (*pool.name == '\0')
		return -1;
	(void)field_decode_all(&root, status_row, &pool);
	problems[0] = arena_text(arena, why);
	pool.problems = (struct strings){ problems, 1 };
	*ret_pool = pool;
	return 0;
}

const char *gpu_pool_status_text(const struct gpu_pool_status *status, struct arena *arena)
{
	return field_text(gpu_pool_status_fields, status, arena);
}
