/* The law "stays": before plan.next_change the clock alone does not change a plan, with any setting and
 * any number in the RayClusterAutoscaler: both are drawn from the tables of their decoders, so that a new
 * one is tried as well. */
#ifndef TEST_LAWS_STAYS_H
#define TEST_LAWS_STAYS_H

#include "laws_check.h"
#include "test/support/plan_stays.h"

void laws_stays_check(const struct cJSON *snapshot, uint64_t seed, struct plan_stays *counts,
		      struct laws_verdict *verdict);

#endif
