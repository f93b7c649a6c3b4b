/* The first value of a decision: the groups as specified, their workers joined with Ray's nodes,
 * the head, the demand, and whether Ray can be believed. Made from the snapshot alone and const
 * afterwards, as every value of the chain facts, health, offer, packing, choice: each is made by
 * one function of decide.c, which takes the value before it. The values live in the arena of the
 * pass and must not outlive decide(). Values beside workers and groups are arrays with the same
 * indices. */
#ifndef CORE_DECIDE_FACTS_H
#define CORE_DECIDE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/capacity/accelerator_type.h"
#include "core/capacity/capacity.h"
#include "core/capacity/gpu_cost.h"
#include "core/decide/due.h"
#include "core/decide/feature_slot.h"
#include "core/decide/gate.h"
#include "core/model/in_force.h"
#include "core/model/name_set.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

#define FACTS_NO_INDEX SIZE_MAX
/* Replicas without a Pod that are packed one by one; more do not change a decision. */
#define FACTS_MISSING_MAX 100000

/* The end of a Node that a feature plans, and not Kubernetes: its idle workers end at once, and Ray is notified of the
 * others when their replacement has registered; see disruption.h. */
struct planned_end {
	const char *node, *why;
	const struct name_set *pods; /* NULL: of all Pods there */
	int64_t drain_ms;            /* the time that Ray gets for the work */
	bool stops;                  /* after it the Pods are deleted */
};

/* Requests that a feature adds to those of Ray: a list of their own, which does not add up with others. */
struct added_requests {
	const struct ray_constraint *bundles;
	const struct plan_schedule *schedule;
	const char *path; /* of the list, in messages */
};

/* Free workers that a feature asks for beside those of the RayClusterAutoscaler, in a time. */
struct added_spares {
	const struct autoscaler_warm *at;
	size_t count;
	const struct plan_schedule *schedule;
};

/* Pods of Ray end within it, and waiting for one costs less than a worker elsewhere. */
#define WORKER_DELETION_MS (30 * MS_PER_SECOND)

/* A worker Pod, or a requested host of a replica that has no Pod yet (pod NULL). */
struct worker {
	size_t index;
	const char *pod_name; /* "" without a Pod */
	const char *group_name;
	const struct pod *pod;
	const struct ray_node *node; /* alive if there is one, else dead; NULL: unknown to Ray */
	size_t group;                /* FACTS_NO_INDEX: its group is not in the RayCluster */
	size_t replica; /* workers of one multi-host replica share it; FACTS_NO_INDEX: alone */
	enum worker_state state;
	bool deleting;      /* deletionTimestamp, or named in workersToDelete */
	bool registered;    /* Ray has a living node for it */
	bool never_started; /* a positive fact: its Ray container has not run */
	bool finished;      /* phase Failed or Succeeded */
	bool raylet_gone;   /* Ray reports its node only as dead */
	bool disrupted;     /* disrupted by Kubernetes; see disruption.h */
	bool announced;     /* disrupted, or its Pod is being deleted; see relay.h */
	bool overdue;       /* still there WORKER_DELETION_MS after its deletion was asked for */
	bool holds_group;   /* overdue, and KubeRay leaves its group alone as long as it exists */
	time_ms ends;       /* then: when its Pod is killed; TIME_NONE: unknown */
	/* Its Pod has the annotation with another value than "false": it is not terminated while it
	 * is registered. */
	bool do_not_disrupt;
	const char *disruption_why;
	const struct planned_end *planned;  /* NULL: Kubernetes disrupts it, or it stays */
	const struct pool_release *release; /* see release.h; NULL: it is not released */
};

struct group {
	size_t index;
	const struct worker_group *spec;
	const char *problem; /* NULL, or why the group is left unchanged */
	bool frozen;         /* suspended or with a problem: no launches, no terminations */
	struct capacity template_capacity; /* of one worker, by the template */
	struct gpu_cost gpu_cost;          /* of one worker, by the template */
	int64_t hosts;
	/* minReplicas, or more while a schedule requests it; see window.c. The operator and its
	 * bounds know only minReplicas. */
	int64_t min_replicas;
	const struct plan_schedule *schedule; /* that requests it; NULL: minReplicas counts */
	const struct pool_grant *grant;       /* of the pool it draws from; NULL: of none */
	/* "minReplicas 2", or "schedule office (4 replicas until 2026-11-20T17:00:00Z)". */
	const char *minimum_text;
	int64_t idle_timeout_ms; /* as configured */
	struct in_force_launch launch;
	struct name_set disruption_names;  /* workersToDelete */
	size_t first_worker, worker_count; /* its slice of workers; Pods first, then without */
	int64_t kept;                      /* Pods that are neither being deleted nor disrupted */
	int64_t missing;                   /* Pods requested by replicas that do not exist */
	int64_t registered;                /* kept and registered with Ray */
	int64_t disrupted;            /* disrupted Pods, not in kept; the operator counts them */
	int64_t uncounted;            /* of them: Pods that it counts no more; see worker.c */
	const struct worker *held_by; /* see holds_group; NULL: by none */
};

