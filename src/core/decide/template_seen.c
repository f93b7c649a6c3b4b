#include "core/decide/template_seen.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/capacity/template_mark.h"
#include "core/decide/demand.h"
#include "core/decide/template_look.h"
#include "core/schedule/schedule.h"

#define LABEL_NODE_GROUP "ray.io/node-group"

/* --- memory --- */

static const struct memory_template *remembered(const struct offer *offer,
						const struct group *group)
{
	const struct snapshot *snapshot = offer->snapshot;
	const struct memory_template *found = NULL;

	if (snapshot->memory)
		found = VEC_FIND(&snapshot->memory->templates, group, group->spec->name);
	if (!found && snapshot->autoscaler)
		found = ARRAY_FIND(snapshot->autoscaler->templates,
				   snapshot->autoscaler->template_count, group, group->spec->name);
	return found;
}

/* NULL: no worker of this template, or of an earlier one, has been seen. */
static const struct memory_template *remember(struct offer *offer, const struct group *group)
{
	const struct memory_template *old = remembered(offer, group);
	struct memory_template entry = {
		.group = group->spec->name,
		.fingerprint = template_mark_fingerprint(group->spec, offer->arena),
		.since = TIME_NONE,
		.pod = "",
	};

	if (old && strcmp(old->fingerprint, entry.fingerprint) == 0)
		entry = *old;
	else if (old)
		entry.since = offer->snapshot->now;
	if (!template_look(offer, group, &entry) && !old)
		return NULL;
	VEC_PUSH(offer->arena, &offer->memory.templates, entry);
	return &offer->memory.templates.at[offer->memory.templates.count - 1];
}

/* --- requested resources --- */

/* Candidates: by name of a resource that Ray's own autoscaler would not find in the groups, a bool:
 * whether any demand requests it. */
static void collect_candidates(const struct offer *offer, const struct memory_template **entries,
			       struct map *candidates)
{
	for (size_t g = 0; g < offer->facts->group_count; g++) {
		if (offer->groups[g].inferred.type)
			map_set(candidates, offer->groups[g].inferred.resource,
				ARENA_NEW(offer->arena, bool));
		if (!entries[g])
			continue;
		for (size_t i = 0; i < entries[g]->resources.count; i++)
			map_set(candidates, entries[g]->resources.at[i].name,
				ARENA_NEW(offer->arena, bool));
	}
}

static void note_request(const struct map *candidates, const struct ray_request *request)
{
	for (size_t i = 0; i < request->bundle_count; i++) {
		bool *asked = map_get(candidates, request->bundle[i].name);

		if (asked)
			*asked = true;
	}
}

static void note_list(const struct map *candidates, const struct demand_list *list)
{
	for (size_t i = 0; i < list->at.count; i++)
		note_request(candidates, list->at.at[i].request);
}

static void note_gang(const struct map *candidates, const struct ray_gang *gang)
{
	for (size_t i = 0; i < gang->request_count; i++)
		note_request(candidates, &gang->requests[i]);
	for (size_t i = 0; i < gang->selector_count; i++)
		for (size_t r = 0; r < gang->selectors[i].count; r++)
			note_request(candidates, &gang->selectors[i].requests[r]);
}

static void note_demand(const struct offer *offer, const struct map *candidates)
{
	if (candidates->count == 0)
		return;
	note_list(candidates, &offer->facts->demands);
	for (size_t i = 0; i < offer->facts->constraint_count; i++)
		note_list(candidates, &offer->facts->constraints[i]);
	for (size_t i = 0; i < offer->facts->gang_count; i++)
		note_gang(candidates, offer->facts->gangs[i].gang);
}

static bool is_asked(const struct map *candidates, const char *name)
{
	const bool *asked = map_get(candidates, name);

	return asked && *asked;
}

/* --- the capacity of a worker --- */

/* The label that Ray derives from the group's name (kuberay: RAY_NODE_TYPE_NAME). */
static struct labels with_label(const struct offer *offer, const struct labels *labels,
				const char *key, const char *value)
{
	const struct label label = { key, value };
	const struct labels base = { &label, 1 };

	return labels_merge(offer->arena, &base, labels);
}

/* The inferred type is added to the template's resources, whether or not a worker reported it. */
static void add_inferred(const struct offer *offer, struct group_offer *group, bool asked)
{
	struct capacity *promised = &group->promised;

	if (!group->inferred.type)
		return;
	promised->labels =
		with_label(offer, &promised->labels, LABEL_ACCELERATOR_TYPE, group->inferred.type);
	if (asked)
		promised->resources = resources_with(offer->arena, &promised->resources,
						     group->inferred.resource, RESOURCE_UNIT);
}

static bool is_inferred(const struct group_offer *group, const char *resource)
{
	return group->inferred.type && strcmp(group->inferred.resource, resource) == 0;
}

/* The promised amount; RESOURCE_UNIT for the inferred type, 0 if not promised. */
static int64_t promised_amount(const struct group_offer *group, const char *resource)
{
	if (is_inferred(group, resource))
		return RESOURCE_UNIT;
	return resources_amount(&group->promised.resources, resource, 0);
}

static void note_lacks(const struct offer *offer, struct group_offer *group,
		       const struct memory_template *entry)
{
	struct template_lack *lacks =
		arena_array(offer->arena, entry->resources.count, sizeof(*lacks));

	group->lacks = lacks;
	VEC_EACH(const struct resource, seen, &entry->resources) {
		int64_t promised = promised_amount(group, seen->name);

		if (seen->amount < promised)
			lacks[group->lack_count++] = (struct template_lack){
				.resource = seen->name,
				.promised = promised,
				.seen = seen->amount,
				.pod = entry->pod,
				.inferred = is_inferred(group, seen->name),
			};
	}
}

