#include "core/schedule/schedule_order.h"

#include "core/schedule/schedule_requests.h"
#include "core/schedule/schedule_run.h"

static void put(struct schedule_order *order, uint32_t node)
{
	order->places.at[node] = (uint32_t)(order->at - order->cells + (ptrdiff_t)order->count);
	order->at[order->count++] = node;
}

/* Whether the node moves behind the others. sorts: by state, 0 unknown, 1 stays, 2 moves. */
static bool is_exhausted(struct schedule_run *run, const struct schedule_requests *requests,
			 uint32_t state, uint8_t *sorts)
{
	if (!run->states.states.at[state].running)
		return false;
	if (state < run->classes.at.count && run->classes.at.at[state].spent)
		return true;
	if (!sorts[state])
		sorts[state] = schedule_requests_fit(requests, run, state) ? 1 : 2;
	return sorts[state] == 2;
}

/* Copies the list without holes and with free cells at both ends. Exhausted nodes move behind the
 * rest, before the nodes that the same requests added. */
static void copy(struct schedule_run *run, size_t room)
{
	struct schedule_order *order = &run->order, old = *order;
	size_t moved_count = 0, end = old.pending ? old.count - old.added : 0;
	uint32_t *moved = arena_array(run->attempt, end + 1, sizeof(*moved));
	uint8_t *sorts = arena_array(run->attempt, run->states.states.count + 1, 1);

	if (old.room < 3 * (old.count + room) + 64) {
		order->room = 6 * (old.count + room) + 64;
		old.spare = arena_array(run->scratch, 2 * order->room, sizeof(*old.spare));
		old.cells = old.spare + order->room;
	}
	order->cells = old.spare;
	order->spare = old.cells;
	order->at = order->cells + order->room / 3;
	order->count = 0;
	for (size_t i = 0; i < old.count; i++) {
		uint32_t node = old.at[i];

		if (i == end)
			for (size_t j = 0; j < moved_count; j++)
				put(order, moved[j]);
		if (node == SCHEDULE_ID_NONE)
			continue;
		if (i >= old.chosen && i < end &&
		    is_exhausted(run, old.requests, run->states_of.at[node], sorts))
			moved[moved_count++] = node;
		else
			put(order, node);
	}
	if (end == old.count)
		for (size_t j = 0; j < moved_count; j++)
			put(order, moved[j]);
	order->capacity = order->room - order->room / 3;
	order->pending = false;
}

void schedule_order_settle(struct schedule_run *run)
{
	copy(run, 0);
}

void schedule_order_begin(struct schedule_run *run)
{
	run->order.pending = false;
	while (run->order.places.count < run->nodes.count)
		VEC_PUSH(run->scratch, &run->order.places, 0);
	copy(run, 0);
}

void schedule_order_prepare(struct schedule_run *run, const struct schedule_requests *requests)
{
	if (run->order.pending && run->order.requests->needs != requests->needs)
		copy(run, 0);
}

void schedule_order_keep(struct schedule_run *run, const struct schedule_requests *requests,
			 const uint32_t *chosen, size_t chosen_count, uint32_t first_new)
{
	struct schedule_order *order = &run->order;
	size_t added = run->nodes.count - first_new;

	if ((size_t)(order->at - order->cells) < chosen_count ||
	    order->count + added > order->capacity)
		copy(run, chosen_count + added);
	while (order->places.count < run->nodes.count)
		VEC_PUSH(run->scratch, &order->places, 0);
	for (size_t i = chosen_count; i-- > 0;) {
		order->cells[order->places.at[chosen[i]]] = SCHEDULE_ID_NONE;
		order->at--;
		order->count++;
		order->capacity++;
		order->at[0] = chosen[i];
		order->places.at[chosen[i]] = (uint32_t)(order->at - order->cells);
	}
	for (uint32_t node = first_new; node < run->nodes.count; node++)
		put(order, node);
	order->pending = true;
	order->requests = requests;
	order->chosen = chosen_count;
	order->added = added;
	if (requests->needs == SCHEDULE_ID_NONE)
		copy(run, 0);
}
