#include "codec/schema/field_names.h"

#include <string.h>

#define TEXT_BYTES_MAX 300

/* A member may have several rows, one after the other. */
static bool is_repeated(const struct field *fields, const struct field *row)
{
	return row != fields && strcmp(row->name, row[-1].name) == 0;
}

const char *field_names_text(const struct field *fields, struct arena *arena)
{
	const char *names = "";

	for (const struct field *f = fields; f->name; f++) {
		if (is_repeated(fields, f))
			continue;
		if (strlen(names) + strlen(f->name) > TEXT_BYTES_MAX)
			return arena_printf(arena, "%s, ...", names);
		names = arena_printf(arena, "%s%s%s", names, *names ? ", " : "", f->name);
	}
	return names;
}

void field_names_offer(struct nearest *nearest, const struct field *fields)
{
	for (; fields->name; fields++)
		nearest_offer(nearest, fields->name);
}

const char *field_names_hint(const struct field *fields, const char *name, struct arena *arena)
{
	struct nearest nearest = nearest_start(name);
	char hint[NEAREST_HINT_SIZE];

	field_names_offer(&nearest, fields);
	return nearest.word ? arena_strdup(arena, nearest_hint(&nearest, hint)) :
			      arena_printf(arena, "; it has %s", field_names_text(fields, arena));
}
