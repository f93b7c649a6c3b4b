/* The law "repair": of Nodes that are to be repaired at most repair-max-unavailable are emptied at once, and work on
 * such a Node is stopped only with repair-deletes, when the deadline that Ray has got has passed. The next
 * decision empties the same Nodes. */
#ifndef TEST_LAWS_REPAIR_H
#define TEST_LAWS_REPAIR_H

#include <stdint.h>

#include "laws_check.h"

/* Gives the machines of some snapshots a taint at random. True: work is on a Node that is emptied. */
bool laws_repair_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
