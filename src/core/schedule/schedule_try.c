/* The candidates of one try, and the choice of the best: see schedule_try.h.
 *
 * A candidate is a group of classes that are alike, one class, or new nodes. Its key is exact, or an upper bound:
 *
 *   unknown (labels INT_MAX) ──► bounded (bound_at) ──► filled (fresh: the key is exact)
 *       ▲                          ▲   │ no shape fits      │    │ nothing fits
 *       │ another first member     │   └──► dropped ◄───────┼────┘
 *       └──────────────────────────┴────────────────────────┘ review: fewer units are left
 *
 * The heap is ordered by these keys, existing nodes before new ones. find_best() improves only
 * its first candidate, from unknown to bounded to filled, until the first is filled: every other key is
 * at most as large, and so is what it bounds. Most candidates are never filled, which is the speed. Those whose
 * fills have become stale are improved before that (refill).
 *
 * Invariants: a key never falls below the exact one (SLACK covers rounding), but for stale candidates. A class outside of the heap
 * is behind `next` in each stream that has it, and may_be_better() has compared the first of these. Fewer
 * shapes or units only lower exact keys, so an old bound stays a bound. Only the label rank may rise; a bound
 * with a rank below the highest one is held by its witness (find_witness). */
#include "core/schedule/schedule_try.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/check.h"
#include "core/model/cpu_budget.h"

/* Exceeds any rounding error of a score. */
#define SLACK (1 + 1e-9)
#define LABELS_UNKNOWN INT_MAX
/* Of one try. */
#define STREAMS_MAX 16

/* ---- the heap ---- */

/* A new node of the type is known to wait. */
static bool is_last(const struct schedule_run *run, size_t type)
{
	const struct schedule_type *own = &run->problem->types[type];

	return own->has_room && run->launches[type] + own->hosts > own->room_nodes;
}

