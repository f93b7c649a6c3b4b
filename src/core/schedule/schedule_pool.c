#include "core/schedule/schedule_pool.h"

#include <limits.h>
#include <string.h>

#include "base/check.h"

static const struct schedule_key BEST_KEY = { .first = true, .labels = INT_MAX };

void schedule_pool_init(struct schedule_pool *pool, struct schedule_run *run,
			const struct schedule_list *list)
{
	struct arena *arena = run->attempt;

	*pool = (struct schedule_pool){ .run = run, .list = list };
	pool->candidates.at = run->candidates;
	pool->candidates.capacity = run->candidate_capacity;
	pool->word_count = (list->count + 63) / 64;
	schedule_index_init(&pool->index, list, &run->words, &run->index_scratch, run->scratch,
			    arena);
	pool->anchored = arena_array(arena, pool->word_count + 1, sizeof(*pool->anchored));
	pool->left = arena_array(arena, list->count + 1, sizeof(*pool->left));
	pool->active = arena_array(arena, pool->word_count + 1, sizeof(*pool->active));
	pool->uses = arena_array(arena, list->count + 1, sizeof(*pool->uses));
	pool->places = arena_array(arena, run->nodes.count + 1, sizeof(*pool->places));
	for (size_t i = 0; i < list->count; i++) {
		pool->left[i] = list->shapes[i].count;
		if (list->shapes[i].impossible)
			continue;
		pool->active[i / 64] |= UINT64_C(1) << (i % 64);
		pool->active_count++;
	}
}

static struct arena *arena_of(const struct schedule_pool *pool)
{
	return pool->run->attempt;
}

static void count_on_shapes(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	for (size_t i = 0; i < c->fill.count; i++) {
		struct schedule_shape_use *use = &pool->uses[c->fill.at[i].shape];

		VEC_PUSH(arena_of(pool), &use->users, candidate);
		if (c->fill.at[i].count > use->most)
			use->most = c->fill.at[i].count;
	}
}

/* ---- the heap ---- */

static bool candidate_before(const struct schedule_pool *pool, uint32_t a, uint32_t b)
{
	const struct schedule_candidate *first = &pool->candidates.at[a];
	const struct schedule_candidate *second = &pool->candidates.at[b];
	int order = schedule_key_compare(&first->key, &second->key);

	return order ? order > 0 : first->rank < second->rank;
}

static void heap_set(struct schedule_pool *pool, uint32_t *heap, size_t at, uint32_t candidate)
{
	heap[at] = candidate;
	pool->candidates.at[candidate].heap_at = at;
}

/* Moves the candidate at `at` away from the top as far as it belongs. */
static void heap_sink(struct schedule_pool *pool, enum schedule_heap_name name, size_t at)
{
	size_t count = pool->heaps[name].at.count;
	uint32_t *heap = pool->heaps[name].at.at, candidate = heap[at];

	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && candidate_before(pool, heap[child + 1], heap[child]))
			child++;
		if (!candidate_before(pool, heap[child], candidate))
			break;
		heap_set(pool, heap, at, heap[child]);
		at = child;
	}
	heap_set(pool, heap, at, candidate);
}

