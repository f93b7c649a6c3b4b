/* Copies by table: a struct whose every row has a value, its copy is written in the same way and points
 * nowhere into the original. */
#include <string.h>

#include "base/buf.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/node_json.h"
#include "feature/record/core/ray_work.h"
#include "test/support/codec_support.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* ---- values ---- */

struct filler {
	struct arena arena;
	int64_t next;
};

static void fill(const struct field *fields, void *object, struct filler *filler);

static const char *new_text(struct filler *filler)
{
	return arena_printf(&filler->arena, "text-%lld", (long long)filler->next++);
}

/* An array of two elements; `count` is behind the pointer. */
#define TWO(T, list, ...)                                                                          \
	do {                                                                                       \
		T *at_ = arena_array(&filler->arena, 2, sizeof(*at_));                             \
		at_[0] = (T)__VA_ARGS__;                                                           \
		at_[1] = (T)__VA_ARGS__;                                                           \
		(list)->at = at_;                                                                  \
		(list)->count = 2;                                                                 \
	} while (0)

static void fill_list(const struct field *field, void *object, struct filler *filler)
{
	char *elements = arena_array(&filler->arena, 2, field->size);
	size_t count = 2;

	for (size_t i = 0; i < count; i++)
		fill(field->members, elements + i * field->size, filler);
	memcpy((char *)object + field->offset, &elements, sizeof(elements));
	memcpy((char *)object + field->count, &count, sizeof(count));
}

static void fill_value(const struct field *field, void *object, struct filler *filler)
{
	void *value = (char *)object + field->offset;

	switch (field->kind) {
	case FIELD_KIND_TEXT:
	case FIELD_KIND_SHOWN:
	case FIELD_KIND_NAME:
		*(const char **)value = new_text(filler);
		break;
	case FIELD_KIND_BOOLEAN:
		*(bool *)value = filler->next++ % 2;
		break;
	case FIELD_KIND_INTEGER:
	case FIELD_KIND_AMOUNT:
	case FIELD_KIND_TIME:
		*(int64_t *)value = filler->next++;
		break;
	case FIELD_KIND_COUNT:
		*(size_t *)value = (size_t)filler->next++;
		break;
	case FIELD_KIND_WORD:
	case FIELD_KIND_REASON:
		*(unsigned *)value = (unsigned)(filler->next++ % 2);
		break;
	case FIELD_KIND_TEXTS:
		TWO(const char *, (struct strings *)value, { new_text(filler) });
		break;
	case FIELD_KIND_LABELS:
	case FIELD_KIND_NOTES:
		TWO(struct label, (struct labels *)value,
		    { arena_printf(&filler->arena, "ray.io/%s", new_text(filler)),
		      new_text(filler) });
		break;
	case FIELD_KIND_QUANTITIES:
		TWO(struct quantity, (struct quantities *)value,
		    { new_text(filler), new_text(filler), true, filler->next++ });
		break;
	case FIELD_KIND_RESOURCES:
		TWO(struct resource, (struct resources *)value,
		    { new_text(filler), filler->next++ });
		break;
	case FIELD_KIND_POINTER:
		*(void **)value = arena_alloc(&filler->arena, field->size);
		fill(field->members, *(void **)value, filler);
		break;
	case FIELD_KIND_OBJECT:
		fill(field->members, value, filler);
		break;
	case FIELD_KIND_LIST:
		fill_list(field, object, filler);
		break;
	case FIELD_KIND_HOOK:
		if (field->size > 0)
			memset(value, (int)(filler->next++ % 2), 1);
		break;
	case FIELD_KIND_FIXED:
		break;
	}
	if (field->has)
		*((bool *)object + field->has) = true;
}

static void fill(const struct field *fields, void *object, struct filler *filler)
{
	for (; fields->name; fields++)
		if (!(fields->flags & FIELD_CHECKED))
			fill_value(fields, object, filler);
}

/* ---- copies ---- */

static void write_object(const struct field *fields, const void *object, struct buf *buf)
{
	struct json_writer writer;

	buf_init(buf, 1 << 20);
	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	if (fields == memory_fields)
		memory_write(&writer, NULL, object);
	else
		field_write_object(&writer, NULL, fields, object);
}

/* Every word of the copy's block, also one that no row names, and what the arena has poisoned. */
__attribute__((no_sanitize("address"))) static void
expect_nothing_shared(const char *what, const uintptr_t *copy, size_t copy_bytes, uintptr_t from)
{
	for (size_t i = 0; i < copy_bytes / sizeof(*copy); i++)
		if (copy[i] >= from && copy[i] < from + BLOCK_BYTES)
			fail_msg("%s: word %zu of the copy points into the original", what, i);
}

