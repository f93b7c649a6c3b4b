/* Which workers end so that a unit fits.
 *
 * Workers are added in the order in which queues lose (the lowest priority, then the largest share,
 * compared again after each worker), idle ones before busy ones, until the unit fits; then each one
 * without which it still fits is put back, the last one added first. So the set is minimal, and
 * busy workers are in it only if the idle ones do not suffice. With places this also finds the one
 * Node that a large worker needs: workers on other Nodes are put back.
 *
 * Example: a gang of 2 on one Node; idle workers a1 on Node 1, b1 and b2 on Node 2. Added are a1,
 * b1, b2; then it fits. Without b1 it does not fit; without a1 it does. b1 and b2 are released.
 *
 * Cost: O(Q) for each worker added; with places at most LOOK_MAX workers, and their square in
 * calls. */
#include "core/share/share_work.h"

#define LOOK_MAX 256
/* Workers looked at in vain for the units of one queue in one call: only its own units wait
 * longer. */
#define IN_VAIN_MAX 4096

/* The unit that needs room. */
struct need {
	size_t unit; /* SHARE_NONE: the pool itself is too small */
	const struct share_unit *given;
	const struct share_account *account;
	bool guaranteed, reserved;
	size_t looked; /* workers, so far */
	size_t picked; /* of them, in work->picked */
};

/* ---- which workers ---- */

/* Work may have the idle worker of another cluster of its queue: the queue has as much afterwards. */
static bool may_replace(const struct need *need, const struct share_account *loser)
{
	return need->unit != SHARE_NONE && loser == need->account && !need->given->requested;
}

/* Whether it might lose any worker: without a look at each. */
static bool may_lose_any(const struct need *need, const struct share_account *loser)
{
	if (may_replace(need, loser))
		return true;
	if (loser->usage - loser->coming <= loser->guaranteed)
		return false;
	if (need->unit == SHARE_NONE || need->guaranteed || need->reserved ||
	    loser == need->account)
		return true;
	if (loser->queue->priority != need->account->queue->priority)
		return loser->queue->priority < need->account->queue->priority;
	return share_compare(share_dominant(need->account, 0), share_dominant(loser, 0)) < 0;
}

/* It has what is reserved for the unit, or as much: its work has begun since, its queue gives it back, and has no
 * smaller share. */
static bool is_lent(const struct share_work *work, const struct need *need,
		    const struct share_account *loser, const struct share_worker *worker)
{
	return need->reserved && worker->since_ms > work->pool->reserved_since_ms &&
	       share_may_use_reserved(work, loser);
}

/* Whether this one might end, apart from shares and priorities. */
static bool may_end(const struct share_work *work, const struct need *need,
		    const struct share_account *loser, const struct share_worker *worker)
{
	bool replaced = (!worker->needed || worker->requested) && may_replace(need, loser);

	if (!replaced && loser->usage - loser->coming - worker->amount < loser->guaranteed)
		return false;
	if (need->unit == SHARE_NONE)
		return true;
	if (worker->state == SHARE_BUSY && !need->guaranteed && !is_lent(work, need, loser, worker))
		return false;
	return worker->cluster != need->given->cluster &&
	       (need->guaranteed || !work->wins[worker->cluster]);
}

static bool shares_allow(const struct share_work *work, const struct need *need,
			 const struct share_account *loser, const struct share_worker *worker)
{
	if (need->unit == SHARE_NONE || need->guaranteed)
		return true;
	if (loser == need->account)
		return !worker->needed || (worker->requested && may_replace(need, loser));
	if (need->reserved && (!worker->needed || is_lent(work, need, loser, worker)))
		return true;
	if (loser->queue->priority != need->account->queue->priority)
		return loser->queue->priority < need->account->queue->priority;
	if (!worker->needed)
		return share_compare(share_dominant(need->account, 0), share_dominant(loser, 0)) <
		       0;
	return share_compare(share_dominant(loser, -worker->amount),
			     share_dominant(need->account, need->given->amount)) >= 0;
}

