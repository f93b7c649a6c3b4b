/* Four laws of what waits, on snapshots that are made from the given one.
 *
 * queues: a Pod that waits for a queue is not cancelled for a back-off, unless another group could serve the same.
 * halves: a part of a placement group that has waited for longer than gang-hold-seconds does not wait on.
 * ending: Pods that are being deleted bring no worker more than there would be without them, whether the operator
 *         counts them (KubeRay up to 1.7.0) or has created another one for each (kuberay#5239); but one for each on
 *         which Ray reports work.
 * drains: once the replacements exist of Pods that a plan or others delete, no other one is asked for, whether the operator
 *         counts those that end or not. */
#ifndef TEST_LAWS_WAITS_H
#define TEST_LAWS_WAITS_H

#include "laws_case.h"

void laws_waits_check(const struct cJSON *snapshot, uint64_t seed, struct laws_counts *counts,
		      struct laws_verdict *verdict);

#endif
