/* The intermediate state of one decision: workers, groups and limits of one snapshot, and the
 * actions chosen for them. The modules that decide.c calls fill it step by step, in its order; each
 * header lists the members that the module reads and sets. Lives in the arena of the pass. Must not
 * outlive decide(): only the plan does. */
#ifndef CORE_DECIDE_SITUATION_H
#define CORE_DECIDE_SITUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/capacity/accelerator_type.h"
#include "core/capacity/capacity.h"
#include "core/capacity/gpu_cost.h"
#include "core/model/name_set.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"
#include "core/nodes/node_room.h"
#include "core/schedule/schedule.h"

#define SITUATION_NO_INDEX SIZE_MAX
/* Replicas without a Pod that are packed one by one; more do not change a decision. */
#define SITUATION_MISSING_MAX 100000

/* How a worker can be removed, from the facts of this snapshot. */
enum removal {
	REMOVAL_FORBIDDEN = 0, /* busy, unknown, starting: it stays */
	REMOVAL_DRAIN,         /* idle in Ray: Ray must drain it */
	REMOVAL_DELETE,        /* cannot be busy: drained, dead or never started */
};

/* Why a Pod has not registered with Ray; in order of precedence. */
enum obstacle {
	OBSTACLE_NONE = 0, /* it is starting normally */
	OBSTACLE_WAITING, /* Unschedulable, gated or not yet scheduled, and still within its time */
	OBSTACLE_GATED,
	OBSTACLE_NO_NODE,
	OBSTACLE_NODE_TIMEOUT,
	OBSTACLE_FAILED,
	OBSTACLE_START_TIMEOUT,
};

/* A worker Pod, or a requested host of a replica that has no Pod yet (pod NULL). */
struct worker {
	const char *pod_name; /* "" without a Pod */
	const char *group_name;
	const struct pod *pod;
	const struct ray_node *node; /* alive if there is one, else dead; NULL: unknown to Ray */
	size_t group;                /* SITUATION_NO_INDEX: its group is not in the RayCluster */
	size_t replica; /* workers of one multi-host replica share it; SITUATION_NO_INDEX: alone */
	enum worker_state state;
	bool deleting;      /* deletionTimestamp, or named in workersToDelete */
	bool joined;        /* Ray has a living node for it */
	bool never_started; /* a positive fact: its Ray container has not run */
	bool finished;      /* phase Failed or Succeeded */
	bool raylet_gone;   /* Ray reports its node only as dead */
	bool leaving;       /* disrupted by Kubernetes; see leaving.h */
	const char *leaving_why;
	bool goes;         /* this decision deletes it in any case: drained, or expired */
	bool dissolves;    /* removed because hosts of its replica are lost or cannot start */
	bool expired;      /* the time of raylet_gone or of its start has run out */
	bool settling;     /* start grace: its work may look pending; see settling.h */
	bool unsure;       /* missing in Ray's replies for a short time; see unjoined.h */
	bool unregistered; /* runs, but missing in Ray's replies for long enough; see unjoined.h */
	enum obstacle obstacle;
	const char *obstacle_message; /* of the Pod's condition or event */
	bool stuck; /* its group is in back-off and it cannot start: no capacity, cancelled */
	enum removal removal;
	/* Set by packing. */
	bool needed_by_demand, needed_by_request;
	bool needed_by_leaving; /* replaces a disrupted worker that is in use */
	bool chosen;            /* the packing selects it for termination, for `cause` */
	enum schedule_cause cause;
	/* Set by terminate. */
	enum terminate_action action;
	const char *action_reason, *action_message;
};

/* A resource in a template that a worker made from it does not have. */
struct template_lack {
	const char *resource;
	int64_t promised, seen; /* 1/10000 */
	const char *pod;
	bool inferred; /* the accelerator type was only inferred from nodeSelector or affinity */
};

