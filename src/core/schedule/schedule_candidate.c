#include "core/schedule/schedule_candidate.h"

#include <limits.h>
#include <math.h>

#include "base/sort.h"

/* Exceeds any rounding error of a score. */
#define SLACK (1 + 1e-9)
/* The ratios are trimmed when one in so many shapes has been used up. */
#define TRIM_EACH 16
/* So many ratios are looked at for a bound. */
#define RATIOS_MAX 256

static struct arena *arena_of(const struct schedule_try *try)
{
	return try->run->attempt;
}

void schedule_candidate_read_first(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_class *class = &run->classes.at.at[c->state];
	uint32_t node = class->members.at[0];
	uint32_t placed = schedule_run_placed(run, node), rest = schedule_run_rest(run, node);

	c->node = node;
	if (c->fresh && rest != c->rest && placed == c->placed &&
	    run->states.states.at[c->state].running) {
		/* The next member takes the same fill and has a lower score. */
		c->rest = rest;
		schedule_key_rest(&run->states, &run->states.states.at[c->state], c->terms, rest,
				  &c->key);
	} else if (!c->fresh || placed != c->placed || rest != c->rest) {
		c->fresh = false;
		c->bound_at = -1;
		c->key.first = true;
		c->key.labels = INT_MAX;
	}
	c->placed = placed;
	c->rest = rest;
}

/* ---- the bound ---- */

static int compare_ratios(const void *a, const void *b)
{
	double first = ((const struct schedule_ratio *)a)->ratio;
	double second = ((const struct schedule_ratio *)b)->ratio;

	return (first < second) - (first > second);
}

void schedule_try_make_ratios(struct schedule_try *try)
{
	const struct schedule_requests *requests = try->requests;
	struct schedule_ratios *ratios = try->run->ratios;

	for (size_t i = 0; i < requests->names.count; i++)
		ratios[requests->names.at[i]].at =
			arena_array(arena_of(try), requests->counts.at[i], sizeof(*ratios->at));
	for (uint32_t i = 0; i < try->list->count; i++) {
		const struct schedule_shape *shape = &try->list->shapes[i];
		int64_t pivot = schedule_shape_need(shape, requests->pivot);

		for (uint32_t j = 0; j < shape->need_count; j++) {
			struct schedule_ratios *own = &ratios[shape->needs[j].name];

			own->at[own->count++] = (struct schedule_ratio){
				pivot ? (double)shape->needs[j].amount / (double)pivot : INFINITY, i
			};
		}
	}
	for (size_t i = 0; i < requests->names.count; i++) {
		struct schedule_ratios *own = &ratios[requests->names.at[i]];

		if (own->count > 1)
			sort_stable(own->at, own->count, sizeof(*own->at), compare_ratios);
	}
}

void schedule_try_trim_ratios(struct schedule_try *try)
{
	if (try->active_count > try->trimmed_at - try->trimmed_at / TRIM_EACH - 1)
		return;
	try->trimmed_at = try->active_count;
	for (size_t i = 0; i < try->requests->names.count; i++) {
		struct schedule_ratios *own = &try->run->ratios[try->requests->names.at[i]];
		uint32_t kept = 0;

		for (uint32_t j = 0; j < own->count; j++)
			if (try->active[own->at[j].shape / 64] >> (own->at[j].shape % 64) & 1)
				own->at[kept++] = own->at[j];
		own->count = kept;
	}
}

/* The largest ratio of a shape that may be placed, or a larger one: of the ratios behind the first
 * few, the next bounds the rest. */
static double best_ratio(const struct schedule_try *try, const struct schedule_candidate *c,
			 uint32_t name)
{
	const struct schedule_ratios *ratios = &try->run->ratios[name];

	for (uint32_t i = 0; i < ratios->count; i++) {
		uint32_t shape = ratios->at[i].shape;

		if (i == RATIOS_MAX ||
		    c->may[shape / 64] & try->active[shape / 64] & UINT64_C(1) << (shape % 64))
			return ratios->at[i].ratio;
	}
	return 0;
}

static int64_t pivot_available(const struct schedule_try *try, const struct schedule_state *state)
{
	uint32_t pivot = try->requests->pivot;

	for (uint32_t i = 0; i < state->amount_count; i++)
		if (state->amounts[i].name == pivot && state->amounts[i].available >= 0)
			return state->amounts[i].available;
	return pivot != SCHEDULE_ID_NONE && try->run->words.is_implicit[pivot] ? RESOURCE_UNIT : 0;
}

/* schedule_term, with a product instead of pow(): the slack of the bound covers the difference. */
static double term_bound(int64_t total, int64_t available)
{
	double share;

	if (total <= 0 || available < 0)
		return -1;
	share = total > available ? (double)(total - available) / (double)total : 0;
	return (double)total / (double)RESOURCE_UNIT * share * share * share;
}

