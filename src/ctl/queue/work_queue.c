#include "ctl/queue/work_queue.h"

#include "base/check.h"
#include "base/memory.h"
#include "net/work.h"

struct queue {
	struct loop *loop;
	struct loop_timer *timer; /* set while the queue is not empty */
	struct list waiting;
};

/* The first one that may begin; NULL: none may. */
static struct turn *next_turn(const struct queue *queue, bool held)
{
	LIST_EACH(struct turn, turn, &queue->waiting, item)
		if (!held || turn->small)
			return turn;
	return NULL;
}

static void begin_some(void *context)
{
	struct queue *queue = context;
	bool held = work_count_quick(queue->loop) >= TURNS_JOBS_MAX;
	struct turn *turn;

	/* A pass that asks again from inside its callback is queued behind the others. */
	for (size_t begun = 0; begun < TURNS_BEGIN_MAX && (turn = next_turn(queue, held));
	     begun++) {
		if (begun > 0 && loop_is_spent(queue->loop))
			break;
		work_queue_leave(turn);
		turn->begin(turn->context);
	}
	if (queue->waiting.first)
		loop_timer_start(queue->timer, held && !next_turn(queue, held) ? TURNS_HELD_MS : 0);
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
	if (queue->waiting.count == 1 || turn->small)
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
