/* Protection of Pods in use from voluntary disruption: Karpenter and Cluster Autoscaler consolidate
 * Nodes, and evict a worker in the middle of its work, because a busy Pod looks to them like an idle
 * one. Workers that Ray reports in use, all hosts of a multi-host replica with one in use, and the head
 * while anything runs or waits, get the annotations that both read; idle ones lose them. Pure: the
 * state is in the annotations of the Pods, so a new process knows all of it.
 *
 * - A Pod is protected as soon as it is in use. It loses the protection when it has been idle for
 *   PROTECT_IDLE_MS, and not within PROTECT_LEAST_MS of the time when it got it: so there are at most
 *   two writes of a Pod in a minute, and none of them delays a protection.
 * - Doubt changes nothing: Ray is unreachable, the cluster is paused, the Pod cannot be read. So does
 *   the announced end of a worker in use: it keeps what it has.
 * - Keys that the Pod has with any value are the user's, and are neither set nor removed. A user who
 *   removes or changes one of ours has the last word until the Pod has been idle.
 * - After protectAtMostSeconds a protection ends, until the Pod has been idle. */
#ifndef FEATURE_PROTECT_BUSY_PODS_CORE_PROTECT_H
#define FEATURE_PROTECT_BUSY_PODS_CORE_PROTECT_H

#include "core/decide/feature.h"
#include "feature/protect_busy_pods/core/protect_record.h"

#define PROTECT_IDLE_MS (30 * MS_PER_SECOND)
#define PROTECT_LEAST_MS (60 * MS_PER_SECOND)

enum protect_action {
	PROTECT_KEEP = 0,
	PROTECT_SET,
	PROTECT_END, /* after protectAtMostSeconds: the record stays, with no key */
	PROTECT_REMOVE,
};

/* A Pod with a record, or that gets one. */
struct protected_pod {
	const char *name;
	enum protect_action action;
	time_ms since;
	time_ms until; /* protectAtMostSeconds; TIME_NONE: no limit, or it has ended */
	bool ended;    /* by protectAtMostSeconds, or with this plan */
	/* Not printed. */
	const struct pod *object;
	struct protect_record record; /* as it is after the action */
	/* Those that the action removes: they have still the value that this program gave them. */
	bool removes[PROTECT_ANNOTATION_COUNT];
};

/* Of a plan. */
struct plan_protection {
	VEC(struct protected_pod) pods; /* the head first, then the order of the workers */
};

/* The removal of everything that this program wrote on the Pod, whether in use or not; false: nothing. */
bool protect_take_back(const struct pod *pod, struct protected_pod *ret_item);

const char *protect_action_name(enum protect_action action); /* "Keep", ... */

extern const struct decision_feature protect_busy_pods_decisions;

#endif
