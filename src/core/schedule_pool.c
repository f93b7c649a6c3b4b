#include "core/schedule_pool.h"

#include <limits.h>
#include <string.h>

#include "base/check.h"

/* Ceiling of the bits that tell which shapes a candidate has room for (8 MiB). */
#define FITS_WORDS_MAX ((size_t)1 << 20)

static const struct schedule_key BEST_KEY = { .labels = INT_MAX };

void schedule_pool_init(struct schedule_pool *pool, struct schedule_run *run,
			const struct schedule_list *list)
{
	struct arena *arena = run->attempt;

	*pool = (struct schedule_pool){ .run = run, .list = list };
	pool->word_count = (list->count + 63) / 64;
	pool->left = arena_array(arena, list->count + 1, sizeof(*pool->left));
	pool->active = arena_array(arena, pool->word_count + 1, sizeof(*pool->active));
	pool->uses = arena_array(arena, list->count + 1, sizeof(*pool->uses));
	pool->places = arena_array(arena, run->nodes.count + 1, sizeof(*pool->places));
	for (size_t i = 0; i < list->count; i++) {
		pool->left[i] = list->shapes[i].count;
		pool->anti_labels = pool->anti_labels || list->shapes[i].anti_label_count;
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

/* ---- members ---- */

static uint32_t node_rest(const struct schedule_pool *pool, const struct schedule_candidate *c,
			  uint32_t node)
{
	if (node < pool->run->nodes.count)
		return pool->run->nodes.at[node].rest;
	return pool->run->template_rest[pool->run->states.states.at[c->state].type];
}

static uint32_t node_placed(const struct schedule_pool *pool, uint32_t node)
{
	return node < pool->run->nodes.count ? pool->run->nodes.at[node].placed : 0;
}

/* With the same fill the larger sum of the rest gives the larger average. */
static bool member_before(const struct schedule_pool *pool, uint32_t a, uint32_t b)
{
	const struct schedule_work *nodes = pool->run->nodes.at;
	double first = pool->run->states.rests.at[nodes[a].rest].sum;
	double second = pool->run->states.rests.at[nodes[b].rest].sum;

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

/* The first member decides rank, rest and what stands on it already. */
static void read_first(struct schedule_pool *pool, struct schedule_candidate *c)
{
	uint32_t node = c->members.at[c->next], placed = node_placed(pool, node);

	c->rest = node_rest(pool, c, node);
	if (placed != c->placed) {
		c->placed = placed;
		c->fresh = false;
	}
	if (node < pool->run->nodes.count)
		c->rank = pool->places[node];
}

static void order_members(struct schedule_pool *pool, struct schedule_candidate *c)
{
	if (!pool->run->states.states.at[c->state].running)
		return;
	for (size_t i = 1; i < c->members.count && !c->mixed; i++)
		c->mixed = node_rest(pool, c, c->members.at[i]) != c->rest;
	if (!c->mixed)
		return;
	for (size_t i = c->members.count / 2; i-- > 0;)
		member_sift(pool, c->members.at, c->members.count, i);
	read_first(pool, c);
}

uint32_t schedule_pool_pop_member(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];
	uint32_t member = c->members.at[c->next];

	if (!c->mixed) {
		c->next++;
		return member;
	}
	c->members.at[0] = c->members.at[--c->members.count];
	member_sift(pool, c->members.at, c->members.count, 0);
	return member;
}

/* ---- what fits ---- */

static void find_fits(struct schedule_pool *pool, struct schedule_candidate *c)
{
	if (pool->fits_words + pool->word_count > FITS_WORDS_MAX)
		return;
	pool->fits_words += pool->word_count;
	c->fits = arena_array(arena_of(pool), pool->word_count + 1, sizeof(*c->fits));
	for (size_t word = 0; word < pool->word_count; word++)
		for (uint64_t bits = pool->active[word]; bits; bits &= bits - 1) {
			unsigned int bit = (unsigned int)__builtin_ctzll(bits);

			if (schedule_room_fits(&pool->run->room,
					       &pool->list->shapes[word * 64 + bit]))
				c->fits[word] |= UINT64_C(1) << bit;
		}
}

static void fill_room(struct schedule_pool *pool, struct schedule_candidate *c)
{
	c->fill.count = 0;
	for (size_t word = 0; word < pool->word_count; word++) {
		uint64_t bits = pool->active[word] & (c->fits ? c->fits[word] : UINT64_MAX);

		for (; bits; bits &= bits - 1) {
			uint32_t shape = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
			int64_t count = schedule_room_take(
				&pool->run->room, &pool->list->shapes[shape], pool->left[shape]);

			if (count)
				VEC_PUSH(arena_of(pool), &c->fill,
					 ((struct schedule_fill){ shape, count }));
		}
	}
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

/* Tries the candidate's state against what is left. */
static void evaluate(struct schedule_pool *pool, uint32_t candidate)
{
	struct schedule_candidate *c = &pool->candidates.at[candidate];
	struct schedule_room *room = &pool->run->room;

	schedule_room_load(room, c->state);
	if (!c->tried)
		find_fits(pool, c);
	fill_room(pool, c);
	if (c->fill.count) {
		if (!c->tried)
			order_members(pool, c);
		if (!c->terms)
			c->terms = arena_array(arena_of(pool), room->state.amount_count + 1,
					       sizeof(*c->terms));
		schedule_room_terms(room, c->terms);
		schedule_key_fill(room, c->placed, pool->list, c->fill.at, c->fill.count, &c->key);
		schedule_key_rest(&pool->run->states, &room->state, c->terms, c->rest, &c->key);
		count_on_shapes(pool, candidate);
	}
	schedule_room_unload(room);
	c->tried = true;
	c->fresh = true;
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

static void heap_move(struct schedule_pool *pool, uint32_t candidate)
{
	enum schedule_heap_name name = pool->candidates.at[candidate].heap;
	size_t at = pool->candidates.at[candidate].heap_at, count = pool->heaps[name].at.count;
	uint32_t *heap = pool->heaps[name].at.at;

	while (at && candidate_before(pool, candidate, heap[(at - 1) / 2])) {
		heap_set(pool, heap, at, heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
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
	struct schedule_candidate *c = VEC_ADD(arena_of(pool), &pool->candidates);

	c->state = state;
	c->template_type = template_type;
	c->key = BEST_KEY;
	return (uint32_t)pool->candidates.count - 1;
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
		uint32_t node = run->order.at[i];
		struct schedule_candidate *c =
			&pool->candidates.at[candidate_of[run->nodes.at[node].state] - 1];

		pool->places[node] = (uint32_t)i;
		c->members.at[c->members.count++] = node;
	}
}

void schedule_pool_add_nodes(struct schedule_pool *pool)
{
	struct schedule_run *run = pool->run;
	uint32_t *candidate_of =
		arena_array(arena_of(pool), run->states.states.count + 1, sizeof(*candidate_of));

	for (size_t i = 0; i < run->order.count; i++) {
		uint32_t state = run->nodes.at[run->order.at[i]].state;

		if (!candidate_of[state])
			candidate_of[state] = candidate_add(pool, state, SCHEDULE_NO_INDEX) + 1;
		pool->candidates.at[candidate_of[state] - 1].members.count++;
	}
	share_members(pool, candidate_of);
	pool->next_rank = run->order.count;
	for (uint32_t i = 0; i < pool->candidates.count; i++) {
		read_first(pool, &pool->candidates.at[i]);
		heap_add(pool, i);
	}
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
	read_first(pool, c);
	heap_add(pool, candidate);
}

uint32_t schedule_pool_best(struct schedule_pool *pool, enum schedule_heap_name heap)
{
	while (pool->heaps[heap].at.count && pool->active_count) {
		uint32_t best = pool->heaps[heap].at.at[0];

		if (pool->candidates.at[best].fresh)
			return best;
		evaluate(pool, best);
		if (pool->candidates.at[best].fill.count)
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
		if (node_rest(pool, c, node) != c->rest || node_placed(pool, node) != c->placed)
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
	c->key = BEST_KEY;
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

		read_first(pool, c);
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
		}
		if (pool->left[shape] < pool->uses[shape].most)
			review_users(pool, shape);
	}
}
