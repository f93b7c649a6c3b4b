#include "feature/device_claims/codec/device_object_json.h"

#include <math.h>
#include <string.h>

#include "codec/schema/scheduling.h"
#include "codec/text/quantity.h"
#include "core/model/resources.h"

#define SLICE struct resource_slice
#define DEVICE struct device
#define ASK struct device_ask
#define CLAIM struct resource_claim
#define TEMPLATE struct claim_template
#define RULE struct device_taint_rule

/* Four times those of the API server (resource/v1/types.go of 1.36), which refuses larger objects. */
#define DEVICES_MAX 512
#define ATTRIBUTES_MAX 128
#define COUNTER_SETS_MAX 32
#define REQUESTS_MAX 128
#define RESULTS_MAX 128
#define PODS_MAX 1024
#define SELECTORS_MAX 128

/* ---- maps of amounts: {"memory": {"value": "80Gi"}} ---- */

/* The driver of the slice around a value; "": none. */
static const char *driver_of(const struct json_at *at)
{
	struct json_at driver;

	while (at && (!at->name || strcmp(at->name, "spec") != 0))
		at = at->parent;
	if (!at)
		return "";
	driver = json_member(at, "driver");
	return json_type(&driver) == JSON_STRING ? json_text_value(&driver) : "";
}

static const char *full_name(const struct json_at *at, const char *name)
{
	struct arena *arena = at->reader->arena;

	return strchr(name, '/') ? arena_text(arena, name) :
				   arena_printf(arena, "%s/%s", driver_of(at), name);
}

static int amounts_decode(const struct json_at *member, bool in_full, struct quantities *ret)
{
	size_t count = json_count(member);
	struct quantity *items;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (count > ATTRIBUTES_MAX)
		return json_fail(member, "has %zu members, more than %d", count, ATTRIBUTES_MAX);
	items = arena_array(member->reader->arena, count, sizeof(*items));
	*ret = (struct quantities){ items, 0 };
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct json_at value = json_member(&e, "value");
		struct quantity *item = &items[ret->count++];

		if (json_expect(&e, JSON_OBJECT) || quantity_decode(&value, item))
			return -1;
		item->name = in_full ? full_name(member, e.name) :
				       arena_text(member->reader->arena, e.name);
	}
	return 0;
}

/* With the defaults: {"memory": {"value": "80Gi", "requestPolicy": {"default": "1Gi"}}}. */
static int capacity_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct device *device = object;
	struct arena *arena = member->reader->arena;
	struct quantity *defaults;
	size_t count = 0;

	if (amounts_decode(member, true, field_value(field, object)))
		return -1;
	defaults = arena_array(arena, device->capacity.count, sizeof(*defaults));
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct json_at policy = json_member(&e, "requestPolicy");
		struct json_at value = json_member(&policy, "default");

		if (!json_is_given(&value))
			continue;
		if (quantity_decode(&value, &defaults[count]))
			return -1;
		defaults[count++].name = full_name(member, e.name);
	}
	device->defaults = (struct quantities){ defaults, count };
	return 0;
}

static int counters_decode(const struct json_at *member, const struct field *field, void *object)
{
	return amounts_decode(member, false, field_value(field, object));
}

/* The row of `defaults` is for copies alone: they are read and written with the capacity. */
static int defaults_read(const struct json_at *member UNUSED, const struct field *field UNUSED,
			 void *object UNUSED)
{
	return 0;
}

static void defaults_write(struct json_writer *writer UNUSED, const struct field *field UNUSED,
			   const void *object UNUSED)
{
}

