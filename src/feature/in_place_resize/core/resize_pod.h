/* The state of one Pod's resize: Ray's IPPRStatus, from the Pod alone. */
#ifndef FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_POD_H
#define FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_POD_H

#include "base/arena.h"
#include "base/time.h"
#include "core/decide/due.h"
#include "core/model/plan.h"

enum resize_progress {
	RESIZE_IDLE = 0, /* Kubernetes has nothing to do */
	RESIZE_QUEUED,   /* a request is to be sent */
	RESIZE_WAITS,    /* Kubernetes works on it */
	RESIZE_LIMITED,  /* the Node has room for `most` only, or for nothing at present */
	RESIZE_ERROR,
};

struct resize_pod {
	const struct pod *pod;
	struct plan_size current, desired, most;
	struct plan_size asked; /* by the spec; `desired` may replace it */
	bool has_cpu_limit, has_memory_limit;
	struct plan_size gap; /* limit - request */
	int64_t timeout_seconds;
	struct resize_status status;
	enum resize_progress progress;
	enum reason reason;  /* of RESIZE_QUEUED */
	const char *message; /* of RESIZE_QUEUED */
	const char *pending; /* the message of Kubernetes about it; "" */
	bool no_room;        /* of RESIZE_LIMITED: for nothing, so it waits for other Pods to end */
};

/* False: the Pod has no CPU or memory in its spec, so it cannot be resized. */
bool resize_pod_read(const struct pod *pod, const struct resize_group *limits, time_ms now,
		     struct due *due, struct arena *arena, struct resize_pod *ret_state);
/* Wants another size; false: it is wanted already. */
bool resize_pod_queue(struct resize_pod *state, struct plan_size size);
/* A resize has begun and Ray's nodes count with its size. */
bool resize_pod_is_under_way(const struct resize_pod *state, bool registered);
bool resize_pod_may_grow(const struct resize_pod *state);
/* Of RESIZE_LIMITED, after the packing: asks again for `most` where some demand needs that, and else for the
 * present size, so that the room of the Node is left to others. */
void resize_pod_settle(struct resize_pod *state, bool needed, struct arena *arena);
/* A Node had less room than it was asked for, as far as its Pod remembers. */
bool resize_pod_was_limited(const struct resize_pod *state);
/* Kubernetes has ended it, and the raylet does not know. */
bool resize_pod_is_applied(const struct resize_pod *state);

#endif
