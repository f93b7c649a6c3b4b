/* The candidates of one try, and the choice of the best: see schedule_try.h.
 *
 * A candidate is a class of equal nodes, or a new node of a type. Its key is exact, or an upper bound:
 *
 *   unknown (labels INT_MAX) ──► bounded (bound_at) ──► filled (fresh: the key is exact)
 *       ▲                          ▲   │ no shape fits      │    │ nothing fits
 *       │ another first member     │   └──► dropped ◄───────┼────┘
 *       └──────────────────────────┴────────────────────────┘ review: fewer units are left
 *
 * The heap is ordered by these keys, existing nodes before new ones. schedule_try_best() improves only
 * its first candidate, from unknown to bounded to filled, until the first is filled: every other key is
 * at most as large, and so is what it bounds. Most candidates are never filled, which is the speed.
 *
 * Invariants: a key never falls below the exact one (SLACK covers rounding). A class outside of the heap
 * is ranked after `next`, and may_be_better() has compared the first of these. Fewer shapes or units only
 * lower exact keys, so an old bound stays a bound. */
#include <limits.h>
#include <math.h>

#include "base/check.h"
#include "core/schedule/schedule_try.h"

/* Exceeds any rounding error of a score. */
#define SLACK (1 + 1e-9)

/* ---- the heap ---- */

static bool is_before(const struct schedule_try *try, const struct schedule_candidate *a,
		      const struct schedule_candidate *b)
{
	int order;

	if ((a->type == SCHEDULE_NO_INDEX) != (b->type == SCHEDULE_NO_INDEX))
		return a->type == SCHEDULE_NO_INDEX;
	order = schedule_key_compare(&a->key, &b->key);
	if (order)
		return order > 0;
	if (a->type != SCHEDULE_NO_INDEX)
		return a->rank < b->rank;
	return schedule_order_before(try->run, a->node, b->node);
}

/* Moves the candidate to where it belongs. */
static void heap_move(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_candidate **heap = try->heap.at;
	size_t count = try->heap.count, at = c->heap_at;

	for (; at && is_before(try, c, heap[(at - 1) / 2]); at = (at - 1) / 2) {
		heap[at] = heap[(at - 1) / 2];
		heap[at]->heap_at = at;
	}
	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && is_before(try, heap[child + 1], heap[child]))
			child++;
		if (!is_before(try, heap[child], c))
			break;
		heap[at] = heap[child];
		heap[at]->heap_at = at;
		at = child;
	}
	heap[at] = c;
	c->heap_at = at;
}

static void heap_add(struct schedule_try *try, struct schedule_candidate *c)
{
	VEC_PUSH(try->run->attempt, &try->heap, c);
	c->heap_at = try->heap.count - 1;
	c->listed = true;
	heap_move(try, c);
}

void schedule_try_drop(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_candidate *last = try->heap.at[--try->heap.count];

	c->listed = false;
	if (last == c)
		return;
	last->heap_at = c->heap_at;
	heap_move(try, last);
}

/* ---- the bound ---- */

/* An upper bound of the label rank over the kinds that fit. */
static int labels_max(const struct schedule_states *states, const struct schedule_candidate *c)
{
	int best = states->placed.at[c->placed].selector_count ? INT_MAX - 1 : 0;

	for (size_t i = 0; i < c->kinds.count; i++) {
		int rank = schedule_label_rank(states, states->states.at[c->state].labels,
					       c->kinds.at[i]->first->selector);

		if (rank > best)
			best = rank;
	}
	return best;
}

/* Sets by name, for those of the state, the largest need of a shape per unit of the pivot; infinite
 * when a shape does not need the pivot. False when no shape has units left. */
static bool find_ratios(struct schedule_try *try, const struct schedule_candidate *c,
			const struct schedule_state *state, bool *accelerated)
{
	double *ratios = try->run->ratios;
	bool any = false;

	for (uint32_t i = 0; i < state->amount_count; i++)
		ratios[state->amounts[i].name] = 0;
	for (size_t i = 0; i < c->kinds.count; i++) {
		const struct schedule_kind *kind = c->kinds.at[i];
		size_t width = kind->names + 1; /* the root */

		if (kind->least[width + kind->names] == INT64_MAX)
			continue;
		any = true;
		*accelerated = *accelerated || kind->first->asks_accelerator;
		for (uint32_t j = 0; j < kind->names; j++)
			if (kind->ratio[width + j] > ratios[kind->first->needs[j].name])
				ratios[kind->first->needs[j].name] = kind->ratio[width + j];
	}
	return any;
}

