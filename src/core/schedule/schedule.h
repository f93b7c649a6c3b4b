/* The packing of demand on nodes: the phases of Ray's v2 ResourceDemandScheduler (ray 2.60,
 * autoscaler/v2/scheduler.py) on plain data, done arithmetically for runs of equal requests and
 * equal nodes. Pure. Knows nothing of Pods, replicas, drains or patches: that is decide.
 * Inputs are borrowed; the result lives in the arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_H
#define CORE_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/ray_state.h"
#include "core/model/resources.h"

#define SCHEDULE_NO_INDEX SIZE_MAX
/* Ceiling of new nodes in one run; what needs more is left over and comes with the next run. */
#define SCHEDULE_NEW_NODES_MAX 100000

/* A kind of node: index 0 is the head, then the worker groups in the order of the RayCluster.
 * All counts are nodes (Pods), not replicas. */
struct schedule_type {
	const char *name;
	struct resources resources; /* of an empty new node */
	struct labels labels;
	int64_t min_nodes, max_nodes;
	int64_t hosts; /* numOfHosts: new nodes come in whole multiples, 1 and above */
	int64_t priority;
	double recoverable_availability; /* 1.0: never failed or recovered (Ray 2.56) */
	double failure_recency;          /* 1.0: never failed; 0.0: the latest to fail */
	bool accelerator;                /* has an accelerator: kept for demand that asks for one */
	bool launch_held;   /* no new nodes now (back-off, suspended, no CPU figure, ...) */
	int64_t gpu_amount; /* GPU capacity of one node, 1/10000, for the budget */
};

struct schedule_node {
	size_t type;   /* index into types; SCHEDULE_NO_INDEX: its group is gone (T17) */
	size_t worker; /* the caller's own index, handed back */
	bool head;
	bool running; /* Ray reports it alive and not draining: total and available are Ray's */
	bool joined;  /* has a Ray node id */
	bool leaving; /* TO_TERMINATE from the start; counted as Ray counts such nodes (T6) */
	bool may_terminate; /* idle termination and max enforcement may choose it */
	struct resources total, available;
	struct labels labels; /* static and dynamic merged */
	int64_t idle_ms, idle_timeout_ms;
	size_t replica; /* nodes of one multi-host replica share it; SCHEDULE_NO_INDEX: alone */
};

struct schedule_demand {
	const struct ray_request *request;
	int64_t count;
	/* NEW_ONLY: stuck, not on joined nodes. */
	enum { SCHEDULE_DEMAND_NORMAL = 0, SCHEDULE_DEMAND_NEW_ONLY } place;
};

struct schedule_constraint {
	/* One request_resources call; checked against totals. */
	const struct schedule_demand *demands;
	size_t count;
	bool atomic; /* Ray's rule: all or nothing. False: what fits is kept, the rest is left (T13) */
};

struct cpu_budget;

struct schedule_problem {
	struct cpu_budget *cpu_budget; /* NULL: none */
	const struct schedule_type *types;
	size_t type_count;
	const struct schedule_node *nodes; /* canonical order: head, groups in order, Pod names */
	size_t node_count;
	const struct schedule_constraint *constraints; /* each by itself, they do not add up */
	size_t constraint_count;
	const struct ray_gang *gangs; /* of several bundle selectors the first that fits is taken */
	size_t gang_count;
	const bool *gangs_new_only; /* parallel to gangs: stuck, not on joined nodes; NULL: none */
	const struct schedule_demand *demands;
	size_t demand_count;
	bool has_max_nodes;
	int64_t max_nodes; /* with the head; T15: 0 launches nothing and terminates nothing */
	bool conserve_accelerators;
	const struct strings *accelerators; /* resource names that count as accelerators */
	bool has_gpu_budget;
	int64_t gpu_budget;         /* 1/10000 GPU that may still be added */
	bool fewest_gpus;           /* --packing=fewest-gpus */
	bool terminate_over_max;    /* phases 3 and 4 (max per type, global max) choose nodes */
	bool leaving_takes_nothing; /* what they choose is no capacity; for Ray it is (T6) */
};

enum schedule_status { SCHEDULE_KEEP = 0, SCHEDULE_LAUNCH, SCHEDULE_TERMINATE };
enum schedule_cause {
	SCHEDULE_CAUSE_NONE = 0,
	SCHEDULE_CAUSE_MAX_PER_TYPE,
	SCHEDULE_CAUSE_MAX_GLOBAL,
	SCHEDULE_CAUSE_IDLE
};
enum schedule_phase {
	SCHEDULE_PHASE_MIN = 0,
	SCHEDULE_PHASE_CONSTRAINT,
	SCHEDULE_PHASE_GANG,
	SCHEDULE_PHASE_DEMAND
};

/* `count` times the bundle of demand `index` stands on the node. */
struct schedule_placement {
	enum schedule_phase phase;
	size_t list;  /* constraint number; 0 otherwise */
	size_t index; /* into the demands of the constraint, the gangs or the demands */
	const struct ray_request *bundle; /* of a gang: the bundle as received */
	int64_t count;
};

struct schedule_node_result {
	size_t type, worker; /* worker: SCHEDULE_NO_INDEX for a new node */
	enum schedule_status status;
	enum schedule_cause cause;        /* of SCHEDULE_TERMINATE */
	enum schedule_phase launch_phase; /* of SCHEDULE_LAUNCH: what first wanted it */
	bool needed;                      /* something of this run was placed on it */
	const struct schedule_placement *placements;
	size_t placement_count;
};

/* What kept a new node from being launched. NONE: no limit did, no empty node serves it. */
enum schedule_limit {
	SCHEDULE_LIMIT_NONE = 0,
	SCHEDULE_LIMIT_MAX_NODES, /* max_nodes, or SCHEDULE_NEW_NODES_MAX of this run */
	SCHEDULE_LIMIT_GPU_BUDGET,
	SCHEDULE_LIMIT_HELD,
	SCHEDULE_LIMIT_MAX_PER_TYPE, /* max_nodes of the type */
};

struct schedule_leftover {
	int64_t count;             /* bundles (or 1 for a gang) that found no place */
	enum schedule_limit limit; /* what stood in the way of a new node that would have served it */
	size_t limit_type;         /* the type that would have served, SCHEDULE_NO_INDEX for none */
};

struct schedule_result {
	struct schedule_node_result *nodes; /* given nodes in their order, then new ones by type */
	size_t node_count;
	int64_t *launches;                      /* per type, nodes */
	struct schedule_leftover *demands;      /* parallel to problem.demands */
	struct schedule_leftover *gangs;        /* parallel to problem.gangs */
	struct schedule_leftover **constraints; /* [constraint][demand] */
};

struct schedule_result *schedule(const struct schedule_problem *problem, struct arena *arena);

/* One bundle on one empty node: resources and selectors. Used for "infeasible or only unserved". */
bool schedule_fits_empty(const struct ray_request *request, const struct resources *total,
			 const struct labels *labels);

/* Would the gang fit on an empty cluster: the head (if any) and every type at its maximum,
 * no hold, no budget? */
bool schedule_gang_possible(const struct schedule_problem *problem, const struct ray_gang *gang,
			    struct arena *arena);

#endif