static bool is_before(const struct schedule_try *try, const struct schedule_candidate *a,
		      const struct schedule_candidate *b)
{
	int order;

	if ((a->type == SCHEDULE_NO_INDEX) != (b->type == SCHEDULE_NO_INDEX))
		return a->type == SCHEDULE_NO_INDEX;
	if (a->last != b->last)
		return b->last;
	order = schedule_key_compare(&a->key, &b->key);
	if (order)
		return order > 0;
	if (a->type != SCHEDULE_NO_INDEX || a->resized)
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

static void heap_drop(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_candidate *last = try->heap.at[--try->heap.count];

	c->listed = false;
	if (last == c)
		return;
	last->heap_at = c->heap_at;
	heap_move(try, last);
}

/* Removes the holders of the shape that are out of date. Of those that hold more than `units`, fills become
 * stale, and bounds by a witness return to the bound, which is higher, so the heap before it stays as it
 * was read. */
static void review(struct schedule_try *try, uint32_t shape, int64_t units)
{
	struct schedule_holders *holders = &try->holders[shape];
	struct schedule_holder **link = &holders->first, *holder;

	while ((holder = *link)) {
		struct schedule_candidate *c = holder->candidate;
		bool valid = c ? c->listed && c->version == holder->version :
				 holder->cell->version == holder->version;

		if (valid && holder->units <= units) {
			link = &holder->next;
			continue;
		}
		*link = holder->next;
		holder->next = try->spare;
		try->spare = holder;
		holders->count--;
		if (!valid)
			continue;
		if (!c) {
			schedule_cell_end(try, holder->cell);
			continue;
		}
		c->version++;
		c->key = c->bound;
		heap_move(try, c);
	}
	holders->most = 2 * holders->count + 2;
}

/* At most half of the list is out of date. */
void schedule_try_hold(struct schedule_try *try, struct schedule_holder held, uint32_t shape)
{
	struct schedule_holders *holders = &try->holders[shape];
	struct schedule_holder *holder;

	if (holders->count > holders->most)
		review(try, shape, INT64_MAX);
	holder = try->spare;
	if (holder)
		try->spare = holder->next;
	else
		holder = ARENA_NEW(try->run->attempt, struct schedule_holder);
	*holder = held;
	holder->next = holders->first;
	holders->first = holder;
	holders->count++;
}

/* ---- the bound ---- */

/* Sets by name, for those of the state, the largest need of a shape per unit of the pivot; infinite
 * when a shape does not need the pivot. False when no shape has units left. Raises the label rank to the
 * highest of the kinds. */
static bool find_ratios(struct schedule_try *try, const struct schedule_candidate *c,
			const struct schedule_state *state, bool *accelerated, int *labels)
{
	double *ratios = try->run->numbers;
	bool any = false;

	for (uint32_t i = 0; i < c->part.count; i++)
		ratios[state->amounts[c->part.at[i]].name] = 0;
	for (size_t i = 0; i < c->kinds.count; i++) {
		const struct schedule_tree *tree = c->kinds.at[i]->tree;
		size_t width = tree->width; /* the root */

		if (tree->least[width] == INT64_MAX)
			continue;
		any = true;
		if (c->kinds.at[i]->rank > *labels)
			*labels = c->kinds.at[i]->rank;
		*accelerated = *accelerated || tree->first->asks_accelerator;
		for (uint32_t j = 0; j < tree->names; j++)
			if (tree->ratio[width + j] > ratios[tree->first->needs[j].name])
				ratios[tree->first->needs[j].name] = tree->ratio[width + j];
	}
	return any;
}

/* Whether an empty room into which the shape fits by the trees takes it. */
static bool is_certain(const struct schedule_room *room, const struct schedule_shape *shape)
{
	if (shape->few_labels && schedule_room_has_anti_label(room, shape))
		return false;
	if (!room->state.per_gpu || !shape->piece_count)
		return true;
	return !shape->combined &&
	       (shape->pieces[0] < RESOURCE_UNIT || shape->pieces[0] % RESOURCE_UNIT == 0);
}

/* The number of shapes of the tree before this one of the list. */
static size_t places_before(const struct schedule_tree *tree, uint32_t shape)
{
	size_t low = 0, high = tree->shapes.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->shapes.at[middle] < shape)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first shape that a kind of the candidate offers to the loaded room; SCHEDULE_ID_NONE: none. */
static uint32_t first_shape(struct schedule_room *room, const struct schedule_kind *kind)
{
	size_t place = schedule_requests_next(kind->tree, room, 0);

	return place == SCHEDULE_NO_INDEX ? SCHEDULE_ID_NONE : kind->tree->shapes.at[place];
}

/* A shape that keeps the rank of the candidate at `ret_rank`, which is below the highest of its kinds, as long as it has units
 * left; SCHEDULE_ID_NONE: none does. The first shape that a node takes decides its rank, so a shape of a
 * higher rank only does when all that fit before it are used up. The last of these is the witness: with the
 * shapes a (rank 1), b (1), c (2), d (1) it is b. */
static uint32_t find_witness(const struct schedule_try *try, const struct schedule_candidate *c,
			     int highest, int *ret_rank)
{
	struct schedule_room *room = &try->run->room;
	uint32_t first = SCHEDULE_ID_NONE, end = SCHEDULE_ID_NONE, last = SCHEDULE_ID_NONE;

	*ret_rank = 0;
	schedule_room_load_part(room, c->state, c->part);
	for (size_t i = 0; i < c->kinds.count; i++) {
		uint32_t own = first_shape(room, c->kinds.at[i]);

		if (own < first || (own == first && c->kinds.at[i]->rank > *ret_rank)) {
			first = own;
			*ret_rank = c->kinds.at[i]->rank;
		}
	}
	for (size_t i = 0; i < c->kinds.count; i++) {
		uint32_t own = first_shape(room, c->kinds.at[i]);

		if ((c->kinds.at[i]->rank > *ret_rank || !c->kinds.at[i]->rank) && own < end)
			end = own;
	}
	if (*ret_rank >= highest)
		end = 0; /* it needs none */
	for (size_t i = 0; i < c->kinds.count; i++) {
		const struct schedule_tree *tree = c->kinds.at[i]->tree;
		size_t place;

		if (c->kinds.at[i]->rank > *ret_rank || !c->kinds.at[i]->rank)
			continue;
		place = schedule_requests_last(tree, room, places_before(tree, end));
		if (place != SCHEDULE_NO_INDEX &&
		    (last == SCHEDULE_ID_NONE || tree->shapes.at[place] > last) &&
		    is_certain(room, &try->list->shapes[tree->shapes.at[place]]))
			last = tree->shapes.at[place];
	}
	schedule_room_unload(room);
	return last;
}

/* Of one amount, of which a fill uses at most `most`. Where that may be all that is free, the bound is exact;
 * else schedule_term with a product instead of pow(): SLACK covers the difference. */
static double bound_term(const struct schedule_amount *amount, double most)
{
	double share;

	if (amount->total <= 0)
		return -1;
	if (most >= (double)amount->available)
		return (double)amount->total / (double)RESOURCE_UNIT;
	share = (double)(amount->total - amount->available + (int64_t)most) / (double)amount->total;
	return share <= 0 ? 0 :
			    (double)amount->total / (double)RESOURCE_UNIT * share * share * share *
				    SLACK;
}

/* Sets minimum, average and types of the bound. Each score term is bounded on its own: a fill uses at most the free amount of the pivot (the name
 * that most shapes need), so of any other name at most that amount times its largest ratio to the
 * pivot. With 8 CPUs free and shapes of at most 4 GiB for each CPU, no fill uses more than 32 GiB. */
static void bound_scores(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_state *state = &run->states.states.at[c->state];
	uint32_t pivot_name = try->requests->pivot;
	int64_t pivot = 0;
	bool known = true;

	if (pivot_name != SCHEDULE_ID_NONE && run->words.is_implicit[pivot_name])
		pivot = RESOURCE_UNIT;
	for (uint32_t i = 0; i < c->part.count; i++) {
		const struct schedule_amount *amount = &state->amounts[c->part.at[i]];

		if (amount->name == pivot_name && amount->available >= 0)
			pivot = amount->available;
	}
	for (uint32_t i = 0; i < c->part.count; i++) {
		const struct schedule_amount *amount = &state->amounts[c->part.at[i]];
		double most = run->numbers[amount->name] * ((double)pivot * SLACK + 1);

		c->terms[i] = state->terms[c->part.at[i]];
		if (most <= 0 || (amount->available <= 0 && !run->words.is_implicit[amount->name]))
			continue;
		c->bound.types += amount->total >= 0;
		if (amount->total > 0)
			c->terms[i] = bound_term(amount, most);
		/* An implicit resource counts after its first use. */
		known = known && (amount->available >= 0 || amount->total <= 0);
	}
	schedule_key_rest(&run->states, state, c->part, c->terms, c->rest, &c->bound);
	if (!known)
		c->bound.minimum = c->bound.average = INFINITY;
}

/* The bound stays the same while this number does: it reads only the roots of the kinds, and for a witness their
 * shapes. */
static int64_t bounds_now(const struct schedule_try *try, const struct schedule_candidate *c)
{
	return c->by_witness ? try->active_count : try->requests->changes;
}

/* Sets the key to an upper bound over all fills of the candidate; false when none takes a unit. */
static bool bound(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_state *state = &run->states.states.at[c->state];
	const struct schedule_placed *placed = &run->states.placed.at[c->placed];
	bool accelerated = placed->asks_accelerator;
	int labels = 0, before = schedule_placed_rank(&run->states, state->labels, c->placed), rank;

	if (!find_ratios(try, c, state, &accelerated, &labels))
		return false;
	schedule_key_type(run->problem, state, &c->bound);
	c->bound.labels = before;
	if (try->requests->adds_labels)
		c->bound.labels = LABELS_UNKNOWN - 1;
	else if (!before)
		c->bound.labels = labels;
	c->bound.accelerator_ok = !run->problem->conserve_accelerators || !state->accelerator ||
				  accelerated;
	c->bound.types = placed->name_count;
	bound_scores(try, c);
	c->by_witness = !before && labels && c->kinds.count > 1 && !try->requests->adds_labels;
	c->bound_at = bounds_now(try, c);
	c->key = c->bound;
	c->version++;
	if (c->by_witness) {
		uint32_t witness = find_witness(try, c, labels, &rank);

		if (witness != SCHEDULE_ID_NONE) {
			c->key.labels = rank;
			schedule_try_hold(try,
					  (struct schedule_holder){ .candidate = c,
								    .version = c->version,
								    .units = 1 },
					  witness);
		}
	}
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

/* Fills its state with the remaining units, in the order of the list, and scores the outcome. False
 * when nothing fits; `found`: when no other candidate has the fill. */
static bool fill(struct schedule_try *try, struct schedule_candidate *c, bool found)
{
	struct schedule_run *run = try->run;
	struct schedule_room *room = &run->room;

	schedule_room_load_part(room, c->state, c->part);
	c->version++;
	c->cell = schedule_cell_of(try, c, found);
	c->fresh = c->cell != NULL;
	if (c->cell) {
		/* Shapes of one kind have the same names, selector and use of accelerators. */
		bool is_one = c->walked.count == 1 && !try->requests->adds_labels;

		schedule_room_terms(room, c->terms);
		schedule_key_filled(room, c->placed, try->list, c->cell->fill.at,
				    is_one ? 1 : c->cell->fill.count, &c->key);
		if (run->policy.spare_gpus && c->type != SCHEDULE_NO_INDEX)
			c->key.spared = spared_gpus(run, c);
		else if (run->policy.shuffle)
			c->key.spared =
				-(double)schedule_shuffled(run->policy.shuffle, room->state.type);
		schedule_key_rest(&run->states, &room->state, c->part, c->terms, c->rest, &c->key);
	}
	schedule_room_unload(room);
	return c->fresh;
}

/* ---- choosing ---- */

static void add_stream(struct schedule_try *try, size_t ranking, int rank)
{
	for (size_t part = 0; part < 2; part++)
		VEC_PUSH(try->run->attempt, &try->streams,
			 ((struct schedule_stream){
				 .ranking = ranking, .part = part, .rank = rank }));
}

static void add_rare(void *context, uint32_t tag)
{
	struct schedule_try *try = context;
	const struct schedule_ranking *ranking = &try->run->classes.rankings.at[1 + tag];

	if (try->rank_common >= 0 && (ranking->parts[0].count || ranking->parts[1].count))
		add_stream(try, 1 + tag, try->rank_common);
}

/* The rankings that have all nodes of which the kinds accept one: those of the labels by which kinds are listed, and
 * for other kinds, and many labels, the one of all groups; and those of classes apart. */
static void make_streams(struct schedule_try *try)
{
	uint32_t names = (uint32_t)try->run->words.name_count;
	int highest = 0, rank_all = -1;

	try->rank_common = -1;
	VEC_EACH(const struct schedule_tag, tag, &try->requests->tags) {
		int rank = try->requests->kinds.at[tag->kind].rank;
		struct schedule_stream *last =
			try->streams.count ? &try->streams.at[try->streams.count - 1] : NULL;
		bool all = !try->ranked || tag->tag < names || tag->tag == SCHEDULE_TAG_EVERYWHERE;

		highest = rank > highest ? rank : highest;
		if ((all || !try->run->classes.rare[tag->tag]) && rank > try->rank_common)
			try->rank_common = rank;
		if (all)
			rank_all = rank > rank_all ? rank : rank_all;
		else if (last && last->ranking == 1 + tag->tag)
			last[-1].rank = last->rank = rank > last->rank ? rank : last->rank;
		else
			add_stream(try, 1 + tag->tag, rank);
	}
	if (try->streams.count > STREAMS_MAX) {
		try->streams.count = 0;
		rank_all = try->rank_common = highest;
	}
	if (rank_all >= 0)
		add_stream(try, 0, rank_all);
	schedule_alike_part(try->run, try->requests, try, add_rare);
}

/* Expects run, requests and list. */
static void try_init(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	const struct schedule_list *list = try->list;

	try->left = arena_array(run->attempt, list->count, sizeof(*try->left));
	try->holders = arena_array(run->attempt, list->count, sizeof(*try->holders));
	try->shares = !try->requests->adds_labels;
	for (size_t i = 0; i < list->count; i++) {
		try->left[i] = list->shapes[i].count;
		try->active_count += !list->shapes[i].impossible;
		try->shares = try->shares && !list->shapes[i].anti_label_count;
	}
	run->classes.tries++;
	try->cells_ids.arena = run->attempt;
	try->ranked = run->classes.lasting && !run->policy.shuffle && !try->requests->adds_labels;
	make_streams(try);
	try->next_rank = run->problem->type_count;
	try->types_max = (uint32_t)run->classes.placed_name_count;
	for (size_t i = 0; i < try->requests->names.count; i++)
		try->types_max += !run->classes.placed_names[try->requests->names.at[i]];
}

/* ---- turns ---- */

static bool turn_before(const struct schedule_try *try, const struct schedule_turn *a,
			const struct schedule_turn *b)
{
	uint32_t first = schedule_trait_of(try->run, a->state),
		 second = schedule_trait_of(try->run, b->state);

	if (a->last != b->last)
		return b->last;
	return first != second ? first < second : a->rank < b->rank;
}

static void turn_push(struct schedule_try *try, struct schedule_candidate *c,
		      struct schedule_turn turn)
{
	struct schedule_turn *turns;
	size_t at;

	VEC_PUSH(try->run->attempt, &c->turns, turn);
	turns = c->turns.at;
	for (at = c->turns.count - 1; at && turn_before(try, &turn, &turns[(at - 1) / 2]);
	     at = (at - 1) / 2)
		turns[at] = turns[(at - 1) / 2];
	turns[at] = turn;
}

static struct schedule_turn turn_pop(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_turn *turns = c->turns.at, first = turns[0];
	size_t count = --c->turns.count, at = 0;
	struct schedule_turn last = turns[count];

	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && turn_before(try, &turns[child + 1], &turns[child]))
			child++;
		if (!turn_before(try, &turns[child], &last))
			break;
		turns[at] = turns[child];
		at = child;
	}
	turns[at] = last;
	return first;
}

