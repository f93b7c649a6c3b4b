/* The GPUs that a RayCluster counts under limits over several clusters, from Kubernetes objects
 * alone. Reports of its Ray do not count, because user code can forge them
 * (docs/internals/threats.md). Pure. Must not be used for what one worker can serve:
 * core/capacity/capacity. */
#ifndef CORE_CAPACITY_GPU_COUNT_H
#define CORE_CAPACITY_GPU_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/capacity/gpu_cost.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/name_set.h"
#include "core/model/settings.h"

/* A claim that Pods share by its name, with the GPUs that it counts. */
struct gpu_shared {
	const char *claim;
	int64_t amount;
};

struct gpu_template {
	struct gpu_cost cost;            /* of a Pod by it */
	const struct pod_claims *claims; /* in the scratch memory; NULL: none */
	VEC(struct gpu_shared) shared;   /* of the claims */
	struct name_set to_delete;       /* workersToDelete of the group */
};

/* All that gpu_count needs of the templates of a RayCluster: it costs as much as they are long, and changes only
 * with their generation, and with the devices. */
struct gpu_templates {
	struct gpu_template *groups;
	size_t group_count;
	struct gpu_template head;
};

/* A Pod of the cluster, or `pods` equal ones that are requested and do not exist. */
struct gpu_holding {
	size_t group; /* of the RayCluster; GPU_COUNT_HEAD; GPU_COUNT_OTHER: of none of them */
	const struct pod *pod; /* NULL: requested */
	int64_t pods;          /* 1 with a Pod */
	int64_t amount;        /* 1/10000 GPU of each, by core/capacity/gpu_cost */
	bool leaves;           /* deleted, or named in workersToDelete */
};
#define GPU_COUNT_HEAD (SIZE_MAX - 1)
#define GPU_COUNT_OTHER SIZE_MAX

struct gpu_holdings {
	VEC(struct gpu_holding) list; /* also of amount 0 */
	int64_t sum;                  /* of the amounts, saturated at INT64_MAX */
};

/* Borrows nothing. */
void gpu_templates_make(const struct ray_cluster *cluster, const struct settings *settings,
			const struct device_table *devices, struct arena *scratch,
			struct arena *arena, struct gpu_templates *ret_templates);

/* The head, and for each group the larger of the requested number (replicas within minReplicas and maxReplicas) and the existing
 * one, in whole replicas. Pods that are being deleted count in addition until they no longer exist;
 * finished Pods do not count. An existing Pod counts by its own spec, and at least by the current
 * template. A cluster or group that is suspended or deleted counts only its Pods.
 *
 * cluster NULL (deleted or unreadable): each Pod by its own spec, as for Pods of no group.
 *
 * A Pod without the owner reference of the cluster (core/model/identity) does not count: a label alone
 * must not use up a quota that others share.
 *
 * templates: of the cluster. replicas: of each group, instead of the spec's; NULL: the spec's. */
void gpu_count(const struct ray_cluster *cluster, const struct gpu_templates *templates,
	       const struct pod *const *pods, size_t pod_count, const int64_t *replicas,
	       const struct settings *settings, const struct device_table *devices,
	       struct arena *arena, struct gpu_holdings *ret_holdings);

/* The GPUs of one Pod by its own spec. */
int64_t gpu_count_of_pod(const struct pod *pod, const struct settings *settings,
			 const struct device_table *devices, struct arena *scratch);

#endif
