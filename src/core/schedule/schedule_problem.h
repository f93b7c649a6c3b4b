/* A packing problem and its result as plain data: types of nodes, nodes, demand and limits; placements, launches, nodes
 * to be terminated, and what is left over. Inputs are borrowed; the result lives in the arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_PROBLEM_H
#define CORE_SCHEDULE_SCHEDULE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/model/ray_state.h"
#include "core/model/resources.h"

#define SCHEDULE_NO_INDEX SIZE_MAX
/* Limit of new nodes in one run; the next run launches the rest. */
#define SCHEDULE_NEW_NODES_MAX 100000

/* CPU and memory of a node, 1/10000. */
struct schedule_size {
	int64_t cpu, memory;
};

/* A kind of node: index 0 is the head, then the worker groups in the order of the RayCluster. All
 * counts are nodes (Pods), not replicas. */
struct schedule_type {
	const char *name;
	struct resources resources; /* of an empty new node */
	struct labels labels;
	int64_t min_nodes, max_nodes;
	/* Of all nodes, those of min_nodes as well; no node is terminated for it. */
	bool has_pool;
	int64_t pool_nodes;
	/* Of new nodes, those above this number come after those of other types: they are known to
	 * wait. */
	bool has_room;
	int64_t room_nodes;
	int64_t hosts; /* numOfHosts: nodes are launched in multiples of it, 1 and above */
	int64_t priority;
	double recoverable_availability; /* 1.0: never failed or recovered (Ray 2.56) */
	double failure_recency;          /* 1.0: never failed; 0.0: the latest to fail */
	bool accelerator;                /* kept for demand that requests an accelerator */
	bool launch_held; /* no new nodes now (back-off, suspended, CPUs unknown, ...) */
	bool gangs_held;  /* no new nodes now for gangs, nor replicas of several hosts for demand */
	int64_t gpu_amount;         /* GPU capacity of one node, 1/10000, for the budget */
	int64_t accelerator_amount; /* of all kinds, 1/10000, for use_budget */
	int64_t cost; /* of one node, in any unit, 0 and above; only read with `cheapest` */
	/* To which a new node could be resized at once: demand launches it as if it had at least
	 * this. NULL: none. */
	const struct schedule_size *resizable;
};

struct schedule_node {
	size_t type;   /* index into types; SCHEDULE_NO_INDEX: group removed (T17) */
	size_t worker; /* the caller's index, returned unchanged */
	bool head;
	bool running;    /* Ray reports it alive and not draining: total and available are Ray's */
	bool registered; /* has a Ray node id */
	bool disrupted;  /* TO_TERMINATE at the start; counted as Ray counts such nodes (T6) */
	bool may_terminate; /* idle termination and max enforcement may choose it */
	bool released;      /* no capacity for constraints */
	bool unused;        /* no capacity for constraints within use */
	struct resources total, available;
	struct labels labels; /* static and dynamic merged */
	int64_t idle_ms, idle_timeout_ms;
	size_t replica; /* nodes of one multi-host replica share it; SCHEDULE_NO_INDEX: alone */
	/* A resize is under way: requests are placed as if it had ended. NULL: none. */
	const struct schedule_size *resizing;
	/* May be resized to this for what no node takes as it is. NULL: not. */
	const struct schedule_size *resizable;
};

struct schedule_demand {
	const struct ray_request *request;
	int64_t count;
	/* NEW_ONLY: starved, not on joined nodes. */
	enum { SCHEDULE_DEMAND_NORMAL = 0, SCHEDULE_DEMAND_NEW_ONLY } place;
};

struct schedule_constraint {
	/* One request_resources call; checked against totals. */
	const struct schedule_demand *demands;
	size_t count;
	bool atomic; /* Ray's rule: all or nothing. False: place as much as fits (T13) */
	/* It does not count on unused nodes, and launches nodes with accelerators within use_budget alone: the last
	 * replica begins within it. */
	bool within_use;
};

