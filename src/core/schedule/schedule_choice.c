/* Selection of the best candidate, and the effects of a choice: the second part of
 * schedule_candidate.h. */
#include <limits.h>

#include "base/check.h"
#include "core/schedule/schedule_candidate.h"

static struct arena *arena_of(const struct schedule_try *try)
{
	return try->run->attempt;
}

/* ---- the heap ---- */

static enum schedule_heap_name heap_of(const struct schedule_candidate *c)
{
	return c->type == SCHEDULE_NO_INDEX ? SCHEDULE_HEAP_NODES : SCHEDULE_HEAP_TYPES;
}

static bool is_before(const struct schedule_try *try, const struct schedule_candidate *a,
		      const struct schedule_candidate *b)
{
	int order = schedule_key_compare(&a->key, &b->key);

	if (order)
		return order > 0;
	if (a->type != SCHEDULE_NO_INDEX)
		return a->rank < b->rank;
	return schedule_order_before(try->run, a->node, b->node);
}

/* Moves the candidate to where it belongs. */
static void heap_move(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_candidate **heap = try->heaps[heap_of(c)].at;
	size_t count = try->heaps[heap_of(c)].count, at = c->heap_at;

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
	VEC_PUSH(arena_of(try), &try->heaps[heap_of(c)], c);
	c->heap_at = try->heaps[heap_of(c)].count - 1;
	c->listed = true;
	heap_move(try, c);
}

void schedule_try_drop(struct schedule_try *try, struct schedule_candidate *c)
{
	struct schedule_candidate *last = try->heaps[heap_of(c)].at[--try->heaps[heap_of(c)].count];

	c->listed = false;
	if (last == c)
		return;
	last->heap_at = c->heap_at;
	heap_move(try, last);
}

/* ---- choosing ---- */

static struct schedule_candidate *candidate_new(struct schedule_try *try, uint32_t state,
						size_t type)
{
	struct schedule_candidate *c = ARENA_NEW(arena_of(try), struct schedule_candidate);

	*c = (struct schedule_candidate){
		.state = state,
		.type = type,
		.bound_at = -1,
		.rest = SCHEDULE_ID_NONE,
		.key = { .first = true, .labels = INT_MAX },
	};
	return c;
}

void schedule_try_init(struct schedule_try *try, struct schedule_run *run,
		       const struct schedule_requests *requests)
{
	const struct schedule_policy *policy = &run->policy;
	const struct schedule_list *list = requests->list;
	struct arena *arena = run->attempt;

	*try = (struct schedule_try){ .run = run, .requests = requests, .list = list };
	try->left = arena_array(arena, list->count, sizeof(*try->left));
	try->active = arena_array(arena, requests->word_count, sizeof(*try->active));
	try->uses = arena_array(arena, list->count, sizeof(*try->uses));
	for (size_t i = 0; i < list->count; i++) {
		try->left[i] = list->shapes[i].count;
		if (list->shapes[i].impossible)
			continue;
		try->active[i / 64] |= UINT64_C(1) << (i % 64);
		try->active_count++;
	}
	run->classes.tries++;
	try->ranked = run->classes.lasting && !policy->starting_last && !policy->fill_gpus &&
		      !policy->shuffle;
	try->types_max = (uint32_t)run->classes.placed_name_count;
	for (size_t i = 0; i < requests->names.count; i++)
		try->types_max += !run->classes.placed_names[requests->names.at[i]];
	try->labels_max = run->classes.placed_selectors ? INT_MAX : requests->labels_max;
	try->trimmed_at = try->active_count;
	schedule_try_make_ratios(try);
}

void schedule_try_add_type(struct schedule_try *try, size_t type)
{
	struct schedule_candidate *c = candidate_new(try, try->run->template_state[type], type);

	c->rest = try->run->template_rest[type];
	c->rank = try->next_rank++;
	heap_add(try, c);
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
	/* A candidate that was removed from its heap is not reviewed. */
	if (!class->candidate->listed)
		class->candidate->fresh = false;
	schedule_candidate_read_first(try, class->candidate);
	if (class->candidate->listed)
		heap_move(try, class->candidate);
	else
		heap_add(try, class->candidate);
}

