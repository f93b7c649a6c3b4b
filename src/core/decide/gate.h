/* The states of a cluster in which the plan changes nothing. Reads only the snapshot; must not read
 * demand or workers. */
#ifndef CORE_DECIDE_GATE_H
#define CORE_DECIDE_GATE_H

#include "base/arena.h"
#include "core/model/snapshot.h"

struct gate {
	enum reason reason;  /* NONE: decide; else a reason of the condition ScalingActive */
	const char *message; /* the setting and how to change it */
};

/* The first that applies, in the order of docs/internals/snapshot.md. Messages are static, belong to the
 * snapshot, or live in the arena. */
struct gate gate_check(const struct snapshot *snapshot, struct arena *arena);

#endif
