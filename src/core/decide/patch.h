/* The one JSON Patch of a decision: replicas and workersToDelete, each guarded by tests. Must not
 * decide: it writes only the values of groups and workers. */
#ifndef CORE_DECIDE_PATCH_H
#define CORE_DECIDE_PATCH_H

#include "core/decide/choice.h"

/* Needs patch_replicas of groups and the actions of workers; fills plan.patch. */
void patch_make(const struct choice *choice, struct plan *plan);
/* Names in workersToDelete of the group that have no Pod any more. */
int64_t patch_finished_names(const struct facts *facts, const struct group *group);

#endif