/* Whether a class that is not a candidate yet could be better than this one. */
static bool may_be_better(const struct schedule_try *try, const struct schedule_class *class,
			  const struct schedule_candidate *c)
{
	if (!try->ranked || c->key.labels < try->labels_max || !c->key.accelerator_ok ||
	    c->key.types < try->types_max)
		return true;
	if (class->minimum > c->key.minimum || class->minimum < c->key.minimum)
		return class->minimum > c->key.minimum;
	return class->average >= c->key.average;
}

/* Adds classes in the order of their ranking until none of the rest can be the best. */
static bool add_next_class(struct schedule_try *try, const struct schedule_candidate *best)
{
	struct schedule_classes *classes = &try->run->classes;
	uint32_t state;

	if (try->next == classes->ranking.count)
		return false;
	state = classes->ranking.at[try->next];
	if (best && !may_be_better(try, &classes->at.at[state], best))
		return false;
	try->next++;
	schedule_try_add_class(try, state);
	return true;
}

static void count_uses(struct schedule_try *try, struct schedule_candidate *c)
{
	for (size_t i = 0; i < c->fill.count; i++) {
		struct schedule_use *use = &try->uses[c->fill.at[i].shape];

		VEC_PUSH(arena_of(try), &use->users, c);
		if (c->fill.at[i].count > use->most)
			use->most = c->fill.at[i].count;
	}
}

struct schedule_candidate *schedule_try_best(struct schedule_try *try, enum schedule_heap_name heap)
{
	while (try->active_count) {
		struct schedule_candidate *best = NULL;
		bool places;

		if (try->heaps[heap].count)
			best = try->heaps[heap].at[0];
		if (!best || best->fresh) {
			if (heap == SCHEDULE_HEAP_NODES && add_next_class(try, best))
				continue;
			return best;
		}
		if (best->bound_at != try->active_count) {
			schedule_try_trim_ratios(try);
			places = schedule_candidate_bound(try, best);
		} else {
			schedule_candidate_fill(try, best);
			places = best->fill.count;
			count_uses(try, best);
		}
		if (places)
			heap_move(try, best);
		else
			schedule_try_drop(try, best);
	}
	return NULL;
}

/* ---- booking ---- */

static int64_t held_units(const struct schedule_candidate *c, uint32_t shape)
{
	if (c->fresh && c->listed)
		for (size_t i = 0; i < c->fill.count; i++)
			if (c->fill.at[i].shape == shape)
				return c->fill.at[i].count;
	return 0;
}

/* Fewer units are left than some fill contains: candidates with such a fill return to their
 * bounds. */
static void review_users(struct schedule_try *try, uint32_t shape)
{
	struct schedule_use *use = &try->uses[shape];
	size_t kept = 0;

	try->stamp++;
	use->most = 0;
	for (size_t i = 0; i < use->users.count; i++) {
		struct schedule_candidate *c = use->users.at[i];
		int64_t units = held_units(c, shape);

		if (units > try->left[shape]) {
			c->fresh = false;
			c->key = c->bound;
			heap_move(try, c);
			continue;
		}
		if (!units || c->stamp == try->stamp)
			continue;
		c->stamp = try->stamp;
		use->users.at[kept++] = c;
		if (units > use->most)
			use->most = units;
	}
	use->users.count = kept;
}

void schedule_try_book(struct schedule_try *try, struct schedule_candidate *c)
{
	size_t count = c->fill.count;

	if (c->type != SCHEDULE_NO_INDEX) {
		c->rank = try->next_rank++;
		heap_move(try, c);
	} else if (!try->run->classes.at.at[c->state].members.count) {
		schedule_try_drop(try, c);
	} else {
		schedule_candidate_read_first(try, c);
		heap_move(try, c);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t shape = c->fill.at[i].shape;

		try->left[shape] -= c->fill.at[i].count;
		CHECK(try->left[shape] >= 0);
		if (!try->left[shape]) {
			try->active[shape / 64] &= ~(UINT64_C(1) << (shape % 64));
			try->active_count--;
		}
		if (try->left[shape] < try->uses[shape].most)
			review_users(try, shape);
	}
}
