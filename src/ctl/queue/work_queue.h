/* Work queue of passes: decides which pass begins next. At most TURNS_BEGIN_MAX passes begin in one
 * turn of the loop, and fewer where these have spent its time (net/loop.h); the others wait in FIFO order. So a turn stays short, however many RayClusters
 * are due at once: sockets are read and deadlines are checked in between. Without this, more work
 * than the processor can do makes turns longer than the deadlines of answers that have already
 * arrived, and no pass succeeds; with it every cluster is read less often.
 * A cluster has one place, and is queued last when it asks again, so each waits for at most one
 * pass of each other cluster.
 * The duration of a pass does not matter here: a head that hangs delays no other cluster. Jobs on
 * other threads (net/work.h) matter: each one that waits holds the memory of its pass. While
 * TURNS_JOBS_MAX of them are not done, no pass begins but small ones, which take no job. Slow jobs do not count: there are few, and
 * they must not delay the others.
 * Owned by ctl/controller. Must not know what a pass is. */
#ifndef CTL_QUEUE_WORK_QUEUE_H
#define CTL_QUEUE_WORK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "net/loop.h"

/* Each takes about 0.3 ms of CPU time, its answer included. */
#define TURNS_BEGIN_MAX 64
#define TURNS_JOBS_MAX 64
#define TURNS_HELD_MS 2 /* until the jobs are counted again */

struct queue;

/* A place in the queue: owned by the waiting object, all zero at first. */
struct turn {
	struct list_item item;
	loop_callback *begin;
	void *context;
	bool small; /* set by the owner: it needs no job, so far as is known */
};

struct queue *work_queue_new(struct loop *loop);
/* The queue must be empty. NULL is fine. */
void work_queue_free(struct queue *queue);

/* Calls begin(context) once, on a later turn of the loop. A turn that is queued already keeps its
 * place. */
void work_queue_ask(struct queue *queue, struct turn *turn, loop_callback *begin, void *context);
/* Cancels the call; fine for a turn that is not queued. */
void work_queue_leave(struct turn *turn);
bool work_queue_waits(const struct turn *turn);
size_t work_queue_waiting(const struct queue *queue);

#endif