static struct schedule_turn turn_of_type(const struct schedule_try *try, uint32_t type,
					 uint64_t rank)
{
	return (struct schedule_turn){
		.last = is_last(try->run, type),
		.state = try->run->templates[type].state,
		.type = type,
		.rank = rank,
	};
}

static bool is_type_of(const struct schedule_try *try, const struct schedule_candidate *c,
		       uint32_t type)
{
	return c->alone || try->run->apart[type] != try->run->classes.tries;
}

/* Makes turns of the types that may be the next. */
static void add_types(struct schedule_try *try, struct schedule_candidate *c)
{
	enum schedule_limit limit;

	for (; c->types_read < c->type_count; c->types_read++) {
		uint32_t type = c->types[c->types_read];
		struct schedule_turn turn = turn_of_type(try, type, type), first = turn;

		first.last = false;
		if (c->turns.count && !turn_before(try, &first, &c->turns.at[0]))
			break;
		if (is_type_of(try, c, type) &&
		    schedule_run_permits(try->run, type, try->requests->phase, &limit))
			turn_push(try, c, turn);
	}
}

/* The key is read again. */
static void forget_key(struct schedule_candidate *c)
{
	if (c->cell && c->cell->members.count == 1)
		c->cell->version++; /* no other has it */
	c->fresh = false;
	c->cell = NULL;
	c->bound_at = -1;
	c->version++;
	c->key.labels = LABELS_UNKNOWN;
}

