#include "ctl/turns.h"

#include "base/check.h"
#include "base/memory.h"

struct turns {
	struct loop_timer *timer; /* set while somebody waits */
	struct turn *first, *last;
	size_t count;
};

static void begin_some(void *context)
{
	struct turns *turns = context;

	/* Who asks again from inside stands behind the others. */
	for (size_t begun = 0; turns->first && begun < TURNS_BEGIN_MAX; begun++) {
		struct turn *turn = turns->first;

		turns_leave(turn);
		turn->begin(turn->context);
	}
	if (turns->first)
		loop_timer_start(turns->timer, 0);
}

struct turns *turns_new(struct loop *loop)
{
	struct turns *turns = memory_alloc(sizeof(*turns));

	turns->timer = loop_timer_new(loop, begin_some, turns);
	return turns;
}

void turns_free(struct turns *turns)
{
	if (!turns)
		return;
	CHECK(!turns->first);
	loop_timer_free(turns->timer);
	memory_free(turns);
}

void turns_ask(struct turns *turns, struct turn *turn, loop_callback *begin, void *context)
{
	if (turn->turns)
		return;
	*turn = (struct turn){
		.turns = turns, .previous = turns->last, .begin = begin, .context = context
	};
	if (turns->last)
		turns->last->next = turn;
	else
		turns->first = turn;
	turns->last = turn;
	if (turns->count++ == 0)
		loop_timer_start(turns->timer, 0);
}

void turns_leave(struct turn *turn)
{
	struct turns *turns = turn->turns;

	if (!turns)
		return;
	if (turn->previous)
		turn->previous->next = turn->next;
	else
		turns->first = turn->next;
	if (turn->next)
		turn->next->previous = turn->previous;
	else
		turns->last = turn->previous;
	turn->turns = NULL;
	turns->count--;
}

size_t turns_waiting(const struct turns *turns)
{
	return turns->count;
}
