/* The generated part of src/test/data/hostile-fields.md: per kind, fields with the same results together.
 * After hostile_fields.h. Header only. */
#ifndef TEST_SUPPORT_HOSTILE_MARKDOWN_H
#define TEST_SUPPORT_HOSTILE_MARKDOWN_H

#include "test/support/hostile_fields.h"

#define HOSTILE_MARKDOWN_MAX ((size_t)1 << 20)
#define HOSTILE_LINE_WIDTH 140

static bool hostile_same_results(const struct hostile_field *one, const struct hostile_field *other)
{
	return memcmp(one->results, other->results, sizeof(one->results)) == 0;
}

/* The first field with these results. */
static bool hostile_is_first(const struct hostile_kind *kind, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (hostile_same_results(&kind->fields[i], &kind->fields[at]))
			return false;
	}
	return true;
}

static void hostile_write_row(const struct hostile_field *field, size_t number, struct buf *buf)
{
	(void)buf_printf(buf, "| %zu |", number);
	for (size_t i = 0; i < HOSTILE_MUTATIONS; i++)
		(void)buf_printf(buf, " %s |", hostile_result_names[field->results[i]]);
	(void)buf_add_char(buf, '\n');
}

/* The fields with the results of the one `at`, as a paragraph. */
static void hostile_write_fields(const struct hostile_kind *kind, size_t at, size_t number,
				 struct buf *buf)
{
	size_t from = buf->size;

	(void)buf_printf(buf, "\n%zu:", number);
	for (size_t i = at; i < kind->count; i++) {
		const char *path = kind->fields[i].path;

		if (!hostile_same_results(&kind->fields[i], &kind->fields[at]))
			continue;
		if (buf->size - from + strlen(path) > HOSTILE_LINE_WIDTH) {
			(void)buf_add_char(buf, '\n');
			from = buf->size;
		} else {
			(void)buf_add_char(buf, ' ');
		}
		(void)buf_printf(buf, "`%s`", path);
	}
	(void)buf_add_char(buf, '\n');
}

static void hostile_write_kind(const struct hostile_kind *kind, struct buf *buf)
{
	size_t number = 0;

	(void)buf_printf(buf, "\n### %s, %zu fields\n\n| fields |", kind->type->kind, kind->count);
	for (size_t i = 0; i < HOSTILE_MUTATIONS; i++)
		(void)buf_printf(buf, " %s |", hostile_mutation_names[i]);
	(void)buf_add_string(buf, "\n| --- |");
	for (size_t i = 0; i < HOSTILE_MUTATIONS; i++)
		(void)buf_add_string(buf, " --- |");
	(void)buf_add_char(buf, '\n');
	for (size_t i = 0; i < kind->count; i++) {
		if (hostile_is_first(kind, i))
			hostile_write_row(&kind->fields[i], ++number, buf);
	}
	number = 0;
	for (size_t i = 0; i < kind->count; i++) {
		if (hostile_is_first(kind, i))
			hostile_write_fields(kind, i, ++number, buf);
	}
}

/* All kinds, whose results are filled in. */
static void hostile_write_markdown(struct buf *buf)
{
	for (size_t i = 0; i < HOSTILE_KINDS; i++)
		hostile_write_kind(&hostile_kinds[i], buf);
}

#endif
