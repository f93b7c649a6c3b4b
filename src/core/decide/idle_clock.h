/* The idle time of workers over the first death of a Ray cluster's life. Ray 2.60 then restarts the idle
 * time of all other nodes, the head's too, though nothing has used them (docs/internals/ray.md): the
 * first scale-down would keep every other worker for one more idle timeout. While no node has died,
 * memory has since when each node is idle; an idle time that restarts when the first node dies
 * continues from there. A node that is seen in use, or whose idle time restarts at another time, is idle from
 * then. Must not change anything else of Ray's report. */
#ifndef CORE_DECIDE_IDLE_CLOCK_H
#define CORE_DECIDE_IDLE_CLOCK_H

#include "core/decide/facts.h"

struct idle_clock {
	const struct snapshot
		*snapshot; /* as given, or a copy in the arena with the idle times that go on */
	VEC(struct memory_mark) marks;
};

/* O(nodes log marks). */
struct idle_clock idle_clock_read(const struct snapshot *snapshot, struct arena *arena);
/* Adds the new marks to facts->memory, unless Ray was not read. */
void idle_clock_remember(const struct idle_clock *clock, struct facts *facts);

#endif
