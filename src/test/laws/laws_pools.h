/* The law "pools": the same snapshot with random GPU pools. Decisions ask for the same whatever is
 * granted; with grants for all of it the plan is the one without pools; with less no group launches
 * more than its grant beyond minReplicas, and gangs stay whole. Workers that are released end as
 * laws_check_safety() allows. */
#ifndef TEST_LAWS_POOLS_H
#define TEST_LAWS_POOLS_H

#include "laws_check.h"

/* True when something was asked for. */
bool laws_pools_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
