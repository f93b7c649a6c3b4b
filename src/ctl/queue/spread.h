/* The offset in an interval at which a periodic action of one RayCluster begins, so that a fleet
 * that is first seen at one time does not act at one time for ever. Pure. */
#ifndef CTL_QUEUE_SPREAD_H
#define CTL_QUEUE_SPREAD_H

#include <stdint.h>

/* Clusters that begin in the same slot share a turn of the loop, which costs less than one turn for
 * each. */
#define SPREAD_SLOT_MS 25

/* Kinds of actions have independent offsets: clusters that scan in the same millisecond report in
 * different ones. */
enum spread { SPREAD_SCANS, SPREAD_REPORTS };

/* A multiple of SPREAD_SLOT_MS below interval_ms, which is above 0; the same for the same key. */
int64_t spread_ms(const char *key, enum spread what, int64_t interval_ms);

#endif
