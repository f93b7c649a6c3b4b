#include <stdlib.h>

#include "core/schedule/schedule_run.h"

static void find_exhausted(struct schedule_run *run, uint32_t state)
{
	struct schedule_order *order = &run->order;
	struct schedule_exhausted *exhausted;

	while (order->exhausted.count <= state)
		VEC_ADD(run->scratch, &order->exhausted);
	exhausted = &order->exhausted.at[state];
	for (; exhausted->known < order->kept.count; exhausted->known++) {
		size_t i = exhausted->known;

		if (i % 64 == 0)
			VEC_PUSH(run->scratch, &exhausted->words, 0);
		if (!schedule_requests_fit(order->kept.at[i], run, state))
			exhausted->words.at[i / 64] |= UINT64_C(1) << (i % 64);
	}
}

enum { VARIES, NEVER, ALWAYS };

/* Whether all kept lists exhaust the state, or none. */
static int exhausted_by(const struct schedule_run *run, uint32_t state)
{
	const struct schedule_classes *classes = &run->classes;

	if (!run->states.states.at[state].running)
		return NEVER;
	if (state >= classes->at.count)
		return VARIES;
	if (classes->at.at[state].spent)
		return ALWAYS;
	return classes->lasting && classes->at.at[state].ample ? NEVER : VARIES;
}

/* The bits of 64 kept lists: set where the list moves nodes in this state behind the others. */
static uint64_t exhausted_word(struct schedule_run *run, uint32_t state, size_t word)
{
	int by = exhausted_by(run, state);

	if (by != VARIES)
		return by == ALWAYS ? UINT64_MAX : 0;
	find_exhausted(run, state);
	return run->order.exhausted.at[state].words.at[word];
}

static bool same_lists(const struct schedule_run *run, uint32_t a, uint32_t b)
{
	int by = exhausted_by(run, a);

	return a == b || (by != VARIES && by == exhausted_by(run, b));
}

bool schedule_order_before(struct schedule_run *run, uint32_t a, uint32_t b)
{
	const struct schedule_order *order = &run->order;
	const struct schedule_place *first, *second;
	uint32_t states[2];
	size_t since, end;

	if (a >= run->nodes.count || b >= run->nodes.count)
		return a < b;
	first = &order->places.at[a];
	second = &order->places.at[b];
	states[0] = run->states_of.at[a];
	states[1] = run->states_of.at[b];
	since = first->since > second->since ? first->since : second->since;
	end = same_lists(run, states[0], states[1]) ? 0 : order->kept.count;
	while (end > since) {
		size_t word = (end - 1) / 64;
		uint64_t bits = exhausted_word(run, states[0], word);
		uint64_t differ = bits ^ exhausted_word(run, states[1], word);

		differ &= UINT64_MAX >> (63 - (end - 1) % 64);
		if (since > word * 64)
			differ &= UINT64_MAX << (since - word * 64);
		if (differ)
			return !(bits >> (63 - __builtin_clzll(differ)) & 1);
		end = word * 64;
	}
	return first->number < second->number;
}

static int compare_nodes(const void *a, const void *b, void *run)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return schedule_order_before(run, first, second) ? -1 : 1;
}

void schedule_order_settle(struct schedule_run *run)
{
	struct schedule_order *order = &run->order;

	if (order->kept.count > 0 && order->count > 1)
		qsort_r(order->at, order->count, sizeof(*order->at), compare_nodes, run);
	while (order->places.count < run->nodes.count)
		VEC_ADD(run->scratch, &order->places);
	for (size_t i = 0; i < order->count; i++)
		order->places.at[order->at[i]] = (struct schedule_place){ .number = (int64_t)i };
	order->first = 0;
	order->last = (int64_t)order->count;
	order->kept.count = 0;
	for (size_t i = 0; i < order->exhausted.count; i++)
		order->exhausted.at[i].words.count = order->exhausted.at[i].known = 0;
}

void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, uint32_t first_new)
{
	struct schedule_order *order = &run->order;
	uint32_t since;

	VEC_PUSH(run->scratch, &order->kept, requests);
	since = (uint32_t)order->kept.count;
	order->first -= (int64_t)chosen_count;
	for (size_t i = 0; i < chosen_count; i++)
		order->places.at[chosen[i]] =
			(struct schedule_place){ order->first + (int64_t)i, since };
	for (uint32_t node = first_new; node < run->nodes.count; node++) {
		VEC_PUSH(run->scratch, order, node);
		VEC_PUSH(run->scratch, &order->places,
			 ((struct schedule_place){ order->last++, since }));
	}
}
