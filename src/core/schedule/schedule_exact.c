/* Placement by backtracking, for small cases: see schedule_try.h. */
#include "base/sort.h"
#include "core/schedule/schedule_try.h"

#include <string.h>

/* Larger cases are not tried. */
#define UNITS_MAX 128
#define STEPS_MAX ((size_t)10000)

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
	struct schedule_intern steps; /* (state, shape) */
	VEC(uint32_t) next;           /* by step: the state after it */
	size_t steps_left;
};

/* ---- the nodes ---- */

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
	struct schedule_run *run = search->run;
	uint32_t *nodes = arena_array(run->attempt, run->order.count + 1, sizeof(*nodes));

	for (size_t i = 0; i < run->order.count; i++)
		nodes[i] = run->order.at[i];
	schedule_order_sort(run, nodes, run->order.count);
	search->token_count = run->order.count;
	search->tokens = arena_array(run->attempt, run->order.count + 1, sizeof(*search->tokens));
	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t id = run->nodes.at[nodes[i]].state;
		const struct schedule_state *state = &run->states.states.at[id];
		struct token *token = &search->tokens[i];

		*token = (struct token){ .node = nodes[i], .state = id };
		ARRAY_EACH(const struct schedule_amount, amount, state->amounts,
			   state->amount_count) {
			if (amount->available <= 0)
				continue;
			search->free[amount->name] += amount->available;
			if (amount->name == run->words.gpu)
				token->gpus = amount->available;
		}
		token->last = !state->running && !state->head && !token->gpus;
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
			arena_array(search->run->attempt, count + 1, sizeof(*search->orders[i]));
	for (size_t i = 0; i < count; i++)
		search->orders[0][i] = search->orders[1][i] = i;
	if (!search->run->policy.spare_gpus)
		return;
	for (size_t i = 0; i < count; i++)
		if (!search->tokens[i].gpus)
			search->orders[1][placed++] = i;
	for (size_t i = count; i > 0; i--)
		if (search->tokens[i - 1].gpus)
			search->orders[1][placed++] = i - 1;
}

/* ---- steps ---- */

static void add_units(int64_t *sums, const struct schedule_shape *shape, int64_t units)
{
	for (uint32_t i = 0; i < shape->need_count; i++)
		sums[shape->needs[i].name] += shape->needs[i].amount * units;
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
	VEC_PUSH(search->run->attempt, &search->next, next);
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
	for (size_t i = first; i < search->token_count; i++) {
		struct token *token = &search->tokens[order[i]];
		uint32_t before = token->state, next;

		if (!search->steps_left)
			break;
		if (was_tried(search, order, first, i))
			continue;
		next = next_state(search, before, shape);
		if (next == SCHEDULE_ID_NONE)
			continue;
		search->steps_left--;
		token->state = next;
		add_units(search->need, wanted, -1);
		add_units(search->free, wanted, -1);
		search->taken[order[i] * search->list->count + shape]++;
		if (place(search, shape, units - 1, i))
			return true;
		search->taken[order[i] * search->list->count + shape]--;
		add_units(search->free, wanted, 1);
		add_units(search->need, wanted, 1);
		token->state = before;
	}
	return false;
}

/* ---- the outcome ---- */

/* Units of the shape that policy.served places. */
static int64_t served_units(const struct schedule_try *try, const struct schedule_shape *shape)
{
	const struct schedule_result *served = try->run->policy.served;
	enum schedule_phase phase = try->requests->phase;
	const struct schedule_leftover *leftovers =
		phase == SCHEDULE_PHASE_CONSTRAINT ?
			served->constraints[try->requests->list_index] :
		phase == SCHEDULE_PHASE_GANG ? served->gangs :
					       served->demands;
	int64_t units = shape->count;

	for (size_t i = 0; i < shape->entries.count; i++) {
		int64_t left = leftovers[shape->entries.at[i].index].count;

		if (phase == SCHEDULE_PHASE_GANG && left)
			return 0;
		units = left < units ? units - left : 0;
	}
	return units;
}

static void keep_token(struct search *search, struct schedule_try *try, size_t token)
{
	struct schedule_run *run = search->run;
	const int64_t *taken = &search->taken[token * search->list->count];
	uint32_t node = search->tokens[token].node, state = run->nodes.at[node].state;
	struct schedule_fill *fill =
		arena_array(run->attempt, search->list->count + 1, sizeof(*fill));
	size_t count = 0;

	for (uint32_t i = 0; i < search->list->count; i++)
		if (taken[i])
			fill[count++] = (struct schedule_fill){ i, taken[i] };
	if (!count)
		return;
	schedule_class_remove(run, state, node, node);
	schedule_try_choose(try, node, state, run->nodes.at[node].placed, fill, count);
}

bool schedule_try_exactly(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	const struct schedule_list *list = try->list;
	struct search search = { .run = run, .list = list, .steps.arena = run->attempt };
	int64_t *wanted, units = 0;
	size_t steps, names = run->words.name_count + 1;
	bool placed;

	if (!run->policy.exact)
		return false;
	if (!list->count || run->order.count > SCHEDULE_EXACT_NODES_MAX)
		return false;
	search.free = arena_array(run->attempt, names, sizeof(*search.free));
	search.need = arena_array(run->attempt, names, sizeof(*search.need));
	search.wanted = wanted = arena_array(run->attempt, list->count + 1, sizeof(*wanted));
	for (size_t i = 0; i < list->count; i++) {
		wanted[i] = served_units(try, &list->shapes[i]);
		if (wanted[i] > UNITS_MAX - units)
			return false;
		units += wanted[i];
		add_units(search.need, &list->shapes[i], wanted[i]);
	}
	list_tokens(&search);
	make_orders(&search);
	search.taken = arena_array(run->attempt, search.token_count * list->count + 1,
				   sizeof(*search.taken));
	steps = *run->policy.steps_left < STEPS_MAX ? *run->policy.steps_left : STEPS_MAX;
	search.steps_left = steps;
	placed = place(&search, 0, wanted[0], 0);
	*run->policy.steps_left -= steps - search.steps_left;
	if (!placed)
		return false;
	for (size_t i = 0; i < search.token_count; i++)
		keep_token(&search, try, i);
	for (size_t i = 0; i < list->count; i++)
		try->left[i] -= wanted[i];
	return true;
}

struct schedule_chosen *schedule_try_choose(struct schedule_try *try, uint32_t node, uint32_t state,
					    uint32_t placed, const struct schedule_fill *fill,
					    size_t fill_count)
{
	struct arena *arena = try->run->attempt;
	struct schedule_fill *copy = arena_array(arena, fill_count, sizeof(*copy));
	struct schedule_chosen *chosen = VEC_ADD(arena, &try->chosen);

	memcpy(copy, fill, fill_count * sizeof(*copy));
	*chosen = (struct schedule_chosen){ node, state, placed, .fill = copy };
	chosen->fill_count = fill_count;
	return chosen;
}