/* The state is another one of the group. */
static void change_state(struct schedule_try *try, struct schedule_candidate *c, uint32_t state)
{
	struct schedule_run *run = try->run;
	struct schedule_part part = schedule_requests_part(try->requests, run, state);
	union schedule_key traits;

	CHECK(part.count == c->part.count);
	c->state = state;
	c->part.at = ARENA_COPY(run->attempt, part.at, part.count);
	schedule_key_type(run->problem, &run->states.states.at[state], &traits);
	c->key.recoverable = c->bound.recoverable = traits.recoverable;
	c->key.priority = c->bound.priority = traits.priority;
	c->key.recency = c->bound.recency = traits.recency;
}

/* Reads the node of the turn. Resets the key to the bound if that could improve it. */
static void read_node(struct schedule_try *try, struct schedule_candidate *c, uint32_t node,
		      uint32_t placed, uint32_t rest)
{
	struct schedule_run *run = try->run;
	const struct schedule_state *state = &run->states.states.at[c->state];

	if (c->fresh && rest != c->rest && placed == c->placed && state->running)
		/* The next member takes the same fill and has a lower score. */
		schedule_key_rest(&run->states, state, c->part, c->terms, rest, &c->key);
	else if ((placed != c->placed && (c->alone || c->resized)) || rest != c->rest)
		forget_key(c);
	c->node = node;
	c->placed = placed;
	c->rest = rest;
}

/* Of the group: the first class that is not apart; SCHEDULE_ID_NONE: there is none. */
static uint32_t first_class(struct schedule_try *try, uint32_t group)
{
	struct schedule_classes *classes = &try->run->classes;
	const struct schedule_group *own = &classes->groups.at[group];

	if (own->of != SCHEDULE_ID_NONE)
		return classes->at.at[own->of].members.count ? own->of : SCHEDULE_ID_NONE;
	while (own->states.count) {
		uint32_t state = own->states.at[0];

		if (classes->at.at[state].apart != classes->tries)
			return state;
		schedule_class_hide(try->run, state);
		VEC_PUSH(try->run->attempt, &try->hidden, state);
	}
	return SCHEDULE_ID_NONE;
}

