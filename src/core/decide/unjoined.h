/* Pods that run and that the GCS does not know: since when its replies say so (memory). One reply that
 * leaves out workers which were there a moment ago must not cost them: they have run for longer than any
 * start may take, and would look like workers that never came. They are believed to be gone after
 * raylet-gone-seconds, or start-timeout-seconds where that is less.
 * Nothing runs on a worker that is not registered with Ray. After unregistered-seconds without it in any
 * reply, counted from the last start of its Ray container or of the head's, it is unregistered: it
 * may be terminated where it is surplus, and only there.
 * Needs ray_session; sets unsure and unregistered of the workers and unjoined of the new memory. */
#ifndef CORE_DECIDE_UNJOINED_H
#define CORE_DECIDE_UNJOINED_H

#include "core/decide/situation.h"

void unjoined_update(struct situation *situation);

#endif
