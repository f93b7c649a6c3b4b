/* Nodes whose CPU and memory may grow in place, as Ray uses them in _try_schedule
 * (autoscaler/v2/scheduler.py, ray 2.60): after all nodes took what fits as they are, each that may be
 * resized is a candidate with its largest size, before any new node; one that takes a unit is resized to
 * that size. Their order in Ray's list: schedule_order_before(). */
#include <limits.h>
#include <string.h>

#include "base/check.h"
#include "core/schedule/schedule_try.h"

static const struct schedule_size *size_of(const struct schedule_run *run, uint32_t node)
{
	const struct schedule_node *given = schedule_run_given(run, node);

	return given && !run->nodes.at[node].result.resized ? given->resizable : NULL;
}

void schedule_resize_begin(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	uint32_t known = SCHEDULE_ID_NONE;
	bool exhausted = false;

	try->exhausted = arena_array(run->attempt, run->places.count + 1, sizeof(bool));
	VEC_EACH(const uint32_t, node, &run->resizables) {
		uint32_t state = run->nodes.at[*node].state;

		if (state != known)
			exhausted = run->states.states.at[state].running &&
				    !schedule_requests_fit(try->requests, run, state);
		known = state;
		try->exhausted[*node] = exhausted;
	}
}

/* The nodes that may be resized, as they are in Ray's list after all nodes took what fits as they are: the chosen
 * ones first, exhausted ones last. `chosen`: by node. */
static size_t list_filled(const struct schedule_try *try, const struct schedule_chosen **chosen,
			  uint32_t *list)
{
	struct schedule_run *run = try->run;
	uint32_t *nodes = run->resizables.at;
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < run->resizables.count; i++)
		if (size_of(run, nodes[i]))
			nodes[kept++] = nodes[i];
	run->resizables.count = kept;
	schedule_order_sort(run, nodes, kept);
	VEC_EACH(const struct schedule_chosen, item, &try->chosen)
		if (size_of(run, item->node))
			list[count++] = item->node;
	for (size_t i = 0; i < kept; i++)
		if (!chosen[nodes[i]] && !try->exhausted[nodes[i]])
			list[count++] = nodes[i];
	for (size_t i = 0; i < kept; i++)
		if (!chosen[nodes[i]] && try->exhausted[nodes[i]])
			list[count++] = nodes[i];
	CHECK(count == kept);
	return count;
}

struct schedule_candidate *schedule_candidate_new(struct schedule_try *try, uint32_t state,
						  size_t type)
{
	struct schedule_run *run = try->run;
	struct schedule_candidate *c = ARENA_NEW(run->attempt, struct schedule_candidate);
	struct schedule_part part = schedule_requests_part(try->requests, run, state);

	*c = (struct schedule_candidate){
		.state = state,
		.type = type,
		.group = SCHEDULE_ID_NONE,
		.bound_at = -1,
		.rest = SCHEDULE_ID_NONE,
		.key = { .labels = INT_MAX },
		.part = { ARENA_COPY(run->attempt, part.at, part.count), part.count },
	};
	schedule_requests_see(try->requests, run, state, c->part, &c->kinds);
	schedule_cell_read(try, c);
	c->terms = arena_array(run->attempt, part.count + 1, sizeof(*c->terms));
	return c;
}

/* With the rest, which placements do not change. */
static struct schedule_resized *resized_of(struct schedule_run *run, uint32_t node)
{
	struct schedule_work *work = &run->nodes.at[node];
	struct schedule_resized *resized;
	struct resources total, available;

	if (work->resized > 0)
		return &run->resized.at[work->resized - 1];
	resized = VEC_ADD(run->scratch, &run->resized);
	work->resized = (uint32_t)run->resized.count;
	schedule_run_amounts(run, node, true, &total, &available);
	schedule_state_of(&run->states, run->states.states.at[work->state], &total, &available,
			  &resized->rest);
	resized->of = SCHEDULE_ID_NONE;
	return resized;
}

/* The state of the node with its new size, without what the try has placed on it. */
static uint32_t resized_state(struct schedule_run *run, uint32_t node,
			      const struct schedule_size *size)
{
	struct schedule_resized *resized = resized_of(run, node);

	if (resized->of != run->nodes.at[node].state) {
		resized->of = run->nodes.at[node].state;
		resized->state =
			schedule_state_resized(&run->room, resized->of, size, resized->rest);
	}
	return resized->state;
}

/* The state of the node with its new size; chosen: what the try has placed on it, NULL: nothing. Sets the placed set
 * as well. */
static uint32_t state_after(struct schedule_try *try, uint32_t node,
			    const struct schedule_chosen *chosen, uint32_t *ret_placed)
{
	struct schedule_run *run = try->run;
	const struct schedule_size *size = size_of(run, node);
	uint32_t state;

	*ret_placed = run->nodes.at[node].placed;
	if (!chosen)
		return resized_state(run, node, size);
	*ret_placed = chosen->placed;
	state = schedule_state_filled(&run->room, chosen->state, run->nodes.at[node].result.type,
				      try->list, chosen->fill, chosen->fill_count, ret_placed);
	return schedule_state_resized(&run->room, state, size, resized_of(run, node)->rest);
}

static struct schedule_candidate *candidate_of(struct schedule_try *try, uint32_t rest,
					       const struct schedule_turn *first)
{
	struct schedule_candidate *c = schedule_candidate_new(try, first->state, SCHEDULE_NO_INDEX);

	c->node = first->node;
	c->placed = first->placed;
	c->rank = first->rank;
	c->rest = rest;
	c->resized = true;
	return c;
}

/* The state of a node that runs has what is placed on it. Of others Ray examines the first in each state. */
size_t schedule_resize_candidates(struct schedule_try *try, struct schedule_candidate ***ret_list)
{
	struct schedule_run *run = try->run;
	struct schedule_intern keys = { .arena = run->attempt };
	uint32_t *list = arena_array(run->attempt, run->resizables.count + 1, sizeof(*list));
	uint32_t key[2], last[2] = { SCHEDULE_ID_NONE, SCHEDULE_ID_NONE }, id = 0, known = 0;
	const struct schedule_chosen **chosen;
	size_t count;

	*ret_list = arena_array(run->attempt, run->resizables.count + 1, sizeof(**ret_list));
	if (!try->active_count)
		return 0;
	chosen = arena_array(run->attempt, run->nodes.count + 1, sizeof(struct schedule_chosen *));
	VEC_EACH(const struct schedule_chosen, item, &try->chosen)
		chosen[item->node] = item; /* the last one */
	count = list_filled(try, chosen, list);
	for (size_t i = 0; i < count; i++) {
		struct schedule_turn turn = { .type = SCHEDULE_ID_NONE,
					      .node = list[i],
					      .rank = i };

		key[0] = turn.state = state_after(try, turn.node, chosen[turn.node], &turn.placed);
		key[1] = resized_of(run, turn.node)->rest;
		if (memcmp(key, last, sizeof(key)) != 0)
			id = schedule_intern_add(&keys, key, sizeof(key));
		memcpy(last, key, sizeof(key));
		if (id == known)
			(*ret_list)[known++] = candidate_of(try, key[1], &turn);
		VEC_PUSH(run->attempt, &(*ret_list)[id]->turns, turn);
	}
	return known;
}
