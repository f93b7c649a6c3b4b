#include "codec/schema/field.h"

#include <string.h>

#include "base/check.h"
#include "base/nearest.h"
#include "codec/schema/field_names.h"
#include "codec/text/number.h"
#include "codec/text/quantity.h"
#include "codec/text/rfc3339.h"

#define PROTO_NAME_MAX 64

/* The value of a row that is only checked. */
union unread {
	const char *text;
	bool boolean;
	int64_t integer;
	time_ms time;
	struct labels labels;
	struct strings strings;
	struct quantities quantities;
};

/* ---- one value ---- */

/* A map of strings, sorted by key. `shown`: a value that a string cannot hold is read as U+FFFD. */
static int text_map_decode(const struct json_at *member, bool shown, struct labels *ret_labels)
{
	struct arena *arena = member->reader->arena;
	VEC(struct label) labels = { .at = NULL };

	if (json_optional(member, JSON_OBJECT))
		return -1;
	VEC_RESERVE(arena, &labels, json_count(member));
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		enum json_type type = json_type(&e);
		/* kubectl and YAML write an empty value as null. */
		const char *value = "";

		if (type == JSON_UNREADABLE && shown)
			value = json_unreadable_value(&e);
		else if (type != JSON_NULL && json_expect(&e, JSON_STRING))
			return -1;
		else if (type != JSON_NULL)
			value = json_text_value(&e);
		VEC_PUSH(arena, &labels,
			 ((struct label){ .key = json_shown_text(arena, e.name),
					  .value = json_shown_text(arena, value) }));
	}
	*ret_labels = labels_sort(labels.at, labels.count);
	return 0;
}

static int texts_decode(const struct json_at *member, struct strings *ret_strings)
{
	struct arena *arena = member->reader->arena;
	VEC(const char *) strings = { .at = NULL };

	if (json_optional(member, JSON_ARRAY))
		return -1;
	VEC_RESERVE(arena, &strings, json_count(member));
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		if (json_expect(&e, JSON_STRING))
			return -1;
		VEC_PUSH(arena, &strings, arena_text(arena, json_text_value(&e)));
	}
	*ret_strings = (struct strings){ .at = strings.at, .count = strings.count };
	return 0;
}

static int text_decode(const struct json_at *member, const struct field *field, const char **value)
{
	if (json_optional(member, JSON_STRING))
		return -1;
	*value = json_text_or_none(member);
	if ((field->flags & FIELD_NULLABLE) && **value == '\0')
		*value = NULL;
	return 0;
}

/* A longer string is refused, because every message would repeat it. */
static int name_decode(const struct json_at *member, const struct field *field, const char **value)
{
	bool required = (field->flags & FIELD_REQUIRED) != 0;

	if ((required && json_expect(member, JSON_STRING)) || json_optional(member, JSON_STRING))
		return -1;
	*value = json_text_or_none(member);
	if (strlen(*value) > OBJECT_NAME_SIZE_MAX)
		return json_fail(member, "has %zu bytes; a name has at most %d", strlen(*value),
				 OBJECT_NAME_SIZE_MAX);
	if (required && **value == '\0')
		return json_fail(member, "must not be empty");
	return 0;
}

static int boolean_decode(const struct json_at *member, bool *value)
{
	if (json_optional(member, JSON_BOOLEAN))
		return -1;
	*value = json_is_given(member) && json_boolean_value(member);
	return 0;
}

static int integer_decode(const struct json_at *member, const struct field *field, int64_t *value)
{
	if (member->reader->proto && json_type(member) == JSON_STRING) {
		if (number_parse_integer(json_text_value(member), value))
			return json_fail(member, "must be an integer, is \"%.40s\"",
					 json_text_value(member));
	} else if (json_is_given(member) && json_integer_value(member, value)) {
		return -1;
	}
	if (field->most == INT64_MAX && *value < 0)
		return json_fail(member, "must not be negative, is %lld", (long long)*value);
	if (field->most > 0 && (*value < 0 || *value > field->most))
		return json_fail(member, "must be 0 to %lld, is %lld", (long long)field->most,
				 (long long)*value);
	return 0;
}

