/* Running Pods that the GCS does not list, with the time since when (memory). One reply that omits
 * workers of the previous one must not terminate them: they have run for longer than any start may
 * take, and would look like workers that never registered. They count as dead after
 * raylet-gone-seconds, or start-timeout-seconds where that is less.
 *
 * No work runs on a worker that is not registered with Ray. When no reply lists it for
 * unregistered-seconds, counted from the last start of its Ray container or of the head's, it is
 * unregistered: it may be terminated where it is surplus, and only there.
 *
 * Needs ray_session; sets unsure and unregistered of the workers and unjoined of the new memory. */
#ifndef CORE_DECIDE_NOT_REGISTERED_H
#define CORE_DECIDE_NOT_REGISTERED_H

#include "core/decide/health.h"

void not_registered_update(struct health *health);

#endif
