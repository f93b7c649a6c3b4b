#include "core/schedule/schedule_problem.h"

#include "base/sort.h"

struct resources schedule_resized(struct arena *arena, const struct resources *amounts,
				  const struct resources *total, const struct schedule_size *size)
{
	int64_t cpu =
		size->cpu - resources_amount(total, "CPU", 0) + resources_amount(amounts, "CPU", 0);
	int64_t memory = size->memory - resources_amount(total, "memory", 0) +
			 resources_amount(amounts, "memory", 0);
	struct resources changed = resources_with(arena, amounts, "CPU", cpu > 0 ? cpu : 0);

	return resources_with(arena, &changed, "memory", memory > 0 ? memory : 0);
}

struct gang_rank {
	size_t placements, requests; /* of the deprecated list, as Ray counts */
	size_t index;
};

/* Ray's _sort_gang_resource_requests, descending; equal ones keep their order, as in Ray. */
static int compare_ranks(const void *a, const void *b)
{
	const struct gang_rank *first = a, *second = b;

	if (first->placements != second->placements)
		return first->placements < second->placements ? 1 : -1;
	return (first->requests < second->requests) - (first->requests > second->requests);
}

const size_t *schedule_gang_order(const struct schedule_problem *problem, struct arena *arena)
{
	struct gang_rank *ranks = arena_array(arena, problem->gang_count + 1, sizeof(*ranks));
	size_t *order = arena_array(arena, problem->gang_count + 1, sizeof(*order));

	for (size_t i = 0; i < problem->gang_count; i++) {
		const struct ray_gang *gang = &problem->gangs[i];

		ranks[i] = (struct gang_rank){ .requests = gang->request_count, .index = i };
		for (size_t j = 0; j < gang->request_count; j++)
			ranks[i].placements += gang->requests[j].placement_count;
	}
	sort_stable(ranks, problem->gang_count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0; i < problem->gang_count; i++)
		order[i] = ranks[i].index;
	return order;
}