/* Sets the key to an upper bound over all fills of the candidate; false when none takes a unit.
 * Each score term is bounded on its own: a fill uses at most the free amount of the pivot (the name
 * that most shapes need), so of any other name at most that amount times its largest ratio to the
 * pivot. With 8 CPUs free and shapes of at most 4 GiB for each CPU, no fill uses more than 32 GiB.
 * SLACK covers rounding, so the bound never excludes the best candidate. */
static bool bound(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_state *state = &run->states.states.at[c->state];
	const struct schedule_placed *placed = &run->states.placed.at[c->placed];
	const struct schedule_requests *requests = try->requests;
	union schedule_key *key = &c->bound;
	bool accelerated = placed->asks_accelerator;
	int64_t pivot = 0;

	if (!c->seen) {
		c->seen = true;
		schedule_requests_see(requests, run, c->state, &c->kinds);
		c->terms = arena_array(run->attempt, state->amount_count + 1, sizeof(*c->terms));
		c->labels_max = labels_max(&run->states, c);
	}
	if (!find_ratios(try, c, state, &accelerated))
		return false;
	schedule_key_type(run->problem, state, key);
	key->labels = c->labels_max;
	key->accelerator_ok = !run->problem->conserve_accelerators || !state->accelerator ||
			      accelerated;
	key->types = placed->name_count;
	if (requests->pivot != SCHEDULE_ID_NONE && run->words.is_implicit[requests->pivot])
		pivot = RESOURCE_UNIT;
	for (uint32_t i = 0; i < state->amount_count; i++)
		if (state->amounts[i].name == requests->pivot && state->amounts[i].available >= 0)
			pivot = state->amounts[i].available;
	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];
		double most = run->ratios[amount->name] * ((double)pivot * SLACK + 1), share = 0;
		int64_t used = amount->total;

		c->terms[i] = state->terms[i];
		if (most <= 0)
			continue;
		key->types += amount->total >= 0;
		if (amount->total <= 0)
			continue;
		if (most < (double)amount->available)
			used = amount->total - amount->available + (int64_t)most;
		if (used > 0)
			share = (double)used / (double)amount->total;
		/* schedule_term with a product instead of pow(): SLACK covers the difference. */
		c->terms[i] = (double)amount->total / (double)RESOURCE_UNIT * share * share * share;
	}
	schedule_key_rest(&run->states, state, c->terms, c->rest, key);
	key->minimum *= SLACK;
	key->average *= SLACK;
	c->bound_at = try->active_count;
	c->key = *key;
	return true;
}

/* ---- the fill ---- */

/* The ratio of unused to used GPUs of a new node after this fill, negated so that larger is better;
 * -infinity when the fill uses none of its GPUs. */
static double spared_gpus(const struct schedule_run *run, const struct schedule_candidate *c)
{
	int64_t total = run->problem->types[c->type].gpu_amount, used = 0;

	if (total <= 0)
		return 0;
	if (run->words.gpu != SCHEDULE_ID_NONE && run->room.total[run->words.gpu] > 0)
		used = run->room.total[run->words.gpu] - run->room.available[run->words.gpu];
	return used > 0 ? -(double)(total - used) / (double)used : -INFINITY;
}

/* Moves the cursor to the next shape of its kind that may fit, or removes it. */
static void cursor_move(struct schedule_try *try, struct schedule_cursor *cursor, size_t from)
{
	const struct schedule_room *room = &try->run->room;

	cursor->place = SCHEDULE_NO_INDEX;
	if (!schedule_room_refuses(room, cursor->kind->first, try->requests->adds_labels))
		cursor->place = schedule_requests_next(cursor->kind, room, from);
	if (cursor->place == SCHEDULE_NO_INDEX)
		*cursor = try->cursors.at[--try->cursors.count];
}

static uint32_t cursor_shape(const struct schedule_cursor *cursor)
{
	return cursor->kind->shapes.at[cursor->place];
}

