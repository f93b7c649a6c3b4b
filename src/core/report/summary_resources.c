#include "core/report/summary_resources.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "core/capacity/capacity.h"

#define PLACEMENT_GROUP_ID_DIGITS 36

struct sums {
	VEC(struct summary_resource) list;
};

/* A node's own marker resource, or the share that a placement group takes from a node: there are as
 * many as nodes and placement groups, and Kubernetes does not know them. */
static bool is_internal(const char *name)
{
	size_t size = strlen(name);

	if (strncmp(name, "node:", 5) == 0)
		return true;
	return strstr(name, "_group_") && size > PLACEMENT_GROUP_ID_DIGITS &&
	       strspn(name + size - PLACEMENT_GROUP_ID_DIGITS, "0123456789abcdef") ==
		       PLACEMENT_GROUP_ID_DIGITS;
}

static struct summary_resource *sum_of(struct sums *sums, const char *name, struct arena *arena)
{
	struct summary_resource *known = VEC_FIND(&sums->list, name, name);

	if (known)
		return known;
	if (sums->list.count >= SUMMARY_RESOURCES_MAX || is_internal(name))
		return NULL;
	VEC_PUSH(arena, &sums->list,
		 ((struct summary_resource){ .name = arena_strdup(arena, name) }));
	return &sums->list.at[sums->list.count - 1];
}

static int64_t saturate(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_living_nodes(const struct ray_state *state, struct sums *sums, struct arena *arena)
{
	for (size_t i = 0; i < state->node_count; i++) {
		const struct resources *total = &state->nodes[i].total;

		if (!ray_node_is_alive(&state->nodes[i]))
			continue;
		for (size_t r = 0; r < total->count; r++) {
			struct summary_resource *sum = sum_of(sums, total->at[r].name, arena);

			if (sum)
				sum->cluster =
					saturate((__int128)sum->cluster + total->at[r].amount);
		}
	}
}

static void add_pending(const struct snapshot *snapshot, const struct summary *summary,
			struct sums *sums, struct arena *arena)
{
	for (size_t g = 0; g < summary->group_count; g++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		struct capacity capacity = { 0 };

		if (summary->groups[g].pending == 0)
			continue;
		capacity_of_group(&snapshot->cluster, g, &snapshot->settings,
				  snapshot->device_table, &scratch, &capacity);
		VEC_EACH(const struct resource, one, &capacity.resources) {
			struct summary_resource *sum = sum_of(sums, one->name, arena);

			if (sum)
				sum->pending = saturate((__int128)summary->groups[g].pending *
								one->amount +
							sum->pending);
		}
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct summary_resource *)a)->name,
		      ((const struct summary_resource *)b)->name);
}

void summary_resources(const struct snapshot *snapshot, struct arena *arena,
		       struct summary *summary)
{
	struct sums sums = { .list = { .at = NULL } };

	if (summary->ray_reachable)
		add_living_nodes(snapshot->ray_state, &sums, arena);
	add_pending(snapshot, summary, &sums, arena);
	if (sums.list.count > 1)
		qsort(sums.list.at, sums.list.count, sizeof(*sums.list.at), by_name);
	CHECK(sums.list.count <= SUMMARY_RESOURCES_MAX);
	for (size_t i = 1; i < sums.list.count; i++)
		CHECK(by_name(&sums.list.at[i - 1], &sums.list.at[i]) < 0);
	summary->resources = sums.list.at;
	summary->resource_count = sums.list.count;
}
