/* One pass over one RayCluster: read Ray, decide, drain, verify, patch, report. Asynchronous on the
 * loop; owns the resources of the pass (arena, calls in flight) and ends with exactly one callback,
 * at the latest after the sum of its deadlines. Keeps nothing for the next pass: data to remember
 * is in the result. Ends without a change and without a report when this process does not lead any
 * more. Must not decide: every change it makes is in a plan of core/decide.
 *
 * The steps, by the names in the log (each skipped when it has nothing to do):
 *   Reading     GetClusterResourceState
 *   Deciding    core/decide, before each of the steps below: a small decision on the loop, others
 *               on a thread of the pool (net/work.h). A small one has small_ms of CPU time, a quick
 *               one quick_ms; one that takes more is restarted as a quick job, then as a slow one
 *               with its whole budget, and so are the next ones of its cluster. The first one of a
 *               cluster is small, quick or slow by an estimate
 *   Draining    DrainNode for workers that are idle too long; Ray may refuse
 *   Verifying   LIST of the cluster's Pods in pages, when one is to be deleted because it never
 *               registered: the cache may lag behind its start
 *   Patching    the one JSON Patch
 *   Refreshing  GET of the RayCluster after a failed `test` (409, 422), then a new decision; and after
 *               a patch that suspends and has no answer: it shows whether that was carried out
 *
 * A decision that launched nothing for want of CPU time makes the next one of its cluster a long job with
 * a multiple of the budget (core/model/cpu_budget.h, PASS_GROWN_MS), if no other one runs.
 *
 * Draining, Verifying and Refreshing are followed by a new decision on the current data. Data older
 * than state-max-age-seconds by our own clock is not acted upon: Ray is read once more, and a patch
 * that could not be sent in time is dropped (the next pass decides). A drain that Ray has accepted
 * is patched at any age. The time of a slow or long decision does not count, up to PASS_SPARED_MS, where its
 * plan only launches. */
#ifndef CTL_PASS_PASS_H
#define CTL_PASS_PASS_H

#include "ctl/pass/pass_config.h"

/* Copies the configuration; starts with the next turn of the loop at the earliest. */
struct pass *pass_new(const struct pass_config *config, const struct pass_callbacks *callbacks);
/* Cancels requests in flight; no callback follows. NULL is fine. */
void pass_free(struct pass *pass);
const char *pass_step_name(const struct pass *pass);

#endif
