#include "codec/objects/ray_state_json.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/text.h"
#include "codec/schema/field.h"
#include "codec/text/base64.h"
#include "codec/text/number.h"

static const char *status_word(unsigned value)
{
	static const char *const words[] = {
		[RAY_NODE_UNSPECIFIED] = "UNSPECIFIED",
		[RAY_NODE_RUNNING] = "RUNNING",
		[RAY_NODE_DEAD] = "DEAD",
		[RAY_NODE_IDLE] = "IDLE",
		[RAY_NODE_DRAINING] = "DRAINING",
	};

	return words[value];
}

static const char *operator_word(unsigned value)
{
	static const char *const words[] = {
		[LABEL_OPERATOR_UNSPECIFIED] = "LABEL_OPERATOR_UNSPECIFIED",
		[LABEL_OPERATOR_IN] = "LABEL_OPERATOR_IN",
		[LABEL_OPERATOR_NOT_IN] = "LABEL_OPERATOR_NOT_IN",
	};

	return words[value];
}

FIELD_WORDS(placement_strategy, enum placement_strategy)

/* The row of an enum of 32 bits, whose last value is `last`. */
#define ENUM(T, m, type, words, last, n)                                                           \
	FIELD_HOOK(n, .offset = FIELD_OFFSET(T, m, type), .word = (words), .limit = (last) + 1,    \
		   .read = enum_decode, .write = write_enum)

/* A number or a word; an unknown word is a problem and gives -1. */
static int enum_decode(const struct json_at *member, const struct field *field, void *object)
{
	int64_t number = 0;
	int32_t value;

	if (json_type(member) == JSON_STRING) {
		number = -1;
		for (unsigned i = 0; i < field->limit; i++)
			if (strcmp(field->word(i), json_text_value(member)) == 0)
				number = i;
		if (number < 0)
			json_problem(member, "\"%.40s\" is not known", json_text_value(member));
	} else if (json_is_given(member) && json_integer_value(member, &number)) {
		return -1;
	}
	if (number < INT32_MIN || number > INT32_MAX)
		return json_fail(member, "must be a number of an enum");
	value = (int32_t)number;
	memcpy(field_value(field, object), &value, sizeof(value));
	return 0;
}

static void write_enum(struct json_writer *writer, const struct field *field, const void *object)
{
	int32_t value;

	memcpy(&value, field_value_read(field, object), sizeof(value));
	if (value > 0 && (size_t)value < field->limit)
		json_write_text(writer, field->name, field->word((unsigned)value));
	else if (value != 0)
		json_write_integer(writer, field->name, value);
}