static bool lacks_inferred(const struct group_offer *group)
{
	for (size_t i = 0; i < group->lack_count; i++)
		if (group->lacks[i].inferred)
			return true;
	return false;
}

static void apply_entry(const struct offer *offer, struct group_offer *group,
			const struct memory_template *entry, const struct map *candidates)
{
	struct capacity *capacity = &group->seen_capacity;

	VEC_EACH(const struct resource, seen, &entry->resources) {
		if (strcmp(seen->name, "GPU") == 0)
			capacity->gpu_amount = seen->amount;
		if (promised_amount(group, seen->name) > 0 || is_asked(candidates, seen->name))
			capacity->resources = resources_with(offer->arena, &capacity->resources,
							     seen->name, seen->amount);
	}
	capacity->accelerator = capacity->accelerator || capacity->gpu_amount > 0;
	capacity->labels = labels_merge(offer->arena, &capacity->labels, &entry->labels);
}

/* The template was edited, and no worker of it has registered since. */
static bool is_unseen(const struct memory_template *entry)
{
	return entry->since != TIME_NONE && entry->resources.count == 0;
}

static void apply(const struct offer *offer, struct group_offer *group,
		  const struct memory_template *entry, const struct map *candidates)
{
	struct capacity *capacity = &group->seen_capacity;

	if (entry)
		note_lacks(offer, group, entry);
	add_inferred(offer, group,
		     group->inferred.type && is_asked(candidates, group->inferred.resource));
	if (!lacks_inferred(group)) {
		capacity->resources = group->promised.resources;
		capacity->labels = group->promised.labels;
	}
	if (entry)
		apply_entry(offer, group, entry, candidates);
	group->model_open = group->model_open && (!entry || is_unseen(entry));
}

/* A suspended or unreadable group shows nothing; its entry is kept. */
static void keep(struct offer *offer, const struct group *group)
{
	const struct memory_template *old = remembered(offer, group);

	if (old)
		VEC_PUSH(offer->arena, &offer->memory.templates, *old);
}

static void promise(struct offer *offer, const struct group *group)
{
	struct group_offer *promised = &offer->groups[group->index];
	struct accelerator_type type;

	promised->seen_capacity.labels = with_label(offer, &group->template_capacity.labels,
						    LABEL_NODE_GROUP, group->spec->name);
	promised->promised = promised->seen_capacity;
	if (accelerator_type_of_group(group->spec, &promised->seen_capacity,
				      offer->snapshot->cluster.ray_version, offer->arena, &type) &&
	    !resources_find(&promised->seen_capacity.resources, type.resource))
		promised->inferred = type;
	promised->model_open = accelerator_type_is_open(group->spec, &promised->seen_capacity,
							offer->snapshot->cluster.ray_version,
							offer->arena);
}

void template_seen_update(struct offer *offer)
{
	const struct memory_template **entries =
		arena_array(offer->arena, offer->facts->group_count, sizeof(*entries));
	struct map candidates = MAP_IN(offer->arena);

	VEC_RESERVE(offer->arena, &offer->memory.templates, offer->facts->group_count);
	for (size_t g = 0; g < offer->facts->group_count; g++) {
		const struct group *group = &offer->facts->groups[g];

		offer->groups[g].seen_capacity = group->template_capacity;
		if (group->frozen) {
			keep(offer, group);
			continue;
		}
		promise(offer, group);
		entries[g] = remember(offer, group);
	}
	collect_candidates(offer, entries, &candidates);
	note_demand(offer, &candidates);
	for (size_t g = 0; g < offer->facts->group_count; g++)
		if (!offer->facts->groups[g].frozen)
			apply(offer, &offer->groups[g], entries[g], &candidates);
}

/* --- messages about lacking resources --- */

static bool is_for(const struct template_lack *lack, const struct ray_request *request)
{
	const struct bundle_entry *entry =
		ARRAY_FIND(request->bundle, request->bundle_count, name, lack->resource);
	return entry && entry->amount > lack->seen;
}

const struct template_lack *template_seen_lack(const struct group_offer *group,
					       const struct ray_request *request)
{
	if (group->lack_count == 0 ||
	    !schedule_fits_empty(request, &group->promised.resources, &group->promised.labels) ||
	    schedule_fits_empty(request, &group->seen_capacity.resources,
				&group->seen_capacity.labels))
		return NULL;
	for (size_t i = 0; i < group->lack_count; i++)
		if (is_for(&group->lacks[i], request))
			return &group->lacks[i];
	for (size_t i = 0; i < group->lack_count; i++)
		if (group->lacks[i].inferred)
			return &group->lacks[i]; /* requested by its label */
	return NULL;
}

const char *template_seen_lack_text(const struct offer *offer, const struct group *group,
				    const struct template_lack *lack)
{
	const struct accelerator_type *inferred = &offer->groups[group->index].inferred;
	struct arena *arena = offer->arena;
	const char *name = resource_name_text(arena, lack->resource);
	const char *figures = arena_printf(arena, "worker %s made from it reports %s", lack->pod,
					   resource_amount_text(arena, lack->seen));

	if (lack->inferred)
		return arena_printf(arena,
				    "group %s: its template promises %s %s by the label %s=%s, %s; "
				    "its container may lack the settings to find its GPU",
				    group->spec->name, name,
				    resource_amount_text(arena, lack->promised), inferred->key,
				    inferred->value, figures);
	return arena_printf(arena,
			    "group %s: its template promises %s %s, %s; fix the template; "
			    "an edited template is tried again",
			    group->spec->name, name, resource_amount_text(arena, lack->promised),
			    figures);
}