/* Takes what fits, in the order of the list: of the next shapes of all kinds the first. */
static void take_all(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;

	try->cursors.count = 0;
	for (size_t i = 0; i < c->kinds.count; i++) {
		VEC_PUSH(run->attempt, &try->cursors,
			 ((struct schedule_cursor){ .kind = c->kinds.at[i] }));
		cursor_move(try, &try->cursors.at[try->cursors.count - 1], 0);
	}
	while (try->cursors.count) {
		struct schedule_cursor *first = try->cursors.at;
		uint32_t shape;
		int64_t count;

		for (size_t i = 1; i < try->cursors.count; i++)
			if (cursor_shape(&try->cursors.at[i]) < cursor_shape(first))
				first = &try->cursors.at[i];
		shape = cursor_shape(first);
		count = schedule_room_take(&run->room, &try->list->shapes[shape], try->left[shape]);
		if (count) {
			VEC_PUSH(run->attempt, &c->fill, ((struct schedule_fill){ shape, count }));
			VEC_PUSH(run->attempt, &try->holders[shape],
				 ((struct schedule_holder){ c, c->fills, count }));
		}
		if (count > try->most[shape])
			try->most[shape] = count;
		cursor_move(try, first, first->place + 1);
	}
}

/* Fills its state with the remaining units, in the order of the list, and scores the outcome. False
 * when nothing fits. */
static bool fill(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	struct schedule_room *room = &run->room;

	schedule_room_load(room, c->state);
	c->fresh = true;
	c->fill.count = 0;
	c->fills++;
	take_all(try, c);
	if (c->fill.count) {
		schedule_room_terms(room, c->terms);
		schedule_key_fill(room, c->placed, try->list, c->fill.at, c->fill.count, &c->key);
		if (run->policy.spare_gpus && c->type != SCHEDULE_NO_INDEX)
			c->key.spared = spared_gpus(run, c);
		else if (run->policy.shuffle)
			c->key.spared =
				-(double)schedule_shuffled(run->policy.shuffle, room->state.type);
		schedule_key_rest(&run->states, &room->state, c->terms, c->rest, &c->key);
	}
	schedule_room_unload(room);
	return c->fill.count;
}

/* ---- choosing ---- */

static struct schedule_candidate *candidate_new(struct schedule_try *try, uint32_t state,
						size_t type)
{
	struct schedule_candidate *c = ARENA_NEW(try->run->attempt, struct schedule_candidate);

	*c = (struct schedule_candidate){
		.state = state,
		.type = type,
		.bound_at = -1,
		.rest = SCHEDULE_ID_NONE,
		.key = { .labels = INT_MAX },
	};
	return c;
}

/* Expects run, requests, list and source. */
void schedule_try_init(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	const struct schedule_list *list = try->list;

	try->left = arena_array(run->attempt, list->count, sizeof(*try->left));
	try->most = arena_array(run->attempt, list->count, sizeof(*try->most));
	try->holders = arena_array(run->attempt, list->count, sizeof(*try->holders));
	for (size_t i = 0; i < list->count; i++) {
		try->left[i] = list->shapes[i].count;
		try->active_count += !list->shapes[i].impossible;
	}
	run->classes.tries++;
	try->ranked = run->classes.lasting && !run->policy.shuffle;
	try->types_max = (uint32_t)run->classes.placed_name_count;
	for (size_t i = 0; i < try->requests->names.count; i++)
		try->types_max += !run->classes.placed_names[try->requests->names.at[i]];
	try->labels_max = run->classes.placed_selectors ? INT_MAX : try->requests->labels_max;
}

void schedule_try_add_type(struct schedule_try *try, size_t type)
{
	struct schedule_candidate *c = candidate_new(try, try->run->template_state[type], type);

	c->rest = try->run->template_rest[type];
	c->rank = try->next_rank++;
	heap_add(try, c);
}

/* Reads the first member of the class. Resets the key to the bound if that could improve it. */
static void read_first(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	uint32_t node = run->classes.at.at[c->state].members.at[0];
	uint32_t placed = schedule_run_placed(run, node), rest = schedule_run_rest(run, node);
	const struct schedule_state *state = &run->states.states.at[c->state];

	if (c->fresh && rest != c->rest && placed == c->placed && state->running) {
		/* The next member takes the same fill and has a lower score. */
		schedule_key_rest(&run->states, state, c->terms, rest, &c->key);
	} else if (!c->fresh || placed != c->placed || rest != c->rest) {
		c->fresh = false;
		c->bound_at = -1;
		c->key.labels = INT_MAX;
	}
	c->node = node;
	c->placed = placed;
	c->rest = rest;
}

