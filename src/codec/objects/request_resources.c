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
#define KEY_BYTES_MAX (32 << 20) /* of one bundle */

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

/* ---- lists: equal bundles are found by a key, in linear time ---- */

struct requests {
	VEC(struct json_at) first; /* of each different bundle */
	VEC(int64_t) counts;
	struct map by_key; /* of a bundle: its number from 1 */
	struct buf key;
};

static void requests_done(struct requests *requests)
{
	map_done(&requests->by_key);
	buf_done(&requests->key);
}

/* With its length in front: no text can look like two. */
static void add_key(struct buf *key, const char *text)
{
	size_t size = strlen(text);

	buf_printf(key, "%zu:", size);
	buf_add(key, text, size);
}

static void add_selector_key(struct buf *key, const struct label_selector *selector)
{
	ARRAY_EACH(const struct label_constraint, one, selector->constraints, selector->count) {
		add_key(key, one->key);
		buf_add_char(key, one->operation == LABEL_OPERATOR_IN ? '+' : '-');
		for (size_t i = 0; i < one->values.count; i++)
			add_key(key, one->values.at[i]);
		buf_add_char(key, ';');
	}
}

/* Entries and constraints are sorted, so equal bundles have equal keys. */
static void set_key(struct buf *key, const struct ray_request *request)
{
	buf_clear(key);
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		uint64_t bits;

		memcpy(&bits, &entry->received, sizeof(bits));
		add_key(key, entry->name);
		buf_printf(key, "%llx,", (unsigned long long)bits);
	}
	buf_add_char(key, '/');
	ARRAY_EACH(const struct label_selector, selector, request->selectors,
		   request->selector_count)
		add_selector_key(key, selector);
}

static int count_bundle(struct requests *requests, const struct json_at *at, struct arena *arena)
{
	struct ray_request request = { .bundle = NULL };
	uintptr_t number;

	if (request_bundle_decode(at, &request))
		return -1;
	set_key(&requests->key, &request);
	if (requests->key.overflowed)
		return json_fail(at, "is too large");
	number = (uintptr_t)map_get(&requests->by_key, buf_string(&requests->key));
	if (number == 0) {
		VEC_PUSH(arena, &requests->first, *at);
		VEC_PUSH(arena, &requests->counts, 0);
		number = requests->first.count;
		map_set(&requests->by_key, buf_string(&requests->key), (void *)number);
	}
	requests->counts.at[number - 1]++;
	return 0;
}

/* Checks each bundle, in memory that is used again for the next one, up to the limit. */
static int count_bundles(const struct json_at *list, struct requests *requests, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_reader reader = { .arena = &scratch, .err = list->reader->err };
	struct json_at own = json_root(list->json, list->name, &reader);

	if (json_expect(&own, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(&own); e.json; json_next(&e)) {
		if (count_bundle(requests, &e, arena))
			return -1;
		if (requests->first.count > REQUEST_BUNDLES_MAX)
			return err_set(list->reader->err, ERR_LIMIT,
				       "more than %d of its %zu bundles differ, the limit; ask for "
				       "fewer kinds of bundles: equal ones count once",
				       REQUEST_BUNDLES_MAX, json_count(&own));
		arena_reset(&scratch);
	}
	return 0;
}

/* Only what is returned stays in the reader's arena: a list that is refused leaves nothing there. */
static int request_list_decode(const struct json_at *list, struct ray_constraint *ret_constraint)
{
	AUTO(requests_done) struct requests requests = { .by_key = MAP_INIT };
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct arena *arena = list->reader->arena;
	struct ray_request_count *counted;

	buf_init(&requests.key, KEY_BYTES_MAX);
	if (count_bundles(list, &requests, &scratch))
		return -1;
	counted = arena_array(arena, requests.first.count, sizeof(*counted));
	for (size_t i = 0; i < requests.first.count; i++) {
		requests.first.at[i].reader = list->reader;
		counted[i].count = requests.counts.at[i];
		if (request_bundle_decode(&requests.first.at[i], &counted[i].request))
			return -1;
	}
	ret_constraint->requests = counted;
	ret_constraint->count = requests.first.count;
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

const char *request_resources_problem(const struct err *err, struct arena *arena)
{
	if (err->kind == ERR_LIMIT)
		return arena_strdup(arena, err->text);
	return arena_printf(arena, "%s; it must be a JSON list of bundles like [{\"GPU\": 1}]",
			    err->text);
}

const struct annotation_request *request_resources_decode(const struct labels *annotations,
							  struct arena *arena)
{
	const char *text = labels_value(annotations, ANNOTATION_REQUEST_RESOURCES);
	struct annotation_request *request;
	struct ray_constraint bundles;
	struct err err;

	if (!text)
		return NULL;
	request = ARENA_NEW(arena, struct annotation_request);
	if (request_resources_parse(text, arena, &bundles, &err) == 0)
		request->bundles = ARENA_PUT(arena, bundles);
	else
		request->problem = arena_printf(arena, "annotation %s: %s",
						ANNOTATION_REQUEST_RESOURCES,
						request_resources_problem(&err, arena));
	return request;
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
	if (count > REQUEST_BUNDLES_MAX)
		json_problem(member, "has %zu bundles, above the limit of %d", count,
			     REQUEST_BUNDLES_MAX);
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
