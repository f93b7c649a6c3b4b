#include "core/decide/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/decide/target.h"

static int64_t granted(const struct group *group)
{
	int64_t replicas = group->grant->replicas;

	return replicas < 0 ? 0 : replicas > POOL_REPLICAS_MAX ? POOL_REPLICAS_MAX : replicas;
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
	enum schedule_phase phase;
	bool gang;        /* a bundle of a gang is on it */
	bool requested;   /* as of a pool_ask */
	size_t unit_size; /* replicas of the smallest unit that has it; 0: none */
};

/* A gang of the problem. */
struct gang_place {
	VEC(size_t) fresh; /* the new replicas with a bundle of it */
	VEC(size_t) there; /* the groups of other Pods with one */
};

/* A new replica in a unit, with the key of the unit. */
struct member {
	enum schedule_phase phase;
	size_t rank; /* of the gang in the packing; SIZE_MAX: the unit is this replica */
	size_t group, at;
	bool requested;
};

struct fresh_list {
	VEC(struct fresh) at;
	VEC(struct member) members;
	const size_t *order; /* of the gangs in the packing */
	struct gang_place *gangs;
};

static void note_gangs(struct fresh_list *list, size_t fresh, struct arena *arena,
		       const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++) {
		struct gang_place *gang;

		if (node->placements[i].phase != SCHEDULE_PHASE_GANG)
			continue;
		gang = &list->gangs[node->placements[i].index];
		list->at.at[fresh].gang = true;
		if (gang->fresh.count == 0 || gang->fresh.at[gang->fresh.count - 1] != fresh)
			VEC_PUSH(arena, &gang->fresh, fresh);
	}
}

static void note_there(struct fresh_list *list, struct arena *arena,
		       const struct schedule_node_result *node)
{
	for (size_t i = 0; i < node->placement_count; i++)
		if (node->placements[i].phase == SCHEDULE_PHASE_GANG &&
		    (i == 0 || node->placements[i - 1].index != node->placements[i].index))
			VEC_PUSH(arena, &list->gangs[node->placements[i].index].there,
				 node->type - 1);
}

/* The new nodes of a group while they are listed: the hosts of a replica follow each other. */
struct listing {
	int64_t hosts; /* so far */
	int64_t owed;  /* replicas that are not asked for */
	size_t fresh;  /* the replica of the last host; SIZE_MAX: it is not asked for */
};

static void list_node(struct fresh_list *list, const struct choice *choice, size_t index,
		      struct listing *listing)
{
	const struct schedule_node_result *node = &choice->packing->result->nodes[index];
	const struct group *group = &choice->facts->groups[node->type - 1];
	struct fresh *own;

	if (listing->hosts++ % group->hosts == 0) {
		listing->fresh = SIZE_MAX;
		if (node->launch_phase == SCHEDULE_PHASE_MIN && listing->owed-- > 0)
			return;
		listing->fresh = list->at.count;
		VEC_PUSH(choice->arena, &list->at,
			 ((struct fresh){ .group = group->index,
					  .at = index,
					  .phase = node->launch_phase,
					  .requested = true }));
	}
	if (listing->fresh == SIZE_MAX)
		return;
	own = &list->at.at[listing->fresh];
	own->phase = node->launch_phase < own->phase ? node->launch_phase : own->phase;
	own->requested &= node->launch_phase == SCHEDULE_PHASE_CONSTRAINT &&
			  packing_is_requested(choice->packing, node);
	note_gangs(list, listing->fresh, choice->arena, node);
}

static struct fresh_list list_fresh(const struct choice *choice)
{
	const struct packing *packing = choice->packing;
	size_t groups = choice->facts->group_count;
	struct listing *listings = arena_array(choice->arena, groups, sizeof(*listings));
	struct fresh_list list = {
		.order = schedule_gang_order(&packing->problem, packing->arena),
		.gangs = arena_array(packing->arena, packing->problem.gang_count,
				     sizeof(*list.gangs)),
	};

	VEC_RESERVE(choice->arena, &list.at, 16);
	for (size_t g = 0; g < groups; g++)
		listings[g].owed = owed(&choice->groups[g]);
	for (size_t i = 0; i < packing->result->node_count; i++) {
		const struct schedule_node_result *node = &packing->result->nodes[i];

		if (node->type == 0 || node->type == SCHEDULE_NO_INDEX ||
		    !choice->facts->groups[node->type - 1].grant)
			continue;
		if (node->status == SCHEDULE_LAUNCH)
			list_node(&list, choice, i, &listings[node->type - 1]);
		else
			note_there(&list, choice->arena, node);
	}
	return list;
}

/* ---- units ---- */

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->requested != b->requested)
		return a->requested ? 1 : -1;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static void add_member(const struct choice *choice, const struct fresh *fresh,
		       enum schedule_phase phase, size_t rank, struct fresh_list *list)
{
	VEC_PUSH(choice->arena, &list->members,
		 ((struct member){ phase, rank, fresh->group, fresh->at,
				   rank == SIZE_MAX && fresh->requested }));
}

/* A unit for each gang, in the order of the packing, with all of its new replicas, so that its grant
 * is enough for it alone, also when those with which it shares a replica never get theirs. It asks for
 * nothing if units before it, none larger, have all of its replicas. */
