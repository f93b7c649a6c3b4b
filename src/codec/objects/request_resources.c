#include "codec/objects/request_resources.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

/* The API server allows 256 KiB of annotations; a file may hold more. */
static const struct json_limits limits = {
	.bytes = 16 << 20,
	.depth = 8,
	.elements = 1000000,
	.unique_names = true,
};

#define LABEL_VALUE_SIZE_MAX 63
#define SHAPE_BYTES_MAX (32 << 20)
#define BUNDLES_MAX 1000 /* of a schedule */

/* ---- selectors: "spot", "!spot", "in(A100, H100)", "!in(A100)" ---- */

/* As Ray's sdk checks them (_private/label_utils.py: LABEL_REGEX). */
static bool is_label_value(const char *text, size_t size)
{
	if (size == 0 || size > LABEL_VALUE_SIZE_MAX || !isalnum((unsigned char)text[0]) ||
	    !isalnum((unsigned char)text[size - 1]))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			return false;
	}
	return true;
}

struct values {
	VEC(const char *) list;
};

/* Ray itself keeps the space of "in(a, b)", which then matches no node; it is dropped here. */
static int add_value(const struct json_at *at, const char *text, size_t size, struct values *values)
{
	for (; size > 0 && *text == ' '; text++)
		size--;
	while (size > 0 && text[size - 1] == ' ')
		size--;
	if (!is_label_value(text, size))
		return json_fail(at,
				 "\"%.80s\" is not a label selector like spot, !spot, in(A100, "
				 "H100) or !in(A100)",
				 json_text_value(at));
	VEC_PUSH(at->reader->arena, &values->list, arena_strndup(at->reader->arena, text, size));
	return 0;
}

static int add_values(const struct json_at *at, const char *text, struct values *values)
{
	size_t size = strlen(text), comma;

	if (strncmp(text, "in(", 3) != 0 || text[size - 1] != ')')
		return add_value(at, text, size, values);
	text += 3;
	size -= 4;
	do {
		const char *end = memchr(text, ',', size);

		comma = end ? (size_t)(end - text) : size;
		if (add_value(at, text, comma, values))
			return -1;
		if (comma < size)
			comma++;
		else
			break;
		text += comma;
		size -= comma;
	} while (true);
	return 0;
}

static int constraint_decode(const struct json_at *at, struct label_constraint *ret)
{
	struct values values = { .list = { .at = NULL } };
	const char *text;

	if (json_expect(at, JSON_STRING))
		return -1;
	text = json_text_value(at);
	ret->key = arena_strdup(at->reader->arena, at->name);
	ret->operation = *text == '!' ? LABEL_OPERATOR_NOT_IN : LABEL_OPERATOR_IN;
	if (add_values(at, text + (*text == '!'), &values))
		return -1;
	ret->values = (struct strings){ .at = values.list.at, .count = values.list.count };
	return 0;
}

static int compare_constraints(const void *a, const void *b)
{
	const struct label_constraint *left = a, *right = b;

	return strcmp(left->key, right->key);
}

int request_selector_decode(const struct json_at *at, const char *name, struct ray_request *ret)
{
	struct arena *arena = at->reader->arena;
	VEC(struct label_constraint) constraints = { .at = NULL };
	struct label_selector *selector;
	struct json_at object;

	if (json_object(at, name, &object))
		return -1;
	for (struct json_at e = json_first(&object); e.json; json_next(&e)) {
		if (constraint_decode(&e, VEC_ADD(arena, &constraints)))
			return -1;
	}
	if (constraints.count == 0)
		return 0;
	sort_stable(constraints.at, constraints.count, sizeof(*constraints.at),
		    compare_constraints);
	selector = ARENA_NEW(arena, struct label_selector);
	selector->constraints = constraints.at;
	selector->count = constraints.count;
	ret->selectors = selector;
	ret->selector_count = 1;
	return 0;
}

/* ---- bundles ---- */

static int bundle_decode(const struct json_at *at, struct ray_request *ret)
{
	struct arena *arena = at->reader->arena;
	VEC(struct bundle_entry) entries = { .at = NULL };

	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		struct bundle_entry *entry = VEC_ADD(arena, &entries);

		if (json_expect(&e, JSON_NUMBER))
			return -1;
		entry->name = arena_strdup(arena, e.name);
		entry->received = json_number_value(&e);
	}
	ray_request_set_bundle(ret, entries.at, entries.count, arena);
	return 0;
}