static int amount_decode(const struct json_at *member, const struct field *field, int64_t *amount)
{
	bool quoted = (field->flags & FIELD_QUOTED) != 0;
	const char *problem;

	if (!json_is_given(member))
		return 0;
	if (json_expect(member, quoted ? JSON_STRING : JSON_NUMBER))
		return -1;
	if (quoted) {
		(void)quantity_parse(json_text_value(member), amount, &problem);
		return 0;
	}
	*amount = amount_from_double(json_number_value(member), &problem);
	if (problem && !(json_number_value(member) > 0))
		return json_fail(member, "an amount %s; it must be 0 or more", problem);
	if (problem)
		*amount = RESOURCE_AMOUNT_MAX;
	return 0;
}

/* An object in a struct, with a reader of its own if its problems are its own. */
static int part_decode(const struct json_at *at, const struct field *field, void *part)
{
	struct json_reader own = { .arena = at->reader->arena,
				   .err = at->reader->err,
				   .proto = (field->flags & FIELD_PROTO) != 0 };
	struct json_at root = *at;
	struct strings problems;

	if (field->strict && field_check_names(at, field->members, field->strict))
		return -1;
	if (field->problems == 0)
		return field_decode_all(at, field->members, part);
	root.reader = &own;
	if (field_decode_all(&root, field->members, part))
		return -1;
	problems = (struct strings){ own.problems.at, own.problems.count };
	memcpy((char *)part + field->problems, &problems, sizeof(problems));
	return 0;
}

static int word_decode(const struct json_at *member, const struct field *field, unsigned *value)
{
	const char *all = "", *text;

	if (!(field->flags & FIELD_REQUIRED) && !json_is_given(member))
		return 0;
	if (json_expect(member, JSON_STRING))
		return -1;
	text = json_text_value(member);
	for (unsigned i = 0; i < field->limit; i++) {
		if (strcmp(field->word(i), text) == 0) {
			*value = i;
			return 0;
		}
		all = arena_printf(member->reader->arena, "%s%s%s", all, i > 0 ? ", " : "",
				   field->word(i));
	}
	return json_fail(member, "must be one of %s, is \"%.40s\"", all, text);
}

static int reason_decode(const struct json_at *member, const struct field *field,
			 enum reason *reason)
{
	if (json_optional(member, JSON_STRING))
		return -1;
	if (json_is_given(member))
		*reason = reason_read((enum reason_table)field->limit, json_text_value(member));
	return 0;
}

/* The struct of a POINTER, or a whole object, before it is read. */
static void *part_new(const struct field *field, struct arena *arena)
{
	return field->initial ? arena_copy(arena, field->initial, 1, field->size) :
				arena_alloc(arena, field->size);
}

static int pointer_decode(const struct json_at *member, const struct field *field, void *value)
{
	char *part = NULL;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (json_is_given(member)) {
		part = part_new(field, member->reader->arena);
		if (part_decode(member, field, part))
			return -1;
	}
	memcpy(value, &part, sizeof(part));
	return 0;
}

static int resources_decode(const struct json_at *member, struct resources *value)
{
	struct quantities quantities;
	struct resource *items;

	if (quantities_decode(member, &quantities))
		return -1;
	items = arena_array(member->reader->arena, quantities.count, sizeof(*items));
	for (size_t i = 0; i < quantities.count; i++) {
		if (!quantities.at[i].valid)
			return json_fail(member, "%.80s is not an amount", quantities.at[i].name);
		items[i] = (struct resource){ quantities.at[i].name, quantities.at[i].amount };
	}
	*value = resources_sort(items, quantities.count);
	return 0;
}

static int fixed_check(const struct json_at *member, const struct field *field)
{
	const char *text = json_text_or_none(member);

	if (((field->flags & FIELD_REQUIRED) && json_expect(member, JSON_STRING)) ||
	    json_optional(member, JSON_STRING))
		return -1;
	if (((field->flags & FIELD_NULLABLE) && *text == '\0') || strcmp(text, field->initial) == 0)
		return 0;
	return json_fail(member, "must be %s, is \"%.80s\"", (const char *)field->initial, text);
}

static int list_decode(const struct json_at *member, const struct field *field, void *object)
{
	size_t count = json_count(member);
	char *elements = NULL;

	if (json_optional(member, JSON_ARRAY))
		return -1;
	if (field->limit > 0 && count > field->limit)
		return json_fail(member, "has %zu elements, more than %zu", count, field->limit);
	if (count > 0)
		elements = arena_array(member->reader->arena, count, field->size);
	if (elements)
		for (struct json_at e = json_first(member); e.json; json_next(&e)) {
			char *element = elements + e.index * field->size;

			if (field->initial)
				memcpy(element, field->initial, field->size);
			if (json_expect(&e, JSON_OBJECT) || part_decode(&e, field, element))
				return -1;
		}
	memcpy(field_value(field, object), &elements, sizeof(elements));
	memcpy((char *)object + field->count, &count, sizeof(count));
	return 0;
}

