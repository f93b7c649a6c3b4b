#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/schema/field.h"
#include "codec/text/number.h"

#define TEXT_MAX ((size_t)8 << 20) /* never reached: each part is bounded */

/* Annotations of others may hold secrets: kubectl keeps the whole applied object in one. */
static bool annotation_is_known(const char *key)
{
	return strncmp(key, "rayscaler.dev/", strlen("rayscaler.dev/")) == 0 ||
	       strncmp(key, "ray.io/", strlen("ray.io/")) == 0 ||
	       strcmp(key, KARPENTER_ANNOTATION) == 0 ||
	       strcmp(key, CLUSTER_AUTOSCALER_ANNOTATION) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_INDEX) == 0 ||
	       strcmp(key, GPUSHARE_ANNOTATION_ALLOCATION) == 0 ||
	       /* codec/objects/gpu_annotation */
	       strcmp(key, "gpu-fraction") == 0 || strcmp(key, "gpu-memory") == 0 ||
	       strcmp(key, "gpu-fraction-num-devices") == 0;
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
	const void *value = field_value_read(field, object);

	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		return *(const char *const *)value && **(const char *const *)value != '\0';
	case FIELD_KIND_BOOLEAN:
		return *(const bool *)value;
	case FIELD_KIND_INTEGER:
	case FIELD_KIND_AMOUNT:
		return *(const int64_t *)value != 0;
	case FIELD_KIND_COUNT:
		return *(const size_t *)value != 0;
	case FIELD_KIND_WORD:
	case FIELD_KIND_REASON:
		return *(const unsigned *)value != 0;
	case FIELD_KIND_POINTER:
		return *(const void *const *)value != NULL;
	case FIELD_KIND_FIXED:
		return true;
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
	case FIELD_KIND_RESOURCES:
		return ((const struct resources *)value)->count > 0;
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

static void write_amount(struct json_writer *writer, const struct field *field, int64_t amount)
{
	bool quoted = field->flags & FIELD_QUOTED;
	char text[RESOURCE_AMOUNT_TEXT_SIZE];

	if (amount == FIELD_AMOUNT_UNLIMITED && (!quoted || (field->flags & FIELD_NULLABLE))) {
		json_write_null(writer, field->name);
	} else if (quoted) {
		resource_amount_print(amount < RESOURCE_AMOUNT_MAX ? amount : RESOURCE_AMOUNT_MAX,
				      text);
		json_write_text(writer, field->name, text);
	} else {
		json_write_amount(writer, field->name, amount);
	}
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

static void write_resources(struct json_writer *writer, const struct field *field,
			    const struct resources *resources)
{
	json_write_object(writer, field->name);
	for (size_t i = 0; i < resources->count; i++)
		json_write_amount(writer, resources->at[i].name, resources->at[i].amount);
	json_write_object_end(writer);
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (text)
		json_write_text(writer, name, text);
	else
		json_write_null(writer, name);
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

	memcpy(&elements, field_value_read(field, object), sizeof(elements));
	json_write_array(writer, field->name);
	for (size_t i = 0; i < count; i++)
		write_object(writer, NULL, field, elements + i * field->size);
	json_write_array_end(writer);
}

void field_write_value(struct json_writer *writer, const struct field *field, const void *object)
{
	const void *value = field_value_read(field, object);

	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		write_text(writer, field->name, *(const char *const *)value);
		break;
	case FIELD_KIND_WORD:
		json_write_text(writer, field->name, field->word(*(const unsigned *)value));
		break;
	case FIELD_KIND_REASON:
		json_write_text(writer, field->name, reason_word(*(const enum reason *)value));
		break;
	case FIELD_KIND_FIXED:
		json_write_text(writer, field->name, field->initial);
		break;
	case FIELD_KIND_AMOUNT:
		write_amount(writer, field, *(const int64_t *)value);
		break;
	case FIELD_KIND_COUNT:
		json_write_integer(writer, field->name, (int64_t) * (const size_t *)value);
		break;
	case FIELD_KIND_RESOURCES:
		write_resources(writer, field, value);
		break;
	case FIELD_KIND_POINTER:
		write_object(writer, field->name, field, *(const void *const *)value);
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

/* With FIELD_ALWAYS: null is written. */
static bool is_null(const struct field *field, const void *object)
{
	if (field->has)
		return !*((const bool *)object + field->has);
	return (field->kind == FIELD_KIND_POINTER ||
		(field->kind == FIELD_KIND_LIST && (field->flags & FIELD_NULLABLE))) &&
	       !is_set(field, object);
}

void field_write_all(struct json_writer *writer, const struct field *fields, const void *object)
{
	for (const struct field *field = fields; field->name; field++) {
		if (!is_written(field, object))
			continue;
		if (is_null(field, object))
			json_write_null(writer, field->name);
		else if (field->write)
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

void field_write_line(struct json_writer *writer, const struct field *fields, const void *object)
{
	json_write_object_line(writer, NULL);
	field_write_all(writer, fields, object);
	json_write_object_end(writer);
}

void field_write_page(const struct field *fields, const void *object, struct buf *buf)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	field_write_object(&writer, NULL, fields, object);
	buf_add_char(buf, '\n');
}

const char *field_text(const struct field *fields, const void *object, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, TEXT_MAX);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, fields, object);
	return arena_strndup(arena, buf_string(&buf), buf.size);
}
