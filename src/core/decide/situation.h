/* What one decision has found out: the workers, the groups and the limits of one snapshot, and
 * what it has decided about them so far. Filled step by step by the modules that decide calls, in the
 * order of decide.c; each says which members it reads and sets. Lives in the arena of the pass.
 * Must not outlive decide(): the plan is what stays. */
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
/* Replicas without a Pod that are looked at one by one; more change nothing in a decision. */
#define SITUATION_MISSING_MAX 100000

/* What can be done with a worker, from the facts of this snapshot. */
enum removal {
	REMOVAL_FORBIDDEN = 0, /* busy, unknown, starting: it stays */
	REMOVAL_DRAIN,         /* idle for Ray: ask Ray */
	REMOVAL_DELETE,        /* cannot be busy: drained, gone or never started */
};

/* Why a Pod that has not joined does not come; the order is the order of precedence. */
enum obstacle {
	OBSTACLE_NONE = 0, /* it is on its way */
	OBSTACLE_WAITING, /* Unschedulable, gated or not yet scheduled, and still within its time */
	OBSTACLE_GATED,
	OBSTACLE_NO_NODE,
	OBSTACLE_NODE_TIMEOUT,
	OBSTACLE_FAILED,
	OBSTACLE_START_TIMEOUT,
};

/* A worker Pod, or a replica's host that is asked for and has no Pod yet (pod NULL). */
struct worker {
	const char *pod_name; /* "" without a Pod */
	const char *group_name;
	const struct pod *pod;
	const struct ray_node *node; /* living if there is one, else dead, NULL when unknown to Ray */
	size_t group;                /* SITUATION_NO_INDEX: its group is not in the RayCluster */
	size_t replica; /* workers of one multi-host replica share it; SITUATION_NO_INDEX: alone */
	enum worker_state state;
	bool deleting;      /* deletionTimestamp, or named in workersToDelete */
	bool joined;        /* Ray has a living node for it */
	bool never_started; /* a positive fact: its Ray container has not run */
	bool finished;      /* phase Failed or Succeeded */
	bool raylet_gone;   /* Ray knows its node only as dead */
	bool leaving;       /* Kubernetes is about to take it away; see leaving.h */
	const char *leaving_why;
	bool goes;      /* deleted by this decision in any case: drained, or too late */
	bool dissolves; /* its replica has lost hosts, or brings no capacity, and goes for that */
	bool expired;   /* the time of raylet_gone or of its start has run out */
	bool settling;  /* what it has in use may still be called pending; see settling.h */
	bool unsure;    /* Ray has only just begun not to know it; see unjoined.h */
	bool unregistered; /* it runs, and Ray has not known it for long enough; see unjoined.h */
	enum obstacle obstacle;
	const char *obstacle_message; /* of the Pod's condition or event */
	bool stuck; /* its group is in back-off and it will not come: no capacity, taken back */
	enum removal removal;
	/* Set by packing. */
	bool needed_by_demand, needed_by_request;
	bool needed_by_leaving; /* for what runs on one that leaves */
	bool chosen;            /* the packing wants it gone, for the cause */
	enum schedule_cause cause;
	/* Set by terminate. */
	enum terminate_action action;
	const char *action_reason, *action_message;
};

/* A resource that a template promises and that a worker made from it does not have. */
struct template_lack {
	const char *resource;
	int64_t promised, seen; /* 1/10000 */
	const char *pod;
	bool inferred; /* the accelerator type that only nodeSelector or affinity told of */
};

