/* The ceilings over several clusters (--max-gpus-per-namespace, --max-gpus-total): what all RayClusters
 * that are seen count for, and so what one of them may still add. A decision takes its budget, and what
 * its patch asks for is held from the moment before it is sent, so two decisions never use the same
 * GPU: not in one turn of the loop, not while a patch is under way, not when its answer was lost.
 * Counts by core/capacity/gpu_count; remembers nothing that the API server does not know but patches
 * under way. Owned by ctl/controller. Must not decide: a budget is all that it says.
 *
 * Every function takes NULL for `fuse`: there are no such ceilings. */
#ifndef CTL_PASS_FUSE_H
#define CTL_PASS_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/kubernetes.h"
#include "core/model/plan.h"
#include "ctl/shared/control.h"

/* How long a patch without an answer may still take effect after our deadline for it: the API server ends
 * a request after 60 s (kube-apiserver --request-timeout). */
#define FUSE_LOST_PATCH_MS 60000
/* After the start nothing is added for so long: a patch that the process before this one sent last shows
 * by then. */
#define FUSE_SETTLE_MS 2000

struct fuse;

/* What the caches hold of one cluster; NULL and 0 for nothing. */
struct fuse_objects {
	const struct ray_cluster *cluster; /* NULL: gone, or it cannot be read */
	bool unreadable;                   /* it cannot be read: it counts at least what it did */
	const struct pod *const *pods;
	size_t pod_count;
};

typedef void fuse_look(void *context, const char *namespace_, const char *name,
		       struct fuse_objects *ret_objects);

struct fuse_config {
	fuse_look *look;
	void *context;
	int64_t settle_ms, lost_patch_ms; /* FUSE_SETTLE_MS, FUSE_LOST_PATCH_MS */
};

/* NULL when the options set no such ceiling. */
struct fuse *fuse_new(const struct control *control, const struct fuse_config *config);
void fuse_free(struct fuse *fuse);

/* Something of this cluster was added, changed or removed: it is counted anew before the next budget. */
void fuse_changed(struct fuse *fuse, const char *namespace_, const char *name);

struct fuse_budget {
	bool has_ceiling;
	int64_t amount;      /* 1/10000 GPU that the cluster may still add */
	const char *ceiling; /* "max-gpus-total 8": the smallest; in the arena */
};

/* For a decision on `objects`, which may be newer than the caches. */
void fuse_budget(struct fuse *fuse, const struct fuse_objects *objects, struct arena *arena,
		 struct fuse_budget *ret_budget);

/* Whether the ceilings still allow the patch of `plan`, made from `objects`: other clusters' patches may
 * have been sent since its budget was given. Adding nothing is always allowed. */
bool fuse_patch_fits(struct fuse *fuse, const struct fuse_objects *objects,
		     const struct plan *plan);
/* The patch of `plan`, made from `objects`, is about to be sent. */
void fuse_patch_sent(struct fuse *fuse, const struct fuse_objects *objects,
		     const struct plan *plan);
/* err NULL: it was accepted, and the RayCluster has this generation now (INT64_MAX: unknown, it is held for
 * its time). Otherwise: a refusal frees what
 * was held, anything else may have taken effect. */
void fuse_patch_answered(struct fuse *fuse, const char *namespace_, const char *name,
			 const struct err *err, int64_t generation);

/* One ceiling with what counts under it, for metrics and status. */
struct fuse_figure {
	const char *scope;        /* "total" or "namespace" */
	const char *namespace_;   /* "" with "total" */
	int64_t ceiling, counted; /* 1/10000 GPU; counted with patches under way */
};

/* size_t at = 0; while (fuse_next(fuse, &at, &figure)) ... Valid until the loop turns. */
bool fuse_next(struct fuse *fuse, size_t *at, struct fuse_figure *ret_figure);

#endif
