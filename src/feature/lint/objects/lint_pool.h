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
/* Appends a finding when none of the pools, at least one, matches the group of this title. */
void lint_pool_group(const struct pod_spec *spec, const char *title, const char *path,
		     const struct gpu_pool *const *all, size_t count, struct arena *arena,
		     struct lint_findings *findings);

#endif
