#include "codec/objects/field.h"

#include <stdio.h>
#include <string.h>

#include "codec/objects/gpushare_json.h"
#include "codec/objects/object_json.h"
#include "codec/text/number.h"
#include "codec/text/quantity.h"
#include "codec/text/rfc3339.h"

#define PROTO_NAME_MAX 64

/* The value of a row that is only checked. */
union unread {
	const char *text;
	bool boolean;
	int64_t integer;
	struct labels labels;
	struct strings strings;
	struct quantities quantities;
};

/* ---- reading ---- */

static int name_decode(const struct json_at *at, const struct field *field, const char **value)
{
	struct json_at member = json_member(at, field->name);
	bool required = (field->flags & FIELD_REQUIRED) != 0;

	if ((required && json_expect(&member, JSON_STRING)) || json_text(at, field->name, value) ||
	    object_name_check(&member))
		return -1;
	if (required && **value == '\0')
		return json_fail(&member, "must not be empty");
	return 0;
}

static int text_decode(const struct json_at *at, const struct field *field, const char **value)
{
	if (json_text(at, field->name, value))
		return -1;
	if ((field->flags & FIELD_NULLABLE) && **value == '\0')
		*value = NULL;
	return 0;
}

static int integer_decode(const struct json_at *at, const struct field *field, int64_t *value)
{
	struct json_at member = json_member(at, field->name);

	if (!at->reader->proto || json_type(&member) != JSON_STRING)
		return json_integer(at, field->name, NULL, value);
	if (number_parse_integer(json_text_value(&member), value))
		return json_fail(&member, "must be an integer, is \"%.40s\"",
				 json_text_value(&member));
	return 0;
}

static int object_decode(const struct json_at *at, const struct field *field, void *part)
{
	struct json_at member;

	return json_object(at, field->name, &member) ||
	       field_decode_all(&member, field->members, part);
}

static int list_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct json_at array;
	char *elements = NULL;
	size_t count;

	if (json_array(at, field->name, &array))
		return -1;
	count = json_count(&array);
	if (count > 0)
		elements = arena_array(at->reader->arena, count, field->size);
	for (struct json_at e = json_first(&array); elements && e.json; json_next(&e)) {
		char *element = elements + e.index * field->size;

		if (field->initial)
			memcpy(element, field->initial, field->size);
		if (json_expect(&e, JSON_OBJECT) || field_decode_all(&e, field->members, element))
			return -1;
	}
	memcpy((char *)object + field->offset, &elements, sizeof(elements));
	memcpy((char *)object + field->count, &count, sizeof(count));
	return 0;
}

static int value_decode(const struct json_at *at, const struct field *field, void *object)
{
	union unread unread;
	void *value = &unread;

	if (!(field->flags & FIELD_CHECKED))
		value = (char *)object + field->offset;
	switch (field->kind) {
	case FIELD_KIND_TEXT:
		return text_decode(at, field, value);
	case FIELD_KIND_SHOWN:
		return json_shown(at, field->name, value);
	case FIELD_KIND_NAME:
		return name_decode(at, field, value);
	case FIELD_KIND_BOOLEAN:
		return json_boolean(at, field->name, value);
	case FIELD_KIND_INTEGER:
		return integer_decode(at, field, value);
	case FIELD_KIND_TIME:
		return rfc3339_decode(at, field->name, value);
	case FIELD_KIND_TEXTS:
		return object_strings_decode(at, field->name, value);
	case FIELD_KIND_LABELS:
		return object_labels_decode(at, field->name, value);
	case FIELD_KIND_NOTES:
		return object_annotations_decode(at, value);
	case FIELD_KIND_QUANTITIES:
		return quantities_decode(at, field->name, value);
	case FIELD_KIND_OBJECT:
		return object_decode(at, field, value);
	case FIELD_KIND_LIST:
		return list_decode(at, field, object);
	case FIELD_KIND_HOOK:
		break;
	}
	return 0;
}

int field_decode(const struct json_at *at, const struct field *field, void *object)
{
	if (value_decode(at, field, object))
		return -1;
	if (field->has) {
		struct json_at member = json_member(at, field->name);
		enum json_type type = json_type(&member);
		bool has = type != JSON_MISSING && type != JSON_NULL;

		memcpy((char *)object + field->has, &has, sizeof(has));
	}
	return 0;
}