int request_bundle_decode(const struct json_at *at, struct ray_request *ret)
{
	struct json_at resources = json_member(at, "resources");
	struct json_at selector = json_member(at, "label_selector");

	if (json_expect(at, JSON_OBJECT))
		return -1;
	/* A custom resource may be called "resources": then it is a number. */
	if (json_type(&resources) != JSON_OBJECT && json_type(&selector) != JSON_OBJECT)
		return bundle_decode(at, ret);
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (strcmp(e.name, "resources") != 0 && strcmp(e.name, "label_selector") != 0)
			return json_fail(&e, "is not known; a bundle with a label_selector has "
					     "only resources beside it");
	}
	if (json_expect(&resources, JSON_OBJECT))
		return -1;
	return bundle_decode(&resources, ret) || request_selector_decode(at, "label_selector", ret);
}

struct requests {
	VEC(struct ray_request_count) list;
	struct map by_shape; /* canonical text: index + 1 into list */
	struct buf shape;
};

static void requests_done(struct requests *requests)
{
	map_done(&requests->by_shape);
	buf_done(&requests->shape);
}

static int add_request(struct requests *requests, const struct json_at *at,
		       const struct ray_request *request)
{
	struct ray_request_count *counted;
	struct json_writer writer;
	uintptr_t place;

	buf_clear(&requests->shape);
	json_write_init(&writer, &requests->shape, JSON_STYLE_LINE);
	ray_request_write(&writer, NULL, request);
	if (requests->shape.overflowed)
		return json_fail(at, "is too large");
	place = (uintptr_t)map_get(&requests->by_shape, buf_string(&requests->shape));
	if (place) {
		requests->list.at[place - 1].count++;
		return 0;
	}
	counted = VEC_ADD(at->reader->arena, &requests->list);
	counted->request = *request;
	counted->count = 1;
	place = requests->list.count;
	map_set(&requests->by_shape, buf_string(&requests->shape), (void *)place);
	return 0;
}

static int list_decode(const struct json_at *root, struct requests *requests)
{
	if (json_expect(root, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(root); e.json; json_next(&e)) {
		struct ray_request request = { .bundle = NULL };

		if (request_bundle_decode(&e, &request) || add_request(requests, &e, &request))
			return -1;
	}
	return 0;
}

static int request_list_decode(const struct json_at *list, struct ray_constraint *ret_constraint)
{
	AUTO(requests_done) struct requests requests = { .by_shape = MAP_INIT };

	buf_init(&requests.shape, SHAPE_BYTES_MAX);
	if (list_decode(list, &requests))
		return -1;
	ret_constraint->requests = requests.list.at;
	ret_constraint->count = requests.list.count;
	return 0;
}

int request_resources_parse(const char *text, struct arena *arena,
			    struct ray_constraint *ret_constraint, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root;

	if (json_parse(text, strlen(text), &limits, &tree, err))
		return -1;
	root = json_root(tree, "", &reader);
	return request_list_decode(&root, ret_constraint);
}

void request_resources_observe(struct snapshot *snapshot, struct arena *arena)
{
	const char *text =
		labels_value(&snapshot->cluster.annotations, ANNOTATION_REQUEST_RESOURCES);
	struct ray_constraint *constraint = ARENA_NEW(arena, struct ray_constraint);
	struct err err;

	snapshot->has_annotation_request = text != NULL;
	snapshot->annotation_request = NULL;
	snapshot->annotation_problem = "";
	if (!text)
		return;
	if (request_resources_parse(text, arena, constraint, &err) == 0)
		snapshot->annotation_request = constraint;
	else
		snapshot->annotation_problem =
			arena_printf(arena,
				     "annotation %s: %s; it must be a JSON list of bundles like "
				     "[{\"GPU\": 1}]",
				     ANNOTATION_REQUEST_RESOURCES, err.text);
}

int request_bundles_decode(const struct json_at *member, const struct field *field UNUSED,
			   void *object)
{
	struct json_at own;
	struct ray_constraint *bundles = ARENA_NEW(member->reader->arena, struct ray_constraint);
	struct err err = { .kind = ERR_NONE };
	struct json_reader reader = { .arena = member->reader->arena, .err = &err };
	struct autoscaler_schedule *schedule = object;
	size_t count = 0;

	if (!json_is_given(member))
		return 0;
	schedule->has_bundles = true;
	schedule->bundles_text = json_print(member);
	own = json_root(member->json, "", &reader);
	for (struct json_at e = json_first(&own); e.json; json_next(&e))
		count++;
	if (count > BUNDLES_MAX)
		json_problem(member, "has %zu bundles, above the limit of %d", count, BUNDLES_MAX);
	else if (request_list_decode(&own, bundles))
		json_problem(member, "%.300s; it must be a list of bundles like [{GPU: 1}]",
			     err.text);
	else
		schedule->bundles = bundles;
	return 0;
}

void request_bundles_write(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct autoscaler_schedule *schedule = object;

	if (schedule->has_bundles)
		json_write_raw(writer, field->name, schedule->bundles_text);
}
