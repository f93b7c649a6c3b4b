#include "core/decide/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/target.h"
#include "core/model/reason.h"

static int64_t granted(const struct group *group)
{
	int64_t replicas = group->grant->replicas;

	return replicas < 0 ? 0 : replicas > POOL_REPLICAS_MAX ? POOL_REPLICAS_MAX : replicas;
}

const char *pool_reason(const struct pool_grant *grant)
{
	static const char *const known[] = { REASON_RESERVED_FOR_GANG, REASON_MAX_GPUS };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(grant->reason, known[i]) == 0)
			return known[i];
	return REASON_WAITS_FOR_POOL;
}

/* Replicas that the operator creates for minReplicas whatever replicas is. */
static int64_t owed(const struct group_choice *own)
{
	int64_t base = target_base(own), floor = target_floor(own);

	return floor > base ? floor - base : 0;
}

/* ---- new replicas ---- */

/* A new replica of the packing, in a group that draws from a pool. */
struct fresh {
	size_t group, at; /* at: its place in the result */
	size_t parent;    /* towards another one of its unit; itself: it is the first of it */
	/* Of the unit where it is the first: the phase that launched it, and the place of its first gang in
	 * the order of the packing. */
	enum schedule_phase phase;
	size_t rank; /* SIZE_MAX: none */
};

struct fresh_list {
	VEC(struct fresh) at;
};

static size_t first_of(struct fresh_list *list, size_t i)
{
	while (list->at.at[i].parent != i) {
		list->at.at[i].parent = list->at.at[list->at.at[i].parent].parent;
		i = list->at.at[i].parent;
	}
	return i;
}

static void join(struct fresh_list *list, size_t left, size_t right)
{
	size_t a = first_of(list, left), b = first_of(list, right);
	struct fresh *first = &list->at.at[a < b ? a : b], *other = &list->at.at[a < b ? b : a];

	if (a == b)
		return;
	other->parent = a < b ? a : b;
	first->phase = other->phase < first->phase ? other->phase : first->phase;
	first->rank = other->rank < first->rank ? other->rank : first->rank;
}

/* By gang of the problem. */
struct gang_place {
	size_t rank;
	size_t fresh; /* a new replica with a bundle of it; SIZE_MAX: none so far */
};

static struct gang_place *order_gangs(const struct packing *packing)
{
	const size_t *order = schedule_gang_order(&packing->problem, packing->arena);
	struct gang_place *gangs =
		arena_array(packing->arena, packing->problem.gang_count, sizeof(*gangs));

	for (size_t i = 0; i < packing->problem.gang_count; i++)
		gangs[order[i]] = (struct gang_place){ i, SIZE_MAX };
	return gangs;
}

static void join_gangs(struct fresh_list *list, size_t fresh, struct gang_place *gangs,
		       const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++) {
		struct gang_place *gang;
		struct fresh *first = &list->at.at[first_of(list, fresh)];

		if (node->placements[i].phase != SCHEDULE_PHASE_GANG)
			continue;
		gang = &gangs[node->placements[i].index];
		first->rank = gang->rank < first->rank ? gang->rank : first->rank;
		if (gang->fresh == SIZE_MAX)
			gang->fresh = fresh;
		join(list, gang->fresh, fresh);
	}
}

/* The new nodes of a group while they are listed: the hosts of a replica follow each other. */
struct listing {
	int64_t hosts; /* so far */
	int64_t owed;  /* replicas that are not asked for */
	size_t fresh;  /* the replica of the last host; SIZE_MAX: it is not asked for */
};

static void list_node(struct fresh_list *list, const struct choice *choice, size_t index,
		      struct listing *listing, struct gang_place *gangs)
{
	const struct schedule_node_result *node = &choice->packing->result->nodes[index];
	const struct group *group = &choice->facts->groups[node->type - 1];
	struct fresh *first;

