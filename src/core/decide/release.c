#include "core/decide/release.h"

#include <stdlib.h>
#include <string.h>

static int compare_releases(const void *left, const void *right)
{
	const struct pool_release *a = *(const struct pool_release *const *)left;
	const struct pool_release *b = *(const struct pool_release *const *)right;
	int order = strcmp(a->pod, b->pod);

	return order != 0 ? order : (a->deadline > b->deadline) - (a->deadline < b->deadline);
}

static int compare_pod(const void *pod, const void *release)
{
	return strcmp(pod, (*(const struct pool_release *const *)release)->pod);
}

/* The milder one: none at all, or the later deadline. */
static const struct pool_release *milder(const struct pool_release *a, const struct pool_release *b)
{
	if (a->deadline == TIME_NONE || b->deadline == TIME_NONE)
		return a->deadline == TIME_NONE ? a : b;
	return a->deadline >= b->deadline ? a : b;
}

/* Hosts that are not named are released with those of their replica that are. The replicas of a group
 * are numbered one after the other. */
static void spread(struct facts *facts, const struct group *group)
{
	struct worker *first = &facts->workers[group->first_worker];
	const struct pool_release **releases =
		arena_array(facts->arena, group->worker_count + 1, sizeof(*releases));
	size_t lowest = FACTS_NO_INDEX;

	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].replica < lowest)
			lowest = first[i].replica;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct pool_release **release;

		if (first[i].replica == FACTS_NO_INDEX || !first[i].release)
			continue;
		release = &releases[first[i].replica - lowest];
		*release = *release ? milder(*release, first[i].release) : first[i].release;
	}
	for (size_t i = 0; i < group->worker_count; i++)
		if (first[i].replica != FACTS_NO_INDEX)
			first[i].release = releases[first[i].replica - lowest];
}

void release_mark(struct facts *facts)
{
	const struct pool_terms *pools = facts->snapshot->pools;
	const struct pool_release **sorted;

	if (!pools || pools->release_count == 0)
		return;
	sorted = arena_array(facts->arena, pools->release_count, sizeof(*sorted));
	for (size_t i = 0; i < pools->release_count; i++)
		sorted[i] = &pools->releases[i];
	qsort(sorted, pools->release_count, sizeof(*sorted), compare_releases);
	ARRAY_EACH(struct worker, worker, facts->workers, facts->worker_count) {
		const struct pool_release *const *found;

		if (!worker->pod || worker->group == FACTS_NO_INDEX)
			continue;
		found = bsearch(worker->pod_name, sorted, pools->release_count, sizeof(*sorted),
				compare_pod);
		if (found)
			worker->release = *found;
	}
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		if (group->hosts > 1)
			spread(facts, group);
	}
}

/* Its state in Ray is known. The pool has judged whether do-not-disrupt keeps it. */
static bool may_end(const struct worker *worker)
{
	return worker->registered && !worker->finished && !worker->node->problem &&
	       !worker->pod->unreadable && ray_node_is_alive(worker->node);
}

struct release_state release_state_of(const struct offer *offer, const struct replica *replica)
{
	const struct facts *facts = offer->facts;
	const struct pool_release *release = facts->workers[replica->members[0]].release;
	struct release_state state = { .release = release };

	if (!release || release->deadline == TIME_NONE)
		return state;
	state.may_end = state.idle = state.draining = true;
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &facts->workers[replica->members[i]];

		state.may_end = state.may_end && may_end(worker);
		state.idle = state.idle && offer->workers[worker->index].removal == REMOVAL_DRAIN;
		state.draining = state.draining && worker->state == WORKER_DRAINING;
	}
	if (!state.may_end)
		return (struct release_state){ .release = release };
	state.passed = due_reached(facts->due, release->deadline);
	return state;
}
