/* Since when the GCS that answers is there. One that was restarted knows no worker before their raylets
 * have joined anew, and the head Pod's status may be behind: without this, workers that have run for
 * hours would look like workers that never came. The session's name tells one GCS from the next; what
 * was seen is in memory. A GCS that starts again inside its Pod ends the container of `ray start --block`:
 * another session in the same run of the container is believed for launches at once, and for terminating
 * workers only after start-timeout-seconds. Reads head_pod; sets ray_session_since and ray_sessions of the
 * new memory, and head_problem. */
#ifndef CORE_DECIDE_RAY_SESSION_H
#define CORE_DECIDE_RAY_SESSION_H

#include "core/decide/situation.h"

void ray_session_update(struct situation *situation);

#endif
