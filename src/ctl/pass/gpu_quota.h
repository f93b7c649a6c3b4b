/* GPU quotas over several clusters (--max-gpus-per-namespace, --max-gpus-total): the GPUs that all
 * known RayClusters count for, and so the amount that one of them may still add. A decision
 * receives its budget, and the amount of its patch is reserved before the patch is sent, so two
 * decisions never use the same GPU: not in one turn of the loop, not while a patch is in flight,
 * not when its answer was lost. Counts by core/capacity/gpu_count; patches in flight are the only
 * state that the API server does not have. Owned by ctl/controller. Must not decide: its only
 * result is a budget.
 *
 * Every function accepts NULL for `quota`: no quota is set. */
#ifndef CTL_PASS_GPU_QUOTA_H
#define CTL_PASS_GPU_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"
#include "core/model/plan.h"
#include "ctl/shared/control.h"

/* How long a patch without an answer may still take effect after our deadline for it: the API
 * server ends a request after 60 s (kube-apiserver --request-timeout). */
#define GPU_QUOTA_LOST_PATCH_MS 60000
/* No GPU is added for this long after the start: the caches then show the last patch of the
 * previous process. */
#define GPU_QUOTA_SETTLE_MS 2000

struct quota;

/* Objects of one cluster in the caches; NULL and 0: none. */
struct gpu_quota_objects {
	const struct ray_cluster *cluster; /* NULL: deleted, or it cannot be read */
	bool unreadable;                   /* it counts at least its last amount */
	const struct pod *const *pods;
	size_t pod_count;
};

typedef void gpu_quota_look(void *context, const char *namespace_, const char *name,
			    struct gpu_quota_objects *ret_objects);

struct gpu_quota_config {
	gpu_quota_look *look;
	void *context;
	int64_t settle_ms, lost_patch_ms; /* GPU_QUOTA_SETTLE_MS, GPU_QUOTA_LOST_PATCH_MS */
};

/* NULL when the options set no GPU quota. */
struct quota *gpu_quota_new(const struct control *control, const struct gpu_quota_config *config);
void gpu_quota_free(struct quota *quota);

/* Watchers: an object was added (old NULL), changed or removed (new_object NULL). Its cluster is
 * recounted before the next budget, if the object's amount may differ. */
void gpu_quota_ray_cluster_changed(void *quota, const char *namespace_, const char *name,
				   bool deleted);
void gpu_quota_pod_changed(void *quota, const struct pod *old, const struct pod *new_object);

struct gpu_quota_budget {
	bool has_ceiling;
	int64_t amount;      /* 1/10000 GPU that the cluster may still add */
	const char *ceiling; /* "max-gpus-total 8": the most restrictive quota; in the arena */
};

/* For a decision on `objects`, which may be newer than the caches. */
void gpu_quota_budget(struct quota *quota, const struct gpu_quota_objects *objects,
		      struct arena *arena, struct gpu_quota_budget *ret_budget);

/* Whether the quotas still allow the patch of `plan`, made from `objects`: other clusters' patches
 * may have been sent since its budget was computed. A patch that adds nothing is always allowed. */
bool gpu_quota_patch_fits(struct quota *quota, const struct gpu_quota_objects *objects,
			  const struct plan *plan);
/* The patch of `plan`, made from `objects`, is about to be sent. */
void gpu_quota_patch_sent(struct quota *quota, const struct gpu_quota_objects *objects,
			  const struct plan *plan);
/* err NULL: the patch was accepted, and the RayCluster has this generation now (INT64_MAX: unknown;
 * the reservation expires by time). Otherwise: a refusal frees the reservation; after any other
 * error the patch may have taken effect. */
void gpu_quota_patch_answered(struct quota *quota, const char *namespace_, const char *name,
			      const struct err *err, int64_t generation);

/* One quota with the GPUs that count under it, for metrics and status. */
struct gpu_quota_figure {
	const char *scope;        /* "total" or "namespace" */
	const char *namespace_;   /* "" with "total" */
	int64_t ceiling, counted; /* 1/10000 GPU; counted includes patches in flight */
};

/* size_t at = 0; while (gpu_quota_next(quota, &at, &figure)) ... Valid until the loop turns. */
bool gpu_quota_next(struct quota *quota, size_t *at, struct gpu_quota_figure *ret_figure);

#endif