/* Reads the first turn; false: there is none. */
static bool read_turn(struct schedule_try *try, struct schedule_candidate *c)
{
	const struct schedule_work *works = try->run->nodes.at;
	const struct schedule_turn *turn;

	if (c->group != SCHEDULE_ID_NONE) {
		uint32_t state = first_class(try, c->group), node;

		if (state == SCHEDULE_ID_NONE)
			return false;
		if (state != c->state)
			change_state(try, c, state);
		node = schedule_class_best(try->run, state);
		read_node(try, c, node, works[node].placed, works[node].rest);
		return true;
	}
	add_types(try, c);
	if (!c->turns.count)
		return false;
	turn = &c->turns.at[0];
	if (turn->state != c->state)
		change_state(try, c, turn->state);
	c->last = turn->last;
	c->rank = turn->rank;
	if (turn->type != SCHEDULE_ID_NONE)
		c->type = turn->type;
	else
		read_node(try, c, turn->node, turn->placed, c->rest);
	return true;
}

/* Continues with the first turn, and puts the candidate into its place; without one it is dropped. */
static void take_turn(struct schedule_try *try, struct schedule_candidate *c)
{
	if (!read_turn(try, c)) {
		if (c->listed)
			heap_drop(try, c);
	} else if (c->listed) {
		heap_move(try, c);
	} else {
		/* A candidate that was removed from the heap is not reviewed. */
		forget_key(c);
		heap_add(try, c);
	}
}

static void add_launch(struct schedule_try *try, const uint32_t *types, size_t count, bool alone)
{
	const struct schedule_template *first = &try->run->templates[types[0]];
	struct schedule_candidate *c = schedule_candidate_new(try, first->state, types[0]);

	c->rest = first->rest;
	c->types = types;
	c->type_count = count;
	c->alone = alone;
	VEC_PUSH(try->run->attempt, &try->launches, c);
}

/* The candidates of all types. */
static void list_launches(struct schedule_try *try)
{
	const struct schedule_classes *classes = &try->run->classes;

	if (try->launches.count)
		return;
	VEC_EACH(const uint32_t, group, &classes->with_types) {
		const struct schedule_group *own = &classes->groups.at[*group];
		size_t i = 0;

		while (i < own->types.count &&
		       try->run->apart[own->types.at[i]] == try->run->classes.tries)
			i++;
		if (i < own->types.count)
			add_launch(try, &own->types.at[i], own->types.count - i, false);
	}
	VEC_EACH(const uint32_t, type, &try->run->apart_types)
		add_launch(try, type, 1, true);
}

/* Makes the group a candidate, or returns it to its place. */
static void add_group(struct schedule_try *try, uint32_t id)
{
	struct schedule_run *run = try->run;
	struct schedule_group *group = &run->classes.groups.at[id];
	uint32_t state;

	if (group->stamp != run->classes.tries)
		group->candidate = NULL;
	group->stamp = run->classes.tries;
	if (!group->candidate) {
		state = first_class(try, id);
		if (state == SCHEDULE_ID_NONE)
			return;
		group->candidate = schedule_candidate_new(try, state, SCHEDULE_NO_INDEX);
		group->candidate->group = id;
		group->candidate->alone = group->of != SCHEDULE_ID_NONE;
		group->candidate->refused = !group->candidate->kinds.count;
	}
	if (!group->candidate->refused)
		take_turn(try, group->candidate);
}

/* The group of the class, or that of the class alone where it is apart. */
static void add_class(struct schedule_try *try, uint32_t state)
{
	const struct schedule_class *class = &try->run->classes.at.at[state];

	if (try->requests->adds_selected || class->apart == try->run->classes.tries)
		add_group(try, schedule_alike_alone(try->run, state));
	else
		add_group(try, class->group);
}

/* Of a list that adds labels of selectors each class is a candidate, as placed requests may select them. */
static void add_classes(struct schedule_try *try, uint32_t id)
{
	struct schedule_classes *classes = &try->run->classes;

	if (!try->requests->adds_selected || classes->groups.at[id].of != SCHEDULE_ID_NONE) {
		add_group(try, id);
		return;
	}
	classes->groups.at[id].stamp = classes->tries;
	for (size_t i = 0; i < classes->groups.at[id].states.count; i++)
		add_class(try, classes->groups.at[id].states.at[i]);
}

/* Whether a group that is not a candidate yet could be better than this one. */
static bool may_be_better(const struct schedule_try *try, const struct schedule_stream *stream,
			  const struct schedule_group *group, const struct schedule_candidate *c)
{
	int labels = group->labels ? group->labels : stream->rank;

	if (!try->ranked || c->type != SCHEDULE_NO_INDEX)
		return true;
	if (c->key.labels > labels || c->key.labels < labels)
		return c->key.labels < labels;
	if (c->key.accelerator_ok < 1 || c->key.types < try->types_max)
		return true;
	if (group->minimum > c->key.minimum || group->minimum < c->key.minimum)
		return group->minimum > c->key.minimum;
	return group->average >= c->key.average;
}

/* Makes the next group of a stream a candidate if it could be better than the best one; false: there is none. */
static bool add_next(struct schedule_try *try, const struct schedule_candidate *best)
{
	struct schedule_classes *classes = &try->run->classes;

	if (best && best->type == SCHEDULE_NO_INDEX && !best->fresh)
		return false;
	VEC_EACH(struct schedule_stream, stream, &try->streams) {
		const struct schedule_ranking *ranking = &classes->rankings.at[stream->ranking];
		size_t count = ranking->parts[stream->part].count;
		const uint32_t *groups = ranking->parts[stream->part].at;

		while (stream->next < count &&
		       classes->groups.at[groups[stream->next]].stamp == classes->tries)
			stream->next++;
		if (stream->next == count ||
		    (best &&
		     !may_be_better(try, stream, &classes->groups.at[groups[stream->next]], best)))
			continue;
		add_classes(try, groups[stream->next++]);
		return true;
	}
	return false;
}