struct group {
	const struct worker_group *spec;
	size_t index;
	const char *problem; /* NULL, or why it stays where it is */
	bool frozen;         /* suspended or problem: nothing launched, nothing terminated */
	struct capacity capacity;
	struct gpu_cost gpu_cost; /* of one worker, by the template */
	int64_t hosts;
	int64_t idle_timeout_ms;           /* longer during a fight: see fight.h */
	struct name_set leaving_names;     /* workersToDelete */
	size_t first_worker, worker_count; /* its slice of workers; Pods first, then without */
	int64_t kept;                      /* Pods that are not on their way out */
	int64_t missing;                   /* Pods asked for by replicas that do not exist */
	int64_t joined;                    /* kept and known to Ray */
	int64_t leaving; /* Pods about to be taken away, not in kept; the operator counts them */
	/* Set by template_seen; capacity is then what a worker really brings. */
	struct capacity promised;
	struct accelerator_type inferred; /* type "" for none */
	const struct template_lack *lacks;
	size_t lack_count;
	/* Set by fight: in the pass that saw one, how many times our raise was set back by now; 0: none */
	int64_t reverts;
	const char *reverts_by; /* NULL: unknown */
	bool lowers_held;       /* replicas above maxReplicas stay as somebody sets them */
	/* Back-off: see backoff.h. */
	bool backed_off;
	bool takes_back;                /* backed off, and what does not come is not waited for */
	bool raises_held;               /* backed off because somebody sets replicas back */
	struct memory_backoff *backoff; /* in the new memory; NULL when there is none */
	/* Set by packing. */
	int64_t packed_launches; /* Pods */
	int64_t packed_whole;    /* Pods of them for placement groups and request_resources */
	bool launches_for_min, launches_for_request, launches_for_demand;
	int64_t launches_for_leaving; /* replicas, of packed_launches: see leaving.h */
	int64_t replacements_waiting; /* replicas that have no room before others are gone */
	bool replacements_at_max;     /* they have none below maxReplicas */
	/* Set by terminate and launch, in replicas. */
	int64_t removed;                     /* deleted or stopped, and replicas lowered for it */
	int64_t removed_pods;                /* their Pods */
	int64_t removed_missing;             /* and their hosts without one */
	int64_t drained;                     /* asked to drain */
	int64_t recycled;                    /* named while replicas stays */
	int64_t leaving_named;               /* Pods of leaving that this decision deletes */
	int64_t missing_taken;               /* asked for without a Pod, and taken back */
	int64_t cancelled, backed_off_taken; /* of removed and missing_taken: why */
	int64_t unneeded;                    /* of ours, since: what the new memory says */
	time_ms unneeded_since;
	int64_t ours, others; /* replicas that have not joined: asked for by us, by anybody else */
	bool held_by_minimum; /* an idle worker stays for minReplicas */
	/* Set by target. */
	int64_t launch_replicas;  /* wanted, before the caps on starting workers */
	int64_t allowed_replicas; /* after them */
	int64_t wanted_replicas;  /* without those for Pods that leave */
	int64_t patch_replicas, target_replicas, to_launch;
	bool at_maximum, at_minimum; /* a bound cut what was wanted */
	const char *outlook;         /* see outlook.h; NULL: not looked yet */
	bool outlook_fits;           /* a Node has room now */
};

/* A received request after equal ones were joined; see demand.h. */
struct demand {
	const struct ray_request *request;
	int64_t count;
	enum demand_source source;
	const size_t *received; /* indices into the received list, ascending */
	const int64_t *received_counts;
	size_t received_count;
	const char *reason; /* NULL, or why no machine can serve it (a REASON_) */
	const char *message;
	bool stuck; /* some of it has been pending beside room for it for too long */
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

/* Which demands (or gangs) stand in a list of schedule_problem: its index to theirs. */
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
	const char *view_problem;   /* NULL: the view of the API server is live */
	bool termination_forbidden; /* see decide.c */
	struct strings accelerators;
	struct capacity head_capacity;
	const struct ray_node *head_node; /* NULL while Ray is unreachable */
	time_ms ray_session_since;        /* see ray_session.h; TIME_NONE: not known */
	const struct pod *head_pod;       /* NULL when there is none; see identity.h */
	const char *head_problem;         /* NULL, or why it is open which Pod is the head */
	struct name_set pod_names;
	struct node_rooms *rooms; /* of the Nodes; NULL until outlook has looked */
	/* In canonical order: groups in order, by Pod name; those of removed groups last. */
	struct worker *workers;
	size_t worker_count;
	struct group *groups;
	size_t group_count;
	struct demand_list demands;      /* plain requests, canonical order */
	struct demand_list *constraints; /* one list each */
	size_t constraint_count;
	struct gang *gangs;       /* in the order of the reply */
	size_t *gangs_by_content; /* indices into gangs: for what is written down */
	size_t gang_count;
	VEC(const char *) problems; /* for the condition InvalidRequest */
	/* Set by packing. */
	struct schedule_problem problem;
	struct schedule_result *result;
	struct packed_list packed_demands, packed_gangs;
	struct packed_list *packed_constraints;
	const char *gpu_ceiling;         /* where the smallest ceiling on GPUs stands */
	struct resources most_of_living; /* of each resource, on any one living node */
	int64_t stuck_bundles;           /* that are packed on new workers only */
	int64_t stuck_seconds;           /* of the longest stuck among them */
};

#endif