static int row_decode(const struct json_at *at, const struct field *field, void *object)
{
	return field->read ? field->read(at, field, object) : field_decode(at, field, object);
}

/* The member under its name "camelCase" or its original name "camel_case". */
static int proto_row_decode(const struct json_at *at, const struct field *field, void *object)
{
	struct json_at first = json_member(at, field->name), second;
	struct field named = *field;
	char snake[PROTO_NAME_MAX];
	size_t size = 0;

	for (const char *c = field->name; *c && size + 2 < sizeof(snake); c++) {
		bool upper = *c >= 'A' && *c <= 'Z';

		if (upper)
			snake[size++] = '_';
		snake[size++] = (char)(upper ? *c - 'A' + 'a' : *c);
	}
	snake[size] = '\0';
	second = json_member(at, snake);
	if (second.json && strcmp(snake, field->name) != 0) {
		if (first.json)
			return json_fail(&first, "is given twice, also as %s", snake);
		named.name = snake;
	}
	return row_decode(at, &named, object);
}

int field_decode_all(const struct json_at *at, const struct field *fields, void *object)
{
	for (const struct field *field = fields; field->name; field++)
		if (at->reader->proto ? proto_row_decode(at, field, object) :
					row_decode(at, field, object))
			return -1;
	return 0;
}

int field_decode_not_negative(const struct json_at *at, const struct field *field, void *object)
{
	struct json_at member = json_member(at, field->name);
	void *value = (char *)object + field->offset, *has = (char *)object + field->has;
	int64_t *integer = value;

	if (field_decode(at, field, object))
		return -1;
	if (*integer < 0) {
		json_problem(&member, "must not be negative, is %lld; it counts as not given",
			     (long long)*integer);
		*(bool *)has = false;
		*integer = 0;
	}
	return 0;
}

int field_decode_object(const struct cJSON *json, const char *path, const struct field *fields,
			struct arena *arena, void *object, struct strings *problems,
			struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);

	if (json_expect(&root, JSON_OBJECT) || field_decode_all(&root, fields, object))
		return -1;
	if (problems)
		*problems = (struct strings){ reader.problems.at, reader.problems.count };
	return 0;
}

/* ---- writing ---- */

/* Annotations of others may hold secrets: kubectl keeps the whole applied object in one. */
static bool annotation_is_known(const char *key)
{
	return strncmp(key, "rayscaler.dev/", strlen("rayscaler.dev/")) == 0 ||
	       strncmp(key, "ray.io/", strlen("ray.io/")) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_INDEX) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_ALLOCATION) == 0;
}

static bool any_is_known(const struct labels *annotations)
{
	for (size_t i = 0; i < annotations->count; i++)
		if (annotation_is_known(annotations->at[i].key))
			return true;
	return false;
}

static size_t count_of(const struct field *field, const void *object)
{
	size_t count;

	memcpy(&count, (const char *)object + field->count, sizeof(count));
	return count;
}

static bool is_written(const struct field *field, const void *object);

static bool any_is_written(const struct field *fields, const void *object)
{
	for (; fields->name; fields++)
		if (is_written(fields, object))
			return true;
	return false;
}

static bool is_set(const struct field *field, const void *object)
{
	const void *value = (const char *)object + field->offset;

	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		return *(const char *const *)value && **(const char *const *)value != '\0';
	case FIELD_KIND_BOOLEAN:
		return *(const bool *)value;
	case FIELD_KIND_INTEGER:
		return *(const int64_t *)value != 0;
	case FIELD_KIND_TIME:
		return *(const time_ms *)value != TIME_NONE;
	case FIELD_KIND_TEXTS:
		return ((const struct strings *)value)->count > 0;
	case FIELD_KIND_LABELS:
		return ((const struct labels *)value)->count > 0;
	case FIELD_KIND_NOTES:
		return any_is_known(value);
	case FIELD_KIND_QUANTITIES:
		return ((const struct quantities *)value)->count > 0;
	case FIELD_KIND_OBJECT:
		return any_is_written(field->members, value);
	case FIELD_KIND_LIST:
		return count_of(field, object) > 0;
	case FIELD_KIND_HOOK:
		break;
	}
	return field->write != NULL;
}

