/* Which workers are terminated, and how: drain (through Ray), delete (cannot be busy) or stop
 * (enforce-max: now). terminate_classify determines how each worker may be removed from the facts
 * of this snapshot; terminate_choose selects among them after packing. Sets removal, action and the
 * counts of groups. Must never select a worker whose removal is forbidden, except for stop. */
#ifndef CORE_DECIDE_TERMINATE_H
#define CORE_DECIDE_TERMINATE_H

#include "core/decide/choice.h"

void terminate_classify(struct offer *offer);
void terminate_choose(struct choice *choice);
/* The worker is deleted with this plan: names it and keeps the counts of its group right. */
void terminate_delete(struct worker_choice *worker, enum reason reason, const char *message);
/* Ray drains the worker also while work runs there, which has until `deadline` (TIME_NONE: unknown). */
void terminate_drain_busy(struct worker_choice *worker, enum reason reason, const char *message,
			  time_ms deadline);
/* Copies the actions into the groups of the plan, in canonical order. */
void terminate_write(const struct choice *choice, struct plan *plan);

#endif
