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

int spec_edit_check(const struct field *table, const struct json_steps *steps, const char *path,
		    struct err *err)
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
				       "%.80s: %.80s is not a member that a decision reads%s", path,
				       steps->at[i].name, nearest_hint(&nearest, hint));
		fields = row->members;
	}
	return 0;
}

int spec_edit_set(struct cJSON *tree, const struct json_steps *steps, const char *value,
		  const char *key, struct err *err)
{
	struct json_steps all = { .at = { { "spec", false } }, .count = 1 };

	for (size_t i = 0; i < steps->count && all.count < JSON_STEPS_MAX; i++)
		all.at[all.count++] = steps->at[i];
	return json_edit_set(tree, &all, value, key, err);
}