/* An upper bound of the label rank over the shapes that fit. */
static int labels_max(struct schedule_try *try, const struct schedule_candidate *c)
{
	struct schedule_states *states = &try->run->states;
	int best = states->placed.at[c->placed].selector_count ? INT_MAX - 1 : 0;

	for (size_t i = 0; i < try->requests->selecting.count; i++) {
		uint32_t shape = try->requests->selecting.at[i];
		int rank;

		if (!(c->may[shape / 64] >> (shape % 64) & 1))
			continue;
		rank = schedule_label_rank(states, states->states.at[c->state].labels,
					   try->list->shapes[shape].selector);
		if (rank > best)
			best = rank;
	}
	return best;
}

static void touch(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;

	c->touched = true;
	c->may = arena_array(arena_of(try), try->requests->word_count, sizeof(*c->may));
	schedule_requests_may(try->requests, run, c->state, c->may);
	c->terms = arena_array(arena_of(try), run->states.states.at[c->state].amount_count + 1,
			       sizeof(*c->terms));
	c->labels_max = labels_max(try, c);
}

static bool is_first(const struct schedule_try *try, const struct schedule_state *state)
{
	return try->run->policy.starting_last && state->running;
}

/* Upper bound of the key over all fills of the candidate. Each score term is bounded on its own: a
 * fill uses at most the free amount of the pivot (the name that most shapes need), so of any other
 * name at most that amount times its best ratio to the pivot. SLACK covers rounding, so the bound
 * never excludes the best candidate. */
bool schedule_candidate_bound(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	const struct schedule_state *state = &run->states.states.at[c->state];
	const struct schedule_placed *placed = &run->states.placed.at[c->placed];
	struct schedule_key *key = &c->bound;
	uint64_t any = 0, accelerated = placed->asks_accelerator;
	double pivot;

	if (!c->touched)
		touch(try, c);
	for (size_t word = 0; word < try->requests->word_count; word++) {
		any |= c->may[word] & try->active[word];
		accelerated |= c->may[word] & try->active[word] & try->requests->accelerated[word];
	}
	if (!any)
		return false;
	schedule_key_type(run->problem, state, key);
	key->first = is_first(try, state);
	key->labels = c->labels_max;
	key->accelerator_ok = !run->problem->conserve_accelerators || !state->accelerator ||
			      accelerated;
	key->types = placed->name_count;
	pivot = (double)pivot_available(try, state) * SLACK + 1;
	for (uint32_t i = 0; i < state->amount_count; i++) {
		const struct schedule_amount *amount = &state->amounts[i];
		double most = best_ratio(try, c, amount->name) * pivot;

		c->terms[i] = state->terms[i];
		if (most <= 0)
			continue;
		key->types += amount->total >= 0;
		c->terms[i] = term_bound(amount->total, most < (double)amount->available ?
								amount->available - (int64_t)most :
								0);
	}
	schedule_key_rest(&run->states, state, c->terms, c->rest, key);
	key->minimum *= SLACK;
	key->average *= SLACK;
	c->bound_at = try->active_count;
	c->key = *key;
	return true;
}

/* ---- the fill ---- */

static void fill_room(struct schedule_try *try, struct schedule_candidate *c)
{
	c->fill.count = 0;
	for (size_t word = 0; word < try->requests->word_count; word++)
		for (uint64_t bits = c->may[word] & try->active[word]; bits; bits &= bits - 1) {
			uint32_t shape = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
			int64_t count = schedule_room_take(
				&try->run->room, &try->list->shapes[shape], try->left[shape]);

			if (count)
				VEC_PUSH(arena_of(try), &c->fill,
					 ((struct schedule_fill){ shape, count }));
		}
}

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

static int64_t free_gpus(const struct schedule_run *run)
{
	if (run->words.gpu == SCHEDULE_ID_NONE || run->room.available[run->words.gpu] < 0)
		return 0;
	return run->room.available[run->words.gpu];
}

void schedule_candidate_fill(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_run *run = try->run;
	struct schedule_room *room = &run->room;

	schedule_room_load(room, c->state);
	fill_room(try, c);
	if (c->fill.count) {
		schedule_room_terms(room, c->terms);
		schedule_key_fill(room, c->placed, try->list, c->fill.at, c->fill.count, &c->key);
		c->key.first = is_first(try, &room->state);
		if (run->policy.spare_gpus && c->type != SCHEDULE_NO_INDEX)
			c->key.spared = spared_gpus(run, c);
		else if (run->policy.fill_gpus)
			c->key.spared = -(double)free_gpus(run);
		else if (run->policy.shuffle)
			c->key.spared =
				-(double)schedule_shuffled(run->policy.shuffle, room->state.type);
		schedule_key_rest(&run->states, &room->state, c->terms, c->rest, &c->key);
	}
	schedule_room_unload(room);
	c->fresh = true;
}
