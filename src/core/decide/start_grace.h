/* Start grace of workers that have just got their first work. A reply of the GCS mixes two moments:
 * the worker's raylet reports at once that an actor runs, but the raylet that queued it reports the
 * end of its pending state only when the GCS polls it, once a second (ray:
 * gcs_pull_resource_loads_period_milliseconds). In between, the same actor is both pending and
 * running, and a worker would be launched for it without need.
 *
 * So the resources in use on such a worker count as free for pending demand until 1.5 s after the
 * first reply that has them in use. Demand that is really additional gets its worker later by that
 * time. Only workers that registered recently are included: on others, demand rarely waits before
 * it runs.
 *
 * Needs worker_join; sets settling of the workers and of the new memory. */
#ifndef CORE_DECIDE_START_GRACE_H
#define CORE_DECIDE_START_GRACE_H

#include "core/decide/health.h"

void start_grace_update(struct health *health);

#endif
