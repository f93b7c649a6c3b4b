/* The contract of plan.next_change: before that time, the clock and Ray's idle durations alone do not
 * change the plan. */
#ifndef TEST_PLAN_STAYS_H
#define TEST_PLAN_STAYS_H

#include "base/arena.h"
#include "core/model/snapshot.h"

struct plan_stays {
	int64_t snapshots;
	int64_t stay;     /* with a plan that stays for some time, once its memory is settled */
	int64_t for_ever; /* of these */
	int64_t change;   /* of these: another plan at the very moment of next_change */
};

/* Decides at several moments before plan.next_change. NULL: the contract holds; else which moment
 * breaks it. Adds to `counts`. */
const char *plan_stays_check(const struct snapshot *snapshot, struct arena *arena,
			     struct plan_stays *counts);

#endif
