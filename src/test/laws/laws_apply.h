/* Applies a plan: makes the snapshot of the next decision. */
#ifndef TEST_LAWS_APPLY_H
#define TEST_LAWS_APPLY_H

#include "laws_facts.h"

/* Applies the patch and the memory alone: requested workers have no Pod yet. The caller deletes the
 * tree. */
struct cJSON *laws_apply_patch(const struct cJSON *snapshot, const struct cJSON *plan);
/* Completes the plan: launched and requested workers run and are free, terminated ones are
 * removed. */
struct cJSON *laws_apply_all(const struct cJSON *snapshot, const struct cJSON *plan);
/* Applies the patch, and the operator creates what is missing beside the Pods that are being deleted: it counts them (KubeRay up
 * to 1.7.0) or not (kuberay#5239). */
struct cJSON *laws_apply_creations(const struct cJSON *snapshot, const struct cJSON *plan,
				   bool counts_ending);
/* The same in another order: Pods, nodes, events, demand, and the members of all objects. Placement
 * groups that tie in Ray's order keep theirs. */
struct cJSON *laws_apply_shuffle(const struct cJSON *snapshot, uint64_t seed);

#endif
