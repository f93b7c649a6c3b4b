/* A GPUPool (rayscaler.dev/v1alpha1, cluster-scoped): GPUs that RayClusters of several teams share.
 * Plain data, owned by the arena of the decoder's caller. Amounts are GPUs in 1/10000. Strings are
 * never NULL. */
#ifndef FEATURE_POOLS_CORE_GPU_POOL_H
#define FEATURE_POOLS_CORE_GPU_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/time.h"
#include "core/model/kubernetes.h"

#define GPU_POOL_QUEUES_MAX 200
#define GPU_POOL_WAITING_MAX 1000 /* entries of status.waiting */
#define GPU_POOL_NEVER INT64_C(-1)
/* A condition of its status: GPUs are granted and not used. */
#define GPU_POOL_UNUSED "GrantsUnused"
/* And another one: a queue holds more than its maximum. */
#define GPU_POOL_ABOVE_MAXIMUM "AboveMaximum"
#define GPU_POOL_CONDITIONS_MAX 3 /* with Ready */
/* Name of the pool of the flags (pool_allocation.h); never that of an object. */
#define POOL_OF_FLAGS "-"
#define GPU_POOL_IDLE_AFTER_SECONDS_DEFAULT 5
#define GPU_POOL_RESERVE_AFTER_SECONDS_DEFAULT 120
#define GPU_POOL_RESERVE_AT_MOST_SECONDS_DEFAULT 1800

/* Which worker groups draw from the pool: all given members have to match; with none, every group with
 * GPUs. The first pool by name that matches a group has it. */
struct gpu_pool_groups {
	const char *accelerator_type; /* as Ray's label ray.io/accelerator-type; "": any */
	const char *resource_name;    /* in the limits of the Ray container; "": any */
	struct labels node_selector;  /* each is in the template's nodeSelector */
};

/* A label selector of Kubernetes; both empty: it selects all namespaces. */
struct gpu_pool_selector {
	struct labels match_labels;
	const struct node_expression *expressions; /* In, NotIn, Exists, DoesNotExist */
	size_t expression_count;
};

/* A team. A namespace belongs to the first queue that selects it, or to the queue "" without a
 * guarantee. */
struct gpu_pool_queue {
	const char *name;
	struct gpu_pool_selector namespaces;
	int64_t guaranteed;
	bool has_maximum, has_lendable;
	int64_t maximum, lendable; /* lendable: of the guarantee; not given: all of it */
	int64_t weight, priority;  /* 1 and 0 when not given */
	bool has_busy;
	int64_t busy_after_seconds; /* as of the pool, for workers of this queue */
};

struct gpu_pool {
	const char *name, *uid, *resource_version;
	int64_t generation;
	struct gpu_pool_groups groups;
	bool has_gpus; /* else the allocatable amounts of the Nodes that match */
	int64_t gpus;
	const struct gpu_pool_queue *queues;
	size_t queue_count;
	int64_t idle_after_seconds;      /* reclaim.idleAfterSeconds */
	int64_t busy_after_seconds;      /* reclaim.busy; GPU_POOL_NEVER: Never */
	int64_t reserve_after_seconds;   /* reserveAfterSeconds; GPU_POOL_NEVER: Never */
	int64_t reserve_at_most_seconds; /* reserve.atMostSeconds; 0: no bound */
	bool keeps_protected;            /* reclaim.keepDoNotDisrupt */
	bool kueue_outside;
	/* repair.maxUnavailable and maxUnavailablePercent, the larger counts; without both no limit. */
	bool has_repair_nodes, has_repair_percent;
	int64_t repair_nodes, repair_percent;
	/* Invalid values, with their fields. A pool with problems grants nothing and ends nothing. */
	struct strings problems;
	const struct gpu_pool_status *status; /* NULL: none */
};

/* The figures of one queue. */
struct gpu_pool_queue_status {
	const char *name; /* "": namespaces that no queue selects */
	int64_t held, busy, idle;
	int64_t borrowed; /* of held, beyond the guarantee */
	int64_t guaranteed;
	int64_t waiting; /* GPUs of units that wait */
	int64_t waiting_units;
	int64_t share; /* held beyond the guarantee, divided by weight and the pool's size; 1/10000 */
	time_ms below_guarantee_since; /* a unit waits that fits the guarantee; TIME_NONE */
	/* Of pool_past, for a new leader. Times: TIME_NONE. */
	int64_t unused_seconds;
	time_ms saved_since, granted_since;
	time_ms waiting_since; /* of the unit that waits longest; TIME_NONE. Not written */
};

/* `count` equal units of one RayCluster that wait since one moment: their place in the order, which a
 * new leader reads. */
struct gpu_pool_waiting {
	const char *cluster; /* "namespace/name" */
	const char *groups;  /* "gpu-group*8", one entry for each group: what makes units equal */
	int64_t gpus;        /* of one unit */
	int64_t count;
	time_ms since;
};

struct gpu_pool_status {
	int64_t observed_generation;
	int64_t gpus, held, waiting;
	const char *held_text; /* "52 of 64", of the object; written from the figures */
	const struct gpu_pool_queue_status *queues;
	size_t queue_count;
	const struct gpu_pool_waiting *waiting_units; /* the oldest first; status.waiting */
	size_t waiting_unit_count;
	const char *reserved_for; /* "namespace/name: gpu-group*8"; "": no reservation */
	time_ms reserve_again;    /* of pool_past; TIME_NONE */
	int64_t failures;
	struct {
		const struct condition *at;
		size_t count;
	} conditions; /* Ready: False with the reason why it does not do all that its spec says; GPU_POOL_UNUSED, GPU_POOL_ABOVE_MAXIMUM */
	time_ms updated;
	bool stopped; /* it shares nothing, and Ready has the message; not of the object */
};

static inline int64_t gpu_pool_ms(int64_t seconds, int64_t never)
{
	return seconds == GPU_POOL_NEVER ? never : seconds * MS_PER_SECOND;
}

static inline bool gpu_pool_is_of_flags(const char *name)
{
	return strcmp(name, POOL_OF_FLAGS) == 0;
}

#endif
