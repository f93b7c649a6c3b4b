#include "ctl/queue/turns.h"

#include "base/check.h"
#include "base/memory.h"
#include "net/work.h"

struct turns {
	struct loop *loop;
	struct loop_timer *timer; /* set while the queue is not empty */
	struct list waiting;
};

static void begin_some(void *context)
{
	struct turns *turns = context;

	if (work_count_quick(turns->loop) >= TURNS_JOBS_MAX) {
		loop_timer_start(turns->timer, TURNS_HELD_MS);
		return;
	}
	/* A pass that asks again from inside its callback is queued behind the others. */
	for (size_t begun = 0; turns->waiting.first && begun < TURNS_BEGIN_MAX; begun++) {
		struct turn *turn = LIST_MEMBER(turns->waiting.first, struct turn, item);

		turns_leave(turn);
		turn->begin(turn->context);
	}
	if (turns->waiting.first)
		loop_timer_start(turns->timer, 0);
}

struct turns *turns_new(struct loop *loop)
{
	struct turns *turns = memory_alloc(sizeof(*turns));

	turns->loop = loop;
	turns->timer = loop_timer_new(loop, begin_some, turns);
	return turns;
}

void turns_free(struct turns *turns)
{
	if (!turns)
		return;
	CHECK(!turns->waiting.first);
	loop_timer_free(turns->timer);
	memory_free(turns);
}

void turns_ask(struct turns *turns, struct turn *turn, loop_callback *begin, void *context)
{
	if (turns_waits(turn))
		return;
	turn->begin = begin;
	turn->context = context;
	list_add(&turns->waiting, &turn->item);
	if (turns->waiting.count == 1)
		loop_timer_start(turns->timer, 0);
}

void turns_leave(struct turn *turn)
{
	list_remove(&turn->item);
}

bool turns_waits(const struct turn *turn)
{
	return turn->item.list != NULL;
}

size_t turns_waiting(const struct turns *turns)
{
	return turns->waiting.count;
}
