/* The last value of a decision: an action with its reason for each worker, and the replicas of each
 * group. Const after choice_make() of decide.c; core/report puts it into words. */
#ifndef CORE_DECIDE_CHOICE_H
#define CORE_DECIDE_CHOICE_H

#include "core/decide/packing.h"

struct worker_choice {
	enum terminate_action action;
	enum reason reason;
	const char *message;
	bool busy;        /* of a drain: also while work runs there, which has until `deadline` */
	time_ms deadline; /* TIME_NONE: unknown */
};

struct group_choice {
	/* The earlier values of the same group. */
	const struct group *group;
	const struct group_health *health;
	const struct group_offer *offer;
	const struct group_packing *packing;
	/* Set by terminate and launch, in replicas. */
	int64_t removed_pods;                /* Pods deleted or stopped for lowered replicas */
	int64_t removed_missing;             /* and hosts of these replicas without one */
	int64_t drained;                     /* drain requested */
	int64_t recycled;                    /* named while replicas stays */
	int64_t disruption_named;            /* disrupted Pods that this decision deletes */
	int64_t missing_taken;               /* requested without a Pod, and cancelled */
	int64_t cancelled, backed_off_taken; /* of removed and missing_taken, by reason */
	int64_t unneeded;                    /* of ours, and since when: for the new memory */
	time_ms unneeded_since;
	bool held_by_minimum; /* an idle worker stays for minReplicas */
	/* Set by target and limits_throttle(). */
	int64_t launch_replicas;  /* before the limits on starting workers */
	int64_t allowed_replicas; /* after them */
	int64_t wanted_replicas;  /* without those that replace disrupted Pods */
	int64_t patch_replicas, target_replicas, to_launch;
	bool at_maximum, at_minimum; /* the bound reduced the number of replicas */
};

struct choice {
	const struct facts *facts;
	const struct health *health;
	const struct offer *offer;
	const struct packing *packing;
	const struct snapshot *snapshot;
	struct arena *arena;
	struct worker_choice *workers;
	struct group_choice *groups;
	struct memory_state memory; /* launches, MARK_LOWERED */
};

#endif