/* A fill that another candidate has; else a bound that is up to date, then a fill. A candidate of which nothing fits is
 * dropped. */
static void improve(struct schedule_try *try, struct schedule_candidate *c)
{
	bool bounded = c->bound_at == bounds_now(try, c);

	if (!bounded && c->bound_at >= 0 && fill(try, c, true))
		return;
	if (!(bounded ? fill(try, c, false) : bound(try, c))) {
		c->refused = true;
		heap_drop(try, c);
	}
}

/* Fills stale candidates again where they are, near their old keys: a choice changes the fills of many nodes
 * that are almost as good. Those that cannot be better than the best of these stay at their bounds. */
static void refill(struct schedule_try *try)
{
	struct schedule_candidate *first = try->heap.count ? try->heap.at[0] : NULL;
	const struct schedule_candidate *best = first && first->fresh ? first : NULL;

	while (try->stale.count) {
		struct schedule_candidate *c = try->stale.at[--try->stale.count];

		if (!c->listed || c->bound_at < 0)
			continue;
		c->key = c->bound;
		while (c->listed && !c->fresh && !(best && is_before(try, best, c)))
			improve(try, c);
		if (!c->listed)
			continue;
		if (c->fresh && (!best || is_before(try, c, best)))
			best = c;
		heap_move(try, c);
	}
}

/* The best candidate, fresh; existing nodes precede those that would be launched. NULL when no
 * candidate can take a unit. Classes become candidates in the order of their rankings, until none of the rest can be the best.
 * The first candidate of the heap then gets a bound, or a fill when its bound is up to date, until
 * it is first with a valid fill. */
static struct schedule_candidate *find_best(struct schedule_try *try)
{
	if (try->active_count)
		refill(try);
	while (try->active_count) {
		struct schedule_candidate *best = try->heap.count ? try->heap.at[0] : NULL;

		if (add_next(try, best))
			continue;
		if (!best || best->fresh)
			return best;
		improve(try, best);
		if (best->listed)
			heap_move(try, best);
	}
	return NULL;
}

/* ---- booking ---- */

/* Records the fill of the candidate for one node, which its class has removed (or which is to be
 * launched), and moves it to its place in the heap, or removes it when the class has no members
 * left. */
static void book(struct schedule_try *try, struct schedule_candidate *c,
		 const struct schedule_fill *fill, size_t fill_count)
{
	uint32_t state = c->state;

	if (c->group == SCHEDULE_ID_NONE) {
		struct schedule_turn turn = turn_pop(try, c);

		if (turn.type != SCHEDULE_ID_NONE)
			turn_push(try, c, turn_of_type(try, turn.type, try->next_rank++));
	}
	take_turn(try, c);
	/* Its class may be in another group now. */
	if (c->group != SCHEDULE_ID_NONE && try->run->classes.at.at[state].members.count)
		add_class(try, state);
	try->choices++;
	for (size_t i = 0; i < fill_count; i++) {
		uint32_t shape = fill[i].shape;

		try->left[shape] -= fill[i].count;
		CHECK(try->left[shape] >= 0);
		if (!try->left[shape]) {
			schedule_requests_remove(try->requests, shape);
			try->active_count--;
		}
		review(try, shape, try->left[shape]);
	}
}

/* ---- placing ---- */

/* Whether the packing ends here. Not before it launches something, which an atomic try does at its end: a
 * group that needs more than the budget would never be placed. A search ends with what Ray's policy
 * launches. */
static bool is_cut(const struct schedule_try *try)
{
	const struct schedule_run *run = try->run;

	return cpu_budget_cut(run->problem->cpu_budget,
			      !run->problem->cheapest &&
				      !(try->requests->atomic ? try->new_before : run->new_nodes));
}

/* Takes the best candidate until none takes a unit: a node that is there, or a node to launch. The
 * other nodes of its replica are then there: they are filled before the next launch. */
static void take_best(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	struct schedule_candidate *best;
	enum schedule_limit limit;

	while ((best = find_best(try))) {
		size_t type = best->type;
		uint32_t node, state = best->state;
		struct schedule_chosen *chosen;
		size_t removed = 0;

		if (is_cut(try))
			break;
		if (best->resized) {
			node = best->node;
			removed = schedule_class_remove(run, run->nodes.at[node].state, node, node);
		} else if (type == SCHEDULE_NO_INDEX) {
			node = schedule_class_take(run, state);
		} else if (schedule_run_permits(run, type, try->requests->phase, &limit)) {
			node = schedule_run_launch(run, type, try->requests->phase);
			for (int64_t i = 1; i < run->problem->types[type].hosts; i++)
				schedule_class_add(run, state,
						   schedule_run_launch(run, type,
								       try->requests->phase));
		} else {
			(void)turn_pop(try, best);
			take_turn(try, best);
			continue;
		}
		chosen = schedule_try_choose(try, node, state, best->placed, best->cell->fill.at,
					     best->cell->fill.count);
		chosen->resized = best->resized;
		chosen->again = best->resized && !removed;
		chosen->rest = best->rest;
		book(try, best, chosen->fill, chosen->fill_count);
		if (type != SCHEDULE_NO_INDEX && run->problem->types[type].hosts > 1) {
			if (best->alone)
				run->classes.at.at[state].apart = run->classes.tries;
			add_class(try, state);
		}
	}
}