static void write_all(struct json_writer *writer, const char *name,
		      const struct quantities *amounts, const struct quantities *defaults)
{
	if (amounts->count == 0)
		return;
	json_write_object(writer, name);
	for (size_t i = 0; i < amounts->count; i++) {
		const struct quantity *initial = quantities_find(defaults, amounts->at[i].name);

		json_write_object_line(writer, amounts->at[i].name);
		json_write_text(writer, "value", amounts->at[i].text);
		if (initial) {
			json_write_object_line(writer, "requestPolicy");
			json_write_text(writer, "default", initial->text);
			json_write_object_end(writer);
		}
		json_write_object_end(writer);
	}
	json_write_object_end(writer);
}

static void write_amounts(struct json_writer *writer, const struct field *field, const void *object)
{
	static const struct quantities none = { .at = NULL };

	write_all(writer, field->name, field_value_read(field, object), &none);
}

static void write_capacity(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct device *device = object;

	write_all(writer, field->name, &device->capacity, &device->defaults);
}

/* ---- attributes: {"type": {"string": "gpu"}} ---- */

static const char *const attribute_words[] = { "string", "bool", "int", "version", "other" };

static const char *attribute_word(unsigned value)
{
	return attribute_words[value];
}

static const struct field attribute_fields[] = {
	FIELD_TEXT(struct device_attribute, name, "name"),
	FIELD_WORD(struct device_attribute, kind, enum attribute_kind, attribute_word, "kind",
		   .limit = ATTRIBUTE_OTHER + 1),
	FIELD_TEXT(struct device_attribute, text, "text"),
	FIELD_INTEGER(struct device_attribute, number, "number"),
	FIELD_END,
};

static int attribute_value(const struct json_at *value, enum attribute_kind kind,
			   struct device_attribute *ret)
{
	ret->kind = kind;
	if (kind == ATTRIBUTE_INT) {
		/* The number is not known exactly. */
		if (json_type(value) == JSON_NUMBER &&
		    fabs(json_number_value(value)) >= (double)JSON_INTEGER_MAX)
			ret->kind = ATTRIBUTE_OTHER;
		return ret->kind == ATTRIBUTE_OTHER ? 0 : json_integer_value(value, &ret->number);
	}
	if (json_expect(value, kind == ATTRIBUTE_BOOL ? JSON_BOOLEAN : JSON_STRING))
		return -1;
	if (kind == ATTRIBUTE_BOOL)
		ret->number = json_boolean_value(value);
	else
		ret->text = json_text_or_none(value);
	return 0;
}

/* One member is given; one without a value is left out. */
static int attribute_decode(const struct json_at *at, struct device_attribute *ret, bool *ret_known)
{
	*ret = (struct device_attribute){ .text = "", .kind = ATTRIBUTE_OTHER };
	*ret_known = false;
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		*ret_known = *ret_known || json_is_given(&e);
		for (unsigned kind = 0; kind <= ATTRIBUTE_VERSION; kind++)
			if (strcmp(e.name, attribute_words[kind]) == 0 && json_is_given(&e))
				return attribute_value(&e, (enum attribute_kind)kind, ret);
	}
	return 0;
}

static int attributes_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	struct device *device = object;
	size_t count = json_count(member);
	struct device_attribute *attributes;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (count > ATTRIBUTES_MAX)
		return json_fail(member, "has %zu members, more than %d", count, ATTRIBUTES_MAX);
	attributes = arena_array(member->reader->arena, count, sizeof(*attributes));
	device->attributes = attributes;
	device->attribute_count = 0;
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct device_attribute *attribute = &attributes[device->attribute_count];
		bool known;

		if (json_expect(&e, JSON_OBJECT) || attribute_decode(&e, attribute, &known))
			return -1;
		attribute->name = full_name(member, e.name);
		device->attribute_count += known;
	}
	return 0;
}

