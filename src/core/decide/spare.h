/* Spare workers: those that are free after the packing. They replace disrupted workers
 * (disruption.h) and stay as warm workers (feature/warm_workers). A multi-host replica is free or used as a whole.
 * Counts are Pods, multiples of numOfHosts. */
#ifndef CORE_DECIDE_SPARE_H
#define CORE_DECIDE_SPARE_H

#include "core/decide/packing.h"

enum spare_use { SPARE_FOR_DISRUPTION, SPARE_FOR_WARM };

enum spare_of {
	SPARE_OF_ALL,       /* but those that are ended otherwise */
	SPARE_OF_DISRUPTED, /* they need a replacement */
	SPARE_OF_DRAINED,   /* of a planned end, which have had one: Ray moves their work */
};

/* Pods of the group that are in use. */
int64_t spare_pods_in_use(const struct packing *packing, const struct group *group,
			  enum spare_of of);
/* Keeps up to `wanted` Pods that are free and not kept for another use: first those that stay
 * anyway, and as warm workers those that are ready. Returns how many it found, new ones of the
 * packing included. */
int64_t spare_keep(struct packing *packing, const struct group *group, int64_t wanted,
		   enum spare_use use);
/* Pods that may be added below maxReplicas; disrupted ones count as present. */
int64_t spare_room_below_max(const struct packing *packing, const struct group *group);
/* How many of `wanted` Pods may be launched, within maxReplicas, GPU limits and backoff. */
int64_t spare_launches(const struct packing *packing, const struct group *group, int64_t wanted);

#endif
