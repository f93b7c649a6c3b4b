/* Workers that have just got their first work. A reply of the GCS is not of one moment: that something
 * runs on a node is reported by its own raylet at once, that it is pending no more by the raylet
 * where it was queued, which the GCS asks once a second. Seen in between, the same actor is pending
 * and runs (ray: gcs_pull_resource_loads_period_milliseconds), and a worker would be started for
 * nobody. So what a worker has in use counts as free for pending demand until a second and a half after
 * the first reply that has it in use: demand that is really more gets its worker that much later.
 * Only workers that joined a short while ago: on others demand hardly ever waits before it runs.
 * Needs worker_join; sets settling of the workers and of the new memory. */
#ifndef CORE_DECIDE_SETTLING_H
#define CORE_DECIDE_SETTLING_H

#include "core/decide/situation.h"

void settling_update(struct situation *situation);

#endif
