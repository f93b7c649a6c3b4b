#include "ctl/queue/work_queue.h"

#include "base/check.h"
#include "base/memory.h"
#include "net/work.h"

struct queue {
	struct loop *loop;
	struct loop_timer *timer; /* set while the queue is not empty */
	struct list waiting;
};

static void begin_some(void *context)
{
	struct queue *queue = context;

	if (work_count_quick(queue->loop) >= TURNS_JOBS_MAX) {
		loop_timer_start(queue->timer, TURNS_HELD_MS);
		return;
	}
	/* A pass that asks again from inside its callback is queued behind the others. */
	for (size_t begun = 0; begun < TURNS_BEGIN_MAX; begun++) {
		struct turn *turn;

		if (!queue->waiting.first || (begun > 0 && loop_is_spent(queue->loop)))
			break;
		turn = LIST_MEMBER(queue->waiting.first, struct turn, item);
		work_queue_leave(turn);
		turn->begin(turn->context);
	}
	if (queue->waiting.first)
		loop_timer_start(queue->timer, 0);
}

struct queue *work_queue_new(struct loop *loop)
{
	struct queue *queue = memory_alloc(sizeof(*queue));

	queue->loop = loop;
	queue->timer = loop_timer_new(loop, begin_some, queue);
	return queue;
}

void work_queue_free(struct queue *queue)
{
	if (!queue)
		return;
	CHECK(!queue->waiting.first);
	loop_timer_free(queue->timer);
	memory_free(queue);
}

void work_queue_ask(struct queue *queue, struct turn *turn, loop_callback *begin, void *context)
{
	if (work_queue_waits(turn))
		return;
	turn->begin = begin;
	turn->context = context;
	list_add(&queue->waiting, &turn->item);
	if (queue->waiting.count == 1)
		loop_timer_start(queue->timer, 0);
}

void work_queue_leave(struct turn *turn)
{
	list_remove(&turn->item);
}

bool work_queue_waits(const struct turn *turn)
{
	return turn->item.list != NULL;
}

size_t work_queue_waiting(const struct queue *queue)
{
	return queue->waiting.count;
}
