/* The sign that a Node is to be repaired: of several the first one that acts, in the order of trust
 * (enum repair_source), else the first one that is reported. Pure. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_SIGNAL_H
#define FEATURE_REPAIR_CORE_REPAIR_SIGNAL_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/snapshot.h"

struct repair_signal {
	enum repair_source source;
	const char *
		name; /* the key of the taint, the type of the condition, namespace/name of the request */
	const char *detail; /* the words of its author, short; "" */
	time_ms since;      /* TIME_NONE: unknown */
	bool acts;          /* by the settings; else it is reported */
	int64_t after_ms;   /* it acts when it has lasted so long */
};

/* false: the Node has none. request: for the Node, not complete; NULL: none. */
bool repair_signal_of(const struct settings *settings, const struct node *node,
		      const struct drain_request *request, struct arena *arena,
		      struct repair_signal *ret_signal);
bool drain_request_is_complete(const struct drain_request *request);
/* "taint nvidia.com/gpu-xid-error", "condition SysLogsXIDError (Xid 79)", "cordoned". */
const char *repair_signal_text(const struct repair_signal *signal, struct arena *arena);

/* The parts of a Node with signals, besides spec.unschedulable. */
bool repair_reads_taint(const struct settings *settings, const struct taint *taint);
bool repair_reads_condition(const struct settings *settings, const struct condition *condition);

#endif
