/* Whose pass begins next. Only so many passes begin in one turn of the loop; the others wait in the
 * order in which they asked. So a turn stays short, however many RayClusters are due at once: sockets are
 * read and deadlines are looked at in between. Without this, more work than the processor can do
 * makes turns longer than the deadlines of answers that have long come, and nothing succeeds any
 * more; with it every cluster is read less often, and all goes on.
 * A cluster has one place, and behind all others when it asks again, so each waits for at most one
 * pass of each other cluster.
 * How long a pass takes does not matter here: a head that hangs delays no other cluster. Jobs on other threads
 * (net/work.h) do: each one that waits holds the memory of its pass. While TURNS_JOBS_MAX of them are not
 * done, no pass begins. Slow jobs do not count: there are few, and they must not keep the others waiting.
 * Owned by ctl/controller. Must not know what a pass is. */
#ifndef CTL_QUEUE_TURNS_H
#define CTL_QUEUE_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "net/loop.h"

/* Each takes about 0.3 ms of the processor, its answer included. */
#define TURNS_BEGIN_MAX 64
#define TURNS_JOBS_MAX 64
#define TURNS_HELD_MS 2 /* until the jobs are counted again */

struct turns;

/* A place in the queue: owned by who waits, all zero at first. */
struct turn {
	struct list_item item;
	loop_callback *begin;
	void *context;
};

struct turns *turns_new(struct loop *loop);
/* Nobody may wait any more. NULL is fine. */
void turns_free(struct turns *turns);

/* Calls begin(context) once, on a later turn of the loop. Who is in the queue already stays there. */
void turns_ask(struct turns *turns, struct turn *turn, loop_callback *begin, void *context);
/* Not called any more; fine for who does not wait. */
void turns_leave(struct turn *turn);
bool turns_waits(const struct turn *turn);
size_t turns_waiting(const struct turns *turns);

#endif