struct group {
	const struct worker_group *spec;
	size_t index;
	const char *problem; /* NULL, or why the group is left unchanged */
	bool frozen;         /* suspended or with a problem: no launches, no terminations */
	struct capacity capacity;
	struct gpu_cost gpu_cost; /* of one worker, by the template */
	int64_t hosts;
	int64_t idle_timeout_ms;           /* longer during an ownership conflict: see fight.h */
	struct name_set leaving_names;     /* workersToDelete */
	size_t first_worker, worker_count; /* its slice of workers; Pods first, then without */
	int64_t kept;                      /* Pods that are neither being deleted nor disrupted */
	int64_t missing;                   /* Pods requested by replicas that do not exist */
	int64_t joined;                    /* kept and registered with Ray */
	int64_t leaving; /* disrupted Pods, not in kept; the operator counts them */
	/* Set by template_seen; capacity is then what a registered worker reports. */
	struct capacity promised;
	struct accelerator_type inferred; /* type "" for none */
	const struct template_lack *lacks;
	size_t lack_count;
	/* Set by fight in a pass with a revert: number of reverted raises so far; 0: none */
	int64_t reverts;
	const char *reverts_by; /* NULL: unknown */
	bool lowers_held;       /* replicas above maxReplicas is left as another writer sets it */
	/* Back-off: see backoff.h. */
	bool backed_off;
	bool takes_back;                /* backed off, and Pods that cannot start are cancelled */
	bool raises_held;               /* backed off because another writer reverts replicas */
	struct memory_backoff *backoff; /* in the new memory; NULL when there is none */
	/* Set by packing. */
	int64_t packed_launches; /* Pods */
	int64_t packed_whole;    /* Pods of them for placement groups and request_resources */
	bool launches_for_min, launches_for_request, launches_for_demand;
	int64_t launches_for_leaving; /* replicas of packed_launches: see leaving.h */
	int64_t replacements_waiting; /* replicas that wait for disrupted ones to be deleted */
	bool replacements_at_max;     /* maxReplicas is the reason for that */
	/* Set by terminate and launch, in replicas. */
	int64_t removed;                     /* deleted or stopped, and replicas lowered for it */
	int64_t removed_pods;                /* their Pods */
	int64_t removed_missing;             /* and their hosts without one */
	int64_t drained;                     /* drain requested */
	int64_t recycled;                    /* named while replicas stays */
	int64_t leaving_named;               /* disrupted Pods that this decision deletes */
	int64_t missing_taken;               /* requested without a Pod, and cancelled */
	int64_t cancelled, backed_off_taken; /* of removed and missing_taken, by reason */
	int64_t unneeded;                    /* of ours, and since when: for the new memory */
	time_ms unneeded_since;
	int64_t ours, others; /* replicas not registered: requested by this program, by others */
	bool held_by_minimum; /* an idle worker stays for minReplicas */
	/* Set by target. */
	int64_t launch_replicas;  /* before the limits on starting workers */
	int64_t allowed_replicas; /* after them */
	int64_t wanted_replicas;  /* without those that replace disrupted Pods */
	int64_t patch_replicas, target_replicas, to_launch;
	bool at_maximum, at_minimum; /* the bound reduced the number of replicas */
	const char *outlook;         /* see outlook.h; NULL: not computed yet */
	bool outlook_fits;           /* a Node has capacity for it now */
};

/* A received request, merged with equal ones; see demand.h. */
struct demand {
	const struct ray_request *request;
	int64_t count;
	enum demand_source source;
	const size_t *received; /* indices into the received list, ascending */
	const int64_t *received_counts;
	size_t received_count;
	const char *reason; /* NULL, or why no machine can serve it (a REASON_) */
	const char *message;
	bool stuck; /* some of it is starved: pending for too long although it fits */
};

struct demand_list {
	VEC(struct demand) at;
};

/* A gang as received; bad ones are not packed. */
struct gang {
	const struct ray_gang *gang;
	size_t received;              /* index into the received list */
	const char *reason, *message; /* NULL, or why no machine can serve it */
	bool stuck;
};

/* Which demands (or gangs) are in a list of schedule_problem: maps its index to theirs. */
struct packed_list {
	const size_t *index;
	size_t count;
};

struct situation {
	const struct snapshot *snapshot;
	struct arena *arena;
	struct plan *plan;
	bool ray_reachable;
	const char *ray_problem;    /* why not */
	const char *view_problem;   /* NULL: the watch cache of the API server is current */
	bool termination_forbidden; /* see decide.c */
	struct strings accelerators;
	struct capacity head_capacity;
	const struct ray_node *head_node; /* NULL while Ray is unreachable */
	time_ms ray_session_since;        /* see ray_session.h; TIME_NONE: unknown */
	const struct pod *head_pod;       /* NULL when there is none; see identity.h */
	const char *head_problem;         /* NULL, or why it is unclear which Pod is the head */
	struct name_set pod_names;
	struct node_rooms *rooms; /* node capacity; NULL until outlook computes it */
	/* In canonical order: groups in order, by Pod name; those of removed groups last. */
	struct worker *workers;
	size_t worker_count;
	struct group *groups;
	size_t group_count;
	struct demand_list demands;      /* plain requests, canonical order */
	struct demand_list *constraints; /* one list each */
	size_t constraint_count;
	struct gang *gangs;       /* in the order of the reply */
	size_t *gangs_by_content; /* indices into gangs, for output in canonical order */
	size_t gang_count;
	VEC(const char *) problems; /* for the condition InvalidRequest */
	/* Set by packing. */
	struct schedule_problem problem;
	struct schedule_result *result;
	struct packed_list packed_demands, packed_gangs;
	struct packed_list *packed_constraints;
	const char *gpu_ceiling;         /* name of the lowest GPU limit */
	struct resources most_of_living; /* of each resource, on any one living node */
	int64_t stuck_bundles;           /* starved bundles, packed on new workers only */
	int64_t stuck_seconds;           /* longest time that one of them has been starved */
};

#endif
