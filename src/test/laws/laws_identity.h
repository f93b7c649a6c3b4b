/* The law "identity": Pods that only claim to belong to the RayCluster change nothing of a plan but its
 * condition ForeignPods, and with a second head Pod nothing is terminated. A passive head beside the
 * active one changes nothing, and a second one that is Ready forbids termination. */
#ifndef TEST_LAWS_IDENTITY_H
#define TEST_LAWS_IDENTITY_H

#include <stdint.h>

#include "laws_check.h"

/* `seed` chooses the owners of the forged Pods. */
void laws_identity_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