/* A received request, merged with equal ones; see demand.h. */
struct demand {
	const struct ray_request *request;
	int64_t count;
	enum demand_source source;
	const struct plan_schedule *schedule; /* of SOURCE_SCHEDULE, else NULL */
	const size_t *received;               /* indices into the received list, ascending */
	const int64_t *received_counts;
	size_t received_count;
	enum reason reason; /* NONE, or why no machine can serve it */
	const char *message;
};

struct demand_list {
	VEC(struct demand) at;
};

/* A gang as received; bad ones are not packed. */
struct gang {
	const struct ray_gang *gang;
	size_t received;    /* index into the received list */
	enum reason reason; /* NONE, or why no machine can serve it */
	const char *message;
};

struct facts {
	const struct snapshot *snapshot;
	struct arena *arena;
	struct due *due;  /* the only value that all later steps write */
	struct gate gate; /* why the cluster is not scaled; a feature may set its message */
	struct in_force_launch launch; /* of the head, and of workers without a group */
	bool ray_reachable;
	const char *ray_problem;    /* why not */
	const char *view_problem;   /* NULL: the watch cache of the API server is current */
	bool termination_forbidden; /* see facts.c */
	struct strings accelerators;
	struct capacity head_capacity;
	const struct ray_node *head_node; /* NULL while Ray is unreachable */
	time_ms ray_session_since;        /* see ray_session.h; TIME_NONE: unknown */
	const struct pod *head_pod;       /* NULL when there is none; see identity.h */
	const struct pod
		*head_overdue; /* still there WORKER_DELETION_MS after its deletion; NULL: none */
	const char *head_problem; /* NULL, or why it is unclear which Pod is the head */
	struct name_set pod_names;
	/* In canonical order: groups in order, by Pod name; those of removed groups last. Never NULL
	 * where their count is not 0, as the groups. */
	struct worker *workers;
	size_t worker_count;
	struct group *groups;
	size_t group_count;
	VEC(const char *) problems; /* for the condition InvalidRequest */
	/* Empty while a gate keeps the cluster as it is, unless its work was read. */
	struct demand_list demands;      /* plain requests, canonical order */
	struct demand_list *constraints; /* one list each */
	size_t constraint_count;
	struct gang *gangs;       /* in the order of the reply */
	size_t *gangs_by_content; /* indices into gangs, for output in canonical order */
	size_t gang_count;
	const struct memory_mark **old_marks; /* of the snapshot, by kind and key: see mark.h */
	size_t old_mark_count;
	struct memory_state memory; /* MARK_RAY_SESSION */
	const char *forbidden_why; /* of a feature that forbids terminations; NULL: another reason */
	VEC(struct added_requests) added_requests;
	VEC(struct added_spares) added_spares;
	const char *keeps_cluster; /* why the whole cluster is to run; NULL: no feature keeps it */
	/* By Node name, each once; before the workers are joined. */
	VEC(struct planned_end) planned_ends;
	const struct feature_slot *slots; /* of features */
};

/* The first step: whether Ray can be believed, and the head. */
struct facts *facts_new(const struct snapshot *snapshot, const struct gate *gate,
			struct arena *arena);
/* Sets termination_forbidden. Needs the session of Ray. */
void facts_judge_terminations(struct facts *facts);
/* The problems that decoders found, and the first unknown group. */
void facts_note_problems(struct facts *facts);
/* Reports a group that the RayCluster lacks, and that `list` of the RayClusterAutoscaler names; false:
 * it has the group, or the name is empty. */
bool facts_note_unknown_group(struct facts *facts, const char *list, const char *name);

static inline const struct in_force_launch *facts_launch(const struct facts *facts,
							 const struct worker *worker)
{
	return worker->group == FACTS_NO_INDEX ? &facts->launch :
						 &facts->groups[worker->group].launch;
}

#endif
