/* The parts of a decision that the laws look at: the problem that it packs, and the result. */
#ifndef TEST_LAWS_PACKING_H
#define TEST_LAWS_PACKING_H

#include <stdint.h>

#include "laws_check.h"

struct laws_counts;

/* Whether Ray's own order, followed node by node, launches for this snapshot as well. */
bool laws_packing_is_greedy(const struct cJSON *snapshot, struct laws_verdict *verdict);

/* The law needed, of the packings since laws_packing_forget: with packing fewest-gpus or cheapest,
 * Ray's order does not serve the same with one replica of the launches less, in whichever order ties
 * fall. Counts packings in which that depends on ties: the search keeps a choice only if the next
 * decision, with Ray's own ties, does. */
void laws_packing_forget(void);
void laws_packing_check(struct laws_counts *counts, struct laws_verdict *verdict);

/* Sets packing cheapest, and a random price for the GPUs of each group. */
void laws_packing_price(struct cJSON *snapshot, uint64_t seed);

#endif
