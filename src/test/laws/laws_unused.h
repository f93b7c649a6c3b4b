/* The law "unused": a worker ends as RequestUnused only where Ray reports it as idle for longer than
 * requests-unused-after-seconds and no request or placement group has its place there; the requests of Ray's SDK then
 * start no worker with GPUs; with requests-ahead-of-use they start no more than use and that limit allow; and neither
 * the annotation nor a schedule is cut. */
#ifndef TEST_LAWS_UNUSED_H
#define TEST_LAWS_UNUSED_H

#include <stdint.h>

#include "laws_check.h"

/* Asks for GPUs by the SDK in some snapshots, for a time and with a use that are random. True: a worker ends as
 * RequestUnused. */
bool laws_unused_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict);

#endif