static void write_attributes(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct device *device = object;

	if (device->attribute_count == 0)
		return;
	json_write_object(writer, field->name);
	ARRAY_EACH(const struct device_attribute, attribute, device->attributes,
		   device->attribute_count) {
		const char *word = attribute_words[attribute->kind];

		json_write_object_line(writer, attribute->name);
		if (attribute->kind == ATTRIBUTE_INT)
			json_write_integer(writer, word, attribute->number);
		else if (attribute->kind == ATTRIBUTE_OTHER)
			json_write_boolean(writer, word, true);
		else if (attribute->kind == ATTRIBUTE_BOOL)
			json_write_boolean(writer, word, attribute->number != 0);
		else
			json_write_text(writer, word, attribute->text);
		json_write_object_end(writer);
	}
	json_write_object_end(writer);
}

/* ---- ResourceSlice ---- */

#define COUNTERS(T, m, n) FIELD_QUANTITIES(T, m, n, .read = counters_decode, .write = write_amounts)

static const struct field consumed_fields[] = {
	FIELD_TEXT(struct device_counters, set, "counterSet"),
	COUNTERS(struct device_counters, counters, "counters"),
	FIELD_END,
};

static const struct field shared_fields[] = {
	FIELD_TEXT(struct device_counters, set, "name"),
	COUNTERS(struct device_counters, counters, "counters"),
	FIELD_END,
};

static const struct field device_selector_fields[] = {
	FIELD_LIST(DEVICE, node_terms, node_term_count, node_term_fields, "nodeSelectorTerms"),
	FIELD_END,
};

static const struct field device_fields[] = {
	FIELD_NAME(DEVICE, name, "name", .flags = FIELD_REQUIRED),
	FIELD_LIST(DEVICE, attributes, attribute_count, attribute_fields, "attributes",
		   .read = attributes_decode, .write = write_attributes),
	FIELD_QUANTITIES(DEVICE, capacity, "capacity", .read = capacity_decode,
			 .write = write_capacity),
	FIELD_QUANTITIES(DEVICE, defaults, "defaults", .read = defaults_read,
			 .write = defaults_write),
	FIELD_LIST(DEVICE, taints, taint_count, taint_fields, "taints", .flags = FIELD_LINE,
		   .initial = &taint_initial, .limit = ATTRIBUTES_MAX),
	FIELD_LIST(DEVICE, consumes, consumes_count, consumed_fields, "consumesCounters",
		   .limit = COUNTER_SETS_MAX),
	FIELD_BOOLEAN(DEVICE, allow_multiple, "allowMultipleAllocations"),
	FIELD_TEXT(DEVICE, node_name, "nodeName"),
	FIELD_BOOLEAN(DEVICE, all_nodes, "allNodes"),
	FIELD_OBJECT(device_selector_fields, "nodeSelector"),
	FIELD_END,
};

