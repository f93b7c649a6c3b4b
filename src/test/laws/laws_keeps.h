/* The law "keeps": no idle worker is drained that the placement group which waits alone would use when
 * all running work has ended, so that one must be launched again. */
#ifndef TEST_LAWS_KEEPS_H
#define TEST_LAWS_KEEPS_H

#include <stdint.h>

#include "laws_check.h"

/* Changes the snapshot at random, so that a placement group may wait, alone. True: it waits beside
 * workers that are idle for too long. */
bool laws_keeps_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
