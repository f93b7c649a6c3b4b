/* How long a decision stands while nothing but the clock changes. Reads a snapshot and the plan that
 * was made from it. Must not decide: it only says that deciding anew would give the same. */
#ifndef CORE_DECIDE_CALM_H
#define CORE_DECIDE_CALM_H

#include "base/time.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

#define CALM_FOR_EVER INT64_MAX

/* Before this moment the same facts, with Ray's idle durations growing by themselves, give the same plan;
 * snapshot->now: not known. It is known of a cluster in which nothing is under way: all is in reach, no
 * demand, nothing to launch or to end, every worker joined and running or idle, nothing remembered
 * that runs out. There the first worker that becomes idle for too long ends it. */
time_ms calm_until(const struct snapshot *snapshot, const struct plan *plan);

#endif
