/* Runs code within limits: see base/bounded.h. */
#ifndef BASE_BOUNDED_RUN_H
#define BASE_BOUNDED_RUN_H

#include "base/arena.h"
#include "base/bounded.h"

/* Calls run(context). False: it was left at a limit; everything that was allocated in `arena` since then is
 * freed again, and the other arenas of the run are freed. Runs are not nested. */
bool bounded_run(struct bounded *bounded, struct arena *arena, void (*run)(void *context),
		 void *context);

#endif
