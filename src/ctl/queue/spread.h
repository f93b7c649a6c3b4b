/* Where in an interval something of one RayCluster begins, so that a fleet that is first seen in one
 * moment does not do the same in one moment for ever. Pure. */
#ifndef CTL_QUEUE_SPREAD_H
#define CTL_QUEUE_SPREAD_H

#include <stdint.h>

/* Who begins in the same slot shares a turn of the loop, which costs less than one for each. */
#define SPREAD_SLOT_MS 25

/* What is spread is spread independently: who scans in the same millisecond reports in different ones. */
enum spread { SPREAD_SCANS, SPREAD_REPORTS };

/* A multiple of SPREAD_SLOT_MS below interval_ms, which is above 0; always the same for the same key. */
int64_t spread_ms(const char *key, enum spread what, int64_t interval_ms);

#endif