/* A number, or a string of one ("NaN", "Infinity", "1.5"). */
static int double_decode(const struct json_at *at, double *ret_value)
{
	if (json_type(at) == JSON_STRING) {
		if (number_parse(json_text_value(at), ret_value))
			return json_fail(at, "must be a number, is \"%.40s\"", json_text_value(at));
		return 0;
	}
	if (json_expect(at, JSON_NUMBER))
		return -1;
	*ret_value = json_number_value(at);
	return 0;
}
/* ---- requests ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct bundle_entry *left = a, *right = b;

	return strcmp(left->name, right->name);
}

void ray_request_set_bundle(struct ray_request *request, struct bundle_entry *entries, size_t count,
			    struct arena *arena)
{
	size_t kept = 0;

	sort_stable(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++) {
		struct bundle_entry entry = entries[i];
		const char *problem;

		if (i + 1 < count && strcmp(entry.name, entries[i + 1].name) == 0)
			continue;
		entry.amount = amount_from_double(entry.received, &problem);
		if (problem && !request->problem)
			request->problem = arena_printf(arena, "%s %s", entry.name, problem);
		entries[kept++] = entry;
	}
	if (request->problem)
		for (size_t i = 0; i < kept; i++)
			entries[i].amount = 0;
	request->bundle = entries;
	request->bundle_count = kept;
}

static int bundle_decode(const struct json_at *member, const struct field *field UNUSED,
			 void *object)
{
	struct arena *arena = member->reader->arena;
	VEC(struct bundle_entry) entries = { .at = NULL };

	if (json_optional(member, JSON_OBJECT))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct bundle_entry *entry = VEC_ADD(arena, &entries);
		const char *problem;

		entry->name = arena_strdup(arena, e.name);
		if (double_decode(&e, &entry->received))
			return -1;
		amount_from_double(entry->received, &problem);
		if (problem)
			json_problem(&e, "%s", problem);
	}
	ray_request_set_bundle(object, entries.at, entries.count, arena);
	return 0;
}

void ray_bundle_write(struct json_writer *writer, const char *name,
		      const struct ray_request *request)
{
	json_write_object(writer, name);
	for (size_t i = 0; i < request->bundle_count; i++)
		json_write_double(writer, request->bundle[i].name, request->bundle[i].received);
	json_write_object_end(writer);
}

static void write_bundle(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct ray_request *request = object;

	if (request->bundle_count > 0)
		ray_bundle_write(writer, field->name, request);
}

static int check_count(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct ray_request_count *counted = object;

	if (counted->count < 0) {
		json_problem(member->parent, "count must not be negative, is %lld",
			     (long long)counted->count);
		counted->count = 0;
	}
	return 0;
}

static const struct field label_fields[] = {
	FIELD_TEXT(struct label, key, "labelName"),
	FIELD_TEXT(struct label, value, "labelValue"),
	FIELD_END,
};

static const struct field placement_fields[] = {
	FIELD_PART(struct placement_constraint, anti_affinity, label_fields, "antiAffinity",
		   .has = FIELD_HAS(struct placement_constraint, has_anti_affinity)),
	FIELD_PART(struct placement_constraint, affinity, label_fields, "affinity",
		   .has = FIELD_HAS(struct placement_constraint, has_affinity)),
	FIELD_END,
};

static const struct field constraint_fields[] = {
	FIELD_TEXT(struct label_constraint, key, "labelKey"),
	ENUM(struct label_constraint, operation, int32_t, operator_word, LABEL_OPERATOR_NOT_IN,
	     "operator"),
	FIELD_TEXTS(struct label_constraint, values, "labelValues"),
	FIELD_END,
};

static const struct field selector_fields[] = {
	FIELD_LIST(struct label_selector, constraints, count, constraint_fields,
		   "labelConstraints"),
	FIELD_END,
};

const struct field ray_request_fields[] = {
	FIELD_HOOK("resourcesBundle", .read = bundle_decode, .write = write_bundle),
	FIELD_LIST(struct ray_request, placements, placement_count, placement_fields,
		   "placementConstraints"),
	FIELD_LIST(struct ray_request, selectors, selector_count, selector_fields,
		   "labelSelectors"),
	FIELD_END,
};

static const struct field counted_fields[] = {
	FIELD_PART(struct ray_request_count, request, ray_request_fields, "request",
		   .flags = FIELD_ALWAYS),
	FIELD_INTEGER(struct ray_request_count, count, "count", .flags = FIELD_QUOTED,
		      .check = check_count),
	FIELD_END,
};

static const struct field locality_constraint_fields[] = {
	FIELD_TEXT(struct locality, label, "labelName"),
	ENUM(struct locality, strategy, int32_t, placement_strategy_word, PLACEMENT_STRATEGIES - 1,
	     "placementStrategy"),
	FIELD_END,
};

static const struct field locality_fields[] = {
	FIELD_OBJECT(locality_constraint_fields, "localityConstraint"),
	FIELD_PART(struct locality, selector, selector_fields, "labelSelector"),
	FIELD_END,
};

static const struct field bundle_selector_fields[] = {
	FIELD_LIST(struct bundle_selector, requests, count, ray_request_fields, "resourceRequests"),
	FIELD_PART(struct bundle_selector, locality, locality_fields, "localityRequirement"),
	FIELD_END,
};

static const struct field gang_fields[] = {
	FIELD_LIST(struct ray_gang, requests, request_count, ray_request_fields, "requests"),
	FIELD_TEXT(struct ray_gang, details, "details"),
	FIELD_LIST(struct ray_gang, selectors, selector_count, bundle_selector_fields,
		   "bundleSelectors"),
	FIELD_END,
};

static const struct field cluster_constraint_fields[] = {
	FIELD_LIST(struct ray_constraint, requests, count, counted_fields, "resourceRequests"),
	FIELD_END,
};

/* ---- nodes ---- */

/* Lower-case hex of base64; text that is not base64 is a problem and gives "". */
static int id_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	static const char digits[] = "0123456789abcdef";
	struct ray_node *node = object;
	struct arena *arena = member->reader->arena;
	char *bytes, *hex;
	size_t size;

	if (json_optional(member, JSON_STRING))
		return -1;
	node->id = "";
	if (base64_decode(json_text_or_none(member), arena, &bytes, &size)) {
		json_problem(member, "is not base64");
		return 0;
	}
	hex = arena_alloc(arena, 2 * size + 1);
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = digits[(unsigned char)bytes[i] >> 4];
		hex[2 * i + 1] = digits[(unsigned char)bytes[i] & 15];
	}
	node->id = hex;
	return 0;
}