static void add_gang(const struct choice *choice, struct fresh_list *list, size_t rank)
{
	const struct gang_place *gang = &list->gangs[list->order[rank]];
	enum schedule_phase phase = SCHEDULE_PHASE_GANG;
	size_t size = gang->fresh.count;
	bool asks = false;

	VEC_EACH(const size_t, index, &gang->fresh) {
		struct fresh *fresh = &list->at.at[*index];

		asks |= fresh->unit_size == 0 || fresh->unit_size > size;
		phase = fresh->phase < phase ? fresh->phase : phase;
	}
	if (asks)
		for (size_t i = 0; i < size; i++) {
			struct fresh *fresh = &list->at.at[gang->fresh.at[i]];

			if (fresh->unit_size == 0 || fresh->unit_size > size)
				fresh->unit_size = size;
		}
	if (!asks)
		return;
	for (size_t i = 0; i < gang->fresh.count; i++)
		add_member(choice, &list->at.at[gang->fresh.at[i]], phase, rank, list);
}

static void sort_members(const struct choice *choice, struct fresh_list *list)
{
	for (size_t rank = 0; rank < choice->packing->problem.gang_count; rank++)
		add_gang(choice, list, rank);
	VEC_EACH(const struct fresh, fresh, &list->at)
		if (!fresh->gang)
			add_member(choice, fresh, fresh->phase, SIZE_MAX, list);
	if (list->members.count > 1)
		qsort(list->members.at, list->members.count, sizeof(*list->members.at),
		      compare_members);
}

/* The new nodes of a result are listed by type, so the replicas of a group follow each other. */
static void add_part(const struct choice *choice, struct pool_ask *ask, size_t group)
{
	size_t count = ask->parts.count;

	if (count > 0 && ask->parts.at[count - 1].group == group)
		ask->parts.at[count - 1].replicas++;
	else
		VEC_PUSH(choice->arena, &ask->parts, ((struct pool_ask_part){ group, 1, 0 }));
}

/* Replicas of the gang that need no launch, in the groups of which it asks for more. */
static void count_there(const struct choice *choice, const struct gang_place *gang,
			struct pool_ask *ask)
{
	VEC_EACH(struct pool_ask_part, part, &ask->parts) {
		int64_t pods = 0;

		VEC_EACH(const size_t, group, &gang->there)
			pods += *group == part->group;
		part->there = pods / choice->facts->groups[part->group].hosts;
	}
}

/* Equal ones in a row are one entry. */
static void add_single(const struct choice *choice, struct pool_ask_list *asks, size_t group,
		       int64_t count, bool requested)
{
	struct pool_ask *last = asks->count > 0 ? &asks->at[asks->count - 1] : NULL;

	if (count <= 0)
		return;
	if (last && !last->gang && last->requested == requested &&
	    last->parts.at[0].group == group) {
		last->count += count;
		return;
	}
	last = VEC_ADD(choice->arena, asks);
	*last = (struct pool_ask){ .count = count, .requested = requested };
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

struct pool_ask_list pool_ask(const struct choice *choice)
{
	const struct facts *facts = choice->facts;
	struct fresh_list list = list_fresh(choice);
	int64_t *admitted = arena_array(choice->arena, facts->group_count, sizeof(*admitted));
	struct pool_ask_list asks = { .at = NULL };
	struct pool_ask *gang = NULL; /* the last one; valid while its members follow each other */

	sort_members(choice, &list);
	for (size_t g = 0; g < facts->group_count; g++)
		admitted[g] = choice->groups[g].allowed_replicas;
	VEC_EACH(const struct fresh, fresh, &list.at)
		admitted[fresh->group] -= fresh->gang;
	VEC_EACH(const struct member, member, &list.members) {
		if (member->rank == SIZE_MAX) {
			add_single(choice, &asks, member->group, admit(&admitted[member->group], 1),
				   member->requested);
			continue;
		}
		if (!gang || member[-1].rank != member->rank) {
			gang = VEC_ADD(choice->arena, &asks);
			*gang = (struct pool_ask){ .count = 1, .gang = true };
		}
		add_part(choice, gang, member->group);
		count_there(choice, &list.gangs[list.order[member->rank]], gang);
	}
	for (size_t i = 0; i < 2 * facts->group_count; i++) {
		size_t g = i % facts->group_count;
		const struct group_packing *packing = &choice->packing->groups[g];

		if (facts->groups[g].grant)
			add_single(choice, &asks, g,
				   admit(&admitted[g], i == g ? packing->launches_for_disruption :
								packing->launches_for_warm),
				   false);
	}
	return asks;
}

/* ---- grants ---- */

int64_t *pool_grants(const struct choice *choice)
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

bool pool_is_granted(const struct choice *choice, const struct pool_ask_list *asks)
{
	int64_t *left = pool_grants(choice);
	bool granted = true;

	VEC_EACH(const struct pool_ask, ask, asks)
		granted = granted && take(ask, left) == ask->count;
	return granted;
}

const int64_t *pool_most(const struct choice *choice, const struct pool_ask_list *asks)
{
	int64_t *left = pool_grants(choice), *most = pool_grants(choice);

	for (size_t g = 0; g < choice->facts->group_count; g++)
		most[g] = choice->facts->groups[g].grant ? 0 : INT64_MAX;
	VEC_EACH(const struct pool_ask, ask, asks) {
		int64_t count = take(ask, left);

		VEC_EACH(const struct pool_ask_part, part, &ask->parts)
			most[part->group] += count * part->replicas;
	}
	return most;
}

const struct offer *pool_offer(const struct choice *choice)
{
	struct offer *offer = ARENA_COPY(choice->arena, choice->offer, 1);
	struct schedule_problem *problem = &offer->problem;
	struct schedule_type *types =
		ARENA_COPY(choice->arena, problem->types, problem->type_count);

	offer->within_pools = true;
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
