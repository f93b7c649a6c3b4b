/* The time zones that schedules name, from /usr/share/zoneinfo (package tzdata). Reading a file
 * blocks, once a day for each zone that is in use. */
#ifndef CTL_SHARED_TIME_ZONES_H
#define CTL_SHARED_TIME_ZONES_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct time_zones;

struct time_zones *time_zones_new(void);
void time_zones_free(struct time_zones *zones); /* NULL is fine */

/* Each zone of the object's schedules once, without UTC, from TIME_ZONE_PAST_DAYS before `now` to
 * TIME_ZONE_FUTURE_DAYS after it; copied into the arena. One that cannot be read has a problem.
 * `object` may be NULL. */
const struct time_zone *time_zones_of(struct time_zones *zones,
				      const struct autoscaler_object *object, time_ms now,
				      struct arena *arena, size_t *ret_count);

#endif