	if (listing->hosts++ % group->hosts == 0) {
		listing->fresh = SIZE_MAX;
		if (node->launch_phase == SCHEDULE_PHASE_MIN && listing->owed-- > 0)
			return;
		listing->fresh = list->at.count;
		VEC_PUSH(choice->arena, &list->at,
			 ((struct fresh){ .group = group->index,
					  .at = index,
					  .parent = listing->fresh,
					  .phase = node->launch_phase,
					  .rank = SIZE_MAX }));
	}
	if (listing->fresh == SIZE_MAX)
		return;
	first = &list->at.at[first_of(list, listing->fresh)];
	if (node->launch_phase < first->phase)
		first->phase = node->launch_phase;
	join_gangs(list, listing->fresh, gangs, node);
}

static struct fresh_list list_fresh(const struct choice *choice)
{
	const struct packing *packing = choice->packing;
	size_t groups = choice->facts->group_count;
	struct gang_place *gangs = order_gangs(packing);
	struct listing *listings = arena_array(choice->arena, groups, sizeof(*listings));
	struct fresh_list list = { .at = { .at = NULL } };

	for (size_t g = 0; g < groups; g++)
		listings[g].owed = owed(&choice->groups[g]);
	for (size_t i = 0; i < packing->result->node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];

		if (node->status == SCHEDULE_LAUNCH && node->type > 0 &&
		    choice->facts->groups[node->type - 1].grant)
			list_node(&list, choice, i, &listings[node->type - 1], gangs);
	}
	return list;
}

/* ---- units ---- */

/* A new replica with the key of its unit. */
struct member {
	enum schedule_phase phase;
	size_t rank, unit, group, at;
};

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	int order = (a->phase > b->phase) - (a->phase < b->phase);

	order = order != 0 ? order : compare_sizes(a->rank, b->rank);
	order = order != 0 ? order : compare_sizes(a->unit, b->unit);
	return order != 0 ? order : compare_sizes(a->at, b->at);
}

static struct member *sort_members(const struct choice *choice, struct fresh_list *list)
{
	struct member *members = arena_array(choice->arena, list->at.count, sizeof(*members));

	for (size_t i = 0; i < list->at.count; i++) {
		size_t unit = first_of(list, i);
		const struct fresh *first = &list->at.at[unit];

		members[i] = (struct member){ first->phase, first->rank, unit, list->at.at[i].group,
					      list->at.at[i].at };
	}
	if (list->at.count > 1)
		qsort(members, list->at.count, sizeof(*members), compare_members);
	return members;
}

/* The new nodes of a result are listed by type, so the replicas of a group follow each other. */
static void add_part(const struct choice *choice, struct pool_ask *ask, size_t group)
{
	size_t count = ask->parts.count;

	if (count > 0 && ask->parts.at[count - 1].group == group)
		ask->parts.at[count - 1].replicas++;
	else
		VEC_PUSH(choice->arena, &ask->parts, ((struct pool_ask_part){ group, 1 }));
}

/* Equal ones in a row are one entry. */
static void add_single(const struct choice *choice, struct pool_asks *asks, size_t group,
		       int64_t count)
{
	struct pool_ask *last = asks->at.count > 0 ? &asks->at.at[asks->at.count - 1] : NULL;

	if (count <= 0)
		return;
	if (last && !last->gang && last->parts.at[0].group == group) {
		last->count += count;
		return;
	}
	last = VEC_ADD(choice->arena, &asks->at);
	*last = (struct pool_ask){ .count = count };
	add_part(choice, last, group);
}

/* Takes up to `count` of what the limits on starting workers admit. */
static int64_t admit(int64_t *admitted, int64_t count)
{
	int64_t taken = count < *admitted ? count : *admitted;

	taken = taken > 0 ? taken : 0;
	*admitted -= taken;
	return taken;
}

struct pool_asks pool_ask(const struct choice *choice)
{
	const struct facts *facts = choice->facts;
	struct fresh_list list = list_fresh(choice);
	const struct member *members = sort_members(choice, &list);
	int64_t *admitted = arena_array(choice->arena, facts->group_count, sizeof(*admitted));
	struct pool_asks asks = { .at = { .at = NULL } };

