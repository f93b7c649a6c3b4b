/* Running Pods whose raylet the GCS reports as dead: since when (in memory), and whether
 * raylet-gone-seconds have passed. The time restarts when the Ray container of the Pod or of the
 * head starts. Sets raylet_expired of such workers and raylet_gone of the new memory. */
#ifndef CORE_DECIDE_DEAD_RAYLET_H
#define CORE_DECIDE_DEAD_RAYLET_H

#include "core/decide/health.h"

void dead_raylet_update(struct health *health);

#endif
