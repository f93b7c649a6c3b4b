#include "kube/kube_queue.h"

#include <stdbool.h>

#include "base/check.h"
#include "base/memory.h"

static struct kube_flow *flow_for(struct kube_queue *queue, const char *key)
{
	if (!key)
		return &queue->own;
	return map_make(&queue->flows, key, sizeof(struct kube_flow));
}

/* Links the flow into the due ones, at the end if it was not due, or unlinks it; frees a flow
 * without calls. */
static void flow_changed(struct kube_queue *queue, struct kube_flow *flow)
{
	bool is_due = flow->waiting.count > 0 && flow->in_flight < KUBE_FLOW_IN_FLIGHT_MAX;

	if (!flow->key)
		return;
	if (!is_due)
		list_remove(&flow->due);
	else if (!flow->due.list)
		list_add(&queue->due, &flow->due);
	if (flow->waiting.count > 0 || flow->in_flight > 0)
		return;
	map_drop(&queue->flows, flow->key, NULL);
}

void kube_queue_done(struct kube_queue *queue)
{
	CHECK(queue->calls.count == 0 && queue->flows.count == 0);
	map_done(&queue->flows);
}

void kube_queue_add(struct kube_queue *queue, struct kube_queued *call, const char *flow)
{
	call->flow = flow_for(queue, flow);
	list_add(&queue->calls, &call->item);
	list_add(&call->flow->waiting, &call->place);
	flow_changed(queue, call->flow);
}

void kube_queue_remove(struct kube_queue *queue, struct kube_queued *call)
{
	list_remove(&call->item);
	list_remove(&call->place);
	flow_changed(queue, steal(&call->flow));
}

size_t kube_queue_in_flight(const struct kube_queue *queue)
{
	return queue->own.in_flight + queue->clusters_in_flight;
}

struct kube_queued *kube_queue_next(const struct kube_queue *queue)
{
	const struct kube_flow *flow = &queue->own;

	if (kube_queue_in_flight(queue) >= KUBE_IN_FLIGHT_MAX)
		return NULL;
	if (flow->waiting.count == 0) {
		if (queue->clusters_in_flight >= KUBE_CLUSTERS_IN_FLIGHT_MAX)
			return NULL;
		flow = LIST_MEMBER(queue->due.first, struct kube_flow, due);
	}
	return flow ? LIST_MEMBER(flow->waiting.first, struct kube_queued, place) : NULL;
}

void kube_queue_sent(struct kube_queue *queue, struct kube_queued *call)
{
	struct kube_flow *flow = call->flow;

	list_remove(&call->item);
	list_remove(&call->place);
	flow->in_flight++;
	queue->clusters_in_flight += flow->key ? 1 : 0;
	list_remove(&flow->due);
	flow_changed(queue, flow);
}

void kube_queue_ended(struct kube_queue *queue, struct kube_queued *call)
{
	struct kube_flow *flow = steal(&call->flow);

	flow->in_flight--;
	queue->clusters_in_flight -= flow->key ? 1 : 0;
	flow_changed(queue, flow);
}
