#include "core/model/field.h"

#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/model/kubernetes.h"

/* ---- lists: those of a row and the small ones of a kind ---- */

static const struct field text_rows[] = {
	{ .name = "text", .kind = FIELD_KIND_TEXT },
	FIELD_END,
};

static const struct field label_rows[] = {
	FIELD_TEXT(struct label, key, "key"),
	FIELD_TEXT(struct label, value, "value"),
	FIELD_END,
};

static const struct field quantity_rows[] = {
	FIELD_TEXT(struct quantity, name, "name"),
	FIELD_TEXT(struct quantity, text, "text"),
	FIELD_END,
};

static const struct field resource_rows[] = {
	FIELD_TEXT(struct resource, name, "name"),
	FIELD_AMOUNT(struct resource, amount, "amount"),
	FIELD_END,
};

/* An array of elements of `size` bytes. */
struct list {
	const struct field *members; /* NULL: of other kinds */
	size_t size, count;          /* count: its offset */
};

static struct list list_of(const struct field *field)
{
	static const struct list lists[FIELD_KIND_HOOK + 1] = {
		[FIELD_KIND_TEXTS] = { text_rows, sizeof(char *), offsetof(struct strings, count) },
		[FIELD_KIND_LABELS] = { label_rows, sizeof(struct label),
					offsetof(struct labels, count) },
		[FIELD_KIND_NOTES] = { label_rows, sizeof(struct label),
				       offsetof(struct labels, count) },
		[FIELD_KIND_QUANTITIES] = { quantity_rows, sizeof(struct quantity),
					    offsetof(struct quantities, count) },
		[FIELD_KIND_RESOURCES] = { resource_rows, sizeof(struct resource),
					   offsetof(struct resources, count) },
	};
	struct list list = lists[field->kind];

	if (field->kind == FIELD_KIND_LIST)
		return (struct list){ field->members, field->size, field->count };
	list.count += field->offset;
	return list;
}

static size_t count_at(const void *object, size_t offset)
{
	const void *count = (const char *)object + offset;

	return *(const size_t *)count;
}

/* ---- copy ---- */

static const char *own_text(const char *text, struct arena *arena)
{
	if (!text || *text == '\0')
		return text ? "" : NULL;
	return arena_text(arena, text);
}

static void own_list(const struct list *list, void *object, void *value, struct arena *arena)
{
	size_t count = count_at(object, list->count), size = list->size;
	char *copy = count > 0 ? arena_copy(arena, *(void **)value, count, size) : NULL;

	*(void **)value = copy;
	for (size_t i = 0; i < count; i++)
		field_own(list->members, copy + i * size, arena);
}

static void own_value(const struct field *field, void *object, struct arena *arena)
{
	void *value = (char *)object + field->offset, *capacity = (char *)object + field->capacity;
	struct list list = list_of(field);

	if (list.members)
		own_list(&list, object, value, arena);
	if (field->capacity)
		*(size_t *)capacity = count_at(object, list.count);
	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		*(const char **)value = field->flags & FIELD_LEFT_OUT ?
						NULL :
						own_text(*(const char **)value, arena);
		break;
	case FIELD_KIND_POINTER:
		if (*(void **)value)
			*(void **)value =
				field_copy(field->members, *(void **)value, field->size, arena);
		break;
	case FIELD_KIND_OBJECT:
		field_own(field->members, value, arena);
		break;
	default:
		break;
	}
}

void field_own(const struct field *fields, void *object, struct arena *arena)
{
	for (const struct field *field = fields; field->name; field++)
		if (!(field->flags & FIELD_CHECKED))
			own_value(field, object, arena);
}

void *field_copy(const struct field *fields, const void *from, size_t size, struct arena *arena)
{
	void *copy = arena_copy(arena, from, 1, size);

	field_own(fields, copy, arena);
	return copy;
}

void *field_keep(const struct field *fields, const void *from, size_t size, size_t bytes_max,
		 struct arena *arena)
{
	AUTO(arena_done) struct arena measured = ARENA_INIT;
	void *copy;

	from = field_copy(fields, from, size, &measured);
	arena_done(arena);
	if (measured.used_bytes > bytes_max)
		return NULL;
	arena_reserve(arena, measured.used_bytes);
	copy = field_copy(fields, from, size, arena);
	CHECK(arena->used_bytes == measured.used_bytes);
	return copy;
}

/* ---- equality ---- */

static bool same_list(const struct list *list, const void *a, const void *b, size_t offset)
{
	const void *first = (const char *)a + offset, *second = (const char *)b + offset;
	size_t count = count_at(a, list->count), size = list->size;
	const char *at = *(const void *const *)first, *other = *(const void *const *)second;

	if (count != count_at(b, list->count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!field_equal(list->members, at + i * size, other + i * size))
			return false;
	return true;
}

/* Bytes of a value without pointers. */
static size_t plain_size(const struct field *field)
{
	switch (field->kind) {
	case FIELD_KIND_BOOLEAN:
		return sizeof(bool);
	case FIELD_KIND_WORD:
	case FIELD_KIND_REASON:
		return sizeof(unsigned);
	case FIELD_KIND_COUNT:
		return sizeof(size_t);
	case FIELD_KIND_HOOK:
		return field->size;
	case FIELD_KIND_FIXED:
		return 0;
	default:
		return sizeof(int64_t);
	}
}

static bool same_value(const struct field *field, const void *a, const void *b)
{
	const void *first = (const char *)a + field->offset;
	const void *second = (const char *)b + field->offset;
	struct list list = list_of(field);

	if (list.members)
		return same_list(&list, a, b, field->offset);
	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		return text_same(*(const char *const *)first, *(const char *const *)second);
	case FIELD_KIND_POINTER:
		first = *(const void *const *)first;
		second = *(const void *const *)second;
		return !first || !second ? first == second :
					   field_equal(field->members, first, second);
	case FIELD_KIND_OBJECT:
		return field_equal(field->members, first, second);
	default:
		return memcmp(first, second, plain_size(field)) == 0;
	}
}

bool field_equal(const struct field *fields, const void *a, const void *b)
{
	for (const struct field *field = fields; field->name; field++)
		if (!(field->flags & FIELD_CHECKED) && !same_value(field, a, b))
			return false;
	return true;
}