void schedule_try_add_class(struct schedule_try *try, uint32_t state)
{
	struct schedule_class *class = &try->run->classes.at.at[state];

	if (class->stamp != try->run->classes.tries) {
		class->stamp = try->run->classes.tries;
		class->candidate = candidate_new(try, state, SCHEDULE_NO_INDEX);
	}
	if (!class->members.count)
		return;
	/* A candidate that was removed from the heap is not reviewed. */
	if (!class->candidate->listed)
		class->candidate->fresh = false;
	read_first(try, class->candidate);
	if (class->candidate->listed)
		heap_move(try, class->candidate);
	else
		heap_add(try, class->candidate);
}

/* Whether a class that is not a candidate yet could be better than this one. */
static bool may_be_better(const struct schedule_try *try, const struct schedule_class *class,
			  const struct schedule_candidate *c)
{
	if (!try->ranked || c->type != SCHEDULE_NO_INDEX || c->key.labels < try->labels_max ||
	    c->key.accelerator_ok < 1 || c->key.types < try->types_max)
		return true;
	if (class->minimum > c->key.minimum || class->minimum < c->key.minimum)
		return class->minimum > c->key.minimum;
	return class->average >= c->key.average;
}

/* Classes become candidates in the order of their ranking, until none of the rest can be the best.
 * The first candidate of the heap then gets a bound, or a fill when its bound is up to date, until
 * it is first with a valid fill. */
struct schedule_candidate *schedule_try_best(struct schedule_try *try)
{
	struct schedule_classes *classes = &try->run->classes;

	while (try->active_count) {
		struct schedule_candidate *best = try->heap.count ? try->heap.at[0] : NULL;
		uint32_t next = try->next < classes->ranking.count ?
					classes->ranking.at[try->next] :
					SCHEDULE_ID_NONE;

		if (next != SCHEDULE_ID_NONE &&
		    (!best || best->type != SCHEDULE_NO_INDEX ||
		     (best->fresh && may_be_better(try, &classes->at.at[next], best)))) {
			try->next++;
			schedule_try_add_class(try, next);
			continue;
		}
		if (!best || best->fresh)
			return best;
		if (best->bound_at != try->active_count ? bound(try, best) : fill(try, best))
			heap_move(try, best);
		else
			schedule_try_drop(try, best);
	}
	return NULL;
}

/* ---- booking ---- */

/* Fewer units are left than some fill contains: candidates with such a fill return to their
 * bounds, which are higher, so the heap before them stays as it was read. */
static void review(struct schedule_try *try, uint32_t shape)
{
	struct schedule_holders *holders = &try->holders[shape];
	size_t kept = 0;

	try->most[shape] = 0;
	for (size_t i = 0; i < holders->count; i++) {
		struct schedule_holder holder = holders->at[i];
		struct schedule_candidate *c = holder.candidate;

		if (!c->listed || !c->fresh || c->fills != holder.fills)
			continue;
		if (holder.units > try->left[shape]) {
			c->fresh = false;
			c->key = c->bound;
			heap_move(try, c);
			continue;
		}
		holders->at[kept++] = holder;
		if (holder.units > try->most[shape])
			try->most[shape] = holder.units;
	}
	holders->count = kept;
}

void schedule_try_book(struct schedule_try *try, struct schedule_candidate *c)
{
	if (c->type != SCHEDULE_NO_INDEX) {
		c->rank = try->next_rank++;
		heap_move(try, c);
	} else if (!try->run->classes.at.at[c->state].members.count) {
		schedule_try_drop(try, c);
	} else {
		read_first(try, c);
		heap_move(try, c);
	}
	for (size_t i = 0; i < c->fill.count; i++) {
		uint32_t shape = c->fill.at[i].shape;

		try->left[shape] -= c->fill.at[i].count;
		CHECK(try->left[shape] >= 0);
		if (!try->left[shape]) {
			schedule_requests_remove(try->requests, shape);
			try->active_count--;
		}
		if (try->left[shape] < try->most[shape])
			review(try, shape);
	}
}
