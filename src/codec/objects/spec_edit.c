#include "codec/objects/spec_edit.h"

#include <string.h>

#include "base/check.h"
#include "base/nearest.h"

static const struct field *find_row(const struct field *fields, const char *name)
{
	for (; fields && fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	return NULL;
}

static const struct field *spec_of(const struct field *fields)
{
	const struct field *spec = find_row(fields, "spec");

	CHECK(spec != NULL);
	return spec->members;
}

const struct field *spec_edit_row(const struct field *table, const char *name)
{
	return find_row(spec_of(table), name);
}

/* A member may have several rows, one after the other. */
static const char *names_of(const struct field *fields, struct arena *arena)
{
	const char *names = "";

	for (const struct field *f = fields; f->name; f++)
		if (f == fields || strcmp(f->name, f[-1].name) != 0)
			names = arena_printf(arena, "%s%s%s", names, *names ? ", " : "", f->name);
	return names;
}

const char *spec_edit_names(const struct field *table, struct arena *arena)
{
	return names_of(spec_of(table), arena);
}

int spec_edit_check(const struct field *table, const struct json_steps *steps, const char *path,
		    struct arena *arena, struct err *err)
{
	const struct field *fields = spec_of(table);

	for (size_t i = 0; i < steps->count && fields; i++) {
		struct nearest nearest = nearest_start(steps->at[i].name);
		char hint[NEAREST_HINT_SIZE];
		const struct field *row = find_row(fields, steps->at[i].name);

		if (steps->at[i].bracket)
			continue;
		for (const struct field *f = fields; f->name; f++)
			nearest_offer(&nearest, f->name);
		if (!row)
			return err_set(err, ERR_INPUT,
				       "%.80s: %.80s is not a member that a decision reads "
				       "(%.500s)%s",
				       path, steps->at[i].name, names_of(fields, arena),
				       nearest_hint(&nearest, hint));
		fields = row->members;
	}
	return 0;
}

static int set_one(struct cJSON *tree, const struct json_steps *steps, const char *value,
		   struct err *err)
{
	struct json_steps all = { .at = { { .name = "spec" } }, .count = 1 };

	for (size_t i = 0; i < steps->count && all.count < JSON_STEPS_MAX; i++)
		all.at[all.count++] = steps->at[i];
	return json_edit_set(tree, &all, value, err);
}

int spec_edit_set(struct cJSON *const *trees, size_t count, const struct json_steps *steps,
		  const char *value, struct err *err)
{
	struct err first = { .kind = ERR_NONE };
	size_t changed = 0;

	for (size_t i = 0; i < count; i++) {
		struct err own = { .kind = ERR_NONE };

		changed += set_one(trees[i], steps, value, &own) == 0;
		if (own.kind == ERR_INPUT || (own.kind != ERR_NONE && first.kind == ERR_NONE))
			first = own;
		if (own.kind == ERR_INPUT)
			break;
	}
	if (first.kind == ERR_NONE || (first.kind != ERR_INPUT && changed > 0))
		return 0;
	*err = first;
	return -1;
}