static const struct field slice_metadata_fields[] = {
	FIELD_NAME(SLICE, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(SLICE, resource_version, "resourceVersion"),
	FIELD_END,
};

/* Only the newest generation counts: one above 2^53, as of a clock in nanoseconds, is rounded. */
static int generation_decode(const struct json_at *member, const struct field *field UNUSED,
			     void *object)
{
	struct resource_slice *slice = object;
	double value = json_type(member) == JSON_NUMBER ? json_number_value(member) : 0;

	if (fabs(value) < (double)JSON_INTEGER_MAX)
		return json_is_given(member) ? json_integer_value(member, &slice->generation) : 0;
	slice->generation = value >= 0x1p63 ? INT64_MAX : value < 0 ? INT64_MIN : (int64_t)value;
	return 0;
}

static const struct field pool_fields[] = {
	FIELD_TEXT(SLICE, pool, "name"),
	FIELD_INTEGER(SLICE, generation, "generation", .read = generation_decode),
	FIELD_INTEGER(SLICE, slice_count, "resourceSliceCount"),
	FIELD_END,
};

static const struct field slice_selector_fields[] = {
	FIELD_LIST(SLICE, node_terms, node_term_count, node_term_fields, "nodeSelectorTerms"),
	FIELD_END,
};

static const struct field slice_spec_fields[] = {
	FIELD_NAME(SLICE, driver, "driver"),
	FIELD_OBJECT(pool_fields, "pool"),
	FIELD_TEXT(SLICE, node_name, "nodeName"),
	FIELD_BOOLEAN(SLICE, all_nodes, "allNodes"),
	FIELD_OBJECT(slice_selector_fields, "nodeSelector"),
	FIELD_LIST(SLICE, shared, shared_count, shared_fields, "sharedCounters",
		   .limit = COUNTER_SETS_MAX),
	FIELD_LIST(SLICE, devices, device_count, device_fields, "devices", .limit = DEVICES_MAX),
	FIELD_END,
};

static const struct field resource_slice_fields[] = {
	FIELD_OBJECT(slice_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(slice_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- DeviceClass ---- */

static const struct field class_metadata_fields[] = {
	FIELD_NAME(struct device_class, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(struct device_class, resource_version, "resourceVersion"),
	FIELD_END,
};

/* struct strings is a list of these. */
struct selector {
	const char *expression;
};

static const struct field cel_fields[] = {
	FIELD_TEXT(struct selector, expression, "expression"),
	FIELD_END,
};

static const struct field selector_fields[] = { FIELD_OBJECT(cel_fields, "cel"), FIELD_END };

#define SELECTORS(T)                                                                               \
	FIELD_LIST(T, selectors.at, selectors.count, selector_fields, "selectors",                 \
		   .limit = SELECTORS_MAX)

static const struct field class_spec_fields[] = {
	SELECTORS(struct device_class),
	FIELD_NAME(struct device_class, extended_resource, "extendedResourceName"),
	FIELD_END,
};

static const struct field device_class_fields[] = {
	FIELD_OBJECT(class_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(class_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- requests ---- */

static int mode_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct device_ask *ask = object;

	if (json_optional(member, JSON_STRING))
		return -1;
	ask->all = json_is_given(member) && strcmp(json_text_value(member), "All") == 0;
	return 0;
}

static void write_mode(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct device_ask *ask = object;

	json_write_text(writer, field->name, ask->all ? "All" : "ExactCount");
}

static int check_count(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct device_ask *ask = object;

	if (ask->count >= 1 && ask->count <= RESULTS_MAX)
		return 0;
	json_problem(member, "must be 1 to %d, is %lld", RESULTS_MAX, (long long)ask->count);
	ask->count = ask->count < 1 ? 1 : RESULTS_MAX;
	return 0;
}

static const struct field ask_capacity_fields[] = {
	FIELD_QUANTITIES(ASK, capacity, "requests"),
	FIELD_END,
};

/* `exactly` has all but the first. */
static const struct field ask_fields[] = {
	FIELD_NAME(ASK, name, "name"),
	FIELD_NAME(ASK, device_class, "deviceClassName"),
	SELECTORS(ASK),
	FIELD_BOOLEAN(ASK, all, "allocationMode", .read = mode_decode, .write = write_mode),
	FIELD_INTEGER(ASK, count, "count", .check = check_count),
	FIELD_BOOLEAN(ASK, admin_access, "adminAccess"),
	FIELD_LIST(ASK, tolerations, toleration_count, toleration_fields, "tolerations",
		   .flags = FIELD_LINE, .limit = ATTRIBUTES_MAX),
	FIELD_OBJECT(ask_capacity_fields, "capacity"),
	FIELD_END,
};

static const struct device_ask ask_initial = { .name = "", .count = 1 };

/* `exactly` is a list of one ask without a name. */
static int exactly_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct device_request *request = object;
	struct device_ask *ask;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (!json_is_given(member))
		return 0;
	ask = ARENA_COPY(member->reader->arena, &ask_initial, 1);
	request->asks = ask;
	request->ask_count = 1;
	return field_decode_all(member, field->members, ask);
}

static bool is_exactly(const struct device_request *request)
{
	return request->ask_count == 1 && request->asks[0].name[0] == '\0';
}

static void write_exactly(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct device_request *request = object;

	if (is_exactly(request))
		field_write_object(writer, field->name, field->members, request->asks);
}

static int alternatives_decode(const struct json_at *member, const struct field *field,
			       void *object)
{
	return json_is_given(member) ? field_decode(member, field, object) : 0;
}

static void write_alternatives(struct json_writer *writer, const struct field *field,
			       const void *object)
{
	const struct device_request *request = object;

	if (request->ask_count > 0 && !is_exactly(request))
		field_write_value(writer, field, object);
}

static const struct field request_fields[] = {
	FIELD_NAME(struct device_request, name, "name"),
	FIELD_HOOK("exactly", .members = ask_fields + 1, .read = exactly_decode,
		   .write = write_exactly),
	FIELD_LIST(struct device_request, asks, ask_count, ask_fields, "firstAvailable",
		   .initial = &ask_initial, .limit = REQUESTS_MAX, .read = alternatives_decode,
		   .write = write_alternatives),
	FIELD_END,
};

static const struct field devices_fields[] = {
	FIELD_LIST(struct claim_spec, requests, request_count, request_fields, "requests",
		   .limit = REQUESTS_MAX),
	FIELD_END,
};

static const struct field claim_spec_fields[] = {
	FIELD_OBJECT(devices_fields, "devices"),
	FIELD_END,
};

/* ---- ResourceClaimTemplate ---- */

static const struct field template_metadata_fields[] = {
	FIELD_NAME(TEMPLATE, name, "name", .flags = FIELD_REQUIRED),
	FIELD_NAME(TEMPLATE, namespace_, "namespace"),
	FIELD_TEXT(TEMPLATE, resource_version, "resourceVersion"),
	FIELD_END,
};

static const struct field template_spec_fields[] = {
	FIELD_PART(TEMPLATE, spec, claim_spec_fields, "spec"),
	FIELD_END,
};

static const struct field claim_template_fields[] = {
	FIELD_TEXT(TEMPLATE, unreadable, OBJECT_UNREADABLE, .flags = FIELD_NULLABLE),
	FIELD_OBJECT(template_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(template_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* ---- ResourceClaim ---- */

static const struct field result_fields[] = {
	FIELD_TEXT(struct claim_result, request, "request"),
	FIELD_TEXT(struct claim_result, driver, "driver"),
	FIELD_TEXT(struct claim_result, pool, "pool"),
	FIELD_TEXT(struct claim_result, device, "device"),
	FIELD_BOOLEAN(struct claim_result, admin_access, "adminAccess"),
	FIELD_QUANTITIES(struct claim_result, consumed, "consumedCapacity"),
	FIELD_END,
};

static const struct field allocated_fields[] = {
	FIELD_LIST(CLAIM, results, result_count, result_fields, "results", .flags = FIELD_LINE,
		   .limit = RESULTS_MAX),
	FIELD_END,
};

static const struct field allocation_fields[] = {
	FIELD_OBJECT(allocated_fields, "devices"),
	FIELD_END,
};

/* struct strings is a list of these. */
struct consumer {
	const char *name;
};

static const struct field consumer_fields[] = {
	FIELD_FIXED("resource", "pods"),
	FIELD_TEXT(struct consumer, name, "name"),
	FIELD_END,
};

static const struct field claim_status_fields[] = {
	FIELD_OBJECT(allocation_fields, "allocation", .has = FIELD_HAS(CLAIM, allocated)),
	FIELD_LIST(CLAIM, pods.at, pods.count, consumer_fields, "reservedFor", .flags = FIELD_LINE,
		   .limit = PODS_MAX),
	FIELD_END,
};

static const struct field claim_metadata_fields[] = {
	FIELD_NAME(CLAIM, name, "name", .flags = FIELD_REQUIRED),
	FIELD_NAME(CLAIM, namespace_, "namespace"),
	FIELD_TEXT(CLAIM, uid, "uid"),
	FIELD_TEXT(CLAIM, resource_version, "resourceVersion"),
	FIELD_END,
};

static const struct field resource_claim_fields[] = {
	FIELD_TEXT(CLAIM, unreadable, OBJECT_UNREADABLE, .flags = FIELD_NULLABLE),
	FIELD_OBJECT(claim_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_PART(CLAIM, spec, claim_spec_fields, "spec"),
	FIELD_OBJECT(claim_status_fields, "status"),
	FIELD_END,
};

/* ---- DeviceTaintRule ---- */

static const struct field rule_metadata_fields[] = {
	FIELD_NAME(RULE, name, "name", .flags = FIELD_REQUIRED),
	FIELD_TEXT(RULE, resource_version, "resourceVersion"),
	FIELD_END,
};

static const struct field rule_selector_fields[] = {
	FIELD_NAME(RULE, driver, "driver"),
	FIELD_NAME(RULE, pool, "pool"),
	FIELD_NAME(RULE, device, "device"),
	FIELD_NAME(RULE, device_class, "deviceClassName"),
	SELECTORS(RULE),
	FIELD_END,
};

static const struct field rule_spec_fields[] = {
	FIELD_OBJECT(rule_selector_fields, "deviceSelector", .has = FIELD_HAS(RULE, selects)),
	FIELD_PART(RULE, taint, taint_fields, "taint"),
	FIELD_END,
};

static const struct field taint_rule_fields[] = {
	FIELD_OBJECT(rule_metadata_fields, "metadata", .flags = FIELD_ALWAYS),
	FIELD_OBJECT(rule_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

#define OBJECTS struct device_objects

const struct field device_objects_fields[] = {
	FIELD_LIST(OBJECTS, slices, slice_count, resource_slice_fields, "resourceSlices",
		   .has = FIELD_HAS(OBJECTS, slices_known),
		   .problems = offsetof(struct resource_slice, problems)),
	FIELD_LIST(OBJECTS, classes, class_count, device_class_fields, "deviceClasses",
		   .has = FIELD_HAS(OBJECTS, classes_known)),
	FIELD_LIST(OBJECTS, templates, template_count, claim_template_fields,
		   "resourceClaimTemplates", .has = FIELD_HAS(OBJECTS, templates_known)),
	FIELD_LIST(OBJECTS, claims, claim_count, resource_claim_fields, "resourceClaims",
		   .has = FIELD_HAS(OBJECTS, claims_known)),
	FIELD_LIST(OBJECTS, taint_rules, taint_rule_count, taint_rule_fields, "deviceTaintRules",
		   .has = FIELD_HAS(OBJECTS, taint_rules_known)),
	FIELD_END,
};

/* ---- whole objects ---- */

int resource_slice_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct resource_slice *ret_slice, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct resource_slice, resource_slice_fields,
					       FIELD_PROBLEMS(struct resource_slice)),
				   arena, ret_slice, err);
}

int device_class_decode(const struct cJSON *json, const char *path, struct arena *arena,
			struct device_class *ret_class, struct err *err)
{
	return field_decode_object(json, path,
				   FIELD_WHOLE(struct device_class, device_class_fields), arena,
				   ret_class, err);
}

int taint_rule_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct device_taint_rule *ret_rule, struct err *err)
{
	return field_decode_object(json, path, FIELD_WHOLE(RULE, taint_rule_fields), arena,
				   ret_rule, err);
}

/* Of an object that cannot be read only its names, the first of which is the name, and why, its first
 * row. */
static int decode_names(const struct cJSON *json, const struct field *row,
			const struct field *names, const char *problem, struct arena *arena,
			void *ret_object)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	const char **name = field_value(names, ret_object);
	const char **unreadable = field_value(row->members, ret_object);

	memcpy(ret_object, row->initial, row->size);
	(void)field_decode_each(&metadata, names, ret_object, row->size);
	*unreadable = arena_text(arena, problem);
	return **name == '\0' ? -1 : 0;
}

static int decode_or_names(const struct cJSON *json, const char *path, const struct field *row,
			   const struct field *names, struct arena *arena, void *ret_object,
			   struct err *err)
{
	struct err problem;

	if (field_decode_object(json, path, row, arena, ret_object, &problem) == 0)
		return 0;
	if (decode_names(json, row, names, problem.text, arena, ret_object))
		return err_set(err, ERR_INPUT, "metadata.name is missing");
	return 0;
}

static const struct claim_template no_template = { .namespace_ = "",
						   .name = "",
						   .resource_version = "" };
static const struct resource_claim no_claim = {
	.namespace_ = "", .name = "", .uid = "", .resource_version = ""
};

#define TEMPLATE_ROW FIELD_WHOLE(TEMPLATE, claim_template_fields, .initial = &no_template)
#define CLAIM_ROW FIELD_WHOLE(CLAIM, resource_claim_fields, .initial = &no_claim)

int claim_template_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct claim_template *ret_template, struct err *err)
{
	return decode_or_names(json, path, TEMPLATE_ROW, template_metadata_fields, arena,
			       ret_template, err);
}

int claim_template_decode_unreadable(const struct cJSON *json, const char *problem,
				     struct arena *arena, struct claim_template *ret_template)
{
	return decode_names(json, TEMPLATE_ROW, template_metadata_fields, problem, arena,
			    ret_template);
}

int resource_claim_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct resource_claim *ret_claim, struct err *err)
{
	return decode_or_names(json, path, CLAIM_ROW, claim_metadata_fields, arena, ret_claim, err);
}

int resource_claim_decode_unreadable(const struct cJSON *json, const char *problem,
				     struct arena *arena, struct resource_claim *ret_claim)
{
	return decode_names(json, CLAIM_ROW, claim_metadata_fields, problem, arena, ret_claim);
}

/* ---- for one cluster ---- */

/* Not the name of a namespace. */
#define OTHER_NAMESPACE "-"

static const char *namespace_of(const char *name)
{
	return *name == '\0' ? "default" : name;
}

/* The devices that it has; who has them, and what was asked for, is the other namespace's alone. */
static struct resource_claim anonymous(const struct resource_claim *claim, size_t number,
				       struct arena *arena)
{
	struct resource_claim one = { .namespace_ = OTHER_NAMESPACE,
				      .name = arena_printf(arena, "%zu", number),
				      .uid = "",
				      .resource_version = "",
				      .allocated = true,
				      .result_count = claim->result_count };
	struct claim_result *results = ARENA_COPY(arena, claim->results, claim->result_count);

	for (size_t i = 0; i < claim->result_count; i++)
		results[i].request = "";
	one.results = results;
	return one;
}

struct device_objects device_objects_for(const struct device_objects *objects,
					 const char *namespace_, struct arena *arena)
{
	struct device_objects own = *objects;
	VEC(struct claim_template) templates = { .at = NULL };
	VEC(struct resource_claim) claims = { .at = NULL };

	ARRAY_EACH(const struct claim_template, one, objects->templates, objects->template_count)
		if (strcmp(namespace_of(one->namespace_), namespace_of(namespace_)) == 0)
			VEC_PUSH(arena, &templates, *one);
	ARRAY_EACH(const struct resource_claim, one, objects->claims, objects->claim_count) {
		if (strcmp(namespace_of(one->namespace_), namespace_of(namespace_)) == 0)
			VEC_PUSH(arena, &claims, *one);
		else if (one->allocated)
			VEC_PUSH(arena, &claims, anonymous(one, claims.count, arena));
	}
	own.templates = templates.at;
	own.template_count = templates.count;
	own.claims = claims.at;
	own.claim_count = claims.count;
	return own;
}
