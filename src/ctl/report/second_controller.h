/* Whether another controller decides about the same RayClusters: two without leader election, or a second
 * release of the chart, whose Lease is in another namespace. The RayClusterAutoscaler is where they meet:
 * each process writes its name and the time of its decision in the status. A name that is not ours, with a
 * time after our first decision, is of a second one: the leader before us has no such time. Needs no right
 * and no write of its own. Owned by ctl/report/autoscaler_writer. */
#ifndef CTL_REPORT_SECOND_CONTROLLER_H
#define CTL_REPORT_SECOND_CONTROLLER_H

#include "core/report/summary.h"
#include "net/log.h"

/* Two clocks differ by less, or the leader before us writes no later. */
#define SECOND_CONTROLLER_SKEW_MS INT64_C(10000)
/* A second one is believed to live for so long after its last write: two times its interval. */
#define SECOND_CONTROLLER_LIVES_MS INT64_C(600000)

/* This process. */
struct own_controller {
	char *name;
	time_ms since; /* of the first decision; TIME_NONE before it */
	struct log_repeat others;
};

/* The other one, of one RayCluster. */
struct second_controller {
	time_ms seen;     /* the time that it wrote last */
	int64_t until_ms; /* monotonic: the end of its life; 0: there is none */
};

void second_controller_init(struct own_controller *own);
void second_controller_done(struct own_controller *own);
/* Reads the status of the object `key`, or NULL, after a decision at `now`, and logs the name of another controller
 * once. */
void second_controller_look(struct second_controller *second, struct own_controller *own,
			    time_ms now, const char *key, const struct summary *status,
			    int64_t now_ms);

#endif
