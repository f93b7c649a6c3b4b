#include "core/schedule/schedule_exact.h"

#include "base/sort.h"

struct token {
	uint32_t node, state;
	bool last; /* starts and has no GPU: used last */
	int64_t gpus;
};

struct search {
	struct schedule_run *run;
	const struct schedule_list *list;
	const int64_t *wanted; /* by shape */
	struct token *tokens;
	size_t token_count;
	size_t *orders[2];    /* of tokens: for requests with and without GPUs */
	int64_t *taken;       /* by token and shape: placed units */
	int64_t *free, *need; /* by name: of all nodes, and of the units still to be placed */
	size_t name_count;
	struct schedule_intern steps; /* (state, shape) */
	VEC(uint32_t) next;           /* by step: the state after it */
	size_t steps_left;
};

static struct arena *arena_of(const struct search *search)
{
	return search->run->attempt;
}

/* ---- the nodes ---- */

static int64_t available_of(const struct schedule_state *state, uint32_t name)
{
	for (uint32_t i = 0; i < state->amount_count; i++)
		if (state->amounts[i].name == name)
			return state->amounts[i].available > 0 ? state->amounts[i].available : 0;
	return 0;
}

/* The fullest first, so that large requests find empty ones. */
static int compare_tokens(const void *a, const void *b)
{
	const struct token *first = a, *second = b;

	if (first->last != second->last)
		return first->last ? 1 : -1;
	return (first->gpus > second->gpus) - (first->gpus < second->gpus);
}

static void list_tokens(struct search *search)
{
	const struct schedule_run *run = search->run;

	search->tokens =
		arena_array(arena_of(search), run->order.count + 1, sizeof(*search->tokens));
	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t id = run->states_of.at[run->order.at[i]];
		const struct schedule_state *state = &run->states.states.at[id];
		struct token *token = &search->tokens[search->token_count++];

		*token = (struct token){ .node = run->order.at[i], .state = id };
		if (run->words.gpu != SCHEDULE_ID_NONE)
			token->gpus = available_of(state, run->words.gpu);
		token->last = !state->running && !state->head && !token->gpus;
		for (uint32_t j = 0; j < state->amount_count; j++)
			if (state->amounts[j].available > 0)
				search->free[state->amounts[j].name] += state->amounts[j].available;
	}
	sort_stable(search->tokens, search->token_count, sizeof(*search->tokens), compare_tokens);
}

/* With policy.spare_gpus, requests without GPUs prefer nodes without GPUs, also starting ones, then
 * those with the most GPUs. */
static void make_orders(struct search *search)
{
	size_t count = search->token_count, placed = 0;

	for (size_t i = 0; i < 2; i++)
		search->orders[i] =
			arena_array(arena_of(search), count + 1, sizeof(*search->orders[i]));
	for (size_t i = 0; i < count; i++)
		search->orders[0][i] = search->orders[1][i] = i;
	if (!search->run->policy.spare_gpus)
		return;
	for (size_t i = 0; i < count; i++)
		if (!search->tokens[i].gpus)
			search->orders[1][placed++] = i;
	for (size_t i = count; i-- > 0;)
		if (search->tokens[i].gpus)
			search->orders[1][placed++] = i;
}

/* ---- steps ---- */

static void count_need(struct search *search, const struct schedule_shape *shape, int64_t units)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		search->need[shape->needs[i].name] += shape->needs[i].amount * units;
}

static void count_free(struct search *search, const struct schedule_shape *shape, int64_t units)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		search->free[shape->needs[i].name] += shape->needs[i].amount * units;
}

/* The sums alone: a resource that nodes have without listing it is left to the steps. */
static bool could_fit(const struct search *search, const struct schedule_shape *shape)
{
	for (uint32_t i = 0; i < shape->need_count; i++) {
		uint32_t name = shape->needs[i].name;

		if (search->need[name] > search->free[name] &&
		    !search->run->words.is_implicit[name])
			return false;
	}
	return true;
}

/* The state of a node after one more unit; SCHEDULE_ID_NONE: it does not fit. */
static uint32_t next_state(struct search *search, uint32_t state, uint32_t shape)
{
	struct schedule_room *room = &search->run->room;
	uint32_t key[2] = { state, shape };
	uint32_t step = schedule_intern_add(&search->steps, key, sizeof(key));
	uint32_t next = SCHEDULE_ID_NONE;

	if (step < search->next.count)
		return search->next.at[step];
	schedule_room_load(room, state);
	if (schedule_room_take(room, &search->list->shapes[shape], 1))
		next = schedule_room_save(room, room->state.placed);
	schedule_room_unload(room);
	VEC_PUSH(arena_of(search), &search->next, next);
	return next;
}