static void heap_move(struct schedule_pool *pool, uint32_t candidate)
{
	enum schedule_heap_name name = pool->candidates.at[candidate].heap;
	size_t at = pool->candidates.at[candidate].heap_at;
	uint32_t *heap = pool->heaps[name].at.at;

	while (at && candidate_before(pool, candidate, heap[(at - 1) / 2])) {
		heap_set(pool, heap, at, heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_set(pool, heap, at, candidate);
	heap_sink(pool, name, at);
}

static void heap_add(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	VEC_PUSH(arena_of(pool), &pool->heaps[c->heap].at, candidate);
	c->heap_at = pool->heaps[c->heap].at.count - 1;
	c->listed = true;
	heap_move(pool, candidate);
}

void schedule_pool_drop(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];
	uint32_t *heap = pool->heaps[c->heap].at.at;
	uint32_t last = heap[--pool->heaps[c->heap].at.count];

	c->listed = false;
	if (last == candidate)
		return;
	heap_set(pool, heap, c->heap_at, last);
	heap_move(pool, last);
}

/* ---- candidates ---- */

static uint32_t candidate_add(struct schedule_pool *pool, uint32_t state, size_t template_type)
{
	struct schedule_run *run = pool->run;
	struct schedule_candidate *c = VEC_ADD(run->scratch, &pool->candidates);

	*c = (struct schedule_candidate){
		.state = state,
		.template_type = template_type,
		.key = BEST_KEY,
		.bound = BEST_KEY,
		.bound_at = -1,
	};
	run->candidates = pool->candidates.at;
	run->candidate_capacity = pool->candidates.capacity;
	return (uint32_t)pool->candidates.count - 1;
}

/* Longer lists are looked up in the index. */
#define SUMS_SHAPES_MAX 16

static bool shape_fits(const struct schedule_pool *pool, const struct schedule_state *state,
		       const struct schedule_shape *shape)
{
	uint32_t at = 0;

	if (shape->impossible)
		return false;
	for (uint32_t i = 0; i < shape->need_count; i++) {
		uint32_t name = shape->needs[i].name;
		int64_t available = -1;

		while (at < state->amount_count && state->amounts[at].name < name)
			at++;
		if (at < state->amount_count && state->amounts[at].name == name)
			available = state->amounts[at].available;
		if (available < 0)
			available = pool->run->words.is_implicit[name] ? RESOURCE_UNIT : 0;
		if (available < shape->needs[i].amount)
			return false;
	}
	return true;
}

static uint64_t shapes_that_fit(const struct schedule_pool *pool, uint32_t id)
{
	const struct schedule_state *state = &pool->run->states.states.at[id];
	uint64_t bits = 0;

	for (size_t i = 0; i < pool->list->count; i++)
		if (shape_fits(pool, state, &pool->list->shapes[i]))
			bits |= UINT64_C(1) << i;
	return bits;
}

/* candidate_of: by state, number + 1. In short lists a state into which nothing fits has none. */
static void add_candidate(struct schedule_pool *pool, uint32_t state, uint32_t *candidate_of)
{
	uint64_t fits = 1;
	struct schedule_candidate *c;

	if (candidate_of[state] || (pool->sums && pool->sums[state]))
		return;
	if (pool->sums) {
		fits = shapes_that_fit(pool, state);
		pool->sums[state] = fits ? SCHEDULE_SUMS_SOME : SCHEDULE_SUMS_NONE;
	}
	if (!fits)
		return;
	candidate_of[state] = candidate_add(pool, state, SCHEDULE_NO_INDEX) + 1;
	if (!pool->sums)
		return;
	c = &pool->candidates.at[candidate_of[state] - 1];
	c->fits = arena_array(arena_of(pool), 1, sizeof(*c->fits));
	c->fits[0] = fits;
}

static void add_candidates(struct schedule_pool *pool, uint32_t *candidate_of)
{
	struct schedule_run *run = pool->run;

	if (pool->list->count <= SUMS_SHAPES_MAX)
		pool->sums = arena_array(arena_of(pool), run->states.states.count + 1, 1);
	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t state = run->states_of.at[run->order.at[i]];

		add_candidate(pool, state, candidate_of);
		if (candidate_of[state])
			pool->candidates.at[candidate_of[state] - 1].members.count++;
	}
}

static void share_members(struct schedule_pool *pool, const uint32_t *candidate_of)
{
	struct schedule_run *run = pool->run;
	uint32_t *members = arena_array(arena_of(pool), run->order.count + 1, sizeof(*members));

	for (size_t i = 0; i < pool->candidates.count; i++) {
		struct schedule_candidate *c = &pool->candidates.at[i];

		c->members.at = members;
		members += c->members.count;
		c->members.capacity = c->members.count;
		c->members.count = 0;
	}
	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t node = run->order.at[i], candidate = candidate_of[run->states_of.at[node]];
		struct schedule_candidate *c;

		if (!candidate)
			continue;
		c = &pool->candidates.at[candidate - 1];
		pool->places[node] = (uint32_t)i;
		c->members.at[c->members.count++] = node;
	}
}

