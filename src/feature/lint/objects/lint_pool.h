/* The rules of a GPUPool, alone and among the others of the same files. Pure. */
#ifndef FEATURE_LINT_OBJECTS_LINT_POOL_H
#define FEATURE_LINT_OBJECTS_LINT_POOL_H

#include "codec/objects/gpu_pool_object.h"
#include "feature/lint/core/lint.h"

/* Appends findings, in the arena. `all`: the pools by name, which may have this one. */
void lint_pool(const struct gpu_pool *pool, const struct gpu_pool *const *all, size_t count,
	       struct arena *arena, struct lint_findings *findings);
/* Whether the Ray container of a Pod requests GPUs. */
bool lint_pool_counts(const struct pod_spec *spec, const struct device_table *devices);
/* The pools of the files, at least one, and what minReplicas take of their queues: zero `taken` before the first
 * group. */
struct lint_pool_sums {
	const struct gpu_pool *const *pools; /* by name */
	size_t count;
	const struct namespace *namespaces;
	size_t namespace_count;
	int64_t **taken; /* by pool and queue, 1/10000 */
};

/* A worker group with GPUs. */
struct lint_pool_subject {
	const struct pod_spec *spec;
	const char *title, *namespace_, *path;
	int64_t min_gpus; /* 1/10000, of its minReplicas */
};

/* Appends a finding when none of the pools matches the group, or when its minReplicas, with those of the groups
 * before it, take more than the maximum of its queue. */
void lint_pool_group(struct lint_pool_sums *sums, const struct lint_pool_subject *group,
		     struct arena *arena, struct lint_findings *findings);

#endif
