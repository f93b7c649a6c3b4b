/* Nodes whose CPU and memory may grow in place, as Ray uses them in _try_schedule
 * (autoscaler/v2/scheduler.py, ray 2.60): after all nodes took what fits as they are, each that may be
 * resized is a candidate with its largest size, before any new node; one that takes a unit is resized to
 * that size. Afterwards Ray's list has the nodes that could not be resized, those that are, those that
 * could have been, and new ones. The list is a plain array here, made for each try. */
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
	size_t count = run->order.count, kept = 0, exhausted = 0;
	uint32_t *sorted = arena_array(run->attempt, count + 1, sizeof(*sorted));
	uint32_t *last = arena_array(run->attempt, count + 1, sizeof(*last));

	memcpy(sorted, run->order.at, count * sizeof(*sorted));
	schedule_order_sort(run, sorted, count);
	for (size_t i = 0; i < count; i++) {
		uint32_t state = run->nodes.at[sorted[i]].state;

		if (run->states.states.at[state].running &&
		    !schedule_requests_fit(try->requests, run, state))
			last[exhausted++] = sorted[i];
		else
			sorted[kept++] = sorted[i];
	}
	memcpy(&sorted[kept], last, exhausted * sizeof(*last));
	try->listed = sorted;
}

/* Ray's list after all nodes took what fits as they are: the chosen ones first. */
static uint32_t *list_filled(const struct schedule_try *try)
{
	const struct schedule_run *run = try->run;
	size_t count = 0;
	uint32_t *list = arena_array(run->attempt, run->order.count + 1, sizeof(*list));
	bool *chosen = arena_array(run->attempt, run->nodes.count + 1, sizeof(*chosen));

	for (size_t i = 0; i < try->chosen.count; i++) {
		uint32_t node = try->chosen.at[i].node;

		if (node >= run->places.count || try->chosen.at[i].resized || chosen[node])
			continue;
		chosen[node] = true;
		list[count++] = node;
	}
	for (size_t i = 0; i < run->order.count; i++)
		if (!chosen[try->listed[i]])
			list[count++] = try->listed[i];
	return list;
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
		.bound_at = -1,
		.rest = SCHEDULE_ID_NONE,
		.key = { .labels = INT_MAX },
		.part = { ARENA_COPY(run->attempt, part.at, part.count), part.count },
	};
	schedule_requests_see(try->requests, run, state, c->part, &c->kinds);
	c->terms = arena_array(run->attempt, part.count + 1, sizeof(*c->terms));
	return c;
}

/* chosen: what the try has placed on the node; NULL: nothing. */
static struct schedule_candidate *make_candidate(struct schedule_try *try, uint32_t node,
						 const struct schedule_size *size,
						 const struct schedule_chosen *chosen)
{
	struct schedule_run *run = try->run;
	uint32_t state = run->nodes.at[node].state, placed = run->nodes.at[node].placed, rest;
	struct schedule_candidate *c;
	struct resources total, available;

	schedule_run_amounts(run, node, true, &total, &available);
	schedule_state_of(&run->states, run->states.states.at[state], &total, &available, &rest);
	if (chosen) {
		placed = chosen->placed;
		state = schedule_state_filled(&run->room, chosen->state,
					      run->nodes.at[node].result.type, try->list,
					      chosen->fill, chosen->fill_count, &placed);
	}
	state = schedule_state_resized(&run->room, state, size, rest);
	c = schedule_candidate_new(try, state, SCHEDULE_NO_INDEX);
	c->node = node;
	c->placed = placed;
	c->rest = rest;
	c->resized = true;
	return c;
}

/* Of nodes that do not run Ray examines one in each state. */
static void link_equal(struct schedule_try *try, struct schedule_candidate **list, size_t count)
{
	struct schedule_intern keys = { .arena = try->run->attempt };
	size_t *last = arena_array(try->run->attempt, count + 1, sizeof(*last));
	uint32_t known = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t key[2] = { list[i]->state, list[i]->rest }, id;

		list[i]->rank = i;
		if (try->run->states.states.at[list[i]->state].running)
			continue;
		id = schedule_intern_add(&keys, key, sizeof(key));
		if (id == known) {
			known++;
		} else {
			list[last[id]]->next_equal = list[i];
			list[i]->follows = true;
		}
		last[id] = i;
	}
}

size_t schedule_resize_candidates(struct schedule_try *try, struct schedule_candidate ***ret_list)
{
	struct schedule_run *run = try->run;
	const uint32_t *list = list_filled(try);
	const struct schedule_chosen **chosen;
	size_t count = 0;

	*ret_list = arena_array(run->attempt, run->order.count + 1, sizeof(**ret_list));
	if (!try->active_count)
		return 0;
	chosen = arena_array(run->attempt, run->nodes.count + 1, sizeof(struct schedule_chosen *));
	VEC_EACH(const struct schedule_chosen, item, &try->chosen)
		chosen[item->node] = item; /* the last one */
	for (size_t i = 0; i < run->order.count; i++) {
		const struct schedule_size *size = size_of(run, list[i]);

		if (size)
			(*ret_list)[count++] = make_candidate(try, list[i], size, chosen[list[i]]);
	}
	link_equal(try, *ret_list, count);
	return count;
}

void schedule_resize_keep(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	const uint32_t *list = list_filled(try);
	uint32_t *after = arena_array(run->attempt, run->order.count + 1, sizeof(*after));
	bool *taken = arena_array(run->attempt, run->nodes.count + 1, sizeof(*taken));
	size_t count = 0;

	for (size_t i = 0; i < run->order.count; i++)
		if (!size_of(run, list[i]))
			after[count++] = list[i];
	for (size_t i = 0; i < try->chosen.count; i++) {
		if (!try->chosen.at[i].resized)
			continue;
		after[count++] = try->chosen.at[i].node;
		taken[try->chosen.at[i].node] = true;
	}
	for (size_t i = 0; i < run->order.count; i++)
		if (size_of(run, list[i]) && !taken[list[i]])
			after[count++] = list[i];
	CHECK(count == run->order.count);
	memcpy(run->order.at, after,
	       count * sizeof(*after)); /* so that the next try need not sort it */
	schedule_order_keep(run, try->requests, after, count);
}