static bool was_tried(const struct search *search, const size_t *order, size_t first, size_t at)
{
	for (size_t i = first; i < at; i++)
		if (search->tokens[order[i]].state == search->tokens[order[at]].state)
			return true;
	return false;
}

/* Places `units` of the shape and all later shapes by backtracking. Units of one shape are placed
 * on nodes in ascending order, because they are interchangeable; of nodes in the same state only
 * the first is tried. A branch ends when the total free amount of a name is below the need. Stops
 * after steps_left steps. */
static bool place(struct search *search, uint32_t shape, int64_t units, size_t first)
{
	const struct schedule_shape *wanted;
	const size_t *order;

	for (; !units; first = 0) {
		if (++shape == search->list->count)
			return true;
		units = search->wanted[shape];
	}
	wanted = &search->list->shapes[shape];
	order = search->orders[wanted->piece_count == 0];
	if (!could_fit(search, wanted))
		return false;
	for (size_t i = first; i < search->token_count && search->steps_left; i++) {
		struct token *token = &search->tokens[order[i]];
		uint32_t before = token->state, next;

		if (was_tried(search, order, first, i))
			continue;
		next = next_state(search, before, shape);
		if (next == SCHEDULE_ID_NONE)
			continue;
		search->steps_left--;
		token->state = next;
		count_need(search, wanted, -1);
		count_free(search, wanted, -1);
		search->taken[order[i] * search->list->count + shape]++;
		if (place(search, shape, units - 1, i))
			return true;
		search->taken[order[i] * search->list->count + shape]--;
		count_free(search, wanted, 1);
		count_need(search, wanted, 1);
		token->state = before;
	}
	return false;
}

/* ---- the outcome ---- */

static void write_fill(const struct search *search, size_t token, struct schedule_exact *exact)
{
	const int64_t *taken = &search->taken[token * search->list->count];
	struct schedule_fill *fill =
		arena_array(arena_of(search), search->list->count + 1, sizeof(*fill));
	size_t count = 0;

	for (uint32_t i = 0; i < search->list->count; i++)
		if (taken[i])
			fill[count++] = (struct schedule_fill){ i, taken[i] };
	if (count)
		exact->nodes[exact->node_count++] =
			(struct schedule_exact_node){ search->tokens[token].node, fill, count };
}

static bool is_small(const struct schedule_run *run, const struct schedule_list *list,
		     const int64_t *wanted)
{
	int64_t units = 0;

	if (!list->count || run->order.count > SCHEDULE_EXACT_NODES_MAX)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		if (wanted[i] > SCHEDULE_EXACT_UNITS_MAX)
			return false;
		units += wanted[i];
	}
	return units <= SCHEDULE_EXACT_UNITS_MAX;
}

bool schedule_exact_place(struct schedule_run *run, const struct schedule_list *list,
			  const int64_t *wanted, struct schedule_exact *ret_exact)
{
	struct search search = {
		.run = run, .list = list, .wanted = wanted, .steps_left = *run->policy.steps_left
	};
	struct schedule_exact exact = { .node_count = 0 };
	size_t steps;
	bool placed;

	if (!is_small(run, list, wanted))
		return false;
	search.name_count = schedule_words_count(&run->words.names) + 1;
	search.free = arena_array(run->attempt, search.name_count, sizeof(*search.free));
	search.need = arena_array(run->attempt, search.name_count, sizeof(*search.need));
	schedule_intern_init(&search.steps, run->attempt);
	list_tokens(&search);
	make_orders(&search);
	search.taken = arena_array(run->attempt, search.token_count * list->count + 1,
				   sizeof(*search.taken));
	for (size_t i = 0; i < list->count; i++)
		count_need(&search, &list->shapes[i], wanted[i]);
	if (search.steps_left > SCHEDULE_EXACT_STEPS_MAX)
		search.steps_left = SCHEDULE_EXACT_STEPS_MAX;
	steps = search.steps_left;
	placed = place(&search, 0, wanted[0], 0);
	*run->policy.steps_left -= steps - search.steps_left;
	if (!placed)
		return false;
	exact.nodes = arena_array(run->attempt, search.token_count + 1, sizeof(*exact.nodes));
	for (size_t i = 0; i < search.token_count; i++)
		write_fill(&search, i, &exact);
	*ret_exact = exact;
	return true;
}
