/* One candidate of a pool: its members, what it would take, how good that is, and a bound that
 * saves trying. The second half of schedule_pool.h. */
#include <limits.h>
#include <math.h>

#include "core/schedule/schedule_pool.h"

/* Ceiling of the bits that tell which shapes may fit into the candidates' states (8 MiB). */
#define FITS_WORDS_MAX ((size_t)1 << 20)
/* Above what rounding can do to a score. */
#define BOUND_SLACK (1 + 1e-9)

static const struct schedule_key BEST_KEY = { .first = true, .labels = INT_MAX };

static struct arena *arena_of(const struct schedule_pool *pool)
{
	return pool->run->attempt;
}

/* ---- members ---- */

uint32_t schedule_candidate_rest(const struct schedule_pool *pool,
				 const struct schedule_candidate *c, uint32_t node)
{
	if (node < pool->run->nodes.count)
		return pool->run->rests_of.at[node];
	return pool->run->template_rest[pool->run->states.states.at[c->state].type];
}

uint32_t schedule_candidate_placed(const struct schedule_pool *pool, uint32_t node)
{
	return node < pool->run->nodes.count ? pool->run->nodes.at[node].placed : 0;
}

/* With the same fill the larger sum of the rest gives the larger average. */
static bool member_before(const struct schedule_pool *pool, uint32_t a, uint32_t b)
{
	const uint32_t *rests = pool->run->rests_of.at;
	double first = pool->run->states.rests.at[rests[a]].sum;
	double second = pool->run->states.rests.at[rests[b]].sum;

	if (first > second || first < second)
		return first > second;
	return pool->places[a] < pool->places[b];
}

static void member_sift(const struct schedule_pool *pool, uint32_t *members, size_t count,
			size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint32_t member = members[at];

		if (child >= count)
			return;
		if (child + 1 < count && member_before(pool, members[child + 1], members[child]))
			child++;
		if (!member_before(pool, members[child], member))
			return;
		members[at] = members[child];
		members[child] = member;
		at = child;
	}
}

void schedule_candidate_read_first(struct schedule_pool *pool, struct schedule_candidate *c)
{
	uint32_t node = c->members.at[c->next];
	uint32_t placed = schedule_candidate_placed(pool, node);
	uint32_t rest = schedule_candidate_rest(pool, c, node);

	if (node < pool->run->nodes.count)
		c->rank = pool->places[node];
	/* The members of a mixed candidate get worse, one by one; of others anything may follow. */
	if (c->touched && !c->mixed && (placed != c->placed || rest != c->rest)) {
		c->fresh = false;
		c->bound_at = -1;
		c->bound = c->key = BEST_KEY;
	}
	c->placed = placed;
	c->rest = rest;
}

/* Of running nodes with different rests the best goes to the front; the others wait for the first
 * pop, because most candidates are never chosen. */
static void order_members(struct schedule_pool *pool, struct schedule_candidate *c)
{
	size_t best = 0;

	if (!pool->run->states.states.at[c->state].running)
		return;
	for (size_t i = 1; i < c->members.count; i++) {
		if (schedule_candidate_rest(pool, c, c->members.at[i]) == c->rest)
			continue;
		c->mixed = true;
		break;
	}
	if (!c->mixed)
		return;
	for (size_t i = 1; i < c->members.count; i++)
		if (member_before(pool, c->members.at[i], c->members.at[best]))
			best = i;
	if (best) {
		uint32_t member = c->members.at[best];

		c->members.at[best] = c->members.at[0];
		c->members.at[0] = member;
	}
	schedule_candidate_read_first(pool, c);
}

uint32_t schedule_pool_pop_member(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];
	uint32_t member = c->members.at[c->next];

	if (!c->mixed) {
		c->next++;
		return member;
	}
	for (size_t i = c->heaped ? 0 : c->members.count / 2; i-- > 0;)
		member_sift(pool, c->members.at, c->members.count, i);
	c->heaped = true;
	c->members.at[0] = c->members.at[--c->members.count];
	member_sift(pool, c->members.at, c->members.count, 0);
	return member;
}

/* ---- what fits ---- */

static uint64_t word_of(const struct schedule_pool *pool, size_t word)
{
	return pool->active[word] & schedule_index_word(&pool->index, word);
}

/* ---- the bound ---- */

