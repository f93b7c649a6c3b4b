/* Reads the state of each worker's raylet from the memory of earlier replies. Needs ray_session;
 * sets unsure, unregistered, start_grace and raylet_expired of the workers, and their marks of the
 * new memory.
 *
 * Not registered: running Pods that the GCS does not list. One reply that omits workers of the
 * previous one must not terminate them: they have run for longer than any start may take, and would
 * look like workers that never registered. They count as dead after raylet-gone-seconds, or
 * start-timeout-seconds where that is less. No work runs on a worker that is not registered with
 * Ray. When no reply lists it for unregistered-seconds, counted from the last start of its Ray
 * container or of the head's, it is unregistered: it may be terminated where it is surplus, and only
 * there.
 *
 * Start grace: of workers that have just got their first work. A reply of the GCS mixes two moments:
 * the worker's raylet reports at once that an actor runs, but the raylet that queued it reports the
 * end of its pending state only when the GCS polls it, once a second (ray:
 * gcs_pull_resource_loads_period_milliseconds). In between, the same actor is both pending and
 * running, and a worker would be launched for it without need. So the resources in use on such a
 * worker count as free for pending demand until 1.5 s after the first reply that has them in use.
 * Demand that is really additional gets its worker later by that time. Only workers that registered
 * recently are included: on others, demand rarely waits before it runs.
 *
 * Dead: running Pods whose raylet the GCS reports as dead, and whether raylet-gone-seconds have
 * passed. The time restarts when the Ray container of the Pod or of the head starts. */
#ifndef CORE_DECIDE_RAYLET_H
#define CORE_DECIDE_RAYLET_H

#include "core/decide/health.h"

/* Time for which the first work of a registered worker is awaited. */
#define RAYLET_UNUSED_MS 10000
/* One and a half periods of the GCS: one period, and half of one for messages in transit. */
#define RAYLET_IN_USE_MS 1500

/* Of the start grace: values of memory_mark.count. */
enum raylet_stage { RAYLET_STARTING = 0, RAYLET_UNUSED = 1, RAYLET_IN_USE = 2 };

void raylet_update(struct health *health);

#endif
