#include "core/schedule/schedule_run.h"

void schedule_order_number(struct schedule_run *run)
{
	while (run->places.count < run->nodes.count)
		VEC_ADD(run->scratch, &run->places);
	for (size_t i = 0; i < run->order.count; i++)
		run->places.at[run->order.at[i]] = (uint32_t)i;
}

/* Whether no request of the list would fit into the nodes of this running state. */
static bool exhausts(struct schedule_run *run, const struct schedule_requests *requests,
		     uint32_t state)
{
	if (!run->states.states.at[state].running)
		return false;
	if (state < run->classes.at.count && run->classes.at.at[state].spent)
		return true;
	return !schedule_requests_fit(requests, run, state);
}

void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count)
{
	enum { UNKNOWN, FITS, EXHAUSTED };
	size_t old = run->order.count, at = chosen_count, behind = 0;
	uint32_t *others = arena_array(run->attempt, old + 1, sizeof(*others));
	uint8_t *states = arena_array(run->attempt, run->states.states.count, sizeof(*states));

	for (size_t i = 0; i < chosen_count; i++)
		run->places.at[chosen[i]] = UINT32_MAX;
	for (size_t i = 0; i < old; i++)
		others[i] = run->order.at[i];
	for (size_t i = 0; i < chosen_count; i++)
		run->order.at[i] = chosen[i];
	for (size_t i = 0; i < old; i++) {
		uint32_t node = others[i], state = run->states_of.at[node];

		if (run->places.at[node] == UINT32_MAX)
			continue;
		if (states[state] == UNKNOWN)
			states[state] = exhausts(run, requests, state) ? EXHAUSTED : FITS;
		if (states[state] == EXHAUSTED)
			others[behind++] = node;
		else
			run->order.at[at++] = node;
	}
	for (size_t i = 0; i < behind; i++)
		run->order.at[at + i] = others[i];
	for (uint32_t node = (uint32_t)run->places.count; node < run->nodes.count; node++)
		VEC_PUSH(run->scratch, &run->order, node);
	schedule_order_number(run);
}
