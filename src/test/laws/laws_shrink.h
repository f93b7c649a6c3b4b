/* Makes a failing snapshot as small as the failure allows, and keeps it as a golden case. */
#ifndef TEST_LAWS_SHRINK_H
#define TEST_LAWS_SHRINK_H

#include <stdint.h>

#include "laws_check.h"

/* Removes groups, Pods, nodes, demand and fields and halves numbers, as long as the law that
 * *verdict names breaks. The tree is used up; the caller deletes the returned one, which *verdict
 * describes. */
struct cJSON *laws_shrink(struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

/* Writes <directory>/<law>-<seed>.yaml in the form of src/test/golden, with the plan as it is now,
 * and sets *ret_path (memory_free). -1: it cannot be written. */
int laws_shrink_save(const struct cJSON *snapshot, uint64_t seed,
		     const struct laws_verdict *verdict, const char *directory, char **ret_path);

#endif
