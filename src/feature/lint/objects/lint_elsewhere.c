#include "feature/lint/objects/lint_elsewhere.h"

#include <string.h>

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/gpu_pool_object.h"
#include "core/model/field.h"
#include "feature/lint/objects/lint_schema_table.h"

/* A name in more lists has no place of its own, as "name" and "path". */
#define LISTS_MAX 3
#define HEAD_TEMPLATE "headGroupSpec.template"

static const struct lint_schema_field *fields_of(size_t list)
{
	return &lint_schema_fields[lint_schema_lists[list]];
}

static bool has(size_t list, const char *name)
{
	for (const struct lint_schema_field *field = fields_of(list); field->name; field++)
		if (strcmp(field->name, name) == 0)
			return true;
	return false;
}

static bool is_common(const char *name)
{
	size_t count = 0;

	for (size_t list = 0; list < lint_schema_list_count; list++)
		count += has(list, name);
	return count == 0 || count > LISTS_MAX;
}

/* A search from the spec of a kind, nearest lists first: where each list was found. */
struct search {
	size_t *queue; /* lists, in the order of finding */
	size_t *from;
	const char **by; /* member of `from`; NULL: not found yet */
	size_t count;
};

static void push(struct search *search, size_t list, size_t from, const char *by)
{
	if (search->by[list])
		return;
	search->by[list] = by;
	search->from[list] = from;
	search->queue[search->count++] = list;
}

/* "headGroupSpec.template.spec"; "" is the spec itself. */
static const char *path_of(const struct search *search, size_t list, struct arena *arena)
{
	const char *path = "";

	for (; *search->by[list] != '\0'; list = search->from[list])
		path = arena_printf(arena, "%s%s%s", search->by[list], *path != '\0' ? "." : "",
				    path);
	return path;
}

/* Most fields are meant for Ray's container, and not for one that KubeRay adds. */
static bool is_of_added(const char *name)
{
	return strcmp(name, "autoscalerOptions") == 0 || strcmp(name, "historyServerOptions") == 0;
}

static const char *find(const struct lint_schema_kind *kind, const char *name, bool of_added,
			struct arena *arena)
{
	struct search search = {
		.queue = arena_array(arena, lint_schema_list_count, sizeof(size_t)),
		.from = arena_array(arena, lint_schema_list_count, sizeof(size_t)),
		.by = arena_array(arena, lint_schema_list_count, sizeof(char *)),
	};

	push(&search, kind->members, kind->members, "");
	for (size_t i = 0; i < search.count; i++) {
		size_t list = search.queue[i];

		if (has(list, name))
			return path_of(&search, list, arena);
		for (const struct lint_schema_field *field = fields_of(list); field->name; field++)
			if (field->members != 0 && (of_added || !is_of_added(field->name)))
				push(&search, field->members, list, field->name);
	}
	return NULL;
}

/* Templates of the head and of groups are alike. */
static const char *place_text(const char *path, struct arena *arena)
{
	const char *shared = strstr(path, HEAD_TEMPLATE);

	if (shared)
		return arena_printf(arena, "write it into %s of the head or group",
				    shared + sizeof("headGroupSpec"));
	return arena_printf(arena, "write it into spec%s%s", *path != '\0' ? "." : "", path);
}

static const char *place_in(const struct lint_schema_kind *kind, const char *name,
			    struct arena *arena)
{
	const char *path = find(kind, name, false, arena);

	return path ? path : find(kind, name, true, arena);
}

static const char *of_definitions(const char *name, const char *kind, struct arena *arena)
{
	const struct lint_schema_kind *own = lint_schema_kinds;
	const char *path;

	if (is_common(name))
		return NULL;
	while (own->kind && strcmp(own->kind, kind) != 0)
		own++;
	path = own->kind ? place_in(own, name, arena) : NULL;
	if (path)
		return place_text(path, arena);
	for (const struct lint_schema_kind *other = lint_schema_kinds; other->kind; other++) {
		path = place_in(other, name, arena);
		if (path)
			return arena_printf(arena, "%s of a %s", place_text(path, arena),
					    other->kind);
	}
	return NULL;
}

/* Whether it is in the object `spec` of the table. */
static bool is_setting(const struct field *fields, const char *name)
{
	while (fields->name && strcmp(fields->name, "spec") != 0)
		fields++;
	for (fields = fields->name ? fields->members : fields; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return true;
	return false;
}

const char *lint_elsewhere(const char *name, const char *kind, struct arena *arena)
{
	const char *place = of_definitions(name, kind, arena);

	if (!place && strcmp(kind, AUTOSCALER_KIND) != 0 && is_setting(autoscaler_fields, name))
		return "write it into spec of the " AUTOSCALER_KIND " of this name";
	if (!place && strcmp(kind, GPU_POOL_KIND) != 0 && is_setting(gpu_pool_fields, name))
		return "write it into spec of a " GPU_POOL_KIND;
	return place;
}
