/* The law "cut": a decision that is cut short launches a part of what the whole one launches, of each
 * group, and terminates nothing. */
#ifndef TEST_LAWS_CUT_H
#define TEST_LAWS_CUT_H

#include "laws_check.h"

/* Cuts after a number of steps that the seed gives. Only with packing ray, because a search that is cut
 * ends with Ray's launches, and without starved demand, which a packing that is cut does not split off.
 * True: the packing was cut. */
bool laws_cut_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