static int value_decode(const struct json_at *member, const struct field *field, void *object)
{
	union unread unread = { .integer = 0 };
	void *value = &unread;

	if (!(field->flags & FIELD_CHECKED))
		value = field_value(field, object);
	switch (field->kind) {
	case FIELD_KIND_TEXT:
		return text_decode(member, field, value);
	case FIELD_KIND_SHOWN:
		return json_shown(member->parent, member->name, value);
	case FIELD_KIND_NAME:
		return name_decode(member, field, value);
	case FIELD_KIND_BOOLEAN:
		return boolean_decode(member, value);
	case FIELD_KIND_INTEGER:
		return integer_decode(member, field, value);
	case FIELD_KIND_TIME:
		return rfc3339_decode(member->parent, member->name, value);
	case FIELD_KIND_TEXTS:
		return texts_decode(member, value);
	case FIELD_KIND_LABELS:
		return text_map_decode(member, false, value);
	case FIELD_KIND_NOTES:
		return text_map_decode(member, true, value);
	case FIELD_KIND_QUANTITIES:
		return quantities_decode(member, value);
	case FIELD_KIND_RESOURCES:
		return resources_decode(member, value);
	case FIELD_KIND_FIXED:
		return fixed_check(member, field);
	case FIELD_KIND_POINTER:
		return pointer_decode(member, field, value);
	case FIELD_KIND_OBJECT:
		return json_optional(member, JSON_OBJECT) || part_decode(member, field, value);
	case FIELD_KIND_LIST:
		return list_decode(member, field, object);
	case FIELD_KIND_WORD:
		return word_decode(member, field, value);
	case FIELD_KIND_REASON:
		return reason_decode(member, field, value);
	case FIELD_KIND_AMOUNT:
		return amount_decode(member, field, value);
	case FIELD_KIND_COUNT:
	case FIELD_KIND_HOOK:
		break;
	}
	return 0;
}

/* The type of a member with FIELD_GIVEN. */
static enum json_type type_of(enum field_kind kind)
{
	switch (kind) {
	case FIELD_KIND_BOOLEAN:
		return JSON_BOOLEAN;
	case FIELD_KIND_INTEGER:
	case FIELD_KIND_AMOUNT:
	case FIELD_KIND_COUNT:
		return JSON_NUMBER;
	case FIELD_KIND_TEXTS:
	case FIELD_KIND_LIST:
		return JSON_ARRAY;
	case FIELD_KIND_LABELS:
	case FIELD_KIND_NOTES:
	case FIELD_KIND_QUANTITIES:
	case FIELD_KIND_RESOURCES:
	case FIELD_KIND_POINTER:
	case FIELD_KIND_OBJECT:
	case FIELD_KIND_HOOK:
		return JSON_OBJECT;
	default:
		return JSON_STRING;
	}
}

int field_decode(const struct json_at *member, const struct field *field, void *object)
{
	bool has = json_is_given(member);

	if (((field->flags & FIELD_GIVEN) && json_expect(member, type_of(field->kind))) ||
	    value_decode(member, field, object))
		return -1;
	if (field->has)
		memcpy((char *)object + field->has, &has, sizeof(has));
	return has && field->check ? field->check(member, field, object) : 0;
}

/* Writes "camelCase" as "camel_case". */
static void write_snake(const char *name, char snake[PROTO_NAME_MAX])
{
	size_t size = 0;

	for (; *name && size + 2 < PROTO_NAME_MAX; name++) {
		bool upper = *name >= 'A' && *name <= 'Z';

		if (upper)
			snake[size++] = '_';
		snake[size++] = (char)(upper ? *name - 'A' + 'a' : *name);
	}
	snake[size] = '\0';
}

static int row_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct json_at member = json_member(at, field->name);
	char snake[PROTO_NAME_MAX];

	if (at->reader->proto) {
		write_snake(field->name, snake);
		struct json_at second = json_member(at, snake);
		if (second.json && strcmp(snake, field->name) != 0) {
			if (member.json)
				return json_fail(&member, "is given twice, also as %s", snake);
			member = second;
		}
	}
	return field->read ? field->read(&member, field, object) :
			     field_decode(&member, field, object);
}

