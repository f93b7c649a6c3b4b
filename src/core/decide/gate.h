/* The states of a cluster in which nothing at all is done.
 * Reads the snapshot alone; must not look at demand or workers. */
#ifndef CORE_DECIDE_GATE_H
#define CORE_DECIDE_GATE_H

#include "core/model/snapshot.h"

struct gate {
	const char *reason;  /* NULL: go on; else a reason of the condition ScalingActive */
	const char *message; /* what is set and how to change it */
};

/* The first that holds, in the order of docs/SNAPSHOT.md. Messages are static, or of the snapshot. */
struct gate gate_check(const struct snapshot *snapshot);

#endif