/* Units that no node takes as it is: Ray resizes nodes before it launches any. */
static void resize_nodes(struct schedule_try *try)
{
	struct schedule_candidate **list;
	size_t count = schedule_resize_candidates(try, &list);

	for (size_t i = 0; i < count; i++)
		heap_add(try, list[i]);
	take_best(try);
	try->heap.count = try->stale.count = 0;
}

static void place(struct schedule_try *try)
{
	if (try->run->resizable) {
		schedule_resize_begin(try);
		take_best(try);
		resize_nodes(try);
	}
	if (!try->active_count)
		return;
	list_launches(try);
	VEC_EACH(struct schedule_candidate *, c, &try->launches)
		if ((*c)->kinds.count)
			take_turn(try, *c);
	take_best(try);
}

/* ---- keeping it ---- */

/* The entry of the next unit of a shape. */
struct cursor {
	const struct schedule_entry *entry;
	int64_t left; /* of it */
};

/* Room for more placements: as many the first time, as most nodes are chosen once. */
static void reserve(struct arena *arena, struct schedule_work *node, size_t more)
{
	size_t count = node->placements.count, wanted = count + (more > count ? more : count);
	struct schedule_placement *at;

	if (count + more <= node->placements.capacity)
		return;
	at = arena_array(arena, wanted, sizeof(*at));
	if (count)
		memcpy(at, node->placements.at, count * sizeof(*at));
	node->placements.at = at;
	node->placements.capacity = wanted;
}

/* Assigns entries to the units of one node. A combined shape has one unit, of all its entries. */
static void hand_out(struct schedule_try *try, const struct schedule_chosen *chosen,
		     struct cursor *cursors)
{
	struct schedule_work *node = &try->run->nodes.at[chosen->node];
	size_t more = 0;

	for (size_t i = 0; i < chosen->fill_count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[chosen->fill[i].shape];
		size_t units = (size_t)chosen->fill[i].count, entries = shape->entries.count;

		more += shape->combined || entries < units ? entries : units;
	}
	reserve(try->run->arena, node, more);
	node->result.needed = true;
	for (size_t i = 0; i < chosen->fill_count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[chosen->fill[i].shape];
		const struct schedule_entry *end = shape->entries.at + shape->entries.count;
		struct cursor *cursor = &cursors[chosen->fill[i].shape];
		int64_t units = shape->combined ? INT64_MAX : chosen->fill[i].count;

		while (units > 0 && cursor->entry < end) {
			int64_t taken = units < cursor->left ? units : cursor->left;

			VEC_PUSH(try->run->arena, &node->placements,
				 ((struct schedule_placement){
					 .phase = try->requests->phase,
					 .list = try->requests->list_index,
					 .index = cursor->entry->index,
					 .bundle = cursor->entry->bundle,
					 .count = taken,
				 }));
			units -= taken;
			cursor->left -= taken;
			if (!cursor->left && ++cursor->entry < end)
				cursor->left = cursor->entry->count;
		}
	}
}

/* Whether the try launched nodes of another type before this one. */
static bool begins_type(const struct schedule_try *try, uint32_t node)
{
	const struct schedule_work *works = try->run->nodes.at;

	return node == try->first_new || works[node].result.type != works[node - 1].result.type;
}

static void keep_chosen(struct schedule_try *try, const struct schedule_chosen *chosen,
			struct cursor *cursors)
{
	struct schedule_run *run = try->run;
	struct schedule_work *work = &run->nodes.at[chosen->node];
	uint32_t before = work->state;

	work->placed = chosen->placed;
	work->state = schedule_state_filled(&run->room, chosen->state, work->result.type, try->list,
					    chosen->fill, chosen->fill_count, &work->placed);
	work->labels = run->states.states.at[work->state].labels;
	if (chosen->resized) {
		work->rest = chosen->rest;
		work->result.resized = true;
	}
	hand_out(try, chosen, cursors);
	if (!run->classes.lasting)
		return;
	VEC_PUSH(run->scratch, &run->touched, chosen->node);
	if (chosen->again)
		schedule_class_remove(run, before, chosen->node, chosen->node);
	schedule_class_add(run, work->state, chosen->node);
	schedule_class_rank(run, before);
	schedule_class_rank(run, work->state);
}

static void keep(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	struct schedule_classes *classes = &run->classes;
	uint32_t *chosen = arena_array(run->attempt, try->chosen.count + 1, sizeof(*chosen));
	struct cursor *cursors = arena_array(run->attempt, try->list->count + 1, sizeof(*cursors));
	uint32_t *resized = arena_array(run->attempt, try->chosen.count + 1, sizeof(*resized));
	size_t count = 0, resized_count = 0;

	for (size_t i = 0; i < try->list->count; i++) {
		cursors[i].entry = try->list->shapes[i].entries.at;
		cursors[i].left = cursors[i].entry->count;
	}
	/* Ray's list begins with the chosen nodes that are there. */
	for (size_t i = 0; i < try->chosen.count; i++)
		if (try->chosen.at[i].resized)
			resized[resized_count++] = try->chosen.at[i].node;
		else if (try->chosen.at[i].node < try->first_new)
			chosen[count++] = try->chosen.at[i].node;
	schedule_order_keep(run, try->requests, chosen, count, resized, resized_count);
	if (try->exhausted)
		run->parted = run->kept.count;
	/* The names of the requests count in the scores of later ones. */
	for (size_t i = 0; i < try->requests->names.count; i++) {
		uint32_t name = try->requests->names.at[i];

		classes->placed_name_count += !classes->placed_names[name];
		classes->placed_names[name] = true;
	}
	run->touched.count = 0;
	for (size_t i = 0; i < try->chosen.count; i++)
		keep_chosen(try, &try->chosen.at[i], cursors);
	for (uint32_t i = try->first_new; i < run->nodes.count; i++)
		if (begins_type(try, i))
			schedule_class_rank(run,
					    run->templates[run->nodes.at[i].result.type].state);
}