static void check_copy(const char *what, const struct field *fields, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf before;
	AUTO(buf_done) struct buf after;
	struct filler filler = { .next = 1 };
	void *from, *copy;

	arena_reserve(&filler.arena, BLOCK_BYTES);
	from = arena_alloc(&filler.arena, size);
	fill(fields, from, &filler);
	write_object(fields, from, &before);
	copy = field_keep(fields, from, size, SIZE_MAX, &arena);
	assert_true(field_equal(fields, from, copy));
	expect_nothing_shared(what, copy, arena.used_bytes, (uintptr_t)from);
	arena_done(&filler.arena);
	write_object(fields, copy, &after);
	assert_string_equal(buf_string(&after), buf_string(&before));
	assert_true(before.size > 100);
	copy = field_keep(fields, copy, size, SIZE_MAX, &arena); /* over itself */
	buf_done(&after);
	write_object(fields, copy, &after);
	assert_string_equal(buf_string(&after), buf_string(&before));
	assert_null(field_keep(fields, copy, size, 64, &arena));
	assert_int_equal(arena.used_bytes, 0);
}

static void test_tables_that_are_copied(void **state)
{
	(void)state;
	check_copy("memory", memory_fields, sizeof(struct memory_state));
	check_copy("bundle", work_bundle_fields, sizeof(struct work_bundle));
	check_copy("status", autoscaler_status_fields, sizeof(struct summary));
	check_copy("Node", node_fields, sizeof(struct node));
}

/* ---- every kind ---- */

enum sample_word { SAMPLE_NONE, SAMPLE_ONE };

struct sample_part {
	const char *name;
};

struct sample {
	const char *text, *shown, *name;
	bool boolean;
	int64_t integer, amount;
	time_ms time;
	size_t count, element_count;
	enum sample_word word;
	struct strings texts;
	struct labels labels, notes;
	struct quantities quantities;
	struct resources resources;
	const struct sample_part *pointer, *elements;
	struct sample_part part;
	VEC(struct sample_part) vec;
	int plain;
};

static const char *sample_word(unsigned value)
{
	return value == SAMPLE_ONE ? "one" : "none";
}

static const struct field part_fields[] = {
	FIELD_TEXT(struct sample_part, name, "name"),
	FIELD_END,
};

static const struct field sample_fields[] = {
	FIELD_TEXT(struct sample, text, "text"),
	FIELD_SHOWN(struct sample, shown, "shown"),
	FIELD_NAME(struct sample, name, "name"),
	FIELD_BOOLEAN(struct sample, boolean, "boolean"),
	FIELD_INTEGER(struct sample, integer, "integer"),
	FIELD_AMOUNT(struct sample, amount, "amount"),
	FIELD_TIME(struct sample, time, "time"),
	FIELD_COUNT(struct sample, count, "count"),
	FIELD_WORD(struct sample, word, enum sample_word, sample_word, "word"),
	FIELD_TEXTS(struct sample, texts, "texts"),
	FIELD_LABELS(struct sample, labels, "labels"),
	FIELD_NOTES(struct sample, notes, "notes"),
	FIELD_QUANTITIES(struct sample, quantities, "quantities"),
	FIELD_RESOURCES(struct sample, resources, "resources"),
	FIELD_POINTER(struct sample, pointer, part_fields, "pointer"),
	FIELD_LIST(struct sample, elements, element_count, part_fields, "elements"),
	FIELD_PART(struct sample, part, part_fields, "part"),
	FIELD_VEC(struct sample, vec, part_fields, "vec"),
	FIELD_HOOK("plain", .offset = offsetof(struct sample, plain), .size = sizeof(int)),
	FIELD_CHECK(FIELD_KIND_TEXT, "checked"),
	FIELD_FIXED("fixed", "f"),
	FIELD_END,
};

static void test_every_kind_is_copied(void **state)
{
	(void)state;
	check_copy("sample", sample_fields, sizeof(struct sample));
}

/* A push onto a copy must not write behind its array. */
static void test_copied_vec_has_no_room(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct sample from = { .text = NULL }, *copy;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		VEC_PUSH(&arena, &from.vec, ((struct sample_part){ "element" }));
	assert_true(from.vec.capacity > 3);
	copy = FIELD_COPY(sample_fields, &from, &arena);
	assert_int_equal(copy->vec.count, 3);
	assert_int_equal(copy->vec.capacity, 3);
	assert_null(copy->text);
	assert_null(copy->pointer);
	assert_null(copy->elements);
}

/* One row at a time has another value. */
static void test_every_difference_counts(void **state)
{
	for (const struct field *field = sample_fields; field->name; field++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct filler filler = { .next = 1 };
		struct sample a = { .text = NULL }, b;

		(void)state;
		if (field->kind == FIELD_KIND_FIXED || (field->flags & FIELD_CHECKED))
			continue;
		fill(sample_fields, &a, &filler);
		b = *FIELD_COPY(sample_fields, &a, &arena);
		assert_true(field_equal(sample_fields, &a, &b));
		filler.next = 1000; /* even, and the values of `a` are not */
		for (size_t i = 0; i < 2 && field_equal(sample_fields, &a, &b); i++)
			fill_value(field, &b, &filler);
		if (field_equal(sample_fields, &a, &b))
			fail_msg("another value of \"%s\" counts as equal", field->name);
		arena_done(&filler.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_that_are_copied),
		cmocka_unit_test(test_every_kind_is_copied),
		cmocka_unit_test(test_copied_vec_has_no_room),
		cmocka_unit_test(test_every_difference_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
