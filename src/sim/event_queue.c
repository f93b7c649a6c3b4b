#include "sim/event_queue.h"

#include "base/memory.h"

void event_queue_done(struct event_queue *queue)
{
	memory_free(queue->heap);
	*queue = (struct event_queue){ .heap = NULL };
}

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	bool pass_a = a->kind == SIM_EVENT_PASS, pass_b = b->kind == SIM_EVENT_PASS;

	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms;
	if (pass_a != pass_b)
		return pass_b;
	if (pass_a && a->object != b->object)
		return a->object < b->object; /* they are in one array */
	return a->sequence < b->sequence;
}

void event_queue_push(struct event_queue *queue, int64_t at_ms, enum sim_event_kind kind,
		      void *object, uint64_t id)
{
	struct sim_event event = { at_ms, queue->sequence++, kind, object, id };
	size_t i = queue->count++;

	if (i == queue->capacity) {
		queue->capacity = queue->capacity > 0 ? queue->capacity * 2 : 64;
		queue->heap = memory_resize(queue->heap, queue->capacity, sizeof(*queue->heap));
	}
	for (; i > 0 && is_before(&event, &queue->heap[(i - 1) / 2]); i = (i - 1) / 2)
		queue->heap[i] = queue->heap[(i - 1) / 2];
	queue->heap[i] = event;
	queue->passes += kind == SIM_EVENT_PASS;
	queue->interruptions += kind == SIM_EVENT_SPOT;
}

bool event_queue_pop(struct event_queue *queue, struct sim_event *ret_event)
{
	size_t i = 0;

	if (queue->count == 0)
		return false;
	*ret_event = queue->heap[0];
	queue->passes -= ret_event->kind == SIM_EVENT_PASS;
	queue->interruptions -= ret_event->kind == SIM_EVENT_SPOT;
	struct sim_event last = queue->heap[--queue->count];
	for (size_t child = 1; child < queue->count; child = 2 * i + 1) {
		if (child + 1 < queue->count &&
		    is_before(&queue->heap[child + 1], &queue->heap[child]))
			child++;
		if (!is_before(&queue->heap[child], &last))
			break;
		queue->heap[i] = queue->heap[child];
		i = child;
	}
	queue->heap[i] = last;
	return true;
}