/* Cancels the launches and returns the chosen nodes to their classes. */
static void undo(struct schedule_try *try)
{
	struct schedule_run *run = try->run;
	bool lasting = run->classes.lasting;

	for (uint32_t i = try->first_new; i < run->nodes.count; i++) {
		size_t type = run->nodes.at[i].result.type;

		if (lasting && begins_type(try, i))
			schedule_class_remove(run, run->templates[type].state, try->first_new,
					      UINT32_MAX);
		schedule_run_count(run, type, -1);
	}
	run->nodes.count = try->first_new;
	if (!lasting)
		return;
	for (size_t i = 0; i < try->chosen.count; i++)
		if (try->chosen.at[i].node < try->first_new && !try->chosen.at[i].again)
			schedule_class_add(run, run->nodes.at[try->chosen.at[i].node].state,
					   try->chosen.at[i].node);
}

/* ---- units left over ---- */

static bool is_reported(size_t type, enum schedule_limit limit, size_t known_type,
			enum schedule_limit known_limit)
{
	return known_type == SCHEDULE_NO_INDEX || limit > known_limit ||
	       (limit == known_limit && type < known_type);
}

/* The limit of the types of a candidate, and the first type that has it. */
static struct schedule_leftover limit_of(const struct schedule_try *try,
					 const struct schedule_candidate *c)
{
	struct schedule_leftover own = { .limit_type = SCHEDULE_NO_INDEX };

	for (size_t i = 0; i < c->type_count; i++) {
		enum schedule_limit limit;

		if (!is_type_of(try, c, c->types[i]))
			continue;
		schedule_run_permits(try->run, c->types[i], try->requests->phase, &limit);
		if (!is_reported(c->types[i], limit, own.limit_type, own.limit))
			continue;
		own.limit = limit;
		own.limit_type = c->types[i];
	}
	return own;
}

/* Sets the limit of the shapes that its new nodes take. The trees have the shapes with units left. */
static void set_limits(struct schedule_try *try, const struct schedule_candidate *c,
		       struct schedule_leftover *left)
{
	struct schedule_leftover own = { .limit_type = SCHEDULE_NO_INDEX };
	struct schedule_room *room = &try->run->room;

	schedule_room_load_part(room, c->state, c->part);
	for (size_t i = 0; i < c->kinds.count; i++) {
		const struct schedule_tree *tree = c->kinds.at[i]->tree;
		size_t place = schedule_requests_next(tree, room, 0);

		for (; place != SCHEDULE_NO_INDEX;
		     place = schedule_requests_next(tree, room, place + 1)) {
			uint32_t shape = tree->shapes.at[place];

			if (own.limit_type == SCHEDULE_NO_INDEX)
				own = limit_of(try, c);
			if (!is_reported(own.limit_type, own.limit, left[shape].limit_type,
					 left[shape].limit) ||
			    !schedule_room_take(room, &try->list->shapes[shape], 1))
				continue;
			left[shape].limit = own.limit;
			left[shape].limit_type = own.limit_type;
			schedule_room_unload(room);
			schedule_room_load_part(room, c->state, c->part);
		}
	}
	schedule_room_unload(room);
}

/* Sets the limits that prevent new nodes, see enum schedule_limit. */
static void find_limits(struct schedule_try *try, struct schedule_leftover *left)
{
	list_launches(try);
	VEC_EACH(struct schedule_candidate *, c, &try->launches)
		set_limits(try, *c, left);
}

static const struct schedule_leftover *find_left(struct schedule_try *try)
{
	size_t count = try->list->count;
	struct schedule_leftover *left = arena_array(try->run->scratch, count + 1, sizeof(*left));
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		left[i].count = try->requests->atomic ? try->list->shapes[i].count : try->left[i];
		left[i].limit_type = SCHEDULE_NO_INDEX;
		any = any || try->left[i];
	}
	if (any && !is_cut(try))
		find_limits(try, left);
	else if (any)
		for (size_t i = 0; i < count; i++)
			if (try->left[i])
				left[i].limit = SCHEDULE_LIMIT_CPU_BUDGET;
	return any ? left : NULL;
}

/* An atomic try with units left over undoes its launches and placements. */
const struct schedule_leftover *schedule_try(struct schedule_run *run,
					     struct schedule_requests *requests)
{
	struct schedule_try try = {
		.run = run,
		.requests = requests,
		.list = &requests->list,
		.new_before = run->new_nodes,
		.first_new = (uint32_t)run->nodes.count,
	};
	const struct schedule_leftover *left;

	try_init(&try);
	if (!is_cut(&try) && !schedule_try_exactly(&try))
		place(&try);
	left = find_left(&try);
	schedule_requests_reset(requests);
	if (left && requests->atomic)
		undo(&try);
	else
		keep(&try);
	VEC_EACH(const uint32_t, state, &try.hidden)
		schedule_class_show(run, *state);
	arena_reset(run->attempt);
	return left;
}
