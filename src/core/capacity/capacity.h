/* The capacity of one worker of a group in Ray, from the RayCluster alone: the precedence of Ray's
 * autoscaling_config (ray 2.60), corrected by the arguments that KubeRay passes to `ray start`.
 * Pure; results live in the arena. Must not read live nodes: decide compares those. */
#ifndef CORE_CAPACITY_CAPACITY_H
#define CORE_CAPACITY_CAPACITY_H

#include "base/arena.h"
#include "core/capacity/device_model.h"
#include "core/capacity/pod_claims.h"
#include "core/model/kubernetes.h"
#include "core/model/resources.h"
#include "core/model/settings.h"

struct capacity {
	struct resources resources;
	struct labels labels;
	int64_t gpu_amount; /* 1/10000 GPU */
	bool accelerator;   /* any accelerator resource above 0, or a device unknown to Ray */
	struct device_model device;      /* of its main accelerator, whether or not Ray counts it */
	const struct pod_claims *claims; /* NULL: none */
	const char *problem;             /* NULL, or field and fix: the group then does not scale */
	/* In the object of custom resources, where `ray start` ignores them: it has options for these. */
	struct resources ignored;
	struct strings warnings;
};

/* The resource names that count as accelerators: Ray's own and those of the settings; without
 * duplicates. */
struct strings capacity_accelerators(const struct settings *settings,
				     const struct device_table *devices, struct arena *arena);

/* Of worker group `index`. */
void capacity_of_group(const struct ray_cluster *cluster, size_t index,
		       const struct settings *settings, const struct device_table *devices,
		       struct arena *arena, struct capacity *ret_capacity);
/* Of a Pod by its own spec, as of a group with this template. */
void capacity_of_pod(const struct pod *pod, const struct settings *settings,
		     const struct device_table *devices, struct arena *arena,
		     struct capacity *ret_capacity);
/* Of the head group; a head without a number of CPUs is valid. */
void capacity_of_head(const struct ray_cluster *cluster, const struct settings *settings,
		      const struct device_table *devices, struct arena *arena,
		      struct capacity *ret_capacity);

#endif
