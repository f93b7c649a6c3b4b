#include "core/report/possible.h"

#include <string.h>

#include "core/capacity/accelerator_type.h"
#include "core/decide/offer.h"
#include "core/decide/packing.h"
#include "core/model/reason.h"
#include "core/schedule/schedule.h"

/* ray: FormatPlacementGroupResource, of common/placement_group. "CPU_group_ID" is any bundle's,
 * "CPU_group_0_ID" of one bundle; "bundle_group_ID" is in every request. */
#define GROUP_WORD "_group_"
#define GROUP_ID_SIZE 36 /* hexadecimal digits */

/* The id of the placement group that alone can provide the resource; NULL: it is another resource. */
static const char *placement_group_of(const char *name)
{
	size_t size = strlen(name);
	const char *id, *word;

	if (size <= GROUP_ID_SIZE)
		return NULL;
	id = name + size - GROUP_ID_SIZE;
	if (strspn(id, "0123456789abcdef") != GROUP_ID_SIZE)
		return NULL;
	for (word = strstr(name, GROUP_WORD); word; word = strstr(word + 1, GROUP_WORD)) {
		const char *index = word + strlen(GROUP_WORD);
		size_t digits = strspn(index, "0123456789");

		if (index == id || (digits > 0 && index + digits + 1 == id && index[digits] == '_'))
			return id;
	}
	return NULL;
}

static struct possible of_placement_group(const struct choice *choice,
					  const struct ray_request *request)
{
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		const char *id = placement_group_of(entry->name);
		bool placed;

		if (!id)
			continue;
		placed = resources_amount(&choice->packing->most_of_living, entry->name, 0) > 0;
		return (struct possible){
			.reason = REASON_WAITS_FOR_PLACEMENT_GROUP,
			.message = arena_printf(choice->arena,
						"only placement group %s provides it, %s", id,
						placed ? "and the bundles of the group are in use" :
							 "which is not placed yet"),
		};
	}
	return (struct possible){ .reason = REASON_NONE };
}

/* ---- accelerator types ---- */

static bool is_type(const char *name)
{
	return strncmp(name, ACCELERATOR_TYPE_PREFIX, strlen(ACCELERATOR_TYPE_PREFIX)) == 0;
}

static bool selects_type(const struct label_constraint *constraint)
{
	return strcmp(constraint->key, LABEL_ACCELERATOR_TYPE) == 0 &&
	       constraint->operation == LABEL_OPERATOR_IN && constraint->values.count > 0;
}

/* The model that a request asks for, by a resource or a label. */
struct asked {
	const char *name; /* NULL: none */
	const char *line; /* by which a group has it */
};

static struct asked type_asked(const struct ray_request *request, struct arena *arena)
{
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		const char *name = resource_name_text(arena, entry->name);

		if (is_type(entry->name))
			return (struct asked){
				name, arena_printf(arena,
						   "resources: \"'{\\\"%s\\\": 1}'\" into the "
						   "rayStartParams of the group",
						   name)
			};
	}
	ARRAY_EACH(const struct label_selector, selector, request->selectors,
		   request->selector_count) {
		ARRAY_EACH(const struct label_constraint, constraint, selector->constraints,
			   selector->count)
			if (selects_type(constraint))
				return (struct asked){
					arena_printf(arena, LABEL_ACCELERATOR_TYPE " %.63s",
						     constraint->values.at[0]),
					arena_printf(arena,
						     "labels: {" LABEL_ACCELERATOR_TYPE
						     ": %.63s} into the group",
						     constraint->values.at[0])
				};
	}
	return (struct asked){ .name = NULL };
}

static struct label_selector without_type(struct arena *arena, const struct label_selector *from)
{
	struct label_constraint *constraints =
		arena_array(arena, from->count, sizeof(*constraints));
	struct label_selector copy = { .constraints = constraints };

	ARRAY_EACH(const struct label_constraint, constraint, from->constraints, from->count)
		if (!selects_type(constraint))
			constraints[copy.count++] = *constraint;
	return copy;
}

static struct ray_request without_types(struct arena *arena, const struct ray_request *request)
{
	struct bundle_entry *entries = arena_array(arena, request->bundle_count, sizeof(*entries));
	struct label_selector *selectors =
		arena_array(arena, request->selector_count, sizeof(*selectors));
	struct ray_request copy = *request;

	for (size_t i = 0; i < request->selector_count; i++)
		selectors[i] = without_type(arena, &request->selectors[i]);
	copy.selectors = selectors;
	copy.bundle_count = 0;
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count)
		if (!is_type(entry->name))
			entries[copy.bundle_count++] = *entry;
	copy.bundle = entries;
	return copy;
}

static struct possible of_unknown_model(const struct choice *choice,
					const struct ray_request *request)
{
	struct asked asked = type_asked(request, choice->arena);
	struct ray_request rest;

	if (!asked.name)
		return (struct possible){ .reason = REASON_NONE };
	rest = without_types(choice->arena, request);
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		const struct group *group = &choice->facts->groups[g];
		const struct group_offer *offer = &choice->offer->groups[g];
		const struct capacity *capacity = &offer->seen_capacity;

		if (capacity->problem || !offer->model_open ||
		    !schedule_fits_empty(&rest, &capacity->resources, &capacity->labels))
			continue;
		return (struct possible){
			.reason = REASON_MODEL_UNKNOWN,
			.message = arena_printf(
				choice->arena,
				"whether a worker of %s has %s is unknown: its template names no "
				"model; write a nodeSelector for the model, or %s",
				group->spec->name, asked.name, asked.line),
			.group = group->spec->name,
		};
	}
	return (struct possible){ .reason = REASON_NONE };
}

struct possible possible_later(const struct choice *choice, const struct ray_request *request)
{
	struct possible found = of_placement_group(choice, request);

	return found.reason ? found : of_unknown_model(choice, request);
}
