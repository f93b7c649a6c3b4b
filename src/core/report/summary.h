/* The summary of one decision: what metrics, /status, the RayClusterAutoscaler and the tables of
 * commands show of it. Computed once per decision from the snapshot and its plan; owned by the
 * arena, and points into snapshot and plan. Must not decide, and decisions must not depend on it:
 * that is the plan.
 *
 * It is also the status of a RayClusterAutoscaler (docs/AUTOSCALER_OBJECT.md):
 * core/report/autoscaler_status makes the one to write, codec/objects/autoscaler_json reads it. One
 * that was read has no other members than the rows there; numbers are bounded, texts and times are
 * any. */
#ifndef CORE_REPORT_SUMMARY_H
#define CORE_REPORT_SUMMARY_H

#include "base/arena.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

#define SUMMARY_STATE_COUNT (WORKER_GONE + 1)
/* GPUs at the maximum are unlimited (maxReplicas has the CRD's default, or the sum overflows). */
#define SUMMARY_UNLIMITED INT64_MAX
#define SUMMARY_RESOURCES_MAX 32

/* 1/10000 GPU, as Ray counts them. */
struct summary_gpus {
	int64_t running;  /* on workers (or the head) that Ray reports as alive, by their reports */
	bool known;       /* Ray was reached; else running, in_use, unused and idle are unknown */
	int64_t in_use;   /* of running: taken by tasks, actors, placement groups */
	int64_t unused;   /* of running: not in use */
	int64_t idle;     /* of running: on workers in state Idle */
	int64_t starting; /* on Pods that are neither registered nor being deleted, and on replicas
			   * without a Pod, by the template */
	int64_t wanted;   /* at the target, by the template */
	int64_t maximum;  /* at maxReplicas; of the cluster also under the GPU limits */
};

/* A change of a group by the autoscaler. */
struct autoscaler_scale {
	const char *group;
	time_ms time; /* TIME_NONE when absent */
	int64_t from, to;
	const char *reason, *message;
};

struct summary_group {
	const char *name;
	int64_t replicas, target_replicas, min_replicas, max_replicas;
	int64_t hosts;                     /* Pods of one replica, 1 and above */
	int64_t pods[SUMMARY_STATE_COUNT]; /* by enum worker_state */
	int64_t pod_count;                 /* all of them */
	int64_t missing;                   /* requested Pods that do not exist */
	int64_t pending;                   /* missing, WORKER_PENDING and WORKER_STARTING */
	int64_t registered;                /* Pods whose raylet is alive in Ray */
	int64_t worker_gpus;               /* of one worker, by the template, 1/10000 */
	struct summary_gpus gpus;
	const struct memory_backoff *backoff; /* NULL: none */
	time_ms idle_since;                   /* of the worker that is idle longest; TIME_NONE */
	const char *reason, *message;         /* of the plan; "" for no change */
	/* Pending demand that it could serve and does not: bundles, gangs and requested bundles,
	 * with the first reason; "". */
	int64_t waiting;
	const char *unserved_reason;
	/* Why its first Pod that is not registered does not run yet, a reason of a worker; "". */
	const char *waiting_reason, *waiting_message;
	/* Of a status only; NULL: none. */
	const struct autoscaler_scale *last_scale;
	const struct memory_template *seen;
};

/* Resources that a user requested to keep, whether or not they are in use. */
struct summary_request {
	enum demand_source source;
	const char *schedule; /* of SOURCE_SCHEDULE, else "" */
	const struct ray_request *bundle;
	int64_t count;
};

/* Demand that is not served, by reason. */
struct summary_unserved {
	const char *reason;
	bool infeasible;     /* no worker of any group could serve it; else: not now */
	int64_t count;       /* bundles, gangs and requested bundles */
	int64_t gpus;        /* 1/10000 that they request together */
	const char *message; /* of the first of them */
};

/* A condition of the plan, or of a status that was read. */
struct summary_condition {
	const char *type, *status, *reason, *message;
	/* Of a status only. */
	time_ms last_transition;
	int64_t observed_generation; /* of the RayClusterAutoscaler */
};

/* Logical resource, 1/10000. */
struct summary_resource {
	const char *name;
	int64_t cluster; /* of the living nodes */
	int64_t pending; /* of the workers that are not registered, by the template */
};

struct summary_kept {
	const char *reason;
	int64_t count;
};

struct summary {
	time_ms decided_at;
	bool hands_off;          /* the cluster is not scaled by this program */
	bool safe_to_scale_down; /* fresh views, and no worker that must not be terminated */
	bool ray_reachable;      /* false: running, in_use, idle and pending are unknown */
	const struct summary_group *groups; /* as in the plan */
	size_t group_count;
	/* Sums over the groups and the workers of removed groups; gpus also with the head's. */
	int64_t pods[SUMMARY_STATE_COUNT];
	int64_t pod_count, missing, registered;
	struct summary_gpus gpus;
	struct summary_gpus head_gpus;
	int64_t head_joined; /* 1: Ray reports a living head */
	/* By name, the first SUMMARY_RESOURCES_MAX; without those that Ray makes for each node and
	 * placement group. `cluster` is 0 while Ray is unreachable. None with
	 * hands_off. */
	const struct summary_resource *resources;
	size_t resource_count;
	/* Idle workers that are kept beyond their idle timeout, by reason. */
	const struct summary_kept *kept;
	size_t kept_count;
	/* Pending requests and placement groups of Ray, summed by resource: accelerators first, GPU
	 * first of these, then by name; without zero amounts. Saturated at INT64_MAX. */
	const struct resource *pending;
	size_t pending_count;
	int64_t pending_bundles; /* bundles of gangs each counted */
	int64_t pending_gpus;    /* 1/10000 */
	const struct summary_request *requested;
	size_t requested_count;
	/* Infeasible first, within that in the order of the plan; each reason once, because it is
	 * either infeasible or not. */
	const struct summary_unserved *unserved;
	size_t unserved_count;
	int64_t infeasible_total, unserved_total; /* sums of count */
	/* One reason for the whole decision, of core/model/reason.h: why it changes nothing, else
	 * an invalid input, the cause of a back-off, why demand is not served, the change of this
	 * decision, the obstacle of a Pod, the bound that was reached, "ReadyForNewScale". Never
	 * "". */
	const char *reason, *message;
	const struct summary_condition *conditions;
	size_t condition_count;
	const struct plan_schedule *schedules; /* of the plan */
	size_t schedule_count;

	/* Of a status only; `decided_at` is renewed at intervals there. */
	int64_t observed_generation, observed_cluster_generation;
	const char *controller; /* that has written `decided_at`; NULL when absent */
	time_ms last_scale_time;
	bool has_undecided_seconds;
	int64_t undecided_seconds;
	const char *groups_text, *gpus_text;
	bool truncated; /* a list is cut */
	struct autoscaler_parts parts;
};

/* Nothing is known: amounts are unlimited, which JSON shows as null, times TIME_NONE, texts "". */
extern const struct summary_group summary_group_none;
extern const struct summary summary_none;

const struct summary *summary_of(const struct snapshot *snapshot, const struct plan *plan,
				 struct arena *arena);
/* Replicas whose workers are registered in Ray and do not end. */
int64_t summary_ready(const struct summary_group *group);
/* Sets pod_count and pending of a group from its Pods, and adds these to the sums. */
void summary_add_pods(struct summary *summary, struct summary_group *group);
/* The condition of this type, NULL when there is none, or no summary. */
const struct summary_condition *summary_condition(const struct summary *summary, const char *type);

#endif
