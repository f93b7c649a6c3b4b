/* The part that shares GPUs between RayClusters (feature/pools), as a pass uses it: the terms of its
 * decision, and a note of its patch in flight, so that two decisions never use the same GPU: not in
 * one turn of the loop, not before the patch is answered, not when its answer was lost. Every function
 * accepts NULL for `share`: nothing is shared. Must not decide: its only result are terms. */
#ifndef CTL_PASS_GPU_SHARE_H
#define CTL_PASS_GPU_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"
#include "core/model/plan.h"

/* Objects of one cluster, which may be newer than the caches. */
struct gpu_share_objects {
	const struct ray_cluster *cluster;
	const struct pod *const *pods;
	size_t pod_count;
};

/* One GPU quota of the flags with the GPUs that count under it, for metrics and status. */
struct gpu_share_figure {
	const char *scope;        /* "total" or "namespace" */
	const char *namespace_;   /* "" with "total" */
	int64_t ceiling, counted; /* 1/10000 GPU; counted includes patches in flight */
};

struct gpu_share_hooks {
	/* For a decision on `objects`; NULL: no group of the cluster draws from a pool. */
	const struct pool_terms *(*terms)(void *self, const struct gpu_share_objects *objects,
					  struct arena *arena);
	/* A decision was made. True: it asks for something that is granted now, and was not granted
	 * by its terms: decide again. knows_demand: Ray was read, or the cluster is not scaled. */
	bool (*decided)(void *self, const struct gpu_share_objects *objects,
			const struct plan *plan, bool knows_demand, time_ms now);
	/* Whether the patch of `plan`, made from `objects`, is still within what is granted: other
	 * clusters' patches may have been sent since. One that adds nothing always is. */
	bool (*fits)(void *self, const struct gpu_share_objects *objects, const struct plan *plan);
	/* The patch is about to be sent. */
	void (*sent)(void *self, const struct gpu_share_objects *objects, const struct plan *plan);
	/* err NULL: the patch was accepted, and the RayCluster has this generation now (INT64_MAX:
	 * unknown; the note expires by time). Otherwise: a refusal ends it;
	 * after any other error the patch may have taken effect. */
	void (*answered)(void *self, const char *namespace_, const char *name,
			 const struct err *err, int64_t generation);
	/* Of each quota, in the arena. */
	const struct gpu_share_figure *(*figures)(void *self, struct arena *arena,
						  size_t *ret_count);
};

struct gpu_share {
	const struct gpu_share_hooks *hooks;
	void *self;
};

static inline const struct pool_terms *gpu_share_terms(const struct gpu_share *share,
						       const struct gpu_share_objects *objects,
						       struct arena *arena)
{
	return share ? share->hooks->terms(share->self, objects, arena) : NULL;
}

static inline bool gpu_share_decided(const struct gpu_share *share,
				     const struct gpu_share_objects *objects,
				     const struct plan *plan, bool knows_demand, time_ms now)
{
	return share && share->hooks->decided(share->self, objects, plan, knows_demand, now);
}

static inline bool gpu_share_fits(const struct gpu_share *share,
				  const struct gpu_share_objects *objects, const struct plan *plan)
{
	return !share || share->hooks->fits(share->self, objects, plan);
}

static inline void gpu_share_sent(const struct gpu_share *share,
				  const struct gpu_share_objects *objects, const struct plan *plan)
{
	if (share)
		share->hooks->sent(share->self, objects, plan);
}

static inline void gpu_share_answered(const struct gpu_share *share, const char *namespace_,
				      const char *name, const struct err *err, int64_t generation)
{
	if (share)
		share->hooks->answered(share->self, namespace_, name, err, generation);
}

static inline const struct gpu_share_figure *
gpu_share_figures(const struct gpu_share *share, struct arena *arena, size_t *ret_count)
{
	*ret_count = 0;
	return share ? share->hooks->figures(share->self, arena, ret_count) : NULL;
}

#endif
