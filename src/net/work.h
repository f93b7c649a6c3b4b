/* Work queue for long work off the event loop: a job runs on a thread of libuv's pool, on const
 * input and memory of its own, and its end is handled on the loop again. Each loop has one queue,
 * first come, first served. An owner with at most one job in it (a cluster) gets the same share as
 * all others. At most WORK_JOBS_MAX jobs run at once, and not more than processors (2 at least).
 * All functions are called on the loop's thread, except where they say otherwise.
 *
 * Slow jobs, which may take a second or use much memory, run on half of the threads at most, so
 * that the others always find a thread that is free soon. Among themselves they run in the order of
 * the age of their input: a reply that was decoded is decided before the next one is decoded, so
 * that few decoded replies wait in memory.
 *
 * One long job, which may take many seconds, runs at once, beside all of these: none waits for it, and none
 * ever waits to be the long one.
 *
 * Objects that a job reads and the loop replaces meanwhile must live until the job has ended: their
 * owner passes them to work_retire instead of freeing them. */
#ifndef NET_WORK_H
#define NET_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libuv's pool has as many threads; nothing else here uses it. A long job takes one of them. */
#define WORK_JOBS_MAX 4

struct loop;
struct work_job;

struct work_functions {
	/* On a thread of the pool. */
	void (*run)(void *context, const struct work_job *job);
	void (*done)(void *context); /* on the loop, when run has returned */
	/* On the loop, instead of done, for a job that was cancelled: when it does not run any
	 * more. Frees the memory of the job. */
	void (*drop)(void *context);
};

/* `name`: of loop_step, for its end. Never NULL. Exactly one of done and drop is called, done never before the loop turns. The job is
 * freed after that. */
struct work_job *work_start(struct loop *loop, const struct work_functions *functions,
			    void *context, const char *name);
#define work_start(loop, functions, context) work_start(loop, functions, context, __FILE__)
/* A slow job. since_ms: the arrival of its input, of loop_boot_ms. */
struct work_job *work_start_slow(struct loop *loop, const struct work_functions *functions,
				 void *context, int64_t since_ms, const char *name);
#define work_start_slow(loop, functions, context, since_ms)                                        \
	work_start_slow(loop, functions, context, since_ms, __FILE__)
/* Whether work_start_long may be called: no long job runs. */
bool work_long_is_free(const struct loop *loop);
struct work_job *work_start_long(struct loop *loop, const struct work_functions *functions,
				 void *context, const char *name);
#define work_start_long(loop, functions, context)                                                  \
	work_start_long(loop, functions, context, __FILE__)
/* Drops a waiting job at once, a running one when it has ended. Not after done. */
void work_cancel(struct work_job *job);
/* From any thread, for as long as the job runs: its result will not be used. */
bool work_is_cancelled(const struct work_job *job);

/* Calls release(memory), on the loop, as soon as no job is left that was started before this call:
 * at once when there is none, and in later turns where this one has no time for it (net/loop.h). */
void work_retire(struct loop *loop, void (*release)(void *memory), void *memory);

/* Cancels all jobs and runs the loop until they have ended. Called before freeing the dependencies
 * of retired memory, and before loop_free. False when a job still runs after max_ms: then free
 * nothing that it reads, and end the process. */
bool work_stop(struct loop *loop, int64_t max_ms);

size_t work_count(const struct loop *loop);       /* jobs that wait or run */
size_t work_count_quick(const struct loop *loop); /* the same, without slow and long ones */
size_t work_at_once(void);                        /* number of jobs that run at once in one loop */
size_t work_slow_at_once(void);                   /* slow ones among them */

#endif
