/* How long a plan stays valid while only the clock changes. Reads a snapshot and its plan. Must not
 * decide: it states only when a new decision could differ. */
#ifndef CORE_DECIDE_UNCHANGED_H
#define CORE_DECIDE_UNCHANGED_H

#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

#define UNCHANGED_FOR_EVER INT64_MAX

/* Until this moment, the same facts with Ray's growing idle durations give the same plan;
 * snapshot->now: not known. It is known only of an unchanged cluster: all sources reachable, no
 * demand, nothing to launch or terminate, every worker registered and running or idle, and no entry
 * in memory that expires. The first worker to reach its idle timeout ends the period. */
time_ms unchanged_until(const struct snapshot *snapshot, const struct plan *plan);
/* The first moment after `now` at which the clock alone changes the plan: a window opens or closes, or
 * the time of an idle cluster ends. UNCHANGED_FOR_EVER: none. */
time_ms unchanged_next_change(const struct plan *plan, time_ms now);

#endif