/* Those that can take nothing are left out; the others stand in the heap by their bounds. */
void schedule_pool_add_nodes(struct schedule_pool *pool)
{
	struct schedule_run *run = pool->run;
	uint32_t *candidate_of =
		arena_array(arena_of(pool), run->states.states.count + 1, sizeof(*candidate_of));

	add_candidates(pool, candidate_of);
	share_members(pool, candidate_of);
	pool->heaps[SCHEDULE_HEAP_NODES].at.at =
		arena_array(arena_of(pool), pool->candidates.count + 1, sizeof(uint32_t));
	pool->heaps[SCHEDULE_HEAP_NODES].at.capacity = pool->candidates.count + 1;
	pool->next_rank = run->order.count;
	for (uint32_t i = 0; i < pool->candidates.count; i++) {
		struct schedule_candidate *c = &pool->candidates.at[i];

		schedule_candidate_read_first(pool, c);
		if (!schedule_candidate_bound(pool, c))
			continue;
		VEC_PUSH(arena_of(pool), &pool->heaps[c->heap].at, i);
		c->heap_at = pool->heaps[c->heap].at.count - 1;
		c->listed = true;
	}
	for (size_t i = pool->heaps[SCHEDULE_HEAP_NODES].at.count / 2; i-- > 0;)
		heap_sink(pool, SCHEDULE_HEAP_NODES, i);
}

void schedule_pool_add_type(struct schedule_pool *pool, size_t type)
{
	uint32_t candidate = candidate_add(pool, pool->run->template_state[type], type);
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	c->rest = pool->run->template_rest[type];
	c->rank = pool->next_rank++;
	c->heap = SCHEDULE_HEAP_TYPES;
	heap_add(pool, candidate);
}

void schedule_pool_add_empty(struct schedule_pool *pool, size_t type, uint32_t first, int64_t count)
{
	uint32_t candidate =
		candidate_add(pool, pool->run->template_state[type], SCHEDULE_NO_INDEX);
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	for (int64_t i = 0; i < count; i++)
		VEC_PUSH(arena_of(pool), &c->members, first + (uint32_t)i);
	c->rank = pool->next_rank++;
	schedule_candidate_read_first(pool, c);
	heap_add(pool, candidate);
}

/* A candidate that is not fresh stands where its bound is: first the bound is brought up to date,
 * and only one that still is the best is tried. */
uint32_t schedule_pool_best(struct schedule_pool *pool, enum schedule_heap_name heap)
{
	while (pool->heaps[heap].at.count && pool->active_count) {
		uint32_t best = pool->heaps[heap].at.at[0];
		struct schedule_candidate *c = &pool->candidates.at[best];
		bool places;

		if (c->fresh)
			return best;
		if (c->bound_at != pool->used_up) {
			places = schedule_candidate_bound(pool, c);
		} else {
			schedule_candidate_fill(pool, c);
			places = c->fill.count;
			count_on_shapes(pool, best);
		}
		if (places)
			heap_move(pool, best);
		else
			schedule_pool_drop(pool, best);
	}
	return SCHEDULE_ID_NONE;
}

/* Members after the first that would be chosen like it. */
static int64_t like_first(const struct schedule_pool *pool, const struct schedule_candidate *c,
			  uint64_t below_rank, int64_t limit)
{
	int64_t count = 1;

	/* A type that was launched goes to the end of the list. */
	if (c->template_type != SCHEDULE_NO_INDEX)
		return below_rank == UINT64_MAX ? limit : 1;
	if (c->mixed)
		return 1;
	for (size_t i = c->next + 1; i < c->members.count && count < limit; i++, count++) {
		uint32_t node = c->members.at[i];

		if (node < pool->run->nodes.count && pool->places[node] > below_rank)
			break;
		if (schedule_candidate_rest(pool, c, node) != c->rest ||
		    schedule_candidate_placed(pool, node) != c->placed)
			break;
	}
	return count;
}

