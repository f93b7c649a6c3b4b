/* The sign that a Node is to be repaired: of several the first one that acts, in the order of trust
 * (enum repair_source), else the first one that is reported. Pure. */
#ifndef FEATURE_REPAIR_CORE_REPAIR_SIGNAL_H
#define FEATURE_REPAIR_CORE_REPAIR_SIGNAL_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/decide/facts.h"

struct repair_signal {
	enum repair_source source;
	/* The key of the taint, the type of the condition, namespace/name of the request, the device; NULL: there is no
	 * signal. */
	const char *name;
	const char *detail; /* the words of its author, short; "" */
	time_ms since;      /* TIME_NONE: unknown */
	bool acts;          /* by the settings; else it is reported */
	int64_t after_ms;   /* it acts when it has lasted so long */
};

/* false: the Node has none. */
bool repair_signal_of(const struct settings *settings, const struct node *node, struct arena *arena,
		      struct repair_signal *ret_signal);
struct repair_signal repair_signal_of_request(const struct drain_request *request,
					      struct arena *arena);
/* Of a device; it acts where the taint does, unless its effect is None. */
struct repair_signal repair_signal_of_device(const struct settings *settings,
					     const struct device_sign *sign, struct arena *arena);
/* Whether it counts before the other of the same Node, or there is no other. */
bool repair_signal_is_first(const struct repair_signal *signal, const struct repair_signal *other);
bool drain_request_is_complete(const struct drain_request *request);
/* "taint nvidia.com/gpu-xid-error", "condition SysLogsXIDError (Xid 79)", "cordoned". */
const char *repair_signal_text(const struct repair_signal *signal, struct arena *arena);

/* Whether it is a sign. */
bool repair_reads_condition(const struct settings *settings, const struct condition *condition);

#endif
