#include "codec/objects/memory_json.h"

#include <string.h>

#define TEXT_SIZE_MAX 1024 /* ours are cut to half of it */
#define FINGERPRINT_SIZE 16

/* ---- entries: an invalid one is dropped ---- */

static bool is_name(const char *text)
{
	return *text != '\0' && strlen(text) <= MEMORY_TEMPLATE_NAME_SIZE_MAX;
}

static bool is_valid(const struct memory_template *template)
{
	if (strlen(template->fingerprint) != FINGERPRINT_SIZE ||
	    strlen(template->pod) > MEMORY_TEMPLATE_NAME_SIZE_MAX ||
	    template->resources.count > MEMORY_TEMPLATE_RESOURCES_MAX ||
	    template->labels.count > MEMORY_TEMPLATE_RESOURCES_MAX)
		return false;
	for (size_t i = 0; i < template->resources.count; i++)
		if (!is_name(template->resources.at[i].name))
			return false;
	for (size_t i = 0; i < template->labels.count; i++)
		if (!is_name(template->labels.at[i].key) ||
		    strlen(template->labels.at[i].value) > MEMORY_TEMPLATE_NAME_SIZE_MAX)
			return false;
	return true;
}

int memory_template_decode(const struct json_at *at, struct memory_template *ret_template)
{
	struct memory_template template = *ret_template;

	if (json_expect(at, JSON_OBJECT) ||
	    field_decode_all(at, memory_template_fields, &template) || !is_valid(&template))
		return -1;
	*ret_template = template;
	return 0;
}

/* The required members are given, and texts are short. */
static bool is_complete(const struct field *fields, const void *entry)
{
	for (; fields->name; fields++) {
		const void *value = (const char *)entry + fields->offset;
		bool required = fields->flags & FIELD_REQUIRED;

		if (fields->kind == FIELD_KIND_TEXT) {
			const char *text = *(const char *const *)value;

			if (text && (strlen(text) > TEXT_SIZE_MAX || (required && *text == '\0')))
				return false;
		} else if (required && *(const time_ms *)value == TIME_NONE) {
			return false;
		}
	}
	return true;
}

/* Adds the valid elements of the list `name`, at most MEMORY_ENTRIES_MAX, to the VEC of the row. */
static void list_decode(const struct json_at *root, const char *name, const struct field *field,
			const void *initial, struct memory_state *memory)
{
	struct json_at array = json_member(root, name);
	VEC(char) list; /* of elements of field->size bytes */
	size_t end;

	memcpy(&list, (char *)memory + field->offset, sizeof(list));
	end = list.count + MEMORY_ENTRIES_MAX;
	for (struct json_at e = json_first(&array); e.json && list.count < end; json_next(&e)) {
		char *entry;

		list.at = arena_grow(root->reader->arena, list.at, list.count, &list.capacity,
				     field->size);
		entry = list.at + list.count * field->size;
		if (initial)
			memcpy(entry, initial, field->size);
		if (json_expect(&e, JSON_OBJECT) == 0 &&
		    field_decode_all(&e, field->members, entry) == 0 &&
		    is_complete(field->members, entry) &&
		    (strcmp(field->name, MEMORY_TEMPLATES) != 0 || is_valid((void *)entry)))
			list.count++;
	}
	memcpy((char *)memory + field->offset, &list, sizeof(list));
}

void memory_decode(const struct cJSON *json, struct arena *arena, struct memory_state *ret_memory)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(json, "memory", &reader);
	struct memory_state memory = { .templates = { .at = NULL } };

	for (const struct field *field = memory_fields; field->name; field++) {
		if (strcmp(field->name, MEMORY_MARKS) != 0) {
			list_decode(&root, field->name, field, NULL, &memory);
			continue;
		}
		for (enum mark_kind kind = 0; kind < MARK_KIND_COUNT; kind++)
			list_decode(&root, mark_rules[kind].list, field,
				    &(struct memory_mark){ .kind = kind }, &memory);
	}
	*ret_memory = memory;
}

static void write_marks(struct json_writer *writer, const struct field *field, const void *object)
{
	for (enum mark_kind kind = 0; kind < MARK_KIND_COUNT; kind++) {
		const struct memory_mark *mark = memory_next_mark(object, kind, NULL);

		if (!mark)
			continue;
		json_write_array(writer, mark_rules[kind].list);
		for (; mark != NULL; mark = memory_next_mark(object, kind, mark))
			field_write_line(writer, field->members, mark);
		json_write_array_end(writer);
	}
}

void memory_write(struct json_writer *writer, const char *name, const struct memory_state *memory)
{
	struct field fields[MEMORY_LISTS + 1];

	memcpy(fields, memory_fields, sizeof(fields));
	for (size_t i = 0; i < MEMORY_LISTS; i++)
		if (strcmp(fields[i].name, MEMORY_MARKS) == 0)
			fields[i].write = write_marks;
	field_write_object(writer, name, fields, memory);
}