static void find_fits(struct schedule_pool *pool, struct schedule_candidate *c)
{
	if (pool->fits_words + pool->word_count > FITS_WORDS_MAX)
		return;
	pool->fits_words += pool->word_count;
	c->fits = arena_array(arena_of(pool), pool->word_count + 1, sizeof(*c->fits));
	schedule_room_load(&pool->run->room, c->state);
	schedule_index_set(&pool->index, &pool->run->room);
	for (size_t word = 0; word < pool->word_count; word++)
		c->fits[word] = word_of(pool, word);
	schedule_index_anchor(&pool->index, &pool->run->states, &pool->run->room.state, true,
			      c->fits, pool->anchored);
	schedule_room_unload(&pool->run->room);
}

static uint64_t may_place_word(const struct schedule_pool *pool, const struct schedule_candidate *c,
			       size_t word)
{
	return pool->active[word] & (c->fits ? c->fits[word] : UINT64_MAX);
}

static bool may_place(const struct schedule_pool *pool, const struct schedule_candidate *c,
		      uint32_t shape)
{
	return may_place_word(pool, c, shape / 64) >> (shape % 64) & 1;
}

/* The best label rank that any of the shapes could bring. */
static int bound_labels(struct schedule_pool *pool, const struct schedule_candidate *c)
{
	struct schedule_states *states = &pool->run->states;
	const struct schedule_placed *placed = &states->placed.at[c->placed];
	uint32_t labels = states->states.at[c->state].labels;
	int best = placed->selector_count ? INT_MAX - 1 : 0;

	for (size_t word = 0; word < pool->word_count && pool->index.has_selectors; word++)
		for (uint64_t bits = may_place_word(pool, c, word); bits; bits &= bits - 1) {
			const struct schedule_shape *shape =
				&pool->list->shapes[word * 64 + (size_t)__builtin_ctzll(bits)];
			int rank = schedule_label_rank(states, labels, shape->selector);

			if (rank > best)
				best = rank;
		}
	return best;
}

/* Shapes that are passed over at once: the ratio of the next one is a bound as well. */
#define RATIOS_PASSED_MAX 64

/* What is used up of a shape's list is used up for good: the place only moves on. */
static double best_ratio(const struct schedule_pool *pool, struct schedule_candidate *c,
			 uint32_t slot)
{
	const struct schedule_index_name *entry = &pool->index.names[slot];

	for (int i = 0; i < RATIOS_PASSED_MAX && c->ratio_at[slot] < entry->ratio_count &&
			!may_place(pool, c, entry->ratios[c->ratio_at[slot]].shape);
	     i++)
		c->ratio_at[slot]++;
	return c->ratio_at[slot] < entry->ratio_count ? entry->ratios[c->ratio_at[slot]].ratio : 0;
}

