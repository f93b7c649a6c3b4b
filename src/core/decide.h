/* The decision: one snapshot in, one plan out. Pure: no I/O, no clock, no randomness; the same
 * snapshot gives the same plan. The order of Pods, nodes and demands does not matter, except among
 * placement groups that tie in Ray's order. The daemon, `rayscaler plan` and every test call this
 * one function. Must not read anything that is not in the snapshot. */
#ifndef CORE_DECIDE_H
#define CORE_DECIDE_H

#include "base/arena.h"
#include "core/decide/facts.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

/* Its first value, with the demand: for the problems of settings. */
const struct facts *decide_facts(const struct snapshot *snapshot, struct arena *arena);
/* The plan and everything in it live in `arena` and may point into the snapshot. Never fails:
 * errors in the snapshot become conditions of the plan. */
struct plan *decide(const struct snapshot *snapshot, struct arena *arena);

#endif
