#include "codec/schema/scheduling.h"

/* ---- terms of Nodes ---- */

/* matchExpressions and matchFields are one list in the struct. */
static int expressions_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct node_term *term = object, added = { .expressions = NULL };

	if (field_decode(member, field, &added))
		return -1;
	*term = (struct node_term){ .expressions = ARENA_JOIN(member->reader->arena,
							      term->expressions, term->count,
							      added.expressions, added.count),
				    .count = term->count + added.count };
	return 0;
}

static void write_expressions(struct json_writer *writer, const struct field *field,
			      const void *object)
{
	const struct node_term *term = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < term->count; i++)
		if (term->expressions[i].is_field == (field->initial != NULL))
			field_write_line(writer, field->members, &term->expressions[i]);
	json_write_array_end(writer);
}

static const struct field expression_fields[] = {
	FIELD_TEXT(struct node_expression, key, "key"),
	FIELD_TEXT(struct node_expression, operation, "operator"),
	FIELD_TEXTS(struct node_expression, values, "values"),
	FIELD_END,
};

static const struct node_expression match_field = { .is_field = true };

const struct field node_term_fields[] = {
	FIELD_LIST(struct node_term, expressions, count, expression_fields, "matchExpressions",
		   .flags = FIELD_ALWAYS, .read = expressions_decode, .write = write_expressions),
	FIELD_LIST(struct node_term, expressions, count, expression_fields, "matchFields",
		   .flags = FIELD_ALWAYS, .initial = &match_field, .read = expressions_decode,
		   .write = write_expressions),
	FIELD_END,
};

/* ---- taints ---- */

const struct field toleration_fields[] = {
	FIELD_TEXT(struct toleration, key, "key"),
	FIELD_TEXT(struct toleration, operation, "operator"),
	FIELD_TEXT(struct toleration, value, "value"),
	FIELD_TEXT(struct toleration, effect, "effect"),
	FIELD_END,
};

const struct taint taint_initial = { .key = "", .value = "", .effect = "", .added = TIME_NONE };

const struct field taint_fields[] = {
	FIELD_TEXT(struct taint, key, "key"),
	FIELD_TEXT(struct taint, value, "value"),
	FIELD_TEXT(struct taint, effect, "effect"),
	FIELD_TIME(struct taint, added, "timeAdded"),
	FIELD_END,
};
