/* The steps of the order in share.h. Each step is a heap of the accounts that still have units
 * to look at; the first one's next unit is granted, made to come, or passed over.
 *
 * A unit that is passed over is not looked at again in its step: the room of a borrower only falls
 * during a step, because each unit takes at least as much from `free` and `soon` as it lowers
 * `kept`. So a step costs O(log Q) for each unit. Only a release of a larger worker than needed
 * leaves room; units that were passed over before see it in the next call.
 *
 * Example: 8 free, equal weights, no guarantees, a asks for 3+3+3, b for 1+1+1+1. In turn: 3 for a
 * (a tie, by name), 1, 1, 1 for b; now both have 3; the next 3 of a do not fit 2; 1 for b. One GPU
 * stays free. */
#include "core/share/share_work.h"

struct heap {
	const struct share_work *work;
	struct share_account **at;
	size_t count;
	bool guaranteed; /* step 1 */
};

/* ---- the order of accounts ---- */

static struct share_fraction key_of(const struct heap *heap, const struct share_account *account)
{
	if (heap->guaranteed)
		return (struct share_fraction){ account->usage, account->guaranteed };
	return share_dominant(account, 0);
}

static int64_t since_of(const struct heap *heap, const struct share_account *account)
{
	if (account->next_unit == account->unit_count)
		return INT64_MAX;
	return heap->work->pool->units[account->units[account->next_unit]].since_ms;
}

static bool is_before(const struct heap *heap, const struct share_account *a,
		      const struct share_account *b)
{
	int64_t since_a, since_b;
	int order;

	if (!heap->guaranteed && a->queue->priority != b->queue->priority)
		return a->queue->priority > b->queue->priority;
	order = share_compare(key_of(heap, a), key_of(heap, b));
	if (order != 0)
		return order < 0;
	since_a = since_of(heap, a);
	since_b = since_of(heap, b);
	if (since_a != since_b)
		return since_a < since_b;
	return a->rank < b->rank;
}

/* Those above it are in order. */
static void sift_up(struct heap *heap, size_t index)
{
	struct share_account *moved = heap->at[index];

	for (; index > 0 && is_before(heap, moved, heap->at[(index - 1) / 2]);
	     index = (index - 1) / 2)
		heap->at[index] = heap->at[(index - 1) / 2];
	heap->at[index] = moved;
	moved->fell = false;
}

/* After a change of keys towards the front. */
static void restore_order(struct heap *heap)
{
	for (size_t i = 0; i < heap->count; i++)
		if (heap->at[i]->fell)
			sift_up(heap, i);
}

static void push(struct heap *heap, struct share_account *account)
{
	heap->at[heap->count] = account;
	sift_up(heap, heap->count++);
}

static struct share_account *pop(struct heap *heap)
{
	struct share_account *first = heap->at[0], *moved = heap->at[--heap->count];
	size_t index = 0;

	for (size_t child = 1; child < heap->count; child = 2 * index + 1) {
		if (child + 1 < heap->count &&
		    is_before(heap, heap->at[child + 1], heap->at[child]))
			child++;
		if (!is_before(heap, heap->at[child], moved))
			break;
		heap->at[index] = heap->at[child];
		index = child;
	}
	heap->at[index] = moved;
	return first;
}

/* ---- one unit ---- */

static bool has_place(const struct share_work *work, size_t unit, bool soon)
{
	const struct share_places *places = work->pool->places;

	return !places || places->take(places->context, unit, soon);
}

static bool fits_now(const struct share_work *work, const struct share_account *account,
		     size_t unit, bool guaranteed)
{
	int64_t amount = work->pool->units[unit].amount;

	return amount <= share_room(work, account, guaranteed, work->free) &&
	       amount <= share_room(work, account, guaranteed, work->soon) &&
	       account->usage + account->leaving + amount <= account->queue->maximum &&
	       has_place(work, unit, false);
}

