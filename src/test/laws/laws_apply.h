/* What follows from a plan: the snapshot of the next decision. */
#ifndef TEST_LAWS_APPLY_H
#define TEST_LAWS_APPLY_H

#include "laws_facts.h"

/* The patch and the memory alone: what was asked for has no Pod yet. The caller deletes the tree. */
struct cJSON *laws_apply_patch(const struct cJSON *snapshot, const struct cJSON *plan);
/* All is done: what was launched runs and is free, what was asked for as well, what goes is gone. */
struct cJSON *laws_apply_all(const struct cJSON *snapshot, const struct cJSON *plan);
/* The same in another order: Pods, nodes, events, demand, and the members of all objects. Placement
 * groups that tie in Ray's order keep theirs. */
struct cJSON *laws_apply_shuffle(const struct cJSON *snapshot, uint64_t seed);

#endif
