/* The one JSON Patch of a decision: replicas and workersToDelete, each guarded by tests, and operations
 * of features. Must not decide: it writes only the values of groups and workers. */
#ifndef CORE_DECIDE_PATCH_H
#define CORE_DECIDE_PATCH_H

#include "core/decide/choice.h"

/* Needs patch_replicas of groups and the actions of workers; fills plan.patch. */
void patch_make(const struct choice *choice, struct plan *plan);
/* Names in workersToDelete of the group that have no Pod any more. */
int64_t patch_finished_names(const struct facts *facts, const struct group *group);

/* Adds an operation to the patch: `string` may be NULL. */
void patch_add(struct plan *plan, struct arena *arena, struct patch_op op);
/* A test that the group still has its name. */
void patch_test_name(struct plan *plan, struct arena *arena, const struct group *group);
void patch_replicas(struct plan *plan, struct arena *arena, const struct group *group,
		    const char *op, int64_t replicas);

#endif