	for (size_t g = 0; g < facts->group_count; g++)
		admitted[g] = choice->groups[g].allowed_replicas;
	for (size_t i = 0; i < list.at.count; i++)
		admitted[members[i].group] -= members[i].rank != SIZE_MAX;
	for (size_t i = 0; i < list.at.count; i++) {
		const struct member *member = &members[i];

		if (member->rank == SIZE_MAX) {
			add_single(choice, &asks, member->group,
				   admit(&admitted[member->group], 1));
			continue;
		}
		if (i == 0 || member[-1].unit != member->unit) {
			struct pool_ask *ask = VEC_ADD(choice->arena, &asks.at);

			*ask = (struct pool_ask){ .count = 1, .gang = true };
		}
		add_part(choice, &asks.at.at[asks.at.count - 1], member->group);
	}
	for (size_t g = 0; g < facts->group_count; g++)
		if (facts->groups[g].grant)
			add_single(choice, &asks, g,
				   admit(&admitted[g],
					 choice->packing->groups[g].launches_for_disruption));
	for (size_t g = 0; g < facts->group_count; g++)
		if (facts->groups[g].grant)
			add_single(choice, &asks, g,
				   admit(&admitted[g],
					 choice->packing->groups[g].launches_for_warm));
	return asks;
}

/* ---- grants ---- */

/* By group: what the grants leave. */
static int64_t *grants_of(const struct choice *choice)
{
	const struct facts *facts = choice->facts;
	int64_t *left = arena_array(choice->arena, facts->group_count, sizeof(*left));

	for (size_t g = 0; g < facts->group_count; g++)
		left[g] = facts->groups[g].grant ? granted(&facts->groups[g]) : INT64_MAX;
	return left;
}

/* How many of the equal units fit; they are taken from `left`. */
static int64_t take(const struct pool_ask *ask, int64_t *left)
{
	int64_t count = ask->count;

	VEC_EACH(const struct pool_ask_part, part, &ask->parts)
		if (left[part->group] / part->replicas < count)
			count = left[part->group] / part->replicas;
	VEC_EACH(const struct pool_ask_part, part, &ask->parts)
		left[part->group] -= count * part->replicas;
	return count;
}

const int64_t *pool_grants(const struct choice *choice)
{
	return grants_of(choice);
}

bool pool_is_granted(const struct choice *choice, const struct pool_asks *asks)
{
	int64_t *left = grants_of(choice);
	bool granted = true;

	VEC_EACH(const struct pool_ask, ask, &asks->at)
		granted = granted && take(ask, left) == ask->count;
	return granted;
}

const int64_t *pool_most(const struct choice *choice, const struct pool_asks *asks)
{
	int64_t *left = grants_of(choice), *most = grants_of(choice);

	for (size_t g = 0; g < choice->facts->group_count; g++)
		most[g] = choice->facts->groups[g].grant ? 0 : INT64_MAX;
	VEC_EACH(const struct pool_ask, ask, &asks->at) {
		int64_t count = take(ask, left);

		VEC_EACH(const struct pool_ask_part, part, &ask->parts)
			most[part->group] += count * part->replicas;
	}
	return most;
}

const struct offer *pool_offer(const struct choice *choice)
{
	struct offer *offer = ARENA_NEW(choice->arena, struct offer);
	struct schedule_problem *problem = &offer->problem;
	struct schedule_type *types;

	*offer = *choice->offer;
	types = arena_array(choice->arena, problem->type_count, sizeof(*types));
	memcpy(types, problem->types, problem->type_count * sizeof(*types));
	problem->types = types;
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count) {
		struct schedule_type *type = &types[group->index + 1];
		int64_t replicas;

		if (!group->grant)
			continue;
		replicas = granted(group) + owed(&choice->groups[group->index]);
		type->has_pool = true;
		type->pool_nodes = replicas * group->hosts;
	}
	for (size_t i = 0; i < problem->node_count; i++)
		if (problem->nodes[i].type != SCHEDULE_NO_INDEX)
			types[problem->nodes[i].type].pool_nodes++;
	return offer;
}
