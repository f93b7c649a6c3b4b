/* Numbers and words of the last decision of one cluster, for /metrics and /status; no objects.
 * Built from core/report/summary; owned by its arena, points to nothing outside it. No I/O.
 * Bounded: groups, resources and reasons beyond the limits are left out. */
#ifndef CTL_REPORT_FIGURES_H
#define CTL_REPORT_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

#define FIGURES_GROUPS_MAX 256
#define FIGURES_RESOURCES_MAX 32
#define FIGURES_REASONS_MAX 32 /* there are fewer */

struct figures_group {
	const char *name;
	int64_t replicas, target_replicas, min_replicas, max_replicas, hosts;
	int64_t active, pending, failed; /* workers: in Ray, requested, failed */
	int64_t missing;                 /* Pods requested that do not exist */
	int64_t gpus_wanted, gpus_running, gpus_idle, gpus_wasted; /* 1/10000 */
	const char *backoff_cause;                                 /* "": none */
	/* Monotonic, 0: not now. Copied from one decision to the next by group name. */
	int64_t wanted_since_ms; /* more replicas are wanted */
	int64_t patched_ms;      /* replicas was raised and not all Pods exist */
};

struct figures_count {
	const char *name;
	int64_t count;
};

struct figures_resource {
	const char *name;
	int64_t cluster, pending; /* 1/10000 */
};

struct figures_condition {
	const char *type, *status, *reason;
};

struct figures {
	time_ms decided_at;
	bool hands_off;     /* not scaled by this program: only conditions are set */
	bool ray_reachable; /* false: active, running, idle, wasted and pending GPUs are unknown */
	bool safe_to_scale_down;
	bool head_active;
	int64_t head_gpus_running, head_gpus_in_use; /* 1/10000 */
	int64_t joined;                              /* workers in Ray, of removed groups too */
	int64_t gpus_pending;                        /* 1/10000 */
	struct figures_group *groups;
	size_t group_count;
	const struct figures_resource *resources; /* by name */
	size_t resource_count;
	const struct figures_count *unserved; /* bundles by reason, a reason once */
	size_t unserved_count;
	const struct figures_count *kept; /* idle workers by the reason why they are kept */
	size_t kept_count;
	const struct figures_condition *conditions;
	size_t condition_count;
};

/* `old` (NULL: none) is the result of the last decision; only the times of its groups are used. */
struct figures *figures_of(const struct snapshot *snapshot, const struct plan *plan,
			   const struct figures *old, struct arena *arena);

/* Whether a worker that is idle with this reason is kept by something else than the idle
 * timeout. */
bool figures_keeps_idle(const char *reason);
/* NULL when absent. */
struct figures_group *figures_group(const struct figures *figures, const char *name);

#endif
