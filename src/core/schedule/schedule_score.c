/* Ray's comparison of the nodes that it could fill next: the second part of schedule_room.h. */
#include "core/schedule/schedule_room.h"

#include "base/sort.h"

static int compare_names(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* True for the first call with this name since the stamp changed. */
static bool first_seen(struct schedule_room *room, uint32_t name)
{
	if (room->seen[name] == room->stamp)
		return false;
	room->seen[name] = room->stamp;
	return true;
}

static bool has_word(const uint32_t *words, uint32_t count, uint32_t word)
{
	for (uint32_t i = 0; i < count; i++)
		if (words[i] == word)
			return true;
	return false;
}

uint32_t schedule_placed_with(struct schedule_room *room, uint32_t placed,
			      const struct schedule_list *list, const struct schedule_fill *fill,
			      size_t fill_count)
{
	struct arena *arena = room->states->arena;
	struct schedule_placed before = room->states->placed.at[placed], after = before;
	VEC(uint32_t) names = { .at = NULL };
	VEC(uint32_t) selectors = { .at = NULL };

	room->stamp++;
	for (uint32_t i = 0; i < before.name_count; i++)
		if (first_seen(room, before.names[i]))
			VEC_PUSH(arena, &names, before.names[i]);
	for (uint32_t i = 0; i < before.selector_count; i++)
		VEC_PUSH(arena, &selectors, before.selectors[i]);
	for (size_t i = 0; i < fill_count; i++) {
		const struct schedule_shape *shape = &list->shapes[fill[i].shape];

		after.asks_accelerator = after.asks_accelerator || shape->asks_accelerator;
		for (uint32_t j = 0; j < shape->need_count; j++)
			if (first_seen(room, shape->needs[j].name))
				VEC_PUSH(arena, &names, shape->needs[j].name);
		if (shape->selector &&
		    !has_word(selectors.at, (uint32_t)selectors.count, shape->selector))
			VEC_PUSH(arena, &selectors, shape->selector);
	}
	sort_stable(names.at, names.count, sizeof(*names.at), compare_names);
	after.names = names.at;
	after.name_count = (uint32_t)names.count;
	after.selectors = selectors.at;
	after.selector_count = (uint32_t)selectors.count;
	return schedule_placed_add(room->states, &after);
}

/* The first request on the node, in the order of placement, that has a selector which the node's
 * labels satisfy decides. */
static int label_rank(struct schedule_room *room, const struct schedule_placed *before,
		      const struct schedule_list *list, const struct schedule_fill *fill,
		      size_t fill_count)
{
	int rank;

	for (uint32_t i = 0; i < before->selector_count; i++) {
		rank = schedule_label_rank(room->states, room->labels, before->selectors[i]);
		if (rank)
			return rank;
	}
	for (size_t i = 0; i < fill_count; i++) {
		rank = schedule_label_rank(room->states, room->labels,
					   list->shapes[fill[i].shape].selector);
		if (rank)
			return rank;
	}
	return 0;
}

void schedule_key_type(const struct schedule_problem *problem, const struct schedule_state *state,
		       struct schedule_key *key)
{
	*key = (struct schedule_key){ .recoverable = 1, .recency = 1 };
	if (state->type == SCHEDULE_ID_NONE)
		return;
	key->recoverable = problem->types[state->type].recoverable_availability;
	key->priority = problem->types[state->type].priority;
	key->recency = problem->types[state->type].failure_recency;
}

void schedule_key_fill(struct schedule_room *room, uint32_t placed,
		       const struct schedule_list *list, const struct schedule_fill *fill,
		       size_t fill_count, struct schedule_key *key)
{
	const struct schedule_problem *problem = room->states->words->problem;
	const struct schedule_placed *before = &room->states->placed.at[placed];
	const struct schedule_state *state = &room->state;
	bool asks_accelerator = before->asks_accelerator;

	room->stamp++;
	schedule_key_type(problem, state, key);
	for (uint32_t i = 0; i < before->name_count; i++)
		key->types += first_seen(room, before->names[i]) &&
			      room->total[before->names[i]] >= 0;
	for (size_t i = 0; i < fill_count; i++) {
		const struct schedule_shape *shape = &list->shapes[fill[i].shape];

		asks_accelerator = asks_accelerator || shape->asks_accelerator;
		for (uint32_t j = 0; j < shape->need_count; j++)
			key->types += first_seen(room, shape->needs[j].name) &&
				      room->total[shape->needs[j].name] >= 0;
	}
	key->labels = label_rank(room, before, list, fill, fill_count);
	key->accelerator_ok = !problem->conserve_accelerators || !state->accelerator ||
			      asks_accelerator;
}

/* The terms are added in the order of the names, as Ray adds doubles. */
void schedule_key_rest(const struct schedule_states *states, const struct schedule_state *state,
		       const double *terms, uint32_t rest_id, struct schedule_key *key)
{
	const struct schedule_rest *rest = &states->rests.at[rest_id];
	double minimum = rest->minimum, sum = 0;
	uint32_t count = rest->count, next = 0;

	for (uint32_t i = 0; i < state->amount_count; i++) {
		for (;
		     next < rest->term_count && rest->terms[next].before <= state->amounts[i].name;
		     next++)
			sum += rest->terms[next].term;
		if (terms[i] < 0)
			continue;
		sum += terms[i];
		count++;
		if (terms[i] < minimum)
			minimum = terms[i];
	}
	for (; next < rest->term_count; next++)
		sum += rest->terms[next].term;
	key->minimum = count ? minimum : 0;
	key->average = count ? sum / count : 0;
}

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

int schedule_key_compare(const struct schedule_key *a, const struct schedule_key *b)
{
	int order;

	if (a->first != b->first)
		return a->first ? 1 : -1;
	if (a->labels != b->labels)
		return a->labels > b->labels ? 1 : -1;
	if (a->accelerator_ok != b->accelerator_ok)
		return a->accelerator_ok ? 1 : -1;
	order = compare_doubles(a->spared, b->spared);
	if (order)
		return order;
	if (a->types != b->types)
		return a->types > b->types ? 1 : -1;
	order = compare_doubles(a->minimum, b->minimum);
	if (!order)
		order = compare_doubles(a->average, b->average);
	if (!order)
		order = compare_doubles(a->recoverable, b->recoverable);
	if (!order)
		order = (a->priority > b->priority) - (a->priority < b->priority);
	return order ? order : compare_doubles(a->recency, b->recency);
}