/* Moves next_worker to the next one that may end for this need; false: none does. It does not pass
 * one that the shares forbid: those after it are needed as well, and only much smaller ones could
 * be allowed, or lent ones. */
static bool find_next(const struct share_work *work, struct need *need, struct share_account *loser,
		      bool busy)
{
	if (!may_lose_any(need, loser))
		return false;
	for (; loser->next_worker < loser->worker_count; loser->next_worker++) {
		size_t index = loser->workers[loser->next_worker];
		const struct share_worker *worker = &work->pool->workers[index];

		if (worker->state == SHARE_BUSY && !busy)
			return false;
		need->looked++;
		if (work->result->workers[index].action != SHARE_STAY ||
		    (worker->state == SHARE_BUSY) != busy || !may_end(work, need, loser, worker))
			continue;
		if (shares_allow(work, need, loser, worker))
			return true;
		if (!need->reserved)
			return false;
	}
	return false;
}

static bool loses_before(const struct share_account *a, const struct share_account *b)
{
	int order;

	if (a->queue->priority != b->queue->priority)
		return a->queue->priority < b->queue->priority;
	order = share_compare(share_dominant(a, 0), share_dominant(b, 0));
	if (order != 0)
		return order > 0;
	return a->rank > b->rank;
}

static size_t pick(const struct share_work *work, struct need *need, bool busy)
{
	struct share_account *first = NULL;

	for (size_t i = 0; i < work->pool->queue_count; i++) {
		struct share_account *loser = &work->accounts[i];

		if ((!first || loses_before(loser, first)) && find_next(work, need, loser, busy))
			first = loser;
	}
	return first ? first->workers[first->next_worker++] : SHARE_NONE;
}

/* ---- the trial ---- */

static void end_worker(struct share_work *work, size_t index)
{
	const struct share_worker *worker = &work->pool->workers[index];
	struct share_account *account = share_account_of(work, worker->cluster);
	bool busy = worker->state == SHARE_BUSY;

	account->leaving += worker->amount;
	share_charge(work, account, -worker->amount, 0);
	work->endable[busy] -= worker->amount;
	work->result->workers[index].action = busy ? SHARE_DRAIN : SHARE_RELEASE;
	account->fell = work->usage_fell = true;
}

static void put_back(struct share_work *work, size_t index)
{
	const struct share_worker *worker = &work->pool->workers[index];
	struct share_account *account = share_account_of(work, worker->cluster);

	account->leaving -= worker->amount;
	share_charge(work, account, worker->amount, 0);
	work->endable[worker->state == SHARE_BUSY] += worker->amount;
	work->result->workers[index].action = SHARE_STAY;
}

static bool has_room(const struct share_work *work, const struct need *need)
{
	return need->given->amount <= share_room(work, need->account, need->guaranteed, work->soon);
}

static bool fits(const struct share_work *work, const struct need *need)
{
	const struct share_places *places = work->pool->places;

	return has_room(work, need) && (!places || places->take(places->context, need->unit, true));
}

/* The same with the picked workers that still end, from the state of places before all of them. */
static bool fits_without_others(const struct share_work *work, const struct need *need, size_t mark)
{
	const struct share_places *places = work->pool->places;

	if (!has_room(work, need))
		return false;
	if (!places)
		return true;
	places->rollback(places->context, mark);
	for (size_t i = 0; i < need->picked; i++)
		if (work->result->workers[work->picked[i]].action != SHARE_STAY)
			places->leave(places->context, work->picked[i]);
	return places->take(places->context, need->unit, true);
}

/* 1: busy workers may end, after the idle ones. */
static int may_end_busy(const struct need *need)
{
	return need->guaranteed || need->reserved ? 1 : 0;
}

