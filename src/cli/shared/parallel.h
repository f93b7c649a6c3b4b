/* Runs pure jobs on all processors and waits for them, for commands that only compute. Must not be
 * used where a loop runs: there it is net/work. */
#ifndef CLI_SHARED_PARALLEL_H
#define CLI_SHARED_PARALLEL_H

#include <stddef.h>

#define PARALLEL_THREADS_MAX 64

/* Calls job(context, i) once for each i below count, in any order and on several threads, and returns
 * when all have ended. While it waits and standard error is a terminal, a bar named `title` shows
 * how many have ended. One job alone runs on the calling thread. */
void parallel_run(size_t count, void (*job)(void *context, size_t index), void *context,
		  const char *title);

#endif
