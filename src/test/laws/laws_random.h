/* Random snapshots for the laws of decide(); the same seed gives the same snapshot. Everything that a
 * snapshot can express is drawn: Pods and Ray nodes in all states, replicas of several hosts, all
 * strategies of placement groups, labels with fallback, requests from both sources, limits, modes,
 * suspended groups, and parts that are malformed. */
#ifndef TEST_LAWS_RANDOM_H
#define TEST_LAWS_RANDOM_H

#include <stdint.h>

#include "base/buf.h"

struct laws_random {
	uint64_t state;
};

void laws_random_init(struct laws_random *random, uint64_t seed);
int laws_random_below(struct laws_random *random, int limit); /* 0 to limit - 1 */

/* The snapshot of `seed` as JSON, appended to `out`. It has no memory of its own making, see
 * laws_case.h. */
void laws_random_snapshot(uint64_t seed, struct buf *out);

#endif