/* Ends workers until the unit fits. */
static bool gather(struct share_work *work, struct need *need)
{
	const struct share_places *places = work->pool->places;
	size_t limit = places ? LOOK_MAX : work->pool->worker_count, index;

	for (int busy = 0; busy <= may_end_busy(need); busy++) {
		while (need->picked < limit && (index = pick(work, need, busy)) != SHARE_NONE) {
			work->picked[need->picked++] = index;
			end_worker(work, index);
			if (places)
				places->leave(places->context, index);
			if (fits(work, need))
				return true;
		}
	}
	return false;
}

static bool gather_fewest(struct share_work *work, struct need *need, size_t mark)
{
	if (!gather(work, need))
		return false;
	for (size_t i = need->picked - 1; i > 0; i--) {
		put_back(work, work->picked[i - 1]);
		if (!fits_without_others(work, need, mark))
			end_worker(work, work->picked[i - 1]);
	}
	return fits_without_others(work, need, mark);
}

static void start_trial(struct share_work *work)
{
	for (size_t i = 0; i < work->pool->queue_count; i++)
		work->accounts[i].next_worker = work->accounts[i].first_worker;
}

/* The first workers that can end no more in this step are not looked at again. */
static void skip_first(const struct share_work *work, const struct need *need,
		       struct share_account *account)
{
	for (; account->first_worker < account->worker_count; account->first_worker++) {
		size_t index = account->workers[account->first_worker];

		if (work->result->workers[index].action == SHARE_STAY &&
		    (need->guaranteed || !work->wins[work->pool->workers[index].cluster]))
			return;
	}
}

static void order_end(const struct share_work *work, const struct need *need, size_t index)
{
	struct share_order *order = &work->result->workers[index];
	struct share_account *account = share_account_of(work, work->pool->workers[index].cluster);

	order->unit = need->unit;
	if (order->action == SHARE_DRAIN)
		order->deadline_ms = work->pool->now_ms + account->queue->drain_after_ms;
	skip_first(work, need, account);
}

/* In vain it leaves everything as it was. */
static bool try_to_end(struct share_work *work, struct need *need)
{
	const struct share_places *places = work->pool->places;
	size_t mark = places ? places->mark(places->context) : 0;
	bool found = gather_fewest(work, need, mark);

	for (size_t i = 0; i < need->picked; i++) {
		size_t index = work->picked[i];

		if (work->result->workers[index].action == SHARE_STAY)
			continue;
		if (found)
			order_end(work, need, index);
		else
			put_back(work, index);
	}
	if (places && !found)
		places->rollback(places->context, mark);
	return found;
}

bool share_make_room(struct share_work *work, size_t unit, bool guaranteed)
{
	const struct share_unit *given = &work->pool->units[unit];
	struct share_account *account = share_account_of(work, given->cluster);
	struct need need = { unit, given, account, guaranteed, unit == work->reserved, 0, 0 };
	int64_t most = work->endable[0] + (may_end_busy(&need) ? work->endable[1] : 0);

	if (given->amount >= account->hopeless || account->in_vain >= IN_VAIN_MAX ||
	    (!guaranteed && share_reserved_from(work, account) > 0) ||
	    given->amount > share_room(work, account, guaranteed, work->soon) + most)
		return false;
	start_trial(work);
	if (try_to_end(work, &need))
		return true;
	account->in_vain += need.looked;
	/* Work may have more than a request. */
	if (!given->requested && (need.picked == 0 || !work->pool->places))
		account->hopeless = given->amount;
	return false;
}

void share_shrink(struct share_work *work)
{
	const struct share_places *places = work->pool->places;
	struct need need = { .unit = SHARE_NONE };
	size_t index;

	start_trial(work);
	while (work->soon < 0 && (index = pick(work, &need, false)) != SHARE_NONE) {
		end_worker(work, index);
		order_end(work, &need, index);
		if (places)
			places->leave(places->context, index);
	}
}
