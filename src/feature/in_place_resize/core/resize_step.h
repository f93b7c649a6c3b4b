/* The parts of a resize that a request or an answer consists of, for the controller
 * (feature/in_place_resize/ctl/resizer.h) and the simulation (feature/in_place_resize/sim/resize_sim.c). Pure. */
#ifndef FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_STEP_H
#define FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_STEP_H

#include "base/time.h"
#include "core/model/plan.h"

/* Of the Pod's container 0, in 1/10000: CPU is rounded up to 1/1000, memory to bytes. */
struct resize_amount {
	int64_t limit; /* -1: it has none */
	int64_t request;
};

struct resize_amount resize_step_amount(const struct plan_resize *resize, bool cpu);
/* An amount as it is written. */
int64_t resize_step_rounded(int64_t amount, bool cpu);
/* True: something shrinks, and the raylet is asked for `ret_size` first, which never grows. */
bool resize_step_shrinks(const struct plan_resize *resize, struct plan_size *ret_size);
/* Takes the raylet's answer, which keeps what is in use: growth is wanted as before. Where nothing is left
 * to ask for, because the Node has no room for what Ray uses there, the resize has failed at `now` and
 * returns to the size that the Pod has. */
void resize_step_answered(struct plan_resize *resize, const struct plan_size *answer, time_ms now);

#endif