static int64_t pivot_available(const struct schedule_pool *pool, const struct schedule_state *state)
{
	if (!pool->index.name_count)
		return 0;
	for (uint32_t i = 0; i < state->amount_count; i++)
		if (state->amounts[i].name == pool->index.names[0].name &&
		    state->amounts[i].available >= 0)
			return state->amounts[i].available;
	return pool->run->words.is_implicit[pool->index.names[0].name] ? RESOURCE_UNIT : 0;
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

/* The term when as much as possible is placed; the term as it is when no shape asks for it. */
static double bound_term(const struct schedule_pool *pool, struct schedule_candidate *c,
			 const struct schedule_amount *amount, double term, double pivot,
			 struct schedule_key *key)
{
	uint8_t slot = pool->index.slots[amount->name];
	double ratio = INFINITY;
	int64_t left = 0;

	if (slot == SCHEDULE_SLOT_UNASKED)
		return term;
	if (slot != SCHEDULE_SLOT_OTHER)
		ratio = best_ratio(pool, c, slot - 1U);
	if (ratio <= 0)
		return term;
	key->types += amount->total >= 0;
	if (ratio < INFINITY && amount->available > 0 &&
	    ratio * pivot * BOUND_SLACK + 1 < (double)amount->available)
		left = amount->available - (int64_t)(ratio * pivot * BOUND_SLACK + 1);
	return term_bound(amount->total, left);
}

static bool touch(struct schedule_pool *pool, struct schedule_candidate *c)
{
	bool any = false;

	if (!c->fits)
		find_fits(pool, c);
	for (size_t word = 0; word < pool->word_count && !any; word++)
		any = may_place_word(pool, c, word);
	if (!any)
		return false;
	c->terms = arena_array(arena_of(pool),
			       pool->run->states.states.at[c->state].amount_count + 1,
			       sizeof(*c->terms));
	if (c->template_type == SCHEDULE_NO_INDEX)
		order_members(pool, c);
	c->label_bound = bound_labels(pool, c);
	c->touched = true;
	return true;
}

static bool goes_first(const struct schedule_pool *pool, const struct schedule_state *state)
{
	return pool->run->policy.starting_last && state->running;
}

bool schedule_candidate_bound(struct schedule_pool *pool, struct schedule_candidate *c)
{
	const struct schedule_problem *problem = pool->run->problem;
	const struct schedule_state *state = &pool->run->states.states.at[c->state];
	const struct schedule_placed *placed = &pool->run->states.placed.at[c->placed];
	struct schedule_key *key = &c->bound;
	bool any = false, asks = placed->asks_accelerator;
	double pivot;

	if (!c->touched && !touch(pool, c))
		return false;
	for (size_t word = 0; word < pool->word_count; word++) {
		uint64_t bits = may_place_word(pool, c, word);

		any = any || bits;
		asks = asks || (bits & pool->index.asks_accelerator[word]);
	}
	if (!any)
		return false;
	schedule_key_type(problem, state, key);
	key->first = goes_first(pool, state);
	key->labels = c->label_bound;
	key->accelerator_ok = !problem->conserve_accelerators || !state->accelerator || asks;
	key->types = placed->name_count;
	pivot = (double)pivot_available(pool, state);
	for (uint32_t i = 0; i < state->amount_count; i++)
		c->terms[i] = bound_term(pool, c, &state->amounts[i], state->terms[i], pivot, key);
	schedule_key_rest(&pool->run->states, state, c->terms, c->rest, key);
	key->minimum *= BOUND_SLACK;
	key->average *= BOUND_SLACK;
	c->bound_at = pool->used_up;
	c->key = *key;
	return true;
}

/* ---- the fill ---- */

static void fill_room(struct schedule_pool *pool, struct schedule_candidate *c)
{
	struct schedule_room *room = &pool->run->room;

	c->fill.count = 0;
	schedule_index_set(&pool->index, room);
	for (size_t word = 0; word < pool->word_count; word++) {
		uint64_t may = may_place_word(pool, c, word);
		uint64_t bits = may & schedule_index_word(&pool->index, word);

		while (bits) {
			uint32_t shape = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
			uint64_t behind = ~((bits & -bits) | ((bits & -bits) - 1));
			int64_t count = schedule_room_take(room, &pool->list->shapes[shape],
							   pool->left[shape]);

			if (count) {
				VEC_PUSH(arena_of(pool), &c->fill,
					 ((struct schedule_fill){ shape, count }));
				schedule_index_set(&pool->index, room);
				bits = may & schedule_index_word(&pool->index, word);
			}
			bits &= behind;
		}
	}
}

void schedule_candidate_score_rest(struct schedule_pool *pool, struct schedule_candidate *c)
{
	schedule_key_rest(&pool->run->states, &pool->run->states.states.at[c->state], c->terms,
			  c->rest, &c->key);
}

/* What a launch for this fill would waste; nothing used of some GPUs is the worst. */
static double spared_gpus(const struct schedule_pool *pool, const struct schedule_candidate *c)
{
	const struct schedule_run *run = pool->run;
	int64_t total = run->problem->types[c->template_type].gpu_amount, used = 0;

	if (total <= 0)
		return 0;
	if (run->words.gpu != SCHEDULE_ID_NONE && run->room.total[run->words.gpu] > 0)
		used = run->room.total[run->words.gpu] - run->room.available[run->words.gpu];
	return used > 0 ? -(double)(total - used) / (double)used : -INFINITY;
}

static int64_t free_gpus(const struct schedule_pool *pool)
{
	const struct schedule_run *run = pool->run;

	if (run->words.gpu == SCHEDULE_ID_NONE || run->room.available[run->words.gpu] < 0)
		return 0;
	return run->room.available[run->words.gpu];
}

void schedule_candidate_fill(struct schedule_pool *pool, struct schedule_candidate *c)
{
	struct schedule_room *room = &pool->run->room;

	schedule_room_load(room, c->state);
	fill_room(pool, c);
	if (c->fill.count) {
		schedule_room_terms(room, c->terms);
		schedule_key_fill(room, c->placed, pool->list, c->fill.at, c->fill.count, &c->key);
		c->key.first = goes_first(pool, &room->state);
		if (pool->run->policy.spare_gpus && c->template_type != SCHEDULE_NO_INDEX)
			c->key.spared = spared_gpus(pool, c);
		else if (pool->run->policy.fill_gpus)
			c->key.spared = -(double)free_gpus(pool);
		else if (pool->run->policy.shuffle)
			c->key.spared = -(double)schedule_shuffled(pool->run->policy.shuffle,
								   room->state.type);
		schedule_candidate_score_rest(pool, c);
	}
	schedule_room_unload(room);
	c->fresh = true;
}