struct cpu_budget;

struct schedule_problem {
	struct cpu_budget *cpu_budget; /* NULL: none */
	bool may_be_cut;               /* at that budget; else all of it is packed */
	const struct schedule_type *types;
	size_t type_count;
	const struct schedule_node *nodes; /* canonical order: head, groups in order, Pod names */
	size_t node_count;
	const struct schedule_constraint *constraints; /* each by itself, they do not add up */
	size_t constraint_count;
	const struct ray_gang *gangs; /* of several bundle selectors the first that fits is used */
	size_t gang_count;
	const bool *gangs_new_only; /* parallel to gangs: starved, new nodes only; NULL: none */
	const struct schedule_demand *demands;
	size_t demand_count;
	bool has_max_nodes;
	int64_t max_nodes; /* including the head; T15: 0 launches nothing and terminates nothing */
	bool conserve_accelerators;
	const struct strings *accelerators; /* resource names that count as accelerators */
	bool has_gpu_budget;
	int64_t gpu_budget; /* 1/10000 GPU that may still be added */
	int64_t use_budget; /* 1/10000 accelerators that constraints within use may still add, together */
	bool cheapest;                 /* search for launches that cost less than those of Ray */
	bool terminate_over_max;       /* phases 3 and 4 (max per type, global max) choose nodes */
	bool disruption_takes_nothing; /* chosen nodes have no capacity; in Ray they do (T6) */
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

/* `count` times the bundle of demand `index` is placed on the node. */
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
	enum schedule_phase launch_phase; /* of SCHEDULE_LAUNCH: the phase that launched it */
	bool needed;                      /* this run placed a request on it */
	bool resized;                     /* to `resizable` of the node: some request needs that */
	const struct schedule_placement *placements; /* in the order of the phases */
	size_t placement_count;
};

/* The limit that prevented a new node. NONE: no limit did, no empty node serves it. Of several types
 * the last in this order is reported: one that ends by itself, or that an option changes. */
enum schedule_limit {
	SCHEDULE_LIMIT_NONE = 0,
	SCHEDULE_LIMIT_MAX_PER_TYPE, /* max_nodes of the type */
	SCHEDULE_LIMIT_MAX_NODES,    /* max_nodes, or SCHEDULE_NEW_NODES_MAX of this run */
	SCHEDULE_LIMIT_GPU_BUDGET,
	SCHEDULE_LIMIT_HELD,
	SCHEDULE_LIMIT_POOL,       /* pool_nodes of the type */
	SCHEDULE_LIMIT_USE,        /* use_budget */
	SCHEDULE_LIMIT_CPU_BUDGET, /* the packing was cut before it came to it */
};

struct schedule_leftover {
	int64_t count;             /* bundles (or 1 for a gang) that found no place */
	enum schedule_limit limit; /* the limit that prevented a new node for it */
	size_t limit_type;         /* the type that would have served, SCHEDULE_NO_INDEX for none */
};

struct schedule_result {
	struct schedule_node_result *nodes; /* given nodes in their order, then new ones by type */
	size_t node_count;
	int64_t *launches;                      /* per type, nodes */
	struct schedule_leftover *demands;      /* parallel to problem.demands */
	struct schedule_leftover *gangs;        /* parallel to problem.gangs */
	struct schedule_leftover **constraints; /* [constraint][demand] */
	struct schedule_leftover *leftovers;    /* all of them: constraints, gangs, demands */
	size_t leftover_count;
	/* It ended at the limit of CPU time, with the launches that it had come to. Not of a search for
	 * cheaper ones: then these are Ray's. */
	bool cut;
};

/* `amounts` of a node, total or available, with `total` changed to the size. */
struct resources schedule_resized(struct arena *arena, const struct resources *amounts,
				  const struct resources *total, const struct schedule_size *size);

/* Indices into problem.gangs, in the order in which they are placed. */
const size_t *schedule_gang_order(const struct schedule_problem *problem, struct arena *arena);

#endif