static bool is_written(const struct field *field, const void *object)
{
	const void *has = (const char *)object + field->has;

	if (field->flags & (FIELD_UNWRITTEN | FIELD_CHECKED))
		return false;
	if (field->flags & FIELD_ALWAYS)
		return true;
	return field->has ? *(const bool *)has : is_set(field, object);
}

void field_write_texts(struct json_writer *writer, const char *name, const struct strings *texts)
{
	json_write_array_line(writer, name);
	for (size_t i = 0; i < texts->count; i++)
		json_write_text(writer, NULL, texts->at[i]);
	json_write_array_end(writer);
}

static void write_integer(struct json_writer *writer, const struct field *field, int64_t value)
{
	char text[NUMBER_TEXT_SIZE];

	if (!(field->flags & FIELD_QUOTED)) {
		json_write_integer(writer, field->name, value);
		return;
	}
	snprintf(text, sizeof(text), "%lld", (long long)value);
	json_write_text(writer, field->name, text);
}

static void write_labels(struct json_writer *writer, const struct field *field,
			 const struct labels *labels)
{
	json_write_object(writer, field->name);
	for (size_t i = 0; i < labels->count; i++)
		if (field->kind != FIELD_KIND_NOTES || annotation_is_known(labels->at[i].key))
			json_write_text(writer, labels->at[i].key, labels->at[i].value);
	json_write_object_end(writer);
}

static void write_quantities(struct json_writer *writer, const char *name,
			     const struct quantities *quantities)
{
	json_write_object_line(writer, name);
	for (size_t i = 0; i < quantities->count; i++)
		json_write_text(writer, quantities->at[i].name, quantities->at[i].text);
	json_write_object_end(writer);
}

static void write_object(struct json_writer *writer, const char *name, const struct field *field,
			 const void *object)
{
	if (field->flags & FIELD_LINE)
		json_write_object_line(writer, name);
	else
		json_write_object(writer, name);
	field_write_all(writer, field->members, object);
	json_write_object_end(writer);
}

static void write_list(struct json_writer *writer, const struct field *field, const void *object)
{
	const char *elements;
	size_t count = count_of(field, object);

	memcpy(&elements, (const char *)object + field->offset, sizeof(elements));
	json_write_array(writer, field->name);
	for (size_t i = 0; i < count; i++)
		write_object(writer, NULL, field, elements + i * field->size);
	json_write_array_end(writer);
}

void field_write_value(struct json_writer *writer, const struct field *field, const void *object)
{
	const void *value = (const char *)object + field->offset;

	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		json_write_text(writer, field->name, *(const char *const *)value);
		break;
	case FIELD_KIND_BOOLEAN:
		json_write_boolean(writer, field->name, *(const bool *)value);
		break;
	case FIELD_KIND_INTEGER:
		write_integer(writer, field, *(const int64_t *)value);
		break;
	case FIELD_KIND_TIME:
		/* There, but it does not parse. */
		if (field->has && *(const time_ms *)value == TIME_NONE)
			json_write_time(writer, field->name, 0);
		else
			json_write_time(writer, field->name, *(const time_ms *)value);
		break;
	case FIELD_KIND_TEXTS:
		field_write_texts(writer, field->name, value);
		break;
	case FIELD_KIND_LABELS:
	case FIELD_KIND_NOTES:
		write_labels(writer, field, value);
		break;
	case FIELD_KIND_QUANTITIES:
		write_quantities(writer, field->name, value);
		break;
	case FIELD_KIND_OBJECT:
		write_object(writer, field->name, field, value);
		break;
	case FIELD_KIND_LIST:
		write_list(writer, field, object);
		break;
	case FIELD_KIND_HOOK:
		break;
	}
}

void field_write_all(struct json_writer *writer, const struct field *fields, const void *object)
{
	for (const struct field *field = fields; field->name; field++) {
		if (!is_written(field, object))
			continue;
		if (field->write)
			field->write(writer, field, object);
		else
			field_write_value(writer, field, object);
	}
}

void field_write_object(struct json_writer *writer, const char *name, const struct field *fields,
			const void *object)
{
	json_write_object(writer, name);
	field_write_all(writer, fields, object);
	json_write_object_end(writer);
}