/* Others are only written, or for lint: their member is not looked at. */
static bool is_read(const struct field *field)
{
	if (field->kind == FIELD_KIND_FIXED)
		return field->flags & (FIELD_REQUIRED | FIELD_NULLABLE);
	return field->read || (field->kind != FIELD_KIND_HOOK && field->kind != FIELD_KIND_COUNT);
}

int field_decode_all(const struct json_at *at, const struct field *fields, void *object)
{
	for (const struct field *field = fields; field->name; field++)
		if (is_read(field) && row_decode(at, field, object))
			return -1;
	return 0;
}

const struct field *field_find(const struct field *fields, const char *name)
{
	while (fields->name && strcmp(fields->name, name) != 0)
		fields++;
	return fields->name ? fields : NULL;
}

int field_check_names(const struct json_at *at, const struct field *fields, const char *what)
{
	if (json_expect(at, JSON_OBJECT))
		return -1;
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		if (!field_find(fields, e.name))
			return json_fail(&e, "is not a member of %s%s", what,
					 field_names_hint(fields, e.name, at->reader->arena));
	return 0;
}

int field_group_name_decode(const struct json_at *member, const struct field *field, void *object)
{
	const char *const *name = field_value(field, object);

	if (field_decode(member, field, object))
		return -1;
	if (**name == '\0')
		json_problem(member->parent, "%s is required: the groupName of the RayCluster",
			     field->name);
	return 0;
}

int field_check_not_negative(const struct json_at *member, const struct field *field, void *object)
{
	void *value = field_value(field, object), *has = (char *)object + field->has;
	int64_t *integer = value;

	if (*integer < 0) {
		json_problem(member, "must not be negative, is %lld; it counts as not given",
			     (long long)*integer);
		*(bool *)has = false;
		*integer = 0;
	}
	return 0;
}

int field_check_enum(const struct json_at *member, const struct field *field, void *object)
{
	static const char begin[] = "enum: [";
	const char **text = field_value(field, object), *all = strstr(field->schema, begin);
	struct nearest nearest = nearest_start(*text);
	char hint[NEAREST_HINT_SIZE];
	size_t size;

	CHECK(all);
	all += sizeof(begin) - 1;
	if (**text == '\0')
		return 0;
	for (const char *word = all;; word += size + strspn(word + size, ", ")) {
		const char *copy;

		size = strcspn(word, ",]");
		copy = arena_strndup(member->reader->arena, word, size);
		if (strcmp(copy, *text) == 0)
			return 0;
		nearest_offer(&nearest, copy);
		if (word[size] != ',')
			break;
	}
	json_problem(member, "must be one of %.*s, is \"%.64s\"; it counts as not given%s",
		     (int)strcspn(all, "]"), all, *text, nearest_hint(&nearest, hint));
	*text = "";
	return 0;
}

int field_check_unique(const struct json_at *member, const struct field *field, void *object)
{
	const void *value = field_value(field, object);
	const char *name = *(const char *const *)value;

	if (*name == '\0')
		return 0;
	for (size_t i = 1; i <= member->parent->index; i++) {
		const void *before = (const char *)value - i * field->size;

		if (strcmp(*(const char *const *)before, name) == 0)
			return json_fail(member, "%.80s is in the list twice; rename one", name);
	}
	return 0;
}

int field_decode_object(const struct cJSON *json, const char *path, const struct field *row,
			struct arena *arena, void *ret_object, struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	void *object = part_new(row, &scratch);

	if (json_expect(&root, JSON_OBJECT) || part_decode(&root, row, object))
		return -1;
	memcpy(ret_object, object, row->size);
	return 0;
}

bool field_decode_each(const struct json_at *at, const struct field *fields, void *object,
		       size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	bool complete = true;

	for (const struct field *field = fields; field->name; field++) {
		void *before = arena_copy(&scratch, object, 1, size);

		if (!is_read(field) || row_decode(at, field, object) == 0)
			continue;
		memcpy(object, before, size);
		complete = false;
	}
	return complete;
}

/* ---- parts of all objects ---- */

const char *object_text_or_none(const struct json_at *at, const char *name)
{
	struct json_at member = json_member(at, name);

	return json_text_or_none(&member);
}

const struct field condition_fields[] = {
	FIELD_TEXT(struct condition, type, "type"),
	FIELD_TEXT(struct condition, status, "status"),
	FIELD_TEXT(struct condition, reason, "reason"),
	FIELD_SHOWN(struct condition, message, "message"),
	FIELD_TIME(struct condition, last_transition, "lastTransitionTime"),
	FIELD_END,
};