static void write_id(struct json_writer *writer, const struct field *field, const void *object)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct ray_node *node = object;
	const char *hex = node->id;
	size_t size = strlen(hex) / 2;
	char *bytes = arena_alloc(&arena, size + 1);

	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)text_hex_byte(hex + 2 * i);
	if (size > 0)
		json_write_text(writer, field->name, base64_encode(bytes, size, &arena));
}

/* A map of amounts. A value that is not an amount is 0 and a problem of the node; a negative
 * `available` is 0 (Ray lends out CPUs of blocked tasks, so that it can fall below 0). */
static int amounts_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct ray_node *node = object;
	struct resources *ret = field_value(field, object);
	struct arena *arena = member->reader->arena;
	VEC(struct resource) amounts = { .at = NULL };

	if (json_optional(member, JSON_OBJECT))
		return -1;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct resource *resource = VEC_ADD(arena, &amounts);
		const char *problem;
		double value;

		if (double_decode(&e, &value))
			return -1;
		if (ret == &node->available && value < 0)
			value = 0;
		resource->name = arena_strdup(arena, e.name);
		resource->amount = amount_from_double(value, &problem);
		if (!problem)
			continue;
		json_problem(&e, "%s", problem);
		if (!node->problem)
			node->problem = arena_printf(arena, "%s: %s", json_path(&e), problem);
	}
	*ret = resources_sort(amounts.at, amounts.count);
	return 0;
}

/* A status of a newer Ray counts as none. */
static int status_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct ray_node *node = object;

	if (enum_decode(member, field, object))
		return -1;
	if ((unsigned)node->status > RAY_NODE_DRAINING)
		node->status = RAY_NODE_UNSPECIFIED;
	return 0;
}

static int check_idle(const struct json_at *member UNUSED, const struct field *field UNUSED,
		      void *object)
{
	struct ray_node *node = object;

	node->idle_duration_ms = ray_idle_duration_ms(node->idle_duration_ms);
	return 0;
}

static const struct field node_fields[] = {
	FIELD_HOOK("nodeId", .read = id_decode, .write = write_id),
	FIELD_TEXT(struct ray_node, instance_id, "instanceId"),
	FIELD_TEXT(struct ray_node, type_name, "rayNodeTypeName"),
	FIELD_RESOURCES(struct ray_node, available, "availableResources", .read = amounts_decode),
	FIELD_RESOURCES(struct ray_node, total, "totalResources", .read = amounts_decode),
	FIELD_LABELS(struct ray_node, dynamic_labels, "dynamicLabels"),
	FIELD_HOOK("status", .offset = FIELD_OFFSET(struct ray_node, status, enum ray_node_status),
		   .word = status_word, .limit = RAY_NODE_DRAINING + 1, .read = status_decode,
		   .write = write_enum),
	FIELD_INTEGER(struct ray_node, idle_duration_ms, "idleDurationMs", .flags = FIELD_QUOTED,
		      .check = check_idle),
	FIELD_TEXT(struct ray_node, ip_address, "nodeIpAddress"),
	FIELD_TEXTS(struct ray_node, activity, "nodeActivity"),
	FIELD_LABELS(struct ray_node, labels, "labels"),
	FIELD_INTEGER(struct ray_node, drain_deadline_ms, "drainingDeadlineTimestampMs",
		      .flags = FIELD_QUOTED),
	FIELD_END,
};

/* ---- the state ---- */

const struct field ray_state_fields[] = {
	FIELD_INTEGER(struct ray_state, version, "clusterResourceStateVersion",
		      .flags = FIELD_QUOTED),
	FIELD_INTEGER(struct ray_state, last_seen_autoscaler_state_version,
		      "lastSeenAutoscalerStateVersion", .flags = FIELD_QUOTED),
	FIELD_LIST(struct ray_state, nodes, node_count, node_fields, "nodeStates"),
	FIELD_LIST(struct ray_state, requests, request_count, counted_fields,
		   "pendingResourceRequests"),
	FIELD_LIST(struct ray_state, gangs, gang_count, gang_fields, "pendingGangResourceRequests"),
	FIELD_LIST(struct ray_state, constraints, constraint_count, cluster_constraint_fields,
		   "clusterResourceConstraints"),
	FIELD_TEXT(struct ray_state, session_name, "clusterSessionName"),
	FIELD_END,
};

void ray_request_write(struct json_writer *writer, const char *name,
		       const struct ray_request *request)
{
	field_write_object(writer, name, ray_request_fields, request);
}

void ray_gang_write(struct json_writer *writer, const char *name, const struct ray_gang *gang)
{
	field_write_object(writer, name, gang_fields, gang);
}