int64_t schedule_pool_row(const struct schedule_pool *pool, uint32_t best, int64_t limit)
{
	const struct schedule_candidate *c = &pool->candidates.at[best];
	const uint32_t *heap = pool->heaps[c->heap].at.at;
	uint64_t below_rank = UINT64_MAX;

	for (size_t i = 1; i < 3 && i < pool->heaps[c->heap].at.count; i++) {
		const struct schedule_candidate *other = &pool->candidates.at[heap[i]];

		if (!schedule_key_compare(&c->key, &other->key) && other->rank < below_rank)
			below_rank = other->rank;
	}
	for (size_t i = 0; i < c->fill.count; i++) {
		uint32_t shape = c->fill.at[i].shape;
		int64_t rows =
			1 + (pool->left[shape] - pool->uses[shape].most) / c->fill.at[i].count;

		if (rows < limit)
			limit = rows;
	}
	return like_first(pool, c, below_rank, limit);
}

/* ---- booking ---- */

static void make_stale(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	c->fresh = false;
	c->key = c->bound;
	if (c->listed)
		heap_move(pool, candidate);
}

static int64_t held_units(const struct schedule_candidate *c, uint32_t shape)
{
	if (c->fresh && c->listed)
		for (size_t i = 0; i < c->fill.count; i++)
			if (c->fill.at[i].shape == shape)
				return c->fill.at[i].count;
	return 0;
}

/* Fewer units are left than some fill holds: those fills are to be made anew. */
static void review_users(struct schedule_pool *pool, uint32_t shape)
{
	struct schedule_shape_use *use = &pool->uses[shape];
	size_t kept = 0;

	pool->stamp++;
	use->most = 0;
	for (size_t i = 0; i < use->users.count; i++) {
		uint32_t user = use->users.at[i];
		struct schedule_candidate *c = &pool->candidates.at[user];
		int64_t units = held_units(c, shape);

		if (units > pool->left[shape]) {
			make_stale(pool, user);
			continue;
		}
		if (!units || c->stamp == pool->stamp)
			continue;
		c->stamp = pool->stamp;
		use->users.at[kept++] = user;
		if (units > use->most)
			use->most = units;
	}
	use->users.count = kept;
}

static void after_choice(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];

	if (c->template_type != SCHEDULE_NO_INDEX) {
		c->rank = pool->next_rank++;
	} else if (c->next == c->members.count) {
		schedule_pool_drop(pool, candidate);
		return;
	} else {
		uint32_t rest = c->rest;

		schedule_candidate_read_first(pool, c);
		if (!c->fresh)
			c->key = BEST_KEY;
		else if (c->rest != rest)
			schedule_key_rest(&pool->run->states,
					  &pool->run->states.states.at[c->state], c->terms, c->rest,
					  &c->key);
	}
	heap_move(pool, candidate);
}

void schedule_pool_book(struct schedule_pool *pool, uint32_t candidate, int64_t nodes)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];
	size_t count = c->fill.count;
	struct schedule_fill *fill = arena_array(arena_of(pool), count, sizeof(*fill));

	memcpy(fill, c->fill.at, count * sizeof(*fill));
	after_choice(pool, candidate);
	for (size_t i = 0; i < count; i++) {
		uint32_t shape = fill[i].shape;

		pool->left[shape] -= fill[i].count * nodes;
		CHECK(pool->left[shape] >= 0);
		if (!pool->left[shape]) {
			pool->active[shape / 64] &= ~(UINT64_C(1) << (shape % 64));
			pool->active_count--;
			pool->used_up++;
		}
		if (pool->left[shape] < pool->uses[shape].most)
			review_users(pool, shape);
	}
}
