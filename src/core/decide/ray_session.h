/* Since when the current GCS has been running. A restarted GCS has no workers until their raylets
 * register again, and the status of the head Pod may lag behind. Without this module, workers that
 * have run for hours would look like workers that never registered. The session name identifies a
 * GCS; the observed sessions are in memory.
 *
 * A GCS that restarts inside its Pod ends the container of `ray start --block`. So a new session in
 * the same run of the container is accepted at once for launches, and only after
 * start-timeout-seconds for terminating workers. Reads head_pod; sets ray_session_since and
 * MARK_RAY_SESSION of the new memory, and head_problem. */
#ifndef CORE_DECIDE_RAY_SESSION_H
#define CORE_DECIDE_RAY_SESSION_H

#include "core/decide/facts.h"

/* The accepted session in memory; NULL: there was no earlier reply. */
const struct memory_mark *ray_session_remembered(const struct facts *facts);
void ray_session_update(struct facts *facts);

#endif