static bool fits_soon(struct share_work *work, const struct share_account *account, size_t unit,
		      bool guaranteed)
{
	if (work->pool->units[unit].amount <= share_room(work, account, guaranteed, work->soon) &&
	    has_place(work, unit, true))
		return true;
	return share_make_room(work, unit, guaranteed);
}

static bool take(struct share_work *work, struct share_account *account, size_t unit,
		 bool guaranteed)
{
	const struct share_unit *given = &work->pool->units[unit];

	if (fits_now(work, account, unit, guaranteed)) {
		work->free -= given->amount;
		work->result->units[unit] = SHARE_GRANTED;
	} else if (!work->lends && fits_soon(work, account, unit, guaranteed)) {
		account->coming += given->amount;
		work->result->units[unit] = SHARE_COMING;
	} else {
		return false;
	}
	share_charge(work, account, given->amount, 0);
	work->wins[given->cluster] = true;
	if (unit == work->reserved)
		work->reserved = SHARE_NONE;
	return true;
}

/* In step 1: it is left to step 2, where the units are in the order of the queue. With a claim there is none. */
static bool is_left(const struct share_unit *given, struct share_account *account)
{
	if (account->usage + account->claim + given->amount > account->guaranteed) {
		account->borrows |= !given->requested;
		return true;
	}
	return given->requested && account->borrows && account->claim == 0;
}

static bool look_at(struct share_work *work, struct share_account *account, size_t unit,
		    bool guaranteed)
{
	const struct share_unit *given = &work->pool->units[unit];
	int64_t amount = given->amount;

	if (work->result->units[unit] >= SHARE_COMING || (work->lends && given->requested))
		return false;
	if (account->usage + amount > account->queue->maximum) {
		work->result->units[unit] = SHARE_AT_MAXIMUM;
		return false;
	}
	if (guaranteed && is_left(given, account))
		return false;
	if (take(work, account, unit, guaranteed))
		return true;
	if (guaranteed)
		share_charge(work, account, 0, amount);
	return false;
}

/* Nothing of its queue passes it: it has the reservation, or waits below the maximum for as
 * long. */
static bool is_passed_by_none(const struct share_work *work, size_t unit)
{
	return unit == work->reserved || (work->result->units[unit] == SHARE_AT_MAXIMUM &&
					  share_waits_long(work->pool, unit));
}

/* Gives the account its next unit that fits; false: it has none. */
static bool give_next(struct share_work *work, struct share_account *account, bool guaranteed)
{
	while (account->next_unit < account->unit_count) {
		size_t unit = account->units[account->next_unit++];

		if (look_at(work, account, unit, guaranteed))
			return true;
		if (is_passed_by_none(work, unit))
			return false;
	}
	return false;
}

/* ---- the steps ---- */

static bool takes_part(const struct share_work *work, const struct share_account *account,
		       bool guaranteed)
{
	if (account->unit_count == 0)
		return false;
	if (guaranteed)
		return account->guaranteed > 0;
	return account->claim == 0 && (!work->lends || share_may_use_reserved(work, account));
}

static void run_step(struct share_work *work, struct heap *heap)
{
	for (size_t i = 0; i < work->pool->queue_count; i++) {
		struct share_account *account = &work->accounts[i];

		account->next_unit = 0;
		account->hopeless = INT64_MAX;
		if (takes_part(work, account, heap->guaranteed))
			push(heap, account);
	}
	while (heap->count > 0) {
		struct share_account *first = pop(heap);
		bool given;

		work->usage_fell = false;
		given = give_next(work, first, heap->guaranteed);
		if (work->usage_fell)
			restore_order(heap);
		if (given)
			push(heap, first);
	}
}

void share_fill(struct share_work *work, struct arena *arena)
{
	struct heap heap = { .work = work,
			     .at = arena_array(arena, work->pool->queue_count,
					       sizeof(struct share_account *)),
			     .guaranteed = true };

	run_step(work, &heap);
	heap.guaranteed = false;
	run_step(work, &heap);
	work->lends = work->reserved != SHARE_NONE;
	if (work->lends)
		run_step(work, &heap);
}
